-- Pools: the plan, every entry with its story, and the runs that each version was made from.

CREATE TABLE pools (
    number       INTEGER PRIMARY KEY,
    name         TEXT NOT NULL UNIQUE,
    plan         TEXT NOT NULL, -- canonical
    plan_in_full TEXT NOT NULL, -- with every option spelled out
    grammar      INTEGER NOT NULL,
    seed         INTEGER NOT NULL,
    judging_order TEXT NOT NULL CHECK (judging_order IN ('plan', 'id', 'random')),
    one_per_cluster INTEGER NOT NULL CHECK (one_per_cluster IN (0, 1)),
    content_hash TEXT NOT NULL, -- SHA-256 of the entries and their stories, as the latest version was made
    made         TEXT NOT NULL,
    made_by      TEXT NOT NULL -- the version of the program
) STRICT;

CREATE TABLE pool_versions ( -- the manifest of each version; its runs and topics are those up to it
    pool         INTEGER NOT NULL REFERENCES pools(number),
    version      INTEGER NOT NULL,
    plan_in_full TEXT NOT NULL,
    seed         INTEGER NOT NULL,
    content_hash TEXT NOT NULL, -- of the pool when this version was made
    made         TEXT NOT NULL,
    made_by      TEXT NOT NULL,
    PRIMARY KEY (pool, version)
) STRICT;

CREATE TABLE pool_runs ( -- the runs a pool was made from, as they were then
    pool         INTEGER NOT NULL REFERENCES pools(number),
    run          TEXT NOT NULL,
    group_name   TEXT NOT NULL,
    priority     INTEGER NOT NULL,
    content_hash TEXT NOT NULL,
    version      INTEGER NOT NULL, -- of the pool it came with
    PRIMARY KEY (pool, run)
) STRICT;

CREATE TABLE pool_topics (
    pool    INTEGER NOT NULL REFERENCES pools(number),
    topic   TEXT NOT NULL,
    version INTEGER NOT NULL, -- of the pool it came with
    PRIMARY KEY (pool, topic)
) STRICT;

CREATE TABLE pool_clusters ( -- the near-duplicates that a version with one document a cluster went by
    pool     INTEGER NOT NULL REFERENCES pools(number),
    version  INTEGER NOT NULL,
    document TEXT NOT NULL,
    cluster  INTEGER NOT NULL,
    PRIMARY KEY (pool, version, document)
) STRICT, WITHOUT ROWID;

CREATE TABLE pool_entries ( -- what is to be judged
    pool        INTEGER NOT NULL REFERENCES pools(number),
    topic       TEXT NOT NULL,
    document    TEXT NOT NULL,
    position    INTEGER NOT NULL, -- in judging order, from 1
    step        INTEGER NOT NULL, -- of the plan, from 1, that brought it
    stratum     TEXT NOT NULL,
    probability REAL, -- of inclusion; none where judgments decided
    version     INTEGER NOT NULL, -- of the pool it came with
    PRIMARY KEY (pool, topic, document)
) STRICT, WITHOUT ROWID;

CREATE TABLE pool_ranks ( -- every run that has an entry, and at which rank
    pool     INTEGER NOT NULL REFERENCES pools(number),
    topic    TEXT NOT NULL,
    document TEXT NOT NULL,
    run      TEXT NOT NULL,
    rank     INTEGER NOT NULL,
    PRIMARY KEY (pool, topic, document, run)
) STRICT, WITHOUT ROWID;

CREATE TABLE pool_duplicates ( -- documents that stay out because a near-duplicate stands for them
    pool           INTEGER NOT NULL REFERENCES pools(number),
    topic          TEXT NOT NULL,
    document       TEXT NOT NULL,
    representative TEXT NOT NULL,
    PRIMARY KEY (pool, topic, document)
) STRICT, WITHOUT ROWID;

CREATE TABLE pool_strata ( -- how many documents a stratum has, and how many of them were drawn
    pool       INTEGER NOT NULL REFERENCES pools(number),
    topic      TEXT NOT NULL,
    step       INTEGER NOT NULL,
    stratum    TEXT NOT NULL,
    population INTEGER NOT NULL,
    drawn      INTEGER NOT NULL,
    PRIMARY KEY (pool, topic, step, stratum)
) STRICT, WITHOUT ROWID;

CREATE TABLE pool_undrawn ( -- what a sample passed over: in the pool, but not to be judged
    pool     INTEGER NOT NULL REFERENCES pools(number),
    topic    TEXT NOT NULL,
    document TEXT NOT NULL,
    step     INTEGER NOT NULL,
    stratum  TEXT NOT NULL,
    PRIMARY KEY (pool, topic, document, step, stratum)
) STRICT, WITHOUT ROWID;

CREATE VIEW pool_contributions AS -- how many entries each run brought, and how many no other group has
    SELECT pools.name AS pool, pool_runs.run, pool_runs.group_name, count(*) AS documents,
           sum(NOT EXISTS (
               SELECT 1 FROM pool_ranks AS other
               JOIN pool_runs AS sender ON sender.pool = other.pool AND sender.run = other.run
               WHERE other.pool = pool_ranks.pool AND other.topic = pool_ranks.topic
                 AND other.document = pool_ranks.document AND sender.group_name <> pool_runs.group_name
           )) AS only_this_group
    FROM pool_ranks
    JOIN pool_runs ON pool_runs.pool = pool_ranks.pool AND pool_runs.run = pool_ranks.run
    JOIN pools ON pools.number = pool_ranks.pool
    GROUP BY pool_ranks.pool, pool_runs.run;
