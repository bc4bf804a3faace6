"""Ids that are too long to be ids."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cranfield.errors import Problem, quoted
from cranfield.runs.problems import problem
from cranfield.runs.run import Rows
from cranfield.text import counted

LONGEST_ID, LONGEST_TAG = 1000, 100
"""In characters. Ids are shown, typed and written on every line; what is longer is a text in the place of an id."""


def long_ids(rows: Rows) -> Iterator[Problem]:
    """Tell topic and document ids that are too long, with all their lines."""
    for noun, ids, codes in (
        ("topic", rows.topic_ids, rows.topics),
        ("document", rows.document_ids, rows.documents),
    ):
        is_long = _is_long(ids)
        if is_long.any():
            lines = rows.lines.of(np.flatnonzero(is_long[codes]))
            yield _problem(f"{noun} id", ids.filter(pa.array(is_long)).to_pylist(), lines.tolist(), LONGEST_ID)


def long_tags(tags: Sequence[tuple[str, int]]) -> Iterator[Problem]:
    """Tell tags that are too long, among some with their first lines."""
    found = [(tag, line) for tag, line in tags if len(tag) > LONGEST_TAG]
    if found:
        yield _problem("tag", [tag for tag, _ in found], [line for _, line in found], LONGEST_TAG)


def _is_long(ids: pa.Array) -> NDArray[np.bool_]:
    """Say which ids are too long; their bytes are counted first, since that is almost always enough."""
    if (pc.max(pc.binary_length(ids)).as_py() or 0) <= LONGEST_ID:
        return np.zeros(len(ids), dtype=bool)
    return np.asarray(pc.greater(pc.utf8_length(ids), LONGEST_ID).to_numpy(zero_copy_only=False), dtype=bool)


def _problem(noun: str, found: list[str], lines: list[int], limit: int) -> Problem:
    text = f"{counted(len(found), noun)} longer than {limit:,} characters: {quoted(found[0], limit=40)} has"
    return problem("id-too-long", f"{text} {len(found[0]):,}", lines=lines, count=len(lines))
