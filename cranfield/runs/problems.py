"""Everything a run can be refused or warned for, each with its stable code.

The table is the one source: intake takes severity and remedy from it, and the docs page lists it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cranfield.base.errors import LINES_KEPT, Problem, Severity, quoted
from cranfield.base.text import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that is looked for: its code, what it means, what to do, and what `--repair` does about it."""

    code: str
    severity: Severity
    meaning: str
    remedy: str = ""
    repair: str = ""


CHECKS: tuple[Check, ...] = (
    Check(
        "unreadable",
        "error",
        "the file cannot be opened, decompressed or decoded",
        "check its path, its permissions and that it is complete",
    ),
    Check(
        "unknown-format",
        "error",
        "the format of the file is not recognised",
        "if it is one of these, cranfield runs check --from NAME says what is wrong with it",
    ),
    Check("empty", "error", "the file holds no row of a run", "give a file with at least one ranked document"),
    Check(
        "too-few-columns",
        "error",
        "a line has fewer columns than the file should have",
        "write all of them on each line",
        "drops the line",
    ),
    Check(
        "too-many-columns",
        "error",
        "a line has more columns than the file should have",
        "remove what stands after the last of them",
        "drops the columns after the last, in a TREC file",
    ),
    Check(
        "missing-field",
        "error",
        "a row of a JSON lines, CSV or Parquet file has no topic, document or score",
        "fill the field or remove the row",
        "drops the row",
    ),
    Check("bad-row", "error", "a row cannot be parsed at all", "write one JSON object, or one CSV row, per line"),
    Check("not-utf-8", "error", "a line is not UTF-8", "convert the file to UTF-8 first"),
    Check(
        "control-character",
        "error",
        "a line holds NUL or another control character",
        "remove the character: ids are visible text",
    ),
    Check(
        "lone-carriage-return",
        "error",
        "a carriage return stands alone, not before a line feed",
        "end lines with a line feed",
    ),
    Check("blank-in-id", "error", "an id or tag holds white space, which a TREC file cannot carry", "rename the id"),
    Check(
        "id-too-long",
        "error",
        "a topic or document id is longer than 1,000 characters, or a tag than 100",
        "use shorter names; is a text in the place of an id?",
    ),
    Check("score-not-a-number", "error", "a score is not a decimal number", "write scores like 12.5 or 1.25e1"),
    Check("score-nan", "error", "a score is NaN", "give each document a number: NaN has no place in an order"),
    Check("score-infinite", "error", "a score is infinite or too large for a double", "give a finite score"),
    Check(
        "unknown-topic", "error", "a topic is not in the collection", "check the topic ids, or add the topics first"
    ),
    Check("missing-topic", "warning", "a topic of the collection has no row", "a missing topic scores 0"),
    Check("too-few-documents", "warning", "a topic has fewer documents than expected", "deeper lists pool better"),
    Check(
        "too-many-documents",
        "error",
        "a topic has more documents than the limit",
        "cut the list, or raise the limit with --max-depth",
        "keeps the best documents of the topic, up to the limit",
    ),
    Check(
        "repeated-document",
        "error",
        "a document stands more than once in a topic",
        "keep one row of each document",
        "keeps the row that ranks best",
    ),
    Check(
        "unknown-document", "error", "a document is not in the corpus", "check the ids, or add the documents first"
    ),
    Check("rank-not-an-integer", "warning", "a rank is not a whole number", "ranks are not used unless --order rank"),
    Check(
        "rank-disagrees",
        "warning",
        "the rank column orders documents otherwise than the scores",
        "scores count; say --order rank if the ranks are meant",
    ),
    Check("no-ranks", "error", "--order rank is given and a row has no usable rank", "use --order score or file"),
    Check(
        "repeated-rank",
        "warning",
        "--order rank is given and two documents of a topic have the same rank",
        "they stay in the order of the file",
    ),
    Check(
        "ties",
        "warning",
        "documents of a topic have the same score",
        "tied documents are ordered by id, from high to low",
    ),
    Check(
        "ties-in-32-bits",
        "warning",
        "scores differ as doubles and are equal as 32-bit floats",
        "trec_eval 9 orders these documents by id",
    ),
    Check(
        "several-tags",
        "error",
        "the rows carry more than one tag",
        "give each run a file of its own, or name this one with --names file",
    ),
    Check(
        "bad-tag",
        "error",
        "the tag has characters a name cannot have, or is too long",
        "use letters, digits and . _ + -, at most 100, or take the file's name with --names file",
    ),
    Check(
        "taken-tag",
        "error",
        "another run of the collection has this name",
        "rename it, or take the file's name with --names file",
    ),
    Check(
        "identical-run",
        "warning",
        "a run with the same content is there under another name",
        "withdraw one of them if that is a mistake",
    ),
    Check(
        "nearly-identical-run",
        "warning",
        "at least 95 % of the places in the top 10 hold the same documents as in another run",
        "make sure that it is the run that was meant",
    ),
    Check("not-q0", "warning", "the second column is not Q0", "the column is not used"),
    Check(
        "guessed-columns",
        "warning",
        "the columns of a CSV file have no header and were taken for what they look like",
        "put a header such as topic,document,score into the first line if that is wrong",
    ),
)

TREC_COLUMNS = ("topic", "Q0", "document", "rank", "score", "tag")


def check_named(code: str) -> Check:
    """Give the entry of the table with this code."""
    return next(check for check in CHECKS if check.code == code)


def problem(
    code: str,
    message: str,
    *,
    lines: Iterable[int] = (),
    count: int = 1,
    topic: str = "",
    severity: Severity | None = None,
    remedy: str = "",
    repairable: bool = True,
) -> Problem:
    """Give a `Problem` with the severity and the remedy of the table, unless others fit the case better.

    Without `repairable` it has to be mended by hand, though the table knows a repair for other cases.
    """
    check = check_named(code)
    kept = tuple(int(line) for line, _ in zip(lines, range(LINES_KEPT), strict=False))
    remedy = remedy or check.remedy
    repairable = repairable and bool(check.repair)
    if repairable:
        remedy = f"{remedy}; --repair {check.repair}"
    return Problem(
        code,
        message,
        severity=severity or check.severity,
        lines=kept,
        count=count,
        topic=topic,
        remedy=remedy,
        repairable=repairable,
    )


@dataclass
class Findings:
    """What a reader finds wrong while it goes through a file, gathered per code.

    `add` is called in the order of the file, so that the lines kept are the first ones. `columns` are those that a
    line should have; `by_hand` are codes that have no one right answer in this format.
    """

    columns: Sequence[str] = TREC_COLUMNS
    by_hand: Sequence[str] = ()
    _found: dict[str, tuple[list[int], str]] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def add(self, code: str, lines: Sequence[int] | NDArray[np.int64], *, example: str = "") -> None:
        """Note that `code` occurs on some lines; `example` is what stands on the first."""
        if not len(lines):
            return
        kept, _ = self._found.setdefault(code, ([], example))
        kept.extend(int(line) for line in lines[: LINES_KEPT - len(kept)])
        self._counts[code] = self._counts.get(code, 0) + len(lines)

    def problems(self) -> tuple[Problem, ...]:
        """Give one problem per code, in the order of the table."""
        return tuple(self._problem(check) for check in CHECKS if check.code in self._found)

    def _problem(self, check: Check) -> Problem:
        lines, example = self._found[check.code]
        count = self._counts[check.code]
        seen = f": {quoted(example)}" if example else ""
        often = f" ({counted(count, 'line')})" if count > 1 else ""
        expected = f"; expected {quoted(', '.join(self.columns), limit=200)}" if check.code in _OF_COLUMNS else ""
        message = f"{check.meaning}{often}{seen}{expected}"
        return problem(check.code, message, lines=lines, count=count, repairable=check.code not in self.by_hand)


_OF_COLUMNS = ("too-few-columns", "too-many-columns")
