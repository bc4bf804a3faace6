-- The manifest of a pool covers what it was made with: who sent its runs, their priorities, the options.

-- SHA-256 of the plan, the options beside it and the runs up to this version; empty where it was made before.

ALTER TABLE pool_versions ADD COLUMN inputs_hash TEXT NOT NULL DEFAULT '';
