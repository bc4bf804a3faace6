"""The ranked lists of runs for one topic, by the qrels, tie order and threshold that scores are made with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

from cranfield.base.errors import InputError, UsageError, quoted
from cranfield.base.registry import deferred
from cranfield.base.tables import Column, Number, Result, Table, Value, table_of
from cranfield.base.text import few
from cranfield.evaluate import measure as measuring
from cranfield.evaluate import scores as scoring
from cranfield.evaluate.lists import GradeGains
from cranfield.store import Store
from cranfield.workflows import reading
from cranfield.workflows.evaluate.evaluate import short_hash
from cranfield.workflows.reading import Request

with deferred:
    from cranfield.workflows import corpus

if TYPE_CHECKING:
    import pandas


_NAMED = 8
_NUMBERS = ("P", "R", "DCG")
DIGITS = 4, 3
"""The digits of numbers, and of those in a narrower table."""


@dataclass(frozen=True)
class Explanation(Result):
    """The lists of runs for a topic, each with the name of its run; what they were made with; what is relevant.

    `remarks` are sentences on the relevant documents that are not among those shown.
    """

    topic: str
    lists: tuple[tuple[str, list[scoring.Step]], ...]
    qrels_hash: str
    order: str
    rel: int
    gains: GradeGains = ()
    remarks: tuple[str, ...] = ()

    @property
    def made_with(self) -> str:
        """What stands behind the lists."""
        worth = ", ".join(f"{grade}: {gain:g}" for grade, gain in self.gains)
        scale = f"relevant: grade {self.rel} or higher" + (f"; gains in DCG {worth}" if worth else "")
        return f"{scale}; qrels {short_hash(self.qrels_hash)}, tie order as in {self.order}"

    def table(self) -> Table:
        """One row for each run and rank, with what it was made with."""
        made = (short_hash(self.qrels_hash), self.order)
        rows = [
            (run, self.topic, step.rank, step.document, step.state, step.precision, step.recall, step.dcg, *made)
            for run, steps in self.lists
            for step in steps
        ]
        return table_of(["run", "topic", "rank", "document", "grade", *_NUMBERS, "qrels", "reference"], rows)

    def frame(self) -> pandas.DataFrame:
        """The rows as a frame; what is the same in all of them stands in its attributes."""
        frame = self.table().frame().drop(columns=["topic", "qrels", "reference"])
        frame.attrs.update(qrels=self.qrels_hash, reference=self.order)
        return frame

    def tables(self) -> list[Table]:
        """The lists one below the other."""
        return [self.beside([one], DIGITS[0]) for one in self.lists]

    def beside(self, lists: Sequence[tuple[str, list[scoring.Step]]], digits: int) -> Table:
        """Lists side by side in one table."""
        columns = [Number("rank", "rank" if digits == DIGITS[0] else "#")]
        for number, _ in enumerate(lists, start=1):
            mark = f"_{number}" if len(lists) > 1 else ""
            columns += [Column(f"document{mark}", "document"), Column(f"grade{mark}", "grade")]
            columns += [Number(f"{name}{mark}", name, digits=digits) for name in _NUMBERS]
        rows: list[list[Value]] = []
        for place in range(max(len(steps) for _, steps in lists)):
            row: list[Value] = [place + 1]
            for _, steps in lists:
                step = steps[place] if place < len(steps) else None
                row += [step.document, step.state] if step else ["", ""]
                row += [step.precision, step.recall, step.dcg] if step else [None, None, None]
            rows.append(row)
        return table_of(columns, rows, caption=f"topic {self.topic}: {' | '.join(name for name, _ in lists)}")


def explain_lists(request: Request, topic: str, *, depth: int = 30, store: Store | None = None) -> Explanation:
    """The ranked list of each run for a topic. The measures must agree on what is relevant."""
    if not isinstance(topic, str):
        raise UsageError(f"a topic id is a string: {str(topic)!r}, not {topic!r}")
    if request.ties == "expected":
        raise UsageError("an expected score is a mean over many lists; there is no single list to show")
    novel = request.duplicates == "novelty"
    if novel and request.ties != "trec":
        raise UsageError("novelty cannot be combined with another tie order: it decides which copy comes first")
    measures = reading.own_measures(request.measures, store)
    rel, gains = _threshold_and_gains(measures, store)
    clusters = corpus.clusters_for(request.clusters, store) if novel else None
    qrels, runs = reading.read_in_full(request, store)
    reference = request.like or "10"
    explained = partial(
        scoring.explain, rel=rel, gains=gains, reference=reference, ties=request.ties, clusters=clusters
    )
    whole = [(run.tag, explained(qrels, run, topic)) for run in runs]
    if not any(steps for _, steps in whole):
        names = ", ".join(quoted(name) for name, _ in whole)
        raise InputError(f"no document for topic {quoted(topic)} in {names}")
    order = f"trec_eval {reference}" + ("" if request.ties == "trec" else f", ties {request.ties}")
    made_of = qrels.content_hash
    if clusters is not None:
        made_of = scoring.novelty_hash(qrels, scoring.cluster_codes(qrels, clusters))
    relevant = scoring.relevant_documents(qrels, topic, rel=rel) if clusters is None else {}
    remarks = [*request.notes]
    for name, steps in whole:
        lower = [f"{one.document} (grade {one.state}, rank {one.rank})" for one in steps[depth:] if one.relevant]
        if lower:
            remarks.append(f"{name}: relevant at lower ranks: {few(lower, _NAMED)}")
        there = {step.document for step in steps}
        missing = [f"{document} (grade {grade})" for document, grade in relevant.items() if document not in there]
        if missing:
            remarks.append(f"{name}: relevant, not retrieved: {few(missing, _NAMED)}")
    lists = tuple((name, steps[:depth]) for name, steps in whole)
    return Explanation(topic, lists, made_of, order, rel, gains, tuple(remarks))


def _threshold_and_gains(measures: Sequence[measuring.Measure], store: Store | None) -> tuple[int, GradeGains]:
    """The lowest grade that is relevant, and gains: what the measures say, else what the collection does."""
    idle = [str(one) for one in measures if {name for name, _ in one.settings} - {"rel", "gains"}]
    if idle:
        raise UsageError(f"--explain shows P, R and DCG; of {idle[0]} only rel and gains apply")
    found = {one.rel for one in measures if one.rel is not None}
    if len(found) > 1:
        raise UsageError("--explain uses one relevance threshold; these measures have several")
    gains = {
        cast("GradeGains", dict(one.settings).get("gains", ())) for one in measures if "gains" in one.kind.parameters
    }
    if len(gains) > 1:
        raise UsageError("--explain uses one gain per grade; these measures have several")
    scale = reading.scale_of(store)
    return found.pop() if found else scale.relevant_from, gains.pop() if gains else scale.own_gains
