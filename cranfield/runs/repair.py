"""Mending what has one right answer."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cranfield.errors import Problem
from cranfield.runs.columns import used_only
from cranfield.runs.order import ranking, taken
from cranfield.runs.run import Order, Places, Rows
from cranfield.text import counted


def repair(
    rows: Rows, problems: Sequence[Problem], *, order: Order = "score", max_depth: int = 1000
) -> tuple[Rows, list[str]]:
    """Give the rows as they should be, and sentences that say what was done and what is left to do.

    Lines with too few columns are gone already and columns after the sixth too: the reader leaves them out. Of a
    repeated document the row that ranks best stays; after that, each topic keeps its best `max_depth` documents. What
    has more than one right answer (an unknown topic or document, two tags, a score that is no number) is not touched.
    """
    done = [_read_over(found) for found in problems if found.code in _MENDED_BY_READING]
    rows, repeats = _without_repeats(rows, order)
    if repeats:
        done.append(f"dropped {counted(repeats, 'row')} that repeated a document; its best-ranked row stays")
    rows, deep = _cut(rows, order, max_depth)
    if deep:
        done.append(f"dropped {counted(deep, 'row')} beyond the first {max_depth:,} of a topic")
    left = [found for found in problems if found.severity == "error" and not found.repairable]
    done += [f"not repaired: {found.message} ({found.remedy})" for found in left]
    kept = tuple(found for found in rows.problems if not found.repairable)
    return replace(rows, problems=kept), done


_MENDED_BY_READING = ("too-few-columns", "too-many-columns", "missing-field")


def _read_over(found: Problem) -> str:
    what = {
        "too-few-columns": f"dropped {counted(found.count, 'line')} with too few columns",
        "too-many-columns": f"dropped the columns after the sixth on {counted(found.count, 'line')}",
        "missing-field": f"dropped {counted(found.count, 'row')} with a field missing",
    }
    return what[found.code]


def _without_repeats(rows: Rows, order: Order) -> tuple[Rows, int]:
    """Keep of each topic and document the row that comes first in ranked order."""
    best = _in_order(rows, order)
    keys = (rows.topics.astype(np.int64)[best] << 32) | rows.documents[best]
    firsts = np.unique(keys, return_index=True)[1]
    if len(firsts) == len(keys):
        return rows, 0
    return _only(rows, np.sort(best[firsts])), len(keys) - len(firsts)


def _cut(rows: Rows, order: Order, max_depth: int) -> tuple[Rows, int]:
    """Keep the first rows of each topic in ranked order."""
    groups = rows.by_topic
    counts = np.diff(groups.offsets)
    if not (counts > max_depth).any():
        return rows, 0
    place = np.arange(len(rows)) - np.repeat(groups.offsets[:-1], counts)
    best = _in_order(rows, order)
    kept = np.sort(best[place < max_depth])
    return _only(rows, kept), len(rows) - len(kept)


def _in_order(rows: Rows, order: Order) -> Places:
    return taken(np.arange(len(rows)), ranking(rows, order=order).places)


def _only(rows: Rows, kept: Places) -> Rows:
    """Give some of the rows, in file order, with their line numbers."""
    gone = np.ones(len(rows), dtype=bool)
    gone[kept] = False
    topic_ids, topics = used_only(rows.topic_ids, rows.topics[kept])
    document_ids, documents = used_only(rows.document_ids, rows.documents[kept])
    return replace(
        rows,
        topic_ids=topic_ids,
        topics=topics,
        document_ids=document_ids,
        documents=documents,
        scores=rows.scores[kept],
        ranks=None if rows.ranks is None else rows.ranks[kept],
        lines=rows.lines.without(rows.lines.of(np.flatnonzero(gone))),
    )
