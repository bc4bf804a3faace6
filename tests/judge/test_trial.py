"""How many relevant documents a draft topic is expected to have."""

import pytest
from command import call
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept

from cranfield.judge.queue import Estimate, SampledHit, estimate, sample_of_hits

HITS = [f"d{number:03}" for number in range(1, 301)]


def test_about_25_hits_are_sampled_denser_at_the_top():
    tried = sample_of_hits("t", HITS, seed=3)
    strata = {
        stratum: [one.rank for one in tried if one.stratum == stratum]
        for stratum in ("1-10", "11-40", "41-100", "101-300")
    }
    assert strata["1-10"] == list(range(1, 11))
    assert [len(ranks) for ranks in strata.values()] == [10, 5, 5, 5]
    assert {(one.stratum, one.population) for one in tried} == {
        ("1-10", 10),
        ("11-40", 30),
        ("41-100", 60),
        ("101-300", 200),
    }
    assert all(HITS[one.rank - 1] == one.document for one in tried)
    assert sample_of_hits("t", HITS, seed=3) == tried != sample_of_hits("t", HITS, seed=4)


def test_a_topic_with_few_hits_is_judged_as_far_as_it_goes():
    tried = sample_of_hits("t", HITS[:12])
    assert [(one.rank, one.population) for one in tried[-3:]] == [(10, 10), (11, 2), (12, 2)]


def test_the_estimate_is_worked_out_by_strata():
    tried = [
        *(SampledHit(f"a{number}", number, "1-10", 10) for number in range(10)),
        *(SampledHit(f"b{number}", 11 + number, "11-40", 30) for number in range(5)),
    ]
    relevant = {f"a{number}": number < 4 for number in range(10)} | {f"b{number}": number < 2 for number in range(5)}
    made = estimate(tried, relevant)
    # 4 of 10 are known; of the 30 below 2 in 5 are expected: 4 + 12, variance 30 * 25 * 0.4 * 0.6 / 4 = 45.
    assert made.expected == 16.0
    assert made.high is not None
    assert abs(made.high - (16 + 1.96 * 45**0.5)) < 1e-9
    assert (made.judged, made.relevant, made.low) == (15, 6, 6)


def test_relevant_documents_found_by_searching_count_as_themselves():
    tried = [SampledHit(f"a{number}", number, "1-10", 10) for number in range(10)]
    relevant = dict.fromkeys([f"a{number}" for number in range(10)], False) | {"found": True, "other": False}
    assert estimate(tried, relevant) == Estimate(12, 1, 1.0, 1, 1.0)


def test_nothing_is_expected_before_each_stratum_was_looked_at():
    tried = sample_of_hits("t", HITS)
    assert estimate(tried, {}) == Estimate(0, 0, None, None, None)
    assert estimate(tried, {one.document: True for one in tried[:10]}) == Estimate(10, 10, None, None, None)


@given(st.sets(st.sampled_from(HITS)), st.integers(0, 20))
def test_the_estimate_lies_between_what_was_found_and_what_there_is(relevant, seed):
    tried = sample_of_hits("t", HITS, seed=seed)
    made = estimate(tried, {one.document: one.document in relevant for one in tried})
    assert made.expected is not None
    assert made.low is not None
    assert made.high is not None
    assert made.relevant <= made.low <= made.expected <= made.high
    assert made.expected <= 300


def test_on_average_the_estimate_is_right():
    relevant = {hit for place, hit in enumerate(HITS) if place % 7 == 0 or place < 8}
    made = [
        estimate(tried, {one.document: one.document in relevant for one in tried}).expected or 0
        for tried in (sample_of_hits("t", HITS, seed=seed) for seed in range(400))
    ]
    assert abs(sum(made) / len(made) - len(relevant)) < 3


def test_a_verdict_on_the_size():
    def of(expected):
        return Estimate(25, 1, expected, expected, expected).size

    assert [of(None), of(2.9), of(3.0), of(100.0), of(100.5)] == ["unknown", "too few", "fine", "fine", "too many"]


@pytest.mark.parametrize("option", ["--seed", "--few", "--many"])
def test_options_of_trying_that_were_dropped_say_what_to_do_instead(option: str, kept: Kept):
    kept(call("judge", "try", "T12", option, 7, status=2).err)
