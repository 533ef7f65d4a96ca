//! The location of the results database, and of the files beside it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::StoreError;
use crate::postgresql::Server;

/// The location of a store: a file, or a database on a server.
#[derive(Clone, Debug)]
pub enum Location {
    /// A file of SQLite.
    File(PathBuf),
    /// A database of PostgreSQL.
    Server(Box<Server>),
}

impl Location {
    /// Reads the location that a person names: a path, or a URL such as
    /// `postgresql://ann@lab.example/results`.
    ///
    /// `password` is used if the URL has none.
    ///
    /// # Errors
    /// [`StoreError::BadUrl`].
    pub fn named(text: &OsStr, password: Option<&str>) -> Result<Self, StoreError> {
        match text.to_str() {
            Some(url) if Server::is_url(url) => {
                Ok(Self::Server(Box::new(Server::of_url(url, password)?)))
            }
            Some(url) if is_url(url) => Err(StoreError::BadUrl {
                url: url.to_owned(),
                reason: "only files and PostgreSQL are supported".to_owned(),
            }),
            _ => Ok(Self::File(PathBuf::from(text))),
        }
    }

    /// The file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Server(_) => None,
        }
    }
}

/// Writes the path, or the URL without a password.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Server(server) => server.fmt(f),
        }
    }
}

/// Whether a text begins as a URL does: a scheme and `://`.
fn is_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// Determines the name of the store, for [`Location::named`], from the environment that `lookup`
/// returns.
///
/// `TACTUS_STORE` is the name itself. Otherwise it is the file `tactus/runs.sqlite` under
/// `XDG_DATA_HOME`, or under `~/.local/share` if that is not set. As the XDG Base Directory
/// Specification requires, an empty value counts as unset, and so does a relative
/// `XDG_DATA_HOME`.
///
/// # Errors
/// [`StoreError::NoPlace`] when none of the three is set.
pub fn default_path(lookup: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, StoreError> {
    let path = |name: &str| lookup(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(file) = path("TACTUS_STORE") {
        return Ok(file);
    }
    let data = path("XDG_DATA_HOME")
        .filter(|data| data.is_absolute())
        .or_else(|| {
            let home = path("HOME").filter(|home| home.is_absolute())?;
            Some(home.join(".local/share"))
        })
        .ok_or(StoreError::NoPlace)?;
    Ok(data.join("tactus/runs.sqlite"))
}

/// The file beside the database whose name has this suffix, by the rule of SQLite.
pub(crate) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(environment: &[(&str, &str)], expected: Option<&str>) {
        let found = default_path(|name| {
            environment.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())
        });
        assert_eq!(found.ok(), expected.map(PathBuf::from), "{environment:?}");
    }

    #[test]
    fn a_url_is_a_server_and_everything_else_a_file() {
        let named = |text: &str| Location::named(OsStr::new(text), None);
        for file in ["runs.sqlite", "/a/b", "a:b", "postgresql", "./postgresql://x", "://x"] {
            assert_eq!(named(file).unwrap().file(), Some(Path::new(file)));
        }
        let server = named("postgresql://ann:secret@lab.example:5433/results").unwrap();
        assert_eq!(server.to_string(), "postgresql://ann@lab.example:5433/results");
        assert!(!format!("{server:?}").contains("secret"), "{server:?}");
        for (url, reason) in [
            ("mysql://lab.example/results", "only files and PostgreSQL are supported"),
            ("postgresql://lab.example:none/results", "port"),
            ("postgresql://lab.example/results?colour=red", "colour"),
            ("postgresql://lab.example/results?sslmode=require", "without TLS"),
        ] {
            let error = named(url).unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains(url), "{error}");
        }
        let error = named("postgresql://ann:secret@lab.example:x/results").unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    #[test]
    fn the_environment_determines_the_location() {
        let home = ("HOME", "/home/ann");
        check(&[home], Some("/home/ann/.local/share/tactus/runs.sqlite"));
        check(&[home, ("XDG_DATA_HOME", "/data")], Some("/data/tactus/runs.sqlite"));
        check(
            &[home, ("XDG_DATA_HOME", "data")],
            Some("/home/ann/.local/share/tactus/runs.sqlite"),
        );
        check(&[home, ("XDG_DATA_HOME", "")], Some("/home/ann/.local/share/tactus/runs.sqlite"));
        check(
            &[home, ("XDG_DATA_HOME", "/data"), ("TACTUS_STORE", "here.sqlite")],
            Some("here.sqlite"),
        );
        check(&[("HOME", "")], None);
        check(&[], None);
    }
}
