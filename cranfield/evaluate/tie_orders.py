"""All orders of tied documents that are really different, written down."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranfield.evaluate.lists import Lists
from cranfield.evaluate.tied_lists import Places, TiedLists, with_rows

Labels = NDArray[np.int16]
Weights = NDArray[np.float64]
_ROWS_AT_ONCE = 1 << 21


@dataclass(frozen=True, eq=False)
class Tie:
    """One tie of a list: the places of its documents, and of each kind of document the first place and how many."""

    places: Places
    first: Places
    counts: tuple[int, ...]

    @property
    def orders(self) -> int:
        """How many different orders there are: n! over the factorials of the counts."""
        found = math.factorial(len(self.places))
        for count in self.counts:
            found //= math.factorial(count)
        return found


def ties_of(tied: TiedLists, kinds: NDArray[np.generic]) -> list[list[Tie]]:
    """Give the ties of each list, those of like documents left out; `kinds` has a value for each of the places."""
    found: list[list[Tie]] = [[] for _ in range(len(tied))]
    starts = np.flatnonzero(np.diff(tied.group, prepend=-1))
    cell = tied.cell[starts].tolist() if len(starts) else []
    for number, places, own in zip(cell, np.split(tied.places, starts[1:]), np.split(kinds, starts[1:]), strict=True):
        _, first, counts = np.unique(own, return_index=True, return_counts=True)
        if len(first) > 1:
            found[number].append(Tie(places, places[first], tuple(counts.tolist())))
    return found


def orders_of(ties: Sequence[Tie]) -> int:
    """Give how many different orders a list has."""
    return math.prod(tie.orders for tie in ties)


def every_order(lists: Lists, ties: Sequence[Sequence[Tie]], cells: Sequence[int]) -> Iterator[tuple[Places, Lists]]:
    """Give all orders of some lists, in portions: which list each one is an order of, and they themselves."""
    made: dict[tuple[int, ...], Labels] = {}
    work = [orders_of(own) * int(size) for own, size in zip(ties, lists.length, strict=True)]
    for portion in _portions(cells, work):
        yield _copied(lists, portion, [_rows(lists, ties[cell], cell, made) for cell in portion])


def every_turn(
    lists: Lists, ties: Sequence[Sequence[Tie]], cells: Sequence[int]
) -> Iterator[tuple[Places, Lists, Weights]]:
    """Give lists with one tie turned round by each number of places, in portions, and the weight of each.

    In the turns of a tie each document stands once at each place. So for a measure that is a sum over ranks the
    weighted sum over all turns is the mean over all orders, with the list as it is, which has a weight too.
    """
    for portion in _portions(
        cells, [turns_of(own) * int(size) for own, size in zip(ties, lists.length, strict=True)]
    ):
        parts = [_turned(lists, ties[cell], cell) for cell in portion]
        yield (
            *_copied(lists, portion, [rows for rows, _ in parts]),
            np.concatenate([weights for _, weights in parts]),
        )


def turns_of(ties: Sequence[Tie]) -> int:
    """Give how many lists stand for all orders of one, where a measure is a sum over ranks."""
    return 1 + sum(len(tie.places) for tie in ties)


def _turned(lists: Lists, ties: Sequence[Tie], cell: int) -> tuple[Places, Weights]:
    first, last = int(lists.offsets[cell]), int(lists.offsets[cell + 1])
    rows = np.tile(np.arange(first, last), (turns_of(ties), 1))
    weights = [1.0 - len(ties)]
    for tie in ties:
        size = len(tie.places)
        turn = np.arange(size)
        rows[len(weights) : len(weights) + size, tie.places - first] = tie.places[(turn[:, None] + turn) % size]
        weights += [1.0 / size] * size
    return rows, np.array(weights)


def _portions(cells: Sequence[int], work: Sequence[int]) -> Iterator[list[int]]:
    """Give the lists in portions that make about so many rows."""
    waiting: list[int] = []
    rows = 0
    for cell in cells:
        waiting.append(cell)
        rows += work[cell]
        if rows >= _ROWS_AT_ONCE:
            yield waiting
            waiting, rows = [], 0
    if waiting:
        yield waiting


def _copied(lists: Lists, cells: Sequence[int], parts: Sequence[Places]) -> tuple[Places, Lists]:
    """Give lists again and again, each time with other rows of theirs, and which ones they are."""
    copies = np.repeat(np.array(cells), [len(part) for part in parts])
    chosen = lists.chosen(copies)
    source = np.concatenate([part.ravel() for part in parts])
    # Rows of a list are looked up in the first of its copies, which holds the same.
    shift = chosen.offsets[np.searchsorted(copies, copies)] - lists.offsets[copies]
    return copies, with_rows(chosen, source + np.repeat(shift, chosen.length))


def _rows(lists: Lists, ties: Sequence[Tie], cell: int, made: dict[tuple[int, ...], Labels]) -> Places:
    """Give for each order of a list the rows that stand at its ranks."""
    first, last = int(lists.offsets[cell]), int(lists.offsets[cell + 1])
    total = orders_of(ties)
    rows = np.tile(np.arange(first, last), (total, 1))
    number, later = np.arange(total), total
    for tie in ties:
        later //= tie.orders
        labels = arrangements(tie.counts, made)[(number // later) % tie.orders]
        rows[:, tie.places - first] = tie.first[labels]
    return rows


def arrangements(counts: tuple[int, ...], made: dict[tuple[int, ...], Labels]) -> Labels:
    """Give all different orders of things of several kinds, one in each row; `made` keeps those already made."""
    if counts not in made:
        if not any(counts):
            made[counts] = np.zeros((1, 0), dtype=np.int16)
        else:
            made[counts] = np.concatenate(
                [
                    _headed(kind, arrangements((*counts[:kind], count - 1, *counts[kind + 1 :]), made))
                    for kind, count in enumerate(counts)
                    if count
                ]
            )
    return made[counts]


def _headed(kind: int, rest: Labels) -> Labels:
    return np.concatenate([np.full((len(rest), 1), kind, dtype=np.int16), rest], axis=1)
