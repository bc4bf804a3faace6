"""Two runs against each other: exact differences with one label per document, claims, and rank intervals."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept
from mappings import qrels_from, ranking_from, run_from

from cranfield.base.errors import UsageError
from cranfield.evaluate.align import Alignment, align
from cranfield.evaluate.measure import parse_measure
from cranfield.reuse.assess import rank_interval
from cranfield.reuse.intervals import identities, with_judgments
from cranfield.reuse.pairs import Claim, OpenScore, QueuedDocument, claim_of, open_score

EXACT = [
    *("P@2", "P(rel=2)@4", "CG", "CG(gains={0: 1, 2: -1})@3", "DCG@3", "DCG(gain=exponential)"),
    *("RBP", "RBP(p=0.5, gain=scaled)", "RBP@2", "RR", "RR(rel=2)@3", "Success@2"),
]
CONSERVATIVE = [
    "AP",
    "AP@2",
    "nDCG@3",
    "nDCG",
    "R@2",
    "Rprec",
    "RBP(gain=topic)@3",
    "ERR",
    "Q@3",
    "BinG",
    "SetF",
    "G",
]
CONSERVATIVE += ["nDCG(gains={1: 4, 2: 1})@2", "IPrecAvg", "Utility(a=0, b=1, c=1)"]

Judged = dict[str, dict[str, int]]
Rankings = dict[str, list[str]]


def contest(judged: Judged, first: Rankings, second: Rankings, text: str, **options: object) -> OpenScore:
    runs = [ranking_from(first, tag="A"), ranking_from(second, tag="B")]
    aligned = align(qrels_from(judged), runs)
    chosen = {"depth": None, **options}
    return open_score(aligned, identities(aligned, runs), parse_measure(text), 0, 1, **chosen)


def random_pair(rng: np.random.Generator, *, topics: int = 1) -> tuple[Judged, Rankings, Rankings]:
    """Give two runs over a few documents of which up to four are unjudged."""
    judged: Judged = {}
    rankings: tuple[Rankings, Rankings] = ({}, {})
    for topic in range(topics):
        documents = [f"d{number}" for number in range(7)]
        known = rng.permutation(documents)[: int(rng.integers(3, 8))].tolist()
        judged[f"t{topic}"] = {name: int(rng.integers(0, 3)) for name in known} | {"unseen": int(rng.integers(0, 3))}
        for name in documents:
            if name not in known and rng.random() < 0.3:
                judged[f"t{topic}"][name] = -1
        for ranking in rankings:
            ranking[f"t{topic}"] = rng.permutation(documents)[: int(rng.integers(1, 7))].tolist()
    return judged, *rankings


def tried(
    judged: Judged, first: Rankings, second: Rankings, texts: list[str], depth: int | None
) -> list[list[float]]:
    """Give the lowest and highest difference over all labels of the documents that count, each a topic of its own."""
    ((topic, known),) = judged.items()
    shown = dict.fromkeys([*first[topic][:depth], *second[topic][:depth]])
    doubtful = [name for name in shown if known.get(name, -1) < 0]
    every = {
        f"{number:04}": known | dict(zip(doubtful, labels, strict=True))
        for number, labels in enumerate(product(range(3), repeat=len(doubtful)))
    }
    runs = [ranking_from(dict.fromkeys(every, ranking[topic])) for ranking in (first, second)]
    lists = replace(align(qrels_from(every), runs).lists, highest_grade=2)
    values = [np.subtract(*parse_measure(text).values(lists).reshape(2, -1)) for text in texts]
    return [[float(one.min()), float(one.max())] for one in values]


def aligned_pair(judged: Judged, first: Rankings, second: Rankings):
    runs = [ranking_from(first, tag="A"), ranking_from(second, tag="B")]
    found = align(qrels_from(judged), runs)
    return found, identities(found, runs)


@pytest.mark.parametrize("depth", [None, 2])
def test_differences_of_sums_and_bests_are_those_of_all_labels(depth: int | None):
    rng = np.random.default_rng(1)
    # All holes count for RBP without a cutoff, whatever the depth.
    texts = [text for text in EXACT if not depth or "RBP" not in text or "@" in text]
    for _ in range(25):
        pair = random_pair(rng)
        aligned = aligned_pair(*pair)
        options = {"depth": depth, "highest": 2}
        found = [open_score(*aligned, parse_measure(text), 0, 1, **options).difference for text in texts]
        assert {one.exact for one in found} == {True}
        got = [one.ends for one in found]
        np.testing.assert_allclose(got, tried(*pair, texts, depth), atol=1e-12, err_msg=f"{texts} {pair}")


@pytest.mark.parametrize("depth", [None, 2])
def test_other_differences_are_true_and_called_conservative(depth: int | None):
    rng = np.random.default_rng(2)
    for _ in range(25):
        pair = random_pair(rng)
        aligned = aligned_pair(*pair)
        options = {"depth": depth, "highest": 2}
        found = [open_score(*aligned, parse_measure(text), 0, 1, **options).difference for text in CONSERVATIVE]
        assert {one.exact for one in found} == {False}
        for text, one, (lower, upper) in zip(CONSERVATIVE, found, tried(*pair, CONSERVATIVE, depth), strict=True):
            assert one.ends[0] <= lower + 1e-12, (text, pair)
            assert one.ends[1] >= upper - 1e-12, (text, pair)


@pytest.mark.parametrize("text", ["Bpref", "infAP", "P(judged_only=True)@2"])
def test_nothing_follows_from_bounds_where_holes_are_passed_over(text: str):
    pair = {"1": ["a", "x"]}, {"1": ["b", "a"]}
    found = contest({"1": {"a": 1, "b": 0}}, *pair, text).difference
    assert np.isnan(found.ends).all()
    assert not found.is_decided


@given(seed=st.integers(0, 2**32), text=st.sampled_from([*EXACT, *CONSERVATIVE]))
def test_swapping_the_runs_turns_the_difference_round(seed: int, text: str):
    judged, first, second = random_pair(np.random.default_rng(seed), topics=3)
    one, other = (contest(judged, *pair, text, highest=2).difference for pair in ((first, second), (second, first)))
    assert (one.value, *one.ends) == pytest.approx((-other.value, -other.ends[1], -other.ends[0]), abs=1e-12)


def test_a_document_that_both_have_at_one_rank_leaves_no_doubt():
    pair = {"1": ["x", "a"]}, {"1": ["x", "b"]}
    found = contest({"1": {"a": 1, "b": 0}}, *pair, "P@2").difference
    assert (found.value, found.ends, found.exact, found.is_decided) == (0.5, (0.5, 0.5), True, True)


def test_the_mean_of_differences_goes_over_common_topics():
    runs = [ranking_from({"1": ["a"], "2": ["x"]}, tag="A"), ranking_from({"1": ["y"]}, tag="B")]
    aligned = align(qrels_from({"1": {"a": 1}, "2": {"a": 1}}), runs, topics="run")
    one = open_score(aligned, identities(aligned, runs), parse_measure("P@1"), 0, 1, depth=1)
    found = one.difference
    assert (one.topics.tolist(), found.value, found.ends) == ([0], 1.0, (0.0, 1.0))


def test_documents_are_the_same_whatever_table_they_come_from():
    first = run_from({"2": {"b": 2.0, "a": 1.0}, "1": {"c": 2.0, "a": 1.0}, "9": {"z": 1.0}}, tag="A")
    second = run_from({"1": {"a": 3.0, "é": 2.0}}, tag="B")
    aligned = align(qrels_from({"1": {"a": 1}, "2": {"b": 1}}), [first, second])
    found = identities(aligned, [first, second])
    assert found.names(found.codes) == ["c", "a", "b", "a", "a", "é"]
    pair, own = aligned.chosen([1]), found.names(found.codes[aligned.rows_of([1])])
    assert (pair.run_names, own, pair.lists.grades.tolist()[0]) == (("B",), ["a", "é"], 1)


def test_documents_follow_the_order_of_trec_eval_9():
    run = run_from({"1": {"a": 0.100000001, "b": 0.1}}, tag="A")
    for reference, expected in (("10", ["a", "b"]), ("9", ["b", "a"])):
        aligned = align(qrels_from({"1": {"a": 1}}), [run], reference=reference)
        found = identities(aligned, [run])
        assert found.names(found.codes) == expected


def test_judgments_that_are_added_are_those_of_new_qrels():
    rng = np.random.default_rng(4)
    for _ in range(20):
        judged, first, second = random_pair(rng, topics=2)
        runs = [ranking_from(first, tag="A"), ranking_from(second, tag="B")]
        aligned = align(qrels_from(judged), runs)
        documents = identities(aligned, runs)
        new = [("t0", name, int(rng.integers(0, 3))) for name in first["t0"] if judged["t0"].get(name, -1) < 0]
        codes = np.array([documents.document_ids.index(name).as_py() for _, name, _ in new], dtype=np.int32)
        grades = np.array([grade for _, _, grade in new], dtype=np.int32)
        changed = with_judgments(aligned, documents, np.zeros(len(new), dtype=np.int64), codes, grades)
        judged["t0"] |= {name: grade for _, name, grade in new}
        again = align(qrels_from(judged), runs)
        assert values_of(changed) == values_of(again)


def values_of(aligned: Alignment) -> list[list[float]]:
    lists = replace(aligned.lists, highest_grade=2)
    return [parse_measure(text).values(lists).tolist() for text in ("AP", "nDCG", "Bpref", "Q", "RBP", "Judged@3")]


JUDGED = {"1": {"a": 1, "b": 0, "c": 0}, "2": {"a": 1, "b": 0, "c": 0}}


def test_a_proof_says_how_deep_it_looked_and_that_chance_is_another_question(kept: Kept):
    pair = {"1": ["a", "b", "x"], "2": ["a", "b", "y"]}, {"1": ["b", "c", "z"], "2": ["b", "c", "w"]}
    claim = claim_of(contest(JUDGED, *pair, "P@2", depth=2), p_value=0.2)
    assert claim.level == "robust"
    kept(claim.reason)


def test_a_win_that_no_label_can_turn_is_robust(kept: Kept):
    pair = {"1": ["a", "x"], "2": ["a", "b"]}, {"1": ["b", "y"], "2": ["b", "c"]}
    claim = claim_of(contest(JUDGED, *pair, "P@2", depth=2))
    assert claim == Claim(
        level="robust", winner="A", loser="B", lead=0.5, ends=(0.25, 0.75), reason=claim.reason, unjudged=2
    )
    assert claim.said == "robust: A"
    kept(claim.reason)


@pytest.mark.parametrize("text", ["AP", "IPrec@1.0"])
def test_a_win_by_a_measure_that_looks_deeper_than_the_pool_says_to_which_rank_it_is_robust(text: str):
    pair = {"1": ["a", "b", "x", "y"]}, {"1": ["b", "a", "z", "w"]}
    judged = {"1": {"a": 1, "b": 0}}
    claim = claim_of(contest(judged, *pair, text, depth=2))
    assert (claim.level, claim.down_to, claim.unjudged, claim.said) == ("robust", 2, 4, "robust to rank 2: A")
    whole = claim_of(contest(judged, *pair, text))
    assert (whole.level, whole.said) == ("open", "open: A")


def test_a_win_that_no_label_at_any_rank_can_turn_is_robust_without_a_rank():
    pair = {"1": ["a", "b", "c", "x"]}, {"1": ["c", "b", "x", "a"]}
    claim = claim_of(contest({"1": {"a": 1, "b": 1, "c": 0}}, *pair, "AP", depth=2))
    assert (claim.level, claim.down_to, claim.said) == ("robust", None, "robust: A")


def test_a_win_that_the_winners_own_holes_carry_is_not_supported(kept: Kept):
    pair = {"1": ["a", "b"], "2": ["a", "b"]}, {"1": ["b", "y"], "2": ["z", "c"]}
    one = contest(JUDGED, *pair, "P@2", depth=2)
    claim = claim_of(one, loss95=(-0.1, 0.2), p_value=0.03, corrected=True)
    assert claim.level == "supported"
    kept(claim.reason)
    assert claim_of(one, loss95=(-0.4, 0.2), p_value=0.03).level == "open"


def test_a_lead_is_not_supported_where_what_the_other_gains_moves_r_and_the_ideal_of_both(kept: Kept):
    judged = {"1": {"a": 1, "b": 1, "c": 0, "d": 0}}
    pair = {"1": ["a", "b"]}, {"1": ["a", "x", "y", "z"]}
    for text in ("AP", "nDCG@4", "R@4", "P@4"):
        claim = claim_of(contest(judged, *pair, text, depth=4), loss95=(0.0, 0.24), p_value=0.01)
        kept(f"{text}: {claim.reason}")
        # With x and y relevant too the run ahead has half of the relevant documents, and the other three of four.
        assert claim.level == ("supported" if text == "P@4" else "open")
        assert claim_of(contest(judged, *pair, text, depth=4), loss95=(0.0, 0.01), p_value=0.01).level == "supported"


def test_where_everything_is_judged_nothing_is_claimed_of_unjudged_documents(kept: Kept):
    pair = {"1": ["a", "b"]}, {"1": ["b", "a"]}
    claim = claim_of(contest({"1": {"a": 1, "b": 0}}, *pair, "P@1", depth=1))
    assert (claim.unjudged, claim.level, claim.said) == (0, "robust", "all judged")
    kept(claim.reason)


@pytest.mark.parametrize(("ahead", "said"), [(2, "robust: A"), (1, "robust, in this tie order: A")])
def test_a_win_that_another_order_of_tied_documents_turns_says_so(ahead: int, said: str, kept: Kept):
    runs = run_from({"1": {"z": ahead, "b": 1, "x": 0}}, tag="A"), ranking_from({"1": ["b", "z", "x"]}, tag="B")
    aligned = align(qrels_from({"1": {"z": 1, "b": 0}}), runs)
    claim = claim_of(open_score(aligned, identities(aligned, runs), parse_measure("AP"), 0, 1, depth=None))
    assert (claim.level, claim.said) == ("robust", said)
    kept(claim.reason)


def test_a_win_is_supported_when_it_outlasts_the_likely_loss_and_is_significant(kept: Kept):
    pair = {"1": ["a", "b"], "2": ["a", "b"]}, {"1": ["b", "y"], "2": ["z", "c"]}
    one = contest(JUDGED, *pair, "P@2", depth=2)
    claim = claim_of(one, loss95=(0.9, 0.2), p_value=0.03)
    assert (claim.level, claim.winner, claim.ends) == ("supported", "A", (0.0, 0.5))
    kept(claim.reason)
    assert claim_of(one, loss95=(0.0, 0.2), p_value=0.06).level == "open"
    assert claim_of(one, loss95=(0.0, 0.5), p_value=0.01).level == "open"
    assert claim_of(one, p_value=0.01).level == "open"


def test_the_one_behind_is_given_its_own_loss_whichever_comes_first():
    pair = {"1": ["b", "y"], "2": ["z", "c"]}, {"1": ["a", "b"], "2": ["a", "b"]}
    claim = claim_of(contest(JUDGED, *pair, "P@2"), loss95=(0.2, 0.9), p_value=0.03)
    assert (claim.level, claim.winner, claim.loser, claim.ends) == ("supported", "B", "A", (0.0, 0.5))


def test_a_run_with_holes_that_beats_one_without_proves_it_where_the_normaliser_stays():
    pair = {"1": ["a", "x"], "2": ["a", "b"]}, {"1": ["b", "a"], "2": ["b", "c"]}
    texts = ["P@2", "RR@2", "DCG@2", "Success@1"]
    got = [claim_of(contest(JUDGED, *pair, text, depth=2)) for text in texts]
    assert [(claim.level, claim.winner) for claim in got] == [("robust", "A")] * 4


def test_a_measure_that_is_no_mean_is_refused(kept: Kept):
    with kept.raises(UsageError):
        contest(JUDGED, {"1": ["a"]}, {"1": ["b"]}, "DCG(agg=max)")


def test_the_documents_that_would_decide_an_open_pair_come_by_weight(kept: Kept):
    pair = {"1": ["a", "x"], "2": ["b", "y"]}, {"1": ["z", "x"], "2": ["c", "b"]}
    one = contest(JUDGED, *pair, "DCG@2", depth=2)
    claim = claim_of(one)
    half = 1 / np.log2(3) / 2
    assert (claim.level, claim.winner, claim.lead) == ("open", "A", 0.5)
    assert one.queued(one.order) == (
        QueuedDocument("1", "z", 0.5, "B", 1),
        QueuedDocument("2", "y", pytest.approx(half), "A", 2),
    )
    kept(claim.reason)


def test_equal_scores_are_open_and_so_is_a_measure_without_bounds(kept: Kept):
    pair = {"1": ["a", "b"], "2": ["x"]}, {"1": ["a", "c"], "2": ["x"]}
    claim = claim_of(contest(JUDGED, *pair, "P@2"))
    assert (claim.level, claim.winner, claim.lead) == ("open", "", 0.0)
    kept(claim.reason)
    claim = claim_of(contest(JUDGED, {"1": ["a"]}, {"1": ["b"]}, "statP@1"))
    kept((claim.level, claim.reason))


def test_rank_intervals_count_who_is_surely_and_who_is_possibly_better():
    found = rank_interval([0.5, 0.3, 0.1, 0.3], [0.5, 0.6, 0.2, 0.3])
    assert found.best.tolist() == [1, 1, 4, 2]
    assert found.worst.tolist() == [2, 2, 4, 3]


def test_a_run_without_an_interval_can_have_any_rank():
    found = rank_interval([0.5, np.nan, 0.1], [0.6, np.nan, 0.2])
    assert found.best.tolist() == [1, 1, 2]
    assert found.worst.tolist() == [2, 3, 3]


@given(seed=st.integers(0, 2**32), size=st.integers(1, 8))
def test_any_scores_within_the_intervals_give_ranks_within_theirs(seed: int, size: int):
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, 6, (2, size)) / 5, axis=0)
    found = rank_interval(*ends)
    scores = ends[0] + (ends[1] - ends[0]) * rng.random(size)
    ranks = 1 + (scores[np.newaxis, :] > scores[:, np.newaxis]).sum(axis=1)
    assert ((found.best <= ranks) & (ranks <= found.worst)).all()
