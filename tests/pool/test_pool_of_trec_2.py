"""The real thing: the 37 runs that made the pool of TREC-2, read and mended as intake does."""

import csv
from pathlib import Path

import numpy as np
import pytest

from cranfield.base.files import Source
from cranfield.pool.build import build
from cranfield.pool.candidates import runs_of
from cranfield.pool.extend import missing_by_depth
from cranfield.pool.plan import parse
from cranfield.pool.replay import replay
from cranfield.runs.check import Expectations, check, repair
from cranfield.runs.reading import read_rows

TREC_2 = Path(__file__).parents[2].parent / "shared" / "data" / "trec-2-adhoc"
TOPICS = frozenset(str(topic) for topic in range(101, 151))

pytestmark = [pytest.mark.shared, pytest.mark.slow]


def a_run(path):
    rows = read_rows(Source(path))
    name = path.name.removeprefix("input.").removesuffix(".gz")
    return repair(rows, check(rows, Expectations(topics=TOPICS)), name=name)[0]


@pytest.fixture(scope="module")
def runs():
    paths = sorted((TREC_2 / "runs").iterdir())
    return runs_of([a_run(path) for path in paths if "rutfmed" not in path.name])


@pytest.fixture(scope="module")
def labels():
    found = {}
    with (TREC_2 / "qrels" / "qrels.101-150.disk1.disk2").open(encoding="utf-8") as stream:
        for topic, _, document, grade in csv.reader(stream, delimiter=" "):
            found.setdefault(topic, {})[document] = int(grade) > 0
    return found


def test_depth_100_explains_what_was_judged(runs, labels):
    pool = build(parse("depth 100"), runs)
    topics = [pool.topics[place] for place in pool.entries["topic"]]
    known = [labels[topic].get(document) for topic, document in zip(topics, pool.ids, strict=True)]
    assert len(runs.runs) == 37
    assert sum(map(len, labels.values())) == 62_620
    assert sum(label is not None for label in known) == 51_395
    best = np.minimum.reduceat(pool.contribution_ranks, pool.contribution_offsets[:-1])
    relevant = best[[label is True for label in known]]
    assert np.bincount(relevant)[1:11].tolist() == [441, 329, 272, 260, 226, 215, 208, 185, 174, 163]


def found(judged):
    return sum(one.relevant is True for one in judged)


@pytest.mark.parametrize(
    ("depth", "judged", "relevant"), [(10, 7214, 2473), (20, 12863, 3930), (50, 28082, 7036), (100, 51395, 10367)]
)
def test_shallower_pools_have_the_sizes_computed_elsewhere(runs, labels, depth, judged, relevant):
    played = replay(parse(f"depth {depth}"), runs, labels)
    assert sum(one.relevant is not None for one in played) == judged
    assert found(played) == relevant


def test_what_each_depth_adds_is_the_pool_in_the_end(runs):
    first = build(parse("depth 1"), runs)
    added = missing_by_depth(first, runs)
    assert len(first) + added[:100].sum() == len(build(parse("depth 100"), runs))
    assert len(first) + added[:10].sum() == len(build(parse("depth 10"), runs))


SOME = ["104", "113", "122", "131", "140"]


def test_adaptive_strategies_find_more_than_depth_at_equal_cost(runs, labels):
    documents = 150 * len(SOME)
    by_depth = found(replay(parse("take 150"), runs, labels, topics=SOME)[:documents])
    for plan in (
        "mtf until 150",
        "hedge until 150",
        "max-mean until 150",
        "max-mean-ns until 150",
        "thompson until 150",
    ):
        for warm_up in ("", "depth 2; "):
            played = replay(parse(warm_up + plan), runs, labels, topics=SOME)
            assert found(played[:documents]) > by_depth, plan


def test_a_budget_across_topics_finds_more_than_an_even_one(runs, labels):
    even = replay(parse("depth 2; max-mean-ns budget 750"), runs, labels, topics=SOME)
    across = replay(parse("depth 2; max-mean-ns budget 750 across topics"), runs, labels, topics=SOME)
    assert len(even) == len(across) == 750
    assert found(across) > found(even)
