"""Files of judgments: qrels, or tables that also say who gave a grade, when, and why."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from cranfield.base.errors import Problem, ProblemsFound, quoted
from cranfield.base.files import Source
from cranfield.qrels.qrels import Qrels, qrels_of
from cranfield.qrels.reading import Refusals, format_of, read_qrels, refusal, role_in_judgments

_NEEDED = ("topic", "document", "grade")
_ROLES = (*_NEEDED, "assessor", "time", "note")
_LARGEST_GRADE = 9
_DELIMITERS = {"CommaSeparated": ",", "TabSeparated": "\t"}


@dataclass(frozen=True, slots=True)
class Given:
    """One judgment as a file has it; assessor, time and note are empty where the file does not say."""

    line: int
    topic: str
    document: str
    grade: int
    assessor: str = ""
    time: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class GivenJudgments:
    """All judgments of a file in its order, and what is wrong with the other rows."""

    rows: tuple[Given, ...]
    problems: tuple[Problem, ...]


def read_judgments(source: Source, *, format: str | None = None) -> GivenJudgments:
    """Read a file of judgments; a table may have the columns assessor, time and note beside the three of qrels.

    Whether somebody judged a document twice is for the reader of the rows to say: it hangs on who and when.
    """
    kind = format_of(source, format=format).__name__
    findings = Refusals()
    if kind == "JsonLines":
        return _gathered(_objects(source, findings), findings)
    if kind in _DELIMITERS:
        return _gathered(_table(source, _DELIMITERS[kind], findings), findings)
    rows = format_of(source, format=format).read(source)
    problems = rows.problems or (() if len(rows.grades) else (refusal("empty"),))
    topics, documents = rows.topic_ids.to_pylist(), rows.document_ids.to_pylist()
    lines = rows.lines.of(np.arange(len(rows.grades)))
    columns = zip(lines, rows.topics, rows.documents, rows.grades, strict=True)
    given = (Given(int(line), topics[topic], documents[name], int(grade)) for line, topic, name, grade in columns)
    return GivenJudgments(tuple(given), problems)


def _objects(source: Source, findings: Refusals) -> Iterator[tuple[int, Mapping[str, str]]]:
    for number, line in source.lines():
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            findings.add("bad-row", [number], example=line)
            continue
        named = {role_in_judgments(str(name)): value for name, value in record.items()}
        yield number, {role: _text(named.get(role)) for role in _ROLES}


def _text(value: object) -> str:
    if value is None or isinstance(value, bool | list | dict):
        return "" if value is None else json.dumps(value)
    return str(value)


def _table(source: Source, delimiter: str, findings: Refusals) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Give the rows of a table; a note in quotes may go over several lines."""
    header: dict[str, int] = {}
    for line, words in _records(source, delimiter, findings):
        if not any(word.strip() for word in words):
            continue
        if not header:
            header = _header(words, source)
        elif len(words) <= max(header[role] for role in _NEEDED):
            findings.add("missing-field", [line], example=delimiter.join(words))
        else:
            yield line, {role: words[place].strip() for role, place in header.items() if place < len(words)}


def _records(source: Source, delimiter: str, findings: Refusals) -> Iterator[tuple[int, list[str]]]:
    """Give (line it begins on, cells) of each record."""
    reader = csv.reader((f"{line}\n" for _, line in source.lines()), delimiter=delimiter)
    while True:
        line = reader.line_num + 1
        try:
            yield line, next(reader)
        except StopIteration:
            return
        except csv.Error:
            findings.add("bad-row", [line])


def _header(words: list[str], source: Source) -> dict[str, int]:
    header: dict[str, int] = {}
    for place, word in enumerate(words):
        role = role_in_judgments(word)
        if role is not None:
            header.setdefault(role, place)
    missing = [role for role in _NEEDED if role not in header]
    if missing:
        message = f"no column for {' or '.join(quoted(role) for role in missing)} in the header"
        problem = refusal("missing-field", lines=[1], example=message).at(source.name)
        raise ProblemsFound(f"{source.name}: {message}", [problem])
    return header


def _gathered(rows: Iterator[tuple[int, Mapping[str, str]]], findings: Refusals) -> GivenJudgments:
    given = []
    for line, row in rows:
        if not all(row.get(role) for role in _NEEDED):
            findings.add("missing-field", [line], example=str(dict(row)))
        elif not _is_whole(row["grade"]):
            findings.add("grade-not-an-integer", [line], example=row["grade"])
        elif any(len(row[role].split()) != 1 for role in ("topic", "document")):
            findings.add("blank-in-id", [line], example=f"{row['topic']} {row['document']}")
        else:
            beside = (row.get(role, "") for role in ("assessor", "time", "note"))
            given.append(Given(line, row["topic"], row["document"], int(row["grade"]), *beside))
    problems = findings.problems()
    return GivenJudgments(tuple(given), problems if given or problems else (refusal("empty"),))


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-").removeprefix("+")
    return digits.isascii() and digits.isdigit() and len(digits) <= _LARGEST_GRADE


# Qrels whose second column means something: the subtopic a document was judged for, as diversity measures want.

_COLUMNS = 4


class SubtopicRow(NamedTuple):
    """One judgment: how far a document is relevant to a subtopic of a topic."""

    topic: str
    subtopic: str
    document: str
    grade: int


def read_subtopics(source: Source) -> tuple[list[SubtopicRow], Qrels, str]:
    """Read qrels with their subtopics; gives the rows, qrels with the best grade of each document, and a hash.

    The hash is that of the qrels where each document is judged once, as always; else it covers the subtopics too.
    """
    try:
        qrels = read_qrels(source)
    except ProblemsFound as error:
        if [problem.code for problem in error.problems] != ["repeated-pair"] or format_of(source).__name__ != "Trec":
            raise
        rows = _rows(source)
        _refuse_repeats(rows, source.name)
        return rows, _best(rows, source.name), _hash(rows)
    if format_of(source).__name__ != "Trec" or qrels.strata is not None:
        return (
            [SubtopicRow(topic, "0", document, grade) for topic, document, grade in qrels],
            qrels,
            qrels.content_hash,
        )
    return _rows(source), qrels, qrels.content_hash


def _rows(source: Source) -> list[SubtopicRow]:
    """Take apart lines that have been found sound."""
    rows = []
    for _, line in source.lines():
        words = line.split()
        if len(words) == _COLUMNS and not line.startswith("#"):
            rows.append(SubtopicRow(words[0], words[1], words[2], int(words[3])))
    return rows


def _refuse_repeats(rows: list[SubtopicRow], name: str) -> None:
    seen: set[tuple[str, str, str]] = set()
    for row in rows:
        if row[:3] in seen:
            problem = refusal("repeated-pair", example=" ".join(row[:3]), topic=row.topic).at(name)
            raise ProblemsFound(f"{name}: these qrels cannot be used", [problem])
        seen.add(row[:3])


def _best(rows: list[SubtopicRow], name: str) -> Qrels:
    best: dict[tuple[str, str], int] = {}
    for row in rows:
        pair = (row.topic, row.document)
        best[pair] = max(best.get(pair, row.grade), row.grade)
    return qrels_of([(topic, document, grade) for (topic, document), grade in best.items()], name=name)


def _hash(rows: list[SubtopicRow]) -> str:
    digest = sha256(b"cranfield-subtopics-1\n")
    for line in sorted(f"{row.topic}\t{row.subtopic}\t{row.document}\t{row.grade}\n".encode() for row in rows):
        digest.update(line)
    return digest.hexdigest()
