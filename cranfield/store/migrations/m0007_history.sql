-- What was recorded proves itself: a chain of hashes, a checksum for each block, and who was given which packet.

CREATE TABLE history ( -- each change of what is guarded, bound to all changes before it
    number   INTEGER PRIMARY KEY,
    subject  TEXT NOT NULL, -- the table
    first    INTEGER, -- the rows that were appended; none where it is the whole table as it was then
    last     INTEGER,
    digest   BLOB NOT NULL, -- SHA-256 of those rows
    recorded TEXT NOT NULL,
    hash     BLOB NOT NULL -- SHA-256 of this row and of the hash before it
) STRICT;

CREATE TRIGGER history_update BEFORE UPDATE ON history
    BEGIN SELECT RAISE(ABORT, 'the history is appended, never changed'); END;

CREATE TRIGGER history_delete BEFORE DELETE ON history
    BEGIN SELECT RAISE(ABORT, 'the history is appended, never changed'); END;

CREATE TABLE packets ( -- the packets that were issued: who may answer for which documents
    session   TEXT PRIMARY KEY,
    assessor  TEXT NOT NULL,
    layer     TEXT NOT NULL,
    documents TEXT NOT NULL, -- JSON: [topic, document] of each
    made      TEXT NOT NULL
) STRICT;

ALTER TABLE runs ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;

ALTER TABLE id_pages ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;

-- Packets that are out count as issued: the sessions of their leases are UUIDs with hyphens, those of people are without.

INSERT INTO packets
    SELECT session, assessor, layer, json_group_array(json_array(topic, document)), strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
    FROM leases WHERE session LIKE '%-%' GROUP BY session;

-- Each block gets its CRC-32. What guards the tables stands aside meanwhile.

DROP TRIGGER runs_update;

UPDATE runs SET checksum = crc32(ranking);

CREATE TRIGGER runs_update BEFORE UPDATE ON runs
    WHEN OLD.withdrawn IS NOT NULL OR NEW.withdrawn IS NULL
    BEGIN SELECT RAISE(ABORT, 'a run is never changed: withdraw it and submit it again'); END;

DROP TRIGGER id_pages_update;

UPDATE id_pages SET checksum = crc32(ids);

CREATE TRIGGER id_pages_update BEFORE UPDATE ON id_pages
    BEGIN SELECT RAISE(ABORT, 'id_pages is never changed: the rankings of runs refer to it'); END;
