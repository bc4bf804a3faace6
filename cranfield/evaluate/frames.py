"""Qrels, runs and groups given from Python, as frames, mappings or objects of others, and given back as such.

They are checked by the readers of files, and all errors are reported together. Rows count from 1. Ids are text; whole
numbers become their decimal digits, and anything else is refused: 7.0 is no topic. The columns of a frame may have
any of the names that files may give them. Objects of ranx and trectools are known by the names of their modules:
neither is imported unless one is wanted back.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, TypeGuard, get_args

import numpy as np
import pyarrow as pa

from cranfield.base.errors import Problem, ProblemsFound, UnknownName, UsageError, quoted
from cranfield.base.files import Source, located
from cranfield.base.tables import Columns, Findings
from cranfield.qrels.qrels import Qrels
from cranfield.qrels.reading import QRELS
from cranfield.qrels.reading import rows_of as qrels_rows
from cranfield.runs import check, reading, sets
from cranfield.runs.columns import LineNumbers, encoded
from cranfield.runs.reading import Member
from cranfield.runs.run import Run, ranked

if TYPE_CHECKING:
    import pandas

_TERRIER = ("qid", "docno")
"""PyTerrier's names: its frames also have the text of the query, and numbers of its own for documents."""


def is_frame(value: object) -> TypeGuard[pandas.DataFrame]:
    """Whether this is a pandas frame; pandas need not be imported for that."""
    return hasattr(value, "columns") and hasattr(value, "iloc")


def _is_foreign(value: object) -> bool:
    return type(value).__module__.partition(".")[0] in ("ranx", "trectools")


def _unpacked(value: Any) -> Any:
    """The mapping or frame in an object of ranx or trectools; anything else as it is."""
    if not _is_foreign(value):
        return value
    if hasattr(value, "to_dict"):
        return value.to_dict()
    data = value.run_data if hasattr(value, "run_data") else value.qrels_data
    if data is None:
        raise UsageError(f"the {type(value).__name__} of trectools is empty")
    return data.rename(columns={theirs: ours for ours, theirs in _SPELLED["trectools"].items()})


def qrels_given(value: object) -> Qrels:
    """The qrels that a frame (topic, document, grade) or a mapping of topic -> document -> grade means."""
    value = _unpacked(value)
    if is_frame(value):
        names = [str(column) for column in value.columns]
        roles = dict(QRELS.roles(names))
        if {*_TERRIER} <= {*names}:
            roles["topic"], roles["document"] = _TERRIER
        missing = [role for role in QRELS.needed if role not in roles]
        if missing:
            lacking = " or ".join(missing)
            raise UsageError(f"the frame of qrels has no column for {lacking}; it has {', '.join(names)}")
        columns = {role: _values(value, roles[role]) for role in QRELS.needed}
    else:
        columns = _flattened(value, "qrels are", "grade")
    texts = {role: _column(values, "whole" if role == "grade" else "id") for role, values in columns.items()}
    return qrels_rows(texts, np.arange(1, len(texts["grade"]) + 1), Findings(QRELS)).qrels("qrels")


def runs_given(value: object, *, name: str = "") -> list[Run]:
    """The runs that a frame (topic, document, score) or a mapping of topic -> document -> score means.

    A frame may have a column that names the run of each row, and then hold several; `name` names all of it instead.
    """
    if any("\ud800" <= letter <= "\udfff" for letter in name):
        raise UsageError(f"the name of a run contains an unpaired surrogate: {name!r}")
    place = f"run {quoted(name)}" if name else "a frame of runs"
    if is_frame(value):
        names = [str(column) for column in value.columns]
        usual = {*_TERRIER, "score", "rank", *reading.SPELLINGS["tag"]}
        known = reading.roles_of([one for one in names if one in usual] if {*_TERRIER} <= {*names} else names)
        if known is None:
            expected = reading.EXPECTED_COLUMNS
            raise UsageError(f"{place} lacks columns: found {', '.join(names)}; expected {expected}")
        unused = {"rank" if "score" in known else "score", "tag" if name else ""}
        columns = {role: _values(value, column) for role, column in known.items() if role not in unused}
    else:
        columns = _flattened(value, "a run is", "score")
    if not name and "tag" not in columns:
        raise UsageError("a run needs a name: pass runs={'bm25': …}, or a frame with a column 'run'")
    kinds: dict[str, Literal["id", "number", "whole"]] = {"score": "number", "rank": "whole"}
    parts = {role: pa.chunked_array([_column(values, kinds.get(role, "id"))]) for role, values in columns.items()}
    tag_ids, codes = encoded(parts["tag"] if "tag" in parts else pa.array([name] * len(parts["topic"]), pa.string()))
    problems, runs = [] if len(codes) else [Problem("empty", "no rows", file=place)], []
    for code, tag in enumerate(tag_ids.to_pylist()):
        kept = np.flatnonzero(codes == code)
        own, lines = parts, LineNumbers()
        if len(kept) < len(codes):
            own = {role: one.take(kept) for role, one in parts.items()}
            lines = LineNumbers.of_rows((kept + 1).tolist())
        rows = replace(reading.rows_of(_source(place), own, lines, Findings(reading.RUN)), tags=((tag, 1),))
        found = (*rows.problems, *(problem.at(place) for problem in check.repeat_problems(rows)))
        problems += [problem for problem in found if problem.is_error]
        runs.append(rows)
    if problems:
        raise ProblemsFound(f"{place} cannot be evaluated", problems)
    return [ranked(rows) for rows in runs]


def _source(name: str) -> Source:
    """What readers of files ask of one, for what is none."""
    source: Any = SimpleNamespace(name=name, stem="", file_sha256="")
    return source  # type: ignore[no-any-return]


def _values(frame: pandas.DataFrame, name: str) -> Any:
    """A column; two of one name are refused."""
    column: Any = frame[name]
    if column.ndim != 1:
        raise UsageError(f"the frame has several columns called {quoted(name)}")
    return column.array


def _flattened(value: object, noun: str, number: str) -> dict[str, Sequence[object]]:
    """Topic -> document -> number as columns."""
    wanted = f"{noun} a mapping of topic -> document -> {number}, or a pandas frame"
    if not isinstance(value, Mapping):
        raise UsageError(f"{wanted}, not {type(value).__name__}")
    for topic, inner in value.items():
        if not isinstance(inner, Mapping):
            raise UsageError(f"{wanted}; topic {quoted(topic)} has {type(inner).__name__} instead of documents")
    rows = [(topic, document, one) for topic, inner in value.items() for document, one in inner.items()]
    return {role: [row[place] for row in rows] for place, role in enumerate(("topic", "document", number))}


def _column(values: Sequence[object], kind: Literal["id", "number", "whole"]) -> pa.Array:
    """A column as the readers of files take it: text, numbers as doubles. What is unfit is for them to tell."""
    try:
        array = pa.array(values, from_pandas=kind == "id")
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
        has_truth = isinstance(values, list) and any(isinstance(one, bool) for one in values)  # Arrow would count it
        if kind != "id" and pa.types.is_floating(array.type) and not has_truth:
            if kind == "number":
                return array.cast(pa.float64())
            array = array.cast(pa.int64())
        is_text = pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
        if not array.null_count and (is_text or pa.types.is_integer(array.type)):
            return array.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
        pass
    words = []
    for value in values:
        is_id = isinstance(value, str | int | np.integer) and not isinstance(value, bool)
        is_whole = kind == "whole" and isinstance(value, float) and value.is_integer()
        word = str(int(value)) if is_whole else str(value)  # type: ignore[call-overload]
        if (kind == "id" and not is_id) or not word.isprintable():
            word = reading.NO_ID.format(value)
        words.append(word)
    return pa.array(words, pa.large_string())


def groups_given(value: object) -> tuple[Member, ...]:
    """The runs with their groups.

    A file has run tag, group and `pooled` or `new` on each line; a frame has the columns run, group and, where some
    runs are new, role; a mapping of run -> group names the runs that were pooled. All errors are reported together.
    """
    if is_path(value):
        return reading.read_groups(Source(located(value)))
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
    table = Columns.of(_source("groups"), reading.GROUPS)
    for line, row in enumerate(rows, start=1):
        if all(map(_is_word, row[:2])):
            table.add(line, map(str, row))
        else:
            meaning = "a run and its group are non-empty strings"
            table.findings.add("bad-row", [line], example=str(row[:2]), meaning=meaning)
    return reading.members_in(table)


def named_runs(runs: object) -> tuple[tuple[str, ...] | None, tuple[str | Run, ...]]:
    """The names of files, frames and mappings, where they were given, and the paths or runs themselves."""
    if is_path(runs) or is_frame(runs) or _is_foreign(runs):
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
        words = sets.expanded([os.fspath(one)]) if is_path(one) else []
        if named and len(words) > 1:
            raise UsageError(f"{quoted(name)} names {len(words):,} runs; pass the set or the pattern without a name")
        own_name = getattr(one, "name", None) if _is_foreign(one) else None
        found += words or runs_given(_unpacked(one), name=str(name or own_name or ""))
    if not found:
        raise UsageError("no run to evaluate")
    return tuple(str(name) for name in runs) if named else None, tuple(found)


def is_path(value: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether this is the path of a file."""
    return isinstance(value, str | os.PathLike)


def _is_word(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


# What is given back: a frame with our names, or what another library takes.

Form = Literal["frame", "pyterrier", "ir_measures", "ranx", "trectools"]

_SPELLED = {
    "pyterrier": {"topic": "qid", "document": "docno", "grade": "label"},
    "ir_measures": {"topic": "query_id", "document": "doc_id", "grade": "relevance"},
    "trectools": {"topic": "query", "document": "docid", "grade": "rel", "run": "system"},
}


def given_back(rows: Qrels | Run, form: Form) -> Any:
    """Qrels as topic, document and grade, or a run as run, topic, document, rank and score, best first.

    As a frame, or in the form that another library takes.
    """
    import pandas as pd

    if is_run := isinstance(rows, Run):
        counts = np.diff(rows.offsets)
        columns = {
            "run": rows.tag,
            "topic": np.repeat(rows.topic_ids.to_pylist(), counts),
            "document": rows.document_ids.take(pa.array(rows.documents)).to_pylist(),
            "rank": np.arange(1, rows.row_count + 1) - np.repeat(rows.offsets[:-1], counts),
            "score": rows.scores,
        }
        frame = pd.DataFrame(columns)
    else:
        frame = pd.DataFrame(list(rows), columns=["topic", "document", "grade"])
    if form == "frame":
        return frame
    if form == "ranx":
        import ranx

        number = "score" if is_run else "grade"
        nested: dict[str, dict[str, Any]] = {}
        for topic, document, value in zip(frame["topic"], frame["document"], frame[number], strict=True):
            nested.setdefault(topic, {})[document] = value
        return ranx.Run(nested, name=rows.tag) if isinstance(rows, Run) else ranx.Qrels(nested)
    if form not in _SPELLED:
        raise UnknownName("form", form, get_args(Form))
    renamed = frame.rename(columns=_SPELLED[form])
    if form == "trectools":
        import trectools

        given = trectools.TrecRun() if is_run else trectools.TrecQrel()
        data = renamed.assign(q0="Q0" if is_run else "0")
        order = ("query", "q0", "docid", *(("rank", "score", "system") if is_run else ("rel",)))
        setattr(given, "run_data" if is_run else "qrels_data", data[list(order)])
        return given
    if form == "pyterrier" and is_run:
        return renamed.assign(rank=renamed["rank"] - 1)  # it counts from 0
    return renamed
