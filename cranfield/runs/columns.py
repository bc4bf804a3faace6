"""Columns of text become columns of numbers and codes: the last step of every reader."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.arrow import as_text, taken
from cranfield.runs.distinct import LONG, distinct
from cranfield.runs.lines import LineNumbers
from cranfield.runs.problems import Findings, problem
from cranfield.runs.run import NO_RANK, Codes, Places, Rows, Scores
from cranfield.source import Source

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_NAN = r"^[+-]?[nN][aA][nN](\(.*\))?$"
_INFINITE = r"^[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?$"
_INTEGER = r"^[+-]?[0-9]{1,18}$"


Coded = tuple[pa.Array, Codes]
"""The distinct strings of a column, and each row's code among them."""


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of scores: the values, NaN where a row has none, and those rows by the code of what is wrong."""

    values: Scores
    wrong: dict[str, NDArray[np.bool_]] = field(default_factory=dict)


def scores_of(texts: pa.Array) -> Numbers:
    """Read scores from text. Only decimal notation counts: no hexadecimal, no comma, no NaN, nothing infinite."""
    from cranfield.runs.numerals import matching, read

    is_number = matching(texts, _NUMBER)
    values = read(texts, is_number, pa.float64())
    infinite = ~np.isfinite(values) | matching(texts, _INFINITE)
    nan = matching(texts, _NAN)
    values[~is_number | infinite] = np.nan
    wrong = {
        "score-not-a-number": ~is_number & ~infinite & ~nan,
        "score-nan": nan,
        "score-infinite": infinite,
    }
    return Numbers(values, {code: rows for code, rows in wrong.items() if rows.any()})


def ranks_of(texts: pa.Array) -> Places:
    """Read ranks from text; `NO_RANK` where it is not a whole number."""
    from cranfield.runs.numerals import matching, read

    whole = matching(texts, _INTEGER)
    ranks = read(texts, whole, pa.int64())
    ranks[~whole] = NO_RANK
    return ranks


def encoded(values: pa.ChunkedArray) -> Coded:
    """Give the distinct strings of a column, and each row's code among them."""
    if not pa.types.is_dictionary(values.type):
        return distinct(values)
    values = values.unify_dictionaries()
    if not values.num_chunks:
        return pa.array([], pa.large_string()), np.empty(0, dtype=np.int32)
    codes = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in values.chunks])
    return as_text(values.chunk(values.num_chunks - 1).dictionary), codes.astype(np.int32, copy=False)


def encoded_beside_the_hash(source: Source, *columns: pa.ChunkedArray) -> list[Coded]:
    """Encode columns while the hash of a large file is made in another thread; the source keeps it."""
    with ThreadPoolExecutor(1) as aside:
        if len(columns[0]) >= LONG:
            aside.submit(lambda: source.file_sha256)
        return [encoded(column) for column in columns]


def used_only(ids: pa.Array, codes: Codes) -> tuple[pa.Array, Codes]:
    """Drop the ids that no row uses (their rows were refused)."""
    used = np.zeros(len(ids), dtype=bool)
    used[codes] = True
    if used.all():
        return ids, codes
    new_code = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return taken(ids, np.flatnonzero(used)), new_code[codes]


def assembled(
    source: Source,
    *,
    topics: Coded,
    documents: Coded,
    scores: Scores,
    ranks: Places | None,
    tags: Sequence[tuple[str, int]],
    skipped: NDArray[np.int64],
    findings: Findings,
) -> Rows:
    """Make rows of finished columns. `skipped` are the lines without a row, `tags` come with their lines.

    A score that the row does not have is NaN, and told in `findings`.
    """
    lines = LineNumbers(skipped)
    if ranks is not None:
        findings.add("rank-not-an-integer", lines.of(np.flatnonzero(ranks == NO_RANK)))
    problems = findings.problems()
    if not len(scores) and not any(found.severity == "error" for found in problems):
        problems = (*problems, problem("empty", "the file holds no row of a run"))
    return Rows(
        topic_ids=topics[0],
        topics=topics[1],
        document_ids=documents[0],
        documents=documents[1],
        scores=scores,
        ranks=ranks,
        tags=tuple(tags),
        lines=lines,
        problems=tuple(found.at(source.name) for found in problems),
        source_name=source.name,
        source_stem=source.stem,
        file_sha256=source.file_sha256,
    )
