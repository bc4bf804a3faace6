"""The real thing: TREC-2, pooled again by other plans. The figures were computed elsewhere, by another program."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from cranfield.base.files import Source
from cranfield.evaluate.align import align
from cranfield.evaluate.measure import own_measures, parse_measures
from cranfield.pool.candidates import runs_of
from cranfield.pool.plan import parse
from cranfield.qrels.reading import read_qrels
from cranfield.runs.check import Expectations, check, repair
from cranfield.runs.reading import read_rows
from cranfield.simulate.study import Known, study

TREC_2 = Path(__file__).parents[2].parent / "shared" / "data" / "trec-2-adhoc"
TOPICS = frozenset(str(topic) for topic in range(101, 151))
AP, P_10, NDCG_10 = own_measures(parse_measures(["AP", "P@10", "nDCG@10"]))

pytestmark = [pytest.mark.shared, pytest.mark.slow]


def a_run(path):
    rows = read_rows(Source(path))
    name = path.name.removeprefix("input.").removesuffix(".gz")
    return repair(rows, check(rows, Expectations(topics=TOPICS)), name=name)[0]


@pytest.fixture(scope="module")
def known():
    runs = [a_run(path) for path in sorted((TREC_2 / "runs").iterdir())]
    described = ElementTree.parse(TREC_2 / "meta" / "desc.xml").getroot().iter("runs")
    groups = {one.findtext("tag"): one.findtext("organization") for one in described}
    feeding = [run for run in runs if run.tag != "rutfmed"]
    qrels = read_qrels(Source(TREC_2 / "qrels" / "qrels.101-150.disk1.disk2"))
    return Known(qrels, runs, runs_of(feeding, groups=groups), align(qrels, runs, keep_rows=True))


def test_shallower_pools_cost_find_and_wrong_outsiders_as_computed_elsewhere(known):
    plans = [parse(f"depth {depth}") for depth in (10, 20, 50, 100)]
    found = list(study(known, plans, [AP, P_10, NDCG_10]))
    assert [(one.cost.documents - one.cost.unknown, one.cost.relevant) for one in found] == [
        (7214, 2473),
        (12863, 3930),
        (28082, 7036),
        (51395, 10367),
    ]
    largest = [[round(one.loss(measure).largest, 4) for measure in (AP, P_10, NDCG_10)] for one in found]
    assert largest == [
        [0.294, 0.4938, 0.4622],
        [0.2295, 0.332, 0.3121],
        [0.1622, 0.1743, 0.1741],
        [0.1178, 0.122, 0.1236],
    ]
    means = [[one.loss(measure).mean for measure in (AP, P_10, NDCG_10)] for one in found]
    assert means == [
        pytest.approx(some, abs=0.0001)
        for some in (
            [0.0962, 0.1862, 0.1648],
            [0.0757, 0.0981, 0.0903],
            [0.0538, 0.0385, 0.0358],
            [0.0401, 0.0201, 0.0191],
        )
    ]


def test_what_finds_more_need_not_rank_better(known):
    """Fusion finds far more than depth at the same cost, and passes over what single systems alone have."""
    take, rrf = study(known, [parse("take"), parse("rrf")], [NDCG_10], budgets=[7500])
    assert (take.cost.relevant, rrf.cost.relevant) == (2616, 3690)
    assert take.effects[0].tau_b > 0.95 > 0.9 > rrf.effects[0].tau_b
