"""What to judge to settle it: the few unjudged documents that decide between two runs, or make one score safe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from cranfield.base.errors import UsageError
from cranfield.base.text import counted
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.expression import AnyMeasure, Measure
from cranfield.evaluate.lists import Counts, Found, Values
from cranfield.reuse.assess import depth_is_of_pool
from cranfield.reuse.completions import Reach, holes_within
from cranfield.reuse.intervals import (
    Bounds,
    Closure,
    Identities,
    Kind,
    Tail,
    bounds,
    narrowings,
    of_runs,
    with_judgments,
)
from cranfield.reuse.pairs import (
    TOLERANCE,
    Contest,
    Difference,
    QueuedDocument,
    Weighing,
    by_weight,
    can_matter,
    can_only_rise,
    difference_of,
    leanings,
    queued,
    weighing_of,
)
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

    def _after(self, chosen: Counts) -> _Score:
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


# What may be said of two runs: which is better, and how sure that is while documents are unjudged.

Level = Literal["proved", "supported", "conservative win", "open"]

SIGNIFICANT = 0.05
"""Below this the paired test speaks for a difference."""


@dataclass(frozen=True)
class Claim:
    """What may be said of two runs, why, and what would decide it.

    `winner` leads with unjudged taken as not relevant; empty where the two are equal. `lead` is by how much, and
    `ends` its lowest and highest. `documents` are the holes that could decide an open pair, the heaviest first.
    `holes` counts the unjudged documents of both, and `down_to` is the rank below which they were not looked at, None
    where all of them were.
    """

    level: Level
    measure: str
    winner: str
    loser: str
    lead: float
    ends: tuple[float, float]
    exact: bool
    reason: str
    documents: tuple[QueuedDocument, ...] = ()
    holes: int = 0
    down_to: int | None = None

    @property
    def said(self) -> str:
        """What stands in a table: the level, to which rank it is proved where that is not the end, and who leads."""
        if not self.holes:
            return "nothing is unjudged"
        level = f"proved to rank {self.down_to}" if self.level == "proved" and self.down_to else self.level
        return f"{level}: {self.winner}" if self.winner else level


def claim_of(
    contest: Contest,
    *,
    loss95: tuple[float, float] | None = None,
    p_value: float | None = None,
    significant: float = SIGNIFICANT,
    name_documents: bool = True,
    corrected: bool = False,
) -> Claim:
    """Give what may be said of two runs.

    `loss95` are the largest likely losses of the first and the second run, below 0 where a run falls once its holes
    are judged; `p_value` is that of the paired test of their difference, perhaps `corrected` for many pairs. Without
    them nothing is called supported. Naming the documents that would decide takes most of the time where there are
    very many pairs.
    """
    if isinstance(contest.measure, Measure) and not contest.measure.quality:
        raise UsageError(f"{contest.measure} does not say which run is better")
    found = difference_of(contest)
    p = "corrected p" if corrected else "p"
    lead = _Lead(found, loss95, _down_to(contest), p)
    deep = replace(contest, closure="list") if lead.down_to and _has_no_depth_of_its_own(contest) else None
    if deep is not None and lead.ends[0] > TOLERANCE:
        whole = difference_of(deep)
        below = _Lead(whole, loss95, "", p)
        found, lead = (whole, below) if below.ends[0] > TOLERANCE else (found, lead)
    rises = can_only_rise(contest.measure, contest.highest)
    level, reason = _level(lead, p_value, significant, rises=rises)
    documents: tuple[QueuedDocument, ...] = ()
    if level == "open" and name_documents and np.isfinite(lead.ends).all():
        weights = leanings(contest)
        order = by_weight(weights, contest)
        documents = queued(contest, order[can_matter(contest)[order]], weights)
        reason += _what_decides(documents)
    holes = len((deep or contest).holes)
    if level == "proved" and not holes:
        chance = _chance(lead, p_value, significant)
        reason = f"{lead.winner} leads by {lead.value:.4f}, and nothing{lead.down_to} is unjudged{chance}"
    return Claim(
        level=level,
        measure=str(contest.measure),
        winner=lead.winner,
        loser=lead.loser,
        lead=lead.value,
        ends=lead.ends,
        exact=found.exact,
        reason=reason,
        documents=documents,
        holes=holes,
        down_to=None if deep is None or not lead.down_to else int(np.max(deep.depth)),  # type: ignore[arg-type]
    )


class _Lead:
    """A difference seen from the run that leads."""

    def __init__(self, found: Difference, loss95: tuple[float, float] | None, down_to: str, p: str) -> None:
        ahead = 0 if found.value >= 0 else 1
        self.value = abs(found.value)
        low, high = found.ends
        self.ends = (low, high) if ahead == 0 else (-high, -low)
        self.exact = found.exact
        self.down_to, self.p = down_to, p
        self.is_equal = self.value <= TOLERANCE
        self.winner = "" if self.is_equal else found.names[ahead]
        self.loser = "" if self.is_equal else found.names[1 - ahead]
        self.own_holes, self.other_holes = found.open_count[ahead], found.open_count[1 - ahead]
        self.gain = 0.0 if loss95 is None else max(-loss95[ahead], 0.0)
        self.loss = None if loss95 is None else loss95[1 - ahead] + self.gain


def _level(lead: _Lead, p_value: float | None, significant: float, *, rises: bool) -> tuple[Level, str]:
    if lead.is_equal:
        return "open", "the two scores are equal"
    if lead.ends[0] > TOLERANCE:
        return "proved", _why_proved(lead, p_value, significant)
    tested = p_value is not None and p_value < significant
    if lead.loss is not None and tested and lead.value - lead.loss > TOLERANCE:
        return "supported", (
            f"{lead.winner} leads by {lead.value:.4f}, more than {lead.loser} has probably lost "
            f"{'and it has gained ' if lead.gain else ''}({lead.loss:.4f}), with {lead.p} = {p_value:.3g}"
        )
    if rises and lead.own_holes and not lead.other_holes:
        return "conservative win", (
            f"{lead.winner} leads by {lead.value:.4f} with its {counted(lead.own_holes, 'unjudged document')} "
            f"taken as not relevant; {lead.loser} has none"
        )
    return "open", _why_open(lead, p_value, significant)


def _why_proved(lead: _Lead, p_value: float | None, significant: float) -> str:
    least = "" if lead.exact else "at least "
    said = f"{lead.winner} leads by {least}{lead.ends[0]:.4f} even if every unjudged document{lead.down_to}"
    return f"{said} goes against it{_chance(lead, p_value, significant)}"


def _chance(lead: _Lead, p_value: float | None, significant: float) -> str:
    """Say that a lead may be chance, where the test says so."""
    if p_value is None or p_value < significant:
        return ""
    return f"; but it may be chance: on these topics {lead.p} = {p_value:.3g}"


def _has_no_depth_of_its_own(contest: Contest) -> bool:
    return isinstance(contest.measure, Measure) and depth_is_of_pool(contest.measure)


def _down_to(contest: Contest) -> str:
    """Say down to which rank holes were looked at; nothing where all of them were."""
    reach = contest.reach
    if reach is None:
        return ""
    deepest, longest = int(np.max(reach)), int(contest.alignment.lists.length.max(initial=0))
    if deepest >= longest:
        return ""
    return f" down to rank {deepest}" if int(np.min(reach)) == deepest else " down to the depth of the pool"


def _why_open(lead: _Lead, p_value: float | None, significant: float) -> str:
    lowest = lead.ends[0] if abs(lead.ends[0]) >= 0.00005 else 0.0
    could = f"could make that {lowest:+.4f}" if lead.exact else f"might make that {lowest:+.4f} at worst"
    text = f"{lead.winner} leads by {lead.value:.4f}, and labels {could}"
    if not np.isfinite(lead.ends).all():
        text = f"{lead.winner} leads by {lead.value:.4f}, by a measure without bounds"
    if lead.loss is not None and lead.value - lead.loss <= TOLERANCE:
        return f"{text}; {lead.loser} may have lost {lead.loss:.4f}"
    if p_value is not None and p_value >= significant:
        return f"{text}; the test gives {lead.p} = {p_value:.3g}"
    return text


def _what_decides(documents: tuple[QueuedDocument, ...]) -> str:
    if not documents:
        return "; no unjudged document would change that"
    return f"; {counted(len(documents), 'unjudged document')} could decide it"
