//! stress-ng with any options, where it is installed.
//!
//! What it takes of the machine is bounded by its options; its temporary files lie in
//! the load's directory.

use super::{Endless, program};
use crate::error::LoadError;
use crate::site::Site;

/// Counts nothing; ends when stress-ng ends.
pub(super) fn run(options: &str, site: &'static Site) -> Endless {
    let executable = program::find("stress-ng").ok_or_else(|| {
        LoadError::new("the load stress-ng needs the program stress-ng, which is not installed")
            .hint("install the package stress-ng: sudo apt install stress-ng")
    })?;
    let mut command = program::command(&executable);
    // The last of two equal options counts, so the user's own go first to no purpose
    // and last to good.
    command.arg("--temp-path").arg(site.directory()).args(options.split_whitespace());
    program::run_once(command, "stress-ng", site)
}
