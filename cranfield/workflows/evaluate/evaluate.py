"""Score runs, from files or from a collection, against qrels: the result, with its verdicts, notes and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from cranfield.base.errors import InputError, UsageError, quoted
from cranfield.base.files import Source
from cranfield.base.registry import deferred
from cranfield.base.text import (
    Column,
    Number,
    Result,
    Table,
    Value,
    beside,
    counted,
    few,
    printed,
    table_of,
    with_best,
)
from cranfield.evaluate import align, reading
from cranfield.evaluate import measure as measuring
from cranfield.evaluate import scores as scoring
from cranfield.evaluate.lists import NOT_POOLED, GradeGains, gain_function
from cranfield.evaluate.reading import Read, Request
from cranfield.evaluate.scores import ALL, Scores

with deferred:
    from cranfield.evaluate import foreign as foreign_measures
    from cranfield.evaluate.measures import precision
    from cranfield.qrels import reading as qrels_reading
    from cranfield.report import figures
    from cranfield.reuse import verdict as reuse_verdict

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from cranfield.reuse.assess import Learn
    from cranfield.workflows.reuse.field import Field, Trusted

HASH_SHOWN = 16
UNJUDGED = "°"
"""The mark behind the score of a topic with unjudged documents within the cutoff."""
UNJUDGED_SAID = f"{UNJUDGED} the topic has unjudged documents within the cutoff"

COLUMNS = (
    *(Column("run"), Column("topic"), Column("measure"), Number("value")),
    *(Column("qrels"), Column("reference"), Number("topics")),
    *map(Number, ("plain", "low", "high", "judged", "loss", "loss_upper")),
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
    it. `facts` are sentences on what was read and how it was scored.
    """

    scores: Scores
    trust: Trusted | None = None
    moved: tuple[scoring.Moved, ...] = ()
    plain: Scores | None = None
    facts: tuple[str, ...] = ()
    by_topic: bool = False
    wide = True

    @cached_property
    def notes(self) -> list[str]:  # type: ignore[override]
        """What stands behind the means, runs of which the same is to be said in one line; and ties that matter."""
        scores, runs_with = self.scores, dict[str, list[str]]()
        for run, counts in zip(scores.run_names, scores.counts, strict=True):
            others = {
                "missing from the run (scored 0)": counts.missing,
                "without a relevant document (scored 0)": counts.nothing_relevant,
                "without qrels (ignored)": counts.extra,
            }
            runs_with.setdefault(f"{counted(counts.scored, 'topic')} scored{beside(others)}", []).append(run)
        topics = [f"{few(runs, _RUNS_NAMED)}: {said}" for said, runs in runs_with.items()]
        if len(topics) == 1 < len(scores.run_names):
            topics = [f"each of {counted(len(scores.run_names), 'run')}: {said}" for said in runs_with]
        ranges = [
            f"{one.measure} of {one.run} {one.worst:.4f} to {one.best:.4f}{'' if one.exact else ' or more'}"
            for one in sorted(self.moved, key=lambda one: one.worst - one.best)
        ]
        ties = [f"ties: ranges over other tie orders: {few(ranges, _MOVES_SHOWN)}"] if ranges else []
        return [*topics, *self.facts, *ties]

    @cached_property
    def remarks(self) -> list[str]:  # type: ignore[override]
        """What the marks behind scores mean, and what is wrong with the scores that have one."""
        return [] if self.trust is None else list(self.trust.sentences())

    @property
    def carried(self) -> list[str]:  # type: ignore[override]
        """What is said beside the table, and what its marks mean."""
        return [*self.notes, *self.remarks[:1]]

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
        cells["qrels"] = [self.scores.qrels_hash[:HASH_SHOWN]] * len(rows)
        cells["reference"] = [self.scores.order] * len(rows)
        cells["topics"] = [self._topics[run] if topic == ALL else None for run, topic, _, _ in rows]
        if self.plain is not None:
            cells["plain"] = [row[3] for row in self.plain.rows(by_topic=self.by_topic)]
        if self.trust is not None:
            cells |= self.trust.columns_beside(rows)
        columns = [column for column in COLUMNS if column.name in cells]
        return table_of(columns, list(zip(*(cells[column.name] for column in columns), strict=True)))

    def attributes(self) -> dict[str, object]:
        """What all scores were made with, and the number of topics of each run."""
        return {"qrels": self.scores.qrels_hash, "reference": self.scores.order, "topics": self._topics}

    def frame(self) -> pandas.DataFrame:
        """The rows as a frame; the first remark tells what marks behind scores mean, and there are none here."""
        frame = super().frame()
        frame.attrs["notes"] = [*self.notes, *self.remarks[1:]]
        return frame

    def tables(self) -> list[Table]:
        """One row for each run (and topic), a column for each measure, and one for its plain score beside novelty."""
        found, trust = self.scores, self.trust
        by_measure = [None if trust is None else trust.of(measure) for measure in found.measures]
        marks = [{} if trust is None or one is None else trust.marks(one) for one in by_measure]
        completed = {
            Column(f"complete_{one.measure}", f"{one.measure} complete to rank {one.completed.depth} (80%)"): one
            for one in by_measure
            if one is not None and one.completed is not None and not one.completed.unknown
        }
        numbers = [Number(str(measure), str(measure)) for measure in found.measures]
        columns = [*map(Column, ["run", "topic"] if self.by_topic else ["run"]), *numbers]
        if self.plain is not None:
            columns += [Number(f"plain_{measure}", f"plain {measure}") for measure in found.measures]
        elif trust is not None:
            columns += [*completed, Column("verdict", kind="verdict")]

        rows: list[list[Value]] = []
        scored = [found] if self.plain is None else [found, self.plain]
        for run in self.order:
            topics = [place for place in range(len(found.topic_ids)) if self.by_topic and found.scored[run, place]]
            for topic in (*topics, None):
                both = [one.summary[:, run] if topic is None else one.values[:, run, topic] for one in scored]
                cells: list[Value] = [found.run_names[run]]
                cells += [ALL if topic is None else found.topic_ids[topic]] if self.by_topic else []
                for place, value in enumerate(both[0].tolist()):
                    # What is added up over topics is a count.
                    is_count = found.measures[place].aggregate == "sum" and value == int(value)
                    cells.append(int(value) if is_count else value)
                    one = by_measure[place]
                    if one is not None and (self.by_topic or marks[place]):
                        mark = marks[place].get(run)
                        if topic is not None:
                            mark = UNJUDGED * bool(one.coverage.count[run, topic])
                        # Padded so that numbers stay below each other.
                        cells[-1] = f"{printed(cells[-1], numbers[place])} {mark or ' '}"
                cells += [value for plain in both[1:] for value in plain.tolist()]
                if trust is not None and topic is None:
                    cells += [reuse_verdict.completed_score(one.evidence[run]) for one in completed.values()]
                    worst = trust.worst(run)
                    cells.append("" if worst is None else worst.short)
                rows.append([*cells, *[""] * (len(columns) - len(cells))])
        best = [place for place, one in enumerate(found.measures, start=1) if one.quality and not self.by_topic]
        values = [(found.run_names[run], *found.summary[:, run].tolist()) for run in self.order]
        bold = with_best(table_of([Column("run"), *numbers], values), best).bold
        notes = [made_with(found), *([UNJUDGED_SAID] if self.by_topic and trust is not None else [])]
        return [replace(table_of(columns, rows, notes=notes), bold=bold)]


def made_with(found: Scores) -> str:
    """Which qrels and which order of ties stand behind scores."""
    order = f"{found.ties} ({scoring.ORDER})" if found.ties != "trec" else f"as in {scoring.ORDER}"
    return f"qrels {found.qrels_hash[:HASH_SHOWN]}, tie order {order}"


# Scoring.


def evaluate(
    request: Request,
    *,
    read: Callable[[], Read] | None = None,
    field: Callable[[], Field] | None = None,
    learn: Learn = "where unjudged",
) -> Evaluation:
    """Read, align and score. A caller that has read and aligned the runs passes `read`.

    With `field` each score that is of a list as it stands has a verdict; a note says why others have none. A card
    needs the models of unjudged documents also where no run has one: `learn` is then "always". Many or large files
    are scored in pieces, unless verdicts need their lists at once.
    """
    measures = measuring.parse_by_scale(request.measures, request.scale)
    if not measures:
        raise UsageError("no measure requested; cranfield measures lists them")
    is_foreign = any(isinstance(measure, measuring.ForeignMeasure) for measure in measures)
    why = "" if field is None else _no_verdicts(request, measures, is_foreign=is_foreign)
    known = None if field is None or why else field()
    read = read if known is None else known.requested
    if is_foreign:
        found = _score_with_foreign(request, measures)
    elif request.duplicates == "novelty":
        found = _score_by_novelty(request, measures, read() if read else reading.read_aligned(request))
    else:
        scored, runs, notes = reading.score_runs(request, measures, read=read, at_once=known is not None)
        found = Evaluation(scores=scored.scores, moved=scored.moved, facts=(*_tag_notes(runs), *notes))
    facts = [*request.notes, *found.facts]
    facts += _grade_notes(measures, request.scale.own_gains) if request.scale.own_gains else []
    facts += [f"no verdicts: {why}"] if why else []
    trust = None if known is None else known.trusted(measures, learn=learn)
    return replace(found, trust=trust, facts=(*facts, *(() if trust is None else trust.notes)))


def _no_verdicts(request: Request, measures: Sequence[measuring.AnyMeasure], *, is_foreign: bool) -> str:
    """Why scores have no verdicts; empty where they have."""
    if is_foreign:
        return "the effect of unjudged documents on measures of ir_measures is not known"
    if request.duplicates == "novelty":
        return "unjudged documents could be copies, or have copies, which no interval reckons with"
    if request.ties != "trec":
        return f"they are about the order of ties as in {scoring.ORDER}, not about --ties {request.ties}"
    if reading.exceed_memory(reading.pieces_of(request, measures)):
        return "they need the lists of all runs at once, which would take more than half of the memory"
    return ""


def _score_by_novelty(request: Request, measures: list[measuring.AnyMeasure], known: Read) -> Evaluation:
    """Score with near-duplicates of a document above counted as not relevant, and as the lists stand."""
    if request.ties != "trec":
        raise UsageError(
            "--duplicates novelty cannot be combined with --ties: the tie order decides which copy comes first"
        )
    novel = scoring.by_novelty(known.aligned, known.qrels, known.runs, request.clusters)
    found, plain = (scoring.score(one, measures) for one in (novel, known.aligned))
    lost = counted(int(((known.aligned.lists.grades > 0) & (novel.lists.grades == 0)).sum()), "retrieved document")
    fact = f"novelty: {lost} with a grade above 0 counted as not relevant (near-duplicates)"
    return Evaluation(scores=found, plain=plain, facts=(*_tag_notes(known.runs), fact))


def _score_with_foreign(request: Request, measures: list[measuring.AnyMeasure]) -> Evaluation:
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
    runs = reading.read_in_full(replace(request, qrels=qrels))[1]
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


def _grade_notes(measures: Sequence[measuring.AnyMeasure], scale_gains: GradeGains) -> list[str]:
    """Where grades are worth something else than the scale says."""
    by_grade = []
    for one in measures:
        own, kind = (dict(one.settings), one.kind) if isinstance(one, measuring.Measure) else ({}, None)
        takes_gains = kind is not None and "gains" in kind.parameters
        if own.get("gains") != scale_gains if takes_gains else kind is None or kind.graded or "gain" in own:
            by_grade.append(str(one))
    return [f"{', '.join(by_grade)}: computed from the grades, not from the gains of the scale"] if by_grade else []


def _tag_notes(runs: Sequence[align.AnyRun | reading.Tag]) -> list[str]:
    """Which files carry several tags: were they runs of several systems, their scores would mean nothing."""
    others = {run.tag: ", ".join(map(quoted, run.other_tags[:_TAGS_SHOWN])) for run in runs if run.other_tags}
    told = "{}: the file has several run tags, also {}; all rows are scored as one run"
    return [told.format(*one) for one in others.items()]


# The ranked lists of runs for one topic, by the qrels, tie order and threshold that scores are made with.

_NAMED = 8
_NUMBERS = ("P", "R", "DCG")


class Step(NamedTuple):
    """One rank: the document, what is known of it, the measures of the list down to here, and whether it is relevant.

    `state` is the grade as text, `unjudged` (pooled, without a grade) or `not pooled`.
    """

    rank: int
    document: str
    state: str
    precision: float
    recall: float
    dcg: float
    relevant: bool


@dataclass(frozen=True)
class Explanation(Result):
    """The lists of runs for a topic, each with the name of its run.

    `behind` are sentences on what they were made with, and on the relevant documents that are not among those shown.
    """

    topic: str
    lists: tuple[tuple[str, list[Step]], ...]
    qrels_hash: str
    behind: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def table(self) -> Table:
        """One row for each run and rank, with what it was made with."""
        made = (self.qrels_hash[:HASH_SHOWN], scoring.ORDER)
        rows = [(run, self.topic, *step[:-1], *made) for run, steps in self.lists for step in steps]
        return table_of(["run", "topic", "rank", "document", "grade", *_NUMBERS, "qrels", "reference"], rows)

    def attributes(self) -> dict[str, object]:
        """The topic, and what the lists were made with."""
        return {"topic": self.topic, "qrels": self.qrels_hash, "reference": scoring.ORDER}

    def tables(self) -> list[Table]:
        """The lists one below the other."""
        columns = [Number("rank"), Column("document"), Column("grade"), *map(Number, _NUMBERS)]
        *others, last = [
            table_of(columns, [step[:-1] for step in steps], caption=f"topic {self.topic}: {run}")
            for run, steps in self.lists
        ]
        return [*others, replace(last, notes=self.behind)]


def explain_lists(request: Request, topic: str, *, depth: int) -> Explanation:
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
    whole: list[tuple[str, list[Step]]] = []
    for run in runs:
        lists = align.align(qrels, [run], topics=[topic]).lists
        at_least = max(int(lists.relevant_count(rel)[0]), 1)
        gain = np.where(lists.grades >= 0, gain_function("linear", gains)(lists.grades), 0.0).tolist()
        ranked = next((documents for name, documents, _ in run if name == topic), [])
        rows = zip(ranked, lists.grades.tolist(), gain, strict=True)
        steps, found, dcg = list[Step](), 0, 0.0
        for rank, (document, grade, value) in enumerate(rows, start=1):
            found += grade >= rel
            dcg += value / np.log2(rank + 1)
            state = str(grade) if grade >= 0 else "not pooled" if grade == NOT_POOLED else "unjudged"
            steps.append(Step(rank, document, state, found / rank, found / at_least, float(dcg), grade >= rel))
        whole.append((run.tag, steps))
    if not any(steps for _, steps in whole):
        names = ", ".join(quoted(name) for name, _ in whole)
        raise InputError(f"no document for topic {quoted(topic)} in {names}")
    relevant = [(document, grade) for name, document, grade in qrels if name == topic and grade >= rel]
    relevant.sort(key=lambda one: -one[1])
    worth = ", ".join(f"{grade}: {gain:g}" for grade, gain in gains)
    made = f"relevant: grade {rel} or higher" + (f"; gains in DCG {worth}" if worth else "")
    made += f"; qrels {qrels.content_hash[:HASH_SHOWN]}, tie order as in {scoring.ORDER}"
    behind = [made]
    for name, steps in whole:
        lower = [f"{one.document} (grade {one.state}, rank {one.rank})" for one in steps[depth:] if one.relevant]
        if lower:
            behind.append(f"{name}: relevant at lower ranks: {few(lower, _NAMED)}")
        there = {step.document for step in steps}
        missing = [f"{document} (grade {grade})" for document, grade in relevant if document not in there]
        if missing:
            behind.append(f"{name}: relevant, not retrieved: {few(missing, _NAMED)}")
    shown = tuple((name, steps[:depth]) for name, steps in whole)
    return Explanation(topic, shown, qrels.content_hash, tuple(behind), request.notes)


# Figures of scores, on axes or written to files.

_BARS = {
    "mean": "its mean",
    "geometric": "its geometric mean",
    "median": "its median",
    "min": "its minimum",
    "max": "its maximum",
    "sum": "its mean (not the sum)",
}
"""What the bar of a strip is, by how a measure puts topics together."""

RECALL_LEVELS = "iprec_at_recall"
"""The eleven measures behind a precision–recall curve, in trec_eval's word."""


def plot_evaluation(found: Evaluation, path: Path) -> str:
    """Draw the first measure as strips, or precision–recall curves of the eleven levels; give what was drawn."""
    scores = found.scores
    if is_curve(scores):
        drawn, what = draw_curves(scores), "precision-recall curves"
    else:
        drawn, what = draw_strips(scores), f"{scores.measures[0]} of each run by topic"
    figures.save(figures.figure_of(drawn), path, footer=made_with(scores))
    return what


def is_curve(scores: Scores) -> bool:
    """Whether scores are precision at the eleven levels of recall, and nothing else."""
    levels = [one.cutoff for one in scores.measures if isinstance(one, measuring.Measure) and one.name == "IPrec"]
    return levels == list(precision.ELEVEN) and len(scores.measures) == len(levels)


def draw_strips(scores: Scores, *, runs: Sequence[int] | None = None, on: figures.On = None) -> Axes:
    """Draw the first measure as strips, of all runs or of these; the bar is at what stands in a table.

    What is added up over topics has its bar at the mean: a sum is far from what single topics have.
    """
    measure, names = scores.measures[0], scores.run_names
    chosen = [run for run in (range(len(names)) if runs is None else runs) if scores.scored[run].any()]
    if not chosen:
        raise UsageError("no topic to plot")
    values = {names[run]: scores.values[0, run][scores.scored[run]] for run in chosen}
    bars = None if measure.aggregate == "sum" else {names[run]: float(scores.summary[0, run]) for run in chosen}
    return figures.strips(str(measure), values, summary=bars, called=_BARS[measure.aggregate], on=on)


def draw_curves(scores: Scores, *, on: figures.On = None) -> Axes:
    """Draw precision–recall curves from scores of the eleven levels."""
    curves = {name: scores.summary[:, place] for place, name in enumerate(scores.run_names)}
    return figures.precision_recall(curves, on=on)
