//! Errors of the store. Every message ends with the fix.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use tactus_model::experiment::Turn;
use tactus_model::run::RunId;

use crate::balance::Imbalance;
use crate::postgresql::ServerError;

/// Why a store operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The environment does not determine the location of the store.
    #[error(
        "cannot locate the results database: neither XDG_DATA_HOME nor HOME is an absolute path; \
         set TACTUS_STORE to the file to use"
    )]
    NoPlace,
    /// The file or its directory cannot be created or written.
    #[error(
        "cannot write the results database {}: {reason}; make the file and its directory \
         writable, or set TACTUS_STORE to another file", path.display()
    )]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The system's error message.
        reason: String,
    },
    /// The file cannot be read.
    #[error(
        "cannot read the results database {}: {reason}; make the file and its directory \
         readable, or set TACTUS_STORE to another file", path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error message.
        reason: String,
    },
    /// A writer was killed, and the file cannot be read without writing beside it.
    #[error(
        "the last writer of the results database {0} was killed, and its log can only be read \
         in a directory that you can write; copy {0} and {0}-wal to one, and set TACTUS_STORE \
         to the copy", path.display()
    )]
    Stranded {
        /// The file.
        path: PathBuf,
    },
    /// Another process wrote while this one read without locks.
    #[error(
        "another process has changed the results database {}; run the command again", path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by an earlier version of Tactus, and cannot be migrated here.
    #[error(
        "the results database {} has version {found}, but this tactus reads version {known}; \
         `tactus list` migrates it if you can write it, so run that as its owner or on a copy", path.display()
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The version that is read.
        known: i64,
    },
    /// The disk is full.
    #[error(
        "no space left for the results database {}; free space with `tactus delete RUN` or by \
         removing other files (such as pages in reports/ beside it), or set TACTUS_STORE to a \
         file on another disk", path.display()
    )]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Another process held the lock on the file for too long.
    #[error(
        "another process has locked the results database {} for {} seconds; wait for it to \
         end, or find it with `fuser -v {}`", path.display(), crate::database::PATIENCE.as_secs(), path.display()
    )]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged. It is not changed.
    #[error(
        "the results database {0} is damaged: {reason}; nothing was changed. To start afresh, \
         move it away (mv {0} {0}.damaged); recover the readable part with \
         `sqlite3 {0}.damaged .recover`", path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// It is a directory.
    #[error("the results database {0} is a directory; set TACTUS_STORE to a file, e.g. {0}/runs.sqlite", path.display())]
    IsADirectory {
        /// The directory.
        path: PathBuf,
    },
    /// The file is no database, or belongs to another program. It is not changed.
    #[error(
        "{} is no results database of Tactus; nothing was changed. Set TACTUS_STORE to a file \
         of Tactus or to a new file", path.display()
    )]
    NotAStore {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a later version of Tactus. It is not changed.
    #[error(
        "the results database {} has version {found}, but this tactus supports versions up to \
         {known}; use the newer tactus that wrote it, or set TACTUS_STORE to another file", path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The latest supported version.
        known: i64,
    },
    /// The text that names the store is no location.
    #[error(
        "cannot use `{url}` as results database: {reason}; write the path of a file, or \
        postgresql://USER@HOST:PORT/DATABASE"
    )]
    BadUrl {
        /// The URL without its password.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A server failed.
    #[error("the results database {server} {error}")]
    Server {
        /// The URL without its password.
        server: String,
        /// The failure.
        error: ServerError,
    },
    /// The store is empty.
    #[error("there are no runs yet; `tactus measure` creates one")]
    NoRuns,
    /// The store has runs, but this machine began none of them.
    #[error("this machine began no run of the store; `tactus measure` begins one")]
    NoneOfMachine,
    /// No run matches the name.
    #[error("there is no run `{text}`{}; `tactus list` shows all runs", near(nearest))]
    UnknownRun {
        /// The given name.
        text: String,
        /// Similar names, the most similar first.
        nearest: Vec<RunId>,
    },
    /// Several runs match the beginning of a name.
    #[error("`{text}` matches several runs: {}; write more of the name", listed(candidates))]
    AmbiguousRun {
        /// The given name.
        text: String,
        /// The matching runs, the last added first.
        candidates: Vec<RunId>,
    },
    /// The run has no measurement of this turn.
    #[error(
        "run {run} has no measurement of cell {} in round {}; `tactus show {run}` lists its measurements",
        turn.cell + 1, turn.round + 1
    )]
    NotMeasured {
        /// The run.
        run: RunId,
        /// The requested turn.
        turn: Turn,
    },
    /// The run is complete, and complete runs are never changed.
    #[error("run {0} is complete and cannot be changed; start a new run to measure again")]
    Complete(RunId),
    /// The turn was already measured.
    #[error(
        "run {run} already contains cell {} of round {}; check whether another process continues the same run",
        turn.cell + 1, turn.round + 1
    )]
    TurnTaken {
        /// The run.
        run: RunId,
        /// The turn.
        turn: Turn,
    },
    /// The plan of the run does not contain the turn.
    #[error(
        "the plan of run {run} has no cell {} in round {}; store the result in the run that planned it",
        turn.cell + 1, turn.round + 1
    )]
    NotPlanned {
        /// The run.
        run: RunId,
        /// The turn.
        turn: Turn,
    },
    /// A result does not account for every sample, so it is not stored.
    #[error(
        "cell {} of round {} does not balance and was not stored: {imbalance}; this is a defect \
         of the measuring program; please report it with the experiment",
        turn.cell + 1, turn.round + 1
    )]
    Unbalanced {
        /// The turn.
        turn: Turn,
        /// The inconsistency.
        #[source]
        imbalance: Imbalance,
    },
    /// The input is not an exported run.
    #[error("not a valid export of tactus: {reason}")]
    NotAnExport {
        /// The reason and its location.
        reason: String,
    },
    /// An exported run has an unsupported format version.
    #[error(
        "this run has export format version {found}, but this tactus reads version {known}; \
         import it with the version of tactus that exported it"
    )]
    UnknownFormat {
        /// The version of the export.
        found: u64,
        /// The supported version.
        known: u64,
    },
    /// The same run is already in the store.
    #[error("run {0} is already in the store, with the same content; nothing was imported")]
    AlreadyThere(RunId),
    /// An export could not be read.
    #[error("cannot read the export: {0}")]
    Import(#[source] std::io::Error),
    /// An export could not be written.
    #[error("cannot write the export: {0}; free space or choose another file, and export again")]
    Export(#[source] std::io::Error),
    /// A value cannot be stored exactly.
    #[error("cannot store {what}: {reason}; this is a defect, please report it")]
    Unkeepable {
        /// The value.
        what: &'static str,
        /// The reason.
        reason: String,
    },
    /// Another error of the database.
    #[error(
        "the results database {} failed: {source}; try again, and if the error persists, check it with \
         `sqlite3 {} 'PRAGMA integrity_check'`", path.display(), path.display()
    )]
    Database {
        /// The file.
        path: PathBuf,
        /// The error that SQLite reported.
        source: rusqlite::Error,
    },
}

impl StoreError {
    /// Distinguishes the errors that have a fix of their own.
    pub(crate) fn from_sqlite(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        let reason = source.to_string();
        match source.sqlite_error_code() {
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::Unwritable { path, reason }
            }
            Some(ErrorCode::DiskFull) => Self::Full { path },
            // The index of the write-ahead log is a file too.
            _ if source.sqlite_error().is_some_and(|error| {
                error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE
            }) =>
            {
                Self::Full { path }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, reason },
            Some(ErrorCode::NotADatabase) => Self::of_no_database(path, reason),
            _ => Self::Database { path, source },
        }
    }

    /// The error for a file that SQLite does not read: a database before it was damaged, if it
    /// begins as SQLite's files do, as far as it goes.
    pub(crate) fn of_no_database(path: PathBuf, reason: String) -> Self {
        const MAGIC: &[u8] = b"SQLite format 3\0";
        let mut beginning = Vec::new();
        // No connection of this process can have locks on the file, since none reads it.
        let read = File::open(&path)
            .and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut beginning));
        if read.is_ok() && MAGIC.starts_with(&beginning) {
            Self::Damaged { path, reason }
        } else {
            Self::NotAStore { path }
        }
    }

    /// The same error of an operation that only reads.
    pub(crate) fn of_reading(self) -> Self {
        match self {
            Self::Unwritable { path, reason } => Self::Unreadable { path, reason },
            other => other,
        }
    }
}

fn listed(runs: &[RunId]) -> String {
    /// A longer list would hide the message.
    const SHOWN: usize = 8;
    let mut names: Vec<&str> = runs.iter().take(SHOWN).map(RunId::as_str).collect();
    let more = format!("and {} more", runs.len().saturating_sub(SHOWN));
    if runs.len() > SHOWN {
        names.push(&more);
    }
    names.join(", ")
}

fn near(runs: &[RunId]) -> String {
    if runs.is_empty() { String::new() } else { format!(" (did you mean {}?)", listed(runs)) }
}
