"""Say how far the assessors of a collection agree: with each other, over time, and with themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cranfield.base.errors import InputError
from cranfield.judge.events import MAIN
from cranfield.store.events import Graded, double_judgments, opinion_rows, probe_answers
from cranfield.store.live_pools import thresholds
from cranfield.store.releases import NOW
from cranfield.store.runs import run_facts
from cranfield.store.scales import current_scale, other_scales
from cranfield.store.store import Store
from cranfield.workflows.evaluate.inputs import Asked, measures_asked, read_aligned
from cranfield.workflows.qrels.current import merged_now, qrels_for

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cranfield.base.tables import Table
    from cranfield.judge.agreement import Estimate, Labels, Steps
    from cranfield.qrels.qrels import Qrels
    from cranfield.reuse.correlation import AssessorEffect


SEED = 1


@dataclass(frozen=True, slots=True)
class Compared:
    """Two assessors (or one with himself): their table of grades and the coefficients.

    `shift` is by how much the second gives higher grades than the first, in the mean.
    """

    first: str
    second: str
    table: NDArray[np.int64]
    estimates: tuple[Estimate, ...]
    shift: float


@dataclass(frozen=True, slots=True)
class Group:
    """Some opinions with their coefficients: all, those of a topic, or those of a stretch of time."""

    name: str
    estimates: tuple[Estimate, ...]
    share_relevant: float
    start: str = ""
    end: str = ""


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """Everything about agreement. `confusion` counts pairs of opinions by lower and higher grade.

    `probes` compares the first answer of each assessor with the answer he gave when he saw the document again.
    `older` of the `opinions` were given on another scale than the present one.
    """

    steps: Steps
    overall: Group
    confusion: NDArray[np.int64]
    pairs: tuple[Compared, ...]
    topics: tuple[Group, ...]
    periods: tuple[Group, ...]
    probes: tuple[Compared, ...]
    opinions: int = 0
    older: int = 0


def agreement_report(
    store: Store, *, layers: Sequence[str] = (MAIN,), seed: int = SEED, draws: int = 1000, blocks: int = 5
) -> AgreementReport:
    """Compare everybody who judged the same documents, in the layers together; decisions are no opinions.

    Whether an opinion says relevant is a matter of the scale it was given on.
    """
    import numpy as np

    from cranfield.judge.agreement import agreement, by_topic, over_time, pooled_confusion, share_relevant

    rows = double_judgments(store, layers)
    seen_again = probe_answers(store, layers)
    if not rows and not seen_again:
        raise InputError("nothing was judged by two assessors, and nobody saw a document again: there is no overlap")
    steps = _steps(store, [row[3] for row in rows])
    labels = _labels(rows, steps)

    def group(name: str, part: Labels, start: str = "", end: str = "") -> Group:
        estimates = tuple(agreement(part, rng=np.random.default_rng(seed), draws=draws))
        return Group(name, estimates, share_relevant(part) if len(part) else float("nan"), start, end)

    return AgreementReport(
        steps=steps,
        overall=group("all", labels),
        confusion=pooled_confusion(labels),
        pairs=tuple(_pairs(labels, seed, draws)),
        topics=tuple(group(topic, part) for topic, part in by_topic(labels)),
        periods=tuple(
            group(str(number), part, start, end)
            for number, (start, end, part) in enumerate(over_time(labels, blocks=blocks), start=1)
        ),
        probes=tuple(_probes(store, seen_again, seed, draws)),
        opinions=len(rows),
        older=sum(row[5] in other_scales(store)[0] for row in rows),
    )


def agreement_with_people(store: Store, layer: str, *, seed: int = SEED, draws: int = 1000) -> Compared | None:
    """Compare the grades of a layer with those of people, merged, where both have one; None: nowhere."""
    people, machine = _merged_grades(store, MAIN), _merged_grades(store, layer)
    both = sorted(people.keys() & machine.keys())
    if not both:
        return None
    return _compared(store, "people", layer, [(people[pair], machine[pair]) for pair in both], seed, draws)


def _merged_grades(store: Store, layer: str) -> dict[tuple[str, str], Graded]:
    from cranfield.qrels.merge import binary_by_scale

    opinions, merged = merged_now(store, layers=[layer])
    relevant = binary_by_scale(opinions, merged, thresholds(store)).grades.tolist()
    return {row[:2]: (bool(is_relevant), row[2]) for row, is_relevant in zip(merged.qrels, relevant, strict=True)}


def _compared(
    store: Store, first: str, second: str, grades: Sequence[tuple[Graded, Graded]], seed: int, draws: int
) -> Compared:
    import numpy as np

    steps = _steps(store, [grade for pair in grades for grade in pair])
    places = _places(steps)
    table = np.zeros((len(places), len(places)), dtype=np.int64)
    for one, other in grades:
        table[places[one], places[other]] += 1
    return _of_table(first, second, table, steps, seed, draws)


def _of_table(first: str, second: str, table: NDArray[np.int64], steps: Steps, seed: int, draws: int) -> Compared:
    import numpy as np

    from cranfield.judge.agreement import agreement_of_two

    estimates = agreement_of_two(table, steps, rng=np.random.default_rng(seed), draws=draws)
    higher = np.subtract.outer(-steps.values, -steps.values)
    return Compared(first, second, table, tuple(estimates), float((higher * table).sum() / table.sum()))


def _probes(store: Store, rows: Sequence[tuple[str, Graded, Graded]], seed: int, draws: int) -> list[Compared]:
    names = sorted({assessor for assessor, _, _ in rows})
    by_name = {name: [(first, again) for assessor, first, again in rows if assessor == name] for name in names}
    return [_compared(store, name, name, grades, seed, draws) for name, grades in by_name.items()]


def _pairs(labels: Labels, seed: int, draws: int) -> list[Compared]:
    from cranfield.judge.agreement import by_pair

    return [_of_table(first, second, table, labels.steps, seed, draws) for first, second, table in by_pair(labels)]


def _steps(store: Store, seen: Sequence[Graded]) -> Steps:
    """Give the grades of the scale in force; a grade of an older one that was given has its place too.

    What is not relevant by its own scale comes before what is.
    """
    from cranfield.judge.agreement import Steps

    scale = current_scale(store)[1]
    places = sorted({*((step.grade >= scale.relevant_from, step.grade) for step in scale.grades), *seen})
    return Steps(tuple(grade for _, grade in places), [relevant for relevant, _ in places].index(True))


def _places(steps: Steps) -> dict[Graded, int]:
    return {(place >= steps.relevant_from, grade): place for place, grade in enumerate(steps.grades)}


def _labels(rows: Sequence[tuple[str, str, str, Graded, str, int]], steps: Steps) -> Labels:
    """Make columns of (topic, document, assessor, grade, when, scale)."""
    import numpy as np

    from cranfield.judge.agreement import Labels

    places = _places(steps)
    topics = {name: code for code, name in enumerate(sorted({row[0] for row in rows}))}
    items = {pair: code for code, pair in enumerate(sorted({row[:2] for row in rows}))}
    assessors = {name: code for code, name in enumerate(sorted({row[2] for row in rows}))}
    return Labels(
        steps=steps,
        items=np.array([items[row[:2]] for row in rows], dtype=np.int64),
        assessors=np.array([assessors[row[2]] for row in rows], dtype=np.int64),
        places=np.array([places[row[3]] for row in rows], dtype=np.int64),
        topics=np.array([topics[row[0]] for row in rows], dtype=np.int64),
        moments=np.array([row[4] for row in rows], dtype=np.str_),
        assessor_names=tuple(assessors),
        topic_names=tuple(topics),
    )


# What the disagreement of assessors does to the order of the stored runs.

MEASURES = ("nDCG@10", "AP")
TAU_RULE = 0.9
"""From here on two rankings of systems pass for equivalent, by an old rule of thumb."""


def effect_on_rankings(
    store: Store, *, measures: Sequence[str] = MEASURES, layers: Sequence[str] = ("main",), seed: int = 1
) -> AssessorEffect | None:
    """Draw qrels from the assessors and rank the stored runs by each; None where there is nothing to exchange."""
    import numpy as np

    from cranfield.reuse.correlation import assessor_effect

    runs = tuple(facts.name for facts in run_facts(store))
    if len(runs) < 2:
        return None
    qrels = qrels_for(store, NOW, layers=layers)
    grades = _by_assessor(store, qrels, layers)
    if len(grades) < 2:
        return None
    read = read_aligned(Asked(qrels=qrels, runs=runs), store, keep_rows=True)
    chosen = measures_asked(measures, store)
    rng = np.random.default_rng(seed)
    found = assessor_effect(read.aligned, qrels, read.runs, grades, chosen, rng=rng)
    return found if found.topics_with_choice else None


def _by_assessor(store: Store, qrels: Qrels, layers: Sequence[str]) -> list[NDArray[np.float64]]:
    """Give for each assessor one grade per row of the qrels, NaN where there is none; decisions are nobody's."""
    import numpy as np

    places = {(topic, document): place for place, (topic, document, _) in enumerate(qrels)}
    found: dict[str, NDArray[np.float64]] = {}
    for topic, document, _, assessor, is_decision, is_propagated, grade, *_ in opinion_rows(store, layers):
        if is_decision or is_propagated or (topic, document) not in places:
            continue
        found.setdefault(assessor, np.full(len(qrels), np.nan))[places[topic, document]] = grade
    return list(found.values())


def effect_table(effect: AssessorEffect) -> Table:
    """Give the effect measure by measure."""
    from cranfield.base.tables import Column, table_of

    rows = []
    for place, measure in enumerate(effect.measures):
        tau = effect.tau(measure)
        width = float((effect.high[place] - effect.low[place]).mean())
        rows.append((str(measure), tau.mean, tau.low, tau.high, tau.lowest, width))
    names = (("tau", "mean tau-b"), ("low", "95 % from"), ("high", "to"), ("lowest", "lowest"))
    columns = [Column("measure"), *(Column(name, heading, digits=3, kind="number") for name, heading in names)]
    columns.append(Column("width", "mean width of scores", kind="number"))
    return table_of(
        columns,
        rows,
        caption="What it does to the ranking of the runs: qrels drawn from either assessor against the official ones",
        notes=[f"tau from {TAU_RULE:g} on: the rankings pass for equivalent"],
    )
