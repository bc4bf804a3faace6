"""Adding records that may be there already: what documents and topics have in common."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cranfield.store import engine
from cranfield.store.store import Store


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a batch: how many are new, which were there already, and which clash with what is there.

    `places` are those of the clashing records in the batch, from 0.
    """

    new: int
    same: int = 0
    updated: int = 0
    clashing: tuple[str, ...] = ()
    places: tuple[int, ...] = field(default=(), compare=False)


def add_rows(
    store: Store, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]], *, update: bool = False
) -> Added:
    """Add a batch inside `store.write()`. The columns begin with `id` and include `content_hash`.

    A record that is there with the same content is left alone; one with other content is replaced when `update` is
    asked for, and is clashing otherwise. The usual batch has neither, so it is tried as a whole first.
    """
    marks = ", ".join("?" * len(columns))
    insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"
    connection = store.connection
    connection.execute("SAVEPOINT batch")
    try:
        connection.executemany(insert, rows)
        connection.execute("RELEASE batch")
        return Added(len(rows))
    except engine.IntegrityError:
        connection.execute("ROLLBACK TO batch")
        connection.execute("RELEASE batch")
    outcomes = [_add_one(store, table, columns, insert, row, update=update) for row in rows]
    places = tuple(place for place, outcome in enumerate(outcomes) if outcome == "clashing")
    return Added(
        new=outcomes.count("new"),
        same=outcomes.count("same"),
        updated=outcomes.count("updated"),
        clashing=tuple(rows[place][0] for place in places),
        places=places,
    )


def _add_one(
    store: Store, table: str, columns: Sequence[str], insert: str, row: tuple[Any, ...], *, update: bool
) -> str:
    known = store.value(f"SELECT content_hash FROM {table} WHERE id = ?", row[0])
    if known is None:
        store.connection.execute(insert, row)
        return "new"
    if known == row[columns.index("content_hash")]:
        return "same"
    if not update:
        return "clashing"
    assignments = ", ".join(f"{column} = ?" for column in columns[1:])
    store.connection.execute(f"UPDATE {table} SET {assignments} WHERE id = ?", [*row[1:], row[0]])
    return "updated"
