//! Any command, by the shell.
//!
//! It runs once, in the directory of the measurement, with its standard input and output
//! closed; a command that shall go on for good must repeat itself. What it takes of the
//! machine is its own matter and is not bounded.

use super::{Endless, program};
use crate::error::LoadError;
use crate::site::Site;

/// Counts nothing; ends when the command ends, though what that left in the background
/// works on until the load is stopped.
pub(super) fn run(command: &str, site: &'static Site) -> Endless {
    let shell = program::find("sh").ok_or_else(|| {
        LoadError::new("there is no shell (`sh`) in PATH").hint("add /bin to PATH")
    })?;
    let mut shell = program::command(&shell);
    shell.arg("-c").arg(command);
    program::run_once(shell, &format!("the command `{command}`"), site)
}
