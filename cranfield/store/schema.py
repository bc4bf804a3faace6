"""What is in a collection file: numbered migrations make it, and nothing that strangers put in is run."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator
from hashlib import sha256
from importlib import import_module
from typing import TYPE_CHECKING

from cranfield.base.errors import CollectionError, InputError
from cranfield.base.registry import deferred
from cranfield.store import migrations

with deferred:
    import sqlite_utils  # it imports pandas

if TYPE_CHECKING:
    from cranfield.store.store import Store

MIGRATION_SET = "cranfield"

_CREATES = re.compile(r"CREATE (TABLE|VIEW|TRIGGER) (\w+)")
_QUOTES_AND_BLANKS = re.compile(r"""[\s"\[\]]""")
_INSERTED = "INSERTINTOdocuments_fts(rowid,title,text)VALUES(new.rowid,new.title,new.text);"
_DELETED = "INSERTINTOdocuments_fts(documents_fts,rowid,title,text)VALUES('delete',old.rowid,old.title,old.text);"
_BY_LIBRARY = {
    "documents_ai": f"CREATETRIGGERdocuments_aiAFTERINSERTONdocumentsBEGIN{_INSERTED}END",
    "documents_ad": f"CREATETRIGGERdocuments_adAFTERDELETEONdocumentsBEGIN{_DELETED}END",
    "documents_au": f"CREATETRIGGERdocuments_auAFTERUPDATEONdocumentsBEGIN{_DELETED}{_INSERTED}END",
}
"""The triggers that sqlite-utils makes for the search index, without quotes and blanks, which differ."""

# How a file gets its tables: numbered migrations, recorded in the file, each applied once.


def known_migrations() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(migrations.__path__))


def applied_migrations(store: Store) -> list[str]:
    if not store.row("SELECT 1 FROM sqlite_master WHERE name = '_sqlite_migrations' AND type = 'table'"):
        return []
    query = "SELECT name FROM _sqlite_migrations WHERE migration_set = ? ORDER BY id"
    return store.column(query, MIGRATION_SET)


def migrate(database: sqlite_utils.Database, *, stop_before: str | None = None) -> None:
    """Apply the migrations that are missing, inside the transaction that the caller has begun."""
    from sqlite_utils.migrations import Migrations

    steps = Migrations(MIGRATION_SET)
    for name in known_migrations():
        steps(name=name)(import_module(f"{migrations.__name__}.{name}").up)
    steps.apply(database, stop_before=stop_before)


# What is ours in a file, and what is not.


def _declared() -> dict[str, tuple[str, str]]:
    """For each table, view and trigger that the migrations declare its kind and its statement, of a table the start.

    A later migration adds columns to a table, in the middle of the statement.
    """
    declared = {}
    for migration in known_migrations():
        content = vars(import_module(f"{migrations.__name__}.{migration}"))
        for statement in (text for part in ("TABLES", "TRIGGERS", "STATEMENTS") for text in content.get(part, ())):
            if made := _CREATES.match(statement):
                declared[made[2]] = made[1].lower(), f"{made[0]} (" if made[1] == "TABLE" else statement
    return declared


def refuse_foreign(store: Store) -> None:
    """Refuse a file that would run what a stranger wrote: triggers, and tables or views in the place of ours."""
    declared, foreign = _declared(), []
    declared["_sqlite_migrations"] = "table", "CREATE TABLE"
    # SQLite takes names, and the kinds in its own table, in any case.
    query = "SELECT lower(type), lower(name), name, coalesce(sql, '') FROM sqlite_master WHERE lower(type) <> 'index'"
    for kind, name, written, sql in store.rows(query):
        if name in _BY_LIBRARY:
            is_ours = _QUOTES_AND_BLANKS.sub("", sql) == _BY_LIBRARY[name]
        elif name == "documents_fts":
            is_ours = _QUOTES_AND_BLANKS.sub("", sql).startswith("CREATEVIRTUALTABLEdocuments_ftsUSINGFTS5(")
        elif name in declared:
            own_kind, text = declared[name]
            is_ours = kind == own_kind and (sql.startswith(text) if kind == "table" else sql == text)
        else:
            is_ours = kind in ("table", "view")
        if not is_ours:
            foreign.append(f"the {kind} {written!r}")
    if foreign:
        raise CollectionError(
            f"{store.path} was not opened: it has {', '.join(sorted(foreign))}, which no version of Cranfield makes"
            " and which could change what commands do; if it is yours, remove it in the sqlite3 shell"
        )


def schema_faults(store: Store) -> Iterator[str]:
    """Compare tables, indexes, triggers and views with those of a new file."""
    fresh = sqlite_utils.Database(memory=True, execute_plugins=False)
    migrate(fresh)
    query = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' AND sql IS NOT NULL"
    wanted = {(kind, name): sql for kind, name, sql in fresh.conn.execute(query)}
    stored = {(kind, name): sql for kind, name, sql in store.rows(query)}
    fresh.close()
    for kind, name in wanted.keys() - stored.keys():
        yield f"the {kind} {name} is missing"
    for kind, name in wanted.keys() & stored.keys():
        if wanted[kind, name] != stored[kind, name]:
            yield f"the {kind} {name} differs from the one this version creates"


def foreign_tables(store: Store) -> list[str]:
    """The names of tables and views that are not ours: people add their own in Datasette or in SQL."""
    ours = {"documents_fts", "_sqlite_migrations", *_declared()}
    query = (
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY name"
    )
    return [name for name in store.column(query) if name not in ours and not name.startswith("documents_fts_")]


def scale_faults(store: Store) -> Iterator[str]:
    """The versions of scale and guidelines that make no sense or are not what their hash says."""
    versions = store.column("SELECT version FROM scales ORDER BY version")
    if not versions:
        yield "there is no grade scale"
    for version in versions:
        try:
            store.scale(version)
        except InputError as error:
            yield f"version {version} of the scale is invalid: {error}"
    for version, text, known in store.rows("SELECT version, text, sha256 FROM guidelines"):
        if sha256(text.encode("utf-8")).hexdigest() != known:
            yield f"version {version} of the guidelines does not match its hash"
