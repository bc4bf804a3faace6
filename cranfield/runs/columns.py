"""Columns of text become columns of numbers and codes: the last step of every reader of runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.base.files import Source
from cranfield.base.registry import deferred
from cranfield.base.tables import Findings
from cranfield.runs.encoding import LONG, distinct
from cranfield.runs.problems import RUN, problem
from cranfield.runs.run import (
    NO_RANK,
    TEXT,
    Codes,
    LineNumbers,
    Places,
    Rows,
    Run,
    Scores,
    as_text,
    joined_text,
    taken,
)

with deferred:
    import pyarrow.compute as pc

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_NAN = r"^[+-]?[nN][aA][nN](\(.*\))?$"
_INFINITE = r"^[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?$"
_INTEGER = r"^[+-]?[0-9]{1,18}$"
_UNFIT = r"^$|[\x00-\x20\x7f-\x{9f}]"
_ROWS_AT_ONCE = 1 << 19

Coded = tuple[pa.Array, Codes]
"""The distinct strings of a column, and each row's code among them."""


def matching(texts: pa.Array, pattern: str) -> NDArray[np.bool_]:
    """Say which strings match a regular expression."""
    found = pc.match_substring_regex(texts, pattern)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


def numbers_in(texts: pa.Array, readable: NDArray[np.bool_], kind: pa.DataType) -> NDArray[Any]:
    """Read strings as numbers of a kind, with or without a plus sign; what is not readable is 0."""
    plain = pc.if_else(pa.array(readable), pc.utf8_ltrim(texts, characters="+"), "0")
    return np.array(pc.cast(plain, kind).to_numpy(zero_copy_only=False))


def scores_of(texts: pa.Array) -> tuple[Scores, dict[str, NDArray[np.bool_]]]:
    """Read scores from text: the values, NaN where a row has none, and those rows by the code of what is wrong.

    Only decimal notation counts: no hexadecimal, no comma, no NaN, nothing infinite.
    """
    is_number = matching(texts, _NUMBER)
    values = numbers_in(texts, is_number, pa.float64())
    infinite = ~np.isfinite(values) | matching(texts, _INFINITE)
    nan = matching(texts, _NAN)
    values[~is_number | infinite] = np.nan
    wrong = {"score-not-a-number": ~is_number & ~infinite & ~nan, "score-nan": nan, "score-infinite": infinite}
    return values, {code: rows for code, rows in wrong.items() if rows.any()}


def ranks_of(texts: pa.Array) -> Places:
    """Read ranks from text; `NO_RANK` where it is not a whole number."""
    whole = matching(texts, _INTEGER)
    ranks = numbers_in(texts, whole, pa.int64())
    ranks[~whole] = NO_RANK
    return ranks


def encoded(values: pa.Array | pa.ChunkedArray | Sequence[str]) -> Coded:
    """Give the distinct strings of a column, and each row's code among them."""
    if not isinstance(values, pa.ChunkedArray):
        values = pa.chunked_array([values if isinstance(values, pa.Array) else pa.array(values, TEXT)])
    if not pa.types.is_dictionary(values.type):
        return distinct(values)
    values = values.unify_dictionaries()
    if not values.num_chunks:
        return pa.array([], TEXT), np.empty(0, dtype=np.int32)
    codes = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in values.chunks])
    return as_text(values.chunk(values.num_chunks - 1).dictionary), codes.astype(np.int32, copy=False)


def encoded_beside_the_hash(source: Source, *columns: pa.ChunkedArray) -> list[Coded]:
    """Encode columns while the hash of a large file is made in another thread; the source keeps it."""
    with ThreadPoolExecutor(1) as aside:
        if len(columns[0]) >= LONG:
            aside.submit(lambda: source.file_sha256)
        return [encoded(column) for column in columns]


def used_only(ids: pa.Array, codes: Codes) -> Coded:
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
        problems = (*problems, problem("empty"))
    return Rows(
        *topics,
        *documents,
        scores=scores,
        ranks=ranks,
        tags=tuple(tags),
        lines=lines,
        problems=tuple(found.at(source.name) for found in problems),
        source_name=source.name,
        source_stem=source.stem,
        file_sha256=source.file_sha256,
    )


def clean_rows(
    source: Source, parts: Mapping[str, pa.ChunkedArray], *, header: int = 0, findings: Findings | None = None
) -> Rows | None:
    """Make rows of text columns (`topic`, `document`, `score` or `rank`, `tag`), or None if any value is wrong.

    `header` is how many lines stand before the first row, `findings` what is known already. Where there is no score,
    it is minus the rank.
    """
    if any(column.null_count for column in parts.values()):
        return None
    words = {part: encoded(parts[part]) for part in ("topic", "document", "tag") if part in parts}
    if any(pc.any(pc.match_substring_regex(ids, _UNFIT)).as_py() for ids, _ in words.values()):
        return None
    ranks = ranks_of(parts["rank"].combine_chunks()) if "rank" in parts else None
    if "score" not in parts:
        if ranks is None or (ranks == NO_RANK).any():
            return None
        scores = -ranks.astype(np.float64)
    elif pa.types.is_floating(parts["score"].type):
        scores = np.asarray(parts["score"].combine_chunks().cast(pa.float64()).to_numpy(zero_copy_only=False))
        if not np.isfinite(scores).all():
            return None
    else:
        scores, wrong = scores_of(parts["score"].combine_chunks())
        if wrong:
            return None
    names, codes = words.get("tag", (pa.array([], TEXT), np.empty(0, dtype=np.int32)))
    distinct_tags, firsts = np.unique(codes, return_index=True)
    tags = sorted(zip((firsts + header + 1).tolist(), distinct_tags.tolist(), strict=True))
    return assembled(
        source,
        topics=words["topic"],
        documents=words["document"],
        scores=scores,
        ranks=ranks,
        tags=[(names[code].as_py(), line) for line, code in tags],
        skipped=np.arange(1, 1 + header, dtype=np.int64),
        findings=findings or Findings(RUN),
    )


# Rows that come one by one, with values of any type: the exact way of the readers that name their columns.

_DECIMAL = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|nan|inf(inity)?)", re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_UNFIT_IDS = {
    "blank-in-id": re.compile(r"[ \t\n\r\f\v]"),
    "control-character": re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]"),
    "not-utf-8": re.compile(r"[\ud800-\udfff]"),
}


@dataclass
class ExactRows:
    """Rows gathered one by one; everything that is wrong with a row is noted.

    A row whose ids cannot be used is left out; one whose score cannot stays, with NaN, so that its ids are checked.
    Only a file without a score column takes its scores from the ranks: one missing score among others is an error.
    """

    findings: Findings
    has_scores: bool = True
    skipped: list[int] = field(default_factory=list)
    _rows: list[tuple[str, str, float, int]] = field(default_factory=list)
    _tags: dict[str, int] = field(default_factory=dict)
    _has_ranks: bool = False

    def refuse(self, line: int, code: str, seen: object = "") -> None:
        """Note a line that should give a row and cannot."""
        self.skipped.append(line)
        self.findings.add(code, [line], example=str(seen))

    def add(self, line: int, values: Mapping[str, object]) -> None:
        """Add a row of values by part, or note why it cannot be."""
        faults: dict[str, str] = {}
        rank = _rank(values.get("rank"))
        topic, document = (_id(values.get(part), faults) for part in ("topic", "document"))
        if self.has_scores:
            score = _score(values.get("score"), faults)
        elif rank != NO_RANK:
            score = -float(rank)
        else:
            score = np.nan
            faults.setdefault("missing-field", "")
        if values.get("tag") not in (None, "") and (tag := _id(values["tag"], faults)) is not None:
            self._tags.setdefault(tag, line)
        for code, seen in faults.items():
            self.findings.add(code, [line], example=seen)
        if topic is None or document is None:
            self.skipped.append(line)
            return
        self._rows.append((topic, document, score, rank))
        self._has_ranks |= values.get("rank") is not None

    def rows(self, source: Source) -> Rows:
        """Give all rows gathered."""
        topics, documents, scores, ranks = zip(*self._rows, strict=True) if self._rows else ([], [], [], [])
        return assembled(
            source,
            topics=encoded(topics),
            documents=encoded(documents),
            scores=np.array(scores, dtype=np.float64),
            ranks=np.array(ranks, dtype=np.int64) if self._has_ranks else None,
            tags=list(self._tags.items()),
            skipped=np.array(sorted(self.skipped), dtype=np.int64),
            findings=self.findings,
        )


def _id(value: object, faults: dict[str, str]) -> str | None:
    """Give an id as text, a whole number as its digits; a fraction names nothing."""
    if value is None or value == "":
        faults.setdefault("missing-field", "")
    elif isinstance(value, bool) or not isinstance(value, str | int):
        faults.setdefault("bad-row", f"the id {value!r}")
    elif code := next((code for code, unfit in _UNFIT_IDS.items() if unfit.search(str(value))), None):
        faults.setdefault(code, str(value))
    else:
        return str(value)
    return None


def _score(value: object, faults: dict[str, str]) -> float:
    """Give a finite score, else NaN; only decimal notation counts."""
    if value is None or value == "":
        faults.setdefault("missing-field", "")
        return np.nan
    is_text, is_number = isinstance(value, str), isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number and not (is_text and _DECIMAL.fullmatch(str(value))):
        faults.setdefault("score-not-a-number", str(value))
        return np.nan
    try:
        score = float(value)  # type: ignore[arg-type]
    except OverflowError:
        score = np.inf
    if not np.isfinite(score):
        faults.setdefault("score-nan" if np.isnan(score) else "score-infinite", str(value))
        return np.nan
    return score


def _rank(value: object) -> int:
    if isinstance(value, str):
        return int(value) if _WHOLE.fullmatch(value) else NO_RANK
    if isinstance(value, float) and value.is_integer() and abs(value) < 10**15:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**18 else NO_RANK


def columns_of(run: Run) -> Iterator[dict[str, pa.Array]]:
    """Give the columns topic, document, rank (from 1), score and tag, some rows at a time: what writers join."""
    counts = np.diff(run.offsets)
    topics = np.repeat(np.arange(len(counts)), counts)
    ranks = np.arange(1, run.row_count + 1) - run.offsets[topics]
    topic_ids, document_ids = run.topic_ids.cast(TEXT), run.document_ids.cast(TEXT)
    for start in range(0, run.row_count, _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        yield {
            "topic": topic_ids.take(pa.array(topics[part])),
            "document": document_ids.take(pa.array(run.documents[part])),
            "rank": pa.array(ranks[part]),
            "score": pa.array(run.scores[part]),
            "tag": pa.repeat(pa.scalar(run.tag, TEXT), len(ranks[part])),
        }


def joined_lines(*words: pa.Array | str, between: str = "") -> memoryview:
    """Give lines of joined columns, as bytes; a single string stands in every row."""
    parts = [pa.scalar(word, TEXT) if isinstance(word, str) else word.cast(TEXT) for word in (*words, between)]
    return joined_text(pc.binary_join_element_wise(*parts))
