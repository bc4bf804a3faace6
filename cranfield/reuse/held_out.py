"""Ranked lists as they would have been judged without a group: what only that group brought is in no qrels.

Where a pool was made by looking at judgments, its plan is played again without the group instead, and what it then
would not have chosen is held out.

Each list can have another group held out. For that each held-out group has its own copy of the topics, with fewer
documents of each grade, and a list belongs to the copy of its group. So one evaluation of such lists scores every
run against the qrels that would have been made without its own group.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cranfield.evaluate.expression import Measure
from cranfield.evaluate.lists import NOT_POOLED, Counts, Lists
from cranfield.evaluate.sample import Sample
from cranfield.reuse.pooled_rows import Numbers
from cranfield.reuse.provenance import Provenance

NONE_HELD_OUT = -3
"""Stands for a list from which no group is held out. No owner has this number."""


def values_without(
    lists: Lists, provenance: Provenance, group_of_cell: Numbers, measures: Sequence[Measure]
) -> NDArray[np.float64]:
    """Give the value of each measure for each list, judged without the group that stands beside the list."""
    blocks, block_of_cell = np.unique(group_of_cell, return_inverse=True)
    reduced = lists_without(lists, provenance, group_of_cell)
    highest = np.array([highest_grade_without(lists, provenance, group) for group in blocks.tolist()])
    values = np.empty((len(measures), len(lists)))
    for grade in np.unique(highest).tolist():  # nearly always one: few groups take the highest grade along
        kept = highest[block_of_cell] == grade
        graded = replace(reduced, highest_grade=grade, _relevant={})
        values[:, kept] = [measure.values(graded)[kept] for measure in measures]
    return values


def values_without_each(
    lists: Lists, provenance: Provenance, measures: Sequence[Measure]
) -> Iterator[NDArray[np.float64]]:
    """Give for one group after the other the value of each measure for each list, judged without the group.

    The same as `values_without` for every group, but faster: the grades are changed in place and put back, and the
    relevant documents, which were found for the full qrels, are only filtered.
    """
    grades = lists.grades.copy()
    known = {rel: (found, lists.offsets[found.cell] + found.rank - 1) for rel, found in lists._relevant.items()}
    for group, places in enumerate(provenance.removed_places):
        grades[places] = NOT_POOLED
        block = np.array([group], dtype=np.int32)
        level_counts, pooled = _counts_without(lists, provenance, block)
        reduced = replace(
            lists,
            grades=grades,
            level_counts=level_counts,
            pooled_count=pooled,
            highest_grade=highest_grade_without(lists, provenance, group),
            stratified=_sample_without(lists, provenance, block, np.zeros(len(lists), dtype=np.int64)),
            _relevant={rel: found.where(grades[at] != NOT_POOLED) for rel, (found, at) in known.items()},
        )
        yield np.array([measure.values(reduced) for measure in measures])
        grades[places] = lists.grades[places]


def lists_without(lists: Lists, provenance: Provenance, group_of_cell: Numbers) -> Lists:
    """Give the lists, each judged without the group beside it: what only that group brought is not pooled.

    `highest_grade` stays that of the full qrels: it is one number for all lists.
    """
    blocks, block_of_cell = np.unique(group_of_cell, return_inverse=True)
    removed = provenance.removed_at_rank(np.repeat(group_of_cell, lists.length))
    level_counts, pooled = _counts_without(lists, provenance, blocks)
    return replace(
        lists,
        grades=np.where(removed, NOT_POOLED, lists.grades),
        topics=block_of_cell * provenance.topic_count + lists.topics,
        level_counts=level_counts,
        pooled_count=pooled,
        stratified=_sample_without(lists, provenance, blocks, block_of_cell),
        _relevant={},
    )


def highest_grade_without(lists: Lists, provenance: Provenance, group: int) -> int:
    """Give the highest grade of the qrels that would have been made without a group.

    That of the scale, where this is known to go beyond what was given.
    """
    if len(lists.levels) and lists.highest_grade > int(lists.levels.max()):
        return lists.highest_grade
    kept = provenance.level_of_row >= 0
    if group != NONE_HELD_OUT:
        kept[provenance.removed_rows[group]] = False
    return int(lists.levels[provenance.level_of_row[kept].max()]) if kept.any() else 0


def relevant_without(lists: Lists, provenance: Provenance, *, rel: int) -> Counts:
    """Give groups by topics: how many relevant documents the topic would have without the group."""
    relevant = lists.levels >= rel
    counts: Counts = (lists.level_counts - provenance.removed_counts)[:, :, relevant].sum(axis=2)
    return counts


def _counts_without(lists: Lists, provenance: Provenance, blocks: Numbers) -> tuple[Counts, Counts | None]:
    """Give the documents of each grade, and all that are pooled, for each block's copy of the topics."""
    levels = lists.level_counts - _of_blocks(provenance.removed_counts, blocks)
    levels = levels.reshape(len(blocks) * provenance.topic_count, provenance.level_count)
    if lists.pooled_count is None:
        return levels, None
    return levels, (lists.pooled_count - _of_blocks(provenance.removed_pooled, blocks)).ravel()


def _of_blocks(counts: Counts, blocks: Numbers) -> Counts:
    """Give the counts of each block's group, and zeros where no group is held out."""
    padded = np.concatenate([counts, np.zeros_like(counts[:1])])
    chosen: Counts = padded[np.where(blocks == NONE_HELD_OUT, len(counts), blocks)]
    return chosen


def _sample_without(lists: Lists, provenance: Provenance, blocks: Numbers, block_of_cell: Counts) -> Sample | None:
    """Give the sample with a copy of all strata for each block, each without what only its group brought."""
    sample, stratum = lists.stratified, provenance.stratum_of_row
    if sample is None or stratum is None:
        return None
    total, levels = sample.level_counts.shape
    size, drawn = [], []
    for group in blocks.tolist():
        gone = provenance.removed_rows[group] if group != NONE_HELD_OUT else np.zeros(0, dtype=np.int64)
        judged = gone[provenance.level_of_row[gone] >= 0]
        cells = stratum[judged].astype(np.int64) * levels + provenance.level_of_row[judged]
        size.append(sample.size - np.bincount(stratum[gone], minlength=total))
        drawn.append(sample.level_counts - np.bincount(cells, minlength=total * levels).reshape(total, levels))
    removed = provenance.removed_at_rank(np.repeat(blocks[block_of_cell], lists.length))
    shift = np.repeat(block_of_cell * total, lists.length)
    start = np.repeat(np.arange(len(blocks)) * total, len(sample.first))
    return Sample(
        at_rank=np.where(removed | (sample.at_rank < 0), -1, sample.at_rank + shift).astype(np.int32),
        first=np.tile(sample.first, len(blocks)) + start,
        count=np.tile(sample.count, len(blocks)),
        size=np.concatenate(size),
        level_counts=np.concatenate(drawn),
    )
