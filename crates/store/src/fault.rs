//! Errors inside a transaction, before the file is known.

use std::path::Path;

use crate::StoreError;
use crate::columns::DamagedBytes;
use crate::postgresql::ServerError;

/// An error inside the store; [`Fault::in_file`] converts it to a public error.
#[derive(Debug)]
pub(crate) enum Fault {
    /// An error of SQLite.
    Sqlite(rusqlite::Error),
    /// An error of PostgreSQL.
    Server(ServerError),
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
            Self::Server(error) => StoreError::Server { server: path.display().to_string(), error },
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

impl From<ServerError> for Fault {
    fn from(error: ServerError) -> Self {
        Self::Server(error)
    }
}

impl From<postgres::Error> for Fault {
    fn from(error: postgres::Error) -> Self {
        Self::Server(error.into())
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
