"""What to judge: queues that decide between two runs, and queues that make a score safe."""

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept
from mappings import qrels_from, ranking_from

import cranfield as cf
from cranfield.base.errors import UsageError
from cranfield.evaluate.align import align
from cranfield.evaluate.measure import parse_measure
from cranfield.reuse.intervals import identities
from cranfield.reuse.pairs import OpenScore, QueuedDocument, open_score
from cranfield.reuse.settle import Chances, Contest, Goal, Judging, Settlement, learned_chances, settle
from cranfield.reuse.unjudged_model import Chain, Step, UnjudgedModel, Upper

Judged = dict[str, dict[str, int]]
Rankings = dict[str, list[str]]

SUMS = ["P@3", "DCG@4", "CG", "RBP(p=0.5)", "RBP(gain=scaled)", "DCG(gain=exponential)@3"]
BESTS = ["RR", "Success@3"]
GOALS = get_args(Goal)
OTHERS = ["AP", "nDCG@3", "R@3", "nDCG", "Rprec"]


def contest(judged: Judged, first: Rankings, second: Rankings, text: str, **options: object) -> OpenScore:
    runs = [ranking_from(first, tag="A"), ranking_from(second, tag="B")]
    aligned = align(qrels_from(judged), runs)
    chosen = {"depth": 4, "highest": 2, **options}
    return open_score(aligned, identities(aligned, runs), parse_measure(text), 0, 1, **chosen)


def random_pair(rng: np.random.Generator, *, topics: int = 3) -> tuple[Judged, Rankings, Rankings]:
    documents = [f"d{number}" for number in range(8)]
    judged, first, second = {}, {}, {}
    for topic in (f"t{number}" for number in range(topics)):
        known = rng.permutation(documents)[: int(rng.integers(1, 7))].tolist()
        judged[topic] = {name: int(rng.integers(0, 3)) for name in known} | {"unseen": 1}
        for ranking in (first, second):
            ranking[topic] = rng.permutation(documents)[: int(rng.integers(1, 8))].tolist()
    return judged, first, second


def judged_in_turn(one: OpenScore, found: Settlement, label: Callable[[int], int], count: int | None) -> bool:
    """Judge the first documents of a queue, and say whether the pair is decided then."""
    names = {name: code for code, name in enumerate(one.documents.document_ids.to_pylist())}
    topics = {name: place for place, name in enumerate(one.alignment.topic_ids)}
    keys = {
        (int(t), int(d)): p for p, (t, d) in enumerate(zip(one.unjudged.topic, one.unjudged.document, strict=True))
    }
    chosen = [keys[topics[each.topic], names[each.document]] for each in found.queue[:count]]
    grades = np.array([label(place) for place in range(len(chosen))], dtype=np.int32)
    return one.after(np.array(chosen, dtype=np.int64), grades).difference.is_decided


@given(seed=st.integers(0, 2**32), text=st.sampled_from([*SUMS, *BESTS, *OTHERS]))
def test_the_pair_is_decided_when_the_queue_is_judged_whatever_the_labels(seed: int, text: str):
    rng = np.random.default_rng(seed)
    one = contest(*random_pair(rng), text)
    found = settle(one)
    for _ in range(4):
        share = rng.random()
        labels = np.where(rng.random(200) < share, rng.integers(0, 3, 200), 0)
        assert judged_in_turn(one, found, lambda place, labels=labels: int(labels[place]), found.for_certain)
    assert (not found.queue) == one.difference.is_decided


@given(seed=st.integers(0, 2**32), text=st.sampled_from([*SUMS, *BESTS, *OTHERS]))
def test_so_many_are_needed_if_none_is_relevant_and_no_fewer(seed: int, text: str):
    one = contest(*random_pair(np.random.default_rng(seed)), text)
    found = settle(one)
    assert judged_in_turn(one, found, lambda _: 0, found.if_not_relevant)
    if found.if_not_relevant:
        assert not judged_in_turn(one, found, lambda _: 0, found.if_not_relevant - 1)


def test_what_favours_the_one_behind_comes_first_as_it_is_probably_not_relevant():
    """Few judged documents are relevant, fewer still of the others: those of B raise the lowest lead more."""
    judged = {"1": {"a": 1, "b": 0}, "2": {"a": 0}}
    one = contest(judged, {"1": ["a", "x"], "2": ["y"]}, {"1": ["b", "z"], "2": ["w"]}, "DCG@2", depth=2, highest=1)
    found = settle(one)
    ends = (pytest.approx(-1 / np.log2(3) / 2), pytest.approx(1 + 1 / np.log2(3) / 2))
    assert (one.difference.value, one.difference.ends, one.difference.exact) == (0.5, ends, True)
    assert found == Settlement(
        queue=(
            QueuedDocument("2", "w", 0.5, "B", 1),
            QueuedDocument("1", "z", pytest.approx(1 / np.log2(3) / 2), "B", 2),
            QueuedDocument("2", "y", 0.5, "A", 1),
            QueuedDocument("1", "x", pytest.approx(1 / np.log2(3) / 2), "A", 2),
        ),
        if_not_relevant=1,
        for_certain=4,
    )


@given(seed=st.integers(0, 2**32), text=st.sampled_from([*SUMS, *BESTS, *OTHERS]))
def test_the_expected_difference_is_the_true_one_where_at_most_one_document_is_relevant(seed: int, text: str):
    one = contest(*random_pair(np.random.default_rng(seed)), text)
    judging, count = Judging(one), len(one.unjudged)
    assert judging.difference(np.zeros(count))[0] == pytest.approx(one.difference.value)
    for place in one.order[:3]:
        alone = one.after(np.array([place]), np.array([2], dtype=np.int32)).difference.value
        assert judging.difference(np.eye(count)[place])[0] == pytest.approx(alone)


def test_a_chance_is_that_of_the_run_that_ranks_the_document_within_the_depth():
    """x is popular (slope 1, mean 0) at rank 1 of A; B has it below the depth, where popularity is not counted."""
    same, step = (Upper(1.0, 22, is_maximum=False), Step(0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, ((1.0, 0.0),)))
    blind = Chain((replace(step, intercept=-2.0, terms=()),), (0.0,), same)
    popular = Chain((step,), (0.0,), same)
    model = UnjudgedModel((0, 1), 0.5, (), (), same, blind, popular, -9.0, 0.0, same, 1.0, 22, 100, 30)
    judged = {"1": {"a": 1, "b": 0}}
    first, second = {"1": ["x", "a"]}, {"1": ["b", "a", "y", "x"]}
    one = contest(judged, first, second, "CG", depth=4, highest=1)
    assert one.documents.names(one.unjudged.document) == ["x", "y"]
    popularity = np.array([-1.0, 0.0, 0.0])  # x of A, then x and y of B
    found = learned_chances(one, model, np.array([2]), popularity)
    assert found.expected.tolist() == pytest.approx([1 / (1 + np.exp(1)), 1 / (1 + np.exp(2))])


def two_topics(*chances: float, spread: float = 1.0) -> Judging:
    """A has x and y, B has v and w, each alone at rank 1; nothing else is known, and a relevant one is worth .5."""
    judged = {"1": {"a": 1}, "2": {"a": 1}}
    one = contest(judged, {"1": ["x"], "2": ["y"]}, {"1": ["v"], "2": ["w"]}, "P@1", depth=1, highest=1)
    assert one.documents.names(one.unjudged.document) == ["x", "v", "y", "w"]
    return Judging(one, Chances(np.array(chances), spread))


def test_a_label_changes_what_is_expected_of_its_run_and_of_its_topic():
    """x was expected with .5: the surprise is .5, over 1 / 1² + .25; so much is added to the logits once for each."""
    judging = two_topics(0.5, 0.2, 0.5, 0.2)
    judging.judge(np.array([0]), np.array([1]))
    step = 0.5 / 1.25
    _, v, y, w = judging.expected.tolist()
    assert np.log(v / (1 - v)) == pytest.approx(np.log(0.25) + step)
    assert (w, np.log(y / (1 - y))) == (pytest.approx(0.2), pytest.approx(step))


def test_the_probability_of_being_ahead_counts_what_labels_have_in_common(monkeypatch: pytest.MonkeyPatch):
    """The mean is .5 · (.8 + .5 - .2 - .5); a label varies by .25 p (1 - p), a run's and a topic's by their sums."""
    monkeypatch.setattr("cranfield.reuse.settle.FEW", 0)
    judging = two_topics(0.8, 0.2, 0.5, 0.5, spread=0.5)
    first, second = 0.5 * 0.16, 0.5 * 0.25  # the weights times p (1 - p) of the documents of each topic
    labels = 0.25 * (0.16 + 0.16 + 0.25 + 0.25)
    runs = 2 * (first + second) ** 2 * 0.5**2
    topics = (first - first) ** 2 + (second - second) ** 2
    assert judging.ahead(judging.expected) == pytest.approx(NormalDist().cdf(0.3 / np.sqrt(labels + runs + topics)))


def test_of_few_documents_all_labels_are_tried():
    """With x, y and w judged A is behind by .5, unless v is not relevant: then they are equal."""
    judging = two_topics(0.97, 0.97, 0.5, 0.5)
    judging.is_open[:] = [False, True, False, False]
    judging.low, judging.high = -0.5, 0.0
    assert judging.ahead(np.array([0.5, 0.97, 0.5, 0.5])) == pytest.approx(0.03 / 2)


def test_the_two_orders_take_what_raises_the_lowest_lead_and_what_varies_most_with_what_it_teaches():
    judging = two_topics(0.9, 0.1, 0.7, 0.6)
    expected = judging.expected  # of A's x and y, which help A if relevant, and of B's v and w, which help it if not
    helps = [[0.45, 0.45, 0.35, 0.2], [0.05, 0.05, 0.15, 0.3]]
    assert judging.raises(expected).tolist() == [pytest.approx(one) for one in helps]
    varies, of_runs, of_topics = np.array([0.09, 0.09, 0.21, 0.24]), (0.5 * 0.3, -0.5 * 0.33), (0.0, -0.5 * 0.03)
    covaries = np.array([0.5 + of_runs[0], -0.5 + of_runs[1]] * 2) + np.repeat(of_topics, 2)
    assert judging.teaches(expected)[0].tolist() == pytest.approx((varies * covaries**2 / (1 + 2 * varies)).tolist())


def test_what_will_probably_make_a_run_likely_by_itself_comes_before_what_teaches_more():
    """B is ahead with 89%. That w is relevant, as is expected, decides; that v is not, leaves it open."""
    judging = two_topics(0.05, 0.3, 0.05, 0.8, spread=0.1)
    teaches, (first, *_) = judging.teaches(judging.expected)[0], judging.order("likely")[0].tolist()
    assert (first, int(np.argmax(teaches))) == (3, 1)
    for place, grade, decided in ((3, 1, True), (1, 0, False)):
        rest = two_topics(0.05, 0.3, 0.05, 0.8, spread=0.1)
        rest.judge(np.array([place]), np.array([grade]))
        assert rest.is_decided("likely") == decided


def needs(judging: Judging, labels: tuple[int, ...], known: dict[tuple[int, ...], np.ndarray]) -> np.ndarray:
    """The mean number of judgments that make a lead likely: by the best order of all, by settle's, and by any."""
    if labels not in known:
        known[labels], expected, after = np.zeros(3), judging.expected, []
        for place in judging.order("likely")[0].tolist() if not judging.is_decided("likely") else ():
            after.append(np.zeros(3))
            for grade, share in ((0, 1 - expected[place]), (1, expected[place])):
                rest = deepcopy(judging)
                rest.judge(np.array([place]), np.array([grade]))
                after[-1] += share * needs(rest, (*labels[:place], grade, *labels[place + 1 :]), known)
        if after:
            best, ours, random = np.transpose(after)
            known[labels] = 1 + np.array([best.min(), ours[0], random.mean()])
    return known[labels]


def test_for_likely_no_order_at_all_needs_much_less_than_that_of_settle(monkeypatch: pytest.MonkeyPatch):
    """Each document may be chosen by the grades before it; these are independent, and no lead is normal."""
    monkeypatch.setattr("cranfield.reuse.settle.TOPIC_SPREAD", 1e-3)
    rng, found, alone = np.random.default_rng(1), np.zeros(3), [f"t{place}" for place in range(6)]
    for number in range(5):
        judged = {topic: {"a": 1, "n": 0} for topic in alone} | {"lead": {"a": 1, "n": int(number % 2)}}
        first, second = (
            {topic: ["x" if place % 2 == run else "n"] for place, topic in enumerate(alone)} | {"lead": ["an"[run]]}
            for run in (0, 1)
        )
        pair = contest(judged, first, second, "P@1", depth=1, highest=1)
        found += needs(Judging(pair, Chances(rng.uniform(0.03, 0.5, len(alone)), 1e-3)), (-1,) * len(alone), {})
    best, ours, random = found
    assert best <= ours <= 1.05 * best
    assert ours < 0.9 * random


def test_while_the_leader_is_open_what_helps_either_run_comes_first():
    """Of three that suffice to make either run the winner, y and w are the same; x and v each help one of them."""
    judging = two_topics(0.9, 0.9, 0.5, 0.4)
    assert (judging.ahead(judging.expected), judging.order("certain")[0].tolist()) == (
        pytest.approx(0.54, abs=0.01),
        [2, 3, 0, 1],
    )
    clear = two_topics(0.95, 0.05, 0.9, 0.4)  # A is ahead, and what helps it comes first
    assert (clear.ahead(clear.expected) > 0.9, clear.order("certain")[0].tolist()) == (True, [0, 1, 2, 3])


@given(seed=st.integers(0, 2**32), text=st.sampled_from(SUMS))
def test_labels_move_the_ends_as_they_do_in_the_interval_and_on_average_by_the_gain(seed: int, text: str):
    rng = np.random.default_rng(seed)
    one = contest(*random_pair(rng), text)
    if not len(one.unjudged):
        return
    judging = Judging(one, Chances(rng.uniform(0.1, 0.9, len(one.unjudged)), 1.0))
    place, expected = rng.integers(len(one.unjudged), size=1), judging.expected
    best, lead = int(np.argmax(one.gains)), 1 if judging.ahead(expected) >= 0.5 else -1
    chance = float(expected[place[0]])
    ends = [one.after(place, np.array([grade], dtype=np.int32)).difference.ends for grade in (0, best)]
    before = one.difference.ends
    low = [min(lead * low, lead * high) for low, high in (before, *ends)]
    raised = chance * (low[2] - low[0]) + (1 - chance) * (low[1] - low[0])
    assert judging.raises(expected)[0 if lead > 0 else 1, place[0]] == pytest.approx(raised, abs=1e-12)
    judging.judge(place, np.array([best]))
    assert (judging.low, judging.high) == pytest.approx(ends[1], abs=1e-12)


@given(seed=st.integers(0, 2**32), text=st.sampled_from(SUMS))
def test_judging_in_turn_ends_when_the_interval_decides_and_not_before(seed: int, text: str):
    rng = np.random.default_rng(seed)
    one = contest(*random_pair(rng), text)
    judging, worth = Judging(one), one.gains / one.gains.max()
    grades = rng.choice(np.flatnonzero((worth == 0) | (worth == 1)), len(one.unjudged)).astype(np.int32)
    places = np.flatnonzero(judging.until_decided("certain", worth[grades]).is_judged)
    assert one.after(places, grades[places]).difference.is_decided
    likely = judging.until_decided("likely", worth[grades])
    assert set(np.flatnonzero(likely.is_judged).tolist()) <= set(one.order.tolist())


def test_drawn_labels_are_relevant_as_often_as_is_expected():
    expected, rng = [0.05, 0.1, 0.3, 0.6], np.random.default_rng(1)
    judging = two_topics(*expected, spread=0.8)
    drawn = np.mean([judging.drawn(rng) for _ in range(8000)], axis=0)
    assert drawn.tolist() == pytest.approx(expected, rel=0.15)


def test_the_expected_number_is_that_of_drawn_labels_and_the_same_each_time():
    """Two of four are needed at least; if x and y are relevant and v not, w is not needed."""
    judging = two_topics(0.99, 0.01, 0.99, 0.01)
    first, again = (judging.expected_number("certain", np.random.default_rng(1)) for _ in range(2))
    assert first == again
    assert (first.low, first.high) == (3, 4)
    assert judging.expected_number("likely", np.random.default_rng(1)) == (0.0, 0, 0)


def test_what_comes_after_a_certain_decision_is_not_asked_for():
    """B leads by .21. Once x and v are known, .7 each, y can make up for .147 only."""
    first, second = {"1": ["x", "y"]}, {"1": ["v", "a", "y"]}
    found = settle(contest({"1": {"a": 1}}, first, second, "RBP(p=0.3)", depth=None, highest=1))
    assert [(each.document, each.run, each.rank) for each in found.queue] == [("x", "A", 1), ("v", "B", 1)]
    assert (found.if_not_relevant, found.for_certain) == (1, 2)


def test_a_shared_document_at_one_rank_is_never_asked_for():
    one = contest({"1": {"a": 1}}, {"1": ["x", "a"]}, {"1": ["x", "y"]}, "P@2", depth=2)
    assert [each.document for each in settle(one).queue] == ["y"]
    assert (one.difference.value, one.difference.ends_of_lead) == (0.5, (0.0, 0.5))


def test_a_tie_is_settled_by_judging_what_can_break_it():
    """One relevant document alone leaves the chance that the other is relevant too."""
    found = settle(contest({"1": {"a": 1}}, {"1": ["x"]}, {"1": ["y"]}, "P@1", depth=1))
    assert (found.if_not_relevant, found.for_certain) == (2, 2)


def test_a_measure_without_an_interval_cannot_be_settled(kept: Kept):
    with kept.raises(UsageError):
        settle(contest({"1": {"a": 1}}, {"1": ["x"]}, {"1": ["a"]}, "Judged@2"))
    with kept.raises(UsageError):
        settle(contest({"1": {"a": 1}}, {"1": ["x"]}, {"1": ["a"]}, "Bpref"))


def test_an_interval_is_decided_when_it_leaves_out_0_or_is_a_point():
    ends = [(0.1, 0.2), (-0.2, -0.1), (0.0, 0.0), (0.0, 0.1), (-0.1, 0.1), (float("nan"), float("nan"))]
    one = contest({"1": {"a": 1}}, {"1": ["x"]}, {"1": ["y"]}, "P@1", depth=1).difference
    assert [replace(one, ends=each).is_decided for each in ends] == [True, True, True, False, False, False]


@given(seed=st.integers(0, 2**32), text=st.sampled_from([*SUMS, *BESTS, *OTHERS]), goal=st.sampled_from(GOALS))
def test_a_contest_that_was_written_goes_on_as_the_one_it_was(seed: int, text: str, goal: Goal):
    rng = np.random.default_rng(seed)
    one = contest(*random_pair(rng), text)
    expected = Chances(rng.uniform(0.01, 0.99, len(one.unjudged)), 1.0)
    before = Contest(one, expected, goal)
    known = {name: 1 for name in before.names if rng.random() < 0.2}
    before = replace(before, judged=known)
    again = Contest.from_json(json.loads(json.dumps(before.to_json())))
    assert again.names == before.names
    answers: dict[tuple[str, str], int | None] = {}
    while needed := before.needed(answers):
        assert again.needed(answers) == needed
        answers[needed[0]] = [None, 0, 1, 2][int(rng.integers(0, 4))]
    assert again.needed(answers) == needed
    assert again.after(answers)[0].difference.ends == pytest.approx(before.after(answers)[0].difference.ends)


@given(seed=st.integers(0, 2**32), text=st.sampled_from([*SUMS, *BESTS, *OTHERS]))
def test_a_contest_ends_when_its_interval_decides_and_never_before(seed: int, text: str):
    rng = np.random.default_rng(seed)
    one = contest(*random_pair(rng), text)
    found, answers = Contest(one, Chances(np.full(len(one.unjudged), 0.3), 1.0), "certain"), {}
    while needed := found.needed(answers):
        assert not found.after(answers)[0].difference.is_decided
        assert not {*needed} & {*answers}
        answers[needed[0]] = int(rng.integers(0, 3))
    assert needed is None
    assert found.after(answers)[0].difference.is_decided


@given(seed=st.integers(0, 2**32), text=st.sampled_from([*SUMS, *OTHERS]))
def test_after_some_grades_a_contest_counts_from_the_true_interval(seed: int, text: str):
    rng = np.random.default_rng(seed)
    one = contest(*random_pair(rng), text)
    found = Contest(one, Chances(np.full(len(one.unjudged), 0.3), 1.0), "certain")
    pair, judging = found.after({name: int(rng.integers(0, 3)) for name in found.names if rng.random() < 0.5})
    if len(pair.unjudged) and np.ptp(pair.difference.ends) > 1e-9:
        assert (judging.low, judging.high) == pytest.approx(pair.difference.ends)
        assert judging.value == pytest.approx(pair.difference.value)
        if not pair.difference.is_decided:
            assert judging.expected_number("certain", np.random.default_rng(1)).low > 0


def test_what_is_likely_without_judging_asks_for_no_document(tmp_path):
    kitchen = Path(__file__).parents[2] / "collections" / "kitchen"
    paths = sorted((kitchen / "runs").glob("*.run"))
    pooled = [one.stem for one in paths if one.stem not in ("mortar-dense", "whisk-bm25")]
    (tmp_path / "groups.tsv").write_text("".join(f"{name}\t{name}\tpooled\n" for name in pooled))
    options = {"groups": tmp_path / "groups.tsv", "pool_depth": 5}
    files = cf.open_files(qrels=kitchen / "qrels.txt", runs=paths, **options)
    pair = {"first": "mortar-dense", "second": "stove-rocchio", "measures": "nDCG@5", "until": "likely"}
    assert len(files.settle(**pair)) == 0
    assert len(files.settle(**pair, everything=True)) > 0
