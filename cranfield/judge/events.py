"""What happens while judging, as events that are appended and never changed."""

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["judged", "undone", "postponed", "cannot-judge", "adjudicated", "imported", "propagated", "noted"]
"""What happened.

judged: a grade was given. undone: an earlier event no longer counts. postponed: later. cannot-judge: never, by
this assessor, with a reason. adjudicated: a disagreement was decided. imported: a grade from elsewhere. propagated:
a grade taken over from a near-duplicate. noted: a remark, without a grade.
"""

Purpose = Literal["pool", "overlap", "probe", "search", "queue", "rejudge", "try"]
"""Why the document was shown.

pool: it is in the pool. overlap: somebody else judges it too, as planned. probe: the same assessor judged it before,
and sees it again to be compared with himself; the answer never enters the qrels. search: the assessor found it.
queue: it was asked for by name (top-up, settle). rejudge: scale or guidelines have changed. try: a draft topic.
"""

SourceKind = Literal["person", "import", "machine"]

MAIN = "main"
"""The layer the official qrels are made from."""

WITH_GRADE: frozenset[Kind] = frozenset({"judged", "adjudicated", "imported", "propagated"})


@dataclass(frozen=True, slots=True)
class Evidence:
    """A span of the document's text, in characters, that was marked as the reason for a judgment."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to one document of one topic.

    `happened` is when the assessor did it, `recorded` when it reached this file (empty until then). `seconds` is
    attention with idle time taken out; `confidence` is what a machine said of its own grade. `undoes` is the UUID of
    the event that no longer counts. `document_hash` says which text was judged; `scale` and `guidelines` under which
    versions; `order` and `position` how it was shown.
    """

    uuid: str
    kind: Kind
    topic: str
    document: str
    assessor: str
    happened: str
    layer: str = MAIN
    grade: int | None = None
    undoes: str = ""
    reason: str = ""
    note: str = ""
    evidence: tuple[Evidence, ...] = field(default=())
    purpose: Purpose = "pool"
    source: SourceKind = "person"
    source_name: str = ""
    seconds: float | None = None
    confidence: float | None = None
    scale: int = 1
    guidelines: int = 0
    document_hash: str = ""
    order: str = ""
    position: int = 0
    session: str = ""
    recorded: str = ""
    sequence: int = 0


@dataclass(frozen=True, slots=True)
class PairKey:
    """What one standing answer is about: at most one counts for each of these."""

    layer: str
    topic: str
    document: str
    assessor: str
    adjudicated: bool = False


def key_of(event: Event) -> PairKey:
    """Give what an event is about; a decision between assessors stands beside what its author judged himself."""
    return PairKey(event.layer, event.topic, event.document, event.assessor, event.kind == "adjudicated")
