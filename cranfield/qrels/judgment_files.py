"""Files of judgments: qrels, or tables that also say who gave a grade, when, and why; and qrels with subtopics."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from cranfield.base.errors import Problem, ProblemsFound
from cranfield.base.files import Source
from cranfield.base.tables import Schema, read_table
from cranfield.qrels.qrels import Qrels, qrels_of
from cranfield.qrels.reading import FAULTS, QRELS, SPELLINGS, format_of, read_qrels, refusal

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
_LARGEST_GRADE = 9
_DELIMITERS = {"JsonLines": "", "CommaSeparated": ",", "TabSeparated": "\t"}


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
    kind = format_of(source, format=format)
    given: list[Given] = []
    if kind.__name__ in _DELIMITERS:
        # A note in quotes may go over several lines.
        table = read_table(source, JUDGMENTS, delimiter=_DELIMITERS[kind.__name__], multiline=True)
        for line, topic, document, grade, *beside in table:
            digits = grade.removeprefix("-").removeprefix("+")
            if not (digits.isascii() and digits.isdigit() and len(digits) <= _LARGEST_GRADE):
                table.findings.add("grade-not-an-integer", [line], example=grade)
            elif len(topic.split()) != 1 or len(document.split()) != 1:
                table.findings.add("blank-in-id", [line], example=f"{topic} {document}")
            else:
                given.append(Given(line, topic, document, int(grade), *beside))
        problems = table.findings.problems()
    else:
        rows = kind.read(source)
        topics, documents = rows.topic_ids.to_pylist(), rows.document_ids.to_pylist()
        lines = rows.lines.of(np.arange(len(rows.grades)))
        columns = zip(lines, rows.topics, rows.documents, rows.grades, strict=True)
        given = [Given(int(line), topics[topic], documents[name], int(grade)) for line, topic, name, grade in columns]
        problems = rows.problems
    return GivenJudgments(tuple(given), problems if given or problems else (refusal("empty"),))


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
    is_trec = format_of(source).__name__ == "Trec"
    try:
        qrels = read_qrels(source)
    except ProblemsFound as error:
        if [problem.code for problem in error.problems] != ["repeated-pair"] or not is_trec:
            raise
        qrels = None
    if qrels is not None and (not is_trec or qrels.strata is not None):
        return (
            [SubtopicRow(topic, "0", document, grade) for topic, document, grade in qrels],
            qrels,
            qrels.content_hash,
        )
    # The lines have been found sound.
    lines = ((line, line.split()) for _, line in source.lines())
    sound = [words for line, words in lines if len(words) == _COLUMNS and not line.startswith("#")]
    rows = [SubtopicRow(topic, subtopic, document, int(grade)) for topic, subtopic, document, grade in sound]
    if qrels is not None:
        return rows, qrels, qrels.content_hash
    best: dict[tuple[str, str], int] = {}
    seen: set[tuple[str, str, str]] = set()
    for row in rows:
        if row[:3] in seen:
            problem = refusal("repeated-pair", example=" ".join(row[:3]), topic=row.topic).at(source.name)
            raise ProblemsFound(f"{source.name}: these qrels cannot be used", [problem])
        seen.add(row[:3])
        pair = (row.topic, row.document)
        best[pair] = max(best.get(pair, row.grade), row.grade)
    digest = sha256(b"cranfield-subtopics-1\n")
    for line in sorted(f"{row.topic}\t{row.subtopic}\t{row.document}\t{row.grade}\n".encode() for row in rows):
        digest.update(line)
    graded = [(topic, document, grade) for (topic, document), grade in best.items()]
    return rows, qrels_of(graded, name=source.name), digest.hexdigest()
