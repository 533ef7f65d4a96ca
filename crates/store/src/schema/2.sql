-- Version 2: what explains the samples of a measurement's traced window.

-- The recording of the kernel's events, in the form of docs/recording-format.md.
CREATE TABLE recording (
    measurement INTEGER PRIMARY KEY REFERENCES measurement ON DELETE CASCADE,
    bytes       BLOB    NOT NULL
) STRICT;

-- A stretch of a task's samples in the traced window, in compressed columns.
CREATE TABLE traced_sample_block (
    number      INTEGER PRIMARY KEY,
    measurement INTEGER NOT NULL REFERENCES measurement ON DELETE CASCADE,
    task        INTEGER NOT NULL,
    count       INTEGER NOT NULL,
    bytes       BLOB    NOT NULL
) STRICT;

CREATE INDEX traced_sample_block_of_measurement ON traced_sample_block (measurement);
