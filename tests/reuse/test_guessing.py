"""Contributors guessed from what is judged."""

from cranfield.evaluate.align import align
from cranfield.evaluate.mappings import qrels_from, ranking_from
from cranfield.reuse.guessing import guess_contributors


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
    guess = guess_contributors(aligned)
    assert guess.depth == 4
    assert [(one.run, one.contributing) for one in guess.contributors] == [
        ("A", True),
        ("B", True),
        ("C", True),
        ("N", False),
    ]
    assert (guess.lists_ending, guess.lists_seen, guess.refusal) == (9, 9, "")


def test_lists_that_end_early_and_topics_that_are_missing_do_not_count_against_a_run():
    fed = {"A": a_list("A"), "B": a_list("B"), "C": {"1": ["C1-0", "C1-1"]}}
    aligned = align(pool_of(fed.values(), 4), [ranking_from(one, tag=name) for name, one in fed.items()])
    guess = guess_contributors(aligned)
    assert guess.depth == 4
    assert [one.contributing for one in guess.contributors] == [True, True, True]


def test_where_nothing_is_common_nothing_is_guessed():
    fed = {"A": a_list("A")}
    aligned = align(pool_of(fed.values(), 4), [ranking_from(a_list(name), tag=name) for name in "AB"])
    guess = guess_contributors(aligned)
    assert (guess.depth, guess.refusal) == (0, "no two runs are judged down to a common depth")
    assert not any(one.contributing for one in guess.contributors)


def test_where_every_list_is_judged_to_its_end_that_is_the_reason():
    lists = {"A": a_list("A", 3), "B": {"1": ["A1-0"]}}
    aligned = align(pool_of(lists.values(), 9), [ranking_from(one, tag=name) for name, one in lists.items()])
    refusal = "every list is judged to its end, so that no pool depth can be seen"
    assert (guess_contributors(aligned).depth, guess_contributors(aligned).refusal) == (0, refusal)
