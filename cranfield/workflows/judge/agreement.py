"""How far the assessors of a collection agree: with each other, with themselves; and what that changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from cranfield.base.errors import InputError, check_known
from cranfield.base.records import MAIN, Pair
from cranfield.base.text import Column, Number, Result, Table, counted, table_of
from cranfield.evaluate import reading
from cranfield.evaluate.measure import parse_by_scale
from cranfield.judge import agreement as coefficients
from cranfield.qrels import merge
from cranfield.qrels.release import NOW
from cranfield.reuse import correlation
from cranfield.store import Store, events, live_pools
from cranfield.store import runs as stored_runs
from cranfield.store.events import Graded
from cranfield.store.store import grouped
from cranfield.workflows import qrels as qrels_workflow
from cranfield.workflows.inputs import PoolOptions, default_measures, run_store

KINDS = ("overall", "pair", "topic", "probes", "confusion")
"""The tables there are: what `--by` takes."""

SEED = 1
MEASURES = ("nDCG@10", "AP")
TAU_RULE = 0.9
"""From here on two rankings of systems are regarded as equivalent, by a common rule of thumb."""

_OF_TWO = ("raw", "positive", "kappa", "kappa-quadratic", "alpha-ordinal")
_OF_SEVERAL = ("raw", "positive", "fleiss", "alpha-ordinal")
OVERALL = "Agreement of all assessors, with 95% confidence intervals"
_SHIFT = "shift: mean difference of the grades, second minus first"
_WIDE = {
    "pair": (("first", "second"), "Agreement of each pair of assessors"),
    "topic": (("topic",), "Agreement by topic"),
    "probes": (("assessor",), "Self-agreement: the same document judged again by the same assessor"),
}
"""By what a table names its rows, and its caption."""
_LONG: tuple[Column | str, ...] = (
    *("of", "and", "coefficient"),
    *(Number(name, digits=3) for name in ("value", "low", "high")),
    "items",
)


@dataclass(frozen=True)
class Compared:
    """Opinions with their coefficients: of two assessors or one with themselves; of all assessors, or a topic.

    `table` are the grades of the two, `shift` is by how much the second gives higher grades than the first, in the
    mean. All others have a `share_relevant`.
    """

    first: str
    second: str
    estimates: Sequence[coefficients.Estimate]
    table: coefficients.Codes | None = None
    shift: float = np.nan
    share_relevant: float = np.nan


@dataclass(frozen=True)
class AgreementReport(Result):
    """Everything about agreement: what each of the tables compares; `probes` the first answer of each assessor with
    the answer to the same document seen again. `confusion` counts pairs of opinions by lower and higher grade.

    `older` of the `opinions` were given on another scale than the present one. `by` is the one table that is wanted;
    without it people get the most important ones, and what the disagreement does to the ranking of runs.
    """

    steps: coefficients.Steps
    compared: Mapping[str, Sequence[Compared]]
    confusion: coefficients.Codes
    opinions: int = 0
    older: int = 0
    by: str | None = None
    effect: correlation.AssessorEffect | None = None
    wide = True

    @property
    def notes(self) -> Sequence[str]:  # type: ignore[override]
        """What is to be known before the figures are read."""
        if not self.older:
            return ()
        older = f"{self.older:,} of {counted(self.opinions, 'judgment')} were made on an older scale"
        return [f"warning: {older}: relevance follows the scale of each judgment; grades are compared as numbers"]

    @property
    def remarks(self) -> Sequence[str]:  # type: ignore[override]
        """What is to be known of the usual figures."""
        if self.by is not None:
            return ()
        return ("thresholds such as .667 or .8 come from content analysis; relevance judgments rarely reach them",)

    def table(self) -> Table:
        """One row per coefficient, with its interval, or per pair of grades: for data formats."""
        if self.by == "confusion":
            grades = combinations_with_replacement(enumerate(self.steps.names), 2)
            rows = [(low, high, int(self.confusion[row, column])) for (row, low), (column, high) in grades]
            return table_of(["grade", "other", "pairs"], rows, caption="Pairs of opinions by grade")
        return estimates_table(self.compared[self.by or "overall"])

    def tables(self) -> Iterable[Table]:
        """The tables for people."""
        usual = ["overall", "pair", "confusion", *(["probes"] if self.compared["probes"] else [])]
        for kind in [self.by] if self.by else usual:
            if kind == "overall":
                yield overall_table(self.compared["overall"], OVERALL)
            elif kind == "confusion":
                grades = self.steps.names
                columns = [Column("grade"), *(Number(str(grade)) for grade in grades)]
                rows = [
                    (str(grade), *(int(count) if place >= row else None for place, count in enumerate(counts)))
                    for row, (grade, counts) in enumerate(zip(grades, self.confusion, strict=True))
                ]
                caption = "Pairs of judgments on the same document: lower grade by row, higher grade by column"
                yield table_of(columns, rows, caption=caption)
            else:
                yield self.wide_table(kind)
        if (effect := self.effect) is not None:
            widths = [float((high - low).mean()) for low, high in zip(effect.low, effect.high, strict=True)]
            names = (("tau", "mean tau-b"), ("low", "95% from"), ("high", "to"), ("lowest", "lowest"))
            columns = [Column("measure"), *(Number(name, heading, digits=3) for name, heading in names)]
            yield table_of(
                [*columns, Number("width", "mean range of scores")],
                [(str(one), *effect.tau(one), width) for one, width in zip(effect.measures, widths, strict=True)],
                caption="Effect on the ranking of runs: qrels sampled from the assessors, against the official qrels",
                notes=[f"rankings with tau of at least {TAU_RULE:g} are commonly regarded as equivalent"],
            )

    def wide_table(self, kind: str, *, names: Mapping[str, str] | None = None) -> Table:
        """One row per pair, topic or assessor, with a column per coefficient; `names` replace assessors'."""
        head, caption = _WIDE[kind]
        of_two = kind in ("pair", "probes")
        shown = _OF_TWO if of_two else _OF_SEVERAL
        rows = []
        for one in self.compared[kind]:
            labels = [one.first, one.second][: len(head)]
            if of_two and names is not None:
                labels = [names.get(name, "?") for name in labels]
            known = {each.coefficient: each.value for each in one.estimates}
            items = max((each.items for each in one.estimates), default=0)
            last = one.shift if of_two else one.share_relevant
            rows.append((*labels, items, *(known.get(name) for name in shown), last))
        coefficients_shown = [Number(name, digits=3) for name in shown]
        last_column = Number("shift", digits=3) if of_two else Number("relevant", "share relevant", digits=3)
        columns = [*map(Column, head), Number("items"), *coefficients_shown, last_column]
        return table_of(columns, rows, caption=caption, notes=[_SHIFT] if of_two else ())


def estimates_table(comparisons: Iterable[Compared]) -> Table:
    """The coefficients of comparisons, with intervals as numbers: for data formats."""
    return table_of(
        _LONG,
        [
            (compared.first, compared.second, one.coefficient, one.value, one.low, one.high, one.items)
            for compared in comparisons
            for one in compared.estimates
        ],
    )


def overall_table(comparisons: Sequence[Compared], caption: str) -> Table:
    """One row per coefficient, with what it is."""
    rows, estimates = [], [one for compared in comparisons for one in compared.estimates]
    for one in estimates:
        defined = one.low is not None and one.high is not None
        interval = f"{one.low:.3f} to {one.high:.3f}" if defined else "not defined"
        rows.append((one.coefficient, one.value, interval, one.items, coefficients.COEFFICIENTS[one.coefficient]))
    value = Number("value", digits=3)
    columns: list[Column | str] = ["coefficient", value, "interval", "items", Column("what", "description")]
    uneven = len({one.items for one in estimates}) > 1
    notes = ["fleiss: only items with the most common number of judgments"] if uneven else []
    return table_of(columns, rows, caption=caption, notes=notes)


def agreement_report(store: Store, *, by: str | None = None, layers: Sequence[str] = (MAIN,)) -> AgreementReport:
    """Compare everybody who judged the same documents, in the layers together; decisions are no opinions.

    Whether an opinion says relevant is a matter of the scale it was given on.
    """
    check_known("table", filter(None, [by]), KINDS)
    rows = events.double_judgments(store, layers)
    seen_again = events.probe_answers(store, layers)
    if not rows and not seen_again:
        raise InputError("no document was judged by two assessors, and there are no consistency probes")
    steps, places = _steps(store, [row[3] for row in rows])
    (topic_names, topics), (document_names, documents), (assessor_names, assessors) = (
        np.unique(np.array([row[place] for row in rows], dtype=np.str_), return_inverse=True) for place in range(3)
    )
    labels = coefficients.Labels(
        steps=steps,
        items=topics * len(document_names) + documents,
        assessors=assessors,
        places=np.array([places[row[3]] for row in rows], dtype=np.int64),
        topics=topics,
        assessor_names=tuple(assessor_names.tolist()),
        topic_names=tuple(topic_names.tolist()),
    )
    older = store.other_scales()

    def group(name: str, part: coefficients.Labels) -> Compared:
        estimates = coefficients.agreement(part, rng=np.random.default_rng(SEED))
        share = float(np.mean(part.places >= steps.relevant_from)) if len(part.places) else np.nan
        return Compared(name, "", estimates, share_relevant=share)

    again = grouped((name, (first, second)) for name, first, second in seen_again)
    return AgreementReport(
        steps=steps,
        compared={
            "overall": [group("all", labels)],
            "pair": [_of_table(*pair, steps) for pair in coefficients.by_pair(labels)],
            "topic": [group(topic, part) for topic, part in coefficients.by_topic(labels)],
            "probes": [_compared(store, name, name, grades) for name, grades in sorted(again.items())],
        },
        confusion=coefficients.pooled_confusion(labels),
        opinions=len(rows),
        older=sum(row[4] in older for row in rows),
        by=by,
    )


def agreement_with_people(store: Store, layer: str) -> Compared | None:
    """Compare the grades of a layer with those of people, merged, where both have one; None: nowhere."""
    merged: list[dict[Pair, Graded]] = []
    for one in (MAIN, layer):
        opinions, found = qrels_workflow.merged_now(store, qrels_workflow.Selection(layers=(one,)))
        relevant = merge.binary_by_scale(opinions, found, live_pools.thresholds(store)).grades.tolist()
        merged.append({row[:2]: (bool(yes), row[2]) for row, yes in zip(found.qrels, relevant, strict=True)})
    people, machine = merged
    both = sorted(people.keys() & machine.keys())
    if not both:
        return None
    return _compared(store, "people", layer, [(people[pair], machine[pair]) for pair in both])


def _compared(store: Store, first: str, second: str, grades: Sequence[tuple[Graded, Graded]]) -> Compared:
    steps, places = _steps(store, [grade for pair in grades for grade in pair])
    table = np.zeros((len(places), len(places)), dtype=np.int64)
    for one, other in grades:
        table[places[one], places[other]] += 1
    return _of_table(first, second, table, steps)


def _of_table(first: str, second: str, table: coefficients.Codes, steps: coefficients.Steps) -> Compared:
    estimates = coefficients.agreement_of_two(table, steps, rng=np.random.default_rng(SEED))
    higher = np.subtract.outer(-steps.values, -steps.values)
    return Compared(first, second, estimates, table, float((higher * table).sum() / table.sum()))


def _steps(store: Store, seen: Sequence[Graded]) -> tuple[coefficients.Steps, dict[Graded, int]]:
    """The grades of the scale in force, and the place of each; one of an older scale that was given has one too.

    What is not relevant by its own scale comes before what is.
    """
    scale = store.scale()
    graded = sorted({*((step.grade >= scale.relevant_from, step.grade) for step in scale.grades), *seen})
    relevant_from = [relevant for relevant, _ in graded].index(True)
    steps = coefficients.Steps(tuple(grade for _, grade in graded), relevant_from)
    return steps, {grade: place for place, grade in enumerate(graded)}


def effect_on_rankings(store: Store, layers: Sequence[str]) -> correlation.AssessorEffect | None:
    """Draw qrels from the assessors and rank the stored runs by each; None where there is nothing to exchange."""
    runs = tuple(facts.name for facts in stored_runs.facts(store))
    if len(runs) < 2:
        return None
    qrels = qrels_workflow.qrels_for(store, NOW, qrels_workflow.Selection(layers=tuple(layers)))
    places = {(topic, document): place for place, (topic, document, _) in enumerate(qrels)}
    # For each assessor one grade per row of the qrels, NaN where there is none. Decisions and stand-ins are nobody's.
    grades: dict[str, coefficients.Numbers] = {}
    for topic, document, _, assessor, is_decision, stands_in, grade, *_ in events.opinion_rows(store, layers):
        if not (is_decision or stands_in) and (topic, document) in places:
            grades.setdefault(assessor, np.full(len(qrels), np.nan))[places[topic, document]] = grade
    if len(grades) < 2:
        return None
    request = reading.Request(qrels=qrels, runs=runs, collection=run_store(store), scale=store.scale())
    words, _ = default_measures(MEASURES, store, PoolOptions())
    read, chosen = reading.read_aligned(request, keep_rows=True), parse_by_scale(words, request.scale)
    rng = np.random.default_rng(SEED)
    found = correlation.assessor_effect(read.aligned, qrels, read.runs, list(grades.values()), chosen, rng=rng)
    return found if found.topics_with_choice else None
