"""Files of judgments: qrels of any known format, tables that also say who judged and when, qrels with subtopics."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from operator import attrgetter
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa

from cranfield.base.errors import Problem, ProblemsFound
from cranfield.base.files import Source
from cranfield.base.registry import Format, deferred
from cranfield.base.tables import LINE_FAULTS, Columns, Fault, Findings, Schema, csv_rows, read_table
from cranfield.base.text import cell_as_meant, counted
from cranfield.qrels.qrels import Grades, Qrels, pair_keys, qrels_formats, qrels_of, sorted_qrels
from cranfield.runs.columns import Codes, LineNumbers, Mask, Places, encoded, named, repeats
from cranfield.runs.reading import matching, numbers_in, unfit_ids

with deferred:
    from cranfield.corpus import datasets

_COLUMNS_OF_A_RUN = 6


def read_qrels(source: Source, *, format: str | None = None) -> Qrels:
    """Read a qrels file in the named format, or in the one its first bytes look like.

    Whatever is wrong with it is raised at once as `ProblemsFound`, each problem with its lines.
    """
    if source.data_set:
        table = Columns.of(source, QRELS)
        for number, one in enumerate(datasets.DataSet(source.data_set).each("qrels"), start=1):
            table.add(number, (one.query_id, one.doc_id, str(one.relevance)))
        return rows_in(table).qrels(source.name)
    rows: QrelsRows = format_of(source, format=format).read(source)
    return rows.qrels(source.name)


def format_of(source: Source, *, format: str | None = None) -> Format:
    """The named format, or the one that recognises the file. An empty file is taken for TREC's, and refused there."""
    if format is not None:
        return qrels_formats.get(format)
    head = source.head()
    for known in qrels_formats.in_turn():
        if known.sniff(head, source.name):
            return known
    columns = len(head.strip().split(b"\n", 1)[0].split())
    mixed = ", as a run has (were qrels and run swapped?)" if columns == _COLUMNS_OF_A_RUN else ""
    expected = "; ".join(f"{name}: {one.summary}" for name, one in qrels_formats.items())
    message = f"unknown format: the first row has {counted(columns, 'column')}{mixed}"
    unknown = Problem("unknown-format", f"{message}; expected one of: {expected}", file=source.name)
    raise ProblemsFound(f"{source.name}: not a qrels file of a known format", [unknown])


# What the columns are called, and everything qrels can be refused for, each with its stable code.

SPELLINGS = {
    "topic": ("topic", "topic_id", "query", "query_id", "qid", "q_id"),
    "document": ("document", "document_id", "doc", "doc_id", "docid", "docno", "did", "corpus_id", "pid"),
    "grade": ("grade", "relevance", "rel", "score", "label", "judgment", "judgement"),
}
"""The usual spellings of each column, best first."""

FAULTS = (
    Fault("empty", "the file has no judgments", "use a file with at least one judgment"),
    Fault("too-few-columns", "a line has too few columns", "write topic, iteration, document and grade on each line"),
    Fault(
        "too-many-columns", "a line has too many columns", "write topic, iteration, document and grade on each line"
    ),
    Fault("missing-field", "a row has no topic, document or grade", "fill in the field or remove the row"),
    *LINE_FAULTS,
    Fault("blank-in-id", "an id contains white space", "rename the id: TREC files separate columns by white space"),
    Fault(
        "grade-not-an-integer",
        "a grade is not an integer of at most nine digits",
        "use grades like 0, 1 or 2; below 0 means pooled but not judged",
    ),
    Fault("repeated-pair", "a topic and document are judged more than once", "keep one row of each pair"),
    Fault(
        "judged-twice",
        "an assessor judged a topic and document more than once, without a time or at the same time",
        "keep one row, or add the time of each",
    ),
    Fault("bad-time", "a time cannot be parsed", "use ISO 8601, like 2026-01-31T17:30Z"),
    Fault("bad-assessor", "an assessor name is not printable text", "use a name of 1 to 80 characters"),
    Fault(
        "off-the-scale", "a grade is not on the scale of this collection", "map the grades in the file to the scale"
    ),
    Fault("unknown-topic", "a topic is not in this collection", "add it with cranfield corpus topics FILE"),
    Fault("unknown-document", "a document is not in this collection", "add it with cranfield corpus add FILE"),
)

QRELS = Schema(SPELLINGS, FAULTS, needed=("topic", "document", "grade"))

refusal = QRELS.problem
Refusals = partial(Findings, QRELS)

# The rows of a qrels file as they stand there, and how they become qrels.

GRADE_LIMIT = 10**9
_INTEGER = r"^[+-]?[0-9]{1,9}$"


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
    plain: bool = False

    def qrels(self, name: str) -> Qrels:
        """The qrels, or an error with everything that is wrong: a pair is judged once, even if the grades agree."""
        problems = list(self.problems)
        made = sorted_qrels(
            (self.topic_ids, self.topics),
            (self.document_ids, self.documents),
            self.grades,
            strata=self.strata,
            stratum_names=self.stratum_names,
            name=name,
        )
        pairs = pair_keys(made.topic_of_row, made.documents)
        if (pairs[1:] == pairs[:-1]).any():
            again = repeats(pair_keys(self.topics, self.documents))
            first = int(again[0])
            topic = self.topic_ids[int(self.topics[first])].as_py()
            example = f"{topic} {self.document_ids[int(self.documents[first])].as_py()}"
            lines = self.lines.of(again)
            problems.append(refusal("repeated-pair", lines=lines, example=example, topic=topic))
        if not len(self.grades) and not problems:
            problems = [refusal("empty")]
        if problems:
            placed = [problem.at(name) for problem in problems]
            raise ProblemsFound(f"{name}: these qrels cannot be used", placed)
        return made


def grades_of(words: pa.Array) -> tuple[Grades, dict[str, Mask]]:
    """Grades as a file writes them, 0 where a word is not an integer of at most nine digits; also those rows."""
    whole = matching(words, _INTEGER)
    return numbers_in(words, whole, pa.int32()), {"grade-not-an-integer": ~whole}


def rows_of(columns: Mapping[str, pa.Array], lines: Places, findings: Findings) -> QrelsRows:
    """Make rows of text columns (`topic`, `document` and `grade`), and note what is wrong with them."""
    grades, wrong_grades = grades_of(columns["grade"])
    faults = [("grade", code, wrong) for code, wrong in wrong_grades.items()]
    good = ~faults[0][2]
    faults += [(name, *fault) for name in ("topic", "document") for fault in unfit_ids(columns[name])]
    for name, code, wrong in faults:
        if wrong.any():
            findings.add(code, lines[wrong], example=columns[name][int(np.flatnonzero(wrong)[0])].as_py())
    kept = pa.array(good)
    return QrelsRows(
        *encoded(columns["topic"].filter(kept)),
        *encoded(columns["document"].filter(kept)),
        grades=grades[good],
        lines=LineNumbers.of_rows(lines[good].tolist()),
        problems=findings.problems(),
    )


def rows_in(table: Columns) -> QrelsRows:
    """The rows of a table that was read line by line."""
    columns = {role: pa.array(cells, pa.string()) for role, cells in table.values.items()}
    return rows_of(columns, np.array(table.lines, dtype=np.int64), table.findings)


# Formats whose rows name their columns; a file of `formats` declares each.


@dataclass(frozen=True)
class NamedColumns:
    """A format whose rows name their columns: JSON lines or, with a delimiter, rows under a header."""

    summary: str
    delimiter: str = ""
    header: tuple[str, ...] = ()

    def sniff(self, head: bytes, name: str) -> bool:
        """Recognise a file that begins with an object, or with a header of names that are in use."""
        if not self.delimiter:
            return head.lstrip().startswith(b"{")
        line = next(iter(head.splitlines()), b"").decode("utf-8", "replace")
        if not {self.delimiter, ";"} & {*line}:
            return False
        _, words = next(csv_rows([line], self.delimiter), (1, ""))
        return len(words) >= len(QRELS.columns) and QRELS.roles(map(str.strip, words)).keys() == QRELS.columns.keys()

    def read(self, source: Source) -> QrelsRows:
        """Read rows that have at least topic, document and grade."""
        return rows_in(read_table(source, QRELS, delimiter=self.delimiter))

    def write(self, qrels: Qrels, stream: BinaryIO) -> None:
        """Write one row per judgment; in a table, ids are quoted where that is needed and nowhere else."""

        def spell(word: str) -> str:
            if not self.delimiter:
                return json.dumps(word)
            doubled = word.replace('"', '""')
            return f'"{doubled}"' if self.delimiter in word or '"' in word else word

        around = ("", self.delimiter, self.delimiter, "\n")
        if self.delimiter:
            stream.write((self.delimiter.join(self.header) + "\n").encode())
        else:
            around = ('{"topic": ', ', "document": ', ', "grade": ', "}\n")
        for lines in qrels.lines(*around, spell=spell):
            stream.write(lines)


# Tables that also say who gave a grade, when, and why.

JUDGMENTS = Schema(
    {
        **SPELLINGS,
        "assessor": ("assessor", "assessor_id", "judge", "annotator", "rater", "user", "worker"),
        "time": ("time", "timestamp", "date", "happened", "judged_at", "created_at"),
        "note": ("note", "comment", "remark", "explanation", "rationale"),
    },
    FAULTS,
    needed=QRELS.needed,
)


@dataclass(frozen=True, slots=True)
class FileJudgment:
    """One judgment as a file has it; assessor, time and note are empty where the file does not say."""

    line: int
    topic: str
    document: str
    grade: int
    assessor: str = ""
    time: str = ""
    note: str = ""


def read_judgments(source: Source, *, format: str | None = None) -> tuple[list[FileJudgment], tuple[Problem, ...]]:
    """Read a file of judgments; a table may have the columns assessor, time and note beside the three of qrels.

    Gives all judgments in the order of the file, and what is wrong with its other rows. Whether somebody judged a
    document twice is for the reader of the rows to say: it depends on who and when.
    """
    kind = format_of(source, format=format)
    judgments: list[FileJudgment] = []
    if isinstance(kind, NamedColumns):
        # A note in quotes may go over several lines.
        table = read_table(source, JUDGMENTS, delimiter=kind.delimiter, multiline=True)
        for line, topic, document, grade, *beside in table:
            if not re.fullmatch(_INTEGER, grade):
                table.findings.add("grade-not-an-integer", [line], example=grade)
            elif len(topic.split()) != 1 or len(document.split()) != 1:
                table.findings.add("blank-in-id", [line], example=f"{topic} {document}")
            else:
                # What we write for spreadsheets stands behind an apostrophe where it looks like a formula.
                words = map(cell_as_meant, beside) if kind.delimiter == "," else beside
                judgments.append(FileJudgment(line, topic, document, int(grade), *words))
        problems = table.findings.problems()
    else:
        rows = kind.read(source)
        lines, grades = rows.lines.of(np.arange(len(rows.grades))).tolist(), rows.grades.tolist()
        topics, documents = named(rows.topic_ids, rows.topics), named(rows.document_ids, rows.documents)
        judgments = list(map(FileJudgment, lines, topics, documents, grades))
        problems = rows.problems
    return judgments, problems if judgments or problems else (refusal("empty"),)


# Qrels whose second column means something: the subtopic a document was judged for, as diversity measures want.


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
    is_trec, qrels = format_of(source) is qrels_formats.get("trec"), None
    try:
        qrels = read_qrels(source)
    except ProblemsFound as error:
        if [problem.code for problem in error.problems] != ["repeated-pair"] or not is_trec:
            raise
    if qrels is not None and (not is_trec or qrels.strata is not None):
        rows = [SubtopicRow(topic, "0", document, grade) for topic, document, grade in qrels]
    else:  # the lines have been found sound
        lines = [line.split() for _, line in source.lines() if not line.startswith("#")]
        sound = (words for words in lines if len(words) == len(SubtopicRow._fields))
        rows = [SubtopicRow(topic, subtopic, document, int(grade)) for topic, subtopic, document, grade in sound]
    if qrels is not None:
        return rows, qrels, qrels.content_hash
    for judged, count in Counter(row[:3] for row in rows).items():
        if count > 1:
            problem = refusal("repeated-pair", example=" ".join(judged), topic=judged[0]).at(source.name)
            raise ProblemsFound(f"{source.name}: these qrels cannot be used", [problem])
    best = {(row.topic, row.document): row.grade for row in sorted(rows, key=attrgetter("grade"))}
    texts = sorted(f"{row.topic}\t{row.subtopic}\t{row.document}\t{row.grade}\n".encode() for row in rows)
    digest = sha256(b"cranfield-subtopics-1\n" + b"".join(texts)).hexdigest()
    return rows, qrels_of([(*pair, grade) for pair, grade in best.items()], name=source.name), digest
