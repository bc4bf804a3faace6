"""What to judge to settle it: the few unjudged documents that decide between two runs, or make one score safe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cranfield.base.errors import UsageError
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.lists import Counts
from cranfield.evaluate.measure import AnyMeasure
from cranfield.reuse.completions import Reach
from cranfield.reuse.intervals import Closure, Identities, Tail
from cranfield.reuse.pairs import TOLERANCE, OpenScore, QueuedDocument, Weighing, open_score

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


@dataclass(frozen=True)
class SafeQueue:
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


def settle(pair: OpenScore) -> Settlement:
    """Give the documents to judge to decide between two runs.

    First come those that could make up for the lead, the heaviest first, until the lead is safe if none of them is
    relevant; then the rest by weight, in case some are.
    """
    _refuse_without_interval(pair)
    found = pair.difference
    ahead = 1.0 if found.value >= 0 else -1.0
    leader, other = found.names if ahead > 0 else found.names[::-1]
    is_equal = abs(found.value) <= TOLERANCE
    queue, counts = ((), (0, 0, 0)) if found.is_decided else _queue(pair, ahead)
    return Settlement(
        measure=str(pair.measure),
        leader="" if is_equal else leader,
        other="" if is_equal else other,
        lead=abs(found.value),
        ends=found.ends if ahead > 0 else (-found.ends[1], -found.ends[0]),
        exact=found.exact,
        queue=queue,
        if_not_relevant=counts[0],
        at_best=counts[1],
        for_certain=counts[2],
    )


Needed = tuple[int | None, int | None, int | None]


def _queue(pair: OpenScore, ahead: float) -> tuple[tuple[QueuedDocument, ...], Needed]:
    """Give the queue, and how much of it is needed: if nothing is relevant, at best, and for certain."""
    weights, order, exact = pair.weights, pair.order, pair.difference.exact
    if exact:  # then what favours the leader can wait
        against = weights[order] * ahead < 0
        order = np.concatenate([order[against], order[~against]])
    needed = _fewest(len(order), lambda count: pair.after(order[:count]).difference.is_decided)
    first = 0 if needed is None else needed
    rest = order[first:]
    order = np.concatenate([order[:first], rest[np.argsort(-np.abs(weights[rest]).round(12), kind="stable")]])
    weighing = pair.weighing
    if weighing is None or not weighing.is_sum or not exact:
        certain = None if pair.further and weighing is None else len(order)
        return pair.queued(order), (needed, None, certain)
    at_best, enough = _needed_of_sum(pair, weighing, order)
    needed = enough if needed is None else min(needed, enough)
    return pair.queued(order[:enough]), (needed, at_best, enough)


def _needed_of_sum(pair: OpenScore, weighing: Weighing, order: Counts) -> tuple[int, int]:
    """Give how many documents decide between two sums: at best, and whatever their labels.

    At best each closes one side of the interval by all it can move. For certain all sums that the labels so far can
    have made are followed, as long as they leave doubt.
    """
    span = max(weighing.most - weighing.least, TOLERANCE)
    moves = [np.unique(pair.weights[place] * weighing.gains / span) for place in order.tolist()]
    low, high = (np.array([end(move) for move in moves]) for end in (np.min, np.max))
    lower, upper = pair.difference.ends
    closed = np.cumsum(np.sort(high - low)[::-1])
    at_best = int(np.searchsorted(closed, min(-lower, upper) + TOLERANCE, side="right")) + 1
    below, above = (np.concatenate([np.cumsum(end[::-1])[::-1], [0.0]]) for end in (low, high))
    sums = np.array([pair.difference.value])
    for number, move in enumerate(moves, start=1):
        sums = np.unique((sums[:, np.newaxis] + move).round(13))
        sums = sums[(sums + below[number] <= TOLERANCE) & (sums + above[number] >= -TOLERANCE)]
        if not len(sums):
            return at_best, number
        if len(sums) > MOST_SUMS:
            break
    return at_best, len(moves)


def _fewest(most: int, suffices: Callable[[int], bool]) -> int | None:
    """Give the lowest number up to `most` that suffices, when more never do less; None where none does."""
    if not suffices(most):
        return None
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle + 1, high)
    return low


def _refuse_without_interval(score: OpenScore) -> None:
    if score.interval.kind == "none":
        reason = score.interval.reason
        raise UsageError(f"{score.measure} has no interval that judging could narrow: {reason}")


def make_safe(
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
) -> SafeQueue:
    """Give the documents of a run to judge until its interval is at most as wide as the tolerance.

    They are taken by how much each narrows the interval, the most first. For measures that add up weights that is
    certain; for others it is what happens if the document is not relevant.
    """
    options = {"depth": depth, "closure": closure, "further": further, "highest": highest, "tail": tail}
    score = open_score(alignment, documents, measure, run, **options)  # type: ignore[arg-type]
    _refuse_without_interval(score)
    width = score.difference.width

    def is_safe(judged: Counts) -> bool:
        return score.after(judged).difference.width <= tolerance + TOLERANCE

    if width <= tolerance + TOLERANCE:
        return SafeQueue(str(measure), alignment.run_names[run], width, tolerance, (), 0, 0)
    order = score.order
    needed = certain = _fewest(len(order), lambda count: is_safe(order[:count]))
    if score.weighing is not None and score.adds_up and score.weighing.is_sum:
        order = order if needed is None else order[:needed]
    else:
        ends_safe = not further and is_safe(np.arange(len(score.unjudged)))
        certain = len(order) if ends_safe else None
    queue = score.queued(order)
    return SafeQueue(str(measure), alignment.run_names[run], width, tolerance, queue, needed, certain)
