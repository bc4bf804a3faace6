"""Judgment events: everything that happens while judging, appended and never changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from cranfield.base.errors import InputError, quoted
from cranfield.base.records import MAIN, GradeScale, Pair
from cranfield.base.text import stored_moment

Kind = Literal["judged", "undone", "postponed", "cannot-judge", "adjudicated", "imported", "propagated", "noted"]
"""What happened.

judged: a grade was given. undone: an earlier event no longer counts. postponed: later. cannot-judge: never, by
this assessor, with a reason. adjudicated: a disagreement was decided. imported: a grade from elsewhere. propagated:
the grade of a near-duplicate. noted: a note without a grade.
"""

Purpose = Literal["pool", "overlap", "probe", "search", "queue", "rejudge", "try"]
"""Why the document was shown.

pool: it is in the pool. overlap: somebody else judges it too, as planned. probe: the same assessor judged it before,
and sees it again to be compared with themselves; the answer never enters the qrels. search: the assessor found it.
queue: it was asked for by name (top-up, settle). rejudge: scale or guidelines have changed. try: a draft topic.
"""

SourceKind = Literal["person", "import", "machine"]

NOBODY = "imported"
"""The assessor of judgments that were imported from a file which names none."""

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

    @property
    def pair(self) -> Pair:
        """Its topic and document."""
        return self.topic, self.document

    @property
    def stands_in(self) -> bool:
        """Whether its grade is no assessor's own: it counts where nobody here has judged the document itself."""
        return self.kind == "propagated" or (self.kind == "imported" and self.assessor == NOBODY)


class PairKey(NamedTuple):
    """The key of a current answer: at most one event counts for each."""

    topic: str
    document: str
    layer: str
    assessor: str
    adjudicated: bool = False


def key_of(event: Event) -> PairKey:
    """The key of an event; the decision of an adjudicator stands beside their own judgment."""
    return PairKey(event.topic, event.document, event.layer, event.assessor, event.kind == "adjudicated")


# The current answers: the latest of each assessor that was not undone.

NEVER_STANDING = frozenset({"undone", "noted"})


def fold(events: Iterable[Event]) -> dict[PairKey, Event]:
    """The current answer for each layer, topic, document and assessor.

    Events come in the order they were recorded. An undone event is ignored, so the one before it counts; an undo
    cannot be undone. Answers to probes never count, they are only compared; a note changes nothing; a propagated
    grade never replaces a judgment, and postponing a judged document leaves its grade in force.
    """
    listed = list(events)
    undone = {event.undoes for event in listed if event.kind == "undone"}
    standing: dict[PairKey, Event] = {}
    for event in listed:
        if event.uuid in undone or event.kind in NEVER_STANDING or event.purpose == "probe":
            continue
        before = standing.get(key_of(event))
        passed_on = event.kind == "propagated" and before is not None and before.kind != "propagated"
        put_off = event.kind == "postponed" and before is not None and before.grade is not None
        if not (passed_on or put_off):
            standing[key_of(event)] = event
    return standing


# What makes an event invalid: a grade off its scale, an unreadable time, an impossible duration.


LONGEST = 1e12
"""The most seconds an event may have: `check` refuses more, so nothing may bring more into a file."""


def faults_of(event: Event, scales: Mapping[int, GradeScale]) -> Iterator[tuple[str, str, str]]:
    """(code, meaning, what it is) of all that is invalid in an event; `scales` are all versions of the scale."""
    scale = scales.get(event.scale)
    if event.grade is not None and (scale is None or event.grade not in [step.grade for step in scale.grades]):
        yield "grade-off-scale", "a grade is not on its scale", f"the grade {event.grade}"
    try:
        is_moment = event.happened == stored_moment(event.happened)
    except InputError:
        is_moment = False
    if not is_moment:
        yield "bad-time", "a time is unreadable", f"the time {quoted(event.happened)}"
    if event.seconds is not None and not 0 <= event.seconds <= LONGEST:
        yield "bad-seconds", "an impossible number of seconds", f"{event.seconds:g} seconds"
    if event.confidence is not None and not 0 <= event.confidence <= 1:
        yield "bad-confidence", "a confidence is not between 0 and 1", f"a confidence of {event.confidence:g}"
    if not event.order.isprintable():
        yield "bad-order", "the name of an order has signs that cannot be printed", f"the order {quoted(event.order)}"
    if event.position < 0 or (event.position == 0 and event.order):
        yield "bad-position", "an impossible position in the queue", f"position {event.position}"
