//! Rules of the repository that no compiler checks: the words of texts, the order of crates,
//! and the place of `unsafe`. The tests only read files.
#![forbid(unsafe_code)]

mod arrows;
mod source;
mod unsafe_code;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The content of a file, by its path from the root.
fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The names of the folders of crates, sorted.
fn crates() -> Vec<String> {
    let mut names: Vec<String> = entries("crates");
    names.retain(|name| root().join("crates").join(name).join("Cargo.toml").exists());
    names
}

/// The names in a folder, sorted.
fn entries(folder: &str) -> Vec<String> {
    let entries =
        fs::read_dir(root().join(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = entries.map(|entry| name(entry.unwrap())).collect();
    names.sort();
    names
}

/// The paths from the root of all files below a folder with one of these endings, sorted.
fn files(folder: &str, endings: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for name in entries(folder) {
        let path = format!("{folder}/{name}");
        if root().join(&path).is_dir() {
            found.extend(files(&path, endings));
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            found.push(path);
        }
    }
    found
}
