//! The store itself, and the transactions in which it is read and written.

use std::path::Path;

use crate::engine::{Database, Engine};
use crate::fault::Fault;
use crate::sqlite::Sqlite;
use crate::{Location, StoreError};

/// The results database.
///
/// Several processes may open it at once. In a file, each waits for the writes of the others; a
/// server takes writes to different runs at once.
#[derive(Debug)]
pub struct Store {
    engine: Box<dyn Engine>,
}

impl Store {
    /// Opens the store in the file `path`; creates the file and its directory if they do not
    /// exist. [`Location::open`] opens a store anywhere.
    ///
    /// # Errors
    /// The file cannot be written, is damaged, or belongs to another program or a newer
    /// version. In all these cases it is not changed.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self::on(Sqlite::open(path)?))
    }

    /// Opens the store in the file `path` for deleting runs, also on a full disk.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_to_delete(path: &Path) -> Result<Self, StoreError> {
        Ok(Self::on(Sqlite::open_to_delete(path)?))
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
        Ok(Self::on(Sqlite::open_to_read(path)?))
    }

    /// Opens an empty store in memory.
    ///
    /// # Errors
    /// SQLite could not create it.
    pub fn open_in_memory() -> Result<Self, StoreError> {
        Ok(Self::on(Sqlite::open_in_memory()?))
    }

    pub(crate) fn on(engine: impl Engine + 'static) -> Self {
        Self { engine: Box::new(engine) }
    }

    /// Runs `work` on one state of the store, unaffected by concurrent writes.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&dyn Database) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        once(work, |work| self.engine.read(work))
    }

    /// Runs `work` in a transaction, which is rolled back if `work` fails.
    pub(crate) fn write<T>(
        &mut self,
        work: impl FnOnce(&dyn Database) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        once(work, |work| self.engine.write(work))
    }

    /// Runs `work`, which deletes and may be repeated, in a transaction.
    pub(crate) fn write_deletion(
        &mut self,
        mut work: impl FnMut(&dyn Database) -> Result<(), Fault>,
    ) -> Result<(), StoreError> {
        self.engine.delete(&mut work)
    }
}

/// Passes `work` to `transact`, which runs it once, and returns its result.
fn once<T>(
    work: impl FnOnce(&dyn Database) -> Result<T, Fault>,
    transact: impl FnOnce(crate::engine::Work<'_>) -> Result<(), StoreError>,
) -> Result<T, StoreError> {
    let mut work = Some(work);
    let mut result = None;
    transact(&mut |database| {
        let work = work.take().expect("a transaction runs once");
        result = Some(work(database)?);
        Ok(())
    })?;
    Ok(result.expect("a transaction without an error ran"))
}

impl Location {
    /// Opens the store; creates a file and its directory, or the tables on a server, if they do
    /// not exist.
    ///
    /// # Errors
    /// As [`Store::open`], or [`StoreError::Server`].
    pub fn open(&self) -> Result<Store, StoreError> {
        match self {
            Self::File(path) => Store::open(path),
            Self::Server(server) => Ok(Store::on(server.open()?)),
        }
    }

    /// Opens the store for reading; one that does not exist is empty and is not created.
    ///
    /// # Errors
    /// As [`Store::open_to_read`], or [`StoreError::Server`].
    pub fn open_to_read(&self) -> Result<Store, StoreError> {
        match self {
            Self::File(path) => Store::open_to_read(path),
            Self::Server(server) => match server.open_to_read()? {
                Some(connected) => Ok(Store::on(connected)),
                None => Ok(Store::on(Sqlite::empty_to_read()?)),
            },
        }
    }

    /// Opens the store for deleting runs, also on a full disk.
    ///
    /// # Errors
    /// As [`Location::open`].
    pub fn open_to_delete(&self) -> Result<Store, StoreError> {
        match self {
            Self::File(path) => Store::open_to_delete(path),
            Self::Server(_) => self.open(),
        }
    }
}
