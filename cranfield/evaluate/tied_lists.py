"""The lists that another order of tied documents could change, and other orders of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cranfield.evaluate.align import Alignment
from cranfield.evaluate.lists import Lists

Places = NDArray[np.int64]
Kinds = Callable[[Places], NDArray[np.generic]]
"""Gives for rows of all lists what they are: rows of one kind can change places, and nothing changes."""


@dataclass(frozen=True, eq=False)
class TiedLists:
    """Lists with ties that matter, alone: `cells` are their numbers, `places` the rows of the tied documents in them.

    `group` has a number for each tie, rising with the places.
    """

    cells: Places
    lists: Lists
    places: Places
    group: Places

    @staticmethod
    def of(alignment: Alignment, kinds: Kinds) -> "TiedLists":
        """Give the lists in which documents of different kinds are tied."""
        everything = alignment.lists
        rows = np.flatnonzero(alignment.tied)
        rows = rows[kinds(rows) != kinds(rows - 1)]
        cells = np.searchsorted(everything.offsets, rows, side="right") - 1
        cells = cells[np.diff(cells, prepend=-1) != 0]  # np.unique would load masked arrays
        lists = everything.chosen(cells)
        shift = np.repeat(everything.offsets[cells] - lists.offsets[:-1], lists.length)
        tied = alignment.tied[shift + np.arange(len(shift))]
        member = tied.copy()
        member[:-1] |= tied[1:]
        places = np.flatnonzero(member)
        return TiedLists(cells, lists, places, np.cumsum(~tied, dtype=np.int64)[places])

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def cell(self) -> Places:
        """Which of the lists each of the places is in."""
        return np.searchsorted(self.lists.offsets, self.places, side="right") - 1

    def within(self, depth: int) -> "TiedLists":
        """Give the lists with the ties that begin at one of the first ranks, cut where the last of these ends."""
        cell = self.cell
        rank = self.places - self.lists.offsets[cell] + 1
        begins = np.zeros(int(self.group.max(initial=0)) + 1, dtype=np.int64)
        begins[self.group[::-1]] = rank[::-1]
        kept = begins[self.group] <= depth
        chosen, cell = np.unique(cell[kept], return_inverse=True)
        lists = self.lists.chosen(chosen).cut(max(depth, int(rank[kept].max(initial=1))))
        return TiedLists(self.cells[chosen], lists, lists.offsets[cell] + rank[kept] - 1, self.group[kept])

    def only(self, chosen: Places) -> "TiedLists":
        """Give some of the lists, by their places among these, rising."""
        cell = self.cell
        kept = np.isin(cell, chosen)
        lists = self.lists.chosen(chosen)
        moved = np.searchsorted(chosen, cell[kept])
        rank = self.places[kept] - self.lists.offsets[cell[kept]]
        return TiedLists(self.cells[chosen], lists, lists.offsets[moved] + rank, self.group[kept])

    def ordered(self, keys: NDArray[np.generic]) -> Lists:
        """Give the lists with the documents of each tie in the order of rising keys."""
        rows = np.arange(len(self.lists.grades))
        rows[self.places] = self.places[np.lexsort((keys, self.group))]
        return with_rows(self.lists, rows)


def with_rows(lists: Lists, rows: Places) -> Lists:
    """Give lists of the same shape with other rows at their places."""
    sample = None if lists.stratified is None else lists.stratified.only(rows)
    return replace(lists, grades=lists.grades[rows], stratified=sample, _relevant={})
