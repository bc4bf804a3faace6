"""How alike two runs are."""

import numpy as np
import pytest

from cranfield.runs.likeness import NEARLY_IDENTICAL, Top, likeness, top


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
