"""What SQLite itself can say about the soundness of a file."""

from collections.abc import Iterator

from cranfield.errors import CollectionError
from cranfield.store.store import Store

_REBUILD = """rebuild it in the sqlite3 shell: INSERT INTO documents_fts(documents_fts) VALUES('rebuild')"""


def page_faults(store: Store) -> Iterator[str]:
    """Give what SQLite's own integrity check finds."""
    for (message,) in store.rows("PRAGMA integrity_check"):
        if message != "ok":
            yield f"SQLite: {message}"


def broken_keys(store: Store) -> Iterator[str]:
    """Give the rows that refer to something that is not there."""
    for table, row, parent, _ in store.rows("PRAGMA foreign_key_check"):
        yield f"row {row} of {table} refers to a row of {parent} that is not there"


def index_faults(store: Store) -> Iterator[str]:
    """Say whether the search index is what the documents say it should be."""
    try:
        with store.write() as connection:
            # The 1 makes FTS5 compare the index with the documents, not only with itself.
            connection.execute("INSERT INTO documents_fts (documents_fts, rank) VALUES ('integrity-check', 1)")
    except CollectionError as error:
        yield f"the search index does not fit the documents ({error}); {_REBUILD}"
