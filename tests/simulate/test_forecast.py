"""What known judgments foretell: deeper pools, and topics for a difference."""

import numpy as np
import pytest
from kept import Kept

from cranfield.base.errors import UsageError
from cranfield.compare.by_measure import residual_deviation, topics_needed
from cranfield.pool.plan import parse
from cranfield.reuse.collection import extrapolated
from cranfield.simulate.forecast import AtDepth, forecast, needed
from cranfield.simulate.study import play, study


@pytest.fixture(scope="module")
def long_lists(toolbox):
    """Three runs of thirty documents with different ones in between; relevance thins out with depth."""
    shared = [f"s{place:02d}" for place in range(30)]
    lists = {
        name: {"1": [shared[place] if place % 3 != number else f"{name}{place:02d}" for place in range(30)]}
        for number, name in enumerate("ABC")
    }
    documents = {document for some in lists.values() for document in some["1"][:12]}
    grades = {"1": {document: int(int(document[1:]) in (0, 1, 2, 4, 7, 11)) for document in sorted(documents)}}
    return toolbox.field(lists, grades)


def test_down_to_the_pool_the_forecast_is_what_was_found(long_lists):
    told = forecast(long_lists, pool_depth=12, to_depth=12)
    assert [one.depth for one in told.at] == [1, 2, 5, 10, 12]
    assert told.refusal == ""
    for one in told.at:
        played = play(long_lists, parse(f"depth {one.depth}"))
        relevant = int(played.found(long_lists)[-1])
        assert one == AtDepth(one.depth, len(played), relevant, relevant, relevant, is_extrapolated=False)


def test_below_the_pool_documents_are_counted_and_relevant_ones_follow_the_curve(long_lists):
    told = forecast(long_lists, pool_depth=12, to_depth=24)
    found = [one for one in told.at if not one.is_extrapolated]
    assert [one.depth for one in told.at if one.is_extrapolated] == [20, 24]
    new = np.diff(
        [0, *(int(play(long_lists, parse(f"depth {depth}")).found(long_lists)[-1]) for depth in range(1, 13))]
    )
    for one in told.at[len(found) :]:
        more = extrapolated(new, to_depth=one.depth)
        assert one.documents == len(play(long_lists, parse(f"depth {one.depth}")))
        assert one.relevant == pytest.approx(found[-1].relevant + more.expected)
        assert found[-1].relevant <= one.low <= one.relevant <= one.high
    assert told.refusal == ""


def test_topics_without_judgments_cost_nothing_in_a_forecast(toolbox):
    lists = {name: {"1": ["a", name], "2": [name, "b"]} for name in ("c", "d")}
    told = forecast(toolbox.field(lists, {"1": {"a": 1, "c": 0}}), pool_depth=2, to_depth=2)
    assert [(one.depth, one.documents, one.relevant) for one in told.at] == [(1, 1, 1), (2, 3, 1)]


def test_too_few_depths_foretell_nothing_and_say_why(long_lists, kept: Kept):
    told = forecast(long_lists, pool_depth=5, to_depth=20)
    assert [one.depth for one in told.at] == [1, 2, 5]
    kept(told.refusal)


def test_nothing_is_foreseen_below_the_lists(long_lists, kept: Kept):
    with kept.raises(UsageError):
        forecast(long_lists, pool_depth=12, to_depth=31)


def test_topics_for_a_difference_are_those_of_the_power_of_the_t_test(worked, toolbox):
    (found,) = study(worked, [parse("depth 1")], toolbox.measures("AP"))
    (measure,) = toolbox.measures("AP")
    deviation = residual_deviation(found.scores.of(measure))
    topics = topics_needed(difference=0.1, deviation=deviation, power=0.8)
    assert needed(found, measure, difference=0.1) == (deviation, topics, topics * 3)


def test_one_topic_tells_nothing_about_topics(toolbox):
    known = toolbox.field({"A": {"1": ["a"]}, "B": {"1": ["b"]}}, {"1": {"a": 1}})
    (found,) = study(known, [parse("depth 1")], toolbox.measures("AP"))
    assert needed(found, toolbox.measures("AP")[0], difference=0.1) is None
