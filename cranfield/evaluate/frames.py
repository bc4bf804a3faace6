"""Qrels, runs and groups given from Python: pandas frames, or mappings of topic -> document -> number.

They are checked as files are, and all errors are reported together. Rows count from 1. Ids are text; whole
numbers become their decimal digits, and anything else is refused: 7.0 is no topic. The columns of a frame may have
any of the names that files may give them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import pyarrow as pa

from cranfield.base.errors import LINES_KEPT, Problem, ProblemsFound, UsageError, quoted
from cranfield.base.files import Source
from cranfield.base.registry import deferred
from cranfield.base.text import counted
from cranfield.qrels.qrels import Qrels
from cranfield.qrels.reading import QRELS, QrelsRows
from cranfield.runs.columns import Codes, LineNumbers, Mask, Places, Scores, encoded
from cranfield.runs.reading import EXPECTED_COLUMNS, ROLES, SPELLINGS, Member, read_groups, roles_of
from cranfield.runs.run import Rows, Run, ranked

if TYPE_CHECKING:
    import pandas

with deferred:
    from pyarrow import compute as pc


_TERRIER = ("qid", "docno")
"""PyTerrier's names: its frames also have the text of the query, and numbers of its own for documents."""
_UNFIT = r"^$|[\x00-\x20\x7f-\x{9f}]"
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_LONGEST_GRADE = 10**9


@dataclass(frozen=True, eq=False)
class _Columns:
    """Columns of equal length; `tag` names the run of each row, where there is such a column."""

    topic: Sequence[object]
    document: Sequence[object]
    number: Sequence[object]
    tag: Sequence[object] | None = None


def is_frame(value: object) -> TypeGuard[pandas.DataFrame]:
    """Whether this is a pandas frame; pandas need not be imported for that."""
    return hasattr(value, "columns") and hasattr(value, "iloc")


def qrels_given(value: object) -> Qrels:
    """The qrels that a frame (topic, document, grade) or a mapping of topic -> document -> grade means."""
    if is_frame(value):
        names = [str(column) for column in value.columns]
        roles = dict(QRELS.roles(names))
        if {*_TERRIER} <= {*names}:
            roles["topic"], roles["document"] = _TERRIER
        missing = [role for role in QRELS.needed if role not in roles]
        if missing:
            lacking = " or ".join(missing)
            raise UsageError(f"the frame of qrels has no column for {lacking}; it has {', '.join(names)}")
        columns = _Columns(*(_values(value, roles[role]) for role in QRELS.needed))
    else:
        columns = _flattened(value, "qrels are", "grade")
    good = _Good(len(columns.topic), "qrels")
    topics, documents = good.ids(columns.topic), good.ids(columns.document)
    numbers = _numbers(columns.number)
    unfit = ~np.isfinite(numbers) | (np.abs(numbers) >= _LONGEST_GRADE) | (numbers != np.rint(numbers))
    good.tell("grade-not-an-integer", "a grade is not an integer of at most nine digits", columns.number, unfit)
    kept = np.flatnonzero(good.rows)
    rows = QrelsRows(
        *_coded(topics, kept),
        *_coded(documents, kept),
        grades=numbers[kept].astype(np.int32),
        lines=LineNumbers(np.flatnonzero(~good.rows) + 1),
        problems=tuple(good.problems),
        source_name="qrels",
    )
    return rows.qrels()


def runs_given(value: object, *, name: str = "") -> list[Run]:
    """The runs that a frame (topic, document, score) or a mapping of topic -> document -> score means.

    A frame may have a column that names the run of each row, and then hold several; `name` names all of it instead.
    """
    if not _is_unicode(name):
        raise UsageError(f"the name of a run contains an unpaired surrogate: {name!r}")
    place = f"run {quoted(name)}" if name else "a frame of runs"
    if is_frame(value):
        names = [str(column) for column in value.columns]
        usual = {*_TERRIER, "score", "rank", *SPELLINGS["tag"]}
        roles = roles_of([column for column in names if column in usual] if {*_TERRIER} <= {*names} else names)
        if roles is None:
            raise UsageError(f"{place} lacks columns: found {', '.join(names)}; expected {EXPECTED_COLUMNS}")
        number = "score" if "score" in roles else "rank"
        topic, document, numbers = (_values(value, roles[part]) for part in ("topic", "document", number))
        if number == "rank":  # a rank as a score: the lower the better
            numbers = [rank if (known := _number(rank)) is None else -known for rank in numbers]
        columns = _Columns(topic, document, numbers, _values(value, roles["tag"]) if "tag" in roles else None)
    else:
        columns = _flattened(value, "a run is", "score")
    if not name and columns.tag is None:
        raise UsageError("a run needs a name: pass runs={'bm25': …}, or a frame with a column 'run'")
    good = _Good(len(columns.topic), place)
    topics, documents, scores = good.ids(columns.topic), good.ids(columns.document), _numbers(columns.number)
    good.tell("score-not-a-number", "a score is not a finite number", columns.number, ~np.isfinite(scores))
    tags = pa.array([name] * len(topics), pa.large_string()) if name else good.ids(columns.tag or [])
    empty = [] if len(topics) else [Problem("empty", "no rows", file=place)]
    if good.problems or empty:
        raise ProblemsFound(f"{place} cannot be evaluated", [*good.problems, *empty])
    tag_ids, codes = _coded(tags, np.arange(len(tags)))
    runs = []
    for code, tag in enumerate(tag_ids.to_pylist()):
        kept = np.flatnonzero(codes == code)
        columns_of_run = *_coded(topics, kept), *_coded(documents, kept)
        runs.append(ranked(Rows(*columns_of_run, scores[kept], ranks=None, tags=((tag, 1),))))
    return runs


def _coded(values: pa.Array, kept: Places) -> tuple[pa.Array, Codes]:
    return encoded(values if len(kept) == len(values) else values.take(pa.array(kept)))


def _values(frame: pandas.DataFrame, name: str) -> Any:
    """A column; two of one name are refused."""
    column: Any = frame[name]
    if column.ndim != 1:
        raise UsageError(f"the frame has several columns called {quoted(name)}")
    return column.array


def _flattened(value: object, noun: str, number: str) -> _Columns:
    """Topic -> document -> number as columns."""
    wanted = f"{noun} a mapping of topic -> document -> {number}, or a pandas frame"
    if not isinstance(value, Mapping):
        raise UsageError(f"{wanted}, not {type(value).__name__}")
    for topic, inner in value.items():
        if not isinstance(inner, Mapping):
            raise UsageError(f"{wanted}; topic {quoted(topic)} has {type(inner).__name__} instead of documents")
    rows = [(topic, document, one) for topic, inner in value.items() for document, one in inner.items()]
    return _Columns([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])


def groups_given(value: object) -> tuple[Member, ...]:
    """The runs with their groups.

    A file has run tag, group and `pooled` or `new` on each line; a frame has the columns run, group and, where some
    runs are new, role; a mapping of run -> group names the runs that were pooled. All errors are reported together.
    """
    if is_path(value):
        return read_groups(Source(Path(value)))
    if isinstance(value, Mapping):
        rows = [(run, group, "pooled") for run, group in value.items()]
    elif is_frame(value):
        names = [str(name) for name in value.columns]
        missing = [name for name in ("run", "group") if name not in names]
        if missing:
            raise UsageError(f"the frame of groups has no column {' or '.join(missing)}; it has {', '.join(names)}")
        roles = value["role"] if "role" in names else ["pooled"] * len(value)
        rows = list(zip(value["run"], value["group"], roles, strict=True))
    else:
        raise UsageError(f"groups are a file, a frame, or a mapping of run -> group, not {type(value).__name__}")
    good, runs = _Good(len(rows), "groups"), [row[0] for row in rows]
    nameless = (not all(_is_word(cell) for cell in row[:2]) for row in rows)
    good.tell("bad-row", "a run and its group are non-empty strings", [row[:2] for row in rows], nameless)
    strange = (row[2] not in ROLES for row in rows)
    good.tell("unknown-role", f"a run is {' or '.join(ROLES)}", [row[2] for row in rows], strange)
    repeated = (run in runs[:place] for place, run in enumerate(runs))
    good.tell("repeated-run", "a run is listed twice", runs, repeated)
    if good.problems or not rows:
        problems = good.problems or [Problem("empty", "no run is listed")]
        raise ProblemsFound("these groups cannot be used", problems)
    return tuple(Member(str(run), str(group), role == "pooled") for run, group, role in rows)


def named_runs(runs: object) -> tuple[tuple[str, ...] | None, tuple[str | Run, ...]]:
    """The names of files, frames and mappings, where they were given, and the paths or runs themselves."""
    if is_path(runs) or is_frame(runs):
        runs = [runs]
    if not isinstance(runs, Mapping | Sequence):
        raise UsageError(f"runs are files, frames, or a mapping of name -> run, not {type(runs).__name__}")
    named = isinstance(runs, Mapping)
    found: list[str | Run] = []
    for name, one in runs.items() if isinstance(runs, Mapping) else (("", one) for one in runs):
        if named and not _is_word(name):
            raise UsageError(f"the name of a run is a non-empty string, not {quoted(name)}")
        inner = list(one.values()) if named and isinstance(one, Mapping) else []
        if inner and not any(isinstance(value, Mapping) for value in inner):
            raise UsageError("runs map names to runs; this looks like a single run: pass runs={'name': …}")
        found += [os.fspath(one)] if is_path(one) else runs_given(one, name=str(name))
    if not found:
        raise UsageError("no run to evaluate")
    return tuple(str(name) for name in runs) if named else None, tuple(found)


def is_path(value: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether this is the path of a file."""
    return isinstance(value, str | os.PathLike)


def _is_word(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


class _Good:
    """Which rows are good, and what is wrong with the others. Columns that are in order are taken as a whole."""

    def __init__(self, size: int, place: str) -> None:
        self.rows = np.ones(size, dtype=bool)
        self.problems: list[Problem] = []
        self._place = place

    def ids(self, values: Sequence[object]) -> pa.Array:
        """Ids as text; what is not an id becomes a question mark and is reported."""
        whole = _whole_column(values)
        if whole is not None:
            return whole
        texts = [
            str(value) if isinstance(value, str | int | np.integer) and not isinstance(value, bool) else None
            for value in values
        ]
        self.tell("bad-id", "an id is neither a string nor an integer", values, (not text for text in texts))
        texts = [text if text is None or _is_unicode(text) else None for text in texts]
        halves = (isinstance(value, str) and not _is_unicode(value) for value in values)
        self.tell("not-utf-8", "an id contains an unpaired surrogate", values, halves)
        unfit = (bool(text and (_CONTROL.search(text) or text.split() != [text])) for text in texts)
        self.tell("blank-in-id", "an id contains white space or a control character", values, unfit)
        return pa.array([text or "?" for text in texts], pa.large_string())

    def tell(self, code: str, said: str, values: Sequence[object], wrong: Iterable[bool] | Mask) -> None:
        """Add one problem for all rows that are wrong in this way, with the first of them."""
        places = np.flatnonzero(np.fromiter(wrong, dtype=bool, count=len(values)))
        if len(places):
            often = f" ({counted(len(places), 'row')})" if len(places) > 1 else ""
            message = f"{said}{often}: {quoted(values[int(places[0])])}"
            lines = tuple((places[:LINES_KEPT] + 1).tolist())
            self.problems.append(Problem(code, message, file=self._place, lines=lines, count=len(places)))
            self.rows[places] = False


def _numbers(values: Sequence[object]) -> Scores:
    """Numbers; NaN for what is none."""
    array = np.asarray(values)
    if array.dtype.kind in "fiu" and not (isinstance(values, list) and any(isinstance(one, bool) for one in values)):
        return np.asarray(array, dtype=np.float64)
    numbers = [_number(value) for value in values]
    return np.array([np.nan if number is None else number for number in numbers], dtype=np.float64)


def _whole_column(values: Sequence[object]) -> pa.Array | None:
    """A column of ids that are all text, or all whole numbers, and all fit; else None."""
    try:
        array = pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
        return None
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    kind = array.type
    texts = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)
    if array.null_count or not texts:
        return None
    ids = array.cast(pa.large_string())
    return None if pc.any(pc.match_substring_regex(ids, _UNFIT)).as_py() else ids


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _number(value: object) -> float | None:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf")
