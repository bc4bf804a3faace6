"""What was recorded proves itself: a chain of hashes, a checksum for each block, and who was given which packet."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from cranfield.store.migrations.m0001_foundation import TRIGGERS

if TYPE_CHECKING:
    from sqlite_utils import Database

STATEMENTS = (
    """CREATE TABLE history ( -- each change of what is guarded, bound to all changes before it
    number   INTEGER PRIMARY KEY,
    subject  TEXT NOT NULL, -- the table
    first    INTEGER, -- the rows that were appended; none where it is the whole table as it was then
    last     INTEGER,
    digest   BLOB NOT NULL, -- SHA-256 of those rows
    recorded TEXT NOT NULL,
    hash     BLOB NOT NULL -- SHA-256 of this row and of the hash before it
) STRICT""",
    *(
        f"""CREATE TRIGGER history_{verb.lower()} BEFORE {verb} ON history
    BEGIN SELECT RAISE(ABORT, 'the history is appended, never changed'); END"""
        for verb in ("UPDATE", "DELETE")
    ),
    """CREATE TABLE packets ( -- the packets that were issued: who may answer for which documents
    session   TEXT PRIMARY KEY,
    assessor  TEXT NOT NULL,
    layer     TEXT NOT NULL,
    documents TEXT NOT NULL, -- JSON: [topic, document] of each
    made      TEXT NOT NULL
) STRICT""",
    "ALTER TABLE runs ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE id_pages ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
)


def up(database: Database) -> None:
    """Take the packets that are out for issued, and give each block its CRC-32."""
    # Packets that are out: the sessions of their leases are UUIDs with hyphens, those of people are without.
    database.execute(
        """INSERT INTO packets
           SELECT session, assessor, layer, json_group_array(json_array(topic, document)),
                  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
           FROM leases WHERE session LIKE '%-%' GROUP BY session"""
    )
    database.conn.create_function("crc32", 1, zlib.crc32, deterministic=True)
    for table, block in (("runs", "ranking"), ("id_pages", "ids")):
        database.execute(f"DROP TRIGGER {table}_update")
        database.execute(f"UPDATE {table} SET checksum = crc32({block})")
        database.execute(next(text for text in TRIGGERS if text.startswith(f"CREATE TRIGGER {table}_update ")))
