"""Mending what has one right answer.

A file is mended whole or not at all. Where it has an error that could be mended in two ways (an unknown topic or
document, two tags, a score that is no number) nothing is mended: a copy would have to leave out the rows in question
or decide for the sender.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from cranfield.errors import Problem, quoted
from cranfield.runs.order import ranked, ranking, taken
from cranfield.runs.run import Order, Places, Rows, Run
from cranfield.text import counted

_ORDER_IN_WORDS = {
    "score": "the order of the scores",
    "rank": "the order of the ranks",
    "file": "the order of the file",
}
_NAMES_SHOWN = 5


def by_hand_first(problems: Sequence[Problem]) -> list[str]:
    """Say what keeps a file from being mended, and what would be mended after that; nothing where nothing does."""
    by_hand = [found.code for found in problems if found.severity == "error" and not found.repairable]
    if not by_hand:
        return []
    sentences = [f"no corrected copy was written; mend by hand first: {_listed(by_hand)}"]
    mended = [found.code for found in problems if found.repairable]
    if mended:
        sentences.append(f"these have one right answer, and --repair mends them then: {_listed(mended)}")
    return sentences


def repair(
    rows: Rows, problems: Sequence[Problem], *, name: str, order: Order = "score", max_depth: int = 1000
) -> tuple[Run | None, list[str]]:
    """Give the run as it should be, called `name`, and sentences that say what was done.

    Lines with too few columns are gone already, and surplus columns too: the reader leaves them out. Rows with a
    field missing go. Of a repeated document the row that ranks best stays; after that, each topic keeps its best
    `max_depth` documents. Where something has to be mended by hand first, or no row would be left, there is no run,
    and the sentences say why.
    """
    by_hand = by_hand_first(problems)
    if by_hand:
        return None, by_hand
    done = [_read_over(found) for found in problems if found.code in _MENDED_BY_READING]
    rows, repeats = _without_repeats(rows.scored, order)
    if repeats:
        done.append(f"dropped {counted(repeats, 'row')} that repeated a document; its best-ranked row stays")
    rows, deep = _cut(rows, order, max_depth)
    if deep:
        done.append(f"dropped {counted(deep, 'row')} beyond the first {max_depth:,} of a topic")
    if not len(rows):
        return None, ["no corrected copy was written: no row would be left in it"]
    return replace(ranked(rows, order=order), tag=name), [*done, *_rewritten(rows, problems, name, order)]


_MENDED_BY_READING = ("too-few-columns", "too-many-columns", "missing-field")


def _read_over(found: Problem) -> str:
    what = {
        "too-few-columns": f"dropped {counted(found.count, 'line')} with too few columns",
        "too-many-columns": f"dropped the columns after the last on {counted(found.count, 'line')}",
        "missing-field": f"dropped {counted(found.count, 'row')} with a field missing",
    }
    return what[found.code]


def _rewritten(rows: Rows, problems: Sequence[Problem], name: str, order: Order) -> Iterator[str]:
    """Say what the columns of the copy have that the file had otherwise, though nothing was wrong with it."""
    others = [quoted(tag, limit=40) for tag, _ in rows.tags if tag != name]
    if others:
        more = f" and {counted(len(others) - _NAMES_SHOWN, 'other')}" if len(others) > _NAMES_SHOWN else ""
        yield f"wrote {quoted(name)}, the name given, in place of the tag {', '.join(others[:_NAMES_SHOWN])}{more}"
    renumbered = _other_ranks(rows, order)
    if renumbered:
        changed = counted(renumbered, "row had", "rows had")
        yield f"numbered the ranks anew, from 1 in {_ORDER_IN_WORDS[order]}: {changed} another rank"
    yield from (f"wrote Q0 on {counted(found.count, 'line')}" for found in problems if found.code == "not-q0")


def _other_ranks(rows: Rows, order: Order) -> int:
    """Count the rows whose rank in the file is not their place in the list; none where the file has no ranks."""
    if rows.ranks is None:
        return 0
    ranks = taken(rows.ranks, ranking(rows, order=order).places)
    return int(np.count_nonzero(ranks != _places(rows) + 1))


def _without_repeats(rows: Rows, order: Order) -> tuple[Rows, int]:
    """Keep of each topic and document the row that comes first in ranked order."""
    best = _in_order(rows, order)
    keys = (rows.topics.astype(np.int64)[best] << 32) | rows.documents[best]
    firsts = np.unique(keys, return_index=True)[1]
    if len(firsts) == len(keys):
        return rows, 0
    return rows.only(np.sort(best[firsts])), len(keys) - len(firsts)


def _cut(rows: Rows, order: Order, max_depth: int) -> tuple[Rows, int]:
    """Keep the first rows of each topic in ranked order."""
    kept = np.sort(_in_order(rows, order)[_places(rows) < max_depth])
    return (rows, 0) if len(kept) == len(rows) else (rows.only(kept), len(rows) - len(kept))


def _in_order(rows: Rows, order: Order) -> Places:
    return taken(np.arange(len(rows)), ranking(rows, order=order).places)


def _places(rows: Rows) -> Places:
    """Give each row of the ranked order its place in its topic, from 0."""
    offsets = rows.by_topic.offsets
    return np.arange(len(rows)) - np.repeat(offsets[:-1], np.diff(offsets))


def _listed(codes: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(codes))
