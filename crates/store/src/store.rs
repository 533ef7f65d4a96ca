//! The store itself, and the transactions in which it is read and written.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::fault::Fault;
use crate::{StoreError, database};

/// The results database.
///
/// Several processes may open it at once; each waits for the writes of the others.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens the store in the file `path`; creates the file and its directory if they do not
    /// exist.
    ///
    /// # Errors
    /// The file cannot be written, is damaged, or belongs to another program or a newer
    /// version. In all these cases it is not changed.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { connection: database::open(path)?, path: path.to_owned() })
    }

    /// Opens an empty store in memory.
    ///
    /// # Errors
    /// SQLite could not create it.
    pub fn open_in_memory() -> Result<Self, StoreError> {
        Ok(Self { connection: database::open_in_memory()?, path: PathBuf::from(":memory:") })
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
        read().map_err(|fault: Fault| fault.in_file(&self.path))
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

    /// Returns the space of deleted runs to the file system.
    pub(crate) fn shrink(&self) -> Result<(), StoreError> {
        let shrink = || {
            // Each step frees one page, so the statement must run to its end.
            let mut statement = self.connection.prepare("PRAGMA incremental_vacuum")?;
            let mut steps = statement.query([])?;
            while steps.next()?.is_some() {}
            Ok(())
        };
        shrink().map_err(|error| StoreError::from_sqlite(&self.path, error))
    }
}
