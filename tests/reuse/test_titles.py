"""Words of titles in documents."""

import math

import pytest

from cranfield.reuse.collection import mean_titlestat, titlestat

DOCUMENTS = [{"burnt", "pan"}, {"pan"}, {"soda"}, {"pan", "the"}]


def test_a_word_counts_against_as_many_documents_as_could_have_it():
    # pan: 3 of min(4, 10); burnt: 1 of min(4, 1)
    assert titlestat(["burnt", "pan"], DOCUMENTS, {"pan": 10, "burnt": 1}) == pytest.approx((3 / 4 + 1) / 2)


def test_stop_words_unknown_words_and_repetitions_are_left_out():
    title = ["the", "burnt", "pan", "pan", "unheard"]
    found = titlestat(title, DOCUMENTS, {"pan": 10, "burnt": 1, "the": 99, "unheard": 0}, stop_words={"the"})
    assert found == pytest.approx((3 / 4 + 1) / 2)


def test_without_words_or_documents_there_is_no_value():
    assert math.isnan(titlestat(["pan"], [], {"pan": 1}))
    assert math.isnan(titlestat(["pan"], DOCUMENTS, {}))


def test_the_mean_is_over_topics_that_have_a_value():
    titles = {"1": ["pan"], "2": ["soda"], "3": ["gone"]}
    value, topics = mean_titlestat(titles, {"1": DOCUMENTS, "2": DOCUMENTS}, {"pan": 9, "soda": 9, "gone": 2})
    assert (value, topics) == (pytest.approx((3 / 4 + 1 / 4) / 2), 2)
