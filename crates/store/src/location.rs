//! The location of the results database, and of the files beside it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::StoreError;

/// Determines the file of the store from the environment that `lookup` returns.
///
/// `TACTUS_STORE` is the file itself. Otherwise the file is `tactus/runs.sqlite` under
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
