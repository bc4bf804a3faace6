"""List, show, export and withdraw runs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, get_args

from cranfield.base.errors import InputError, Problem, ProblemsFound, UsageError, nearest, quoted
from cranfield.base.options import described_options
from cranfield.base.progress import Progress, now, silent
from cranfield.base.records import Document
from cranfield.base.tables import Value
from cranfield.runs.baseline import Query, Ranking, TopicField, query_text, search, systems, warning_of
from cranfield.store.documents import document_count, iter_documents, ranked, topics
from cranfield.store.runs import (
    RunFacts,
    coded_run_by_number,
    facts_of,
    id_table,
    latest_facts,
    latest_number,
    run_facts,
    warnings_of,
    withdraw_run,
)
from cranfield.store.store import Store
from cranfield.workflows.collection import read_text
from cranfield.workflows.runs.submit import Names, Order, Request


def list_runs(store: Store, *, withdrawn: bool = False) -> list[RunFacts]:
    """Give the runs in the order they were submitted."""
    return run_facts(store, withdrawn=withdrawn)


def show_run(store: Store, name: str) -> tuple[dict[str, Value], list[Problem]]:
    """Give what is known of one run, withdrawn or not, and what intake found in it and kept."""
    facts = latest_facts(store, name)
    shown: dict[str, Value] = {
        "run": facts.name,
        "tag": facts.tag,
        "group": facts.group_name,
        "family": facts.family,
        "role": facts.role,
        "priority": facts.priority,
        "description": facts.description,
        "ordered by": facts.ordered_by,
        "topics": facts.topics,
        "rows": facts.rows,
        "content hash": facts.content_hash,
        "file": facts.file_name,
        "file SHA-256": facts.file_sha256,
        "submitted": facts.submitted,
    }
    if facts.withdrawn:
        shown |= {"withdrawn": facts.withdrawn, "because": facts.withdrawn_because}
    return shown, warnings_of(store, name)


def export_run(store: Store, name: str, stream: BinaryIO, *, format: str = "trec") -> RunFacts:
    """Write an equivalent file: reading it gives the same topics, documents, order and scores.

    A withdrawn run is written too; the facts that are given say so.
    """
    from cranfield.runs.encoding import from_coded
    from cranfield.runs.reading import run_formats

    writer = run_formats.get(format)
    facts = latest_facts(store, name)
    coded = coded_run_by_number(store, latest_number(store, name))
    run = from_coded(
        coded,
        id_table(store, "topic"),
        id_table(store, "document"),
        tag=facts.name,
        order=facts.ordered_by,  # type: ignore[arg-type]
    )
    writer.write(run, stream)
    return facts


def withdraw(store: Store, names: Sequence[str], *, because: str) -> None:
    """Take runs out, all or none; their history stays."""
    if not because.strip():
        raise UsageError("a withdrawal needs a reason: --because '…'")
    with store.write():
        for name in names:
            facts_of(store, name)
            withdraw_run(store, name, because=because.strip(), now=now())


# Make runs with the baseline systems, for people who have documents and topics and no search engine.


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
    queries = [Query(topic.id, query_text(topic, fields)) for topic in topics(store)]
    rankings = search(system, StoredCorpus(store, progress), queries, depth, options or {})
    if not queries:
        raise InputError("there are no topics yet: add some with cranfield corpus topics FILE")
    if not document_count(store):
        raise InputError("there are no documents yet: add some with cranfield corpus add FILE…")
    return rankings


def doubt_of(store: Store, system: str, options: Mapping[str, str] | None = None) -> str:
    """Say what is doubtful about a system with these options on this collection; empty where nothing is."""
    return warning_of(system, options or {}, document_count(store))


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
    return [
        (name, part.family, part.summary, ", ".join(f"{one.name}={one.default}" for one in described_options(part)))
        for name, part in systems.items()
    ]


# `runs.toml`: many run files and what their senders say about them, in one file.

LOWEST_PRIORITY = 1000

_KINDS: dict[str, type[object]] = {
    "file": str,
    "name": str,
    "group": str,
    "family": str,
    "role": str,
    "priority": int,
    "description": str,
    "order": str,
    "names": str,
    "format": str,
}
_CHOICES = {"role": ("contributing", "new"), "order": get_args(Order), "names": get_args(Names)}


def read_requests(path: Path) -> list[Request]:
    """Give one request per `[[run]]` table; `file` is relative to the TOML file. Everything wrong is listed at once.

    Values that stand outside the tables (`group`, `family`, `order` …) hold for all of them.
    """
    try:
        content = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not TOML: {error}") from None
    entries = content.pop("run", None)
    if not isinstance(entries, list) or not entries:
        raise InputError(f'{path}: no [[run]] tables; each needs at least: file = "…"')
    merged = [{**content, **entry} if isinstance(entry, dict) else {} for entry in entries]
    problems = [
        Problem("bad-runs-file", f"run {index}: {text}", file=str(path))
        for index, entry in enumerate(merged, start=1)
        for text in _entry_problems(entry)
    ]
    if problems:
        raise ProblemsFound(f"{path} cannot be used", problems)
    return [_request(path.parent, entry) for entry in merged]


def _entry_problems(entry: dict[str, Any]) -> list[str]:
    problems = [] if "file" in entry else ["there is no 'file'"]
    for name, value in entry.items():
        if name not in _KINDS:
            near = nearest(name, list(_KINDS))
            guess = f"; did you mean {quoted(near[0])}?" if near else ""
            problems.append(f"unknown entry {quoted(name)}{guess} (known: {', '.join(_KINDS)})")
        elif not isinstance(value, _KINDS[name]) or isinstance(value, bool):
            problems.append(f"{name} is {quoted(value)}, which is of the wrong kind")
        elif name in _CHOICES and value not in _CHOICES[name]:
            problems.append(f"{name} is {quoted(value)}; it must be one of {', '.join(_CHOICES[name])}")
        elif isinstance(value, int) and not 1 <= value <= LOWEST_PRIORITY:
            problems.append(f"priority is {value}; it goes from 1 to {LOWEST_PRIORITY}")
    return problems


def _request(folder: Path, entry: dict[str, Any]) -> Request:
    given = {name: value for name, value in entry.items() if name != "file"}
    return Request(path=folder / entry["file"], **given)
