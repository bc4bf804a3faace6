"""Qrels whose second column means something: the subtopic a document was judged for, as diversity measures want."""

from hashlib import sha256
from typing import NamedTuple

from cranfield.errors import ProblemsFound
from cranfield.qrels.problems import refusal
from cranfield.qrels.qrels import Qrels, qrels_of
from cranfield.qrels.reading import format_of, read_qrels
from cranfield.source import Source

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
