//! What goes wrong within a transaction, before it is known in which file.

use std::path::Path;

use crate::StoreError;
use crate::columns::DamagedBytes;

/// A failure inside the store; [`Fault::in_file`] makes it one for the outside.
#[derive(Debug)]
pub(crate) enum Fault {
    /// SQLite refused.
    Sqlite(rusqlite::Error),
    /// A stored value cannot be read.
    Damaged(String),
    /// Anything that does not depend on the file.
    Told(StoreError),
}

impl Fault {
    /// Names the file the failure is about.
    pub(crate) fn in_file(self, path: &Path) -> StoreError {
        match self {
            Self::Sqlite(error) => StoreError::from_sqlite(path, error),
            Self::Damaged(reason) => StoreError::Damaged { path: path.to_owned(), reason },
            Self::Told(error) => error,
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
        Self::Told(error)
    }
}

impl From<DamagedBytes> for Fault {
    fn from(error: DamagedBytes) -> Self {
        Self::Damaged(error.to_string())
    }
}
