"""The rows of a qrels file as they stand there, and how they become qrels."""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.errors import Problem, ProblemsFound
from cranfield.qrels.problems import Refusals, refusal
from cranfield.qrels.qrels import Grades, Qrels, pair_keys, sorted_qrels
from cranfield.runs.columns import encoded
from cranfield.runs.lines import LineNumbers
from cranfield.runs.run import Codes
from cranfield.text import counted

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
    from cranfield.runs.numerals import matching, read

    whole = matching(texts, _INTEGER)
    return read(texts, whole, pa.int32()), whole


def rows_of_texts(
    columns: dict[str, pa.Array], *, lines: NDArray[np.int64], findings: Refusals, source_name: str
) -> QrelsRows:
    """Make rows of columns of text (topic, document, grade); `lines` are the line numbers of the rows."""
    from cranfield.runs.numerals import matching

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
