"""What ties do to scores: documents with equal scores can stand in any order, and the order decides.

The canonical order breaks ties by document id, which says nothing about the system. The best order of a tie is the
one with the highest value of the measure, the worst the one with the lowest; the expected score is the mean over all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cranfield.base.errors import UsageError
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.expression import AnyMeasure, Measure, own_measures
from cranfield.evaluate.lists import NOT_POOLED, GradeGains, Lists, Values, gain_function
from cranfield.evaluate.measures.average import Rounding
from cranfield.evaluate.scores import Scores, score

# The lists that another order of tied documents could change, and other orders of them.

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
    def of(alignment: Alignment, kinds: Kinds) -> TiedLists:
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

    def within(self, depth: int) -> TiedLists:
        """Give the lists with the ties that begin at one of the first ranks, cut where the last of these ends."""
        cell = self.cell
        rank = self.places - self.lists.offsets[cell] + 1
        begins = np.zeros(int(self.group.max(initial=0)) + 1, dtype=np.int64)
        begins[self.group[::-1]] = rank[::-1]
        kept = begins[self.group] <= depth
        chosen, cell = np.unique(cell[kept], return_inverse=True)
        lists = self.lists.chosen(chosen).cut(max(depth, int(rank[kept].max(initial=1))))
        return TiedLists(self.cells[chosen], lists, lists.offsets[cell] + rank[kept] - 1, self.group[kept])

    def only(self, chosen: Places) -> TiedLists:
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


Grades = NDArray[np.int32]
TieOrder = Literal["trec", "best", "worst", "expected"]

TOLD_FROM = 0.005
"""How far ties must be able to move a summary before it is told."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A summary that ties could move: the score as it is, and the lowest and highest it could be.

    Where they are not `exact` both can be reached, but others may go further.
    """

    run: str
    measure: str
    value: float
    worst: float
    best: float
    exact: bool = True


@dataclass(frozen=True)
class Worth:
    """What a measure rises with: a list in which more of it stands first within each tie has the highest value."""

    kind: Literal["grade", "judged", "unjudged"] = "grade"
    gain: Literal["linear", "exponential"] = "linear"
    gains: GradeGains = ()

    def __call__(self, grades: Grades) -> Values:
        """Give the worth of documents with these grades."""
        if self.kind != "grade":
            return ((grades >= 0) if self.kind == "judged" else (grades < 0)).astype(float)
        if not self.gains:
            return np.maximum(grades, 0).astype(float)
        return np.where(grades >= 0, gain_function(self.gain, self.gains)(np.maximum(grades, 0)), 0.0)


def worth_of(measure: Measure) -> Worth | None:
    """Give what a measure rises with; None where no order of kinds of documents is the best for every list."""
    rises_with = measure.kind.rises_with
    if rises_with == "unknown":
        return None
    named = dict(measure.settings)
    if rises_with == "grade" and "gains" in named:
        return Worth(gain=named.get("gain", "linear"), gains=named["gains"])  # type: ignore[arg-type]
    return Worth(rises_with)


def score_with_ties(
    alignment: Alignment,
    measures: list[AnyMeasure],
    *,
    ties: TieOrder,
    rng: np.random.Generator | None = None,
    rounding: Rounding = "exact",
) -> Scores:
    """Score all runs with ties in the canonical, best or worst order, or expected over all orders.

    Where there are too many to try, `rng` draws some.
    """
    scores = score(alignment, measures, rounding=rounding)
    if ties == "trec":
        return scores
    if ties == "expected":
        if rng is None:
            raise UsageError("an expected score needs a generator of random orders")
        return expected_scores(alignment, scores, rng=rng).scores
    _refuse_unknown(own_measures(scores.measures), ties)
    values = scores.values.copy()
    for worth, places in _by_worth(own_measures(scores.measures)).items():
        if worth is not None:
            _put(values, places, _End.of(alignment, worth), scores, highest=ties == "best")
    return replace(scores, values=values, ties=ties)


def moved_by_ties(alignment: Alignment, scores: Scores, *, by: float = TOLD_FROM) -> list[Moved]:
    """Give the summaries that another order of tied documents could move by more than `by`."""
    reached = _reached(alignment, scores)
    if reached is None:
        return []
    ends = [replace(scores, values=values).summary for values in reached]
    low, high = np.minimum(*ends), np.maximum(*ends)
    far = np.argwhere(np.maximum(high - scores.summary, scores.summary - low) > by)
    measures = own_measures(scores.measures)
    return [
        Moved(
            run=scores.run_names[run],
            measure=str(measures[measure]),
            value=float(scores.summary[measure, run]),
            worst=float(low[measure, run]),
            best=float(high[measure, run]),
            exact=worth_of(measures[measure]) is not None,
        )
        for measure, run in far.tolist()
    ]


def _reached(alignment: Alignment, scores: Scores) -> tuple[Values, Values] | None:
    """Give the lowest and the highest value of each list; None where no order of ties changes anything.

    Where it is not known what a measure rises with, some orders are tried.
    """
    low, high = scores.values.copy(), scores.values.copy()
    found = False
    for worth, places in _by_worth(own_measures(scores.measures)).items():
        for one in [worth] if worth is not None else [Worth(), Worth("judged")]:
            end = _End.of(alignment, one)
            found = found or len(end.tied) > 0
            for first in (False, True) if len(end.tied) else ():
                values = scores.values.copy()
                _put(values, places, end, scores, highest=first)
                low[places] = np.minimum(low[places], values[places])
                high[places] = np.maximum(high[places], values[places])
    return (low, high) if found else None


@dataclass(frozen=True, eq=False)
class _End:
    """The lists whose ties differ in worth, and the worth of the tied documents."""

    tied: TiedLists
    worth: Values

    @staticmethod
    def of(alignment: Alignment, worth: Worth) -> _End:
        def kinds(rows: Places) -> Values:
            return worth(alignment.lists.grades[rows])

        tied = TiedLists.of(alignment, kinds)
        return _End(tied, worth(tied.lists.grades[tied.places]))


def _put(values: Values, places: list[int], end: _End, scores: Scores, *, highest: bool) -> None:
    """Put the values of some measures at one end into those of all."""
    if not len(end.tied):
        return
    lists = end.tied.ordered(-end.worth if highest else end.worth)
    flat = values.reshape(len(values), -1)
    for place in places:
        flat[place, end.tied.cells] = own_measures([scores.measures[place]])[0].values(lists)


def _by_worth(measures: Iterable[Measure]) -> dict[Worth | None, list[int]]:
    """Give the places of measures by what they rise with."""
    found: dict[Worth | None, list[int]] = {}
    for place, measure in enumerate(measures):
        found.setdefault(worth_of(measure), []).append(place)
    return found


def _refuse_unknown(measures: Iterable[Measure], ties: str) -> None:
    names = [str(measure) for measure in measures if worth_of(measure) is None]
    if names:
        raise UsageError(
            f"which order of ties is {ties} for {', '.join(names)} would have to be tried out, order by order; "
            "ask for other measures, or for the expected score"
        )


# All orders of tied documents that are really different, written down.

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


# Expected scores: the mean over all orders of tied documents.

MOST_ORDERS = 2_000
"""How many different orders of one list are all tried."""

_TRIED_ROWS = 1 << 25
_DRAWN_ROWS = 1 << 27
_DRAWN_TOGETHER, _MOST_DRAWN = 100, 10_000
_NEAR_ENOUGH = 0.0001
"""The standard error of a mean at which drawing stops."""


@dataclass(frozen=True, eq=False)
class Expected:
    """Expected scores; of `drawn` lists, `orders` random orders were drawn, with this standard error of a summary.

    Where nothing had to be drawn the scores are exact. The error is the largest of all runs and measures.
    """

    scores: Scores
    drawn: int = 0
    orders: int = 0
    error: float = 0.0


def expected_scores(alignment: Alignment, scores: Scores, *, rng: np.random.Generator) -> Expected:
    """Give the scores as they are expected over all orders of tied documents.

    A measure with a cutoff sees the ties that begin within it, and no others.
    """
    kinds = _kinds(alignment.lists)
    tied = TiedLists.of(alignment, lambda rows: kinds[rows])
    values = scores.values.copy()
    flat = values.reshape(len(scores.measures), -1)
    drawn, orders, error = 0, 0, 0.0
    for (depth, additive), places in _alike(own_measures(scores.measures)).items():
        part = tied if depth is None else tied.within(depth)
        if not len(part):
            continue
        measures = [own_measures([scores.measures[place]])[0] for place in places]
        means, found = _means(part, measures, alignment, rng, additive=additive)
        flat[np.array(places)[:, None], part.cells] = means
        drawn, orders, error = max(drawn, found.drawn), max(orders, found.orders), max(error, found.error)
    return Expected(replace(scores, values=values, ties="expected"), drawn, orders, error)


@dataclass(frozen=True, slots=True)
class _Drawn:
    drawn: int = 0
    orders: int = 0
    error: float = 0.0


def _kinds(lists: Lists) -> NDArray[np.int64]:
    """Give what a measure can tell apart: grades, unjudged, not pooled; and strata, where there are any."""
    kinds = np.where(lists.grades == NOT_POOLED, -2, np.maximum(lists.grades, -1)).astype(np.int64)
    return kinds if lists.stratified is None else (kinds << 32) + lists.stratified.at_rank


def _alike(measures: Iterable[Measure]) -> dict[tuple[int | None, bool], list[int]]:
    """Give the places of measures by the depth that they see (None: the whole list), and whether they are sums."""
    found: dict[tuple[int | None, bool], list[int]] = {}
    for place, measure in enumerate(measures):
        condensed = bool(dict(measure.settings).get("judged_only"))
        depth = measure.cutoff if isinstance(measure.cutoff, int) and not condensed else None
        found.setdefault((depth, measure.kind.additive and not condensed), []).append(place)
    return found


def _means(
    tied: TiedLists, measures: list[Measure], alignment: Alignment, rng: np.random.Generator, *, additive: bool
) -> tuple[Values, _Drawn]:
    """Give the mean of each measure for each list, and what had to be drawn for that."""
    ties = ties_of(tied, _kinds(tied.lists)[tied.places])
    orders = [turns_of(own) if additive else orders_of(own) for own in ties]
    most = None if additive else MOST_ORDERS
    tried, rest = _shared_out(orders, tied.lists.length.tolist(), most=most)
    means = np.zeros((len(measures), len(tied)))
    for cell, lists, weights in every_turn(tied.lists, ties, tried) if additive else ():
        for place, measure in enumerate(measures):
            means[place] += np.bincount(cell, weights=weights * measure.values(lists), minlength=len(tied))
    for cell, lists in () if additive else every_order(tied.lists, ties, tried):
        for place, measure in enumerate(measures):
            means[place] += np.bincount(cell, weights=measure.values(lists), minlength=len(tied))
    if not additive:
        means[:, tried] /= np.array([orders[cell] for cell in tried], dtype=float)
    if not rest:
        return means, _Drawn()
    means[:, rest], found = _drawn_means(tied.only(np.array(rest)), measures, alignment, rng)
    return means, found


def _shared_out(orders: list[int], lengths: list[int], *, most: int | None) -> tuple[list[int], list[int]]:
    """Give the lists whose orders are all tried, those with the least to try first, and the rest, both rising."""
    work = [number * length for number, length in zip(orders, lengths, strict=True)]
    tried, total = set(), 0
    for cell in sorted(range(len(work)), key=lambda cell: work[cell]):
        if (most is None or orders[cell] <= most) and total + work[cell] <= _TRIED_ROWS:
            tried.add(cell)
            total += work[cell]
    return sorted(tried), [cell for cell in range(len(work)) if cell not in tried]


def _drawn_means(
    tied: TiedLists, measures: list[Measure], alignment: Alignment, rng: np.random.Generator
) -> tuple[Values, _Drawn]:
    """Give means over random orders, drawn until they are near enough or it takes too long."""
    most = max(_DRAWN_TOGETHER, min(_MOST_DRAWN, _DRAWN_ROWS // max(len(tied.lists.grades), 1)))
    first: Values = np.array([measure.values(tied.lists) for measure in measures])
    total, squares = np.zeros_like(first), np.zeros_like(first)
    drawn, error = 0, np.inf
    while drawn < most and error > _NEAR_ENOUGH:
        for _ in range(_DRAWN_TOGETHER):
            lists = tied.ordered(rng.random(len(tied.places)))
            # From a value of each list on: sums of squares of small differences lose no digits.
            off = np.array([measure.values(lists) for measure in measures]) - first
            total += off
            squares += off * off
        drawn += _DRAWN_TOGETHER
        error = _error((squares - total * total / drawn) / (drawn - 1) / drawn, tied.cells, alignment)
    return first + total / drawn, _Drawn(len(tied), drawn, error)


def _error(variance: Values, cells: Places, alignment: Alignment) -> float:
    """Give the largest standard error of a mean over topics."""
    runs, topics = alignment.shape
    scored = np.maximum(alignment.scored.sum(axis=1), 1)
    sums = [np.bincount(cells // topics, weights=one, minlength=runs) for one in np.maximum(variance, 0.0)]
    return float((np.sqrt(sums) / scored).max(initial=0.0))
