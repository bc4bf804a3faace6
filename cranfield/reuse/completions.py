"""What is still free: the unjudged rows that may get a grade, and the lists with some of them filled in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from cranfield.evaluate.expression import Measure
from cranfield.evaluate.lists import NOT_POOLED, Counts, Found, Lists, Values, gain_function, log2_of_ranks, ratio
from cranfield.evaluate.measures.average import ELEVEN, Rounding, documents_needed
from cranfield.evaluate.measures.user_models import powers

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


# Bounds of measures for which relevance is worth more the higher it stands, given how much of it there is.

_FAR = 1 << 40
"""The rank of what is not there."""


@dataclass(frozen=True, eq=False)
class Filling:
    """Some cells with some of their holes chosen to be relevant: what stands in each, by rank.

    Only documents known to be relevant and holes have columns; `relevant` marks the former and the chosen ones.
    `count` is the number of relevant documents of the topic, found or not, and `outside` how many more there may be.
    `nonrelevant_above` counts for each column the judged documents above that are not relevant, all holes that are
    not chosen among them, and `nonrelevant` those of the topic.
    """

    rank: Counts
    relevant: Mask
    count: Counts
    outside: Counts
    nonrelevant_above: Counts
    nonrelevant: Counts

    @cached_property
    def ordinal(self) -> Counts:
        """The number of relevant documents down to each column."""
        return np.cumsum(self.relevant, axis=1)


Value = Callable[[Filling], Values]


def ordered_ends(freedom: Freedom, lowest: Value, highest: Value, *, with_nonrelevant: bool = False) -> Ends:
    """Give the ends, from functions that give the lowest and the highest value of a filling.

    These functions answer for the documents outside, which may be relevant as well, or not. What is judged and not
    relevant is counted only if asked for.
    """
    lower, upper = np.full(len(freedom.lists), np.inf), np.full(len(freedom.lists), -np.inf)
    for cells in freedom.blocks(_widest(freedom)):
        items = _Items(freedom, cells, with_nonrelevant=with_nonrelevant)
        for number, filling in items.fillings(highest_first=True):
            some = cells[:number]
            upper[some] = np.maximum(upper[some], highest(filling))
        for number, filling in items.fillings(highest_first=False):
            some = cells[:number]
            lower[some] = np.minimum(lower[some], lowest(filling))
    return Ends(
        np.where(np.isfinite(lower), lower, freedom.values), np.where(np.isfinite(upper), upper, freedom.values)
    )


def falling_ends(freedom: Freedom, value: Value) -> Ends:
    """Give the ends where relevant documents outside can only hurt."""
    return ordered_ends(
        freedom, lambda filling: value(replace(filling, count=filling.count + filling.outside)), value
    )


def binary_g_ends(freedom: Freedom) -> Ends:
    """Give the ends of binary G."""

    def value(filling: Filling) -> Values:
        misses = np.where(filling.relevant, filling.rank - filling.ordinal, 0)
        terms = np.where(filling.relevant, 1.0 / log2_of_ranks(misses + 1), 0.0)
        return ratio(terms.sum(axis=1), filling.count)

    return falling_ends(freedom, value)


def interpolated_ends(freedom: Freedom) -> Ends:
    """Give the ends of interpolated precision at a recall level."""
    level, rounding = float(freedom.measure.cutoff or 0.0), freedom.setting("rounding")
    return falling_ends(freedom, lambda filling: _interpolated(filling, level, rounding))  # type: ignore[arg-type]


def eleven_point_ends(freedom: Freedom) -> Ends:
    """Give the ends of the eleven-point average."""
    rounding = freedom.setting("rounding")

    def value(filling: Filling) -> Values:
        levels = [_interpolated(filling, level, rounding) for level in ELEVEN]  # type: ignore[arg-type]
        total: Values = np.sum(levels, axis=0)
        return total / len(ELEVEN)

    return falling_ends(freedom, value)


def _interpolated(filling: Filling, level: float, rounding: Rounding) -> Values:
    needed = documents_needed(level, filling.count, rounding)[:, np.newaxis]
    reached = filling.relevant & (filling.ordinal >= needed)
    highest: Values = np.where(reached, filling.ordinal / filling.rank, 0.0).max(axis=1, initial=0.0)
    return highest


def _widest(freedom: Freedom) -> int:
    count = freedom.lists.relevant(freedom.rel).count + freedom.inside.count
    return int(count[freedom.cells].max(initial=0)) + 1


class _Items:
    """The relevant documents and the holes of some cells as matrices, those with many holes first."""

    def __init__(self, freedom: Freedom, cells: Counts, *, with_nonrelevant: bool) -> None:
        lists, rel = freedom.lists, freedom.rel
        known, _ = of_cells(lists.relevant(rel).within(freedom.cutoff), cells)
        holes, _ = of_cells(freedom.inside, cells)
        cell = np.concatenate([known.cell, holes.cell])
        rank = np.concatenate([known.rank, holes.rank])
        order = np.lexsort((rank, cell))
        starts = known.starts + holes.starts
        merged = Found(cell[order], rank[order], np.zeros(len(rank), dtype=np.int32), starts)
        self._rank = spread(merged, merged.rank, fill=_FAR).astype(np.int64)
        self._known = spread(merged, order < len(known)) > 0
        self._hole = spread(merged, order >= len(known)) > 0
        self._number = np.cumsum(self._hole, axis=1)
        self._holes = holes.count
        self._relevant = lists.relevant_count(rel)[cells]
        self._outside = freedom.outside[cells]
        self._nonrelevant = lists.nonrelevant_count(rel)[cells]
        self._nonrelevant_above = np.zeros(self._rank.shape, dtype=np.int64)
        if with_nonrelevant:
            self._nonrelevant_above = spread(merged, _nonrelevant_above(freedom, cells, merged)).astype(np.int64)

    def fillings(self, *, highest_first: bool) -> Iterator[tuple[int, Filling]]:
        """Give how many of the cells have m holes, and these with the m highest or lowest relevant, for all m."""
        for chosen in range(int(self._holes.max(initial=0)) + 1):
            number = int(np.searchsorted(-self._holes, -chosen, side="right"))
            holes = self._holes[:number, np.newaxis]
            if highest_first:
                turned = self._hole[:number] & (self._number[:number] <= chosen)
            else:
                turned = self._hole[:number] & (self._number[:number] > holes - chosen)
            unchosen = self._hole[:number] & ~turned
            yield (
                number,
                Filling(
                    rank=self._rank[:number],
                    relevant=self._known[:number] | turned,
                    count=self._relevant[:number] + chosen,
                    outside=self._outside[:number],
                    nonrelevant_above=self._nonrelevant_above[:number] + np.cumsum(unchosen, axis=1) - unchosen,
                    nonrelevant=self._nonrelevant[:number] + self._holes[:number] - chosen,
                ),
            )


def _nonrelevant_above(freedom: Freedom, cells: Counts, merged: Found) -> Counts:
    """Count for each item the judged documents above it that are known not to be relevant."""
    judged, _ = of_cells(freedom.lists.judged, cells)
    bad = judged.where(judged.grade < freedom.rel)
    stride = _FAR // max(len(cells), 1)
    places = np.searchsorted(bad.cell * stride + bad.rank, merged.cell * stride + merged.rank)
    return places - bad.starts[merged.cell]


# Bounds of Bpref, in which relevant documents that no list has may help.


def preference_ends(freedom: Freedom) -> Ends:
    """Give the ends of Bpref when the holes get judged, relevant or not.

    The score itself passes holes over and may lie outside. Each further relevant document lowers what a misplaced
    one costs as long as there are more judged non-relevant documents than relevant ones, so that their number matters
    in both directions.
    """
    return ordered_ends(
        freedom,
        lambda filling: np.min(_extremes(filling), axis=0),
        lambda filling: np.max(_extremes(filling), axis=0),
        with_nonrelevant=True,
    )


def _extremes(filling: Filling) -> list[Values]:
    """Give values of Bpref among which are the lowest and the highest over all numbers of relevant documents.

    n judged non-relevant documents stand above a relevant one, N are there in all. Up to R = N the value is
    Σ (R - n)+ / R². Between two of the n it is (c R - s) / R², c and s the number and the sum of the n below R: it
    rises up to R = 2 s / c and falls from there. Beyond N the value is Σ (1 - n / N) / R, and falls.
    """
    least, most = filling.count, filling.count + filling.outside
    ends = [_value(filling, least), _value(filling, most)]
    if not filling.outside.any():
        return ends
    ends.append(_value(filling, np.clip(filling.nonrelevant, least, most)))
    return [*ends, *_in_pieces(filling, least[:, np.newaxis], most[:, np.newaxis])]


def _value(filling: Filling, relevant: Counts) -> Values:
    above, count = filling.nonrelevant_above, relevant[:, np.newaxis]
    cost = ratio(np.minimum(above, count), np.minimum(filling.nonrelevant[:, np.newaxis], count))
    terms = np.where(filling.relevant, np.where(above > 0, 1.0 - cost, 1.0), 0.0)
    return ratio(terms.sum(axis=1), relevant)


def _in_pieces(filling: Filling, least: Counts, most: Counts) -> list[Values]:
    """Give the lowest and the highest value between two successive n, over all of these."""
    far = np.iinfo(np.int64).max
    above = np.where(filling.relevant, filling.nonrelevant_above, far)
    following = np.minimum.accumulate(above[:, ::-1], axis=1)[:, ::-1]
    following = np.concatenate([following[:, 1:], np.full((len(above), 1), far)], axis=1)
    low = np.maximum(np.maximum(above, least), 1)
    high = np.minimum(np.minimum(following, filling.nonrelevant[:, np.newaxis]), most)
    number = filling.ordinal
    total = np.cumsum(np.where(filling.relevant, filling.nonrelevant_above, 0), axis=1)
    turn = 2.0 * ratio(total, number)
    real = filling.relevant & (low <= high)
    lowest, highest = np.full(len(above), np.inf), np.full(len(above), -np.inf)
    for tried in (low, high, np.floor(turn), np.ceil(turn)):
        relevant = np.clip(tried, low, np.maximum(low, high)).astype(np.float64)
        value = ratio(number * relevant - total, relevant * relevant)
        lowest = np.minimum(lowest, np.where(real, value, np.inf).min(axis=1, initial=np.inf))
        highest = np.maximum(highest, np.where(real, value, -np.inf).max(axis=1, initial=-np.inf))
    here, nothing = np.isfinite(lowest), _value(filling, filling.count)
    return [np.where(here, lowest, nothing), np.where(here, highest, nothing)]


# Bounds by trying everything: for measures without an algorithm, on lists with few holes.

MOST_COMPLETIONS = 256
"""How many completions of one list are tried; with more, the bounds are those that the measure has anyway."""

_ROWS_AT_ONCE = 1 << 22


def enumerated_ends(freedom: Freedom) -> Ends:
    """Give the ends of any measure, exact where a list has few completions, and its general bounds elsewhere."""
    grades = freedom.highest + 1
    free = freedom.holes.count[freedom.cells] * np.log(grades) + np.log(freedom.further + 1)
    few = (free <= np.log(MOST_COMPLETIONS) + 1e-9) & (freedom.beside[freedom.cells] == 0)
    lowest, highest = freedom.measure.bounds
    lower, upper = freedom.values.copy(), freedom.values.copy()
    loose = np.zeros(len(lower), dtype=bool)
    many = freedom.cells[~few]
    lower[many], upper[many], loose[many] = lowest, highest, True
    _try_all(freedom, freedom.cells[few], lower, upper)
    return Ends(lower, upper, loose)


def _try_all(freedom: Freedom, cells: Counts, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> None:
    """Put the ends of some cells into place, those with equally many holes together."""
    lower[cells], upper[cells] = np.inf, -np.inf
    counts = freedom.holes.count[cells]
    for holes in np.unique(counts).tolist():
        alike = cells[counts == holes]
        labels = _labels(int(holes), freedom.highest + 1)
        for further in range(freedom.further + 1):
            longest = max(int(freedom.lists.length[alike].max(initial=1)), 1)
            size = max(_ROWS_AT_ONCE // (longest * len(labels)), 1)
            for start in range(0, len(alike), size):
                some = alike[start : start + size]
                values = _values(freedom, some, labels, further)
                lower[some] = np.minimum(lower[some], values.min(axis=1))
                upper[some] = np.maximum(upper[some], values.max(axis=1))


def _labels(holes: int, grades: int) -> NDArray[np.int32]:
    """Give all ways to grade so many holes, one row each."""
    return np.indices((grades,) * holes, dtype=np.int32).reshape(holes, grades**holes).T


def _values(freedom: Freedom, cells: Counts, labels: NDArray[np.int32], further: int) -> NDArray[np.float64]:
    """Give the value of each cell (rows) under each labelling (columns)."""
    holes, _ = of_cells(freedom.holes, np.repeat(cells, len(labels)))
    grades = np.broadcast_to(labels, (len(cells), *labels.shape)).ravel()
    within = freedom.cutoff is None or holes.rank <= freedom.cutoff
    kept = np.broadcast_to(within, len(holes))
    width = freedom.highest + 1
    outside = np.bincount((holes.cell * width + grades)[~kept], minlength=len(holes.count) * width)
    others = outside.reshape(-1, width)
    others[:, freedom.highest] += further
    inside: Found = holes.where(kept)
    lists = filled(freedom, np.repeat(cells, len(labels)), inside, grades[kept], outside=others)
    return freedom.measure.values(lists).reshape(len(cells), len(labels))


# Bounds of measures that go one way: each hole only helps, or only hurts, whatever the others are.

_ROWS_AT_ONCE_BOUNDS_MONOTONE = 1 << 22


@dataclass(frozen=True)
class _Case:
    """The grade of the holes inside, that of the holes beyond the cutoff, and how many documents no list has."""

    inside: int
    outside: int
    further: int


def monotone_ends(freedom: Freedom) -> Ends:
    """Give the ends of a measure that goes one way."""
    lower, upper = freedom.values.copy(), freedom.values.copy()
    cells = freedom.cells
    size = max(_ROWS_AT_ONCE_BOUNDS_MONOTONE // max(int(freedom.lists.length.max(initial=1)), 1), 1)
    for start in range(0, len(cells), size):
        part = cells[start : start + size]
        ends = [_values_bounds_monotone(freedom, part, case) for case in _cases(freedom)]
        lower[part], upper[part] = np.min(ends, axis=0), np.max(ends, axis=0)
    return Ends(lower, upper)


def _cases(freedom: Freedom) -> list[_Case]:
    grades = _worst_and_best(freedom)
    beyond = len(freedom.holes) > len(freedom.inside) or bool(freedom.beside.any())
    return [_Case(*case) for case in product(grades, grades if beyond else grades[:1], {0, freedom.further})]


def _worst_and_best(freedom: Freedom) -> tuple[int, int]:
    """Give the grades with the lowest and the highest gain; without gains, 0 and the highest."""
    if "gains" not in freedom.measure.kind.parameters:
        return 0, freedom.highest
    gains = gains_possible(freedom.measure, freedom.highest)
    return int(np.argmin(gains)), int(np.argmax(gains))


def _values_bounds_monotone(freedom: Freedom, cells: Counts, case: _Case) -> Values:
    holes, _ = of_cells(freedom.inside, cells)
    others = np.zeros((len(cells), freedom.highest + 1), dtype=np.int64)
    others[:, case.outside] += (freedom.holes.count - freedom.inside.count + freedom.beside)[cells]
    others[:, freedom.highest] += case.further
    grades = np.full(len(holes), case.inside, dtype=np.int32)
    return freedom.measure.values(filled(freedom, cells, holes, grades, outside=others))


def reciprocal_ends(freedom: Freedom) -> Ends:
    """Give the ends of reciprocal rank: at least as it is, at most as if the first hole were relevant."""
    if freedom.rel > freedom.highest:
        return Ends(freedom.values, freedom.values)
    return Ends(freedom.values, np.maximum(freedom.values, freedom.inside.highest(1.0 / freedom.inside.rank)))


def persistence_ends(freedom: Freedom, *, tail: bool) -> Ends:
    """Give the ends of rank-biased precision: the residual above the base.

    With a tail, what lies beyond the end of the list counts as unknown too, and adds p^N: a longer list could have
    had it. A cutoff ends the list for good. Source: Moffat and Zobel, TOIS 2008.
    """
    gain, p = freedom.setting("gain"), float(freedom.setting("p"))  # type: ignore[arg-type]
    if gain == "binary" and freedom.rel > freedom.highest:
        return Ends(freedom.values, freedom.values)
    weight = (1.0 - p) * powers(p, freedom.inside.rank)
    upper = freedom.values + freedom.inside.total(weight)
    if tail and freedom.cutoff is None:
        upper = upper + powers(p, freedom.lists.length + 1)
    return Ends(_lowest_of_topic(freedom, weight) if gain == "topic" else freedom.values, upper)


def _lowest_of_topic(freedom: Freedom, weight: Values) -> Values:
    """Give the lowest RBP when the gain is the grade over the highest grade h of the topic.

    A hole can raise h, which takes from all others. Holes of grade h add their whole weight, so the value is
    base / h + weights: highest where h stays as it is, and lowest with no hole relevant, or with the highest grade of
    the scale at the one place where it gains least.
    """
    present = np.where(freedom.grade_counts > 0, np.arange(freedom.highest + 1), 0).max(axis=1, initial=0)
    now = np.maximum(present, 1)[freedom.lists.topics]
    least = np.where(freedom.outside > 0, 0.0, 1.0 - freedom.inside.highest(1.0 - weight))
    raised = freedom.values * now / freedom.highest + least
    return np.where(freedom.is_free, np.minimum(freedom.values, raised), freedom.values)
