-- Version 1 of the tables on PostgreSQL: those of version 5 in a file of SQLite, whose comments
-- describe them. A step that has been released is never edited: the next change of the tables is
-- a further file.

CREATE TABLE run (
    number       BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id           TEXT   NOT NULL UNIQUE,
    name         TEXT   NOT NULL,
    created_ns   BIGINT NOT NULL,
    version      TEXT   NOT NULL,
    status       TEXT   NOT NULL,
    rounds       BIGINT NOT NULL,
    cells        BIGINT NOT NULL,
    plan         TEXT   NOT NULL,
    facts_before TEXT   NOT NULL,
    facts_after  TEXT,
    origin       TEXT,
    machine      TEXT,
    command      TEXT
);

CREATE TABLE measurement (
    number  BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    run     BIGINT NOT NULL REFERENCES run ON DELETE CASCADE,
    round   BIGINT NOT NULL,
    cell    BIGINT NOT NULL,
    content TEXT   NOT NULL,
    UNIQUE (run, round, cell)
);

CREATE TABLE task (
    number      BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    measurement BIGINT NOT NULL REFERENCES measurement ON DELETE CASCADE,
    task        BIGINT NOT NULL,
    intended    BIGINT NOT NULL,
    observed    BIGINT NOT NULL,
    missed      BIGINT NOT NULL,
    dropped     BIGINT NOT NULL,
    max_ns      BIGINT NOT NULL,
    histograms  BYTEA  NOT NULL,
    content     BYTEA  NOT NULL,
    UNIQUE (measurement, task),
    CHECK (intended = observed + missed + dropped)
);

CREATE TABLE sample_block (
    number      BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    measurement BIGINT NOT NULL,
    task        BIGINT NOT NULL,
    count       BIGINT NOT NULL,
    bytes       BYTEA  NOT NULL,
    FOREIGN KEY (measurement, task) REFERENCES task (measurement, task) ON DELETE CASCADE
);

CREATE INDEX sample_block_of_task ON sample_block (measurement, task);

CREATE TABLE failure (
    number BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    run    BIGINT NOT NULL REFERENCES run ON DELETE CASCADE,
    round  BIGINT NOT NULL,
    cell   BIGINT NOT NULL,
    reason TEXT   NOT NULL,
    hint   TEXT,
    UNIQUE (run, round, cell)
);

CREATE TABLE recording (
    measurement BIGINT PRIMARY KEY REFERENCES measurement ON DELETE CASCADE,
    bytes       BYTEA  NOT NULL
);

CREATE TABLE traced_sample_block (
    number      BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    measurement BIGINT NOT NULL REFERENCES measurement ON DELETE CASCADE,
    task        BIGINT NOT NULL,
    count       BIGINT NOT NULL,
    bytes       BYTEA  NOT NULL
);

CREATE INDEX traced_sample_block_of_measurement ON traced_sample_block (measurement);

-- What samples and histograms contain is compressed already.
ALTER TABLE task ALTER histograms SET STORAGE EXTERNAL, ALTER content SET STORAGE EXTERNAL;
ALTER TABLE sample_block ALTER bytes SET STORAGE EXTERNAL;
ALTER TABLE recording ALTER bytes SET STORAGE EXTERNAL;
ALTER TABLE traced_sample_block ALTER bytes SET STORAGE EXTERNAL;
