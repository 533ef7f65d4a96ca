//! Opens the database file and migrates its tables to the current version.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::StoreError;

/// How long to wait for another process that has locked the file.
///
/// A writer holds the lock for the milliseconds of one transaction; only an import of a large
/// run takes longer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);

/// The pause before another attempt where SQLite itself does not wait.
const RETRY: Duration = Duration::from_millis(10);

/// Identifies the file as a store of Tactus, in the header field that file(1) and SQLite read:
/// `Tact`.
const APPLICATION_ID: i64 = 0x5461_6374;

/// The migrations from an empty file to the current tables, the first from version 0 to version
/// 1. Released migrations are never changed.
const MIGRATIONS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
];

/// The current version of the tables.
pub(crate) const VERSION: i64 = MIGRATIONS.len() as i64;

/// What a file contains.
pub(crate) enum State {
    /// Nothing.
    New,
    /// A store with tables of this version.
    Version(i64),
}

/// Opens the database in the file `path`; creates the file and its directory if they do not
/// exist.
///
/// A file that belongs to another program, is damaged or has a newer version is not changed.
pub(crate) fn open(path: &Path) -> Result<Connection, StoreError> {
    make_directory(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut connection = connect(path, flags)?;
    prepare(&mut connection, path, MIGRATIONS)?;
    Ok(connection)
}

/// Opens a file. SQLite's URI file names (`file:…?mode=…`) are disabled: a path is a path.
pub(crate) fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let failed = |error| StoreError::from_sqlite(path, error);
    check_file(path)?;
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    Ok(connection)
}

/// Creates an empty database in memory.
pub(crate) fn open_in_memory() -> Result<Connection, StoreError> {
    let path = Path::new(":memory:");
    let mut connection =
        Connection::open_in_memory().map_err(|error| StoreError::from_sqlite(path, error))?;
    prepare(&mut connection, path, MIGRATIONS)?;
    Ok(connection)
}

/// Creates the directory of the file with access for its owner only, as required by the XDG
/// Base Directory Specification.
fn make_directory(path: &Path) -> Result<(), StoreError> {
    let Some(directory) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) else {
        return Ok(());
    };
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|error| {
        StoreError::Unwritable { path: path.to_owned(), reason: error.to_string() }
    })
}

/// Rejects a directory, and a file of a single byte, which SQLite treats as empty and overwrites.
///
/// SQLite itself rejects all longer files that are not databases. They are not opened here to read
/// them: closing them would drop the locks of every other connection of this process
/// (sqlite.org/howtocorrupt.html, section 2.2).
fn check_file(path: &Path) -> Result<(), StoreError> {
    match std::fs::metadata(path) {
        Ok(file) if file.len() == 1 => {
            let reason = "a single byte is not a database".to_owned();
            Err(StoreError::of_no_database(path.to_owned(), reason))
        }
        Ok(file) if file.is_dir() => Err(StoreError::IsADirectory { path: path.to_owned() }),
        // A missing file is created later, and SQLite reports other errors when it opens the
        // file.
        _ => Ok(()),
    }
}

fn prepare(
    connection: &mut Connection,
    path: &Path,
    migrations: &[&str],
) -> Result<(), StoreError> {
    let failed = |error| StoreError::from_sqlite(path, error);
    require_writable(connection, path)?;
    let state = judge(connection, path, migrations.len() as i64)?;
    settle(connection, matches!(state, State::New)).map_err(failed)?;
    migrate(connection, migrations).map_err(failed)
}

/// Requires that the file can be written; SQLite silently opens other files read-only.
///
/// This comes before the first query, which creates files beside the database: another user's
/// files there would lock the owner out.
pub(crate) fn require_writable(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let is_readonly = connection.is_readonly("main");
    if is_readonly.map_err(|error| StoreError::from_sqlite(path, error))? {
        let reason = "permission denied".to_owned();
        return Err(StoreError::Unwritable { path: path.to_owned(), reason });
    }
    Ok(())
}

/// Determines what the file contains. Writes nothing.
///
/// # Errors
/// It is damaged, or belongs to another program or a newer version.
pub(crate) fn state(connection: &Connection, path: &Path) -> Result<State, StoreError> {
    judge(connection, path, VERSION)
}

fn judge(connection: &Connection, path: &Path, known: i64) -> Result<State, StoreError> {
    let read = |query| {
        connection
            .query_row(query, [], |row| row.get::<_, i64>(0))
            .map_err(|error| StoreError::from_sqlite(path, error))
    };
    // A single query sees one state of the file, which another process may be creating.
    let is_new = read(
        "SELECT application_id = 0 AND user_version = 0
            AND NOT EXISTS (SELECT 1 FROM sqlite_schema)
         FROM pragma_application_id, pragma_user_version",
    )? == 1;
    if is_new {
        return Ok(State::New);
    }
    if read("PRAGMA application_id")? != APPLICATION_ID {
        return Err(StoreError::NotAStore { path: path.to_owned() });
    }
    let found = read("PRAGMA user_version")?;
    if found > known {
        return Err(StoreError::Newer { path: path.to_owned(), found, known });
    }
    Ok(State::Version(found))
}

/// Switches to a write-ahead log.
///
/// Two processes that create one store at once can both hold a shared lock here. Waiting would
/// be a deadlock, so SQLite fails at once instead of waiting; the loser tries again.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let end = Instant::now() + PATIENCE;
    loop {
        let result = connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()));
        let is_busy = result.as_ref().is_err_and(|error| {
            error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
        });
        if !is_busy || Instant::now() >= end {
            return result;
        }
        thread::sleep(RETRY);
    }
}

/// Configures how the database is written.
fn settle(connection: &Connection, is_new: bool) -> rusqlite::Result<()> {
    if is_new {
        // Lets the file shrink after runs are deleted; it can only be set before there are
        // tables.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    // With a write-ahead log, readers and the one writer do not block each other. If the file
    // system cannot share the log's index, SQLite keeps its rollback journal, which is equally
    // safe.
    write_ahead(connection)?;
    // With NORMAL too, a killed process loses no commit, since the kernel has the data. But
    // NORMAL does not sync at a commit, and machines under test do hang and lose power: with
    // FULL a result is on disk when its save returns. The cost is one sync per cell, between
    // cells.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)
}

/// Applies the migrations that the file lacks, all or none of them.
fn migrate(connection: &mut Connection, migrations: &[&str]) -> rusqlite::Result<()> {
    let version_of = |connection: &Connection| {
        connection.pragma_query_value(None, "user_version", |row| row.get::<_, usize>(0))
    };
    if version_of(connection)? == migrations.len() {
        return Ok(());
    }
    // The lock is taken first and the version is read again under it: another process may have
    // migrated in the meantime.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for step in migrations.iter().skip(version_of(&transaction)?) {
        transaction.execute_batch(step)?;
    }
    if version_of(&transaction)? < migrations.len() {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", migrations.len())?;
    }
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hypothetical next version that adds a column.
    fn one_more() -> Vec<&'static str> {
        [MIGRATIONS, &["ALTER TABLE run ADD COLUMN note TEXT"]].concat()
    }

    fn notes(connection: &Connection) -> rusqlite::Result<i64> {
        connection.query_row("SELECT count(note) FROM run", [], |row| row.get(0))
    }

    #[test]
    fn an_older_file_is_migrated_and_a_newer_file_is_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.sqlite");
        let mut connection = open(&path).unwrap();
        notes(&connection).unwrap_err();
        prepare(&mut connection, &path, &one_more()).unwrap();
        assert_eq!(notes(&connection).unwrap(), 0);
        prepare(&mut connection, &path, &one_more()).unwrap();
        drop(connection);
        let error = open(&path).unwrap_err();
        let known = MIGRATIONS.len() as i64;
        let newer = |error: &StoreError| {
            matches!(error, StoreError::Newer { found, known: supported, .. }
                if (*found, *supported) == (known + 1, known))
        };
        assert!(newer(&error), "{error}");
        assert!(error.to_string().contains("use the newer tactus"), "{error}");
    }

    #[test]
    fn runs_of_the_first_version_are_preserved() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.sqlite");
        let mut connection = Connection::open(&path).unwrap();
        prepare(&mut connection, &path, &MIGRATIONS[..1]).unwrap();
        let insert = "INSERT INTO run (id, name, created_ns, version, status, rounds, cells, plan,
            facts_before) VALUES ('old', 'old', 1, '0', 'complete', 1, 1, '', '')";
        connection.execute(insert, []).unwrap();
        drop(connection);
        let connection = open(&path).unwrap();
        let count = |table: &str| -> i64 {
            let query = format!("SELECT count(*) FROM {table}");
            connection.query_row(&query, [], |row| row.get(0)).unwrap()
        };
        assert_eq!((count("run"), count("recording")), (1, 0));
    }

    #[test]
    fn a_failed_migration_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.sqlite");
        let mut connection = open(&path).unwrap();
        let broken = [&one_more()[..], &["no SQL"]].concat();
        prepare(&mut connection, &path, &broken).unwrap_err();
        notes(&connection).unwrap_err();
        drop(connection);
        open(&path).unwrap();
    }

    #[test]
    fn every_commit_is_synced_and_keys_are_enforced() {
        let directory = tempfile::tempdir().unwrap();
        let connection = open(&directory.path().join("deep/below/runs.sqlite")).unwrap();
        let pragma = |name: &str| -> String {
            connection
                .query_row(&format!("SELECT cast({name} AS TEXT) FROM pragma_{name}"), [], |row| {
                    row.get(0)
                })
                .unwrap()
        };
        assert_eq!(pragma("journal_mode"), "wal");
        assert_eq!(pragma("synchronous"), "2");
        assert_eq!(pragma("foreign_keys"), "1");
        assert_eq!(pragma("auto_vacuum"), "2");
    }
}
