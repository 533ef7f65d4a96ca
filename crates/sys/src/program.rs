//! Finding programs, as the shell does.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where programs are if `PATH` does not say.
const USUAL: &str = "/usr/local/bin:/usr/bin:/bin";

/// The list of directories in `PATH`, or the usual one.
#[doc(alias = "PATH")]
pub fn search_path() -> OsString {
    env::var_os("PATH").unwrap_or_else(|| USUAL.into())
}

/// Finds a program by `PATH`; one that is named with a directory is where its name says.
pub fn find(name: impl AsRef<Path>) -> Option<PathBuf> {
    find_along(&search_path(), name)
}

/// Finds a program along a list of directories in the form of `PATH`.
pub fn find_along(search_path: &OsStr, name: impl AsRef<Path>) -> Option<PathBuf> {
    let name = name.as_ref();
    if name.components().count() > 1 {
        return is_program(name).then(|| name.to_owned());
    }
    env::split_paths(search_path).map(|folder| folder.join(name)).find(|file| is_program(file))
}

/// Whether a file can be executed by somebody.
pub fn is_program(file: &Path) -> bool {
    let found = file.metadata();
    found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_first_file_that_can_be_executed_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["a", "b"].map(|name| folder.path().join(name));
        for (place, mode) in [(&first, 0o644), (&second, 0o755)] {
            fs::create_dir(place).unwrap();
            fs::write(place.join("x"), "").unwrap();
            fs::set_permissions(place.join("x"), fs::Permissions::from_mode(mode)).unwrap();
        }
        let path = env::join_paths([&first, &second]).unwrap();
        assert_eq!(find_along(&path, "x"), Some(second.join("x")));
        assert_eq!(find_along(&path, "a"), None, "a directory");
        assert_eq!(find_along(OsStr::new(""), second.join("x")), Some(second.join("x")));
        assert_eq!(find_along(&path, first.join("x")), None, "it cannot be executed");
        assert_eq!(find("sh").map(|file| is_program(&file)), Some(true));
    }
}
