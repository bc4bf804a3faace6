"""Qrels files of any known format become qrels, and the rows in which they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.base.errors import Problem, ProblemsFound
from cranfield.base.files import Source
from cranfield.base.registry import Registry
from cranfield.base.tables import Fault, Findings, Schema, read_table
from cranfield.base.text import counted
from cranfield.qrels.qrels import Grades, Qrels, pair_keys, sorted_qrels
from cranfield.runs.columns import encoded, matching, numbers_in
from cranfield.runs.run import TEXT, Codes, LineNumbers


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
    columns = len(head.strip().split(b"\n", 1)[0].split())
    mixed = ", as a run has: were qrels and run mixed up" if columns == _COLUMNS_OF_A_RUN else ""
    expected = "; ".join(f"{name}: {one.summary}" for name, one in qrels_formats.items())
    message = f"the format was not recognised: its first row has {counted(columns, 'column')}{mixed}"
    unknown = Problem("unknown-format", f"{message}; expected one of: {expected}", file=source.name)
    raise ProblemsFound(f"{source.name}: this is not a qrels file of a known format", [unknown])


# What the columns are called, and everything qrels can be refused for, each with its stable code.

SPELLINGS = {
    "topic": ("topic", "topic_id", "query", "query_id", "qid", "q_id"),
    "document": ("document", "document_id", "doc", "doc_id", "docid", "docno", "did", "corpus_id", "pid"),
    "grade": ("grade", "relevance", "rel", "score", "label", "judgment", "judgement"),
}
"""The usual spellings of each column, best first."""

FAULTS = (
    Fault("empty", "the file holds no judgment", "give a file with at least one judged document"),
    Fault("too-few-columns", "a line has too few columns", "write topic, iteration, document and grade on each line"),
    Fault(
        "too-many-columns", "a line has too many columns", "write topic, iteration, document and grade on each line"
    ),
    Fault("missing-field", "a row has no topic, document or grade", "fill the field or remove the row"),
    Fault("bad-row", "a row cannot be parsed at all", "write one JSON object, or one CSV row, per line"),
    Fault("not-utf-8", "a line is not UTF-8", "convert the file to UTF-8 first"),
    Fault("control-character", "a line holds a control character", "remove the character: ids are visible text"),
    Fault(
        "lone-carriage-return", "a carriage return stands alone, not before a line feed", "end lines with a line feed"
    ),
    Fault("blank-in-id", "an id holds white space", "rename the id: TREC files divide columns by white space"),
    Fault(
        "grade-not-an-integer",
        "a grade is not a whole number of at most nine digits",
        "write grades like 0, 1 or 2; a grade below 0 means pooled but not judged",
    ),
    Fault("repeated-pair", "a topic and document are judged more than once", "keep one row of each pair"),
    Fault(
        "judged-twice",
        "an assessor judged a topic and document more than once, at no time or the same",
        "keep one row, or give each its time",
    ),
    Fault("bad-time", "a time cannot be read", "write ISO 8601, like 2026-01-31T17:30Z"),
    Fault("bad-assessor", "the name of an assessor is not one printable line", "give a name of 1 to 80 letters"),
    Fault(
        "off-the-scale", "a grade is not on the scale of this collection", "map the grades of the file to the scale"
    ),
    Fault("unknown-topic", "a topic is not in this collection", "add it with cranfield corpus topics FILE"),
    Fault("unknown-document", "a document is not in this collection", "add it with cranfield corpus add FILE"),
)

QRELS = Schema(SPELLINGS, FAULTS, needed=("topic", "document", "grade"))

refusal = QRELS.problem
Refusals = partial(Findings, QRELS)

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
    whole = matching(texts, _INTEGER)
    return numbers_in(texts, whole, pa.int32()), whole


def read_named(source: Source, *, delimiter: str = "") -> QrelsRows:
    """Read JSON lines or, with a delimiter, rows under a header that names at least topic, document and grade."""
    table = read_table(source, QRELS, delimiter=delimiter)
    findings, lines = table.findings, np.array(table.lines, dtype=np.int64)
    columns = {role: pa.array(cells, pa.string()) for role, cells in table.values.items()}
    grades, good = grades_of(columns["grade"])
    faults = [("grade", "grade-not-an-integer", ~good)]
    faults += [(name, "blank-in-id", matching(columns[name], _BLANK)) for name in ("topic", "document")]
    for name, code, wrong in faults:
        if wrong.any():
            findings.add(code, lines[wrong], example=columns[name][int(np.flatnonzero(wrong)[0])].as_py())
    kept = pa.array(good)
    return QrelsRows(
        *encoded(columns["topic"].filter(kept)),
        *encoded(columns["document"].filter(kept)),
        grades=grades[good],
        lines=LineNumbers(np.setdiff1d(np.arange(1, lines.max(initial=0) + 1), lines[good])),
        problems=findings.problems(),
        source_name=source.name,
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


# How qrels are written: in parts, as joined columns, so that reading gives the same qrels.

_ROWS_AT_ONCE = 1 << 18


def columns_of(qrels: Qrels, spell: Callable[[str], str] | None = None) -> Iterator[dict[str, pa.Array]]:
    """Give topic, document, grade and, in a sample, stratum, some rows at a time, the ids spelled for a file."""
    ids = (qrels.topic_ids, qrels.document_ids)
    topics, documents = (
        one.cast(TEXT) if spell is None else pa.array([spell(word) for word in one.to_pylist()], TEXT) for one in ids
    )
    for start in range(0, len(qrels), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        part = {
            "topic": topics.take(pa.array(qrels.topic_of_row[rows])),
            "document": documents.take(pa.array(qrels.documents[rows])),
            "grade": pa.array(qrels.grades[rows]),
        }
        if qrels.strata is not None:
            part["stratum"] = pa.array(qrels.stratum_names, TEXT).take(pa.array(qrels.strata[rows]))
        yield part
