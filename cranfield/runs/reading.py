"""Run files of any known format become rows: what a format is, what its columns are called, what can be wrong.

The table of checks is the one source of codes: intake takes severity and remedy from it, and the docs page lists it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.base.errors import ProblemsFound, quoted
from cranfield.base.files import Source
from cranfield.base.registry import Format, Registry, deferred
from cranfield.base.tables import LINE_FAULTS, Columns, Fault, Findings, Schema, read_list
from cranfield.runs.columns import (
    TEXT,
    Coded,
    Codes,
    LineNumbers,
    Mask,
    Places,
    Scores,
    encoded,
    in_pieces,
    used_only,
)
from cranfield.runs.run import NO_RANK, Rows, Run

with deferred:
    from pyarrow import compute as pc

    from cranfield.corpus import datasets


class RunFormat(Format, Protocol):
    """One kind of run file; `suffixes` say how such files are usually called."""

    @property
    def suffixes(self) -> tuple[str, ...]: ...


run_formats: Registry[RunFormat] = Registry(
    "run format", package="cranfield.runs.formats", group="cranfield.run_formats"
)


def read_rows(source: Source, *, format: str | None = None) -> Rows:
    """Read a run file in the named format, or in the one its first bytes look like; or the scores of a data set."""
    if source.data_set:
        table, tag = Columns.of(source, RUN), source.data_set.replace("/", "-")
        for number, one in enumerate(datasets.DataSet(source.data_set).each("scoreddocs"), start=1):
            table.add(number, (one.query_id, one.doc_id, repr(float(one.score)), "", tag))  # no rank
        return rows_in(table)
    rows: Rows = format_of(source, format=format).read(source)
    return rows


def format_of(source: Source, *, format: str | None = None) -> RunFormat:
    """The named format, or the one that recognises the file. An empty file is read as TREC and refused there."""
    if format is not None or source.run:
        return run_formats.get("parquet" if format is None else format)
    head = source.head()
    if not head.strip():
        return run_formats.get("trec")
    lines = [line for line in head.splitlines()[:50] if line.strip()]
    if 2 * sum(_JUDGMENT.fullmatch(line) is not None for line in lines) > len(lines):
        message = "these are qrels (topic, 0, document and grade on each line), not a run"
        remedy = "name qrels after --qrels, or add their judgments to a collection with cranfield judge import"
        raise ProblemsFound(message, [problem("unknown-format", message, remedy=remedy).at(source.name)])
    for known in run_formats.in_turn():
        if known.sniff(head, source.name):
            return known
    expected = "; ".join(f"{name}: {known.summary}" for name, known in run_formats.items())
    unknown = problem("unknown-format", f"the format was not recognised; expected one of: {expected}").at(source.name)
    raise ProblemsFound("this is not a run file of a known format", [unknown])


_JUDGMENT = re.compile(rb"\s*\S+\s+0\s+\S+\s+-?\d+\s*")


SPELLINGS: dict[str, tuple[str, ...]] = {
    "topic": ("topic", "topic_id", "query", "query_id", "qid", "q_id", "topicid", "queryid"),
    "document": (
        *("document", "document_id", "doc", "doc_id", "docid", "docno", "did", "corpus_id", "pid", "passage_id"),
    ),
    "score": ("score", "sim", "relevance_score", "similarity"),
    "rank": ("rank", "ranking", "position"),
    "tag": ("tag", "run", "run_id", "runid", "system", "run_tag", "run_name", "name"),
}
"""The usual spellings of each column of a file that names them, best first."""

_noted = partial(Fault, severity="warning")

CHECKS: tuple[Fault, ...] = (
    Fault(
        "unreadable",
        "the file cannot be opened, decompressed or decoded",
        "check its path, its permissions and that it is complete",
    ),
    Fault(
        "unknown-format",
        "the format of the file is not recognised",
        "if it is one of these, cranfield runs check --from NAME lists its errors",
    ),
    Fault("empty", "the file contains no rows", "a run needs at least one ranked document"),
    Fault("too-few-columns", "a line has too few columns", "write all columns on each line", "drops the line"),
    Fault(
        "too-many-columns",
        "a line has too many columns",
        "remove everything after the last column",
        "drops the extra columns, in a TREC file",
    ),
    Fault(
        "missing-field",
        "a row of a CSV or Parquet file has no topic, document or score",
        "fill the field or remove the row",
        "drops the row",
    ),
    *LINE_FAULTS,
    Fault("blank-in-id", "an id or tag contains white space, which a TREC file cannot represent", "rename the id"),
    Fault(
        "id-too-long",
        "a topic or document id is longer than 1,000 characters, or a tag than 100",
        "use shorter ids; does this column contain text?",
    ),
    Fault("score-not-a-number", "a score is not a decimal number", "write scores like 12.5 or 1.25e1"),
    Fault(
        "score-nan",
        "a score is NaN",
        "give each document a number; NaN cannot be ranked",
        "ranks the row below all others of its topic, several in the order of the file",
    ),
    Fault("score-infinite", "a score is infinite or too large for a double", "give a finite score"),
    Fault("unknown-topic", "a topic is not in the collection", "check the topic ids, or add the topics first"),
    _noted("missing-topic", "a topic of the collection has no rows", "a missing topic scores 0"),
    Fault(
        "too-many-documents",
        "a topic has more documents than the limit",
        "cut the ranking, or raise the limit with --max-depth",
        "keeps the top documents of the topic, up to the limit",
    ),
    Fault(
        "repeated-document",
        "a document occurs more than once in a topic",
        "keep one row of each document",
        "keeps the best-ranked row",
    ),
    Fault(
        "several-runs",
        "a document occurs more than once in every topic of a file that names no run",
        "name the run of each row in a column run, or write one file for each run",
    ),
    Fault("unknown-document", "a document is not in the corpus", "check the ids, or add the documents first"),
    _noted("rank-not-an-integer", "a rank is not an integer", "ranks are ignored unless --order rank"),
    _noted(
        "rank-disagrees",
        "the rank column contradicts the scores",
        "scores are used; pass --order rank to use the ranks",
    ),
    Fault("no-ranks", "--order rank, but a row has no usable rank", "use --order score or file"),
    _noted("ties", "documents of a topic have the same score", "ties are broken by document id, descending"),
    _noted(
        "ties-in-32-bits",
        "scores that differ as doubles are equal as 32-bit floats",
        "trec_eval 9 breaks these ties by document id",
    ),
    Fault(
        "several-tags",
        "the rows have more than one tag",
        "write each run to its own file, or name this one with --names file",
    ),
    Fault(
        "bad-tag",
        "the tag has characters a name cannot have, or is too long",
        "use letters, digits and . _ + -, at most 100 characters, or use the file name with --names file",
    ),
    Fault(
        "taken-tag",
        "another run of the collection has this name",
        "rename it, or use the file name with --names file",
    ),
    _noted(
        "identical-run",
        "a run with the same content exists under another name",
        "withdraw one of them if this is a mistake",
    ),
    _noted(
        "no-tag",
        "a TREC file without a tag on its lines",
        "the run is named after its file; name it otherwise with --name, or write a tag as the sixth column",
    ),
    _noted(
        "guessed-columns",
        "the columns of a CSV file without a header were inferred from their content",
        "if they are wrong, add a header such as topic,document,score",
    ),
    _noted("metadata", "the ir_metadata header is damaged or contradicts the run", "see https://www.ir-metadata.org"),
    _noted("repaired", "the run was stored without errors that its file has", "submit the file without them"),
)

TREC_COLUMNS = ("topic", "Q0", "document", "rank", "score", "tag")

RUN = Schema(SPELLINGS, CHECKS, needed=("topic", "document"))

problem = RUN.problem


def roles_of(names: Iterable[object]) -> dict[str, str] | None:
    """The column of each part by its name, or None where topic, document, or both score and rank are missing."""
    found = RUN.roles(str(name) for name in names)
    is_run = {"topic", "document"} <= found.keys() and not found.keys().isdisjoint({"score", "rank"})
    return dict(found) if is_run else None


EXPECTED_COLUMNS = ", ".join(f"{part} ({', '.join(names[1:5])} …)" for part, names in SPELLINGS.items())
"""Which columns are looked for, for a message."""


def not_a_run(source: Source, kind: str, lines: Sequence[int] = ()) -> ProblemsFound:
    """The refusal of a file that names its columns, but not those of a run."""
    message = f"the columns of a run were not found; expected {EXPECTED_COLUMNS}"
    return ProblemsFound(f"this is not a {kind} of a run", [problem("bad-row", message, lines=lines).at(source.name)])


_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_NAN = r"^[+-]?[nN][aA][nN](\(.*\))?$"
_INFINITE = r"^[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?$"
_INTEGER = r"^[+-]?[0-9]{1,18}$"


def scores_of(words: pa.Array) -> tuple[Scores, dict[str, Mask]]:
    """Scores from words, or as they are: the values, NaN where a row has none, and those rows by what is wrong.

    Only decimal notation counts: no hexadecimal, no comma, no NaN, nothing infinite.
    """
    if pa.types.is_floating(words.type):
        values = np.array(words.cast(pa.float64()).to_numpy(zero_copy_only=False))
        missing = words.is_null().to_numpy(zero_copy_only=False)
        is_number, infinite, nan = ~missing, np.isinf(values), np.isnan(values) & ~missing
    else:
        is_number, nan, missing = (matching(words, pattern) for pattern in (_NUMBER, _NAN, "^$"))
        values = numbers_in(words, is_number, pa.float64())
        infinite = ~np.isfinite(values) | matching(words, _INFINITE)
    values[~is_number | infinite] = np.nan
    other = ~(is_number | infinite | nan | missing)
    faults = {"missing-field": missing, "score-not-a-number": other, "score-nan": nan, "score-infinite": infinite}
    return values, faults


def ranks_of(texts: pa.Array) -> Places:
    """Read ranks from text; `NO_RANK` where it is not a whole number."""
    whole = matching(texts, _INTEGER)
    ranks = numbers_in(texts, whole, pa.int64())
    ranks[~whole] = NO_RANK
    return ranks


def with_problems(rows: Rows, findings: Findings) -> Rows:
    """The rows with everything that was found wrong with them."""
    if rows.ranks is not None:
        findings.add("rank-not-an-integer", rows.lines.of(np.flatnonzero(rows.ranks == NO_RANK)))
    problems = findings.problems()
    if not len(rows) and not any(found.is_error for found in problems):
        problems = (*problems, problem("empty"))
    return replace(rows, problems=tuple(found.at(rows.source.name) for found in problems))


NO_ID = "the id {!r}"
"""What stands for a value that is no id."""

UNFIT_IDS = {
    "bad-row": "^the id ",
    "missing-field": "^$",
    "blank-in-id": r"[ \t\n\r\f\v]",
    "control-character": r"[\x00-\x08\x0e-\x1f\x7f-\x{9f}]",
}


def unfit_ids(words: pa.Array) -> Iterator[tuple[str, Mask]]:
    """Which words are no ids, by what is wrong with them; what is found first counts."""
    left = np.ones(len(words), dtype=bool)
    if matching(words, "|".join(UNFIT_IDS.values())).any():
        for code, pattern in UNFIT_IDS.items():
            wrong = matching(words, pattern) & left
            left &= ~wrong
            yield code, wrong


def tags_of(names: pa.Array, codes: Codes, lines: LineNumbers) -> tuple[tuple[str, int], ...]:
    """The distinct tags of rows in the order of the file, with the line each first stands on; -1 is none."""
    firsts = np.sort(np.unique(codes, return_index=True)[1]) if len(names) > 1 else np.arange(min(len(codes), 1))
    found = zip(codes[firsts].tolist(), lines.of(firsts).tolist(), strict=True)
    return tuple((names[code].as_py(), line) for code, line in found if code >= 0)


def rows_of(source: Source, parts: Mapping[str, pa.ChunkedArray], lines: LineNumbers, findings: Findings) -> Rows:
    """Make rows of text columns (`topic`, `document`, `score` or `rank`, `tag`), and note what is wrong with them.

    A row whose ids cannot be used is left out; one whose score cannot stays, with NaN, so that its ids are checked.
    Only a file without a score column takes its scores from the ranks: one missing score among others is an error.
    """
    parts = {
        part: column.fill_null("") if column.null_count and not pa.types.is_floating(column.type) else column
        for part, column in parts.items()
    }
    ids: dict[str, Coded] = {part: encoded(parts[part]) for part in ("topic", "document", "tag") if part in parts}
    fit = {part: np.ones(len(codes), dtype=bool) for part, (_, codes) in ids.items()}
    told: dict[str, Mask] = {}

    def note(code: str, part: str, rows: Mask) -> None:
        if rows.any():
            before = told.setdefault(code, np.zeros_like(rows))
            new = np.flatnonzero(rows & ~before)  # a row has a fault once, in whichever part
            before |= rows
            example = str(parts[part][int(new[0])]) if len(new) and code != "missing-field" else ""
            findings.add(code, lines.of(new), example=example)

    for part, (words, codes) in ids.items():
        for code, wrong in unfit_ids(words):
            unfit = wrong[codes]
            fit[part] &= ~unfit
            if (part, code) != ("tag", "missing-field"):
                note(code, part, unfit)
    ranks = ranks_of(parts["rank"].combine_chunks()) if "rank" in parts else None
    if "score" in parts:
        scores, faults = scores_of(parts["score"].combine_chunks())
        for code, rows in faults.items():
            note(code, "score", rows)
    else:
        places = np.full(len(fit["topic"]), NO_RANK) if ranks is None else ranks
        scores = np.where(places == NO_RANK, np.nan, -places.astype(np.float64))
        note("missing-field", "rank", np.isnan(scores))
    tags = tags_of(ids["tag"][0], np.where(fit["tag"], ids["tag"][1], -1), lines) if "tag" in ids else ()
    topics, documents, kept = ids["topic"], ids["document"], fit["topic"] & fit["document"]
    if not kept.all():
        topics, documents = (used_only(words, codes[kept]) for words, codes in (topics, documents))
        scores, ranks = scores[kept], None if ranks is None else ranks[kept]
        lines = lines.without(lines.of(np.flatnonzero(~kept)))
    return with_problems(Rows(source, *topics, *documents, scores, ranks, tags, lines), findings)


def rows_in(table: Columns) -> Rows:
    """The rows of a table that was read line by line; a column without a value is none."""
    optional = [part for part in ("rank", "tag") if not any(table.values.get(part, ()))]
    columns = {part: cells for part, cells in table.values.items() if part not in optional}
    parts = {part: pa.chunked_array([pa.array(cells, TEXT)]) for part, cells in columns.items()}
    return rows_of(table.source, parts, LineNumbers.of_rows(table.lines), table.findings)


def columns_of(run: Run) -> Iterator[dict[str, pa.Array]]:
    """The columns topic, document, rank (from 1), score and tag, some rows at a time."""
    counts = np.diff(run.offsets)
    topics = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    return in_pieces(
        run.row_count,
        {
            "topic": (run.topic_ids, topics),
            "document": (run.document_ids, run.documents),
            "rank": np.arange(1, run.row_count + 1) - run.offsets[topics],
            "score": run.scores,
            "tag": (pa.array([run.tag], TEXT), np.zeros(run.row_count, dtype=np.int32)),
        },
    )


# Who the runs of bare files belong to: a tab-separated file of run tag, group, and `pooled` or `new`.

ROLES = ("pooled", "new")
_REMEDY = "write run tag, group and pooled or new on each line, with tabs between them"
GROUPS = Schema(
    {"run": (), "group": (), "role": ()},
    (
        Fault("empty", "the file names no run", _REMEDY),
        Fault("bad-row", f"not a run tag, a tab, a group, a tab and {' or '.join(ROLES)}", _REMEDY),
        Fault("unknown-role", f"a run is {' or '.join(ROLES)}", _REMEDY),
        Fault("repeated-run", "a run is named twice", _REMEDY),
    ),
    needed=("run", "group", "role"),
    comment="#",
    wording="{meaning}{seen}{often}",
)


class Member(NamedTuple):
    """A run, the group it belongs to, and whether it was in the pool."""

    run: str
    group: str
    pooled: bool


def read_groups(source: Source) -> tuple[Member, ...]:
    """Read a file of groups, in its order; blank lines and lines that begin with # are passed over."""
    return members_in(read_list(source, GROUPS))


def members_in(table: Columns) -> tuple[Member, ...]:
    """The runs of a table with their groups; everything that is wrong with it is reported at once, with lines."""
    members: dict[str, Member] = {}
    for line, run, group, role in table:
        if role not in ROLES:
            meaning = f"a run is {' or '.join(ROLES)}, not {quoted(role)}"
            table.findings.add("unknown-role", [line], meaning=meaning)
        elif run in members:
            table.findings.add("repeated-run", [line], meaning=f"run {quoted(run)} is named twice")
        else:
            members[run] = Member(run, group, role == "pooled")
    table.refuse("these groups cannot be used")
    return tuple(members.values())


def matching(texts: pa.Array, pattern: str) -> Mask:
    """Which strings match a regular expression."""
    return np.asarray(pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False), dtype=bool)


def numbers_in(texts: pa.Array, readable: Mask, kind: pa.DataType) -> NDArray[Any]:
    """Read strings as numbers of a kind, with or without a plus sign; what is not readable is 0."""
    plain = pc.if_else(pa.array(readable), pc.utf8_ltrim(texts, characters="+"), "0")
    return np.array(pc.cast(plain, kind).to_numpy(zero_copy_only=False))
