"""Scores: the value of every measure for every run and topic, their summaries, and what ties do to them.

Documents with equal scores can stand in any order, and the order decides. The canonical order breaks ties by document
id, which says nothing about the system. The best order of a tie is the one with the highest value of the measure, the
worst the one with the lowest; the expected score is the mean over all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield.base.errors import InputError, UsageError
from cranfield.base.text import counted
from cranfield.evaluate.align import THREADS, Alignment, AnyRun, TopicCounts, align, levels_of, ties_of
from cranfield.evaluate.lists import NOT_POOLED, GradeGains, Lists, Values, gain_function
from cranfield.evaluate.measure import AnyMeasure, Measure, own_measures, summaries
from cranfield.qrels.qrels import Grades, Qrels
from cranfield.runs.columns import Mask, Places

ALL = "all"
"""The topic of a summary row."""

ROWS_AT_ONCE = 1 << 18
"""How many rows of lists a thread scores at once."""

ORDER = "trec_eval 10"
"""The order of tied documents: scores are compared as doubles, as that version does it."""


@dataclass(frozen=True, eq=False)
class Scores:
    """`values[m, r, t]` is the score of measure m for run r and topic t; `scored[r, t]` says which go into a mean.

    `qrels_hash` and `ties` say what the scores were made with: scores of different qrels, or of other orders of tied
    documents, are not comparable.
    """

    measures: tuple[AnyMeasure, ...]
    run_names: tuple[str, ...]
    topic_ids: tuple[str, ...]
    values: Values
    scored: Mask
    counts: tuple[TopicCounts, ...] = ()
    qrels_hash: str = ""
    ties: str = "trec"

    @property
    def order(self) -> str:
        """The order of tied documents, in words: that of trec_eval, or another one."""
        return ORDER + ("" if self.ties == "trec" else f", ties {self.ties}")

    @cached_property
    def summary(self) -> Values:
        """One value per measure and run: all scored topics put together as the measure says."""
        return summaries(self.measures, self.values, self.scored)

    def rows(self, *, by_topic: bool = False) -> Iterator[tuple[str, str, str, float]]:
        """Rows of (run, topic, measure, value), topics before their summary, whose topic is `all`."""
        for number, run in enumerate(self.run_names):
            for place, measure in enumerate(self.measures):
                if by_topic:
                    for topic in np.flatnonzero(self.scored[number]).tolist():
                        yield run, self.topic_ids[topic], str(measure), float(self.values[place, number, topic])
                yield run, ALL, str(measure), float(self.summary[place, number])


def score(alignment: Alignment, measures: Sequence[AnyMeasure]) -> Scores:
    """Score all runs of an alignment by all measures; many lists some at a time, which memory at hand can hold."""
    chosen, shape = own_measures(measures), alignment.scored.shape

    def values_of(lists: Lists) -> list[Values]:
        with np.errstate(over="ignore", invalid="ignore"):
            return [measure.values(lists) for measure in chosen]

    with ThreadPoolExecutor(THREADS) as threads:
        parts = list(threads.map(values_of, alignment.lists.pieces(ROWS_AT_ONCE)))
    values = [np.concatenate(found) for found in zip(*parts, strict=True)]
    for measure, found in zip(chosen, values, strict=True):
        if not np.isfinite(found).all():
            raise InputError(f"{measure} is not a finite number: the grades or its parameters are too large")
    rel = min((measure.rel for measure in chosen if measure.rel), default=1)
    return Scores(
        measures=tuple(chosen),
        run_names=alignment.run_names,
        topic_ids=alignment.topic_ids,
        values=np.array(values).reshape(len(chosen), *shape),
        scored=alignment.scored,
        counts=alignment.counts(rel=rel),
        qrels_hash=alignment.qrels_hash,
    )


# Scoring by novelty: of near-duplicates that say the same, only the first in a ranking is worth anything.

Clusters = Mapping[str, Hashable]
"""Document -> cluster, for the documents that have near-duplicates."""


def by_novelty(aligned: Alignment, qrels: Qrels, runs: Sequence[AnyRun], clusters: Clusters) -> Alignment:
    """The same alignment with later members of clusters as not relevant.

    Its `qrels_hash` is another one: these scores are not comparable with plain ones.
    """
    if qrels.strata is not None:
        raise InputError("novelty scoring needs complete judgments, not a sample")
    # For each document of the qrels the first one of its cluster there; itself where it is alone.
    cluster = np.arange(len(qrels.document_ids), dtype=np.int32)
    first_of: dict[Hashable, int] = {}
    for code, document in enumerate(qrels.document_ids.to_pylist()):
        if document in clusters:
            cluster[code] = first_of.setdefault(clusters[document], code)
    chosen = np.flatnonzero(np.isin(qrels.topics, aligned.topic_ids))
    rows = cluster[qrels.documents]
    again = align(qrels, runs, topics=aligned.topic_ids, reference=aligned.reference, keep_rows=True)
    at_rank, lists = np.append(rows, NOT_POOLED)[again.qrels_row], aligned.lists
    # In the lists, ranks with a judged document count 0 where a judged member of its cluster stands above.
    judged = np.flatnonzero(lists.grades >= 0)
    cell = np.searchsorted(lists.offsets, judged, side="right") - 1
    _, first = np.unique((cell.astype(np.int64) << 32) | at_rank[judged], return_index=True)
    grades = lists.grades.copy()
    grades[np.delete(judged, first)] = 0
    # In the qrels, the best member of each cluster of a topic stays alone, the other judged ones count 0.
    judged = np.flatnonzero(qrels.grades >= 0)
    order = judged[np.lexsort((-qrels.grades[judged], rows[judged], qrels.topic_of_row[judged]))]
    pairs = (qrels.topic_of_row[order].astype(np.int64) << 32) | rows[order]
    alone = qrels.grades.copy()
    alone[order[1:][pairs[1:] == pairs[:-1]]] = 0
    levels, counts = levels_of(replace(qrels, grades=alone), qrels.topic_of_row, len(qrels.topic_ids))
    # The hash is of the qrels and of those clusters that matter to them, whatever they are called.
    digest = sha256(f"cranfield-novelty-1\n{qrels.content_hash}\n".encode())
    ids = qrels.document_ids.to_pylist()
    for code in np.flatnonzero(cluster != np.arange(len(cluster))).tolist():
        digest.update(f"{ids[code]}\t{ids[cluster[code]]}\n".encode())
    return replace(
        aligned,
        lists=replace(lists, grades=grades, levels=levels, level_counts=counts[chosen]),
        qrels_hash=digest.hexdigest(),
    )


# The lists that another order of tied documents could change, and other orders of them.

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
        """The lists in which documents of different kinds are tied, with these ties."""
        everything, tied = alignment.lists, alignment.tied
        rows = np.flatnonzero(tied)
        # Documents that are not in the qrels are of one kind: a look at the others tells all.
        rows = rows[np.maximum(everything.grades[rows], everything.grades[rows - 1]) != NOT_POOLED]
        rows = rows[kinds(rows) != kinds(rows - 1)]
        cell = np.searchsorted(everything.offsets, rows, side="right") - 1
        cells = cell[np.diff(cell, prepend=-1) != 0]  # np.unique would load masked arrays
        if 2 * len(cells) > len(everything):  # to score all is faster than to copy most
            cells = np.arange(len(everything))
        lists = everything if len(cells) == len(everything) else everything.chosen(cells)
        places, group = ties_of(tied, rows)
        among = np.searchsorted(cells, np.searchsorted(everything.offsets, places, side="right") - 1)
        return TiedLists(cells, lists, places + (lists.offsets[:-1] - everything.offsets[cells])[among], group)

    @property
    def cell(self) -> Places:
        """Which of the lists each of the places is in."""
        return np.searchsorted(self.lists.offsets, self.places, side="right") - 1

    def only(self, kept: Mask, *, depth: int | None = None) -> TiedLists:
        """The lists with some of the places; with a depth, cut there, or where the last of the places is."""
        cell = self.cell[kept]
        rank = self.places[kept] - self.lists.offsets[cell]
        chosen, moved = np.unique(cell, return_inverse=True)
        lists = self.lists.chosen(chosen)
        if depth is not None:
            lists = lists.cut(max(depth, int(rank.max(initial=0)) + 1))
        return TiedLists(self.cells[chosen], lists, lists.offsets[moved] + rank, self.group[kept])

    def within(self, depth: int) -> TiedLists:
        """The lists with the ties that begin at one of the first ranks."""
        begins = np.zeros(int(self.group.max(initial=0)) + 1, dtype=np.int64)
        begins[self.group[::-1]] = (self.places - self.lists.offsets[self.cell] + 1)[::-1]
        return self.only(begins[self.group] <= depth, depth=depth)

    def ordered(self, keys: NDArray[np.generic]) -> Lists:
        """The lists with the documents of each tie in the order of rising keys."""
        sources = self.places[np.lexsort((keys, self.group))]
        grades, sample = self.lists.grades.copy(), self.lists.stratified
        grades[self.places] = grades[sources]
        if sample is not None:
            at_rank = sample.at_rank.copy()
            at_rank[self.places] = at_rank[sources]
            sample = replace(sample, at_rank=at_rank)
        return replace(self.lists, grades=grades, stratified=sample)


TOLD_FROM = 0.005
"""Ties that move a summary by less than this are not reported."""


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
        """The worth of documents with these grades."""
        if self.kind != "grade":
            return ((grades >= 0) if self.kind == "judged" else (grades < 0)).astype(float)
        return np.where(grades >= 0, gain_function(self.gain, self.gains)(np.maximum(grades, 0)), 0.0)


def _worth_of(measure: Measure) -> Worth | None:
    """What a measure rises with; None where no order of kinds of documents is the best for every list."""
    rises_with, named = measure.kind.rises_with, dict(measure.settings)
    if rises_with == "grade" and "gains" in named:
        return Worth(gain=named.get("gain", "linear"), gains=named["gains"])  # type: ignore[arg-type]
    return None if rises_with == "unknown" else Worth(rises_with)


class TiedScores(NamedTuple):
    """Scores with ties in some order, the summaries that another order could move, and what is to be said of it."""

    scores: Scores
    moved: tuple[Moved, ...] = ()
    note: str = ""


def score_with_ties(alignment: Alignment, measures: Sequence[AnyMeasure], ties: str, *, seed: int) -> TiedScores:
    """Score with ties by document id as trec_eval has them, at their best or worst, or in all orders."""
    found = score(alignment, measures)
    if ties == "trec":
        return TiedScores(found, tuple(moved_by_ties(alignment, found)) if alignment.tied.any() else ())
    if ties == "expected":
        return expected_scores(alignment, found, rng=np.random.default_rng(seed))
    if unknown := [str(measure) for measure in own_measures(measures) if _worth_of(measure) is None]:
        raise UsageError(
            f"--ties {ties} is not available for {', '.join(unknown)}: all orders would have to be tried; "
            "use other measures, or --ties expected"
        )
    values = found.values.copy()
    for worst, best, measure, place, cells in _ends(alignment, found):
        values.reshape(len(values), -1)[place, cells] = measure.values(best if ties == "best" else worst)
    return TiedScores(replace(found, values=values, ties=ties))


def moved_by_ties(alignment: Alignment, scores: Scores, *, least: float = TOLD_FROM) -> list[Moved]:
    """The summaries that another order of tied documents could move by more than `least`.

    Where it is not known what a measure rises with, some orders are tried.
    """
    low, high = scores.values.copy(), scores.values.copy()
    for worst, best, measure, place, cells in _ends(alignment, scores):
        for lists in (worst, best):
            values = measure.values(lists)
            for every, pick in ((low, np.minimum), (high, np.maximum)):
                end = every[place].reshape(-1)
                end[cells] = pick(end[cells], values)
    ends = [replace(scores, values=values).summary for values in (low, high)]
    bottom, top = np.minimum(*ends), np.maximum(*ends)
    far = np.argwhere(np.maximum(top - scores.summary, scores.summary - bottom) > least)
    moved = []
    for place, run in far.tolist():
        measure, value = own_measures(scores.measures)[place], float(scores.summary[place, run])
        low_end, high_end = float(bottom[place, run]), float(top[place, run])
        exact = _worth_of(measure) is not None
        moved.append(Moved(scores.run_names[run], str(measure), value, low_end, high_end, exact))
    return moved


def _ends(alignment: Alignment, scores: Scores) -> Iterator[tuple[Lists, Lists, Measure, int, Places]]:
    """Lists whose ties matter to a measure in the worst and the best order, it, its place, and their cells."""
    by_worth: dict[Worth | None, list[int]] = {}
    measures = own_measures(scores.measures)
    for place, measure in enumerate(measures):
        by_worth.setdefault(_worth_of(measure), []).append(place)
    for known, places in by_worth.items():
        for worth in [known] if known is not None else [Worth(), Worth("judged")]:
            tied = TiedLists.of(alignment, lambda rows, worth=worth: worth(alignment.lists.grades[rows]))  # type: ignore[misc]
            if len(tied.cells):
                keys = worth(tied.lists.grades[tied.places])
                worst, best = tied.ordered(keys), tied.ordered(-keys)
                for place in places:
                    yield worst, best, measures[place], place, tied.cells


# All orders of tied documents that are really different, written down.

Labels = NDArray[np.int16]
_ROWS_AT_ONCE = 1 << 21


class Tie(NamedTuple):
    """One tie of a list: the places of its documents, and of each kind of document the first place and how many."""

    places: Places
    first: Places
    counts: tuple[int, ...]

    @property
    def orders(self) -> int:
        """How many different orders there are: n! over the factorials of the counts."""
        return math.factorial(len(self.places)) // math.prod(math.factorial(count) for count in self.counts)


@lru_cache(maxsize=256)
def _arrangements(counts: tuple[int, ...]) -> Labels:
    """All different orders of things of several kinds, one in each row."""
    parts = [np.zeros((0 if any(counts) else 1, sum(counts)), dtype=np.int16)]
    for kind, count in enumerate(counts):
        if count:
            rest = _arrangements((*counts[:kind], count - 1, *counts[kind + 1 :]))
            parts.append(np.insert(rest, 0, kind, axis=1))
    return np.concatenate(parts)


def _rearranged(ties: Sequence[Tie], rows: Places, *, additive: bool) -> tuple[Places, Values]:
    """For each order of a list, or each turn of it, the rows that stand at its ranks, and its weight.

    Where a measure is a sum over ranks, one tie at a time is turned round by each number of places: in its turns each
    document stands once at each place. So the weighted sum over all turns is the mean over all orders, with the list
    as it is, which has a weight too.
    """
    total = _variants_of(ties, additive=additive)
    every = np.tile(rows, (total, 1))
    if additive:
        weights = [1.0 - len(ties)]
        for tie in ties:
            size = len(tie.places)
            turn = np.arange(size)
            turned = tie.places[(turn[:, None] + turn) % size]
            every[len(weights) : len(weights) + size, tie.places - rows[0]] = turned
            weights += [1.0 / size] * size
        return every, np.array(weights)
    number, later = np.arange(total), total
    for tie in ties:
        later //= tie.orders
        labels = _arrangements(tie.counts)[(number // later) % tie.orders]
        every[:, tie.places - rows[0]] = tie.first[labels]
    return every, np.ones(total)


def _variants_of(ties: Sequence[Tie], *, additive: bool) -> int:
    """How many lists stand for all orders of one; few turns, where a measure is a sum over ranks."""
    return 1 + sum(len(tie.places) for tie in ties) if additive else math.prod(tie.orders for tie in ties)


def _variants(
    lists: Lists, ties: Sequence[Sequence[Tie]], cells: Places, work: Places, *, additive: bool
) -> Iterator[tuple[Places, Lists, Values]]:
    """The orders (or turns) of some lists, in portions of about so many rows: of which list, they, weights."""
    full = np.cumsum(work[cells]) // _ROWS_AT_ONCE
    for portion in np.split(cells, np.flatnonzero(np.diff(full)) + 1) if len(cells) else ():
        rows = [np.arange(lists.offsets[one], lists.offsets[one + 1]) for one in portion]
        arranged = [_rearranged(ties[one], own, additive=additive) for one, own in zip(portion, rows, strict=True)]
        parts, weights = zip(*arranged, strict=True)
        copies = np.repeat(portion, [len(part) for part in parts])
        chosen = lists.chosen(copies)
        # Rows of a list are looked up in the first of its copies, which holds the same.
        shift = chosen.offsets[np.searchsorted(copies, copies)] - lists.offsets[copies]
        source = np.concatenate([part.ravel() for part in parts])
        yield copies, chosen.with_rows(source + np.repeat(shift, chosen.length)), np.concatenate(weights)


# Expected scores: the mean over all orders of tied documents.

MOST_ORDERS = 2_000
"""How many different orders of one list are all tried."""

_TRIED_ROWS = 1 << 25
_DRAWN_ROWS = 1 << 27
_DRAWN_TOGETHER, _MOST_DRAWN = 100, 10_000
_NEAR_ENOUGH = 0.0001
"""The standard error of a mean at which drawing stops."""


def expected_scores(alignment: Alignment, scores: Scores, *, rng: np.random.Generator) -> TiedScores:
    """The scores as they are expected over all orders of tied documents, and how exact they are.

    A measure with a cutoff sees the ties that begin within it, and no others.
    """
    kinds, measures = _kinds(alignment.lists), own_measures(scores.measures)
    tied = TiedLists.of(alignment, lambda rows: kinds[rows])
    alike: dict[tuple[int | None, bool], list[int]] = {}
    for place, measure in enumerate(measures):
        depth = measure.cutoff if isinstance(measure.cutoff, int) and not measure.judged_only else None
        alike.setdefault((depth, measure.kind.additive and not measure.judged_only), []).append(place)
    values = scores.values.copy()
    flat = values.reshape(len(measures), -1)
    drawn, orders, error = 0, 0, 0.0
    for (depth, additive), places in alike.items():
        part = tied if depth is None else tied.within(depth)
        if len(part.cells):
            chosen = [measures[place] for place in places]
            means, some, often, wrong = _means(part, chosen, alignment, rng, additive=additive)
            flat[np.array(places)[:, None], part.cells] = means
            drawn, orders, error = max(drawn, some), max(orders, often), max(error, wrong)
    note = ", over all orders"
    if drawn:
        few = f"{counted(drawn, 'list')} with too many orders, of which {orders:,} were sampled"
        note = f" but for {few}; standard error of a mean at most {error:.1g}"
    return TiedScores(replace(scores, values=values, ties="expected"), note=f"ties: expected scores are exact{note}")


def _kinds(lists: Lists) -> Places:
    """What a measure can tell apart: grades, unjudged, not pooled; and strata, where there are any."""
    kinds = np.where(lists.grades == NOT_POOLED, -2, np.maximum(lists.grades, -1)).astype(np.int64)
    return kinds if lists.stratified is None else (kinds << 32) + lists.stratified.at_rank


def _means(
    tied: TiedLists, measures: list[Measure], alignment: Alignment, rng: np.random.Generator, *, additive: bool
) -> tuple[Values, int, int, float]:
    """The mean of each measure for each list; how many lists had to be drawn, how often, and the error."""
    # The ties of each list, those of like documents left out.
    ties: list[list[Tie]] = [[] for _ in tied.cells]
    starts, list_of = np.flatnonzero(np.diff(tied.group, prepend=-1)), tied.cell
    kinds = np.split(_kinds(tied.lists)[tied.places], starts[1:])
    for start, places, own in zip(starts.tolist(), np.split(tied.places, starts[1:]), kinds, strict=True):
        _, first, counts = np.unique(own, return_index=True, return_counts=True)
        if len(first) > 1:
            ties[list_of[start]].append(Tie(places, places[first], tuple(counts.tolist())))
    orders = [_variants_of(own, additive=additive) for own in ties]
    are_few = [additive or number <= MOST_ORDERS for number in orders]
    work = np.where(are_few, [min(number, _TRIED_ROWS) for number in orders] * tied.lists.length, _TRIED_ROWS + 1)
    least = np.argsort(work, kind="stable")  # those with the least to try first
    cut = int(np.searchsorted(np.cumsum(work[least]), _TRIED_ROWS, side="right"))
    tried, rest = np.sort(least[:cut]), np.sort(least[cut:])
    means = np.zeros((len(measures), len(tied.cells)))
    for cells, lists, weights in _variants(tied.lists, ties, tried, work, additive=additive):
        for place, measure in enumerate(measures):
            means[place] += np.bincount(cells, weights=weights * measure.values(lists), minlength=len(tied.cells))
    if not additive:
        means[:, tried] /= np.array([orders[cell] for cell in tried], dtype=float)
    if not len(rest):
        return means, 0, 0, 0.0
    means[:, rest], drawn, error = _drawn_means(tied.only(np.isin(list_of, rest)), measures, alignment, rng)
    return means, len(rest), drawn, error


def _drawn_means(
    tied: TiedLists, measures: list[Measure], alignment: Alignment, rng: np.random.Generator
) -> tuple[Values, int, float]:
    """Means over random orders, drawn until they are near enough or it takes too long; how many, and the error.

    The error is the largest standard error of a mean over topics.
    """
    most = max(_DRAWN_TOGETHER, min(_MOST_DRAWN, _DRAWN_ROWS // max(len(tied.lists.grades), 1)))
    first: Values = np.array([measure.values(tied.lists) for measure in measures])
    total, squares = np.zeros_like(first), np.zeros_like(first)
    runs, topics = alignment.scored.shape
    scored = np.maximum(alignment.scored.sum(axis=1), 1)
    drawn, error = 0, np.inf
    while drawn < most and error > _NEAR_ENOUGH:
        for _ in range(_DRAWN_TOGETHER):
            lists = tied.ordered(rng.random(len(tied.places)))
            # From a value of each list on: sums of squares of small differences lose no digits.
            off = np.array([measure.values(lists) for measure in measures]) - first
            total += off
            squares += off * off
        drawn += _DRAWN_TOGETHER
        variance = np.maximum((squares - total * total / drawn) / (drawn - 1) / drawn, 0.0)
        sums = [np.bincount(tied.cells // topics, weights=one, minlength=runs) for one in variance]
        error = float((np.sqrt(sums) / scored).max(initial=0.0))
    return first + total / drawn, drawn, error
