"""What a baseline retrieval system is: a corpus and queries in, one ranking per query out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, get_args, runtime_checkable

from cranfield.errors import UnknownName
from cranfield.records import Document, Topic
from cranfield.runs.options import configured

__all__ = ["Corpus", "Doubting", "Query", "Ranking", "System", "TopicField", "configured", "query_text"]


TopicField = Literal["title", "description", "narrative"]


class Corpus(Protocol):
    """The documents a system searches."""

    def documents(self) -> Iterable[Document]:
        """Give all documents as a stream, in stored order."""
        ...

    def search(self, query: str, limit: int) -> list[tuple[str, float]]:
        """Search the collection's own FTS5 index by BM25: (document id, score), best first, higher is better.

        The words of the query are joined by OR.
        """
        ...


@dataclass(frozen=True, slots=True)
class Query:
    """What a system is asked for one topic."""

    topic: str
    text: str


@dataclass(frozen=True, slots=True)
class Ranking:
    """What a system answers for one topic, best first: score descending, ties by document id descending.

    A query without a word the system knows has an empty ranking.
    """

    topic: str
    documents: tuple[str, ...]
    scores: tuple[float, ...]


class System(Protocol):
    """A retrieval system. It is a frozen dataclass, and its fields are its options."""

    summary: ClassVar[str]
    family: ClassVar[str]

    def rank(self, corpus: Corpus, queries: Sequence[Query], depth: int) -> Iterator[Ranking]:
        """Give one ranking of at most `depth` documents for each query, in the order of the queries."""
        ...


@runtime_checkable
class Doubting(Protocol):
    """A system that can say beforehand that its options make little sense for a collection."""

    def doubt(self, documents: int) -> str:
        """Say what is doubtful in a collection of so many documents, and what to give; empty where nothing is."""
        ...


def query_text(topic: Topic, fields: Sequence[TopicField]) -> str:
    """Give the wanted fields of a topic as one query, in the order they are asked for; empty ones leave no trace."""
    for field in fields:
        if field not in get_args(TopicField):
            raise UnknownName("topic field", field, get_args(TopicField))
    return "\n".join(text for field in fields if (text := str(getattr(topic, field)).strip()))
