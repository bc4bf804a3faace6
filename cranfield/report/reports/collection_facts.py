"""What a report about a collection is made from: plain facts, gathered by whoever knows where they lie."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cranfield.records import GradeScale, Topic
from cranfield.report.page import Drawing
from cranfield.report.table import Table, Value

if TYPE_CHECKING:
    from cranfield.evaluate.scores import Scores
    from cranfield.reuse.collection import CollectionReport

Rows = tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPart:
    """How the pool was made, and what each run and group brought to it.

    `runs` are (run, group, documents, only this group); `groups` are (group, runs, documents, only this group).
    """

    name: str
    plan: str
    plan_in_full: str
    seed: int
    content_hash: str
    made: str
    made_by: str
    documents: int
    judged: int
    topics: int
    runs: Rows
    groups: Rows
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QrelsPart:
    """The qrels behind the numbers; `layers` and `rule` are empty where they came from a file."""

    name: str
    content_hash: str
    layers: tuple[str, ...] = ()
    rule: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingPart:
    """Who judged how much and how fast, and how far they agree.

    `assessors` are (assessor, judged, cannot judge, postponed, median seconds, last seen). `agreement` are tables,
    by name; without overlap `no_agreement` says why there are none.
    """

    documents: int
    judged: int
    missing: int
    seconds: float | None
    assessors: Rows
    agreement: Mapping[str, Table]
    no_agreement: str = ""


@dataclass(frozen=True, slots=True)
class TopicPart:
    """A topic with what is judged for it; `found` are relevant ones: (document, title, grade, runs, best rank)."""

    topic: Topic
    judged: int
    relevant: int
    not_exhausted: bool = False
    found: Rows = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Board:
    """Scores of all runs, and how far each can be trusted.

    `groups` gives a run's group and whether it fed the pool; `letters` has one mapping per measure; `best` are the
    runs that are level with the best, where there are too many for letters; `trust` has one table per measure;
    `verdicts` the worst verdict of each run. `notes` is what should be known with the scores.
    """

    scores: "Scores"
    groups: Mapping[str, tuple[str, bool]]
    letters: tuple[Mapping[str, str], ...] = ()
    letters_said: str = ""
    best: frozenset[str] = frozenset()
    best_said: str = ""
    trust: Mapping[str, Table]
    verdicts: Mapping[str, str]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class CollectionFacts:
    """Everything that the report says. What is not known is None or empty, and `missing` says why.

    `drawings` are figures by the section they belong to: `bias`, `scores` or `curves`. `bias_said` are sentences
    about the pool. `checksums` are (what, SHA-256), `commands` what makes the numbers again.
    """

    name: str
    made: str
    made_by: str
    documents: int
    duplicate_clusters: int
    scale: GradeScale
    guidelines: str = ""
    guidelines_version: int = 0
    topics: tuple[TopicPart, ...] = ()
    pool: PoolPart | None = None
    judging: JudgingPart | None = None
    board: Board | None = None
    bias: "CollectionReport | None" = None
    bias_said: tuple[str, ...] = ()
    drawings: Mapping[str, tuple[Drawing, ...]]
    missing: tuple[str, ...] = ()
    licence: str = ""
    qrels: QrelsPart | None = None
    checksums: tuple[tuple[str, str], ...] = ()
    commands: tuple[str, ...] = ()
