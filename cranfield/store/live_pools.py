"""Live pools: what was chosen and why, which topics have ended, and the labels that choices are made from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from itertools import starmap
from typing import NamedTuple

from cranfield.base.records import MAIN, Pair
from cranfield.store.events import durations
from cranfield.store.store import Query, Store, column, nothing, records, stored, value


class RecordedChoice(NamedTuple):
    """A document that was chosen by looking at judgments, and all that the choice was made from.

    `known` is the last event that had been recorded then; `elsewhere` are the documents of the topic that somebody
    had open without their being in the pool. `hash` is of all this and of the choice before it.
    """

    number: int
    topic: str
    document: str
    step: int
    reason: str
    version: int
    known: int
    elsewhere: tuple[str, ...]
    chosen: str
    hash: str = ""

    def hash_after(self, before: str) -> str:
        """Give SHA-256 of the hash before and of this choice: nothing can be taken out or changed unseen."""
        words = json.dumps([before, *self[:-1]], ensure_ascii=False)
        return sha256(words.encode("utf-8", "surrogatepass")).hexdigest()


class RecordedEnd(NamedTuple):
    """A topic whose adaptive step is over: by which rule, and whether steps after it have added their documents."""

    topic: str
    rule: str
    version: int
    known: int
    final: bool
    ended: str


class StandingAnswer(NamedTuple):
    """One standing answer to a document of a topic, as a pool looks at it."""

    document: str
    adjudicated: bool
    grade: int | None
    scale: int
    event: int


def choices(store: Store, pool: int, *, after: int = 0, pair: Pair | None = None) -> list[RecordedChoice]:
    """The choices of a pool in the order they were made; of one topic and document, that which brought it."""
    query = """SELECT number, topic, document, step, reason, version, known, elsewhere, chosen, hash
               FROM pool_choices WHERE pool = ? AND number > ?"""
    only = " AND topic = ? AND document = ?" if pair else ""
    rows = store.rows(f"{query}{only} ORDER BY number", pool, after, *(pair or ()))
    kept = [(*row[:7], tuple(stored(list, row[7], f"choice {row[0]} of a pool")), *row[8:]) for row in rows]
    return list(starmap(RecordedChoice, kept))


last_choice = Query[tuple[int, str]](
    "SELECT number, hash FROM pool_choices WHERE pool = ? ORDER BY number DESC LIMIT 1",
    lambda rows: rows[0] if rows else (0, ""),
)
"""The number and the hash of the latest choice of a pool; (0, "") where there is none."""


hash_of_choice = Query[str | None]("SELECT hash FROM pool_choices WHERE pool = ? AND number = ?", value)
"""The hash of a choice of a pool by its number, or None: what was written may have been rolled back."""


def record_choices(store: Store, pool: int, made: Iterable[RecordedChoice]) -> str:
    """Record choices inside `store.write()`, each bound to the one before it; give the hash of the last one."""
    _, before = last_choice(store, pool)
    rows = []
    for one in made:
        before = one.hash_after(before)
        rows.append((pool, *one[:7], json.dumps(one.elsewhere, ensure_ascii=False), one.chosen, before))
    store.put("pool_choices", rows)
    return before


ends = Query[dict[str, RecordedEnd]](
    "SELECT topic, rule, version, known, final, ended FROM pool_ends WHERE pool = ?",
    lambda rows: {row[0]: RecordedEnd(*row) for row in rows},
)
"""The topics of a pool that have ended."""


forget_end = Query[None]("DELETE FROM pool_ends WHERE pool = ? AND topic = ? AND final = 0", nothing)
"""Take back the end of a topic of a pool: a judgment has changed, or later runs came."""

count_in_stratum = Query[None](
    """INSERT INTO pool_strata VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
       SET population = population + excluded.population, drawn = drawn + excluded.drawn""",
    nothing,
)
"""Count more documents in a stratum of a pool (topic, step, name), and those of them that were drawn."""


last_position = Query[int]("SELECT coalesce(max(position), 0) FROM pool_entries WHERE pool = ? AND topic = ?", value)
"""The position of the last entry of a topic; 0 where it has none."""


standing_answers = Query(
    f"""SELECT document, adjudicated, grade, scale, event FROM judgments
        WHERE topic = ? AND layer = '{MAIN}' AND (grade IS NOT NULL OR kind = 'cannot-judge')""",
    records(StandingAnswer),
)
"""The current answers in the main layer to a topic: grades, and 'cannot judge'."""


def touched(store: Store, *, after: tuple[int, str]) -> set[Pair] | None:
    """The (topic, document) that something happened to after an event; an undo touches what it undoes.

    None where the event is not there with its UUID (what was read was rolled back since): all must be looked at.
    """
    if not store.value("SELECT 1 FROM judgment_events WHERE sequence = ? AND uuid = ?", *after):
        return None
    return set(
        store.rows(
            """SELECT coalesce(undone.topic, event.topic), coalesce(undone.document, event.document)
               FROM judgment_events AS event
               LEFT JOIN judgment_events AS undone ON event.undoes <> '' AND undone.uuid = event.undoes
               WHERE event.sequence > ?""",
            after[0],
        )
    )


thresholds = Query[dict[int, int]]("SELECT version, relevant_from FROM scales", dict)
"""For each version of the scale the lowest grade that counts as relevant."""

seconds_of_judging = Query[list[float]](
    "SELECT seconds FROM judgment_events WHERE kind = 'judged' AND source = 'person' AND seconds > 0",
    lambda rows: durations(column(rows)),
)
"""The seconds of attention of every judgment that people gave."""
