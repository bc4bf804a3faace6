"""Draft topics: who tries them, on which hits, and whether they were accepted or refused."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cranfield.judge.trial import Tried
from cranfield.store.store import Store

DraftState = Literal["draft", "accepted", "refused"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A topic that is or was tried. `expected` is the number of relevant documents when it was decided."""

    topic: str
    author: str
    state: DraftState = "draft"
    reason: str = ""
    expected: float | None = None


def draft_of(store: Store, topic: str) -> Draft | None:
    """Give the draft of a topic, or None where it was never tried."""
    row = store.row("SELECT topic, author, state, reason, expected FROM topic_drafts WHERE topic = ?", topic)
    return None if row is None else Draft(*row)


def drafts(store: Store) -> list[Draft]:
    """Give all drafts by topic."""
    rows = store.rows("SELECT topic, author, state, reason, expected FROM topic_drafts ORDER BY topic")
    return [Draft(*row) for row in rows]


def put_draft(store: Store, draft: Draft, *, now: str) -> None:
    """Write how a draft stands, inside `store.write()`."""
    store.connection.execute(
        """INSERT INTO topic_drafts VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (topic) DO UPDATE SET
           author = excluded.author, state = excluded.state, reason = excluded.reason,
           expected = excluded.expected, changed = excluded.changed""",
        [draft.topic, draft.author, draft.state, draft.reason, draft.expected, now],
    )


def put_tried(store: Store, topic: str, tried: Sequence[Tried]) -> None:
    """Write which hits of a draft are judged, inside `store.write()`."""
    store.connection.executemany(
        "INSERT INTO tried_hits VALUES (?, ?, ?, ?, ?)",
        [(topic, one.document, one.rank, one.stratum, one.population) for one in tried],
    )


def tried_hits(store: Store, topic: str) -> list[Tried]:
    """Give the hits of a draft that are judged, by rank."""
    rows = store.rows(
        "SELECT document, rank, stratum, population FROM tried_hits WHERE topic = ? ORDER BY rank", topic
    )
    return [Tried(*row) for row in rows]


def refused_topics(store: Store) -> dict[str, str]:
    """Give the topics that were refused, each with the reason."""
    return dict(store.rows("SELECT topic, reason FROM topic_drafts WHERE state = 'refused' ORDER BY topic"))
