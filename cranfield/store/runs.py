"""Runs: what is known of each, its ranking as one block, and the id tables the blocks refer to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from cranfield.base.errors import CranfieldError, InputError, Problem, UnknownName, quoted
from cranfield.base.registry import deferred
from cranfield.store.store import Store

with deferred:
    import pyarrow as pa

    from cranfield.runs import encoding as encoded

if TYPE_CHECKING:
    from cranfield.runs.encoding import CodedOrder, CodedRun, IdTable

Role = Literal["contributing", "new"]
IdKind = Literal["topic", "document"]


@dataclass(frozen=True, slots=True)
class RunFacts:
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


_FACTS = """name, tag, group_name, family, role, priority, description, ordered_by, topics, rows, content_hash,
            file_name, file_sha256, submitted, withdrawn, withdrawn_because"""
"""The columns of the facts, in the order of their fields."""


def add(store: Store, run: RunFacts, *, ranking: bytes, encoding: int, warnings: Sequence[Problem]) -> int:
    """Store a run inside `store.write()` and give its number."""
    row = [*astuple(run), encoding, ranking]
    marks = ", ".join("?" * len(row))
    cursor = store.connection.execute(f"INSERT INTO runs ({_FACTS}, encoding, ranking) VALUES ({marks})", row)
    number = int(cursor.lastrowid or 0)
    store.connection.executemany(
        "INSERT INTO run_warnings VALUES (?, ?, ?, ?, ?, ?)",
        [
            (number, problem.code, problem.message, problem.count, json.dumps(problem.lines), problem.topic)
            for problem in warnings
        ],
    )
    return number


def facts(store: Store, *, withdrawn: bool = False) -> list[RunFacts]:
    """Give the facts of all runs in the order they were submitted; the withdrawn ones only when asked for."""
    where = "" if withdrawn else "WHERE withdrawn IS NULL"
    rows = store.rows(f"SELECT {_FACTS} FROM runs {where} ORDER BY number")
    return [RunFacts(*row) for row in rows]


def numbered(store: Store) -> list[tuple[int, RunFacts]]:
    """Give the number and the facts of all runs, withdrawn or not, by number."""
    return [(row[0], RunFacts(*row[1:])) for row in store.rows(f"SELECT number, {_FACTS} FROM runs ORDER BY number")]


def find(store: Store, name: str) -> RunFacts:
    """Give the facts of one run that has not been withdrawn, or say which runs there are."""
    for one in facts(store):
        if one.name == name:
            return one
    raise _no_such_run(store, name)


def _no_such_run(store: Store, name: str) -> CranfieldError:
    for one in facts(store, withdrawn=True):
        if one.name == name and one.withdrawn:
            day, why = one.withdrawn[:10], one.withdrawn_because
            return InputError(f"run {quoted(name)} was withdrawn on {day} ({why}); submit it again to use it")
    return UnknownName("run", name, [one.name for one in facts(store)])


def latest_number(store: Store, name: str) -> int:
    """Give the number of the run with this name: the standing one, else the one that was withdrawn last."""
    query = "SELECT number FROM runs WHERE name = ? ORDER BY withdrawn IS NOT NULL, number DESC LIMIT 1"
    number = store.value(query, name)
    if number is None:
        raise _no_such_run(store, name)
    return int(number)


def latest_facts(store: Store, name: str) -> RunFacts:
    """Give the facts of one run, withdrawn or not, or say which runs there are."""
    return RunFacts(*store.row(f"SELECT {_FACTS} FROM runs WHERE number = ?", latest_number(store, name)))


def warnings(store: Store, name: str) -> list[Problem]:
    """Give what intake found in a run and kept."""
    rows = store.rows(
        """SELECT code, message, count, lines, topic FROM run_warnings
           WHERE run = ? ORDER BY rowid""",
        latest_number(store, name),
    )
    return [
        Problem(code, message, "warning", lines=tuple(json.loads(lines)), count=count, topic=topic)
        for code, message, count, lines, topic in rows
    ]


class StoredRanking(NamedTuple):
    """A ranking as it is stored: it can be decoded in any thread."""

    data: bytes
    encoding: int

    def run(self) -> CodedRun:
        """Give the ranking, as codes into the id tables."""
        return encoded.decode(self.data, self.encoding)

    def order(self) -> CodedOrder:
        """Give the ranking without its scores, in half the time."""
        return encoded.decode_order(self.data, self.encoding)


def fetch(store: Store, name: str) -> StoredRanking:
    """Give the ranking of one run that has not been withdrawn."""
    row = store.row("SELECT ranking, encoding FROM runs WHERE name = ? AND withdrawn IS NULL", name)
    if row is None:
        raise _no_such_run(store, name)
    return StoredRanking(*row)


def fetch_by_number(store: Store, number: int) -> StoredRanking:
    """Give the ranking of one run, withdrawn or not."""
    return StoredRanking(*store.row("SELECT ranking, encoding FROM runs WHERE number = ?", number))


def withdraw(store: Store, name: str, *, because: str, now: str) -> None:
    """Mark a run as withdrawn inside `store.write()`; nothing is deleted."""
    store.connection.execute(
        "UPDATE runs SET withdrawn = ?, withdrawn_because = ? WHERE name = ? AND withdrawn IS NULL",
        [now, because, name],
    )


def id_table(store: Store, kind: IdKind) -> IdTable:
    """Give all ids of one kind in the order of their codes."""
    pages = store.rows("SELECT ids FROM id_pages WHERE kind = ? ORDER BY first_code", kind)
    return encoded.IdTable.of(pa.chunked_array([encoded.decode_page(data) for (data,) in pages], pa.large_string()))


def add_ids(store: Store, kind: IdKind, ids: pa.Array, *, first_code: int) -> None:
    """Append a page of new ids inside `store.write()`; an empty page is not stored."""
    if len(ids):
        page = [kind, first_code, len(ids), encoded.encode_page(ids)]
        store.connection.execute("INSERT INTO id_pages VALUES (?, ?, ?, ?)", page)
