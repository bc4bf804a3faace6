-- Live pools: every document that was chosen by looking at judgments, and which rule ended a topic.

CREATE TABLE pool_choices ( -- what was chosen by looking at judgments, with all that proves it
    pool     INTEGER NOT NULL REFERENCES pools(number),
    number   INTEGER NOT NULL, -- from 1, in the order they were chosen
    topic    TEXT NOT NULL,
    document TEXT NOT NULL,
    step     INTEGER NOT NULL, -- of the plan, from 1
    reason   TEXT NOT NULL, -- what the strategy said
    version  INTEGER NOT NULL, -- of the pool it was chosen in
    known    INTEGER NOT NULL, -- the last event that had been recorded then
    elsewhere TEXT NOT NULL, -- JSON: documents of the topic under judgment then that were not in the pool
    chosen   TEXT NOT NULL, -- when
    hash     TEXT NOT NULL, -- SHA-256 of this row and of the hash before it
    PRIMARY KEY (pool, number),
    UNIQUE (pool, topic, document)
) STRICT;

CREATE TABLE pool_ends ( -- topics whose adaptive step is over, and which rule ended it
    pool   INTEGER NOT NULL REFERENCES pools(number),
    topic  TEXT NOT NULL,
    rule   TEXT NOT NULL,
    version INTEGER NOT NULL, -- of the pool then
    known  INTEGER NOT NULL, -- the last event that had been recorded then
    final  INTEGER NOT NULL CHECK (final IN (0, 1)), -- 1: the steps after it have added their documents
    ended  TEXT NOT NULL, -- when
    PRIMARY KEY (pool, topic)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER pool_choices_update BEFORE UPDATE ON pool_choices
    BEGIN SELECT RAISE(ABORT, 'choices are recorded, never changed'); END;

CREATE TRIGGER pool_choices_delete BEFORE DELETE ON pool_choices
    BEGIN SELECT RAISE(ABORT, 'choices are recorded, never changed'); END;
