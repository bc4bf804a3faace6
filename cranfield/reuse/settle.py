"""What to judge next: the unjudged documents that decide between two runs, or narrow the interval of one score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cranfield.base.errors import UsageError
from cranfield.evaluate.lists import Counts, Values
from cranfield.reuse.pairs import TOLERANCE, OpenScore, QueuedDocument

MOST_SUMS = 4096
"""How many different sums of labels are followed to see when a pair is decided for certain."""


@dataclass(frozen=True)
class Settlement:
    """A judging queue that decides between two runs, or makes the interval of one score narrow enough.

    `if_not_relevant` documents of the queue suffice if all of them turn out not relevant, as most do;
    `for_certain` whatever they are. None is a number that is not known,
    or that there is not: relevant documents that no list has can leave doubt however much is judged, and what lies
    beyond the end of a list counts in RBP.
    """

    queue: tuple[QueuedDocument, ...] = ()
    if_not_relevant: int | None = 0
    for_certain: int | None = 0


def settle(pair: OpenScore) -> Settlement:
    """The documents to judge to decide between two runs: until no label of the rest can change who is ahead.

    First come those that could make up for the lead, the heaviest first, until the lead is safe if none of them is
    relevant; then the rest by weight, in case some are. Where shared documents are not labelled once more may be
    asked for than needed.
    """
    _refuse_without_interval(pair)
    if pair.difference.is_decided:
        return Settlement()
    weights, order, exact = pair.weights, pair.order, pair.difference.exact
    if exact:  # then what favours the leader can wait
        against = weights[order] < 0 if pair.difference.value >= 0 else weights[order] > 0
        order = np.concatenate([order[against], order[~against]])
    needed = _fewest(len(order), lambda count: pair.after(order[:count]).difference.is_decided)
    first = needed or 0
    rest = order[first:]
    order = np.concatenate([order[:first], rest[np.argsort(-np.abs(weights[rest]).round(12), kind="stable")]])
    if pair.gains is None or not pair.is_sum or not exact:
        certain = None if pair.further and pair.gains is None else len(order)
        return Settlement(pair.queued(order), needed, certain)
    enough = _enough_of_sum(pair, pair.gains, order)
    return Settlement(pair.queued(order[:enough]), enough if needed is None else min(needed, enough), enough)


def _enough_of_sum(pair: OpenScore, gains: Values, order: Counts) -> int:
    """How many documents decide between two sums whatever their labels.

    All sums that the labels so far can have made are followed, as long as they leave doubt.
    """
    span = max(float(gains.max() - gains.min()), TOLERANCE)
    moves = [np.unique(pair.weights[place] * gains / span) for place in order.tolist()]
    low, high = (np.array([end(move) for move in moves]) for end in (np.min, np.max))
    below, above = (np.concatenate([np.cumsum(end[::-1])[::-1], [0.0]]) for end in (low, high))
    sums = np.array([pair.difference.value])
    for number, move in enumerate(moves, start=1):
        sums = np.unique((sums[:, np.newaxis] + move).round(13))
        sums = sums[(sums + below[number] <= TOLERANCE) & (sums + above[number] >= -TOLERANCE)]
        if not len(sums):
            return number
        if len(sums) > MOST_SUMS:
            break
    return len(moves)


def make_safe(score: OpenScore, *, tolerance: float) -> Settlement:
    """The documents of a run to judge until its interval is at most as wide as the tolerance.

    They are taken by how much each narrows the interval, the most first. For measures that add up weights that is
    certain; for others it is what happens if the document is not relevant.
    """
    _refuse_without_interval(score)

    def is_safe(judged: Counts) -> bool:
        return score.after(judged).difference.width <= tolerance + TOLERANCE

    if score.difference.width <= tolerance + TOLERANCE:
        return Settlement()
    order = score.order
    needed = certain = _fewest(len(order), lambda count: is_safe(order[:count]))
    if score.is_sum and score.adds_up:
        order = order[:needed]
    else:
        ends_safe = not score.further and is_safe(np.arange(len(score.unjudged)))
        certain = len(order) if ends_safe else None
    return Settlement(score.queued(order), needed, certain)


def _fewest(most: int, suffices: Callable[[int], bool]) -> int | None:
    """The lowest number up to `most` that suffices, when more never do less; None where none does."""
    if not suffices(most):
        return None
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle + 1, high)
    return low


def _refuse_without_interval(score: OpenScore) -> None:
    if score.interval.missing:
        raise UsageError(f"{score.measure} has no interval: {score.interval.missing}")
