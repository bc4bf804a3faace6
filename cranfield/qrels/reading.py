"""Qrels files of any known format become qrels."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.base.errors import LINES_KEPT, InputError, Problem, ProblemsFound, quoted
from cranfield.base.files import Source
from cranfield.base.lazy import deferred
from cranfield.base.registry import Registry
from cranfield.base.text import counted
from cranfield.qrels.qrels import Grades, Qrels, pair_keys, sorted_qrels
from cranfield.runs.columns import encoded
from cranfield.runs.run import Codes, LineNumbers, joined_text

with deferred:
    import pyarrow.compute as pc


# What a qrels format is: a class that recognises, reads and writes one kind of file.


class QrelsFormat(Protocol):
    """One kind of qrels file.

    `summary` says in one line what the file looks like. Nothing here may need pyarrow before `read` or `write`
    is called: the list of formats is shown without it.
    """

    summary: str

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Say whether the first bytes of a file look like this format."""

    @staticmethod
    def read(source: Source) -> QrelsRows:
        """Read the whole file; what is wrong with it goes into the rows' `problems`."""

    @staticmethod
    def write(qrels: Qrels, stream: BinaryIO) -> None:
        """Write qrels so that reading them gives the same qrels."""


qrels_formats: Registry[type[QrelsFormat]] = Registry(
    "qrels format", package="cranfield.qrels.formats", group="cranfield.qrels_formats"
)


_COLUMNS_OF_A_RUN = 6


def read_qrels(source: Source, *, format: str | None = None) -> Qrels:
    """Read a qrels file in the named format, or in the one its first bytes look like.

    Whatever is wrong with it is raised at once as `ProblemsFound`, each problem with its lines.
    """
    return format_of(source, format=format).read(source).qrels()


def format_of(source: Source, *, format: str | None = None) -> type[QrelsFormat]:
    """Give the named format, or the one that recognises the file. An empty file is read as TREC and refused there."""
    if format is not None:
        return qrels_formats.get(format)
    head = source.head()
    if not head.strip():
        return qrels_formats.get("trec")
    known = qrels_formats.first(lambda format: format.sniff(head, source.name))
    if known is not None:
        return known
    expected = "; ".join(f"{name}: {one.summary}" for name, one in qrels_formats.items())
    unknown = Problem(
        "unknown-format",
        f"the format was not recognised: {_first_row(head)}; expected one of: {expected}",
        file=source.name,
    )
    raise ProblemsFound(f"{source.name}: this is not a qrels file of a known format", [unknown])


def _first_row(head: bytes) -> str:
    """Say what the first row looks like, and what it would be in a run."""
    columns = len(head.strip().split(b"\n", 1)[0].split())
    said = f"its first row has {counted(columns, 'column')}"
    return f"{said}, as a run has: were qrels and run mixed up" if columns == _COLUMNS_OF_A_RUN else said


# The names under which files call topic, document and grade, and who gave it when.


_ROLES = {
    "topic": ("topic", "topic_id", "query", "query_id", "qid", "q_id"),
    "document": ("document", "document_id", "doc", "doc_id", "docid", "docno", "did", "corpus_id", "pid"),
    "grade": ("grade", "relevance", "rel", "score", "label", "judgment", "judgement"),
}
_BESIDE = {
    "assessor": ("assessor", "assessor_id", "judge", "annotator", "rater", "user", "worker"),
    "time": ("time", "timestamp", "date", "happened", "judged_at", "created_at"),
    "note": ("note", "comment", "remark", "explanation", "rationale"),
}
_BESIDE_BY_NAME = {name: role for role, names in _BESIDE.items() for name in names}
_BY_NAME = {name: role for role, names in _ROLES.items() for name in names}


def role_of(name: str) -> str | None:
    """Say what a column called `name` holds: topic, document or grade; None for anything else."""
    return _BY_NAME.get(_plain(name))


def role_in_judgments(name: str) -> str | None:
    """Say the same for a file of judgments, in which there may also be an assessor, a time and a note."""
    return _BY_NAME.get(_plain(name)) or _BESIDE_BY_NAME.get(_plain(name))


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "_")


# Everything qrels can be refused for, each with its stable code.

REFUSALS: dict[str, tuple[str, str]] = {
    "empty": ("the file holds no judgment", "give a file with at least one judged document"),
    "too-few-columns": ("a line has too few columns", "write topic, iteration, document and grade on each line"),
    "too-many-columns": ("a line has too many columns", "write topic, iteration, document and grade on each line"),
    "missing-field": ("a row has no topic, document or grade", "fill the field or remove the row"),
    "bad-row": ("a row cannot be parsed at all", "write one JSON object, or one CSV row, per line"),
    "not-utf-8": ("a line is not UTF-8", "convert the file to UTF-8 first"),
    "control-character": ("a line holds a control character", "remove the character: ids are visible text"),
    "lone-carriage-return": ("a carriage return stands alone, not before a line feed", "end lines with a line feed"),
    "blank-in-id": ("an id holds white space", "rename the id: TREC files divide columns by white space"),
    "grade-not-an-integer": (
        "a grade is not a whole number of at most nine digits",
        "write grades like 0, 1 or 2; a grade below 0 means pooled but not judged",
    ),
    "repeated-pair": ("a topic and document are judged more than once", "keep one row of each pair"),
    "judged-twice": (
        "an assessor judged a topic and document more than once, at no time or the same",
        "keep one row, or give each its time",
    ),
    "bad-time": ("a time cannot be read", "write ISO 8601, like 2026-01-31T17:30Z"),
    "bad-assessor": ("the name of an assessor is not one printable line", "give a name of 1 to 80 letters"),
    "off-the-scale": ("a grade is not on the scale of this collection", "map the grades of the file to the scale"),
    "unknown-topic": ("a topic is not in this collection", "add it with cranfield corpus topics FILE"),
    "unknown-document": ("a document is not in this collection", "add it with cranfield corpus add FILE"),
}
"""Code, what it means, and what to do about it."""


def refusal(code: str, *, lines: Iterable[int] = (), count: int = 1, example: str = "", topic: str = "") -> Problem:
    """Give a problem with the words of the table; `example` is what was seen first."""
    meaning, remedy = REFUSALS[code]
    kept = tuple(int(line) for line, _ in zip(lines, range(LINES_KEPT), strict=False))
    seen = f": {quoted(example)}" if example else ""
    often = f" ({counted(count, 'line')})" if count > 1 else ""
    return Problem(code, f"{meaning}{often}{seen}", lines=kept, count=count, topic=topic, remedy=remedy)


@dataclass
class Refusals:
    """What a reader finds wrong while it goes through a file, gathered per code, in the order of the file."""

    _found: dict[str, tuple[list[int], str]] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def add(self, code: str, lines: Iterable[int], *, example: str = "") -> None:
        """Note that `code` occurs on some lines; `example` is what stands on the first."""
        places = [int(line) for line in lines]
        if not places:
            return
        kept, _ = self._found.setdefault(code, ([], example))
        kept.extend(places[: LINES_KEPT - len(kept)])
        self._counts[code] = self._counts.get(code, 0) + len(places)

    def problems(self) -> tuple[Problem, ...]:
        """Give one problem per code, in the order of the table."""
        return tuple(
            refusal(code, lines=self._found[code][0], count=self._counts[code], example=self._found[code][1])
            for code in REFUSALS
            if code in self._found
        )


# The rows of a qrels file as they stand there, and how they become qrels.

_INTEGER = r"^[+-]?[0-9]{1,9}$"
_BLANK = r"\s"


@dataclass(frozen=True, eq=False)
class QrelsRows:
    """Judgments in the order of the file. Lines that give no row are listed in `problems`.

    `plain` means that every line of the file is a row with one blank or tab between its columns: no comment, blank
    line, carriage return or anything else that readers disagree about.
    """

    topic_ids: pa.Array
    topics: Codes
    document_ids: pa.Array
    documents: Codes
    grades: Grades
    strata: Codes | None = None
    stratum_names: tuple[str, ...] = ()
    lines: LineNumbers = field(default_factory=LineNumbers)
    problems: tuple[Problem, ...] = ()
    source_name: str = ""
    plain: bool = False

    def qrels(self) -> Qrels:
        """Give the qrels, or everything that is wrong with the rows."""
        problems = [*self.problems, *self.repeats()]
        if not len(self.grades) and not problems:
            problems = [refusal("empty")]
        if problems:
            placed = [problem.at(self.source_name) for problem in problems]
            raise ProblemsFound(f"{self.source_name}: these qrels cannot be used", placed)
        return sorted_qrels(
            (self.topic_ids, self.topics),
            (self.document_ids, self.documents),
            self.grades,
            strata=self.strata,
            stratum_names=self.stratum_names,
            name=self.source_name,
        )

    def repeats(self) -> list[Problem]:
        """Give a problem for the rows whose pair stands in an earlier row, even with the same grade."""
        keys = pair_keys(self.topics, self.documents)
        in_order = np.sort(keys)
        if not (in_order[1:] == in_order[:-1]).any():
            return []
        order = np.argsort(keys, kind="stable")
        again = np.sort(order[1:][keys[order][1:] == keys[order][:-1]])
        first = int(again[0])
        topic = self.topic_ids[int(self.topics[first])].as_py()
        document = self.document_ids[int(self.documents[first])].as_py()
        lines = self.lines.of(again)
        example = f"{topic} {document}"
        return [refusal("repeated-pair", lines=lines, count=len(again), example=example, topic=topic)]


def grades_of(texts: pa.Array) -> tuple[Grades, NDArray[np.bool_]]:
    """Read grades from text: whole numbers of at most nine digits. Gives the grades and which rows have one."""
    from cranfield.runs.columns import matching, read

    whole = matching(texts, _INTEGER)
    return read(texts, whole, pa.int32()), whole


def rows_of_texts(
    columns: dict[str, pa.Array], *, lines: NDArray[np.int64], findings: Refusals, source_name: str
) -> QrelsRows:
    """Make rows of columns of text (topic, document, grade); `lines` are the line numbers of the rows."""
    from cranfield.runs.columns import matching

    grades, good = grades_of(columns["grade"])
    if not good.all():
        bad = np.flatnonzero(~good)
        findings.add("grade-not-an-integer", lines[bad], example=columns["grade"][int(bad[0])].as_py())
    for name in ("topic", "document"):
        blank = matching(columns[name], _BLANK)
        if blank.any():
            findings.add("blank-in-id", lines[blank], example=columns[name][int(np.flatnonzero(blank)[0])].as_py())
    kept = pa.array(good)
    topic_ids, topics = encoded(pa.chunked_array([columns["topic"].filter(kept)]))
    document_ids, documents = encoded(pa.chunked_array([columns["document"].filter(kept)]))
    all_lines = np.arange(1, (int(lines[-1]) if len(lines) else 0) + 1)
    return QrelsRows(
        topic_ids=topic_ids,
        topics=topics,
        document_ids=document_ids,
        documents=documents,
        grades=grades[good],
        lines=LineNumbers(np.setdiff1d(all_lines, lines[good])),
        problems=findings.problems(),
        source_name=source_name,
    )


JUNK = -2
"""The grade under which TREC's web tracks have spam: judged, and no use to anybody; read as not judged here."""


def contents(qrels: Qrels) -> str:
    """Say how many judgments there are, on how many topics, and what the other rows are."""
    judged = int(np.count_nonzero(qrels.grades >= 0))
    junk = int(np.count_nonzero(qrels.grades <= JUNK))
    pooled = len(qrels) - judged - junk
    parts = [f"{counted(judged, 'judgment')} on {counted(len(qrels.topic_ids), 'topic')}"]
    parts += [f"{pooled:,} pooled but not judged"] if pooled else []
    parts += [f"{junk:,} junk (grade {JUNK} or below)"] if junk else []
    return ", ".join(parts)


def summary(qrels: Qrels) -> str:
    """Give one line that says what the qrels hold."""
    judged = int(np.count_nonzero(qrels.grades >= 0))
    topics = counted(len(qrels.topic_ids), "topic")
    return f"{counted(judged, 'judgment')} on {topics}, qrels {qrels.content_hash[:12]}"


# How files with named columns are read: JSON lines, CSV and TSV.

_ROLES_NAMED_READING = ("topic", "document", "grade")
_Row = tuple[int, dict[str, str]]


def read_json_lines(source: Source) -> QrelsRows:
    """Read objects, one per line; blank lines are passed over."""
    findings = Refusals()
    return _gathered(_objects(source, findings), findings, source)


def read_separated(source: Source, *, delimiter: str) -> QrelsRows:
    """Read rows under a header that names at least topic, document and grade."""
    findings = Refusals()
    return _gathered(_records(source, delimiter, findings), findings, source)


def _objects(source: Source, findings: Refusals) -> Iterator[_Row]:
    for number, line in source.lines():
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if not isinstance(record, dict):
            findings.add("bad-row", [number], example=line)
            continue
        named = {role_of(str(name)): value for name, value in record.items()}
        yield number, {role: _text(named.get(role)) for role in _ROLES_NAMED_READING}


def _text(value: object) -> str:
    """Give a JSON value as the text it would have in a table: numbers as they are written, nothing for null."""
    if value is None or isinstance(value, bool | list | dict):
        return "" if value is None else json.dumps(value)
    return str(value)


def _records(source: Source, delimiter: str, findings: Refusals) -> Iterator[_Row]:
    lines = source.lines()
    header: dict[str, int] = {}
    for number, line in lines:
        if not line.strip():
            continue
        words = _split(line, delimiter)
        if not header:
            header = _header(words, source)
        elif len(words) <= max(header.values()):
            findings.add("missing-field", [number], example=line)
        else:
            yield number, {role: words[place].strip() for role, place in header.items()}


def _split(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter), [])


def _header(words: Iterable[str], source: Source) -> dict[str, int]:
    header: dict[str, int] = {}
    for place, word in enumerate(words):
        role = role_of(word)
        if role is not None:
            header.setdefault(role, place)
    missing = [role for role in _ROLES_NAMED_READING if role not in header]
    if missing:
        message = f"no column for {' or '.join(quoted(role) for role in missing)} in the header"
        problem = refusal("missing-field", lines=[1], example=message).at(source.name)
        raise ProblemsFound(f"{source.name}: {message}", [problem])
    return header


def _gathered(rows: Iterator[_Row], findings: Refusals, source: Source) -> QrelsRows:
    kept: list[dict[str, str]] = []
    lines: list[int] = []
    for number, row in rows:
        if not all(row.values()):
            findings.add("missing-field", [number], example=str(row))
            continue
        kept.append(row)
        lines.append(number)
    columns = {role: pa.array([row[role] for row in kept], pa.string()) for role in _ROLES_NAMED_READING}
    return rows_of_texts(columns, lines=np.array(lines, dtype=np.int64), findings=findings, source_name=source.name)


# How qrels are written: in parts, as joined columns, so that reading gives the same qrels.

_TEXT = pa.large_string()
_ROWS_AT_ONCE = 1 << 18


def write_trec(qrels: Qrels, stream: BinaryIO) -> None:
    """Write topic, 0, document and grade with one blank between; with a stratum before the grade for a sample."""
    commented = pc.starts_with(qrels.topic_ids, pattern="#").to_numpy(zero_copy_only=False)
    if commented.any():
        topic = qrels.topic_ids[int(np.flatnonzero(commented)[0])].as_py()
        raise InputError(f"topic {quoted(topic)} cannot stand in a TREC file: # begins a comment; write JSON lines")
    for part in _columns(qrels):
        words = [part["topic"], pa.scalar("0", _TEXT), part["document"]]
        words += [part["stratum"]] if "stratum" in part else []
        stream.write(_lines(words, part["grade"], " "))


def write_json_lines(qrels: Qrels, stream: BinaryIO) -> None:
    """Write one object per judgment."""
    for part in _columns(_renamed(qrels, json.dumps)):
        words = [pa.scalar('{"topic": ', _TEXT), part["topic"], pa.scalar(', "document": ', _TEXT), part["document"]]
        words += [pa.scalar(', "grade": ', _TEXT), part["grade"]]
        stream.write(_lines(words, pa.scalar("}", _TEXT), ""))


def write_separated(qrels: Qrels, stream: BinaryIO, *, delimiter: str, header: tuple[str, str, str]) -> None:
    """Write a header and rows; ids are quoted where that is needed and nowhere else."""
    stream.write((delimiter.join(header) + "\n").encode())

    def quoted_where_needed(word: str) -> str:
        doubled = word.replace('"', '""')
        return f'"{doubled}"' if delimiter in word or '"' in word else word

    for part in _columns(_renamed(qrels, quoted_where_needed)):
        stream.write(_lines([part["topic"], part["document"]], part["grade"], delimiter))


def _columns(qrels: Qrels) -> Iterator[dict[str, pa.Array]]:
    for rows in _slices(qrels):
        part = {
            "topic": qrels.topic_ids.cast(_TEXT).take(pa.array(qrels.topic_of_row[rows])),
            "document": qrels.document_ids.cast(_TEXT).take(pa.array(qrels.documents[rows])),
            "grade": pc.cast(pa.array(qrels.grades[rows]), _TEXT),
        }
        if qrels.strata is not None:
            part["stratum"] = pa.array(qrels.stratum_names, _TEXT).take(pa.array(qrels.strata[rows]))
        yield part


def _slices(qrels: Qrels) -> Iterator[slice]:
    return (slice(start, start + _ROWS_AT_ONCE) for start in range(0, len(qrels), _ROWS_AT_ONCE))


def _lines(words: list[pa.Array], last: pa.Array, between: str) -> bytes:
    joined = pc.binary_join_element_wise(*words, last, pa.scalar(between, _TEXT))
    ended = pc.binary_join_element_wise(joined, pa.scalar("\n", _TEXT), pa.scalar("", _TEXT))
    return bytes(joined_text(ended))


def _renamed(qrels: Qrels, spell: Callable[[str], str]) -> Qrels:
    """Give qrels whose ids are spelled otherwise; they may no longer be in order, which writing does not need."""
    topics, documents = ([spell(word) for word in ids.to_pylist()] for ids in (qrels.topic_ids, qrels.document_ids))
    return replace(qrels, topic_ids=pa.array(topics, _TEXT), document_ids=pa.array(documents, _TEXT))
