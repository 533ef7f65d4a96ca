//! What can go wrong with the store. Every message says what to do next.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use tactus_model::experiment::Turn;
use tactus_model::run::RunId;

use crate::balance::Imbalance;

/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The environment does not tell where the store is.
    #[error(
        "there is no place for the results: neither XDG_DATA_HOME nor HOME is an absolute path; \
         set TACTUS_STORE to the file to use"
    )]
    NoPlace,
    /// The file or its directory cannot be written or made.
    #[error(
        "cannot write the results database {}: {reason}; make the file and its directory \
         writable, or set TACTUS_STORE to another file", path.display()
    )]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The disk is full.
    #[error(
        "no space is left for the results database {}; make room (`tactus list` and \
         `tactus delete RUN` help), or set TACTUS_STORE to a file elsewhere", path.display()
    )]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Another process kept the file locked for too long.
    #[error(
        "another process has kept the results database {} locked for {} seconds; wait for it to \
         end, or find it with `fuser -v {}`", path.display(), crate::database::PATIENCE.as_secs(), path.display()
    )]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a whole database. It is left as it is.
    #[error(
        "the results database {0} is damaged: {reason}; nothing was changed. Move it away to \
         start afresh (mv {0} {0}.damaged), and save what can be read of it with \
         `sqlite3 {0}.damaged .recover`", path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file belongs to another program. It is left as it is.
    #[error(
        "{} is a database of another program; nothing was changed. Set TACTUS_STORE to a file \
         that is ours or does not exist yet", path.display()
    )]
    NotAStore {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a later version of Tactus. It is left as it is.
    #[error(
        "the results database {} has version {found} and this tactus knows versions up to \
         {known}; use the newer tactus that wrote it, or set TACTUS_STORE to another file", path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The latest version that is known here.
        known: i64,
    },
    /// There is no run at all.
    #[error("there are no runs yet; `tactus measure` makes one")]
    NoRuns,
    /// No run goes by this name.
    #[error("there is no run `{text}`{}; `tactus list` shows all runs", near(nearest))]
    UnknownRun {
        /// What was asked for.
        text: String,
        /// The names that resemble it, the most alike first.
        nearest: Vec<RunId>,
    },
    /// Several runs go by this beginning of a name.
    #[error("`{text}` may mean several runs: {}; write more of the name", listed(candidates))]
    AmbiguousRun {
        /// What was asked for.
        text: String,
        /// The runs whose names begin so, the newest first.
        candidates: Vec<RunId>,
    },
    /// The run has no measurement of this turn.
    #[error(
        "run {run} has no measurement of cell {} in round {}; `tactus show {run}` lists what it has",
        turn.cell, turn.round + 1
    )]
    NotMeasured {
        /// The run.
        run: RunId,
        /// The turn asked for.
        turn: Turn,
    },
    /// The run is complete, and a complete run is never altered.
    #[error("run {0} is complete and is never altered; start a new run to measure again")]
    Complete(RunId),
    /// The turn was measured before.
    #[error(
        "run {run} already holds cell {} of round {}; is another process continuing the same run?",
        turn.cell, turn.round + 1
    )]
    TurnTaken {
        /// The run.
        run: RunId,
        /// The turn.
        turn: Turn,
    },
    /// The run's plan has no such turn.
    #[error(
        "the plan of run {run} has no cell {} in round {}; a result belongs to the run that planned it",
        turn.cell, turn.round + 1
    )]
    NotPlanned {
        /// The run.
        run: RunId,
        /// The turn.
        turn: Turn,
    },
    /// A result does not account for every sample, and is therefore not stored.
    #[error(
        "cell {} of round {} does not balance and was not stored: {imbalance}; this is a defect \
         of the program that measured, please report it with the experiment",
        turn.cell, turn.round + 1
    )]
    Unbalanced {
        /// The turn.
        turn: Turn,
        /// What does not add up.
        #[source]
        imbalance: Imbalance,
    },
    /// Something that is read is not an exported run.
    #[error("this is not a run that tactus exported: {reason}; nothing was imported")]
    NotAnExport {
        /// What is wrong and where.
        reason: String,
    },
    /// An exported run is of a format that is not known here.
    #[error(
        "this run was exported in format version {found}, and this tactus reads version {known}; \
         import it with the version of tactus that exported it; nothing was imported"
    )]
    UnknownFormat {
        /// The version found.
        found: u64,
        /// The version known here.
        known: u64,
    },
    /// The very same run is there already.
    #[error("run {0} is in the store already, with the same content; nothing was imported")]
    AlreadyThere(RunId),
    /// An export could not be read.
    #[error(
        "cannot read the export: {0}; nothing was imported. Check the file and import it again"
    )]
    Import(#[source] std::io::Error),
    /// An export could not be written.
    #[error("cannot write the export: {0}; free space or choose another file, and export again")]
    Export(#[source] std::io::Error),
    /// A value cannot be kept as it is.
    #[error("cannot keep {what}: {reason}; this is a defect, please report it")]
    Unkeepable {
        /// What was to be kept.
        what: &'static str,
        /// Why it cannot be.
        reason: String,
    },
    /// The database reported something else.
    #[error(
        "the results database {} failed: {source}; try again, and if it fails again check it with \
         `sqlite3 {} 'PRAGMA integrity_check'`", path.display(), path.display()
    )]
    Database {
        /// The file.
        path: PathBuf,
        /// What SQLite reported.
        source: rusqlite::Error,
    },
}

impl StoreError {
    /// Tells the reasons apart that have a remedy of their own.
    pub(crate) fn from_sqlite(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        let reason = source.to_string();
        match source.sqlite_error_code() {
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::Unwritable { path, reason }
            }
            Some(ErrorCode::DiskFull) => Self::Full { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged { path, reason }
            }
            _ => Self::Database { path, source },
        }
    }
}

fn listed(runs: &[RunId]) -> String {
    /// A longer list hides the message it belongs to.
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
