"""What judging a document is good for: by how much it narrows an interval if it turns out not to be relevant."""

from dataclasses import replace

import numpy as np

from cranfield.evaluate.align import Alignment
from cranfield.evaluate.expression import AnyMeasure
from cranfield.evaluate.lists import Counts, Lists, Values
from cranfield.reuse.bounds import Closure, bounds
from cranfield.reuse.bounds_freedom import Reach

_ROWS_AT_ONCE = 1 << 21


def widths(
    alignment: Alignment, measure: AnyMeasure, *, depth: Reach, closure: Closure, further: int, highest: int
) -> Values:
    """Give the width of the interval of each cell."""
    found = bounds(
        alignment,
        [measure],
        depth=lambda _: depth,
        closure=closure,
        further=further,
        highest=highest,
        tail="none",
    )
    width: Values = (found.upper[0] - found.lower[0]).ravel()
    return width


def narrowings(
    alignment: Alignment,
    measure: AnyMeasure,
    cells: Counts,
    ranks: Counts,
    *,
    depth: Reach,
    closure: Closure = "at-k",
    further: int = 0,
    highest: int,
) -> Values:
    """Give for each hole, by its cell and rank, by how much its cell's interval narrows when it alone is judged 0."""
    options = {"closure": closure, "further": further, "highest": highest}
    before = widths(alignment, measure, depth=depth, **options)[cells]  # type: ignore[arg-type]
    longest = max(int(alignment.lists.length.max(initial=1)), 1)
    size = max(_ROWS_AT_ONCE // longest, 1)
    parts = []
    for start in range(0, len(cells), size):
        some = cells[start : start + size]
        made = _each_judged(alignment, some, ranks[start : start + size])
        reach = depth[alignment.lists.topics[some]] if isinstance(depth, np.ndarray) else depth
        parts.append(widths(made, measure, depth=reach, **options))  # type: ignore[arg-type]
    return before - np.concatenate(parts) if parts else np.zeros(0)


def _each_judged(alignment: Alignment, cells: Counts, ranks: Counts) -> Alignment:
    """Give one list per hole, with that hole judged 0, each as the answer of one run to a topic of its own."""
    lists: Lists = alignment.lists.chosen(cells)
    grades = lists.grades.copy()
    grades[lists.offsets[:-1] + ranks - 1] = 0
    levels = np.union1d(lists.levels, [0]).astype(np.int32)
    counts = np.zeros((len(cells), len(levels)), dtype=np.int64)
    counts[:, np.searchsorted(levels, lists.levels)] = lists.level_counts[lists.topics]
    counts[:, 0] += 1
    made = replace(
        lists,
        grades=grades,
        topics=np.arange(len(cells)),
        levels=levels,
        level_counts=counts,
        pooled_count=None,
        stratified=None,
        _relevant={},
    )
    return replace(
        alignment,
        run_names=("",),
        topic_ids=tuple(str(number) for number in range(len(cells))),
        lists=made,
        present=np.ones((1, len(cells)), dtype=bool),
        scored=np.ones((1, len(cells)), dtype=bool),
        extra_topics=((),),
        tied=np.zeros(len(grades), dtype=bool),
        qrels_row=None,
    )
