"""What is still free: the unjudged rows that may get a grade, and the lists with some of them filled in."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cranfield.evaluate.expression import Measure
from cranfield.evaluate.lists import NOT_POOLED, Counts, Found, Lists, Values
from cranfield.evaluate.measures.gain import gain_function

Mask = NDArray[np.bool_]
Grades = NDArray[np.int32]
Reach = int | Counts | None
"""How far down holes count: to a rank, to one for each topic, or to the end of the list."""

_PLACES_AT_ONCE = 1 << 17
"""How many places of matrices are worked on at once, so that they stay near the processor."""


@dataclass(frozen=True, eq=False)
class Ends:
    """The lowest and the highest value of each list; `loose` marks lists whose ends are only known to be outside."""

    lower: Values
    upper: Values
    loose: Mask | None = None


@dataclass(frozen=True, eq=False)
class Freedom:
    """Lists, the `holes` of theirs that may get any grade from 0 to `highest`, and how much more there may be.

    `further` documents of the highest grade may exist that no list has, and `beside` counts for each cell documents
    that other lists have and this one not, which may get any grade. `values` are the scores as they stand, with
    everything unjudged taken as not relevant. A hole gets a grade for good: 0 makes it judged and not relevant.
    """

    measure: Measure
    lists: Lists
    holes: Found
    further: int
    beside: Counts
    highest: int
    values: Values

    def setting(self, name: str) -> object:
        """Give a parameter of the measure."""
        return dict(self.measure.settings).get(name, self.measure.kind.parameters[name].default)

    @property
    def rel(self) -> int:
        """The lowest grade that is relevant; 1 where the measure has no threshold."""
        return 1 if self.measure.rel is None else self.measure.rel

    @property
    def cutoff(self) -> int | None:
        """The last rank that the measure looks at; None where it looks at all."""
        return self.measure.cutoff if isinstance(self.measure.cutoff, int) else None

    @cached_property
    def inside(self) -> Found:
        """The holes that the measure looks at."""
        return self.holes.within(self.cutoff)

    @cached_property
    def outside(self) -> Counts:
        """How many documents of each cell may be relevant without standing where the measure looks."""
        return self.holes.count - self.inside.count + self.beside + self.further

    @cached_property
    def is_free(self) -> Mask:
        """Which cells can change at all."""
        free: Mask = self.holes.count + self.beside + self.further > 0
        return free

    @cached_property
    def cells(self) -> Counts:
        """The cells that can change, those with many holes first."""
        free = np.flatnonzero(self.is_free)
        return free[np.argsort(-self.inside.count[free], kind="stable")]

    @cached_property
    def grade_counts(self) -> Counts:
        """How many documents of each topic have each grade from 0 to the highest."""
        counts = np.zeros((len(self.lists.level_counts), self.highest + 1), dtype=np.int64)
        counts[:, self.lists.levels] = self.lists.level_counts
        return counts

    def blocks(self, width: int = 0) -> Iterator[Counts]:
        """Give the free cells in parts, so that a matrix of them with as many columns as holes (or more) is small."""
        start = 0
        while start < len(self.cells):
            columns = max(int(self.inside.count[self.cells[start]]) + 1, width)
            end = start + max(_PLACES_AT_ONCE // columns, 1)
            yield self.cells[start:end]
            start = end


def gains_possible(measure: Measure, highest: int) -> Values:
    """Give the gain of each grade from 0 to the highest, for a measure that has gains."""
    settings = {name: kind.default for name, kind in measure.kind.parameters.items()} | dict(measure.settings)
    function = gain_function(settings.get("gain", "linear"), settings["gains"])  # type: ignore[arg-type]
    return function(np.arange(highest + 1, dtype=np.int32))


def holes_within(lists: Lists, depth: Reach) -> Found:
    """Give the unjudged rows at ranks up to the depth: one for all topics, one for each, or None for all rows."""
    longest = int(lists.length.max(initial=0))
    topics = len(lists.level_counts)
    reach = np.minimum(np.broadcast_to(longest if depth is None else depth, topics)[lists.topics], lists.length)
    if (reach == lists.length).all():
        return lists.unjudged
    matrix = first_ranks(lists, np.arange(len(lists)), int(reach.max(initial=0)))
    cell, column = np.nonzero(matrix < 0)
    real = column < reach[cell]
    cell, column = cell[real], column[real]
    starts = np.searchsorted(cell, np.arange(len(lists) + 1))
    return Found(cell, column + 1, matrix[cell, column], starts)


def first_ranks(lists: Lists, cells: Counts, width: int) -> Grades:
    """Give the grades of the first ranks of some lists, one row each; NOT_POOLED after the end of a list."""
    columns = np.arange(width)
    rows = lists.offsets[cells][:, np.newaxis] + columns
    padded = columns >= lists.length[cells][:, np.newaxis]
    if not len(lists.grades):
        return np.full(rows.shape, NOT_POOLED, dtype=np.int32)
    matrix: Grades = lists.grades[np.minimum(rows, len(lists.grades) - 1)]
    matrix[padded] = NOT_POOLED
    return matrix


def of_cells(found: Found, cells: Counts) -> tuple[Found, Counts]:
    """Give what is found in some cells, which then count from 0, and where each stands in `found`."""
    starts = np.concatenate([[0], np.cumsum(found.count[cells])])
    owner = np.repeat(np.arange(len(cells)), np.diff(starts))
    places = np.arange(int(starts[-1])) - starts[owner] + found.starts[cells][owner]
    return Found(owner, found.rank[places], found.grade[places], starts), places


def spread(found: Found, values: NDArray[np.generic], *, fill: float = 0.0) -> Values:
    """Give one value per document found as a matrix: a row for each cell, its documents from the left."""
    matrix = np.full((len(found.starts) - 1, int(found.count.max(initial=0))), fill)
    matrix[found.cell, found.ordinal - 1] = values
    return matrix


def filled(freedom: Freedom, cells: Counts, holes: Found, grades: Grades, *, outside: Counts) -> Lists:
    """Give lists of some cells, each with a topic of its own, in which holes have got grades.

    `cells` may name a cell several times. `holes` are those of the new lists (their cells count from 0), and `grades`
    what stands there now. `outside[c, g]` counts documents of grade g that are beyond the cutoff, or that no list
    has. The lists end at the cutoff, if there is one.
    """
    source = freedom.lists
    length = source.length[cells] if freedom.cutoff is None else np.minimum(source.length[cells], freedom.cutoff)
    offsets = np.concatenate([[0], np.cumsum(length)])
    rows = np.repeat(source.offsets[cells] - offsets[:-1], length) + np.arange(int(offsets[-1]))
    changed = source.grades[rows]
    changed[offsets[holes.cell] + holes.rank - 1] = grades
    width = freedom.highest + 1
    added = np.bincount(holes.cell * width + grades, minlength=len(cells) * width).reshape(len(cells), width)
    return replace(
        source,
        grades=changed,
        offsets=offsets,
        topics=np.arange(len(cells)),
        levels=np.arange(width, dtype=np.int32),
        level_counts=freedom.grade_counts[source.topics[cells]] + added + outside,
        highest_grade=freedom.highest,
        pooled_count=None,
        stratified=None,
        _relevant={},
    )
