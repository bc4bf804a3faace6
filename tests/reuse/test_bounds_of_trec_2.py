"""The real thing: bounds from a shallow pool of TREC-2, held against what was judged in the end."""

from pathlib import Path

import numpy as np
import pytest

from cranfield.base.files import Source
from cranfield.evaluate.align import align
from cranfield.evaluate.measure import parse_measures
from cranfield.evaluate.scores import score
from cranfield.qrels.qrels import qrels_of
from cranfield.qrels.reading import read_qrels
from cranfield.reuse.intervals import identities, interval, interval_depth, intervals_of_runs
from cranfield.reuse.pairs import claim_of, open_score
from cranfield.reuse.settle import settle
from cranfield.runs.check import Expectations, check, repair
from cranfield.runs.reading import read_rows

TREC_2 = Path(__file__).parents[2].parent / "shared" / "data" / "trec-2-adhoc"
TOPICS = frozenset(str(topic) for topic in range(101, 151))
DEPTH, OUTSIDE = 20, 8

pytestmark = [pytest.mark.shared, pytest.mark.slow]


def a_run(path: Path):
    rows = read_rows(Source(path))
    name = path.name.removeprefix("input.").removesuffix(".gz")
    return repair(rows, check(rows, Expectations(topics=TOPICS)), name=name)[0]


@pytest.fixture(scope="module")
def runs():
    return [a_run(path) for path in sorted((TREC_2 / "runs").iterdir())]


@pytest.fixture(scope="module")
def both(runs):
    """Give the qrels of a pool to which the first runs brought nothing, and all qrels; binary."""
    whole = read_qrels(Source(TREC_2 / "qrels" / "qrels.101-150.disk1.disk2"))
    known = {(topic, document): min(grade, 1) for topic, document, grade in whole}
    pooled = {
        (topic, document)
        for run in runs[OUTSIDE:]
        for topic, documents, _ in run
        for document in documents[:DEPTH]
        if (topic, document) in known
    }
    early = qrels_of([(*pair, known[pair]) for pair in sorted(pooled)])
    return early, qrels_of([(*pair, grade) for pair, grade in known.items()])


def test_later_judgments_leave_the_scores_of_measures_that_only_rise_inside(runs, both):
    early, whole = both
    wanted = parse_measures(
        ["P@10", "P@100", "RR", "Success@5", "DCG@10", "DCG", "RBP", "RBP(p=0.95)", "ERR", "CG@20"]
    )
    before = intervals_of_runs(align(early, runs), wanted, depth=lambda one: interval_depth(one, pool_depth=DEPTH))
    later = score(align(whole, runs), wanted).values
    assert (before.lower - 1e-12 <= later).all()
    assert (later <= before.upper + 1e-12).all()
    assert (before.upper - before.lower).max() > 0.5


def test_bounds_with_documents_beside_hold_what_was_found_elsewhere(runs, both):
    wanted = parse_measures(["AP", "nDCG@10", "R@100", "Rprec"])
    found = [align(qrels, runs) for qrels in both]
    more = found[1].lists.relevant_count(1) - found[0].lists.relevant_count(1)
    lists = found[0].lists
    for measure in wanted:
        before = interval(measure, lists, lists.unjudged, beside=np.full(len(lists), int(more.max())))
        later = measure.values(found[1].lists)
        assert (before.lower - 1e-12 <= later).all()
        assert (later <= before.upper + 1e-12).all()


def test_differences_stay_within_their_bounds_and_robust_leads_are_kept(runs, both):
    early, whole = both
    some = runs[:12]
    now, then = align(early, some), align(whole, some)
    documents = identities(now, some)
    robust = 0
    for text in ("P@10", "DCG@10", "RBP", "RR"):
        (measure,) = parse_measures([text])
        depth = interval_depth(measure, pool_depth=DEPTH)
        later = score(then, [measure]).summary[0]
        for first, second in ((0, 9), (1, 10), (2, 3), (8, 11)):
            contest = open_score(now, documents, measure, first, second, depth=depth)
            found, truth = contest.difference, later[first] - later[second]
            assert found.exact
            assert found.ends[0] - 1e-12 <= truth <= found.ends[1] + 1e-12
            claim = claim_of(contest)
            if claim.level == "robust":
                robust += 1
                assert claim.winner == some[first if truth > 0 else second].tag
    assert robust > 0


@pytest.mark.parametrize("text", ["P@10", "DCG@10", "RR", "nDCG@10"])
def test_judging_the_queue_with_the_later_judgments_decides(runs, both, text: str):
    early, whole = both
    known = {(topic, document): grade for topic, document, grade in whole}
    (measure,) = parse_measures([text])
    documents = identities(align(early, runs[:OUTSIDE]), runs[:OUTSIDE])
    queues = []
    for second in range(1, 4):
        contest = open_score(align(early, runs[:OUTSIDE]), documents, measure, 0, second, depth=10)
        found = settle(contest)
        asked = {(topic, document): grade for topic, document, grade in early}
        asked |= {(one.topic, one.document): known.get((one.topic, one.document), 0) for one in found.queue}
        later = align(qrels_of([(*pair, grade) for pair, grade in asked.items()]), runs[:OUTSIDE])
        assert open_score(later, documents, measure, 0, second, depth=10).difference.is_decided
        assert found.if_not_relevant <= found.for_certain == len(found.queue)
        queues.append(len(found.queue))
    assert max(queues) > 0
