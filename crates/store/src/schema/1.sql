-- Version 1 of the tables. A step that has been released is never edited: the
-- next change of the tables is a further file.
--
-- Numbers of nanoseconds end in _ns. The columns that a query may want stand
-- apart; the rest of a value is JSON in the form of docs/run-format.md.

CREATE TABLE run (
    number       INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE,
    name         TEXT    NOT NULL,
    created_ns   INTEGER NOT NULL,
    version      TEXT    NOT NULL,
    status       TEXT    NOT NULL,
    rounds       INTEGER NOT NULL,
    cells        INTEGER NOT NULL,
    plan         TEXT    NOT NULL,
    facts_before TEXT    NOT NULL,
    facts_after  TEXT
) STRICT;

-- One cell measured in one round. `content` is the measurement without its tasks.
CREATE TABLE measurement (
    number  INTEGER PRIMARY KEY,
    run     INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    round   INTEGER NOT NULL,
    cell    INTEGER NOT NULL,
    content TEXT    NOT NULL,
    UNIQUE (run, round, cell)
) STRICT;

-- What one task of a probe found. `histograms` is its blocks and, last, its
-- missed latencies, in compressed columns; `content` is the rest in compressed JSON.
CREATE TABLE task (
    number      INTEGER PRIMARY KEY,
    measurement INTEGER NOT NULL REFERENCES measurement ON DELETE CASCADE,
    task        INTEGER NOT NULL,
    intended    INTEGER NOT NULL,
    observed    INTEGER NOT NULL,
    missed      INTEGER NOT NULL,
    dropped     INTEGER NOT NULL,
    max_ns      INTEGER NOT NULL,
    histograms  BLOB    NOT NULL,
    content     BLOB    NOT NULL,
    UNIQUE (measurement, task),
    CHECK (intended = observed + missed + dropped)
) STRICT;

-- A stretch of a task's samples, in compressed columns.
CREATE TABLE sample_block (
    number      INTEGER PRIMARY KEY,
    measurement INTEGER NOT NULL,
    task        INTEGER NOT NULL,
    count       INTEGER NOT NULL,
    bytes       BLOB    NOT NULL,
    FOREIGN KEY (measurement, task) REFERENCES task (measurement, task) ON DELETE CASCADE
) STRICT;

CREATE INDEX sample_block_of_task ON sample_block (measurement, task);

-- A turn that yielded no result.
CREATE TABLE failure (
    number INTEGER PRIMARY KEY,
    run    INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    round  INTEGER NOT NULL,
    cell   INTEGER NOT NULL,
    reason TEXT    NOT NULL,
    hint   TEXT,
    UNIQUE (run, round, cell)
) STRICT;
