"""What the disagreement of assessors does to the order of the stored runs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cranfield.workflows.evaluate_asked import Asked
from cranfield.workflows.evaluate_reading import read_aligned
from cranfield.workflows.measures_asked import measures_asked
from cranfield.workflows.qrels_of import qrels_for
from cranfield.store import Store
from cranfield.store.opinions import opinion_rows
from cranfield.store.releases import NOW
from cranfield.store.runs import run_facts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cranfield.qrels.qrels import Qrels
    from cranfield.report.table import Table
    from cranfield.reuse.assessors import AssessorEffect

MEASURES = ("nDCG@10", "AP")
TAU_RULE = 0.9
"""From here on two rankings of systems pass for equivalent, by an old rule of thumb."""


def effect_on_rankings(
    store: Store, *, measures: Sequence[str] = MEASURES, layers: Sequence[str] = ("main",), seed: int = 1
) -> "AssessorEffect | None":
    """Draw qrels from the assessors and rank the stored runs by each; None where there is nothing to exchange."""
    import numpy as np

    from cranfield.reuse.assessors import assessor_effect

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


def _by_assessor(store: Store, qrels: "Qrels", layers: Sequence[str]) -> "list[NDArray[np.float64]]":
    """Give for each assessor one grade per row of the qrels, NaN where there is none; decisions are nobody's."""
    import numpy as np

    places = {(topic, document): place for place, (topic, document, _) in enumerate(qrels)}
    found: dict[str, NDArray[np.float64]] = {}
    for topic, document, _, assessor, is_decision, is_propagated, grade, *_ in opinion_rows(store, layers):
        if is_decision or is_propagated or (topic, document) not in places:
            continue
        found.setdefault(assessor, np.full(len(qrels), np.nan))[places[topic, document]] = grade
    return list(found.values())


def effect_table(effect: "AssessorEffect") -> "Table":
    """Give the effect measure by measure."""
    from cranfield.report.table import Column, table_of

    rows = []
    for place, measure in enumerate(effect.measures):
        tau = effect.tau(measure)
        width = float((effect.high[place] - effect.low[place]).mean())
        rows.append((str(measure), tau.mean, tau.low, tau.high, tau.lowest, width))
    names = (("tau", "mean tau-b"), ("low", "95 % from"), ("high", "to"), ("lowest", "lowest"))
    columns = [Column("measure"), *(Column(name, heading, digits=3, numeric=True) for name, heading in names)]
    columns.append(Column("width", "mean width of scores", numeric=True))
    return table_of(
        columns,
        rows,
        caption="What it does to the ranking of the runs: qrels drawn from either assessor against the official ones",
        notes=[f"tau from {TAU_RULE:g} on: the rankings pass for equivalent"],
    )
