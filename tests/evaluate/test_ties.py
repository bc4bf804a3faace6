"""What the order of tied documents does to scores."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept import Kept
from mappings import qrels_from, ranking_from, run_from

from cranfield.base.errors import UsageError
from cranfield.evaluate import scores as scoring
from cranfield.evaluate.align import align
from cranfield.evaluate.measure import parse_measures
from cranfield.evaluate.scores import Moved, expected_scores, moved_by_ties, score

QRELS = qrels_from({"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 1}})
TIED = run_from({"1": {"a": 1.0, "b": 1.0, "c": 1.0, "x": 0.5}, "2": {"z": 3.0, "a": 2.0}}, tag="tied")


def score_with_ties(aligned, measures, *, ties: str, rng=None):
    if ties == "expected":
        return expected_scores(aligned, score(aligned, measures), rng=rng).scores
    return scoring.score_with_ties(aligned, measures, ties, seed=1).scores


def value(ties: str, measure: str = "nDCG@3", *, run=TIED) -> float:
    aligned = align(QRELS, [run], topics=["1"])
    rng = np.random.default_rng(1)
    return float(score_with_ties(aligned, parse_measures([measure]), ties=ties, rng=rng).summary[0, 0])


def test_the_canonical_order_is_by_document_id_from_high_to_low():
    assert value("trec", "P@1") == 1.0
    assert value("trec") == pytest.approx((1 + 2 / 2) / (2 + 1 / np.log2(3)))


def test_the_best_order_has_the_highest_grades_first_and_the_worst_the_lowest():
    assert value("best") == 1.0
    assert value("worst") == pytest.approx((1 / np.log2(3) + 2 / 2) / (2 + 1 / np.log2(3)))
    assert (value("best", "RR"), value("worst", "RR")) == (1.0, 0.5)


def test_the_expected_score_is_the_mean_over_all_orders():
    """Two of three tied documents are relevant: the first is at rank 1 in two of three orders, else at 2."""
    assert value("expected", "RR") == pytest.approx(2 / 3 + 1 / 3 / 2, abs=1e-12)
    assert value("expected", "P@1") == pytest.approx(2 / 3, abs=1e-12)
    assert value("expected", "P@3") == pytest.approx(2 / 3)


def test_it_comes_out_the_same_every_time():
    assert value("expected", "AP") == value("expected", "AP")


def test_a_run_without_ties_has_one_score():
    run = ranking_from({"1": ["b", "a", "c"]})
    assert len({value(order, "AP", run=run) for order in ("trec", "best", "worst", "expected")}) == 1


def test_ties_that_can_move_a_score_are_told():
    aligned = align(QRELS, [TIED, ranking_from({"1": ["a"]}, tag="plain")])
    scores = score(aligned, parse_measures(["RR", "SetR"]))
    assert moved_by_ties(aligned, scores) == [Moved("tied", "RR", 0.75, 0.5, 0.75)]


def test_ties_in_32_bits_are_ties_only_in_version_9():
    run = run_from({"1": {"a": 0.1, "b": 0.100000001}})
    assert not align(QRELS, [run]).tied.any()
    assert align(QRELS, [run], reference="9").tied.tolist() == [False, True]


def test_ties_of_topics_that_do_not_count_are_left_out():
    run = run_from({"0": {"x": 1.0, "y": 1.0}, "1": {"a": 1.0}, "2": {"a": 1.0, "b": 1.0}})
    assert align(QRELS, [run], topics=["2"]).tied.tolist() == [False, True]


@settings(max_examples=min(settings.default.max_examples, 500))
@given(data=st.data())
def test_best_and_worst_are_those_of_runs_that_break_their_ties_by_grade(data):
    """What only the lists with mixed ties are scored for must come out as if all were written down in that order."""
    grades = st.dictionaries(st.sampled_from("abcdef"), st.integers(-1, 2), min_size=1)
    judged = data.draw(st.dictionaries(st.sampled_from(["1", "2", "3"]), grades, min_size=1))
    scored = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 2), min_size=1)
    run = st.dictionaries(st.sampled_from(["1", "2", "3"]), scored, min_size=1)
    runs = data.draw(st.lists(run, min_size=1, max_size=3))
    measures = parse_measures(["AP", "RR", "nDCG@2", "P@1", "RBP"])
    qrels = qrels_from(judged)
    for ties, sign in (("best", -1), ("worst", 1)):

        def ordered(topic: str, found: dict[str, int], sign: int = sign) -> list[str]:
            worth = {name: max(judged.get(topic, {}).get(name, 0), 0) for name in found}
            return sorted(found, key=lambda name: (-found[name], sign * worth[name]))

        written = [ranking_from({topic: ordered(topic, found) for topic, found in run.items()}) for run in runs]
        expected = score(align(qrels, written), measures).values
        tied = [run_from({topic: dict(found) for topic, found in run.items()}) for run in runs]
        assert np.allclose(score_with_ties(align(qrels, tied), measures, ties=ties).values, expected, atol=1e-12)


EVERY_KIND = parse_measures(
    [
        "AP RR P@1 P@2 nDCG nDCG@2 nDCG(gains={1:3,2:1})@2 nDCG(gains={0:1}) CG(gains={0:2,1:-1})@2",
        "G(gains={1:3,2:1}) Bpref Q ERR RBP(gain=topic) RBPResidual Judged@2 Unjudged@2 FirstUnjudged",
        "AP(judged_only=True) P(judged_only=True)@2 AP(rel=2) NumJudgedNonrel RBPGains(gains={1:3})",
        "BinG YAAP IPrecAvg Rprec F@2",
    ]
)
UNKNOWN = parse_measures(["infAP", "nDCGRel", "RnDCG", "xinfAP", "infNDCG@2", "statP@2", "statAP"])


def in_every_order(judged: dict[str, int], scored: dict[str, int], measures: list) -> np.ndarray:
    """The values of a list under all orders of its ties, measures by orders."""
    groups = [
        [name for name in scored if scored[name] == level] for level in sorted(set(scored.values()), reverse=True)
    ]
    orders = itertools.product(*(itertools.permutations(group) for group in groups))
    written = [ranking_from({"1": [name for group in order for name in group]}) for order in orders]
    return score(align(qrels_from({"1": judged}), written), measures).values[:, :, 0]


@settings(max_examples=min(settings.default.max_examples, 200))
@given(
    judged=st.dictionaries(st.sampled_from("abcdefm"), st.integers(-1, 2), min_size=1),
    scored=st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 1), min_size=1),
)
def test_best_worst_and_expected_are_the_ends_and_the_mean_of_all_orders(judged, scored):
    aligned = align(qrels_from({"1": judged}), [run_from({"1": dict(scored)})])
    everything = in_every_order(judged, scored, [*EVERY_KIND, *UNKNOWN])
    known = everything[: len(EVERY_KIND)]
    rng = np.random.default_rng(1)
    expected = score_with_ties(aligned, [*EVERY_KIND, *UNKNOWN], ties="expected", rng=rng).values[:, 0, 0]
    assert np.allclose(expected, everything.mean(axis=1), atol=1e-12)
    for ties, ends in (("best", known.max(axis=1)), ("worst", known.min(axis=1))):
        assert np.allclose(score_with_ties(aligned, EVERY_KIND, ties=ties).values[:, 0, 0], ends, atol=1e-12)


def test_what_is_told_of_judged_documents_is_how_far_their_share_can_go():
    """The tied documents are judged and not: none is worth anything, and yet the share that is judged moves."""
    aligned = align(qrels_from({"1": {"a": 0, "r": 1}}), [run_from({"1": {"a": 1.0, "x": 1.0}}, tag="run")])
    scores = score(aligned, parse_measures(["Judged@1", "Unjudged@1", "FirstUnjudged", "AP"]))
    assert moved_by_ties(aligned, scores) == [
        Moved("run", "Judged@1", 0.0, 0.0, 1.0),
        Moved("run", "Unjudged@1", 1.0, 0.0, 1.0),
        Moved("run", "FirstUnjudged", 1.0, 1.0, 2.0),
    ]


def test_a_best_order_that_would_have_to_be_searched_for_is_refused_and_its_range_is_told_as_open(kept: Kept):
    aligned = align(QRELS, [TIED])
    with kept.raises(UsageError):
        score_with_ties(aligned, parse_measures(["AP", "infAP", "RnDCG"]), ties="best")
    (moved,) = moved_by_ties(aligned, score(aligned, parse_measures(["infAP"])))
    assert not moved.exact
    assert moved.worst < moved.best


def test_where_there_are_too_many_orders_some_are_drawn_and_the_error_is_told():
    """Thirty documents are tied, ten of them relevant: C(30, 10) orders. The first is relevant in a third of them."""
    judged = {f"d{number:02}": int(number < 10) for number in range(30)}
    run = run_from({"1": dict.fromkeys(judged, 1.0)})
    aligned = align(qrels_from({"1": judged}), [run])
    measures = parse_measures(["P@1", "nDCG", "Success@1"])
    found = expected_scores(aligned, score(aligned, measures), rng=np.random.default_rng(1))
    exact, ndcg, drawn = found.scores.values[:, 0, 0]
    discounts = 1 / np.log2(np.arange(2, 32))
    assert "1 list with too many orders, of which 10,000 were sampled" in found.note
    error = float(found.note.rpartition(" ")[2])
    assert 0.001 < error < 0.006
    assert abs(drawn - 1 / 3) < 4 * error
    assert exact == pytest.approx(1 / 3, abs=1e-12)  # a sum over ranks follows from each rank alone
    assert ndcg == pytest.approx(discounts.sum() / 3 / discounts[:10].sum(), abs=1e-12)


def test_what_is_drawn_does_not_depend_on_the_order_of_the_file():
    """As before, but a relevant document stands first as the list is read: it still comes first in a third only."""
    judged = {f"d{number:02}": int(number >= 20) for number in range(30)}
    aligned = align(qrels_from({"1": judged}), [run_from({"1": dict.fromkeys(judged, 1.0)})])
    plain = score(aligned, parse_measures(["Success@1"]))
    found = expected_scores(aligned, plain, rng=np.random.default_rng(1))
    assert plain.values[0, 0, 0] == 1.0
    assert abs(found.scores.values[0, 0, 0] - 1 / 3) < 4 * float(found.note.rpartition(" ")[2]) < 0.03
