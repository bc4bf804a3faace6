"""Intervals: from the lowest to the highest score that is consistent with the judgments.

Every unjudged document that counts may turn out to have any grade. The interval goes from the lowest to the highest
score over all ways to grade them, with R and the ideal ranking recomputed each time. The documents that count are
those down to the cutoff, else the depth of the pool.

That the truth lies inside, as long as no label changes, is certain for P, Success, RR, DCG and RBP. For AP, nDCG,
recall and R-precision it is so unless relevant documents are found elsewhere.

`interval` is the one way to an interval, for a run, a difference of two runs and what is left to settle alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, cast

import numpy as np
import pyarrow as pa

from cranfield.evaluate.align import THREADS, Alignment, AnyRun
from cranfield.evaluate.lists import Counts, Found, Lists, Values
from cranfield.evaluate.measure import Measure, summaries
from cranfield.evaluate.measures.gain import powers
from cranfield.qrels.qrels import Grades
from cranfield.reuse import completions
from cranfield.reuse.completions import Completions, Ends, Reach, unjudged_within
from cranfield.runs.columns import Codes, Mask
from cranfield.runs.run import Run, arranged, order_as_float32

Tail = Literal["residual", "none"]

_ROWS_AT_ONCE = 1 << 19
"""How many rows of lists are worked on at once: what is made of them on the way takes many times their room."""

_COPIED_ROWS_AT_ONCE = 1 << 21

_ENGINES: Mapping[str, Callable[[Completions], Ends]] = {
    "bounds": completions.bounds_ends,
    "monotone": completions.monotone_ends,
    "reciprocal": completions.reciprocal_ends,
    "persistence": completions.persistence_ends,
    "ordered": completions.ordered_ends,
    "average": completions.average_ends,
    "normalized_gain": completions.normalized_gain_ends,
    # By order with one relevant grade; of several no order is always best.
    "q": lambda lists: (completions.ordered_ends if lists.rel == lists.highest else completions.bounds_ends)(lists),
    "r_precision": completions.r_precision_ends,
}
"""How the ends are found, by the name that a measure's own record has."""


@dataclass(frozen=True, eq=False)
class Interval:
    """The score of each list by one measure, and its ends; NaN where there are none, and `missing` says why."""

    values: Values
    lower: Values
    upper: Values
    missing: str = ""


@dataclass(frozen=True, eq=False)
class Intervals:
    """The score of measure m for run r and topic t lies between `lower[m, r, t]` and `upper[m, r, t]`; NaN for none.

    `values` are the scores as they stand, unjudged taken as not relevant. Scores of Bpref may lie outside: it takes
    an unjudged document for something else than one judged not relevant.
    """

    measures: tuple[Measure, ...]
    values: Values
    lower: Values
    upper: Values
    scored: Mask

    @cached_property
    def lowest(self) -> Values:
        """The lower end of each measure's summary, for each run: every way to put topics together is monotone."""
        return summaries(self.measures, self.lower, self.scored)

    @cached_property
    def highest(self) -> Values:
        """The upper end of each measure's summary, for each run."""
        return summaries(self.measures, self.upper, self.scored)


def interval_depth(measure: Measure, *, pool_depth: Reach) -> Reach:
    """Give how far down unjudged documents count: to the cutoff, else the depth of the pool; None for the whole list.

    The whole list counts where a relevant document can only raise the value: then the truth is surely inside.
    """
    if isinstance(measure.cutoff, int):
        return measure.cutoff
    return None if measure.kind.whole_list else pool_depth


def ignores_depth(measure: Measure) -> bool:
    """Say whether all unjudged documents of a list count, whatever the depth: where weights never end."""
    return measure.kind.tail is not None and measure.cutoff is None


def takes_pool_depth(measure: Measure) -> bool:
    """Say whether unjudged documents count down to the depth of the pool, since a measure has none of its own."""
    return not isinstance(measure.cutoff, int) and measure.kind.tail is None


def intervals_of_runs(
    alignment: Alignment,
    measures: Sequence[Measure],
    *,
    depth: Callable[[Measure], Reach],
    highest: int | None = None,
    tail: Tail = "residual",
) -> Intervals:
    """Give the intervals of all runs of an alignment by all measures.

    `depth` gives how far down unjudged documents count for each measure: one rank for all topics, one for each, or
    None for whole lists. RBP without a cutoff has none: its weights say themselves how much a rank matters. `highest`
    is the highest grade of the scale, if that is not the highest that was given; measures that divide by it then
    divide by this. `tail` says whether what lies beyond the end of a list counts in RBP, as in its residual.
    """
    reaches = [None if ignores_depth(measure) else depth(measure) for measure in measures]
    ends = _in_pieces(measures, with_highest_grade(alignment.lists, highest), reaches, tail)
    values, lower, upper = ends.reshape(3, len(measures), *alignment.scored.shape)
    return Intervals(tuple(measures), values, lower, upper, alignment.scored)


def _in_pieces(measures: Sequence[Measure], lists: Lists, reaches: Sequence[Reach], tail: Tail) -> Values:
    """Values, lower and upper ends of each measure and list, some lists after the others.

    Unjudged documents are looked for once.
    """

    def of_piece(piece: Lists) -> Values:
        unjudged: dict[bytes | None, Found] = {}
        found = np.empty((3, len(measures), len(piece)))
        for place, (measure, reach) in enumerate(zip(measures, reaches, strict=True)):
            key = None if reach is None else np.asarray(reach, dtype=np.int64).tobytes()
            if key not in unjudged:
                unjudged[key] = unjudged_within(piece, reach)
            ends = interval(measure, piece, unjudged[key], tail=tail)
            found[:, place] = ends.values, ends.lower, ends.upper
        return found

    with ThreadPoolExecutor(THREADS) as threads:
        return np.concatenate([*threads.map(of_piece, lists.pieces(_ROWS_AT_ONCE))], axis=2)


def interval(
    measure: Measure, lists: Lists, unjudged: Found, *, beside: Counts | None = None, tail: Tail = "none"
) -> Interval:
    """Give the score and its ends by one measure, when unjudged documents may get any grade; see `Completions`."""
    values = measure.values(lists)
    if missing := _why_none(measure, lists.highest_grade):
        nothing = np.full(len(lists), np.nan)
        return Interval(values, nothing, nothing, missing)
    others = np.zeros(len(lists), dtype=np.int64) if beside is None else beside
    open_lists = Completions(measure, lists, unjudged, others, lists.highest_grade, values)
    gains = measure.gains(lists.highest_grade)
    if measure.kind.interval != "monotone" and gains is not None and not gains.any():
        return Interval(values, values, values)  # no grade is relevant, so that no label changes anything
    ends = _ENGINES[measure.kind.interval](open_lists)
    # Where nothing is unjudged the score stands, to its last digit.
    lower, upper = (np.where(open_lists.is_open, end, values) for end in (ends.lower, ends.upper))
    if tail == "residual" and ignores_depth(measure):
        # A longer list could have had it. A cutoff ends the list for good.
        upper = upper + powers(measure.parameters["p"], lists.length + 1)
    if is_nonrelevant_unjudged(measure, lists.highest_grade):
        lower, upper = np.minimum(lower, values), np.maximum(upper, values)
    return Interval(values, lower, upper)


PASSED_OVER = "unjudged documents count otherwise than not relevant ones, so that its bounds say nothing about a pair"


def _why_none(measure: Measure, highest: int) -> str:
    """Say why a measure has no interval; nothing where it has one."""
    if measure.kind.unjudged == "sampled":
        return "it is an estimate from a sample, which accounts for unjudged documents"
    if not measure.quality:
        return "it describes the judgments and is not a score"
    if measure.judged_only:
        return PASSED_OVER
    if measure.rel is not None and measure.rel < 1:
        return "with a relevance threshold below 1 every judged document is relevant"
    if measure.kind.interval == "normalized_gain" and np.any(np.asarray(measure.gains(highest)) < 0):
        return "with negative gains the ratio to the ideal has no bounds"
    return ""


def is_nonrelevant_unjudged(measure: Measure, highest: int) -> bool:
    """Say whether an unjudged document counts as one judged not relevant: then the score is one of those possible."""
    gains = measure.gains(highest) if "gains" in measure.kind.parameters else None
    if gains is not None and float(gains[0]) != 0.0:
        return False
    return measure.kind.unjudged == "nonrelevant" and not measure.judged_only


def with_highest_grade(lists: Lists, highest: int | None) -> Lists:
    """Give the lists with the highest grade that an unjudged document can have."""
    wanted = max(lists.highest_grade if highest is None else highest, 1)
    return lists if wanted == lists.highest_grade else replace(lists, highest_grade=wanted)


def width_reductions(measure: Measure, lists: Lists, cells: Counts, ranks: Counts, *, reach: Reach) -> Values:
    """Give for each unjudged document, by cell and rank, how much its cell's interval narrows if it alone gets 0."""

    def widths(some: Lists, to: Reach) -> Values:
        _, (lower,), (upper,) = _in_pieces([measure], some, [to], "none")
        return np.asarray(upper - lower)

    before = widths(lists, reach)[cells]
    step = max(_COPIED_ROWS_AT_ONCE // max(int(lists.length.max(initial=1)), 1), 1)
    parts = [np.zeros(0)]
    for start in range(0, len(cells), step):
        chosen = cells[start : start + step]
        # One list per document, with that one judged 0, each with a topic of its own.
        copied = lists.chosen(chosen)
        grades = copied.grades.copy()
        grades[copied.offsets[:-1] + ranks[start : start + step] - 1] = 0
        levels, counts = _with_levels(copied, np.array([0], dtype=np.int32))
        counts = counts[copied.topics]
        counts[:, 0] += 1
        judged = replace(
            copied,
            grades=grades,
            topics=np.arange(len(chosen)),
            levels=levels,
            level_counts=counts,
            pooled_count=None,
            stratified=None,
        )
        parts.append(widths(judged, reach[lists.topics[chosen]] if isinstance(reach, np.ndarray) else reach))
    return before - np.concatenate(parts)


def _with_levels(lists: Lists, grades: Grades) -> tuple[Grades, Counts]:
    """Give the levels of the lists and of more grades, and how many documents each topic has of them."""
    levels = np.union1d(lists.levels, grades).astype(np.int32)
    counts = np.zeros((len(lists.level_counts), len(levels)), dtype=np.int64)
    counts[:, np.searchsorted(levels, lists.levels)] = lists.level_counts
    return levels, counts


# Which document stands where: the same unjudged document in two runs gets one label.


@dataclass(frozen=True, eq=False)
class Identities:
    """The document at each row of the lists: `codes[i]` into `document_ids`, one code for a document in all runs."""

    codes: Codes
    document_ids: pa.Array

    def names(self, codes: Codes) -> list[str]:
        """Give the ids of some documents."""
        return list(self.document_ids.take(pa.array(codes)).to_pylist())


def identities(alignment: Alignment, runs: Sequence[AnyRun]) -> Identities:
    """Give the documents of an alignment from the runs it was made of, in the same order."""
    whole = cast("Sequence[Run]", runs)  # they were read with the ids of their documents
    distinct = {id(run.document_ids): run.document_ids for run in whole}
    joined = pa.concat_arrays([ids.cast(pa.large_string()) for ids in distinct.values()]).dictionary_encode()
    common = joined.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    ends = np.cumsum([len(ids) for ids in distinct.values()])[:-1]
    tables = dict(zip(distinct, np.split(common, ends), strict=True))
    known = set(alignment.topic_ids)
    parts = [np.zeros(0, dtype=np.int32)]
    for run in whole:
        documents = arranged(run.documents, order_as_float32(run)) if alignment.reference == "9" else run.documents
        wanted = np.array([topic in known for topic in run.topic_ids.to_pylist()], dtype=bool)
        own = documents if wanted.all() else documents[np.repeat(wanted, np.diff(run.offsets))]
        parts.append(tables[id(run.document_ids)][own])
    codes = np.concatenate(parts)
    return Identities(codes, joined.dictionary)


def with_judgments(
    alignment: Alignment, documents: Identities, topics: Counts, codes: Codes, grades: Grades
) -> Alignment:
    """Give an alignment as it would be with some unjudged documents judged. `topics` are places in its topics."""
    lists = alignment.lists
    judged = (topics.astype(np.int64) << 32) | codes
    order = np.argsort(judged)
    keys = (np.repeat(lists.topics, lists.length) << 32) | documents.codes
    places = np.minimum(np.searchsorted(judged[order], keys), max(len(judged) - 1, 0))
    changed = lists.grades.copy()
    if len(judged):
        found = judged[order][places] == keys
        changed[found] = grades[order][places[found]]
    levels, counts = _with_levels(lists, grades)
    np.add.at(counts, (topics, np.searchsorted(levels, grades)), 1)
    new = replace(
        lists,
        grades=changed,
        levels=levels,
        level_counts=counts,
        highest_grade=max(lists.highest_grade, int(levels.max(initial=0))),
        stratified=None,
    )
    return replace(alignment, lists=new)
