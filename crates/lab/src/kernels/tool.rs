//! The system's programs by which kernels and their source are got.

use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Has a program of the system do its work in `directory`.
///
/// # Errors
/// It cannot be started; `NotFound` where it is not installed.
pub(super) fn output(program: &str, arguments: &[&str], directory: &Path) -> io::Result<Output> {
    Command::new(program)
        .args(arguments)
        .current_dir(directory)
        // What it says is looked for in English.
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
}
