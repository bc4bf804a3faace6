"""How alike two runs are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.runs.check import NEARLY_IDENTICAL, Top, likeness, top
from cranfield.runs.encoding import CodedRun


def best(lists: dict[int, list[int]]) -> Top:
    counts = [len(documents) for documents in lists.values()]
    documents = np.array([code for documents in lists.values() for code in documents], dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return top(CodedRun(np.array(list(lists), dtype=np.int32), offsets, documents, np.zeros(len(documents))))


def test_the_top_is_a_matrix_filled_up_with_nothing():
    assert best({7: list(range(20)), 8: [6]}).documents.tolist() == [list(range(10)), [6, *[-1] * 9]]


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ({1: [1, 2, 3, 4]}, {1: [1, 2, 3, 4]}, 1.0),
        ({1: [1, 2, 3, 4]}, {1: [1, 2, 4, 3]}, 0.5),
        ({1: [1, 2, 3, 4]}, {1: [1, 2]}, 0.5),
        ({1: [1, 2], 2: [1, 2]}, {1: [1, 2]}, 0.5),
        ({1: [1, 2]}, {2: [1, 2]}, 0.0),
        ({2: [5], 1: [1]}, {1: [1], 2: [5]}, 1.0),
        ({}, {}, 0.0),
        ({1: list(range(20))}, {1: [*range(10), *range(50, 60)]}, 1.0),
    ],
)
def test_the_share_of_places_with_the_same_document(one, other, share):
    assert likeness(best(one), best(other)) == likeness(best(other), best(one)) == share


def test_one_place_of_twenty_still_counts_as_nearly_identical():
    one = {1: list(range(10)), 2: list(range(10))}
    other = {1: list(range(10)), 2: [*range(9), 99]}
    assert likeness(best(one), best(other)) == NEARLY_IDENTICAL


@given(
    st.lists(
        st.lists(st.lists(st.integers(-1, 4), min_size=3, max_size=3), min_size=2, max_size=2), min_size=2, max_size=2
    ),
    st.sampled_from([[0, 1], [0, 2], [1, 0]]),
)
def test_likeness_is_what_counting_place_by_place_gives(lists, topics):
    codes = [[0, 1], topics]
    one, other = (
        Top(np.array(codes, dtype=np.int32), np.array(documents, dtype=np.int32))
        for codes, documents in zip(codes, lists, strict=True)
    )
    places = [
        {
            (topic, rank): document
            for topic, documents in zip(codes, run, strict=True)
            for rank, document in enumerate(documents)
            if document >= 0
        }
        for codes, run in zip(codes, lists, strict=True)
    ]
    filled = places[0].keys() | places[1].keys()
    same = [place for place in filled if places[0].get(place) == places[1].get(place)]
    assert likeness(one, other) == pytest.approx(len(same) / len(filled) if filled else 0)
