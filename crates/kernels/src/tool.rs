//! Running the system's programs that fetch and unpack packages, and finding their files.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs a program of the system in `directory`.
///
/// # Errors
/// It cannot be started; `NotFound` if it is not installed.
pub(crate) fn output(program: &str, arguments: &[&str], directory: &Path) -> io::Result<Output> {
    Command::new(program)
        .args(arguments)
        .current_dir(directory)
        // Its messages are parsed in English.
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
}

/// The name of a file in `directory` with this prefix and suffix.
pub(crate) fn only_file(directory: &Path, prefix: &str, suffix: &str) -> Option<String> {
    fs::read_dir(directory)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .find(|name| name.starts_with(prefix) && name.ends_with(suffix))
}
