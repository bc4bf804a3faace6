"""What to judge: queues that decide between two runs, and queues that make a score safe."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept
from mappings import qrels_from, ranking_from

from cranfield.base.errors import UsageError
from cranfield.evaluate.align import align
from cranfield.evaluate.measure import parse_measure
from cranfield.reuse.intervals import identities, intervals_of_runs
from cranfield.reuse.pairs import OpenScore, QueuedDocument, open_score
from cranfield.reuse.settle import Settlement, make_safe, settle

Judged = dict[str, dict[str, int]]
Rankings = dict[str, list[str]]

SUMS = ["P@3", "DCG@4", "CG", "RBP(p=0.5)", "RBP(gain=scaled)", "DCG(gain=exponential)@3"]
BESTS = ["RR", "Success@3"]
OTHERS = ["AP", "nDCG@3", "R@3", "nDCG", "Rprec", "P(agg=median)@3"]


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


def test_only_what_favours_the_one_behind_has_to_be_judged_if_it_is_not_relevant():
    judged = {"1": {"a": 1, "b": 0}, "2": {"a": 0}}
    one = contest(judged, {"1": ["a", "x"], "2": ["y"]}, {"1": ["b", "z"], "2": ["w"]}, "DCG@2", depth=2, highest=1)
    found = settle(one)
    ends = (pytest.approx(-1 / np.log2(3) / 2), pytest.approx(1 + 1 / np.log2(3) / 2))
    assert (one.difference.value, one.difference.ends, one.difference.exact) == (0.5, ends, True)
    assert found == Settlement(
        queue=(
            QueuedDocument("2", "w", 0.5, "B", 1),
            QueuedDocument("2", "y", 0.5, "A", 1),
            QueuedDocument("1", "z", pytest.approx(1 / np.log2(3) / 2), "B", 2),
            QueuedDocument("1", "x", pytest.approx(1 / np.log2(3) / 2), "A", 2),
        ),
        if_not_relevant=1,
        for_certain=4,
    )


def test_what_comes_after_a_certain_decision_is_not_asked_for():
    """B leads by .21. Once x and v are known, .7 each, y can make up for .147 only."""
    first, second = {"1": ["x", "y"]}, {"1": ["v", "a", "y"]}
    found = settle(contest({"1": {"a": 1}}, first, second, "RBP(p=0.3)", depth=None, closure="list", highest=1))
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


def test_further_documents_can_leave_doubt_however_much_is_judged():
    judged, first, second = {"1": {"a": 1, "b": 1, "c": 0}}, {"1": ["a", "x"]}, {"1": ["c", "b"]}
    one = contest(judged, first, second, "AP", closure="open", further=50, highest=1)
    found = settle(one)
    assert not one.difference.exact
    assert (found.if_not_relevant, found.for_certain) == (None, None)
    assert [each.document for each in found.queue] == ["x"]


def test_a_measure_without_an_interval_cannot_be_settled(kept: Kept):
    with kept.raises(UsageError):
        settle(contest({"1": {"a": 1}}, {"1": ["x"]}, {"1": ["a"]}, "Judged@2"))
    with kept.raises(UsageError):
        settle(contest({"1": {"a": 1}}, {"1": ["x"]}, {"1": ["a"]}, "Bpref"))


def alone(judged: Judged, ranking: Rankings, text: str, **options: object) -> OpenScore:
    runs = [ranking_from({"1": ["q"]}, tag="other"), ranking_from(ranking, tag="A")]
    aligned = align(qrels_from(judged), runs)
    chosen = {"depth": 4, "highest": 2, "tail": "residual", **options}
    return open_score(aligned, identities(aligned, runs), parse_measure(text), 1, **chosen)


def safe(judged: Judged, ranking: Rankings, text: str, *, tolerance: float = 0.01, **options: object) -> Settlement:
    return make_safe(alone(judged, ranking, text, **options), tolerance=tolerance)


def width_after(judged: Judged, ranking: Rankings, text: str, queue: tuple[QueuedDocument, ...], labels) -> float:
    later = {topic: dict(known) for topic, known in judged.items()}
    for document, label in zip(queue, labels, strict=False):
        later[document.topic][document.document] = int(label)
    aligned = align(qrels_from(later), [ranking_from(ranking, tag="A")])
    found = intervals_of_runs(aligned, [parse_measure(text)], depth=lambda _: 4, highest=2)
    return float(found.highest[0, 0] - found.lowest[0, 0])


@given(
    seed=st.integers(0, 2**32),
    text=st.sampled_from(["P@3", "DCG@4", "RBP(p=0.5)@4", "RR", "AP", "nDCG@3", "Rprec"]),
    tolerance=st.sampled_from([0.0, 0.05, 0.2]),
)
def test_the_interval_is_narrow_enough_when_the_queue_is_judged(seed: int, text: str, tolerance: float):
    rng = np.random.default_rng(seed)
    judged, ranking, _ = random_pair(rng)
    found = safe(judged, ranking, text, tolerance=tolerance)
    labels = rng.integers(0, 3, len(found.queue))
    assert width_after(judged, ranking, text, found.queue[: found.for_certain], labels) <= tolerance + 1e-9
    none = np.zeros(len(found.queue))
    assert width_after(judged, ranking, text, found.queue[: found.if_not_relevant], none) <= tolerance + 1e-9
    if found.if_not_relevant:
        assert width_after(judged, ranking, text, found.queue[: found.if_not_relevant - 1], none) > tolerance


def test_the_heaviest_holes_are_judged_first_until_the_interval_is_narrow():
    judged = {"1": {"a": 1}, "2": {"a": 1}}
    one = alone(judged, {"1": ["x", "a", "y"], "2": ["a", "z"]}, "RBP(p=0.5)@3")
    assert one.difference.width == pytest.approx((0.5 + 0.125 + 0.25) / 2)
    assert make_safe(one, tolerance=0.1) == Settlement(
        queue=(QueuedDocument("1", "x", 0.25, "A", 1), QueuedDocument("2", "z", 0.125, "A", 2)),
        if_not_relevant=2,
        for_certain=2,
    )


def test_holes_of_reciprocal_rank_are_judged_from_the_top():
    """Once the first is known not to be relevant the next one counts; below a relevant document none does."""
    judged = {"1": {"a": 1}, "2": {"a": 1}}
    one = alone(judged, {"1": ["z", "y", "a", "b"], "2": ["a", "c"]}, "RR")
    found = make_safe(one, tolerance=0.05)
    assert [(one.document, one.rank) for one in found.queue] == [("z", 1), ("y", 2)]
    assert (one.difference.width, found.if_not_relevant, found.for_certain) == (pytest.approx(1 / 3), 2, 2)


def test_a_score_that_is_safe_needs_no_judgments():
    one = alone({"1": {"a": 1}}, {"1": ["a"]}, "nDCG@1")
    assert (one.difference.width, make_safe(one, tolerance=0.01)) == (0.0, Settlement())


def test_the_tail_of_a_short_list_cannot_be_judged_away():
    one = alone({"1": {"a": 1}}, {"1": ["a", "x"]}, "RBP(p=0.5)")
    found = make_safe(one, tolerance=0.01)
    assert (one.difference.width, found.if_not_relevant, found.for_certain) == (0.5, None, None)
    assert [each.document for each in found.queue] == ["x"]
    one = alone({"1": {"a": 1}}, {"1": ["a", "x"]}, "RBP(p=0.5)", tail="none")
    found = make_safe(one, tolerance=0.01)
    assert (one.difference.width, found.if_not_relevant, found.for_certain) == (0.25, 1, 1)


def test_a_measure_without_an_interval_cannot_be_made_safe(kept: Kept):
    with kept.raises(UsageError):
        safe({"1": {"a": 1}}, {"1": ["a", "x"]}, "statAP")


def test_an_interval_is_decided_when_it_leaves_out_0_or_is_a_point():
    ends = [(0.1, 0.2), (-0.2, -0.1), (0.0, 0.0), (0.0, 0.1), (-0.1, 0.1), (float("nan"), float("nan"))]
    one = contest({"1": {"a": 1}}, {"1": ["x"]}, {"1": ["y"]}, "P@1", depth=1).difference
    assert [replace(one, ends=each).is_decided for each in ends] == [True, True, True, False, False, False]
