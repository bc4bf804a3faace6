"""Make runs with the baseline systems, for people who have documents and topics and no search engine."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from typing import Any, BinaryIO

from cranfield.errors import InputError, UsageError, quoted
from cranfield.records import Document
from cranfield.report.table import Value
from cranfield.runs.system import Doubting, Query, Ranking, TopicField, configured, query_text
from cranfield.runs.baselines import systems
from cranfield.workflows.watching import Progress, silent
from cranfield.store import Store
from cranfield.store.documents import document_count, iter_documents
from cranfield.store.search import ranked
from cranfield.store.topics import topics

__all__ = ["check_tag", "described_systems", "doubt_of", "made_run", "write_rankings"]


@dataclass(frozen=True, slots=True)
class StoredCorpus:
    """The documents of a collection, as the systems see them."""

    store: Store
    progress: Progress = silent

    def documents(self) -> Iterator[Document]:
        """Give all documents in stored order."""
        total = document_count(self.store)
        for done, document in enumerate(iter_documents(self.store), start=1):
            if done % 500 == 0:
                self.progress("reading documents", done, total)
            yield document

    def search(self, query: str, limit: int) -> list[tuple[str, float]]:
        """Search the collection's own index."""
        return ranked(self.store, query, limit=limit)


def made_run(
    store: Store,
    system: str,
    *,
    options: Mapping[str, str] | None = None,
    fields: Sequence[TopicField] = ("title",),
    depth: int = 1000,
    progress: Progress = silent,
) -> Iterator[Ranking]:
    """Give one ranking per topic, in the order of the topics."""
    part = configured(systems.get(system), options or {})
    queries = [Query(topic.id, query_text(topic, fields)) for topic in topics(store)]
    if not queries:
        raise InputError("there are no topics yet: add some with cranfield corpus topics FILE")
    if not document_count(store):
        raise InputError("there are no documents yet: add some with cranfield corpus add FILE…")
    return part.rank(StoredCorpus(store, progress), queries, depth)


def doubt_of(store: Store, system: str, options: Mapping[str, str] | None = None) -> str:
    """Say what is doubtful about a system with these options on this collection; empty where nothing is."""
    part = configured(systems.get(system), options or {})
    return part.doubt(document_count(store)) if isinstance(part, Doubting) else ""


def check_tag(tag: str) -> None:
    """Refuse a tag that `runs submit` would refuse."""
    from cranfield.runs.check import TAG_PATTERN

    if not re.fullmatch(TAG_PATTERN, tag):
        raise UsageError(f"{quoted(tag)} cannot be a run's tag: letters, digits and . _ + -, at most 100")


def write_rankings(rankings: Iterable[Ranking], stream: BinaryIO, *, tag: str) -> int:
    """Write rankings as a TREC run and give the number of lines."""
    lines = 0
    for ranking in rankings:
        pairs = zip(ranking.documents, ranking.scores, strict=True)
        for rank, (document, score) in enumerate(pairs, start=1):
            stream.write(f"{ranking.topic} Q0 {document} {rank} {score!r} {tag}\n".encode())
            lines += 1
    return lines


def described_systems() -> list[tuple[Value, ...]]:
    """Give (name, family, summary, options with their defaults) for every system."""
    return [(name, part.family, part.summary, _defaults(part)) for name, part in systems.items()]


def _defaults(part: type[Any]) -> str:
    return ", ".join(f"{field.name}={field.default}" for field in dataclass_fields(part))
