//! Opens the database for reading, also where this process may write nothing.
//!
//! SQLite reads a database with a write-ahead log only if it can share the log's index with the
//! writers, in a file that it creates beside the log ([Write-Ahead Logging, section 5]). Another
//! user's directory, a read-only file system or a full disk do not permit that.
//!
//! [Write-Ahead Logging, section 5]: https://www.sqlite.org/wal.html#read_only_databases

use std::fmt::Write;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::StoreError;
use crate::database::{self, State, VERSION};
use crate::location::beside;

/// A database that is open for reading.
pub(crate) struct Reading {
    pub(crate) connection: Connection,
    /// Detects writers that SQLite does not see; `None` where SQLite shares its locks.
    pub(crate) watch: Option<Watch>,
}

/// How often to look again when a writer appears or ends while the file is opened.
const ATTEMPTS: usize = 5;

/// The time between two attempts, in which a writer that ends removes its files.
const PAUSE: Duration = Duration::from_millis(50);

/// Opens the database in the file `path` for reading; a file that is missing or empty is a
/// database without runs.
///
/// Where this process may write, the file is opened as for writing, so that the files beside it
/// are used and removed as by a writer, and an older database is migrated.
pub(crate) fn open(path: &Path) -> Result<Reading, StoreError> {
    match fs::metadata(path) {
        Ok(file) if file.len() > 0 => {}
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let reason = error.to_string();
            return Err(StoreError::Unreadable { path: path.to_owned(), reason });
        }
        _ => return empty(),
    }
    let mut opened = open_as_writer(path);
    for _ in 0..ATTEMPTS {
        match opened {
            Err(StoreError::Unwritable { .. } | StoreError::Full { .. }) => {
                opened = open_as_guest(path);
            }
            decided => return decided,
        }
        if opened.is_err() {
            std::thread::sleep(PAUSE);
        }
    }
    opened.map_err(StoreError::of_reading)
}

/// A database without runs.
pub(crate) fn empty() -> Result<Reading, StoreError> {
    read_only(database::open_in_memory()?, Path::new(":memory:"), None)
}

/// Opens a file that this process may write.
fn open_as_writer(path: &Path) -> Result<Reading, StoreError> {
    let connection = database::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    database::require_writable(&connection, path)?;
    match database::state(&connection, path)? {
        State::New => empty(),
        State::Version(VERSION) => read_only(connection, path, None),
        State::Version(_) => read_only(database::open(path)?, path, None),
    }
}

/// Opens a file that this process may not write, or not the files beside it.
fn open_as_guest(path: &Path) -> Result<Reading, StoreError> {
    let watch = Watch::of(path);
    let has = |suffix| beside(path, suffix).exists();
    if !watch.is_quiet() && has("-wal") && !has("-shm") {
        return Err(StoreError::Stranded { path: path.to_owned() });
    }
    let (connection, watch) = if watch.is_quiet() {
        (connect_unshared(path)?, Some(watch))
    } else {
        // A writer, alive or dead, left a log and its index, or a rollback journal.
        (database::connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?, None)
    };
    match database::state(&connection, path)? {
        State::New => empty(),
        State::Version(VERSION) => read_only(connection, path, watch),
        State::Version(found) => {
            Err(StoreError::Older { path: path.to_owned(), found, known: VERSION })
        }
    }
}

/// Opens a file as if nobody ever wrote it, which needs no file beside it.
fn connect_unshared(path: &Path) -> Result<Connection, StoreError> {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
        let written =
            if plain { write!(uri, "{}", *byte as char) } else { write!(uri, "%{byte:02X}") };
        written.expect("writing to a string succeeds");
    }
    uri.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri, flags);
    connection.map_err(|error| StoreError::from_sqlite(path, error))
}

/// Makes SQLite refuse every change.
fn read_only(
    connection: Connection,
    path: &Path,
    watch: Option<Watch>,
) -> Result<Reading, StoreError> {
    let query_only = connection.pragma_update(None, "query_only", true);
    query_only.map_err(|error| StoreError::from_sqlite(path, error))?;
    Ok(Reading { connection, watch })
}

/// The state of a database file, by which a write of another process is detected.
///
/// A writer creates a log or a journal before it changes the file, and the change itself alters
/// the file's time.
#[derive(Debug)]
pub(crate) struct Watch {
    path: PathBuf,
    seen: Seen,
}

/// What a write changes.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    /// Inode, size and time of change (s, ns) of the database.
    file: Option<(u64, u64, i64, i64)>,
    /// The size of the write-ahead log; 0 without one.
    log: u64,
    /// Whether a rollback journal exists.
    journal: bool,
}

impl Watch {
    fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), seen: Seen::of(path) }
    }

    /// Whether the file was complete by itself, without a log or a journal.
    fn is_quiet(&self) -> bool {
        self.seen.log == 0 && !self.seen.journal
    }

    /// Requires that nobody wrote since then.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if Seen::of(&self.path) == self.seen {
            Ok(())
        } else {
            Err(StoreError::Changed { path: self.path.clone() })
        }
    }
}

impl Seen {
    fn of(path: &Path) -> Self {
        let size = |path: PathBuf| fs::metadata(path).map_or(0, |file| file.len());
        Self {
            file: fs::metadata(path)
                .map(|file| (file.ino(), file.len(), file.ctime(), file.ctime_nsec()))
                .ok(),
            log: size(beside(path, "-wal")),
            journal: beside(path, "-journal").exists(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_any_name_is_read_without_locks_until_somebody_writes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a?b%20#é.sqlite");
        let writer = database::open(&path).unwrap();
        drop(writer);
        let watch = Watch::of(&path);
        assert!(watch.is_quiet());
        let connection = connect_unshared(&path).unwrap();
        assert!(matches!(database::state(&connection, &path), Ok(State::Version(VERSION))));
        watch.check().unwrap();
        let writer = database::open(&path).unwrap();
        writer.execute_batch("CREATE TABLE further (a)").unwrap();
        assert!(matches!(watch.check(), Err(StoreError::Changed { .. })));
        drop(writer);
        assert!(matches!(watch.check(), Err(StoreError::Changed { .. })));
    }
}
