"""What SQLite itself can say about the soundness of a file."""

from collections.abc import Iterator

from cranfield.errors import CollectionError
from cranfield.store import engine
from cranfield.store.migrate import migrate
from cranfield.store.store import Store

_REBUILD = """rebuild it in the sqlite3 shell: INSERT INTO documents_fts(documents_fts) VALUES('rebuild')"""


def page_faults(store: Store) -> Iterator[str]:
    """Give what SQLite's own integrity check finds."""
    for (message,) in store.rows("PRAGMA integrity_check"):
        if message != "ok":
            yield f"SQLite: {message}"


def schema_faults(store: Store) -> Iterator[str]:
    """Compare tables, indexes, triggers and views with those of a new file."""
    from sqlite_utils import Database

    fresh = Database(memory=True, execute_plugins=False)
    migrate(fresh)
    query = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' AND sql IS NOT NULL"
    wanted = {(kind, name): sql for kind, name, sql in fresh.conn.execute(query)}
    found = {(kind, name): sql for kind, name, sql in store.rows(query)}
    fresh.close()
    for kind, name in wanted.keys() - found.keys():
        yield f"the {kind} {name} is missing"
    for kind, name in wanted.keys() & found.keys():
        if wanted[kind, name] != found[kind, name]:
            yield f"the {kind} {name} is not as this version makes it"


def broken_keys(store: Store) -> Iterator[str]:
    """Give the rows that refer to something that is not there."""
    for table, row, parent, _ in store.rows("PRAGMA foreign_key_check"):
        yield f"row {row} of {table} refers to a row of {parent} that is not there"


def index_faults(store: Store) -> Iterator[str]:
    """Say whether the search index is what the documents say it should be; a file that is only read is trusted."""
    if not store.writable:
        return
    try:
        with store.write() as connection:
            # The 1 makes FTS5 compare the index with the documents, not only with itself.
            connection.execute("INSERT INTO documents_fts (documents_fts, rank) VALUES ('integrity-check', 1)")
    except (CollectionError, engine.IntegrityError) as error:
        yield f"the search index does not fit the documents ({error}); {_REBUILD}"
