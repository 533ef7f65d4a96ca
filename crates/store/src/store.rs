//! The store itself.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::StoreError;

/// The results database.
///
/// Several processes may have it open at once; each waits for the others' writes.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
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
        todo!("{}", path.display())
    }

    /// Opens an empty store that is forgotten when it is closed.
    ///
    /// # Errors
    /// SQLite could not make it.
    pub fn open_in_memory() -> Result<Self, StoreError> {
        todo!()
    }

    /// The file the store is in.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
