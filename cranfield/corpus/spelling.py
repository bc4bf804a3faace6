"""Which field of a foreign record is the id, the title, the text: the usual spellings, best first.

They are those of BEIR, Anserini, Pyserini, ir_datasets and MS MARCO. `pid` stands before `docid` because MS MARCO
passages carry both, and the passage is the record there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

DOCUMENT_FIELDS = (
    ("id", ("_id", "id", "doc_id", "pid", "docid", "docno", "document_id", "passage_id")),
    ("title", ("title", "headline")),
    ("text", ("text", "contents", "body", "passage", "segment", "content", "abstract")),
)
TOPIC_FIELDS = (
    ("id", ("_id", "id", "query_id", "qid", "topic_id", "number", "num", "topic")),
    ("title", ("title", "query", "text", "question")),
    ("description", ("description", "desc", "question")),
    ("narrative", ("narrative", "narr")),
)
Fields = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Which key of a record is which part, and which keys are metadata."""

    parts: tuple[tuple[str, str], ...]
    others: tuple[str, ...]

    @property
    def named(self) -> frozenset[str]:
        """The parts that were found."""
        return frozenset(part for part, _ in self.parts)


@lru_cache(maxsize=1024)
def plan_for(keys: tuple[str, ...], fields: Fields) -> Plan:
    """Find the parts among the keys of a record, whatever their case. A key serves once."""
    by_folded = {key.casefold(): key for key in reversed(keys)}
    parts = tuple(_assigned(by_folded, fields))
    used = {key for _, key in parts}
    return Plan(parts, tuple(key for key in keys if key not in used))


def _assigned(by_folded: dict[str, str], fields: Fields) -> Iterator[tuple[str, str]]:
    free = dict(by_folded)
    for part, spellings in fields:
        if found := next((word for word in spellings if word in free), None):
            yield part, free.pop(found)


def expected(fields: Fields, part: str) -> str:
    """Give the spellings of a part for a message."""
    return ", ".join(dict(fields)[part])


def looks_like_header(cells: Sequence[str], fields: Fields) -> bool:
    """Whether the cells of a first row are names of fields: an id and at least one other part."""
    named = plan_for(tuple(cell.strip() for cell in cells), fields).named
    return "id" in named and len(named) > 1
