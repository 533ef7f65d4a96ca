//! The store in a file of SQLite.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, ToSql, Transaction, TransactionBehavior};
use tactus_model::run::RunId;

use crate::engine::{Database, Engine, Row, Work};
use crate::fault::Fault;
use crate::reading::{self, Reading, Watch};
use crate::{StoreError, ballast, database};

/// An open file.
///
/// Several processes may open it at once; each waits for the writes of the others.
#[derive(Debug)]
pub(crate) struct Sqlite {
    connection: Connection,
    path: PathBuf,
    /// Detects writers, where SQLite cannot.
    watch: Option<Watch>,
}

impl Sqlite {
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let store = Self::open_existing_or_new(path)?;
        ballast::keep(path);
        Ok(store)
    }

    pub(crate) fn open_to_delete(path: &Path) -> Result<Self, StoreError> {
        ballast::making_room(path, || Self::open_existing_or_new(path))
    }

    fn open_existing_or_new(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { connection: database::open(path)?, path: path.to_owned(), watch: None })
    }

    pub(crate) fn open_to_read(path: &Path) -> Result<Self, StoreError> {
        let Reading { connection, watch } = reading::open(path)?;
        Ok(Self { connection, path: path.to_owned(), watch })
    }

    pub(crate) fn open_in_memory() -> Result<Self, StoreError> {
        let connection = database::open_in_memory()?;
        Ok(Self { connection, path: PathBuf::from(":memory:"), watch: None })
    }

    /// Opens an empty database that refuses every write.
    pub(crate) fn empty_to_read() -> Result<Self, StoreError> {
        let Reading { connection, watch } = reading::empty()?;
        Ok(Self { connection, path: PathBuf::from(":memory:"), watch })
    }

    /// Frees the space of deleted runs. The file gives it back when the log is copied into it, at
    /// the latest when the store is closed.
    ///
    /// The log gets a copy of every moved page. If a full disk has no room for all of them, the log
    /// is emptied in between. Not earlier: pages that are only in the log need room in the file
    /// until they are cut off, and would take it from the log.
    fn shrink(&self) -> Result<(), StoreError> {
        let mut free = i64::MAX;
        loop {
            let left = match self.free_some_pages() {
                Err(StoreError::Full { .. }) if self.empties_log() => self.free_some_pages()?,
                result => result?,
            };
            if left == 0 || left >= free {
                return Ok(());
            }
            free = left;
        }
    }

    /// Cuts some unused pages off the file; returns how many are left.
    fn free_some_pages(&self) -> Result<i64, StoreError> {
        let free = || -> rusqlite::Result<i64> {
            // The statement frees one page a step, so it must run to its end.
            let mut statement = self.connection.prepare("PRAGMA incremental_vacuum(100)")?;
            let mut pages = statement.query([])?;
            while pages.next()?.is_some() {}
            self.connection.pragma_query_value(None, "freelist_count", |row| row.get(0))
        };
        free().map_err(|error| StoreError::from_sqlite(&self.path, error))
    }

    /// Copies the log into the file; returns whether the log can be written from its start again.
    fn empties_log(&self) -> bool {
        let checkpoint = "PRAGMA wal_checkpoint(PASSIVE)";
        let pages = |row: &rusqlite::Row<'_>| Ok((row.get(1)?, row.get(2)?));
        let pages: rusqlite::Result<(i64, i64)> = self.connection.query_row(checkpoint, [], pages);
        pages.is_ok_and(|(logged, copied)| logged == copied)
    }
}

impl Engine for Sqlite {
    fn read(&self, work: Work<'_>) -> Result<(), StoreError> {
        let mut read = || {
            // Dropping the transaction rolls it back, which is correct since it wrote nothing.
            let transaction = self.connection.unchecked_transaction()?;
            work(&transaction)
        };
        let result = read();
        // A concurrent write comes first: it may be the reason of an error.
        self.watch.as_ref().map_or(Ok(()), Watch::check)?;
        result.map_err(|fault: Fault| fault.in_file(&self.path).of_reading())
    }

    fn write(&mut self, work: Work<'_>) -> Result<(), StoreError> {
        let connection = &mut self.connection;
        let mut write = || {
            // The lock is taken first, so that data read in the transaction is valid until its
            // end.
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            work(&transaction)?;
            Ok(transaction.commit()?)
        };
        write().map_err(|fault: Fault| fault.in_file(&self.path))
    }

    fn delete(&mut self, work: Work<'_>) -> Result<(), StoreError> {
        let path = self.path.clone();
        ballast::making_room(&path, || self.write(work))?;
        match ballast::making_room(&path, || self.shrink()) {
            // The run is deleted; its space stays in the file, for later runs.
            Ok(()) | Err(StoreError::Full { .. }) => {}
            Err(error) => return Err(error),
        }
        ballast::keep(&path);
        Ok(())
    }
}

impl Database for Transaction<'_> {
    fn rows(&self, statement: &'static str, parameters: &[&dyn ToSql]) -> Result<Vec<Row>, Fault> {
        let mut statement = self.prepare_cached(statement)?;
        let columns = statement.column_count();
        let mut found = statement.query(parameters)?;
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            let values = (0..columns).map(|column| row.get(column));
            rows.push(Row(values.collect::<rusqlite::Result<_>>()?));
        }
        Ok(rows)
    }

    /// A transaction that writes holds the lock on the whole file.
    fn lock_run(&self, _run: &RunId) -> Result<(), Fault> {
        Ok(())
    }

    fn lock_names(&self) -> Result<(), Fault> {
        Ok(())
    }
}
