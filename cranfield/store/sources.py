"""The files that documents and topics came from."""

from dataclasses import dataclass

from cranfield.store.store import Store


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """A file as it was when it was loaded."""

    kind: str
    name: str
    format: str
    sha256: str


def add_source(store: Store, file: LoadedFile, *, now: str) -> int:
    """Record a file that is being loaded and give its number; to be called inside `store.write()`."""
    cursor = store.connection.execute(
        "INSERT INTO sources (kind, name, format, sha256, records, added) VALUES (?, ?, ?, ?, 0, ?)",
        [file.kind, file.name, file.format, file.sha256, now],
    )
    return int(cursor.lastrowid or 0)


def came_from(store: Store, table: str, identifier: str) -> int:
    """Give the number of the file that brought a document or topic."""
    return int(store.value(f"SELECT source FROM {table} WHERE id = ?", identifier))


def finish_source(store: Store, number: int, *, records: int) -> None:
    """Record how many records the file brought; one that brought none leaves no trace."""
    if records:
        store.connection.execute("UPDATE sources SET records = ? WHERE number = ?", [records, number])
    else:
        store.connection.execute("DELETE FROM sources WHERE number = ?", [number])
