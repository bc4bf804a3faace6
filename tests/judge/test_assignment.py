"""Who judges which topic, and what is judged by more than one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept

from cranfield.base.errors import UsageError
from cranfield.judge.queue import Assigned, Overlap, equal_shares, roles_of, together, topics_in_turn


def test_topics_are_given_out_so_that_all_have_about_as_much():
    sizes = {"a": 10, "b": 6, "c": 5, "d": 4, "e": 1}
    made = equal_shares(sizes, ["ana", "ben"])
    load = {name: sum(sizes[one.topic] for one in made if one.assessor == name) for name in ("ana", "ben")}
    assert load == {"ana": 14, "ben": 12}
    assert {one.role for one in made} == {"primary"}


def test_second_assessors_are_others_and_go_round():
    made = equal_shares(dict.fromkeys("abcdef", 5), ["ana", "ben", "cleo"], seconds=1)
    pairs = {}
    for topic in "abcdef":
        of_topic = {one.role: one.assessor for one in made if one.topic == topic}
        pairs[topic] = (of_topic["primary"], of_topic["second"])
    assert sorted(pairs.values()) == [
        ("ana", "ben"), ("ana", "cleo"), ("ben", "ana"), ("ben", "cleo"), ("cleo", "ana"), ("cleo", "ben"),
    ]  # fmt: skip


@given(
    st.dictionaries(st.text(min_size=1, max_size=4), st.integers(0, 50), min_size=1, max_size=12),
    st.integers(1, 5),
    st.data(),
)
def test_every_topic_has_one_primary_and_as_many_seconds_as_asked(sizes, people, data):
    names = [f"p{number}" for number in range(people)]
    seconds = data.draw(st.integers(0, people - 1))
    made = equal_shares(sizes, names, seconds=seconds)
    for topic in sizes:
        of_topic = [one for one in made if one.topic == topic]
        assert [one.role for one in of_topic].count("primary") == 1
        assert len({one.assessor for one in of_topic}) == len(of_topic) == seconds + 1
    load = [sum(sizes[one.topic] for one in made if one.assessor == name and one.role == "primary") for name in names]
    assert max(load) - min(load) <= max(sizes.values())


def test_topics_can_be_given_to_all_of_them():
    assert together(["a", "b"], ["ana", "ben"]) == [
        Assigned("a", "ana", "primary"),
        Assigned("a", "ben", "share"),
        Assigned("b", "ana", "primary"),
        Assigned("b", "ben", "share"),
    ]


@pytest.mark.parametrize(("names", "seconds"), [([], 0), (["a", "a"], 0), (["a"], 1)])
def test_names_that_cannot_be_meant_are_refused(names, seconds, kept: Kept):
    with kept.raises(UsageError):
        equal_shares({"t": 1}, names, seconds=seconds)


@pytest.mark.parametrize(("share", "by"), [(-0.1, 2), (1.1, 2), (0.5, 1)])
def test_an_overlap_that_is_not_possible_is_refused(share, by):
    with pytest.raises(UsageError):
        Overlap(share, by)


def test_the_overlap_is_about_its_share_and_grows_with_it():
    names = [f"d{number}" for number in range(2_000)]
    small = {name for name in names if Overlap(0.1, 3, 5).needed("t", name) == 3}
    large = {name for name in names if Overlap(0.2, 3, 5).needed("t", name) == 3}
    assert 150 < len(small) < 250
    assert small < large
    assert all(Overlap().needed("t", name) == 1 for name in names)
    assert all(Overlap(1.0).needed("t", name) == 2 for name in names)
    assert small != {name for name in names if Overlap(0.1, 3, 6).needed("t", name) == 3}


def test_topics_come_in_turn():
    roles = {"t1": "anyone", "t2": "second", "t3": "share", "t4": "primary", "t5": "anyone"}
    assert topics_in_turn(roles, {"t1": 1, "t4": 5}) == ["t4", "t3", "t2", "t5", "t1"]


def test_a_topic_that_is_somebodys_is_nobody_elses():
    given_out = [Assigned("t1", "ana", "primary"), Assigned("t2", "ben", "primary"), Assigned("t2", "ana", "second")]
    assert roles_of(["t1", "t2", "t3"], given_out, "ana") == {"t1": "primary", "t2": "second", "t3": "anyone"}
    assert roles_of(["t1", "t2", "t3"], given_out, "cleo") == {"t3": "anyone"}
