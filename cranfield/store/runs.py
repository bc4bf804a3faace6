"""Runs: what is known of each, its ranking as one block, and the id tables the blocks refer to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal, NamedTuple
from zlib import crc32

import pyarrow as pa

from cranfield.base.errors import RESTORE, CollectionError, InputError, Problem, UnknownName, quoted
from cranfield.runs import encoding as encoded
from cranfield.runs.run import Run
from cranfield.store.store import Query, Store, first, marks, nothing, stored, value

Role = Literal["contributing", "new"]
IdKind = Literal["topic", "document"]


class RunFacts(NamedTuple):
    """What is known of a run beside its ranking."""

    name: str
    tag: str
    group_name: str
    family: str
    role: str
    priority: int
    description: str
    ordered_by: str
    topics: int
    rows: int
    content_hash: str
    file_name: str
    file_sha256: str
    submitted: str
    withdrawn: str | None = None
    withdrawn_because: str | None = None
    number: int = 0


_FACTS = """name, tag, group_name, family, role, priority, description, ordered_by, topics, rows, content_hash,
            file_name, file_sha256, submitted, withdrawn, withdrawn_because"""
"""The columns of the facts, in the order of their fields; the number is given when a run is stored."""


def add(
    store: Store, run: RunFacts, *, ranking: bytes, encoding: int, warnings: Sequence[Problem], metadata: str = ""
) -> int:
    """Store a run inside `store.write()` and give its number."""
    row = [*run[:-1], encoding, ranking, crc32(ranking)]
    number = store.insert(f"INSERT INTO runs ({_FACTS}, encoding, ranking, checksum) VALUES ({marks(row)})", *row)
    store.put(
        "run_warnings",
        [
            (number, problem.code, problem.message, problem.count, json.dumps(problem.lines), problem.topic)
            for problem in warnings
        ],
    )
    store.put("run_metadata", [(number, metadata)] if metadata else [])
    return number


metadata = Query[str | None]("SELECT text FROM run_metadata WHERE run = ?", value)
"""The ir_metadata header of a run, by its number, or None."""


def facts(store: Store, *, withdrawn: bool = False) -> list[RunFacts]:
    """The facts of all runs in the order they were submitted; of the withdrawn ones too, if requested."""
    where = "" if withdrawn else "WHERE withdrawn IS NULL"
    return [RunFacts(*row) for row in store.rows(f"SELECT {_FACTS}, number FROM runs {where} ORDER BY number")]


def find(store: Store, name: str, *, withdrawn: bool = False) -> RunFacts:
    """The facts of one run; where it may be `withdrawn` and none stands, of the one that was withdrawn last."""
    rows = store.rows(f"SELECT {_FACTS}, number FROM runs WHERE name = ? ORDER BY number", name)
    named = [RunFacts(*row) for row in rows]
    standing = [one for one in named if one.withdrawn is None]
    if standing or (named and withdrawn):
        return (standing or named)[-1]
    if not named:
        raise UnknownName("run", name, [one.name for one in facts(store)])
    day, why = str(named[-1].withdrawn)[:10], named[-1].withdrawn_because
    raise InputError(f"run {quoted(name)} was withdrawn on {day} ({why}); submit it again to use it")


warnings = Query[list[Problem]](
    "SELECT code, message, count, lines, topic FROM run_warnings WHERE run = ? ORDER BY rowid",
    lambda rows: [
        Problem(code, message, "warning", lines=tuple(stored(list, lines, "a warning")), count=count, topic=topic)
        for code, message, count, lines, topic in rows
    ],
)
"""What intake found in a run, by its number, and kept."""


class StoredRanking(NamedTuple):
    """A ranking as it is stored: it can be decoded in any thread."""

    data: bytes
    encoding: int
    checksum: int

    def run(self) -> encoded.CodedRun:
        """The ranking, as codes into the id tables."""
        return encoded.decode(unharmed(self.data, self.checksum), self.encoding)

    def order(self) -> encoded.CodedOrder:
        """The ranking without its scores, in half the time."""
        return encoded.decode_order(unharmed(self.data, self.checksum), self.encoding)


def unharmed(block: bytes, checksum: int) -> bytes:
    """A block that has its CRC-32: a single changed bit would decode to other documents."""
    if crc32(block) != checksum:
        raise CollectionError(f"a stored ranking or id table is damaged (its checksum differs); {RESTORE}")
    return block


def fetch(store: Store, name: str, *, number: int = 0) -> StoredRanking:
    """The ranking of one run that has not been withdrawn; with its number of one that may have been."""
    query = "SELECT ranking, encoding, checksum FROM runs WHERE number = ?"
    return StoredRanking(*store.row(query, number or find(store, name).number))


fetch_by_content = Query(
    "SELECT ranking, encoding, checksum FROM runs WHERE content_hash = ? LIMIT 1", first(StoredRanking)
)
"""The ranking of a run by its content, withdrawn or not, or None."""


def decoded(store: Store, facts: RunFacts, tables: tuple[pa.Array, pa.Array]) -> Run:
    """A run with its ids; `tables` are those of `ids`."""
    coded = fetch(store, facts.name, number=facts.number).run()
    return encoded.from_coded(coded, *tables, tag=facts.name, order=facts.ordered_by)  # type: ignore[arg-type]


withdraw = Query[None](
    "UPDATE runs SET withdrawn = ?, withdrawn_because = ? WHERE name = ? AND withdrawn IS NULL", nothing
)
"""Mark a run as withdrawn, now and for a reason; nothing is deleted."""


def ids(store: Store) -> tuple[pa.Array, pa.Array]:
    """All topic ids, and all document ids, each in the order of their codes."""

    def pages(kind: IdKind) -> pa.Array:
        query = "SELECT ids, checksum FROM id_pages WHERE kind = ? ORDER BY first_code"
        blocks = [encoded.decode_page(unharmed(*page)) for page in store.rows(query, kind)]
        return pa.chunked_array(blocks, pa.large_string())

    return encoded.as_ids(pages("topic")), encoded.as_ids(pages("document"))


def add_ids(store: Store, kind: IdKind, ids: pa.Array) -> None:
    """Append a page of new ids inside `store.write()`; an empty page is not stored."""
    if len(ids):
        first_code = store.value("SELECT coalesce(max(first_code + count), 0) FROM id_pages WHERE kind = ?", kind)
        page = encoded.encode_page(ids)
        store.put("id_pages", [(kind, first_code, len(ids), page, crc32(page))])
