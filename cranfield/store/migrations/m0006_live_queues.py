"""A queue of settle is live: it keeps what it decides, and hands out what is needed after each judgment."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database


def up(database: Database) -> None:
    """Add the column."""
    # JSON: the contests that the queue is to decide; none where it stays as it was made.
    database.execute("ALTER TABLE queues ADD COLUMN contests TEXT NOT NULL DEFAULT '[]'")
