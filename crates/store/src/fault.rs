//! Errors inside a transaction, before the file is known.

use std::path::Path;

use crate::StoreError;
use crate::columns::DamagedBytes;

/// An error inside the store; [`Fault::in_file`] converts it to a public error.
#[derive(Debug)]
pub(crate) enum Fault {
    /// An error of SQLite.
    Sqlite(rusqlite::Error),
    /// A stored value cannot be decoded.
    Damaged(String),
    /// An error that does not depend on the file.
    Store(StoreError),
}

impl Fault {
    /// Adds the file to the error.
    pub(crate) fn in_file(self, path: &Path) -> StoreError {
        match self {
            Self::Sqlite(error) => StoreError::from_sqlite(path, error),
            Self::Damaged(reason) => StoreError::Damaged { path: path.to_owned(), reason },
            Self::Store(error) => error,
        }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<DamagedBytes> for Fault {
    fn from(error: DamagedBytes) -> Self {
        Self::Damaged(error.to_string())
    }
}
