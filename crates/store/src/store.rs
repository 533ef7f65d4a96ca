//! The store itself, and the transactions in which it is read and written.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::fault::Fault;
use crate::reading::{self, Reading, Watch};
use crate::{StoreError, ballast, database};

/// The results database.
///
/// Several processes may open it at once; each waits for the writes of the others.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// Detects writers, where SQLite cannot.
    watch: Option<Watch>,
}

impl Store {
    /// Opens the store in the file `path`; creates the file and its directory if they do not
    /// exist.
    ///
    /// # Errors
    /// The file cannot be written, is damaged, or belongs to another program or a newer
    /// version. In all these cases it is not changed.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let store = Self::open_existing_or_new(path)?;
        ballast::keep(path);
        Ok(store)
    }

    /// Opens the store in the file `path` for deleting runs, also on a full disk.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_to_delete(path: &Path) -> Result<Self, StoreError> {
        ballast::making_room(path, || Self::open_existing_or_new(path))
    }

    fn open_existing_or_new(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { connection: database::open(path)?, path: path.to_owned(), watch: None })
    }

    /// Opens the store in the file `path` for reading. A missing file is an empty store, and is
    /// not created.
    ///
    /// The file and its directory need not be writable: another user's store, a read-only file
    /// system and a full disk are read too, also while another process writes the file. Where
    /// they are writable, a store of an earlier version is migrated.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, belongs to another program or a newer version, or
    /// must be migrated first ([`StoreError::Older`], [`StoreError::Stranded`]).
    pub fn open_to_read(path: &Path) -> Result<Self, StoreError> {
        let Reading { connection, watch } = reading::open(path)?;
        Ok(Self { connection, path: path.to_owned(), watch })
    }

    /// Opens an empty store in memory.
    ///
    /// # Errors
    /// SQLite could not create it.
    pub fn open_in_memory() -> Result<Self, StoreError> {
        let connection = database::open_in_memory()?;
        Ok(Self { connection, path: PathBuf::from(":memory:"), watch: None })
    }

    /// The file of the store.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `work` on one state of the file, unaffected by concurrent writes.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let read = || {
            // Dropping the transaction rolls it back, which is correct since it wrote nothing.
            let transaction = self.connection.unchecked_transaction()?;
            work(&transaction)
        };
        let result = read();
        // A concurrent write comes first: it may be the reason of an error.
        self.watch.as_ref().map_or(Ok(()), Watch::check)?;
        result.map_err(|fault: Fault| fault.in_file(&self.path).of_reading())
    }

    /// Runs `work` in a transaction, which is rolled back if `work` fails.
    pub(crate) fn write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let connection = &mut self.connection;
        let write = || {
            // The lock is taken first, so that data read in the transaction is valid until its
            // end.
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = work(&transaction)?;
            transaction.commit()?;
            Ok(result)
        };
        write().map_err(|fault: Fault| fault.in_file(&self.path))
    }

    /// Frees the space of deleted runs. The file gives it back when the log is copied into it, at
    /// the latest when the store is closed.
    ///
    /// The log gets a copy of every moved page. If a full disk has no room for all of them, the log
    /// is emptied in between. Not earlier: pages that are only in the log need room in the file
    /// until they are cut off, and would take it from the log.
    pub(crate) fn shrink(&self) -> Result<(), StoreError> {
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
