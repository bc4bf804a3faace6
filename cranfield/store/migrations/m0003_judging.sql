-- Judgments as events, what counts now, who judges what, and frozen qrels.

CREATE TABLE assessors (
    name  TEXT PRIMARY KEY,
    kind  TEXT NOT NULL CHECK (kind IN ('person', 'import', 'machine')),
    added TEXT NOT NULL
) STRICT;

CREATE TABLE judgment_events ( -- appended, never changed: what counts now is in judgments
    sequence   INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid       TEXT NOT NULL UNIQUE,
    kind       TEXT NOT NULL CHECK (kind IN ('judged', 'undone', 'postponed', 'cannot-judge', 'adjudicated',
                                             'imported', 'propagated', 'noted')),
    layer      TEXT NOT NULL,
    topic      TEXT NOT NULL,
    document   TEXT NOT NULL,
    assessor   TEXT NOT NULL REFERENCES assessors(name),
    grade      INTEGER CHECK ((grade IS NOT NULL) = (kind IN ('judged', 'adjudicated', 'imported', 'propagated'))),
    undoes     TEXT NOT NULL, -- the uuid of the event that no longer counts
    reason     TEXT NOT NULL,
    note       TEXT NOT NULL,
    evidence   TEXT NOT NULL, -- JSON: spans of the text
    purpose    TEXT NOT NULL CHECK (purpose IN ('pool', 'overlap', 'probe', 'search', 'queue', 'rejudge', 'try')),
    source     TEXT NOT NULL CHECK (source IN ('person', 'import', 'machine')),
    source_name TEXT NOT NULL, -- the file, or the program with its version
    seconds    REAL, -- of attention, idle time taken out
    confidence REAL, -- of a machine in its own grade
    scale      INTEGER NOT NULL REFERENCES scales(version),
    guidelines INTEGER NOT NULL, -- version; 0 where there were none
    document_hash TEXT NOT NULL, -- of the text that was judged
    shown_order TEXT NOT NULL, -- how the queue was ordered
    position   INTEGER NOT NULL, -- in that order, from 1
    session    TEXT NOT NULL,
    happened   TEXT NOT NULL, -- where the assessor sat
    recorded   TEXT NOT NULL -- in this file
) STRICT;

CREATE INDEX judgment_events_by_pair ON judgment_events(topic, document, layer, assessor);

CREATE INDEX judgment_events_by_session ON judgment_events(session) WHERE session <> '';

CREATE INDEX judgment_events_undone ON judgment_events(undoes) WHERE undoes <> '';

CREATE INDEX judgment_events_by_assessor ON judgment_events(assessor, happened);

CREATE INDEX judgment_events_probes ON judgment_events(assessor, topic, layer) WHERE purpose = 'probe';

CREATE TRIGGER judgment_events_update BEFORE UPDATE ON judgment_events
    BEGIN SELECT RAISE(ABORT, 'judgments are appended, never changed: undo and judge again'); END;

CREATE TRIGGER judgment_events_delete BEFORE DELETE ON judgment_events
    BEGIN SELECT RAISE(ABORT, 'judgments are appended, never deleted: undo and judge again'); END;

CREATE TABLE judgments ( -- what counts now: the fold of the events, written with each of them
    topic       TEXT NOT NULL,
    document    TEXT NOT NULL,
    layer       TEXT NOT NULL,
    assessor    TEXT NOT NULL,
    adjudicated INTEGER NOT NULL CHECK (adjudicated IN (0, 1)),
    kind        TEXT NOT NULL,
    grade       INTEGER,
    scale       INTEGER NOT NULL,
    guidelines  INTEGER NOT NULL,
    event       INTEGER NOT NULL REFERENCES judgment_events(sequence),
    PRIMARY KEY (topic, document, layer, assessor, adjudicated)
) STRICT, WITHOUT ROWID;

CREATE INDEX judgments_by_assessor ON judgments(assessor, layer, topic);

CREATE INDEX judgments_latest ON judgments(assessor, layer, event);

CREATE TABLE leases ( -- who has which document before him now
    layer    TEXT NOT NULL,
    topic    TEXT NOT NULL,
    document TEXT NOT NULL,
    assessor TEXT NOT NULL,
    session  TEXT NOT NULL,
    expires  REAL NOT NULL, -- seconds since 1970
    PRIMARY KEY (layer, topic, document, assessor)
) STRICT, WITHOUT ROWID;

CREATE TABLE assignments ( -- who judges which topics; where a topic has none, everybody may
    topic    TEXT NOT NULL,
    assessor TEXT NOT NULL,
    role     TEXT NOT NULL CHECK (role IN ('primary', 'share', 'second')),
    made     TEXT NOT NULL,
    PRIMARY KEY (topic, assessor)
) STRICT, WITHOUT ROWID;

CREATE TABLE queues ( -- documents that were asked for by name: top-ups, settling two runs
    number  INTEGER PRIMARY KEY,
    name    TEXT NOT NULL UNIQUE,
    purpose TEXT NOT NULL,
    layer   TEXT NOT NULL,
    made    TEXT NOT NULL
) STRICT;

CREATE TABLE queue_entries (
    queue    INTEGER NOT NULL REFERENCES queues(number),
    topic    TEXT NOT NULL,
    document TEXT NOT NULL,
    position INTEGER NOT NULL, -- from 1, within its topic
    why      TEXT NOT NULL, -- for the organiser; assessors stay blind
    PRIMARY KEY (queue, topic, document)
) STRICT, WITHOUT ROWID;

CREATE TABLE found_documents ( -- what assessors found by searching: the contributor is "assessor search"
    topic    TEXT NOT NULL,
    document TEXT NOT NULL,
    assessor TEXT NOT NULL,
    words    TEXT NOT NULL,
    found    TEXT NOT NULL,
    PRIMARY KEY (topic, document)
) STRICT, WITHOUT ROWID;

CREATE TABLE topic_drafts ( -- topics that were tried before they were pooled
    topic    TEXT PRIMARY KEY,
    author   TEXT NOT NULL, -- becomes the primary assessor
    state    TEXT NOT NULL CHECK (state IN ('draft', 'accepted', 'refused')),
    reason   TEXT NOT NULL,
    expected REAL, -- relevant documents, as estimated when it was decided
    changed  TEXT NOT NULL
) STRICT;

CREATE TABLE tried_hits ( -- what the author of a draft judges: a sample of the hits of its words
    topic      TEXT NOT NULL REFERENCES topic_drafts(topic),
    document   TEXT NOT NULL,
    rank       INTEGER NOT NULL,
    stratum    TEXT NOT NULL, -- of ranks
    population INTEGER NOT NULL, -- documents in the stratum
    PRIMARY KEY (topic, document)
) STRICT, WITHOUT ROWID;

CREATE TABLE releases ( -- qrels frozen under a name
    name         TEXT PRIMARY KEY,
    content_hash TEXT NOT NULL, -- SHA-256 of the byte-sorted (topic, document, grade) rows
    rows         INTEGER NOT NULL,
    manifest     TEXT NOT NULL, -- JSON: layers, merge rule, up to which event, versions
    made         TEXT NOT NULL
) STRICT;

CREATE TABLE release_rows (
    release  TEXT NOT NULL REFERENCES releases(name),
    topic    TEXT NOT NULL,
    document TEXT NOT NULL,
    grade    INTEGER NOT NULL,
    PRIMARY KEY (release, topic, document)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER releases_update BEFORE UPDATE ON releases
    BEGIN SELECT RAISE(ABORT, 'a release is never changed: make another one'); END;

CREATE TRIGGER releases_delete BEFORE DELETE ON releases
    BEGIN SELECT RAISE(ABORT, 'a release is never changed: make another one'); END;

CREATE TRIGGER release_rows_update BEFORE UPDATE ON release_rows
    BEGIN SELECT RAISE(ABORT, 'a release is never changed: make another one'); END;

CREATE TRIGGER release_rows_delete BEFORE DELETE ON release_rows
    BEGIN SELECT RAISE(ABORT, 'a release is never changed: make another one'); END;

CREATE VIEW qrels AS -- the latest grade of the main layer, decisions before opinions
    SELECT topic, document, grade FROM (
        SELECT topic, document, grade,
               row_number() OVER (PARTITION BY topic, document ORDER BY adjudicated DESC, event DESC) AS place
        FROM judgments WHERE layer = 'main' AND grade IS NOT NULL
    ) WHERE place = 1;

CREATE VIEW progress AS -- how much of each pool is judged, topic by topic
    SELECT pools.name AS pool, pool_entries.topic, count(*) AS pooled,
           sum(EXISTS (
               SELECT 1 FROM judgments WHERE judgments.topic = pool_entries.topic
               AND judgments.document = pool_entries.document AND layer = 'main' AND grade IS NOT NULL
           )) AS judged
    FROM pool_entries JOIN pools ON pools.number = pool_entries.pool GROUP BY pools.name, pool_entries.topic;
