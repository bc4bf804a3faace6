"""What the columns of a run are called, and everything a run can be refused or warned for, each with its stable code.

The table is the one source: intake takes severity and remedy from it, and the docs page lists it.
"""

from __future__ import annotations

from collections.abc import Iterable

from cranfield.base.tables import Fault, Schema

SPELLINGS: dict[str, tuple[str, ...]] = {
    "topic": ("topic", "topic_id", "query", "query_id", "qid", "q_id", "topicid", "queryid"),
    "document": (
        *("document", "document_id", "doc", "doc_id", "docid", "docno", "did", "corpus_id", "pid", "passage_id"),
    ),
    "score": ("score", "sim", "relevance_score", "similarity"),
    "rank": ("rank", "ranking", "position"),
    "tag": ("tag", "run", "run_id", "runid", "system", "run_tag", "run_name"),
}
"""The usual spellings of each column of a file that names them, best first."""

CHECKS: tuple[Fault, ...] = (
    Fault(
        "unreadable",
        "the file cannot be opened, decompressed or decoded",
        "check its path, its permissions and that it is complete",
    ),
    Fault(
        "unknown-format",
        "the format of the file is not recognised",
        "if it is one of these, cranfield runs check --from NAME says what is wrong with it",
    ),
    Fault("empty", "the file holds no row of a run", "give a file with at least one ranked document"),
    Fault(
        "too-few-columns",
        "a line has fewer columns than the file should have",
        "write all of them on each line",
        "drops the line",
    ),
    Fault(
        "too-many-columns",
        "a line has more columns than the file should have",
        "remove what stands after the last of them",
        "drops the columns after the last, in a TREC file",
    ),
    Fault(
        "missing-field",
        "a row of a JSON lines, CSV or Parquet file has no topic, document or score",
        "fill the field or remove the row",
        "drops the row",
    ),
    Fault("bad-row", "a row cannot be parsed at all", "write one JSON object, or one CSV row, per line"),
    Fault("not-utf-8", "a line is not UTF-8", "convert the file to UTF-8 first"),
    Fault(
        "control-character",
        "a line holds NUL or another control character",
        "remove the character: ids are visible text",
    ),
    Fault(
        "lone-carriage-return", "a carriage return stands alone, not before a line feed", "end lines with a line feed"
    ),
    Fault("blank-in-id", "an id or tag holds white space, which a TREC file cannot carry", "rename the id"),
    Fault(
        "id-too-long",
        "a topic or document id is longer than 1,000 characters, or a tag than 100",
        "use shorter names; is a text in the place of an id?",
    ),
    Fault("score-not-a-number", "a score is not a decimal number", "write scores like 12.5 or 1.25e1"),
    Fault("score-nan", "a score is NaN", "give each document a number: NaN has no place in an order"),
    Fault("score-infinite", "a score is infinite or too large for a double", "give a finite score"),
    Fault("unknown-topic", "a topic is not in the collection", "check the topic ids, or add the topics first"),
    Fault("missing-topic", "a topic of the collection has no row", "a missing topic scores 0", severity="warning"),
    Fault(
        "too-few-documents",
        "a topic has fewer documents than expected",
        "deeper lists pool better",
        severity="warning",
    ),
    Fault(
        "too-many-documents",
        "a topic has more documents than the limit",
        "cut the list, or raise the limit with --max-depth",
        "keeps the best documents of the topic, up to the limit",
    ),
    Fault(
        "repeated-document",
        "a document stands more than once in a topic",
        "keep one row of each document",
        "keeps the row that ranks best",
    ),
    Fault("unknown-document", "a document is not in the corpus", "check the ids, or add the documents first"),
    Fault(
        "rank-not-an-integer",
        "a rank is not a whole number",
        "ranks are not used unless --order rank",
        severity="warning",
    ),
    Fault(
        "rank-disagrees",
        "the rank column orders documents otherwise than the scores",
        "scores count; say --order rank if the ranks are meant",
        severity="warning",
    ),
    Fault("no-ranks", "--order rank is given and a row has no usable rank", "use --order score or file"),
    Fault(
        "repeated-rank",
        "--order rank is given and two documents of a topic have the same rank",
        "they stay in the order of the file",
        severity="warning",
    ),
    Fault(
        "ties",
        "documents of a topic have the same score",
        "tied documents are ordered by id, from high to low",
        severity="warning",
    ),
    Fault(
        "ties-in-32-bits",
        "scores differ as doubles and are equal as 32-bit floats",
        "trec_eval 9 orders these documents by id",
        severity="warning",
    ),
    Fault(
        "several-tags",
        "the rows carry more than one tag",
        "give each run a file of its own, or name this one with --names file",
    ),
    Fault(
        "bad-tag",
        "the tag has characters a name cannot have, or is too long",
        "use letters, digits and . _ + -, at most 100, or take the file's name with --names file",
    ),
    Fault(
        "taken-tag",
        "another run of the collection has this name",
        "rename it, or take the file's name with --names file",
    ),
    Fault(
        "identical-run",
        "a run with the same content is there under another name",
        "withdraw one of them if that is a mistake",
        severity="warning",
    ),
    Fault(
        "nearly-identical-run",
        "at least 95 % of the places in the top 10 hold the same documents as in another run",
        "make sure that it is the run that was meant",
        severity="warning",
    ),
    Fault("not-q0", "the second column is not Q0", "the column is not used", severity="warning"),
    Fault(
        "guessed-columns",
        "the columns of a CSV file have no header and were taken for what they look like",
        "put a header such as topic,document,score into the first line if that is wrong",
        severity="warning",
    ),
)

TREC_COLUMNS = ("topic", "Q0", "document", "rank", "score", "tag")

RUN = Schema(SPELLINGS, CHECKS, needed=("topic", "document"))

problem = RUN.problem


def roles_of(names: Iterable[object]) -> dict[str, str] | None:
    """Give the column of each part by its name, or None where topic, document, or both score and rank are missing."""
    found = RUN.roles(str(name) for name in names)
    is_run = {"topic", "document"} <= found.keys() and not found.keys().isdisjoint({"score", "rank"})
    return dict(found) if is_run else None


def expected_columns() -> str:
    """Say which columns are looked for, for a message."""
    return ", ".join(f"{part} ({', '.join(names[1:5])} …)" for part, names in SPELLINGS.items())
