"""What the columns of a run are called in files that name them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "topic": ("topic", "topic_id", "query", "query_id", "qid", "q_id", "topicid", "queryid"),
    "document": (
        "document",
        "document_id",
        "doc",
        "doc_id",
        "docid",
        "docno",
        "did",
        "corpus_id",
        "pid",
        "passage_id",
    ),
    "score": ("score", "sim", "relevance_score", "similarity"),
    "rank": ("rank", "ranking", "position"),
    "tag": ("tag", "run", "run_id", "runid", "system", "run_tag", "run_name"),
}
"""The usual spellings of each column, best first; case does not matter, and a dash is as good as an underscore."""


@dataclass(frozen=True, slots=True)
class Roles:
    """Which column of a file plays which part; None where there is none."""

    topic: str
    document: str
    score: str | None = None
    rank: str | None = None
    tag: str | None = None

    def items(self) -> list[tuple[str, str]]:
        """Give (part, column) for all parts that have a column."""
        return [(part, name) for part in SPELLINGS if (name := getattr(self, part)) is not None]


def roles_of(columns: Iterable[object]) -> Roles | None:
    """Give the part of each column by its name, or None if it cannot be the list of a run's columns.

    A run needs a topic, a document, and a score or at least a rank.
    """
    by_name = {_plain(str(column)): str(column) for column in reversed(list(columns))}
    found = {part: _first(by_name, names) for part, names in SPELLINGS.items()}
    topic, document = found["topic"], found["document"]
    if topic is None or document is None or (found["score"] is None and found["rank"] is None):
        return None
    return Roles(topic, document, found["score"], found["rank"], found["tag"])


def named_fields(value: Mapping[str, object], usual: Roles) -> dict[str, object]:
    """Give the value of each part of an object: from the field that usually has it, else in another spelling."""
    names = {part: getattr(usual, part) for part in SPELLINGS}
    if all(name is not None and name in value for name in names.values()):
        return {part: value[name] for part, name in names.items()}
    by_name = {_plain(name): name for name in reversed(list(value))}
    found = {part: name if name in value else _first(by_name, SPELLINGS[part]) for part, name in names.items()}
    return {part: None if name is None else value[name] for part, name in found.items()}


def expected_columns() -> str:
    """Say which columns are looked for, for a message."""
    return ", ".join(f"{part} ({', '.join(names[1:5])} …)" for part, names in SPELLINGS.items())


def _first(by_name: Mapping[str, str], names: Iterable[str]) -> str | None:
    return next((by_name[name] for name in names if name in by_name), None)


def _plain(column: str) -> str:
    return column.strip().casefold().replace("-", "_").replace(" ", "_")
