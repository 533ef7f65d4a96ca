//! fork, exec, exit.
//!
//! A copy has one child at a time.

use std::process::Stdio;

use super::{Endless, program};
use crate::error::{During, LoadError};
use crate::site::Site;

/// Counts one operation per process that was forked, executed `true` and was waited for.
pub(super) fn run(site: &'static Site) -> Endless {
    let executable = program::find("true").ok_or_else(|| {
        LoadError::new("the program `true` is not installed").hint("install coreutils")
    })?;
    loop {
        // The command has a death signal, which also makes std fork instead of using a vfork(2).
        let mut command = program::command(&executable);
        let status = command.stdin(Stdio::inherit()).status().during("start a process")?;
        if !status.success() {
            return Err(LoadError::new(format!("`true` ended with {status}")));
        }
        site.did(1, 0);
    }
}
