-- Scale, guidelines, documents, topics, runs: the tables every collection begins with.

CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL -- JSON
) STRICT;

CREATE TABLE scales ( -- the grades assessors choose from; a change makes a new version
    version       INTEGER PRIMARY KEY,
    relevant_from INTEGER NOT NULL, -- the lowest grade that counts as relevant
    created       TEXT NOT NULL
) STRICT;

CREATE TABLE grades (
    scale       INTEGER NOT NULL REFERENCES scales(version),
    grade       INTEGER NOT NULL CHECK (grade >= 0),
    label       TEXT NOT NULL,
    gain        REAL NOT NULL,
    description TEXT NOT NULL,
    PRIMARY KEY (scale, grade)
) STRICT;

CREATE TABLE guidelines ( -- what assessors are told, as Markdown; a change makes a new version
    version INTEGER PRIMARY KEY,
    text    TEXT NOT NULL,
    sha256  TEXT NOT NULL,
    created TEXT NOT NULL
) STRICT;

CREATE TABLE sources ( -- the files that documents and topics came from
    number  INTEGER PRIMARY KEY,
    kind    TEXT NOT NULL CHECK (kind IN ('documents', 'topics')),
    name    TEXT NOT NULL,
    format  TEXT NOT NULL,
    sha256  TEXT NOT NULL, -- of the file as it lay there; empty for a folder
    records INTEGER NOT NULL,
    added   TEXT NOT NULL
) STRICT;

CREATE TABLE documents (
    number       INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    title        TEXT NOT NULL,
    text         TEXT NOT NULL,
    metadata     TEXT NOT NULL, -- JSON
    content_hash TEXT NOT NULL, -- SHA-256 of id, title, text and metadata; every judgment keeps it
    source       INTEGER NOT NULL REFERENCES sources(number)
) STRICT;

CREATE TABLE topics (
    number       INTEGER PRIMARY KEY, -- the order they were given in
    id           TEXT NOT NULL UNIQUE,
    title        TEXT NOT NULL,
    description  TEXT NOT NULL,
    narrative    TEXT NOT NULL,
    metadata     TEXT NOT NULL, -- JSON
    content_hash TEXT NOT NULL,
    source       INTEGER NOT NULL REFERENCES sources(number)
) STRICT;

CREATE TABLE duplicate_scans ( -- each search for duplicates, with its settings
    number       INTEGER PRIMARY KEY,
    threshold    REAL NOT NULL, -- Jaccard similarity from which two documents are near-duplicates
    shingle      INTEGER NOT NULL, -- words
    permutations INTEGER NOT NULL,
    seed         INTEGER NOT NULL,
    documents    INTEGER NOT NULL, -- how many were looked at
    made         TEXT NOT NULL
) STRICT;

CREATE TABLE duplicates ( -- the clusters of the latest scan
    scan           INTEGER NOT NULL REFERENCES duplicate_scans(number),
    cluster        INTEGER NOT NULL,
    document       TEXT NOT NULL REFERENCES documents(id),
    kind           TEXT NOT NULL CHECK (kind IN ('exact', 'near')),
    similarity     REAL NOT NULL, -- to the representative
    representative INTEGER NOT NULL CHECK (representative IN (0, 1)),
    PRIMARY KEY (scan, document)
) STRICT;

CREATE TABLE runs (
    number       INTEGER PRIMARY KEY,
    name         TEXT NOT NULL,
    tag          TEXT NOT NULL,
    group_name   TEXT NOT NULL, -- the team that sent it
    family       TEXT NOT NULL, -- lexical, dense, manual ...
    role         TEXT NOT NULL CHECK (role IN ('contributing', 'new')),
    priority     INTEGER NOT NULL, -- 1 is pooled first
    description  TEXT NOT NULL,
    ordered_by   TEXT NOT NULL CHECK (ordered_by IN ('score', 'rank', 'file')),
    topics       INTEGER NOT NULL,
    rows         INTEGER NOT NULL,
    content_hash TEXT NOT NULL, -- SHA-256 of the canonical (topic, document, score) rows
    file_name    TEXT NOT NULL,
    file_sha256  TEXT NOT NULL,
    submitted    TEXT NOT NULL,
    withdrawn    TEXT, -- when; a withdrawn run stays here
    withdrawn_because TEXT,
    encoding     INTEGER NOT NULL,
    ranking      BLOB NOT NULL -- compressed Arrow block of codes into id_pages: `cranfield runs export` reads it
) STRICT;

CREATE TABLE run_warnings ( -- what intake found and kept
    run     INTEGER NOT NULL REFERENCES runs(number),
    code    TEXT NOT NULL,
    message TEXT NOT NULL,
    count   INTEGER NOT NULL,
    lines   TEXT NOT NULL, -- JSON: the first lines it was seen on
    topic   TEXT NOT NULL
) STRICT;

CREATE TABLE id_pages ( -- ids in the order of their codes, for the rankings of runs
    kind       TEXT NOT NULL CHECK (kind IN ('topic', 'document')),
    first_code INTEGER NOT NULL,
    count      INTEGER NOT NULL,
    ids        BLOB NOT NULL, -- compressed Arrow block
    PRIMARY KEY (kind, first_code)
) STRICT;

CREATE UNIQUE INDEX runs_by_name ON runs(name) WHERE withdrawn IS NULL;

CREATE INDEX runs_by_content ON runs(content_hash);

CREATE INDEX run_warnings_by_run ON run_warnings(run);

CREATE TRIGGER scales_update BEFORE UPDATE ON scales
    BEGIN SELECT RAISE(ABORT, 'scales is never changed: a change of the scale makes a new version'); END;

CREATE TRIGGER scales_delete BEFORE DELETE ON scales
    BEGIN SELECT RAISE(ABORT, 'scales is never changed: a change of the scale makes a new version'); END;

CREATE TRIGGER grades_update BEFORE UPDATE ON grades
    BEGIN SELECT RAISE(ABORT, 'grades is never changed: a change of the scale makes a new version'); END;

CREATE TRIGGER grades_delete BEFORE DELETE ON grades
    BEGIN SELECT RAISE(ABORT, 'grades is never changed: a change of the scale makes a new version'); END;

CREATE TRIGGER guidelines_update BEFORE UPDATE ON guidelines
    BEGIN SELECT RAISE(ABORT, 'guidelines is never changed: a change of the guidelines makes a new version'); END;

CREATE TRIGGER guidelines_delete BEFORE DELETE ON guidelines
    BEGIN SELECT RAISE(ABORT, 'guidelines is never changed: a change of the guidelines makes a new version'); END;

CREATE TRIGGER id_pages_update BEFORE UPDATE ON id_pages
    BEGIN SELECT RAISE(ABORT, 'id_pages is never changed: the rankings of runs refer to it'); END;

CREATE TRIGGER id_pages_delete BEFORE DELETE ON id_pages
    BEGIN SELECT RAISE(ABORT, 'id_pages is never changed: the rankings of runs refer to it'); END;

CREATE TRIGGER documents_delete BEFORE DELETE ON documents
    BEGIN SELECT RAISE(ABORT, 'documents are never deleted: judgments and runs refer to them'); END;

CREATE TRIGGER topics_delete BEFORE DELETE ON topics
    BEGIN SELECT RAISE(ABORT, 'topics are never deleted: judgments and runs refer to them'); END;

CREATE TRIGGER runs_delete BEFORE DELETE ON runs
    BEGIN SELECT RAISE(ABORT, 'runs are withdrawn, never deleted'); END;

CREATE TRIGGER runs_update BEFORE UPDATE ON runs
    WHEN OLD.withdrawn IS NOT NULL OR NEW.withdrawn IS NULL
    BEGIN SELECT RAISE(ABORT, 'a run is never changed: withdraw it and submit it again'); END;

CREATE VIRTUAL TABLE "documents_fts" USING FTS5 (
    "title", "text",
    tokenize='porter unicode61 remove_diacritics 2',
    content="documents"
);

CREATE TRIGGER "documents_ai" AFTER INSERT ON "documents" BEGIN
  INSERT INTO "documents_fts" (rowid, "title", "text") VALUES (new.rowid, new."title", new."text");
END;

CREATE TRIGGER "documents_ad" AFTER DELETE ON "documents" BEGIN
  INSERT INTO "documents_fts" ("documents_fts", rowid, "title", "text") VALUES('delete', old.rowid, old."title", old."text");
END;

CREATE TRIGGER "documents_au" AFTER UPDATE ON "documents" BEGIN
  INSERT INTO "documents_fts" ("documents_fts", rowid, "title", "text") VALUES('delete', old.rowid, old."title", old."text");
  INSERT INTO "documents_fts" (rowid, "title", "text") VALUES (new.rowid, new."title", new."text");
END;
