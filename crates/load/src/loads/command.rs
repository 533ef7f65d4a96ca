//! Any command, run by the shell.
//!
//! It runs once, in the directory of the measurement, with its standard input and output
//! closed; a command that is to go on must repeat itself. Its use of the machine is not
//! bounded.

use super::{Endless, program};
use crate::error::LoadError;
use crate::site::Site;

/// Counts nothing; ends when the command ends. Processes that the command left in the
/// background go on until the load is stopped.
pub(super) fn run(command: &str, site: &'static Site) -> Endless {
    let shell = program::find("sh").ok_or_else(|| {
        LoadError::new("the shell (`sh`) is not in PATH").hint("add /bin to PATH")
    })?;
    let mut shell = program::command(&shell);
    shell.arg("-c").arg(command);
    program::run_once(shell, &format!("the command `{command}`"), site)
}
