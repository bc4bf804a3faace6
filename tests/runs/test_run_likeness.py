"""How alike two runs are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.runs.check import NEARLY_IDENTICAL, Top, likeness, likenesses, top


def best(lists: dict[int, list[int]], *, depth: int = 10) -> Top:
    counts = [len(documents) for documents in lists.values()]
    documents = np.array([code for documents in lists.values() for code in documents], dtype=np.int32)
    return top(
        np.array(list(lists), dtype=np.int32),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        documents,
        depth=depth,
    )


def test_the_top_is_a_matrix_filled_up_with_nothing():
    assert best({7: [3, 4, 5], 8: [6]}, depth=2).documents.tolist() == [[3, 4], [6, -1]]


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
        st.lists(st.lists(st.integers(-1, 4), min_size=3, max_size=3), min_size=2, max_size=2), min_size=1, max_size=5
    ),
    st.data(),
)
def test_many_runs_at_once_are_as_alike_as_one_by_one(lists, data):
    codes = [data.draw(st.sampled_from([[0, 1], [0, 2]])) for _ in lists]
    tops = [
        Top(np.array(topics, dtype=np.int32), np.array(documents, dtype=np.int32))
        for topics, documents in zip(codes, lists, strict=True)
    ]
    assert likenesses(tops[0], tops) == pytest.approx([likeness(tops[0], other) for other in tops])
