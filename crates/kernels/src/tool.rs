//! The system's programs by which kernels and their source are got, and the files they leave.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Has a program of the system do its work in `directory`.
///
/// # Errors
/// It cannot be started; `NotFound` where it is not installed.
pub(crate) fn output(program: &str, arguments: &[&str], directory: &Path) -> io::Result<Output> {
    Command::new(program)
        .args(arguments)
        .current_dir(directory)
        // What it says is looked for in English.
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
}

/// The name of a file in `directory` that begins and ends so.
pub(crate) fn only_file(directory: &Path, prefix: &str, suffix: &str) -> Option<String> {
    fs::read_dir(directory)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .find(|name| name.starts_with(prefix) && name.ends_with(suffix))
}
