"""What to judge to settle it: the few unjudged documents that decide between two runs, or make one score safe."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cranfield.errors import UsageError
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.expression import AnyMeasure
from cranfield.evaluate.lists import Counts, Found, Values
from cranfield.reuse.bounds import Bounds, Closure, Kind, Tail, bounds
from cranfield.reuse.bounds_freedom import Reach, holes_within
from cranfield.reuse.identities import Identities, of_runs, with_judgments
from cranfield.reuse.narrowing import narrowings
from cranfield.reuse.pair_weights import Weighing, weighing_of
from cranfield.reuse.pairs import TOLERANCE, Contest, difference_of
from cranfield.reuse.queued import QueuedDocument, by_weight, can_matter, leanings, queued
from cranfield.runs.run import Codes

MOST_SUMS = 4096
"""How many different sums of labels are followed to see when a pair is decided for certain."""


@dataclass(frozen=True)
class Settlement:
    """A judging queue that decides between two runs.

    `leader` is ahead with unjudged taken as not relevant; empty where they are equal. Decided means that no label of
    the rest can change who is ahead (or that they are equal). `if_not_relevant` documents of the queue suffice if all
    of them turn out not relevant, as most do; `at_best` if their labels fall as decisively as they can; `for_certain`
    whatever they are. None is a number that is not known, or that there is not: relevant documents outside both lists
    can leave doubt however much is judged. With `exact` false the intervals of the two runs are subtracted, and more
    documents may be asked for than needed.
    """

    measure: str
    leader: str
    other: str
    lead: float
    ends: tuple[float, float]
    exact: bool
    queue: tuple[QueuedDocument, ...]
    if_not_relevant: int | None
    at_best: int | None
    for_certain: int | None

    @property
    def is_decided(self) -> bool:
        """Whether there is nothing to judge."""
        return not self.queue


def settle(contest: Contest) -> Settlement:
    """Give the documents to judge to decide between two runs.

    First come those that could make up for the lead, the heaviest first, until the lead is safe if none of them is
    relevant; then the rest by weight, in case some are.
    """
    _refuse_without_interval(contest.measure, contest.part.kind, contest.part.reason)
    found = difference_of(contest)
    ahead = 1.0 if found.value >= 0 else -1.0
    names = found.names if ahead > 0 else found.names[::-1]
    is_equal = abs(found.value) <= TOLERANCE
    queue, counts = ((), (0, 0, 0)) if found.is_decided else _queue(contest, ahead)
    return Settlement(
        measure=str(contest.measure),
        leader="" if is_equal else names[0],
        other="" if is_equal else names[1],
        lead=abs(found.value),
        ends=found.ends if ahead > 0 else (-found.ends[1], -found.ends[0]),
        exact=found.exact,
        queue=queue,
        if_not_relevant=counts[0],
        at_best=counts[1],
        for_certain=counts[2],
    )


Needed = tuple[int | None, int | None, int | None]


def _queue(contest: Contest, ahead: float) -> tuple[tuple[QueuedDocument, ...], Needed]:
    """Give the queue, and how much of it is needed: if nothing is relevant, at best, and for certain."""
    weights = leanings(contest)
    order = by_weight(weights, contest)
    order = order[can_matter(contest)[order]]
    weighing, exact = contest.weighing, difference_of(contest).exact
    if exact:  # then what favours the leader can wait
        against = weights[order] * ahead < 0
        order = np.concatenate([order[against], order[~against]])
    needed = _fewest(len(order), lambda count: difference_of(_all_not_relevant(contest, order[:count])).is_decided)
    first = 0 if needed is None else needed
    rest = order[first:]
    order = np.concatenate([order[:first], rest[np.argsort(-np.abs(weights[rest]).round(12), kind="stable")]])
    if weighing is None or weighing.kind == "best" or not exact:
        certain = None if contest.further and weighing is None else len(order)
        return queued(contest, order, weights), (needed, None, certain)
    moves = _Moves(contest, weighing, weights, order)
    enough = moves.for_certain()
    needed = enough if needed is None else min(needed, enough)
    return queued(contest, order[:enough], weights), (needed, moves.at_best(), enough)


def _fewest(most: int, suffices: Callable[[int], bool]) -> int | None:
    """Give the lowest number up to `most` that suffices, when more never do less; None where none does."""
    if not suffices(most):
        return None
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle + 1, high)
    return low


def _refuse_without_interval(measure: AnyMeasure, kind: Kind, reason: str) -> None:
    if kind == "none":
        raise UsageError(f"{measure} has no interval that judging could narrow: {reason}")


def _all_not_relevant(contest: Contest, chosen: Counts) -> Contest:
    return contest.after(chosen, np.zeros(len(chosen), dtype=np.int32))


class _Moves:
    """How the labels of a queue move the difference of two sums."""

    def __init__(self, contest: Contest, weighing: Weighing, weights: Values, order: Counts) -> None:
        spread = max(weighing.most - weighing.least, TOLERANCE)
        self._moves = [np.unique(weights[place] * weighing.gains / spread) for place in order.tolist()]
        self._low = np.array([move.min() for move in self._moves])
        self._high = np.array([move.max() for move in self._moves])
        self._found = difference_of(contest)

    def at_best(self) -> int:
        """Give the fewest documents that can decide: each closes one side of the interval by all it can move."""
        lower, upper = self._found.ends
        closed = np.cumsum(np.sort(self._high - self._low)[::-1])
        return int(np.searchsorted(closed, min(-lower, upper) + TOLERANCE, side="right")) + 1

    def for_certain(self) -> int:
        """Give after how many documents the pair is decided whatever their labels.

        All sums that the labels so far can have made are followed, as long as they leave doubt.
        """
        below = np.concatenate([np.cumsum(self._low[::-1])[::-1], [0.0]])
        above = np.concatenate([np.cumsum(self._high[::-1])[::-1], [0.0]])
        sums = np.array([self._found.value])
        for number, move in enumerate(self._moves, start=1):
            sums = np.unique((sums[:, np.newaxis] + move).round(13))
            sums = sums[(sums + below[number] <= TOLERANCE) & (sums + above[number] >= -TOLERANCE)]
            if not len(sums):
                return number
            if len(sums) > MOST_SUMS:
                break
        return len(self._moves)


@dataclass(frozen=True)
class Narrowing:
    """A judging queue that makes the interval of a run's score narrow enough.

    `width` is that of the summary's interval now. `if_not_relevant` documents of the queue suffice if all of them
    turn out not relevant, `for_certain` whatever they are. None where judging cannot do it: what lies beyond the end
    of a list counts in RBP, and relevant documents may exist that the list does not have.
    """

    measure: str
    run: str
    width: float
    tolerance: float
    queue: tuple[QueuedDocument, ...]
    if_not_relevant: int | None
    for_certain: int | None

    def by_topic(self) -> dict[str, int]:
        """Count the documents of the queue in each topic that has some."""
        return dict(Counter(document.topic for document in self.queue))


def to_safe(
    alignment: Alignment,
    documents: Identities,
    measure: AnyMeasure,
    run: int,
    *,
    tolerance: float,
    depth: Reach,
    closure: Closure = "at-k",
    further: int = 0,
    highest: int | None = None,
    tail: Tail = "residual",
) -> Narrowing:
    """Give the documents of a run to judge until its interval is at most as wide as the tolerance.

    They are taken by how much each narrows the interval, the most first. For measures that add up weights that is
    certain; for others it is what happens if the document is not relevant.
    """
    one, own = of_runs(alignment, documents, (run,))
    top = max(one.lists.highest_grade if highest is None else highest, 1)
    score = _Score(one, own, measure, depth, closure, further, top, tail)
    _refuse_without_interval(measure, score.bounds.kinds[0], score.bounds.reasons[0])
    width = score.width
    queue, counts = ((), (0, 0)) if width <= tolerance + TOLERANCE else score.queue(tolerance)
    return Narrowing(str(measure), alignment.run_names[run], width, tolerance, queue, *counts)


@dataclass(frozen=True, eq=False)
class _Score:
    """One run, its documents, and how its interval is made."""

    alignment: Alignment
    documents: Identities
    measure: AnyMeasure
    depth: Reach
    closure: Closure
    further: int
    highest: int
    tail: Tail

    @cached_property
    def bounds(self) -> Bounds:
        """The bounds of the score."""
        return bounds(
            self.alignment,
            [self.measure],
            depth=lambda _: self.depth,
            closure=self.closure,
            further=self.further,
            highest=self.highest,
            tail=self.tail,
        )

    @property
    def width(self) -> float:
        """How far labels can move the summary: the width of its interval, and of the way to it from outside."""
        score = self.bounds.score[0, 0]
        return float(max(self.bounds.highest[0, 0], score) - min(self.bounds.lowest[0, 0], score))

    @cached_property
    def holes(self) -> Found:
        """The unjudged documents that count, on the topics that are scored."""
        found = holes_within(self.alignment.lists, self.bounds.depths[0] if self.closure == "at-k" else None)
        return found.where(self.alignment.scored[0][found.cell])

    def queue(self, tolerance: float) -> tuple[tuple[QueuedDocument, ...], tuple[int | None, int | None]]:
        """Give the documents to judge, and how many are needed if none is relevant, and for certain."""
        adds_up = self.measure.aggregate in ("mean", "sum")
        weighing = weighing_of(self.measure, self.highest) if adds_up else None
        is_sum = weighing is not None and weighing.kind == "sum"
        weights, codes = self._weights(weighing), self._codes()
        order = np.lexsort((codes, self.holes.cell, -weights.round(12)))
        if weighing is not None:
            order = order[weights[order] > 0]
        needed = _fewest(len(order), lambda count: self._after(order[:count]).width <= tolerance + TOLERANCE)
        order = order if needed is None or not is_sum else order[:needed]
        certain = needed if is_sum else len(order) if self._ends_narrow(tolerance) else None
        return self._queued(order, weights, codes), (needed, certain)

    def _weights(self, weighing: Weighing | None) -> Values:
        share = 1.0 / max(int(self.alignment.scored[0].sum()), 1) if self.measure.aggregate == "mean" else 1.0
        if weighing is not None and weighing.kind == "sum":
            return (weighing.most - weighing.least) * weighing.at(self.holes.rank) * share
        if weighing is not None:  # all but the first hole narrow nothing as yet: what counts is how far each could go
            here: Values = self.bounds.values[0, 0][self.holes.cell]
            return np.maximum(weighing.most * weighing.at(self.holes.rank) - here, np.zeros(len(here))) * share
        narrowed = narrowings(
            self.alignment,
            self.measure,
            self.holes.cell,
            self.holes.rank,
            depth=self.bounds.depths[0],
            closure=self.closure,
            further=self.further,
            highest=self.highest,
        )
        return np.maximum(narrowed, 0.0) * share

    def _codes(self) -> Codes:
        codes: Codes = self.documents.codes[self.alignment.lists.offsets[self.holes.cell] + self.holes.rank - 1]
        return codes

    def _after(self, chosen: Counts) -> "_Score":
        """Give the same with some of the holes judged not relevant."""
        grades = np.zeros(len(chosen), dtype=np.int32)
        codes = self._codes()[chosen]
        judged = with_judgments(self.alignment, self.documents, self.holes.cell[chosen], codes, grades)
        return replace(self, alignment=judged)

    def _ends_narrow(self, tolerance: float) -> bool:
        """Say whether the interval is narrow when all holes are judged, whatever they turned out to be."""
        return not self.further and self._after(np.arange(len(self.holes))).width <= tolerance + TOLERANCE

    def _queued(self, order: Counts, weights: Values, codes: Codes) -> tuple[QueuedDocument, ...]:
        rows = zip(order.tolist(), self.documents.names(codes[order]), strict=True)
        return tuple(
            QueuedDocument(
                topic=self.alignment.topic_ids[int(self.holes.cell[place])],
                document=document,
                weight=float(weights[place]),
                run=self.alignment.run_names[0],
                rank=int(self.holes.rank[place]),
            )
            for place, document in rows
        )
