"""A table of an SQLite file, as `sqlite:PATH` or `sqlite:PATH#TABLE`. The file is only read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from cranfield.base.errors import InputError, check_known, quoted
from cranfield.base.files import Progress, silent
from cranfield.base.records import Document
from cranfield.base.tables import Schema
from cranfield.corpus.outside import LARGEST_DOCUMENT, document_of, document_sources, here

_LONGEST_NUMBER = 19


@document_sources.register("sqlite")
class SqliteTable:
    """Rows that are looked up by the column with the id, which needs an index."""

    summary = "a table of an SQLite file with a column for the id (sqlite:FILE#TABLE where it has several)"

    @staticmethod
    def located(place: str) -> str:
        """The path of the file, and the table where one is named."""
        path, mark, table = place.partition("#")
        return f"{here(path)}{mark}{table}"

    def __init__(self, place: str, schema: Schema) -> None:
        path, _, self._table = place.partition("#")
        self._path, self._schema = Path(path), schema

    def prepare(self, progress: Progress = silent) -> int:
        """Count the rows; a table in which every look-up would read all of it is refused."""
        with self._opened() as connection:
            table, id = self._place(connection)
            plan = connection.execute(f"EXPLAIN QUERY PLAN SELECT 1 FROM {table} WHERE {id} = ''").fetchall()  # noqa: S608
            if any(str(row[-1]).startswith("SCAN") for row in plan):
                raise InputError(f"no index for the id: CREATE INDEX documents_by_id ON {table}({id})")
            return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608

    def fetch(self, id: str) -> Document | None:
        """The row with this id."""
        with self._opened() as connection:
            table, column = self._place(connection)
            # A column without a type keeps numbers apart from their digits.
            number = int(id) if id.isdecimal() and len(id) < _LONGEST_NUMBER else id
            found = connection.execute(f"SELECT * FROM {table} WHERE {column} IN (?, ?)", [id, number])  # noqa: S608
            names, row = [name for name, *_ in found.description], found.fetchone()
        if row is None:
            return None
        plain = (quoted(cell[:20]) if isinstance(cell, bytes) else cell for cell in row)
        document = document_of(dict(zip(names, plain, strict=True)), self._schema)
        return document if document.id == id else None  # a column of numbers takes 007 for 7

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        if not self._path.is_file():
            raise InputError("there is no such file")
        try:
            with closing(sqlite3.connect(f"{self._path.as_uri()}?mode=ro", uri=True)) as connection:
                # What a stranger wrote into the schema must not run.
                connection.execute("PRAGMA trusted_schema = OFF")
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_DOCUMENT)
                yield connection
        except sqlite3.Error as error:
            raise InputError(f"SQLite: {error}") from None

    def _place(self, connection: sqlite3.Connection) -> list[str]:
        """The table with documents and its column for the id, quoted."""
        known = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        check_known("table", filter(None, [self._table]), known)
        found, mark = [], '"'
        for table in [self._table] if self._table else known:
            columns = [row[1] for row in connection.execute("SELECT * FROM pragma_table_info(?)", [table])]
            roles = self._schema.roles(columns)
            if {"id", "text"} <= roles.keys():
                found.append([f'"{name.replace(mark, 2 * mark)}"' for name in (table, roles["id"])])
        if len(found) != 1:
            many = "several tables have" if found else "no table has"
            raise InputError(
                f"{many} a column for the id and one for the text; write sqlite:FILE#TABLE, or --columns"
            )
        return found[0]
