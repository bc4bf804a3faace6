"""The difference between two runs while documents are unjudged, and what may be said of a pair.

A document that both runs rank gets one label in both. For measures that add up what documents are worth at their
ranks (P, CG, DCG, RBP) the difference is lowest where exactly those documents are relevant that weigh more for the
second run: this is exact. So it is for RR and Success, where at most one unjudged document decides. For all others
the intervals of the two scores are subtracted, as if the labels had nothing to do with each other: true, and called
conservative. Both scores then know the unjudged documents of both runs, for one that only the other run has can raise
R and the ideal as well. Source: Moffat and Zobel, TOIS 2008, for the residual of a difference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from cranfield.base.errors import UsageError
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.lists import Counts, Found, Values
from cranfield.evaluate.measure import Measure, aggregated
from cranfield.evaluate.scores import moved_by_ties, score
from cranfield.qrels.qrels import Grades
from cranfield.reuse.completions import Reach
from cranfield.reuse.intervals import (
    PASSED_OVER,
    Identities,
    Interval,
    ignores_depth,
    interval,
    is_nonrelevant_unjudged,
    takes_pool_depth,
    width_reductions,
    with_highest_grade,
    with_judgments,
)
from cranfield.runs.columns import Codes

TOLERANCE = 1e-12
"""Differences up to this are rounding."""

SIGNIFICANT = 0.05
"""Below this p-value the paired test speaks for a difference."""


def is_decided(low: float, high: float) -> bool:
    """Whether a difference between these ends is never 0, or always."""
    return low > TOLERANCE or high < -TOLERANCE or high - low <= TOLERANCE


@dataclass(frozen=True, eq=False)
class SharedUnjudged:
    """The unjudged documents of two runs, each once: topic, document, and its rank in each run, 0 for none.

    Topics are places in the alignment's. `ranks` are runs by documents; at least one of a document's is deep enough
    to count.
    """

    topic: Counts
    document: Codes
    ranks: Counts

    def __len__(self) -> int:
        return len(self.topic)


class QueuedDocument(NamedTuple):
    """An unjudged document, and how much of what is open hangs on it.

    `weight` is by how much the difference of the summaries can move by its label, or the interval narrows if it is
    not relevant. `run` is the run that gains if it is relevant (where it stands at `rank`); the other run has it at
    `other_rank`, None where it does not rank it.
    """

    topic: str
    document: str
    weight: float
    run: str
    rank: int
    other_rank: int | None = None


@dataclass(frozen=True, eq=False)
class Difference:
    """The score of the first run minus that of the second: the `values` on each common topic, the `value` of the two
    summaries, and its lowest and highest, the `ends`.

    `exact` says that shared documents were labelled once; else the ends are true but conservative.
    """

    values: Values
    exact: bool
    value: float
    ends: tuple[float, float]

    @property
    def is_decided(self) -> bool:
        """Whether no label can change which run is ahead, or that they are equal."""
        return is_decided(*self.ends)

    @property
    def ends_of_lead(self) -> tuple[float, float]:
        """The ends as seen from the run that is ahead."""
        low, high = self.ends
        return (low, high) if self.value >= 0 else (-high, -low)


@dataclass(frozen=True, eq=False)
class OpenScore:
    """The difference between two runs by a measure, and the documents that could still move it.

    `alignment` and `documents` are of these runs alone. `depth` is how far down unjudged documents count, `highest`
    the highest grade that one can have.
    """

    alignment: Alignment
    documents: Identities
    measure: Measure
    depth: Reach
    highest: int

    @property
    def reach(self) -> Reach:
        """The depth down to which unjudged documents count."""
        return None if ignores_depth(self.measure) else self.depth

    @cached_property
    def gains(self) -> Values | None:
        """The gains of grades from 0 up, where a document counts as its gain times the weight of its rank alone.

        The value is then the sum of that over all documents, or the highest of them. None for other measures.
        """
        measure = self.measure
        if measure.kind.weight is None or measure.judged_only:
            return None
        return None if measure.rel is not None and measure.rel < 1 else measure.gains(self.highest)

    @property
    def is_sum(self) -> bool:
        """Whether documents count by themselves, and all of them, not only the best."""
        return self.gains is not None and not self.measure.kind.best

    def weights_at(self, ranks: Counts) -> Values:
        """The weight at each rank; 0 beyond the cutoff, and where there is no rank, which is 0."""
        counts = (ranks > 0) & (ranks <= (self.measure.cutoff or np.inf))
        return np.where(counts, self.measure.weight(np.maximum(ranks, 1)), 0.0)  # type: ignore[arg-type]

    @cached_property
    def topics(self) -> Counts:
        """The places of the topics that are scored for all runs."""
        return np.flatnonzero(self.alignment.scored.all(axis=0))

    @cached_property
    def unjudged(self) -> SharedUnjudged:
        """The unjudged documents that count, each once."""
        lists, count = self.alignment.lists, len(self.alignment.topic_ids)
        keys, ranks, reached = [], [], []
        for run in range(len(self.alignment.run_names)):
            offsets = lists.offsets[run * count : (run + 1) * count + 1]
            rows = np.flatnonzero(lists.grades[offsets[0] : offsets[-1]] < 0) + offsets[0]
            topic = np.searchsorted(offsets, rows, side="right") - 1
            keys.append((topic << 32) | self.documents.codes[rows])
            ranks.append(rows - offsets[topic] + 1)
            within = (ranks[-1] > 0) & np.isin(topic, self.topics)
            if self.reach is not None:
                within &= ranks[-1] <= np.broadcast_to(self.reach, count)[topic]
            reached.append(keys[-1][within])
        union = np.unique(np.concatenate(reached))
        by_run = np.zeros((len(keys), len(union)), dtype=np.int64)
        for run, own in enumerate(keys):
            places = np.searchsorted(union, own)
            found = np.flatnonzero(np.append(union, -1)[places] == own)
            by_run[run, places[found]] = ranks[run][found]
        return SharedUnjudged(union >> 32, (union & 0xFFFFFFFF).astype(np.int32), by_run)

    @cached_property
    def interval(self) -> Interval:
        """Score and ends of each list, with the unjudged documents of both runs open in both.

        One that only the other run has can raise R and the ideal here. Measures that pass unjudged documents over
        have no interval in a pair.
        """
        lists, unjudged = with_highest_grade(self.alignment.lists, self.highest), self.unjudged
        count = len(self.alignment.topic_ids)
        run, place = np.nonzero(unjudged.ranks)
        cell, rank = run * count + unjudged.topic[place], unjudged.ranks[run, place]
        order = np.lexsort((rank, cell))
        cell, rank = cell[order], rank[order]
        starts = np.searchsorted(cell, np.arange(len(lists) + 1))
        rows = Found(cell, rank, lists.grades[lists.offsets[cell] + rank - 1], starts)
        beside = np.concatenate([np.bincount(unjudged.topic[one == 0], minlength=count) for one in unjudged.ranks])
        found = interval(self.measure, lists, rows, beside=beside)
        plain = is_nonrelevant_unjudged(self.measure, self.highest)
        if self.gains is not None or plain or found.missing:
            return found
        unknown = np.full(len(lists), np.nan)
        return Interval(found.values, unknown, unknown, PASSED_OVER)

    @cached_property
    def difference(self) -> Difference:
        """The difference with its ends; topics do not interact, so means of exact ends are exact."""
        values, lower, upper = (
            one.reshape(self.alignment.scored.shape)[:, self.topics]
            for one in (self.interval.values, self.interval.lower, self.interval.upper)
        )
        of_topics, ends, gains = values[0] - values[1], (lower[0] - upper[1], upper[0] - lower[1]), self.gains
        if gains is not None:  # each document with one label
            here = np.searchsorted(self.topics, self.unjudged.topic)
            mine, other = (self.weights_at(ranks) for ranks in self.unjudged.ranks)
            ends = of_topics.copy(), of_topics.copy()
            if self.is_sum:
                tried = [gain * (mine - other) for gain in (gains.min(), gains.max())]
                for end, pick in zip(ends, (np.minimum, np.maximum), strict=True):
                    end += np.bincount(here, pick(*tried), minlength=len(self.topics))
            elif gains.max() > 0:
                alone = np.maximum(values[0][here], mine) - np.maximum(values[1][here], other)
                np.minimum.at(ends[0], here, alone)
                np.maximum.at(ends[1], here, alone)
        value, low, high = (aggregated(one, "mean") for one in (of_topics, *ends))
        return Difference(of_topics, self.gains is not None, value, (low, high))

    @cached_property
    def _values(self) -> Values:
        """The score of the topic of each unjudged document, by run."""
        values = self.interval.values.reshape(self.alignment.scored.shape)
        return values[:, self.unjudged.topic]

    @cached_property
    def worth(self) -> Values:
        """What the label of each unjudged document can do to the summary of each run: runs by documents.

        For sums of weights that is exact; for RR and Success it is what a relevant document does when no other is
        relevant; else by how much its being not relevant narrows the interval.
        """
        ranks = self.unjudged.ranks
        share = 1.0 / max(len(self.topics), 1)
        if self.gains is not None:
            moved = self.weights_at(ranks)
            if not self.is_sum:
                moved = np.maximum(self._values, moved) - self._values
            span = float(self.gains.max() - self.gains.min() if self.is_sum else self.gains.max())
            return span * moved * share
        lists, narrowed = with_highest_grade(self.alignment.lists, self.highest), np.zeros(ranks.shape)
        for run, own in enumerate(ranks):
            here = np.flatnonzero(own > 0)
            cells = run * len(self.alignment.topic_ids) + self.unjudged.topic[here]
            narrowed[run, here] = width_reductions(self.measure, lists, cells, own[here], reach=self.reach)
        return np.maximum(narrowed, 0.0) * share

    @cached_property
    def weights(self) -> Values:
        """The weight of each unjudged document in the difference; above 0 where it is good for the first run.

        By how much its label can move the difference, or, where the intervals of two scores are subtracted, narrows
        both of them together.
        """
        mine, other = self.worth
        if self.gains is not None:
            return np.asarray(mine - other)
        return np.asarray(np.where(mine >= other, 1.0, -1.0) * (mine + other))

    @cached_property
    def effects(self) -> Values:
        """By how much the difference moves if one unjudged document, and no other, has the highest grade.

        That is more than its part in the interval tells where it also moves what both scores are divided by. Topics
        do not interact: one document of each is tried at once, in the order of the documents of its topic.
        """
        if self.gains is not None:
            return self.weights
        topic, effects = self.unjudged.topic, np.zeros(len(self.unjudged))
        turn = np.arange(len(topic)) - np.searchsorted(topic, topic)
        now = self._values_of(self.alignment)
        for number in range(int(turn.max(initial=-1)) + 1):
            places = np.flatnonzero(turn == number)
            then = self.after(places, np.full(len(places), self.highest, dtype=np.int32)).alignment
            effects[places] = (self._values_of(then) - now)[topic[places]]
        return effects / max(len(self.topics), 1)

    def _values_of(self, alignment: Alignment) -> Values:
        """The difference of the values on each topic; a topic without a value counts 0."""
        first, second = np.nan_to_num(self.measure.values(alignment.lists)).reshape(alignment.scored.shape)
        return np.asarray(first - second)

    @property
    def order(self) -> Counts:
        """The documents that can have to do with the difference, now or later: the heaviest first.

        In a sum one that weighs the same for both runs cannot. For RR and Success a document that helps both alike
        may still matter once another is known, unless both runs have something better already.
        """
        order = np.lexsort((self.unjudged.document, self.unjudged.topic, -np.abs(self.weights).round(12)))
        if self.gains is None:
            return order
        weights = self.weights_at(self.unjudged.ranks)
        if self.is_sum:
            matters = np.abs(weights[0] - weights[1]) * (self.gains.max() - self.gains.min()) > TOLERANCE
        else:
            matters = (weights > self._values + TOLERANCE).any(axis=0) & (self.gains.max() > 0)
        return np.asarray(order[matters[order]])

    def queued(self, order: Counts) -> tuple[QueuedDocument, ...]:
        """Some of the documents as a queue to be judged."""
        names, unjudged, found = self.alignment.run_names, self.unjudged, []
        for place, document in zip(order.tolist(), self.documents.names(unjudged.document[order]), strict=True):
            mine, other = unjudged.ranks[:, place].tolist()
            is_first = (self.weights[place] > 0 and mine) or not other
            rank, other_rank = (mine, other) if is_first else (other, mine)
            topic, weight = self.alignment.topic_ids[int(unjudged.topic[place])], abs(float(self.weights[place]))
            found.append(
                QueuedDocument(topic, document, weight, names[0 if is_first else 1], rank, other_rank or None)
            )
        return tuple(found)

    def after(self, chosen: Counts, grades: Grades | None = None) -> OpenScore:
        """The score as it would be with some of the documents judged: as not relevant, if no grades are given."""
        labels = np.zeros(len(chosen), dtype=np.int32) if grades is None else grades
        topic, document = self.unjudged.topic[chosen], self.unjudged.document[chosen]
        return replace(self, alignment=with_judgments(self.alignment, self.documents, topic, document, labels))


def open_score(
    alignment: Alignment,
    documents: Identities,
    measure: Measure,
    first: int,
    second: int,
    *,
    depth: Reach,
    highest: int | None = None,
) -> OpenScore:
    """Give the difference between two runs of an alignment, by their numbers.

    `depth` is how far down unjudged documents count. In a pair what lies beyond the end of a list is no document, so
    that RBP has no tail.
    """
    if measure.aggregate != "mean":
        raise UsageError(f"{measure} is not a mean over topics; what to judge is known for means alone")
    pair = [first, second]
    chosen, own = alignment.chosen(pair), replace(documents, codes=documents.codes[alignment.rows_of(pair)])
    top = max(chosen.lists.highest_grade if highest is None else highest, 1)
    return OpenScore(chosen, own, measure, depth, top)


# What may be said of two runs: which is better, and how sure that is while documents are unjudged.

BY_TIES = "another order of tied documents could reverse the lead"

Level = Literal["robust", "supported", "open"]


@dataclass(frozen=True)
class Claim:
    """What may be said of two runs, and why.

    `winner` leads with unjudged taken as not relevant; empty where the two are equal. `lead` is by how much, and
    `ends` its lowest and highest. `unjudged` counts the unjudged documents of both, and `down_to` is the rank below
    which they were not looked at, None where all of them were. `by_ties` says that another order of tied documents
    could reverse the lead.
    """

    level: Level
    winner: str
    loser: str
    lead: float
    ends: tuple[float, float]
    reason: str
    unjudged: int = 0
    down_to: int | None = None
    by_ties: bool = False

    @property
    def said(self) -> str:
        """What stands in a table: the level, to which rank it is robust where that is not the end, and who leads."""
        order = ", in this tie order" if self.by_ties else ""
        if not self.unjudged:
            return f"all judged{order}"
        level = f"robust to rank {self.down_to}" if self.level == "robust" and self.down_to else self.level
        return f"{level}{order}: {self.winner}" if self.winner else level


def claim_of(
    pair: OpenScore,
    *,
    loss95: tuple[float, float] | None = None,
    p_value: float | None = None,
    corrected: bool = False,
) -> Claim:
    """What may be said of two runs.

    `loss95` are the largest likely losses of the first and the second run, below 0 where a run falls once its
    unjudged documents are judged; `p_value` is that of the paired test of their difference, perhaps `corrected` for
    many pairs. Without them nothing is called supported.
    """
    found, down_to, deep = pair.difference, "", None
    if pair.reach is not None and np.max(pair.reach) < pair.alignment.lists.length.max(initial=0):
        # Unjudged documents were looked at down to one rank, or to another in each topic.
        is_one = np.min(pair.reach) == np.max(pair.reach)
        down_to = f" down to rank {np.max(pair.reach)}" if is_one else " down to the pool depth"
    if down_to and takes_pool_depth(pair.measure):
        deep = replace(pair, depth=None)
        if min(found.ends_of_lead[0], deep.difference.ends_of_lead[0]) > TOLERANCE:
            found, down_to = deep.difference, ""
    ahead = 0 if found.value >= 0 else 1
    names, lead, ends = pair.alignment.run_names, abs(found.value), found.ends_of_lead
    winner, loser = (names[ahead], names[1 - ahead]) if lead > TOLERANCE else ("", "")
    behind = both = float("nan")
    if loss95 is not None:
        behind = loss95[1 - ahead]
        both = behind + max(-loss95[ahead], 0.0) + _falls_with(pair, ahead, behind)
    outlasts = lead - both > TOLERANCE
    p = f"{'corrected p' if corrected else 'p'} = {p_value:.3g}" if p_value is not None else ""
    chance = f"; the difference is not significant ({p})" if p_value is not None and p_value >= SIGNIFICANT else ""
    level: Level = "open"
    leads, reason = f"{winner} leads by {lead:.4f}", "the two scores are equal"
    unjudged = len((deep or pair).unjudged)
    if winner and ends[0] > TOLERANCE:
        level, least = "robust", "" if found.exact else "at least "
        worst = f"{winner} leads by {least}{ends[0]:.4f} whatever the grades of the unjudged documents{down_to}"
        reason = f"{worst if unjudged else f'{leads}, and all documents{down_to} are judged'}{chance}"
    elif winner and outlasts and p and not chance:
        level, too = "supported", " plus its own likely drop" if both > behind else ""
        reason = f"{leads}, more than the likely loss of {loser}{too} ({both:.4f}), with {p}"
    elif winner:
        lowest = ends[0] if abs(ends[0]) >= 0.00005 else 0.0
        could = f"{'could' if found.exact else 'might at worst'} change that to {lowest:+.4f}"
        reason = f"{leads}, {f'and judging {could}' if np.isfinite(ends).all() else 'and the measure has no bounds'}"
        if loss95 is not None and not outlasts:
            takes = f"may reach {behind:.4f}"
            if lead - behind > TOLERANCE:
                takes = f"and the drop of {winner} may together reach {both:.4f}"
            reason += f"; the loss of {loser} {takes}"
        else:
            reason += chance
    depth = int(np.max(pair.depth)) if deep is not None and down_to else None  # type: ignore[arg-type]
    swing, alignment = 0.0, pair.alignment  # by how much the lead could shrink in another order of tied documents
    if winner and alignment.tied.any():
        for one in moved_by_ties(alignment, score(alignment, [pair.measure]), least=0.0):
            swing += one.value - one.worst if one.run == winner else one.best - one.value
    by_ties = bool(winner) and swing >= (ends[0] if level == "robust" else lead) - TOLERANCE
    reason += f"; {BY_TIES}" if by_ties else ""
    return Claim(level, winner, loser, lead, ends, reason, unjudged, depth, by_ties)


def _falls_with(pair: OpenScore, ahead: int, loss: float) -> float:
    """By how much the run that is ahead would fall if the other gained so much by documents of its own.

    They move R or the ideal of both where a score is divided by these. The leader is taken to be as far on its way to
    its lowest score as the other is to its highest.
    """
    if pair.gains is not None:
        return 0.0
    found, shape = pair.interval, pair.alignment.scored.shape
    ends = (one.reshape(shape)[:, pair.topics] for one in (found.lower, found.values, found.upper))
    low, now, high = (one.mean(axis=1) for one in ends)
    room, fall = high[1 - ahead] - now[1 - ahead], now[ahead] - low[ahead]
    return float(fall * np.clip(loss / room, 0.0, 1.0)) if room > TOLERANCE else 0.0
