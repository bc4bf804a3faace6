"""Contributors guessed from what is judged."""

import numpy as np
import pytest
from kept import Kept
from mappings import qrels_from, ranking_from

from cranfield.evaluate.align import align
from cranfield.reuse.provenance import infer_pool


def pool_of(lists, depth):
    judged = {}
    for ranked in lists:
        for topic, documents in ranked.items():
            judged.setdefault(topic, {}).update(dict.fromkeys(documents[:depth], 0))
    return qrels_from(judged)


def a_list(name, length=9):
    return {topic: [f"{name}{topic}-{rank}" for rank in range(length)] for topic in "123"}


def test_runs_judged_down_to_a_common_depth_pass_for_contributors():
    fed = {name: a_list(name) for name in "ABC"}
    new = {topic: ["A1-0", "q", *documents] for topic, documents in a_list("N").items()}
    aligned = align(
        pool_of(fed.values(), 4), [ranking_from(one, tag=name) for name, one in {**fed, "N": new}.items()]
    )
    guess = infer_pool(aligned)
    assert guess.depth == 4
    assert [(one.run, one.contributing) for one in guess.contributors] == [
        ("A", True),
        ("B", True),
        ("C", True),
        ("N", False),
    ]
    assert guess.refusal == ""


def test_lists_that_end_early_and_topics_that_are_missing_do_not_count_against_a_run():
    fed = {"A": a_list("A"), "B": a_list("B"), "C": {"1": ["C1-0", "C1-1"]}}
    aligned = align(pool_of(fed.values(), 4), [ranking_from(one, tag=name) for name, one in fed.items()])
    guess = infer_pool(aligned)
    assert guess.depth == 4
    assert [one.contributing for one in guess.contributors] == [True, True, True]


def test_from_relevant_documents_alone_nothing_is_guessed(kept: Kept):
    judged = {f"{topic}": {f"r{topic}": 1} for topic in range(30)}
    lists = {
        name: {topic: [f"r{topic}", *(f"{name}{topic}-{number}" for number in range(9))] for topic in judged}
        for name in "AB"
    }
    aligned = align(qrels_from(judged), [ranking_from(one, tag=name) for name, one in lists.items()])
    guess = infer_pool(aligned)
    assert guess.depth == 0
    kept(guess.refusal)


def test_where_nothing_is_common_nothing_is_guessed(kept: Kept):
    fed = {"A": a_list("A")}
    aligned = align(pool_of(fed.values(), 4), [ranking_from(a_list(name), tag=name) for name in "AB"])
    guess = infer_pool(aligned)
    assert guess.depth == 0
    kept(guess.refusal)
    assert not any(one.contributing for one in guess.contributors)


def test_where_every_list_is_judged_to_its_end_that_is_the_reason(kept: Kept):
    lists = {"A": a_list("A", 3), "B": {"1": ["A1-0"]}}
    aligned = align(pool_of(lists.values(), 9), [ranking_from(one, tag=name) for name, one in lists.items()])
    assert infer_pool(aligned).depth == 0
    kept(infer_pool(aligned).refusal)


TOPICS = [str(number) for number in range(30)]


def systems(count, *, topics=TOPICS, seed=7, length=100):
    """Give runs as systems make them: all know something of what is relevant, and each errs in its own way."""
    rng = np.random.default_rng(seed)
    found = {}
    worth = rng.normal(size=(len(topics), 400))
    for number in range(count):
        order = np.argsort(-(worth + rng.normal(scale=0.7, size=worth.shape)), axis=1)[:, :length]
        found[f"run{number}"] = {
            topic: [f"d{document}" for document in order[place]] for place, topic in enumerate(topics)
        }
    return found


def guessed(judged, offered, **told):
    aligned = align(judged, [ranking_from(one, tag=name) for name, one in offered.items()])
    return infer_pool(aligned, **told)


def some(runs, *places):
    return {f"run{place}": runs[f"run{place}"] for place in places}


@pytest.mark.parametrize("depth", [5, 10, 20, 50])
def test_a_pool_is_guessed_from_all_runs_from_a_few_and_from_two(depth):
    runs = systems(12)
    judged = pool_of([runs[f"run{place}"] for place in range(8)], depth)
    for offered in (some(runs, *range(12)), some(runs, 1, 5, 6, 9, 10), some(runs, 0, 3)):
        guess = guessed(judged, offered)
        assert guess.depth == depth
        assert {one.run for one in guess.contributors if one.contributing} == {
            run for run in offered if int(run[3:]) < 8
        }


@pytest.mark.parametrize("depth", [3, 5, 10, 20, 50])
def test_outsiders_are_not_taken_for_contributors_of_a_shallow_pool(depth):
    runs = systems(14)
    judged = pool_of([runs[f"run{place}"] for place in range(10)], depth)
    for offered in ((10, 11), (12, 13), (10, 11, 12, 13), (0, 10)):
        guess = guessed(judged, some(runs, *offered))
        assert guess.refusal
        assert (guess.depth, guess.fed.any()) == (0, False)


def test_a_run_beside_its_copies_convinces_nobody():
    runs = systems(12)
    judged = pool_of([runs[f"run{place}"] for place in range(10)], 10)
    for copies in (2, 6):
        guess = guessed(judged, {f"copy{number}": runs["run11"] for number in range(copies)})
        assert (guess.depth, bool(guess.refusal)) == (0, True)


def test_nothing_is_guessed_from_one_topic_or_two(kept: Kept):
    for topics in ("1", "12"):
        fed = {name: {topic: a_list(name)[topic] for topic in topics} for name in "ABC"}
        guess = guessed(pool_of(fed.values(), 4), fed)
        assert guess.depth == 0
        kept(guess.refusal)


def test_a_sample_of_a_pool_has_no_depth(kept: Kept):
    runs, rng = systems(8), np.random.default_rng(1)
    judged = {
        topic: {document: 0 for one in runs.values() for document in one[topic][:20] if rng.random() < 0.5}
        for topic in TOPICS
    }
    kept(guessed(qrels_from(judged), runs).refusal)


def test_a_contributor_with_stray_holes_is_still_one():
    runs = systems(8)
    judged = {topic: {document: 0 for one in runs.values() for document in one[topic][:20]} for topic in TOPICS}
    for topic in TOPICS[::3]:
        del judged[topic][runs["run3"][topic][9]]
    guess = guessed(qrels_from(judged), runs)
    assert (guess.depth, guess.fed.all()) == (20, True)


def test_a_depth_that_is_told_is_the_only_one_looked_at(kept: Kept):
    runs = systems(12)
    judged = pool_of([runs[f"run{place}"] for place in range(8)], 10)
    assert guessed(judged, runs, depth=10).fed.tolist() == [True] * 8 + [False] * 4
    for wrong in (5, 12, 2000):
        guess = guessed(judged, runs, depth=wrong)
        kept(guess.refusal)


def test_where_the_contributors_are_known_a_weaker_edge_tells_the_depth():
    runs = systems(9, topics=TOPICS[:5])
    judged = pool_of([runs[f"run{place}"] for place in range(8)], 5)
    aligned = align(judged, [ranking_from(one, tag=name) for name, one in runs.items()])
    assert infer_pool(aligned).refusal
    guess = infer_pool(aligned, contributing=np.arange(9) < 8)
    assert (guess.depth, guess.fed.tolist()) == (5, [True] * 8 + [False])
    assert infer_pool(aligned, contributing=np.arange(9) == 8).refusal
