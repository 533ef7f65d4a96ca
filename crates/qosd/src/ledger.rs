//! The file of the threads that have a grant, for the case that the manager is killed.
//!
//! A thread is noted before it gets its grant, with its start time and the policy that it had. A
//! killed manager returns nothing; the next one reads the file and returns the threads that are
//! still the same to their policy. A thread that has left the deadline class stays in the file
//! until the kernel has forgotten it, so a second kill does not hide its debt. The file says what
//! root does to other processes, so it is believed only if nobody else could have written it.

use std::collections::BTreeMap;
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
use tactus_sys::{clock, process};

use crate::Moment;
use crate::subject::{Started, Subject};

/// Bytes of the file at most: a line has less than 100.
const BYTES: u64 = 4 << 20;

/// Lines after which the file is written anew, beside one for each thread.
const SPARE_LINES: usize = 4096;

/// The most threads in the file. Beyond it, a thread that leaves the deadline class is not kept.
const NOTED_MOST: usize = 8192;

/// The longest that a line keeps a thread from its next grant, e.g. after a change of the clock.
const UNTIL_MOST: Nanos = Nanos::from_secs(600);

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
    /// When the kernel has forgotten the grant of a thread that was returned, in nanoseconds of
    /// `CLOCK_MONOTONIC`: see [`release_time`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<u64>,
}

impl Line {
    /// Of a thread that was returned to its policy.
    fn returned(subject: &Subject, until: Moment) -> Self {
        let (thread, started) = (subject.id().0, subject.started());
        Self { thread, started, before: None, until: Some(until.as_nanos()) }
    }

    fn is_of(&self, other: &Self) -> bool {
        (self.thread, self.started) == (other.thread, other.started)
    }

    /// Whether the next manager needs it.
    fn counts(&self, now: Moment) -> bool {
        self.before.is_some() || self.until.is_some_and(|until| until > now.as_nanos())
    }
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
    /// It is something else, which the manager would overwrite.
    #[error("{} is not a state file of the manager: it has {what}. fix: choose another --state, or remove the file", .path.display())]
    NotALedger {
        /// The file.
        path: PathBuf,
        /// What a state file has not.
        what: &'static str,
    },
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
    /// Another manager holds the file, others could have written it, it is not a state file, or the
    /// system fails.
    pub fn open(path: &Path) -> Result<(Self, Vec<ThreadId>), BadLedger> {
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
        let other = |what| BadLedger::NotALedger { path: path.to_owned(), what };
        match file.metadata().map_err(failed)?.nlink() {
            // Another manager has written the file anew since it was opened here.
            0 => return Err(BadLedger::Held(path.to_owned())),
            1 => {}
            _ => return Err(other("another name (a hard link)")),
        }
        let mut text = Vec::new();
        (&file).take(BYTES).read_to_end(&mut text).map_err(failed)?;
        // A line that is damaged is none; the others count.
        let lines = lines_of(&String::from_utf8_lossy(&text));
        if lines.is_empty() && !text.is_empty() {
            return Err(other("no line of one"));
        }
        let now = clock::now();
        let left = left(lines, now);
        let returned: Vec<Line> =
            left.iter().filter_map(|line| return_to_policy(line, now)).collect();
        let threads = returned.iter().map(|line| ThreadId(line.thread)).collect();
        let indebted = left.into_iter().filter(|line| line.before.is_none() && is_alive(line));
        let noted = returned.into_iter().chain(indebted).collect();
        let mut ledger = Self { path: path.to_owned(), file, lines: 0, noted };
        match ledger.noted.is_empty() {
            true => ledger.file.set_len(0),
            false => ledger.rewrite(),
        }
        .map_err(failed)?;
        Ok((ledger, threads))
    }

    /// The threads of which the kernel may still remember a grant, and until when.
    pub(crate) fn leaving(&self, now: Moment) -> impl Iterator<Item = (i32, Moment)> {
        let until = move |line: &Line| {
            Some((line.thread, Moment::from_nanos(line.until?).min(now + UNTIL_MOST)))
        };
        self.noted.iter().filter_map(until)
    }

    /// Notes a thread before its grant.
    ///
    /// # Errors
    /// The file cannot be written: then the thread must get no grant.
    pub fn note(&mut self, subject: &Subject, before: Scheduling) -> io::Result<()> {
        let (thread, started) = (subject.id().0, subject.started());
        let line = Line { thread, started, before: Some(before), until: None };
        self.append(&line)?;
        self.noted.retain(|noted| !noted.is_of(&line));
        self.noted.push(line);
        Ok(())
    }

    /// Strikes a thread that has been returned to its policy, or has ended. The kernel may remember
    /// its grant `until` then.
    pub fn strike(&mut self, subject: &Subject, until: Moment, now: Moment) {
        let line = Line::returned(subject, until);
        self.noted.retain(|noted| noted.counts(now) && !noted.is_of(&line));
        if line.counts(now) && self.noted.len() < NOTED_MOST {
            self.noted.push(line);
        }
        // A line too many does no harm: the thread is in the deadline class only with a grant.
        let _ = self.append(&line);
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
        let mut beside = self.path.clone().into_os_string();
        beside.push(".tactus-new");
        let beside = PathBuf::from(beside);
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

/// The lines of a file. One that was torn by a kill is none.
fn lines_of(text: &str) -> Vec<Line> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// What the threads have at the end of a file.
fn left(lines: Vec<Line>, now: Moment) -> Vec<Line> {
    let mut left: BTreeMap<(i32, Started), Line> = BTreeMap::new();
    for line in lines {
        left.insert((line.thread, line.started), line);
    }
    left.into_values().filter(|line| line.counts(now)).collect()
}

/// Whether the thread of a line still exists.
fn is_alive(line: &Line) -> bool {
    Subject::of_id(ThreadId(line.thread)).is_ok_and(|subject| subject.started() == line.started)
}

/// Returns a thread to its policy, if it is the same thread and still has the grant.
fn return_to_policy(line: &Line, now: Moment) -> Option<Line> {
    let before = line.before?;
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
    let is_returned = is_same && matches!(thread.schedule_exactly(before), Ok(None));
    is_returned.then(|| Line::returned(&subject, now + release))
}
