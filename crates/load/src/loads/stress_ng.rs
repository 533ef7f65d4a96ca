//! stress-ng with any options, if it is installed.
//!
//! Its options bound its use of the machine. Its temporary files lie in the load's directory.

use super::{Endless, program};
use crate::error::LoadError;
use crate::site::Site;

/// Counts nothing; ends when stress-ng ends.
pub(super) fn run(options: &str, site: &'static Site) -> Endless {
    let executable = program::find("stress-ng").ok_or_else(|| {
        LoadError::new("the load needs the program stress-ng, which is not installed")
            .hint("install the package stress-ng: sudo apt install stress-ng")
    })?;
    let mut command = program::command(&executable);
    // Of two equal options, stress-ng uses the last, so the user's options come last.
    command.arg("--temp-path").arg(site.directory()).args(options.split_whitespace());
    program::run_once(command, "stress-ng", site)
}
