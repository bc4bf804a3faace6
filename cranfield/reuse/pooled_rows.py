"""Where documents of pooled prefixes stand in the qrels."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.arrow import TEXT, places_in
from cranfield.errors import InputError, UsageError
from cranfield.evaluate.align import Alignment, AnyRun, rows_at_each_rank
from cranfield.evaluate.lists import Lists
from cranfield.qrels.qrels import Qrels, pair_keys
from cranfield.reuse.contributors import shown
from cranfield.text import counted

Numbers = NDArray[np.int32]
Counts = NDArray[np.int64]


def qrels_rows(alignment: Alignment, qrels: Qrels, runs: Sequence[AnyRun]) -> tuple[Numbers, Numbers, Numbers]:
    """Give the qrels row at each rank, and the alignment's topic and the grade level of each qrels row."""
    if len(runs) != len(alignment.run_names) or qrels.content_hash != alignment.qrels_hash:
        raise UsageError("provenance needs the runs and the qrels that the alignment was made of")
    chosen = np.flatnonzero(np.isin(qrels.topics, alignment.topic_ids))
    row = alignment.qrels_row
    if row is None:
        row = rows_at_each_rank(qrels, runs, chosen=chosen, reference=alignment.reference)
    place = np.full(len(qrels.topic_ids), -1, dtype=np.int32)
    place[chosen] = np.arange(len(chosen))
    level = np.searchsorted(alignment.lists.levels, qrels.grades).astype(np.int32)
    level[qrels.grades < 0] = -1
    return row, place[qrels.topic_of_row], level


def first_of_cells(lists: Lists, cells: Counts, depths: Counts) -> tuple[Counts, Counts]:
    """Give the places of the first documents of some cells, and how many each has."""
    taken = np.minimum(lists.length[cells], depths)
    ends = np.cumsum(taken)
    return np.arange(int(taken.sum())) + np.repeat(lists.offsets[cells] - (ends - taken), taken), taken


def rows_of_pairs(qrels: Qrels, topics: Sequence[str], documents: Sequence[str]) -> Numbers:
    """Give the row of the qrels that each pair is; -1 where they lack it."""
    topic = places_in(qrels.topic_ids, pa.array(topics, TEXT))
    document = places_in(qrels.document_ids, pa.array(documents, TEXT))
    known = pair_keys(qrels.topic_of_row, qrels.documents)
    asked = pair_keys(topic, document)
    rows = np.minimum(np.searchsorted(known, asked), max(len(known) - 1, 0))
    found = (topic >= 0) & (document >= 0)
    found[found] = known[rows[found]] == asked[found]
    return np.where(found, rows, -1).astype(np.int32)


def common_depth(alignment: Alignment, qrels_row: Numbers, contributing: Counts) -> Counts:
    """Give for each topic the deepest down to which all contributors' lists are in the qrels.

    A list that ends is no limit; where all end so, it is the length of the longest.
    """
    lists, topics = alignment.lists, len(alignment.topic_ids)
    length = lists.length.reshape(-1, topics)[contributing]
    missing = np.append(np.flatnonzero(qrels_row < 0), len(qrels_row))
    first = missing[np.searchsorted(missing, lists.offsets[:-1])] - lists.offsets[:-1]
    clear = first.reshape(-1, topics)[contributing]
    limit = np.where(clear < length, clear, np.iinfo(np.int64).max)
    depths: Counts = np.minimum(limit.min(axis=0), length.max(axis=0))
    return depths


def depth_of_topics(topic_ids: Sequence[str], depth: int | Mapping[str, int]) -> Counts:
    """Give the pool depth of each topic; a topic without one is refused."""
    if isinstance(depth, int):
        depths = np.full(len(topic_ids), depth, dtype=np.int64)
    else:
        missing = [topic for topic in topic_ids if topic not in depth]
        if missing:
            raise InputError(f"{counted(len(missing), 'topic')} without a pool depth: {shown(missing)}")
        depths = np.array([depth[topic] for topic in topic_ids], dtype=np.int64)
    if (depths < 0).any() or not depths.any():
        raise UsageError("a pool depth is a whole number from 1 up (0 for a topic that has no pool)")
    return depths
