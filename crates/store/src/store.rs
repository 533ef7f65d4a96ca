//! The store itself, and the transactions in which it is read and written.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::fault::Fault;
use crate::{StoreError, database};

/// The results database.
///
/// Several processes may have it open at once; each waits for the others' writes.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Finds the file of the store in the environment of this process; see [`crate::default_path`].
    ///
    /// # Errors
    /// [`StoreError::NoPlace`].
    pub fn default_path() -> Result<PathBuf, StoreError> {
        crate::default_path(|name| std::env::var_os(name))
    }

    /// Opens the store in the file `path`, which is made with its directory when it is not there.
    ///
    /// # Errors
    /// The file cannot be written, is damaged, belongs to another program or to a
    /// newer version. In none of these cases is it changed.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { connection: database::open(path)?, path: path.to_owned() })
    }

    /// Opens an empty store that is forgotten when it is closed.
    ///
    /// # Errors
    /// SQLite could not make it.
    pub fn open_in_memory() -> Result<Self, StoreError> {
        Ok(Self { connection: database::open_in_memory()?, path: PathBuf::from(":memory:") })
    }

    /// The file the store is in.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads, all from one state of the file, whatever others write meanwhile.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let read = || {
            // Rolled back when it is dropped, as befits a transaction that wrote nothing.
            let transaction = self.connection.unchecked_transaction()?;
            work(&transaction)
        };
        read().map_err(|fault: Fault| fault.in_file(&self.path))
    }

    /// Writes all that `work` writes, or nothing when it fails.
    pub(crate) fn write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let connection = &mut self.connection;
        let write = || {
            // The lock comes first: what is read in the transaction holds until its end.
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = work(&transaction)?;
            transaction.commit()?;
            Ok(result)
        };
        write().map_err(|fault: Fault| fault.in_file(&self.path))
    }

    /// Gives the space of deleted runs back to the file system.
    pub(crate) fn shrink(&self) -> Result<(), StoreError> {
        let shrink = || {
            // Each step frees one page, so all steps have to be taken.
            let mut statement = self.connection.prepare("PRAGMA incremental_vacuum")?;
            let mut steps = statement.query([])?;
            while steps.next()?.is_some() {}
            Ok(())
        };
        shrink().map_err(|error| StoreError::from_sqlite(&self.path, error))
    }
}
