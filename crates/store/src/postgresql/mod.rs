//! The store in a database of PostgreSQL, which many machines share.
//!
//! Its tables are in the schema `tactus`, so the database may contain other things.

mod connection;
mod error;
mod tables;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use postgres::Config;
use postgres::config::{Host, SslMode};

pub use error::{Refusal, ServerError};

use crate::StoreError;
use connection::Postgresql;

/// How long to wait for a server that does not answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where Debian's server listens.
const SOCKET_DIRECTORY: &str = "/var/run/postgresql";

/// A database on a server, and who connects to it.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its `Debug` leaves the password out.
    config: Config,
}

impl Server {
    /// Whether a text begins as a URL of PostgreSQL does.
    pub(crate) fn is_url(text: &str) -> bool {
        ["postgresql://", "postgres://"].iter().any(|scheme| text.starts_with(scheme))
    }

    /// Reads a connection URL of PostgreSQL; see section 34.1.1.2 of its manual.
    ///
    /// # Errors
    /// [`StoreError::BadUrl`].
    pub(crate) fn of_url(url: &str, password: Option<&str>) -> Result<Self, StoreError> {
        let bad = |reason: String| StoreError::BadUrl { url: without_password(url), reason };
        let mut config: Config = url.parse().map_err(|error| bad(error::with_causes(&error)))?;
        if !matches!(config.get_ssl_mode(), SslMode::Disable | SslMode::Prefer) {
            let reason = "this tactus connects without TLS, so use a socket of this machine or a \
                tunnel such as `ssh -L`";
            return Err(bad(reason.to_owned()));
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            config.host_path(SOCKET_DIRECTORY);
        }
        if let (None, Some(password)) = (config.get_password(), password) {
            config.password(password);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(PATIENCE);
        }
        config.ssl_mode(SslMode::Disable).application_name("tactus");
        Ok(Self { config })
    }

    /// Connects for writing, and creates the tables if there are none.
    pub(crate) fn open(&self) -> Result<Postgresql, StoreError> {
        let mut opened = Postgresql::connect(self)?;
        opened.prepare(tables::MIGRATIONS)?;
        Ok(opened)
    }

    /// Connects for reading; `None` if there are no tables yet. Tables of an earlier version are
    /// migrated if that is permitted.
    pub(crate) fn open_to_read(&self) -> Result<Option<Postgresql>, StoreError> {
        let mut opened = Postgresql::connect(self)?;
        if opened.prepare_to_read(tables::MIGRATIONS)? { Ok(Some(opened)) } else { Ok(None) }
    }

    /// The file of the socket, if the server is reached by one.
    fn socket(&self) -> Option<PathBuf> {
        let Some(Host::Unix(directory)) = self.config.get_hosts().first() else { return None };
        let port = self.config.get_ports().first().copied().unwrap_or(5432);
        Some(directory.join(format!(".s.PGSQL.{port}")))
    }

    /// An error of an attempt to connect to this server.
    fn not_connected(&self, error: &postgres::Error) -> ServerError {
        match self.socket() {
            Some(file) => ServerError::of_socket(error, &file),
            None => ServerError::of_connecting(error),
        }
    }

    /// An error of this server.
    fn failed(&self, error: ServerError) -> StoreError {
        StoreError::Server { server: self.to_string(), error }
    }
}

/// Writes the URL without a password.
impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = &self.config;
        f.write_str("postgresql://")?;
        if let Some(user) = config.get_user() {
            write!(f, "{user}@")?;
        }
        let mut socket = None;
        match config.get_hosts().first() {
            Some(Host::Tcp(host)) => f.write_str(host)?,
            Some(Host::Unix(directory)) => socket = Some(directory.display()),
            None => config.get_hostaddrs().first().map_or(Ok(()), |address| address.fmt(f))?,
        }
        match config.get_ports().first() {
            Some(port) if socket.is_none() && *port != 5432 => write!(f, ":{port}")?,
            _ => {}
        }
        write!(f, "/{}", config.get_dbname().unwrap_or_default())?;
        socket.map_or(Ok(()), |directory| write!(f, "?host={directory}"))
    }
}

/// A URL with `…` in place of a password.
fn without_password(url: &str) -> String {
    let parts = url.split_once("://").and_then(|(scheme, rest)| {
        let (login, place) = rest.split_once('@')?;
        let (user, _) = login.split_once(':')?;
        Some(format!("{scheme}://{user}:…@{place}"))
    });
    let url = parts.unwrap_or_else(|| url.to_owned());
    match url.split_once("password=") {
        Some((start, _)) => format!("{start}password=…"),
        None => url,
    }
}

/// A command line in which URLs of PostgreSQL have no password.
pub fn without_passwords(line: &str) -> String {
    let words = line.split(' ').map(|word| match word.find("postgres") {
        Some(start) if word[start..].contains("://") => {
            format!("{}{}", &word[..start], without_password(&word[start..]))
        }
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_left_out() {
        for (line, expected) in [
            ("tactus list", "tactus list"),
            (
                "tactus measure --store=postgresql://ann:s@lab/db?x=1 quick",
                "tactus measure --store=postgresql://ann:…@lab/db?x=1 quick",
            ),
            ("'postgres:///db?password=s'", "'postgres:///db?password=…"),
            ("postgresql://ann@lab/db", "postgresql://ann@lab/db"),
        ] {
            assert_eq!(without_passwords(line), expected);
        }
    }
}
