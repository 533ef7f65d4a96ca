//! What a server refuses, and what to do.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;

use postgres::error::SqlState;

/// Why a database of PostgreSQL could not be used. Its text follows the URL of the database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// No connection.
    #[error(
        "cannot be reached: {0}; check the address, and that the server runs there \
         (`pg_isready -h HOST -p PORT`)"
    )]
    Unreachable(String),
    /// The server knows no such database.
    #[error("does not exist: {0}; create it with `createdb -h HOST DATABASE`")]
    NoDatabase(String),
    /// The server does not accept the user or the password.
    #[error(
        "refuses the login: {0}; name the user in the URL and set PGPASSWORD, or permit the user \
         in the server's pg_hba.conf"
    )]
    Login(String),
    /// The user may not do this.
    #[error("refuses the operation: {0}")]
    Refused(Refusal),
    /// The disk of the server is full.
    #[error(
        "has no space left: {0}; free space on the server's disk, or delete runs with `tactus \
         delete RUN`. What was being stored is not stored; `tactus measure --continue RUN` \
         measures it again"
    )]
    Full(String),
    /// The connection broke, or the server was stopped.
    #[error(
        "broke the connection: {0}; what was being stored may be missing, and everything before \
         it is stored. `tactus measure --continue RUN` measures what is missing"
    )]
    Lost(String),
    /// A lock was not granted in time.
    #[error("is locked by another transaction: {0}; wait for it to end, and try again")]
    Busy(String),
    /// The schema `tactus` has tables of another program.
    #[error("has a schema `tactus` of another program; nothing was changed. Use another database")]
    NotAStore,
    /// The tables were written by a later version of Tactus.
    #[error(
        "has version {found}, but this tactus supports versions up to {known}; use the newer \
         tactus that wrote it, or another database"
    )]
    Newer {
        /// Its version.
        found: i64,
        /// The latest supported version.
        known: i64,
    },
    /// The tables were written by an earlier version of Tactus, and may not be migrated by this
    /// user.
    #[error(
        "has version {found}, but this tactus reads version {known}; run `tactus list` as a user \
         that may write it, which migrates it"
    )]
    Older {
        /// Its version.
        found: i64,
        /// The version that is read.
        known: i64,
    },
    /// A stored value cannot be read.
    #[error("is damaged: {0}; restore the run from a backup or an export")]
    Damaged(String),
    /// A text has a character that PostgreSQL cannot store.
    #[error(
        "cannot store a text with the character U+0000: {0:?}; keep this run in a file of SQLite"
    )]
    Nul(String),
    /// Another failure.
    #[error("failed: {0}; nothing was stored. Try again; the server's log has more")]
    Other(String),
}

/// What a user may not do, and what permits it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The words of the server.
    pub reason: String,
    /// Whose the tables are, if they exist and belong to another role.
    pub(super) tables_of: Option<Other>,
}

/// Another role, as SQL writes it, to which the tables belong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Other {
    pub(super) owner: String,
    /// Whether it may do everything, so that nobody should become a member of it.
    pub(super) is_superuser: bool,
    /// The user that was refused.
    pub(super) user: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reason, tables_of } = self;
        let user = tables_of.as_ref().map_or("USER", |other| &other.user);
        match tables_of {
            None => write!(
                f,
                "{reason}; the owner of the database permits writing with `GRANT CREATE ON DATABASE DATABASE TO USER` \
                 before the first run"
            ),
            Some(Other { owner, is_superuser: false, .. }) => write!(
                f,
                "{reason}; the schema tactus belongs to {owner}, who permits writing with `GRANT {owner} TO {user}`"
            ),
            Some(Other { owner, is_superuser: true, .. }) => write!(
                f,
                "{reason}; the schema tactus belongs to the superuser {owner}, who permits writing with `GRANT USAGE ON \
                 SCHEMA tactus TO {user}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tactus TO {user}`"
            ),
        }?;
        write!(
            f,
            ", and reading with `GRANT USAGE ON SCHEMA tactus TO {user}; GRANT SELECT ON ALL TABLES \
             IN SCHEMA tactus TO {user}`"
        )
    }
}

impl From<postgres::Error> for ServerError {
    fn from(error: postgres::Error) -> Self {
        let reason = with_causes(&error);
        let Some(state) = error.code() else {
            return if error.is_closed() || io_error(&error) {
                Self::Lost(reason)
            } else {
                Self::Other(reason)
            };
        };
        match *state {
            SqlState::DISK_FULL => Self::Full(reason),
            SqlState::INSUFFICIENT_PRIVILEGE | SqlState::READ_ONLY_SQL_TRANSACTION => {
                Self::Refused(Refusal { reason, tables_of: None })
            }
            SqlState::LOCK_NOT_AVAILABLE | SqlState::T_R_DEADLOCK_DETECTED => Self::Busy(reason),
            SqlState::ADMIN_SHUTDOWN
            | SqlState::CRASH_SHUTDOWN
            | SqlState::CANNOT_CONNECT_NOW
            | SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT => Self::Lost(reason),
            _ => Self::Other(reason),
        }
    }
}

impl ServerError {
    /// The error of an attempt to connect.
    pub(super) fn of_connecting(error: &postgres::Error) -> Self {
        let reason = with_causes(error);
        match error.code() {
            Some(&SqlState::INVALID_CATALOG_NAME) => Self::NoDatabase(reason),
            Some(&SqlState::INVALID_PASSWORD | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION) => {
                Self::Login(reason)
            }
            // The client misses a password that the server asks for.
            None if reason.contains("password") => Self::Login(reason),
            _ => Self::Unreachable(reason),
        }
    }

    /// The error of an attempt to connect to the socket in `file`, whose reason names it.
    pub(super) fn of_socket(error: &postgres::Error, file: &Path) -> Self {
        match Self::of_connecting(error) {
            Self::Unreachable(_) if io_kind(error).is_some_and(is_without_listener) => {
                let file = file.display();
                Self::Unreachable(format!("no server listens at the socket {file}"))
            }
            other => other,
        }
    }

    /// Whether the connection is unusable.
    pub(super) const fn is_lost(&self) -> bool {
        matches!(self, Self::Lost(_))
    }
}

fn io_error(error: &postgres::Error) -> bool {
    io_kind(error).is_some()
}

fn is_without_listener(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

/// The kind of the system's error that is the cause, if it is one.
fn io_kind(error: &postgres::Error) -> Option<io::ErrorKind> {
    let mut cause: Option<&dyn Error> = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(error.kind());
        }
        cause = error.source();
    }
    None
}

/// The text of an error with its causes; that of the server without the client's words.
pub(super) fn with_causes(error: &postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        return error.message().to_owned();
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_rights_that_help() {
        let words = |tables_of| {
            let reason = "permission denied for schema tactus".to_owned();
            ServerError::Refused(Refusal { reason, tables_of }).to_string()
        };
        assert!(words(None).contains("`GRANT CREATE ON DATABASE DATABASE TO USER`"));
        let of = |is_superuser| {
            let (owner, user) = ("ann".to_owned(), "\"bob-2\"".to_owned());
            words(Some(Other { owner, is_superuser, user }))
        };
        assert!(of(false).contains("`GRANT ann TO \"bob-2\"`"), "{}", of(false));
        assert!(!of(false).contains("GRANT CREATE"), "{}", of(false));
        assert!(of(false).contains("GRANT SELECT ON ALL TABLES IN SCHEMA tactus TO \"bob-2\"`"));
        // A member of a superuser may do everything.
        assert!(!of(true).contains("GRANT ann"), "{}", of(true));
        assert!(of(true).contains("INSERT"), "{}", of(true));
    }
}
