//! The real files behind the inputs.

use std::path::{Path, PathBuf};

/// A folder of the repository.
fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// The contents of the files in a folder with one of these endings, sorted by name.
pub(crate) fn files(name: &str, ends: &[&str]) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(folder(name)).expect("the folder is in the repository");
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.retain(|path| ends.iter().any(|end| path.to_string_lossy().ends_with(end)));
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

/// The content of a file of the repository.
pub(crate) fn file(name: &str) -> Vec<u8> {
    read(&folder(name))
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
