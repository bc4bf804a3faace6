"""Score runs, from files or from a collection, against qrels: the result, with its verdicts, notes and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from cranfield.base.errors import InputError, UsageError, quoted
from cranfield.base.files import Progress, Source, silent
from cranfield.base.registry import deferred
from cranfield.base.text import (
    Column,
    Number,
    Result,
    Shown,
    Surface,
    Table,
    Value,
    counted,
    few,
    printed,
    table_of,
    with_best,
)
from cranfield.evaluate import measure as measuring
from cranfield.evaluate import reading
from cranfield.evaluate import scores as scoring
from cranfield.evaluate import ties as tie_orders
from cranfield.evaluate.align import AnyRun
from cranfield.evaluate.lists import GradeGains
from cranfield.evaluate.reading import Read, Request
from cranfield.evaluate.scores import ALL, RankChange, Scores
from cranfield.store import Store

with deferred:
    from cranfield.evaluate import foreign as foreign_measures
    from cranfield.qrels import reading as qrels_reading
    from cranfield.reuse import verdict as reuse_verdict
    from cranfield.workflows import corpus

if TYPE_CHECKING:
    import pandas

    from cranfield.reuse.assess import Learn
    from cranfield.workflows.reuse.field import Field, Trusted

SEED = 1
"""Where random orders of ties begin: so that they come out the same every time."""

HASH_SHOWN = 16
UNJUDGED = "°"
"""The mark behind the score of a topic with unjudged documents within the cutoff."""
UNJUDGED_SAID = f"{UNJUDGED} the topic has unjudged documents within the cutoff"

COLUMNS = (
    *(Column("run"), Column("topic"), Column("measure"), Number("value")),
    *(Column("qrels"), Column("reference"), Number("topics")),
    *map(Number, ("plain", "rank", "plain_rank")),
    *map(Number, ("low", "high", "judged", "loss", "loss_upper")),
    *(Column("verdict", kind="verdict"), Column("reason"), Column("to_rank")),
    *map(Number, ("complete", "complete_low", "complete_high", "complete_to")),
)

_MOVES_SHOWN = 5
_TAGS_SHOWN = 3
_RUNS_NAMED = 3


@dataclass(frozen=True, kw_only=True)
class Evaluation(Result):
    """Scores, how far each of them can be trusted, and what should be known about them.

    `moved` are the summaries that hang on the order of tied documents. With novelty `plain` are the scores without
    it, and `changes` the places of the runs in both. `facts` are sentences on what was read and how it was scored.
    """

    scores: Scores
    trust: Trusted | None = None
    moved: tuple[tie_orders.Moved, ...] = ()
    plain: Scores | None = None
    changes: tuple[RankChange, ...] = ()
    facts: tuple[str, ...] = ()
    by_topic: bool = False
    wide = True

    @cached_property
    def notes(self) -> list[str]:  # type: ignore[override]
        """What stands behind the means, which qrels, what was read, and ties that matter."""
        ranges = [
            f"{one.measure} of {one.run} {one.worst:.4f} to {one.best:.4f}{'' if one.exact else ' or more'}"
            for one in sorted(self.moved, key=lambda one: one.worst - one.best)
        ]
        ties = [f"ties: ranges over other tie orders: {few(ranges, _MOVES_SHOWN)}"] if ranges else []
        return [*topic_notes(self.scores), made_with(self.scores), *self.facts, *ties]

    @cached_property
    def remarks(self) -> list[str]:  # type: ignore[override]
        """What the marks behind scores mean, and what is wrong with the scores that have one."""
        if self.trust is None:
            return []
        return [*self.trust.sentences(), *([UNJUDGED_SAID] if self.by_topic else [])]

    def on(self, surface: Surface) -> Shown:
        """The scores; a table that goes elsewhere carries what a terminal has beside it."""
        made = made_with(self.scores)
        notes = [note for note in self.notes if surface != "pipe" or note != made]
        if surface == "data":
            return Shown(notes, [self.table()], [one for one in self.remarks if one != UNJUDGED_SAID])
        wide, *others = self.tables()
        legend = [one for place, one in enumerate(self.remarks) if place == 0 or one == UNJUDGED_SAID]
        carried = [*self.notes, *legend] if surface == "document" else [made] if surface == "pipe" else []
        unchanged = ["novelty scoring changes the rank of no run"] if self.changes and not others else []
        wide = replace(wide, notes=(*wide.notes, *carried))
        return Shown(notes, [wide, *others], [*unchanged, *self.remarks])

    @cached_property
    def _topics(self) -> dict[str, int]:
        """How many topics of each run are scored."""
        return {run: one.scored for run, one in zip(self.scores.run_names, self.scores.counts, strict=False)}

    @cached_property
    def order(self) -> list[int]:
        """The places of the runs as tables show them: best first by the first measure, equal ones as they were."""
        places = list(range(len(self.scores.run_names)))
        if not self.scores.measures[0].quality:
            return places
        values = [value if value == value else float("-inf") for value in self.scores.summary[0].tolist()]
        return sorted(places, key=lambda run: -values[run])

    def table(self) -> Table:
        """One row for each run, topic and measure; the topic of a summary is `all`."""
        rows = list(self.scores.rows(by_topic=self.by_topic))
        cells: dict[str, Sequence[Value]] = {
            column.name: [row[place] for row in rows] for place, column in enumerate(COLUMNS[:4])
        }
        cells["qrels"] = [short_hash(self.scores.qrels_hash)] * len(rows)
        cells["reference"] = [self.scores.order] * len(rows)
        cells["topics"] = [self._topics[run] if topic == ALL else None for run, topic, _, _ in rows]
        if self.plain is not None:
            cells["plain"] = [row[3] for row in self.plain.rows(by_topic=self.by_topic)]
            places = {(one.run, ALL, one.measure): (one.rank, one.plain_rank) for one in self.changes}
            ranks = [places.get(row[:3], (None, None)) for row in rows]
            cells["rank"], cells["plain_rank"] = zip(*ranks, strict=True)
        if self.trust is not None:
            cells |= self.trust.columns_beside(rows)
        columns = [column for column in COLUMNS if column.name in cells]
        return table_of(columns, list(zip(*(cells[column.name] for column in columns), strict=True)))

    def frame(self) -> pandas.DataFrame:
        """The rows as a frame; what is the same in all of them stands in its attributes."""
        frame = self.table().frame().drop(columns=["qrels", "reference", "topics"])
        # The first remark tells what marks behind scores mean, and there are none here.
        remarks = [] if self.trust is None else list(self.trust.sentences())[1:]
        made = {"qrels": self.scores.qrels_hash, "reference": self.scores.order, "topics": self._topics}
        frame.attrs.update(made, notes=[*self.notes, *remarks])
        return frame

    def tables(self) -> list[Table]:
        """One row for each run (and topic), a column for each measure; and the places that novelty changed.

        Those that changed most stand first.
        """
        moved = sorted((one for one in self.changes if one.change), key=lambda one: -abs(one.change))
        rows = [(one.run, one.measure, one.value, one.plain, one.rank, one.plain_rank) for one in moved]
        numbers = [*map(Number, ("novelty", "plain", "rank", "plain_rank"))]
        note = f"{len(self.changes) - len(moved):,} of {counted(len(self.changes), 'rank')} of runs did not change"
        caption = "Ranks of runs changed by novelty scoring"
        places = table_of([Column("run"), Column("measure"), *numbers], rows, caption=caption, notes=[note])
        return [self._wide(), places] if moved else [self._wide()]

    def _wide(self) -> Table:
        found, trust = self.scores, self.trust
        by_measure = [None if trust is None else trust.of(measure) for measure in found.measures]
        marks = [{} if trust is None or one is None else trust.marks(one) for one in by_measure]
        columns = [Number(str(measure), str(measure)) for measure in found.measures]
        completed = {
            Column(f"complete_{one.measure}", f"{one.measure} complete to rank {one.completed.depth} (80%)"): one
            for one in by_measure
            if one is not None and one.completed is not None and not one.completed.unknown
        }

        def cell(value: Value, run: int, topic: int | None, place: int) -> Value:
            """A value with its mark, padded so that numbers stay below each other."""
            one = by_measure[place]
            if one is None or not (self.by_topic or marks[place]):
                return value
            mark = marks[place].get(run, "") if topic is None else ""
            if topic is not None and one.coverage.count[run, topic]:
                mark = UNJUDGED
            return f"{printed(value, columns[place])} {mark or ' '}"

        plain: list[list[Value]] = []
        rows: list[list[Value]] = []
        for run in self.order:
            topics = [place for place in range(len(found.topic_ids)) if self.by_topic and found.scored[run, place]]
            for topic in (*topics, None):
                values = found.summary[:, run] if topic is None else found.values[:, run, topic]
                keys = [found.run_names[run]]
                if self.by_topic:
                    keys.append(ALL if topic is None else found.topic_ids[topic])
                counts: list[Value] = [  # what is added up over topics is a count
                    int(value) if one.aggregate == "sum" and value == int(value) else value
                    for one, value in zip(found.measures, values.tolist(), strict=True)
                ]
                cells = [cell(value, run, topic, place) for place, value in enumerate(counts)]
                cells += [
                    reuse_verdict.completed_score(one.evidence[run]) if topic is None else ""
                    for one in completed.values()
                ]
                if trust is not None:
                    worst = trust.worst(run) if topic is None else None
                    cells.append("" if worst is None else worst.short)
                plain.append([*keys, *counts])
                rows.append([*keys, *cells])
        heads = [Column("run"), Column("topic")] if self.by_topic else [Column("run")]
        best = [place for place, one in enumerate(found.measures, start=1) if one.quality and not self.by_topic]
        bold = with_best(table_of([*heads, *columns], plain), best).bold
        last = [] if trust is None else [*completed, Column("verdict", kind="verdict")]
        return replace(table_of([*heads, *columns, *last], rows), bold=bold)


def topic_notes(found: Scores) -> list[str]:
    """What stands behind the means: topics scored, missing, extra, without anything relevant.

    Runs of which the same is to be said share a line; the line of the most stands last.
    """
    runs_with: dict[str, list[str]] = {}
    for run, counts in zip(found.run_names, found.counts, strict=True):
        others = (
            (counts.missing, "missing from the run (scored 0)"),
            (counts.nothing_relevant, "without a relevant document (scored 0)"),
            (counts.extra, "without qrels (ignored)"),
        )
        parts = [counted(counts.scored, "topic") + " scored"]
        parts += [f"{number:,} {fate}" for number, fate in others if number]
        runs_with.setdefault(", ".join(parts), []).append(run)
    if len(runs_with) == 1 and len(found.run_names) > 1:
        return [f"each of {counted(len(found.run_names), 'run')}: {said}" for said in runs_with]
    most = max(runs_with, key=lambda said: len(runs_with[said]), default="")
    if len(runs_with.get(most, ())) <= _RUNS_NAMED:
        return [f"{', '.join(runs)}: {said}" for said, runs in runs_with.items()]
    fewer = [f"{few(runs, _RUNS_NAMED)}: {said}" for said, runs in runs_with.items() if said != most]
    return [*fewer, f"each of the other {counted(len(runs_with[most]), 'run')}: {most}"]


def made_with(found: Scores) -> str:
    """Which qrels and which order of ties stand behind scores."""
    order = f"{found.ties} ({scoring.ORDER})" if found.ties != "trec" else f"as in {scoring.ORDER}"
    return f"qrels {short_hash(found.qrels_hash)}, tie order {order}"


def short_hash(qrels_hash: str) -> str:
    """A hash of qrels as it is shown."""
    return qrels_hash[:HASH_SHOWN]


# Scoring.


def evaluate(
    request: Request,
    *,
    store: Store | None = None,
    progress: Progress = silent,
    read: Callable[[], Read] | None = None,
    at_once: bool = False,
) -> Evaluation:
    """Read, align and score. A caller that has read and aligned the runs passes `read`.

    Many or large files are scored in pieces, unless their lists are there `at_once`.
    """
    measures = measuring.parse_by_scale(request.measures, request.scale)
    if not measures:
        raise UsageError("no measure requested; cranfield measures lists them")
    if any(isinstance(measure, measuring.ForeignMeasure) for measure in measures):
        found = _score_with_foreign(request, measures, progress)
    elif not at_once and (parts := reading.pieces_of(request, measures)) and (qrels := reading.plain_qrels(request)):
        scored, runs = reading.score_in_pieces(request, measures, parts, qrels, progress)
        found = Evaluation(scores=scored.scores, moved=scored.moved, facts=tuple(_tag_notes(runs)))
    else:
        read = read or partial(reading.read_aligned, request, progress)
        by_novelty = request.duplicates == "novelty"
        found = _score_by_novelty(request, measures, read, store) if by_novelty else _score(request, measures, read())
    facts = [*request.notes, *found.facts, *_grade_notes(measures, request)]
    return replace(found, facts=tuple(facts))


def evaluate_with_verdicts(
    request: Request,
    field: Callable[[], Field],
    *,
    store: Store | None,
    progress: Progress = silent,
    read: Callable[[], Read] | None = None,
    learn: Learn = "where unjudged",
) -> Evaluation:
    """Score, and give a verdict on each score that is of a list as it stands; a note says why others have none.

    A card needs the models of unjudged documents also where no run has one: `learn` is then "always".
    """
    measures, why = measuring.parse_by_scale(request.measures, request.scale), ""
    if not measures or any(isinstance(one, measuring.ForeignMeasure) for one in measures):
        why = "the effect of unjudged documents on measures of ir_measures is not known"
    elif request.duplicates == "novelty":
        why = "unjudged documents could be copies, or have copies, which no interval reckons with"
    elif request.ties != "trec":
        why = f"they are about the order of ties as in {scoring.ORDER}, not about --ties {request.ties}"
    elif reading.exceed_memory(reading.pieces_of(request, measures)):
        why = "they need the lists of all runs at once, which would take more than half of the memory"
    if why:
        found = evaluate(request, store=store, progress=progress, read=read)
        return replace(found, facts=(*found.facts, f"no verdicts: {why}"))
    known = field()
    found = evaluate(request, store=store, read=known.requested, at_once=True)
    trust = known.trusted(found.scores.measures, store=store, learn=learn)
    return replace(found, trust=trust, facts=(*found.facts, *trust.notes))


def _score_by_novelty(
    request: Request, measures: list[measuring.AnyMeasure], read: Callable[[], Read], store: Store | None
) -> Evaluation:
    """Score with near-duplicates of a document above counted as not relevant, and as the lists stand."""
    if request.ties != "trec":
        raise UsageError(
            "--duplicates novelty cannot be combined with --ties: the tie order decides which copy comes first"
        )
    clusters, known = corpus.clusters_for(request.clusters, store), read()
    novel = scoring.by_novelty(known.aligned, known.qrels, known.runs, clusters)
    found, plain = (scoring.score(one, measures) for one in (novel, known.aligned))
    lost = counted(int(((known.aligned.lists.grades > 0) & (novel.lists.grades == 0)).sum()), "retrieved document")
    fact = f"novelty: {lost} with a grade above 0 counted as not relevant (near-duplicates)"
    changes = tuple(scoring.rank_changes(found, plain))
    return Evaluation(scores=found, plain=plain, changes=changes, facts=(*_tag_notes(known.runs), fact))


def _score(request: Request, measures: list[measuring.AnyMeasure], read: Read) -> Evaluation:
    """Score by our own measures, with ties as requested."""
    aligned, facts = read.aligned, [*_tag_notes(read.runs)]
    if read.qrels.strata is not None:
        drawn, many = int((read.qrels.grades >= 0).sum()), len(read.qrels)
        said = "use xinfAP, infNDCG, statAP and statP; other measures count the rest as not relevant"
        facts.append(f"the qrels are a sample, {drawn:,} of {many:,} documents judged: {said}")
        if empty := aligned.lists.sample.strata_without_draws():
            facts.append(f"{counted(empty, 'stratum', 'strata')} without a sampled document")
    found = tie_orders.score_with_ties(aligned, measures, request.ties, seed=SEED)
    facts += [found.note] if found.note else []
    return Evaluation(scores=found.scores, moved=found.moved, facts=tuple(facts))


def _score_with_foreign(request: Request, measures: list[measuring.AnyMeasure], progress: Progress) -> Evaluation:
    """Score by our own measures and by those of ir_measures, which sees documents and subtopics."""
    ours = [measure for measure in measures if isinstance(measure, measuring.Measure)]
    theirs = [measure for measure in measures if not isinstance(measure, measuring.Measure)]
    if request.ties != "trec" or request.duplicates != "plain":
        raise UsageError(f"{theirs[0]} is computed by ir_measures, which supports neither --ties nor --duplicates")
    if isinstance(request.qrels, Path):
        judged, qrels, qrels_hash = qrels_reading.read_subtopics(Source(request.qrels))
    else:
        qrels, qrels_hash = request.qrels, request.qrels.content_hash
        judged = [qrels_reading.SubtopicRow(topic, "0", document, grade) for topic, document, grade in qrels]
    runs = reading.read_in_full(replace(request, qrels=qrels), progress)[1]
    if ours and qrels_hash != qrels.content_hash:
        raise InputError(
            f"{qrels.name}: documents are judged for several subtopics; {ours[0]} needs one grade per document"
        )
    aligned = replace(reading.align_runs(request, qrels, runs), qrels_hash=qrels_hash)
    own = scoring.score(aligned, ours)
    values = iter(own.values)
    foreign = iter(foreign_measures.foreign_values(theirs, judged, runs, aligned))
    both = np.array([next(foreign if one in theirs else values) for one in measures])
    found = replace(own, measures=tuple(measures), values=both)
    return Evaluation(scores=found, facts=tuple(_tag_notes(runs)))


def _grade_notes(measures: Sequence[measuring.AnyMeasure], request: Request) -> list[str]:
    """Where grades, or unjudged documents, are worth something else than one would think."""
    scale_gains = request.scale.own_gains
    by_grade, below_zero = [], []
    for one in measures:
        gains, otherwise = None, True
        if isinstance(one, measuring.Measure):
            own = dict(one.settings)
            gains = own.get("gains")
            takes_gains = "gains" in one.kind.parameters
            otherwise = gains != scale_gains if takes_gains else one.kind.graded or "gain" in own
        if scale_gains and otherwise:
            by_grade.append(str(one))
        if isinstance(gains, tuple) and dict(gains).get(0, 0.0) > 0:
            below_zero.append(str(one))
    by_grade_said = "computed from the grades, not from the gains of the scale"
    below_zero_said = (
        "an unjudged document has gain 0, less than a document of grade 0; unjudged documents can lower the score"
        " below its final value"
    )
    noted = ((by_grade, by_grade_said), (below_zero, below_zero_said))
    return [f"{', '.join(names)}: {said}" for names, said in noted if names]


def _tag_notes(runs: Sequence[AnyRun | reading.Tag]) -> list[str]:
    """Which files carry several tags: were they runs of several systems, their scores would mean nothing."""
    return [
        f"{run.tag}: the file has several run tags, also {', '.join(map(quoted, run.other_tags[:_TAGS_SHOWN]))};"
        " all rows are scored as one run"
        for run in runs
        if run.other_tags
    ]


# The ranked lists of runs for one topic, by the qrels, tie order and threshold that scores are made with.

_NAMED = 8
_NUMBERS = ("P", "R", "DCG")


@dataclass(frozen=True)
class Explanation(Result):
    """The lists of runs for a topic, each with the name of its run; what they were made with; what is relevant.

    `remarks` are sentences on the relevant documents that are not among those shown.
    """

    topic: str
    lists: tuple[tuple[str, list[scoring.Step]], ...]
    qrels_hash: str
    rel: int
    gains: GradeGains = ()
    remarks: tuple[str, ...] = ()

    def table(self) -> Table:
        """One row for each run and rank, with what it was made with."""
        made = (short_hash(self.qrels_hash), scoring.ORDER)
        rows = [
            (run, self.topic, step.rank, step.document, step.state, step.precision, step.recall, step.dcg, *made)
            for run, steps in self.lists
            for step in steps
        ]
        return table_of(["run", "topic", "rank", "document", "grade", *_NUMBERS, "qrels", "reference"], rows)

    def frame(self) -> pandas.DataFrame:
        """The rows as a frame; what is the same in all of them stands in its attributes."""
        frame = self.table().frame().drop(columns=["topic", "qrels", "reference"])
        frame.attrs.update(qrels=self.qrels_hash, reference=scoring.ORDER)
        return frame

    def tables(self) -> list[Table]:
        """The lists one below the other."""
        columns = [Number("rank"), Column("document"), Column("grade"), *map(Number, _NUMBERS)]
        return [
            table_of(
                columns,
                [(one.rank, one.document, one.state, one.precision, one.recall, one.dcg) for one in steps],
                caption=f"topic {self.topic}: {run}",
            )
            for run, steps in self.lists
        ]

    def on(self, surface: Surface) -> Shown:
        """The lists; tables that go elsewhere carry what a terminal has beside them."""
        if surface == "data":
            return Shown([], [self.table()], [])
        worth = ", ".join(f"{grade}: {gain:g}" for grade, gain in self.gains)
        scale = f"relevant: grade {self.rel} or higher" + (f"; gains in DCG {worth}" if worth else "")
        made = f"{scale}; qrels {short_hash(self.qrels_hash)}, tie order as in {scoring.ORDER}"
        if surface == "terminal":
            return Shown([], self.tables(), [*self.remarks, made])
        *others, last = self.tables()
        carried = [made, *self.remarks] if surface == "document" else [made]
        last = replace(last, notes=(*last.notes, *carried))
        return Shown([], [*others, last], self.remarks)


def explain_lists(request: Request, topic: str, *, depth: int = 30) -> Explanation:
    """The ranked list of each run for a topic; the measure says what is relevant, else the collection does."""
    if not isinstance(topic, str):
        raise UsageError(f"a topic id is a string: {str(topic)!r}, not {topic!r}")
    if len(measures := measuring.own_measures(measuring.parse_by_scale(request.measures, request.scale))) > 1:
        raise UsageError("--explain uses the relevance threshold and the gains of one measure")
    (measure,), scale = measures, request.scale
    settings = dict(measure.settings)
    if settings.keys() - {"rel", "gains"}:
        raise UsageError(f"--explain shows P, R and DCG; of {measure} only rel and gains apply")
    rel = scale.relevant_from if measure.rel is None else measure.rel
    own = settings.get("gains", ()) if "gains" in measure.kind.parameters else scale.own_gains
    gains = cast("GradeGains", own)
    qrels, runs = reading.read_in_full(request)
    whole = [(run.tag, scoring.explain(qrels, run, topic, rel=rel, gains=gains)) for run in runs]
    if not any(steps for _, steps in whole):
        names = ", ".join(quoted(name) for name, _ in whole)
        raise InputError(f"no document for topic {quoted(topic)} in {names}")
    relevant = scoring.relevant_documents(qrels, topic, rel=rel)
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
    return Explanation(topic, lists, qrels.content_hash, rel, gains, tuple(remarks))
