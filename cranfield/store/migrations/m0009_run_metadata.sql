-- What the senders of a run say of it is kept with the run.

CREATE TABLE run_metadata ( -- the ir_metadata header of a run: YAML in comments
    run  INTEGER PRIMARY KEY REFERENCES runs(number),
    text TEXT NOT NULL
) STRICT;
