//! The file of the threads that have a grant, for the case that the manager is killed.
//!
//! A thread is noted before it gets its grant, with its start time and the policy that it had. A
//! killed manager returns nothing; the next one reads the file and returns the threads that are
//! still the same to their policy. The file says what root does to other processes, so it is
//! believed only if nobody else could have written it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tactus_model::policy::Scheduling;
use tactus_model::recording::ThreadId;
use tactus_model::reserve::Capacity;
use tactus_model::time::Nanos;
use tactus_prepare::ThreadRef;
use tactus_reserve::{debt, release_time};
use tactus_sys::filesystem::open_regular;
use tactus_sys::process;

use crate::subject::{Started, Subject};

/// Bytes of the file at most: a line has less than 100.
const BYTES: u64 = 4 << 20;

/// Lines after which the file is written anew, beside one for each thread.
const SPARE_LINES: usize = 4096;

/// The open file of this manager.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    file: File,
    lines: usize,
    noted: Vec<Line>,
}

/// A line of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    thread: i32,
    started: Started,
    /// The policy before the grant; nothing if the thread has been returned to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<Scheduling>,
}

/// A thread that a killed manager had left, and that has its policy from before again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returned {
    /// The thread.
    pub thread: ThreadId,
    /// How long the kernel remembers its grant: see [`release_time`].
    pub release: Nanos,
}

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadLedger {
    /// Another manager uses it.
    #[error("another manager holds {}; end it first, or choose another --state", .0.display())]
    Held(PathBuf),
    /// Others could have written it.
    #[error("{} can be written by others; the state file and its directory must belong to the manager's user alone", .0.display())]
    NotOurs(PathBuf),
    /// The system fails.
    #[error("cannot use {}: {error}", .path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
}

impl Ledger {
    /// Opens the file at `path`, and returns the threads that a killed manager has left to their
    /// policy. Returns them too.
    ///
    /// # Errors
    /// Another manager holds the file, others could have written it, or the system fails.
    pub fn open(path: &Path) -> Result<(Self, Vec<Returned>), BadLedger> {
        let failed = |error| BadLedger::System { path: path.to_owned(), error };
        let directory = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(directory).map_err(failed)?;
        // A link in a directory of ours is ours, so the directory comes first.
        if !is_trusted(&fs::metadata(directory).map_err(failed)?) {
            return Err(BadLedger::NotOurs(directory.to_owned()));
        }
        let file = open(path).map_err(failed)?;
        if !is_trusted(&file.metadata().map_err(failed)?) {
            return Err(BadLedger::NotOurs(path.to_owned()));
        }
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(BadLedger::Held(path.to_owned())),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut text = Vec::new();
        (&file).take(BYTES).read_to_end(&mut text).map_err(failed)?;
        // A line that is damaged is none; the others count.
        let returned =
            left(&String::from_utf8_lossy(&text)).iter().filter_map(return_to_policy).collect();
        file.set_len(0).map_err(failed)?;
        Ok((Self { path: path.to_owned(), file, lines: 0, noted: Vec::new() }, returned))
    }

    /// Notes a thread before its grant.
    ///
    /// # Errors
    /// The file cannot be written: then the thread must get no grant.
    pub fn note(&mut self, subject: &Subject, before: Scheduling) -> io::Result<()> {
        let (thread, started) = (subject.id().0, subject.started());
        let line = Line { thread, started, before: Some(before) };
        self.append(&line)?;
        self.noted.push(line);
        Ok(())
    }

    /// Strikes a thread that has been returned to its policy, or has ended.
    pub fn strike(&mut self, subject: &Subject) {
        let (thread, started) = (subject.id().0, subject.started());
        self.noted.retain(|line| (line.thread, line.started) != (thread, started));
        // A line too many does no harm: the thread is in the deadline class only with a grant.
        let _ = self.append(&Line { thread, started, before: None });
    }

    fn append(&mut self, line: &Line) -> io::Result<()> {
        if self.lines > SPARE_LINES + self.noted.len() {
            self.rewrite()?;
        }
        let length = self.file.metadata()?.len();
        let written = self.file.write_all(&text_of(line));
        match written {
            Ok(()) => self.lines += 1,
            // A part of a line would spoil the next, e.g. on a full disk.
            Err(_) => self.file.set_len(length)?,
        }
        written
    }

    /// Writes the file anew, without what was struck. A kill in between leaves either file.
    fn rewrite(&mut self) -> io::Result<()> {
        let text: Vec<u8> = self.noted.iter().flat_map(text_of).collect();
        let beside = self.path.with_extension("new");
        // Left by a kill.
        let _ = fs::remove_file(&beside);
        let mut file = open(&beside)?;
        // It is held before it has the name.
        file.try_lock()?;
        file.write_all(&text)?;
        fs::rename(&beside, &self.path)?;
        (self.file, self.lines) = (file, self.noted.len());
        Ok(())
    }
}

/// Whether only root and this user can write a file or a directory.
pub(crate) fn is_trusted(metadata: &fs::Metadata) -> bool {
    let owner = metadata.uid();
    (owner == 0 || owner == process::effective_user()) && metadata.mode() & 0o022 == 0
}

fn open(path: &Path) -> io::Result<File> {
    // Who writes to a link here writes to another file.
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a symbolic link"));
    }
    let mut options = OpenOptions::new();
    open_regular(path, options.read(true).append(true).create(true).mode(0o600))
}

fn text_of(line: &Line) -> Vec<u8> {
    let mut text = serde_json::to_vec(line).unwrap_or_default();
    text.push(b'\n');
    text
}

/// The threads that have a grant at the end of a file. A line that was torn by a kill is none.
fn left(text: &str) -> Vec<Line> {
    let mut left: Vec<Line> = Vec::new();
    for line in text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
        left.retain(|other| (other.thread, other.started) != (line.thread, line.started));
        left.extend(Some(line).filter(|line| line.before.is_some()));
    }
    left
}

/// Returns a thread to its policy, if it is the same thread and still has the grant.
fn return_to_policy(line: &Line) -> Option<Returned> {
    let subject = Subject::of_id(ThreadId(line.thread)).ok()?;
    let thread = ThreadRef::PidFd(subject.descriptor().try_clone().ok()?);
    let release = match thread.scheduling().ok()? {
        Scheduling::Deadline { runtime, deadline, period } => {
            let capacity = Capacity::new(runtime, period, deadline).ok()?;
            release_time(capacity, debt(subject.id()))
        }
        Scheduling::Fifo(_) | Scheduling::RoundRobin(_) => Nanos::ZERO,
        _ => return None,
    };
    let is_same = subject.started() == line.started;
    let is_returned = is_same && matches!(thread.schedule_exactly(line.before?), Ok(None));
    is_returned.then_some(Returned { thread: subject.id(), release })
}
