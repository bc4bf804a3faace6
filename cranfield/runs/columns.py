"""Columns of text become columns of numbers and codes: the last step of every reader."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, BinaryIO, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from cranfield.base.arrow import as_text, taken
from cranfield.base.files import Source
from cranfield.base.lazy import deferred
from cranfield.runs.encoding import LONG, distinct
from cranfield.runs.problems import Findings, problem
from cranfield.runs.run import NO_RANK, Codes, LineNumbers, Places, Rows, Run, Scores, joined_text

with deferred:
    import pyarrow.compute as pc


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


# Numbers as they are written, in files that are not regular: which strings are some, and what they say.


def matching(texts: pa.Array, pattern: str) -> NDArray[np.bool_]:
    """Say which strings match a regular expression."""
    found = pc.match_substring_regex(texts, pattern)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


def read(texts: pa.Array, readable: NDArray[np.bool_], kind: pa.DataType) -> NDArray[Any]:
    """Read strings as numbers of a kind, with or without a plus sign; what is not readable is 0."""
    plain = pc.if_else(pa.array(readable), pc.utf8_ltrim(texts, characters="+"), "0")
    return np.array(pc.cast(plain, kind).to_numpy(zero_copy_only=False))


# What the columns of a run are called in files that name them.

SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "topic": ("topic", "topic_id", "query", "query_id", "qid", "q_id", "topicid", "queryid"),
    "document": (
        "document",
        "document_id",
        "doc",
        "doc_id",
        "docid",
        "docno",
        "did",
        "corpus_id",
        "pid",
        "passage_id",
    ),
    "score": ("score", "sim", "relevance_score", "similarity"),
    "rank": ("rank", "ranking", "position"),
    "tag": ("tag", "run", "run_id", "runid", "system", "run_tag", "run_name"),
}
"""The usual spellings of each column, best first; case does not matter, and a dash is as good as an underscore."""


@dataclass(frozen=True, slots=True)
class Roles:
    """Which column of a file plays which part; None where there is none."""

    topic: str
    document: str
    score: str | None = None
    rank: str | None = None
    tag: str | None = None

    def items(self) -> list[tuple[str, str]]:
        """Give (part, column) for all parts that have a column."""
        return [(part, name) for part in SPELLINGS if (name := getattr(self, part)) is not None]


def roles_of(columns: Iterable[object]) -> Roles | None:
    """Give the part of each column by its name, or None if it cannot be the list of a run's columns.

    A run needs a topic, a document, and a score or at least a rank.
    """
    by_name = {_plain(str(column)): str(column) for column in reversed(list(columns))}
    found = {part: _first(by_name, names) for part, names in SPELLINGS.items()}
    topic, document = found["topic"], found["document"]
    if topic is None or document is None or (found["score"] is None and found["rank"] is None):
        return None
    return Roles(topic, document, found["score"], found["rank"], found["tag"])


def named_fields(value: Mapping[str, object], usual: Roles) -> dict[str, object]:
    """Give the value of each part of an object: from the field that usually has it, else in another spelling."""
    names = {part: getattr(usual, part) for part in SPELLINGS}
    if all(name is not None and name in value for name in names.values()):
        return {part: value[name] for part, name in names.items()}
    by_name = {_plain(name): name for name in reversed(list(value))}
    found = {part: name if name in value else _first(by_name, SPELLINGS[part]) for part, name in names.items()}
    return {part: None if name is None else value[name] for part, name in found.items()}


def expected_columns() -> str:
    """Say which columns are looked for, for a message."""
    return ", ".join(f"{part} ({', '.join(names[1:5])} …)" for part, names in SPELLINGS.items())


def _first(by_name: Mapping[str, str], names: Iterable[str]) -> str | None:
    return next((by_name[name] for name in names if name in by_name), None)


def _plain(column: str) -> str:
    return column.strip().casefold().replace("-", "_").replace(" ", "_")


# Rows that come one by one, with values of any type: the exact way of the readers that name their columns.

Value = TypeVar("Value", str, float)

_NUMBER_LOOSE = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NAN_LOOSE = re.compile(r"[+-]?nan", re.IGNORECASE)
_INFINITE_LOOSE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_INTEGER_LOOSE = re.compile(r"[+-]?[0-9]{1,18}")
_BLANK = re.compile(r"[ \t\n\r\f\v]")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class _Refused(Exception):
    """A value that cannot be used, with the code that says why and what was seen."""

    def __init__(self, code: str, seen: object) -> None:
        super().__init__(code)
        self.code, self.seen = code, str(seen)


@dataclass
class LooseRows:
    """Rows gathered one by one; everything that is wrong with a row is noted.

    A row whose ids cannot be used is left out; one whose score cannot stays, with NaN, so that its ids are checked.
    Only a file without a score column takes its scores from the ranks: one missing score among others is an error.
    """

    findings: Findings
    has_scores: bool = True
    skipped: list[int] = field(default_factory=list)
    _columns: list[tuple[str, str, float, int]] = field(default_factory=list)
    _tags: dict[str, int] = field(default_factory=dict)
    _has_ranks: bool = False

    def skip(self, line: int) -> None:
        """Note a line that is not meant to give a row: a header, a blank line."""
        self.skipped.append(line)

    def refuse(self, line: int, code: str, seen: object = "") -> None:
        """Note a line that should give a row and cannot."""
        self.skipped.append(line)
        self.findings.add(code, [line], example=str(seen))

    def add(self, line: int, *, topic: object, document: object, score: object, rank: object, tag: object) -> None:
        """Add one row, or note why it cannot be."""
        place, wrong = _rank(rank), dict[str, str]()
        of_topic, of_document = _tried(_id, topic, wrong), _tried(_id, document, wrong)
        number = _tried(lambda value: self._score(value, place), score, wrong)
        name = None if tag is None or tag == "" else _tried(_id, tag, wrong)
        for code, seen in wrong.items():
            self.findings.add(code, [line], example=seen)
        if name is not None:
            self._tags.setdefault(name, line)
        if of_topic is None or of_document is None:
            self.skipped.append(line)
            return
        self._columns.append((of_topic, of_document, float("nan") if number is None else number, place))
        self._has_ranks |= rank is not None

    def _score(self, value: object, rank: int) -> float:
        if self.has_scores:
            return _score(value)
        if rank == NO_RANK:
            raise _Refused("missing-field", "")
        return -float(rank)

    def rows(self, source: Source) -> Rows:
        """Give all rows gathered."""
        topics, documents, scores, ranks = zip(*self._columns, strict=True) if self._columns else ([], [], [], [])
        return assembled(
            source,
            topics=encoded(pa.chunked_array([pa.array(topics, pa.large_string())])),
            documents=encoded(pa.chunked_array([pa.array(documents, pa.large_string())])),
            scores=np.array(scores, dtype=np.float64),
            ranks=np.array(ranks, dtype=np.int64) if self._has_ranks else None,
            tags=list(self._tags.items()),
            skipped=np.array(sorted(self.skipped), dtype=np.int64),
            findings=self.findings,
        )


def _tried(read: Callable[[object], Value], value: object, wrong: dict[str, str]) -> Value | None:
    """Give what a value is read as; None, and what is wrong noted, where it cannot be used."""
    try:
        return read(value)
    except _Refused as refused:
        wrong.setdefault(refused.code, refused.seen)
        return None


def _id(value: object) -> str:
    """Give an id as text. A whole number is its decimal digits; a fraction names nothing."""
    if value is None or value == "":
        raise _Refused("missing-field", "")
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _Refused("bad-row", f"the id {value!r}")
    text = str(value)
    if _BLANK.search(text):
        raise _Refused("blank-in-id", text)
    if _CONTROL.search(text):
        raise _Refused("control-character", text)
    if _SURROGATE.search(text):
        raise _Refused("not-utf-8", text)
    return text


def _score(value: object) -> float:
    if value is None or value == "":
        raise _Refused("missing-field", "")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _Refused("score-not-a-number", value)
    number = _number(value) if isinstance(value, str) else _as_double(value)
    if np.isnan(number):
        raise _Refused("score-nan", value)
    if np.isinf(number):
        raise _Refused("score-infinite", value)
    return number


def _number(text: str) -> float:
    if not any(pattern.fullmatch(text) for pattern in (_NUMBER_LOOSE, _NAN_LOOSE, _INFINITE_LOOSE)):
        raise _Refused("score-not-a-number", text)
    return float(text)


def _as_double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _rank(value: object) -> int:
    if isinstance(value, bool):
        return NO_RANK
    if isinstance(value, int) and abs(value) < 10**18:
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 10**15:
        return int(value)
    return int(value) if isinstance(value, str) and _INTEGER_LOOSE.fullmatch(value) else NO_RANK


# Tables with named columns become rows: at full speed where nothing is wrong in them.

_UNFIT = r"^$|[\x00-\x20\x7f-\x{9f}]"


def clean_rows(
    source: Source,
    parts: Mapping[str, pa.ChunkedArray],
    *,
    skipped: NDArray[np.int64],
    findings: Findings | None = None,
) -> Rows | None:
    """Make rows of text columns (`topic`, `document`, `score` or `rank`, `tag`), or None if any value is wrong.

    `skipped` are the lines that have no row, `findings` what is known already. Where there is no score, it is minus
    the rank.
    """
    if any(column.null_count for column in parts.values()):
        return None
    words = {part: encoded(parts[part]) for part in ("topic", "document", "tag") if part in parts}
    ranks = ranks_of(parts["rank"].combine_chunks()) if "rank" in parts else None
    scores = _scores(parts, ranks)
    if scores is None or not all(_is_fit(ids) for ids, _ in words.values()):
        return None
    return assembled(
        source,
        topics=words["topic"],
        documents=words["document"],
        scores=scores,
        ranks=ranks,
        tags=_first_lines(words["tag"], len(skipped)) if "tag" in words else [],
        skipped=skipped,
        findings=findings or Findings(),
    )


def _is_fit(ids: pa.Array) -> bool:
    """Say whether no word is empty or has white space or control characters in it."""
    return not pc.any(pc.match_substring_regex(ids, _UNFIT)).as_py()


def _scores(parts: Mapping[str, pa.ChunkedArray], ranks: Places | None) -> Scores | None:
    if "score" in parts:
        column = parts["score"].combine_chunks()
        if pa.types.is_floating(column.type):
            values = np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
            return values if np.isfinite(values).all() else None
        numbers = scores_of(column)
        return None if numbers.wrong else numbers.values
    if ranks is None or (ranks == NO_RANK).any():
        return None
    return -ranks.astype(np.float64)


def _first_lines(tags: Coded, header: int) -> list[tuple[str, int]]:
    names, codes = tags
    distinct, rows = np.unique(codes, return_index=True)
    pairs = sorted(zip(rows.tolist(), distinct.tolist(), strict=True))
    return [(names[code].as_py(), row + header + 1) for row, code in pairs]


# How a run is written: in parts, as joined columns, without a loop over rows.

_TEXT = pa.large_string()
_ROWS_AT_ONCE = 1 << 19


def write_trec(run: Run, stream: BinaryIO) -> None:
    """Write the six TREC columns, one blank between them."""
    for part in columns_of(run):
        lines = pc.binary_join_element_wise(
            part["topic"],
            pa.scalar("Q0", _TEXT),
            part["document"],
            part["rank"].cast(_TEXT),
            part["score"].cast(_TEXT),
            pa.scalar(f"{run.tag}\n", _TEXT),
            pa.scalar(" ", _TEXT),
        )
        stream.write(joined_text(lines))


def write_json_lines(run: Run, stream: BinaryIO) -> None:
    """Write one object per row."""
    quoted = Run(run.tag, _as_json(run.topic_ids), run.offsets, _as_json(run.document_ids), run.documents, run.scores)
    empty = pa.scalar("", _TEXT)
    for part in columns_of(quoted):
        lines = pc.binary_join_element_wise(
            pa.scalar('{"topic": ', _TEXT),
            part["topic"],
            pa.scalar(', "document": ', _TEXT),
            part["document"],
            pa.scalar(', "rank": ', _TEXT),
            part["rank"].cast(_TEXT),
            pa.scalar(', "score": ', _TEXT),
            part["score"].cast(_TEXT),
            pa.scalar(f', "tag": {json.dumps(run.tag)}}}\n', _TEXT),
            empty,
        )
        stream.write(joined_text(lines))


def write_csv(run: Run, stream: BinaryIO) -> None:
    """Write a header and one row per document, divided by commas, quoted where needed."""
    stream.write(b"topic,document,rank,score,tag\n")
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="needed")
    for part in columns_of(run):
        pyarrow.csv.write_csv(pa.table(part), stream, options)


def columns_of(run: Run) -> Iterator[dict[str, pa.Array]]:
    """Give the columns topic, document, rank (from 1), score and tag, some rows at a time."""
    counts = np.diff(run.offsets)
    topics = np.repeat(np.arange(len(counts)), counts)
    ranks = np.arange(1, run.row_count + 1) - run.offsets[topics]
    topic_ids, document_ids = run.topic_ids.cast(_TEXT), run.document_ids.cast(_TEXT)
    for start in range(0, run.row_count, _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        yield {
            "topic": topic_ids.take(pa.array(topics[part])),
            "document": document_ids.take(pa.array(run.documents[part])),
            "rank": pa.array(ranks[part]),
            "score": pa.array(run.scores[part]),
            "tag": pa.repeat(pa.scalar(run.tag, _TEXT), len(ranks[part])),
        }


def _as_json(ids: pa.Array) -> pa.Array:
    return pa.array([json.dumps(value) for value in ids.to_pylist()], _TEXT)
