"""How a collection file gets its tables: numbered steps, recorded in the file, each applied once.

A step is a module `m0001_…` in `migrations/` with one function `up(database)`. The record is kept by
sqlite-utils. `known_names` reads file names only, so that opening a collection imports nothing heavy.
"""

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING

from cranfield.store import migrations

if TYPE_CHECKING:
    import sqlite3

    from sqlite_utils import Database

SET = "cranfield"


def known_names() -> list[str]:
    """Give the names of all steps this version knows, in order."""
    return sorted(module.name for module in pkgutil.iter_modules(migrations.__path__))


def applied_names(connection: "sqlite3.Connection") -> list[str]:
    """Give the names of the steps the file has been through, in order."""
    has_table = connection.execute("SELECT 1 FROM sqlite_master WHERE name = '_sqlite_migrations'").fetchone()
    if not has_table:
        return []
    query = "SELECT name FROM _sqlite_migrations WHERE migration_set = ? ORDER BY id"
    return [name for (name,) in connection.execute(query, [SET])]


def migrate(database: "Database", *, stop_before: str | None = None) -> None:
    """Apply the steps that are missing, inside the transaction that the caller has begun."""
    from sqlite_utils.migrations import Migrations

    steps = Migrations(SET)
    for name in known_names():
        steps(name=name)(import_module(f"{migrations.__name__}.{name}").up)
    steps.apply(database, stop_before=stop_before)
