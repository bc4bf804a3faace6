-- Documents that stay outside: where they are, and those that were judged as they were then.

CREATE TABLE outside_sources ( -- where documents are that this file does not hold; used only where approved
    number    INTEGER PRIMARY KEY,
    kind      TEXT NOT NULL, -- jsonl, folder, sqlite, opensearch, irds ...
    place     TEXT NOT NULL, -- a path, an address, a name
    columns   TEXT NOT NULL, -- JSON: what it calls the parts of a document, where that is none of the usual words
    documents INTEGER, -- how many it had when it was added, if it could say
    added     TEXT NOT NULL,
    UNIQUE (kind, place)
) STRICT;

CREATE TABLE kept_documents ( -- documents of outside sources as they were judged; the first of an id is shown
    number       INTEGER PRIMARY KEY,
    id           TEXT NOT NULL,
    title        TEXT NOT NULL,
    text         TEXT NOT NULL,
    metadata     TEXT NOT NULL, -- JSON
    content_hash TEXT NOT NULL, -- SHA-256 of id, title, text and metadata; every judgment keeps it
    kept         TEXT NOT NULL, -- when
    UNIQUE (id, content_hash)
) STRICT;

CREATE TRIGGER kept_documents_update BEFORE UPDATE ON kept_documents
    BEGIN SELECT RAISE(ABORT, 'kept_documents is never changed: judgments refer to it'); END;

CREATE TRIGGER kept_documents_delete BEFORE DELETE ON kept_documents
    BEGIN SELECT RAISE(ABORT, 'kept_documents is never changed: judgments refer to it'); END;

CREATE VIEW held_documents AS -- every document whose text is in this file, once
    SELECT id, title, text, metadata, content_hash FROM documents
    UNION ALL
    SELECT id, title, text, metadata, content_hash FROM kept_documents AS kept
    WHERE number = (SELECT min(number) FROM kept_documents AS same WHERE same.id = kept.id)
      AND NOT EXISTS (SELECT 1 FROM documents WHERE documents.id = kept.id);
