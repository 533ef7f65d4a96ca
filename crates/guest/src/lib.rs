//! The program of a guest kernel. As the first process it prepares the system, measures one
//! cell, and ends the guest. As any other process it takes the arguments of `tactus internal`.
//!
//! It is linked statically, so the archive from which it boots contains no other program.
//!
//! The library is shared with chores that boot a guest for another purpose.
#![forbid(unsafe_code)]

pub mod chore;
mod clock;
mod console;
pub mod first;
pub use console::Console;

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

/// Runs this process of the guest: `first` in the first process, and otherwise the part of
/// the measurement that its arguments name.
pub fn run(first: fn() -> Result<(), first::FirstError>) -> ExitCode {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    let rest: Vec<String> =
        arguments.map(|argument| argument.to_string_lossy().into_owned()).collect();
    if Path::new(&name).file_name() == Some(OsStr::new("true")) {
        // The load `process` starts a program that does nothing, and there is no other in a guest.
        return ExitCode::SUCCESS;
    }
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    let done = match rest.as_slice() {
        ["internal", "cell"] => tactus_cell::main().map_err(|error| error.to_string()),
        ["internal", "guardian"] => {
            tactus_settings::guardian_main().map_err(|error| error.to_string())
        }
        ["internal", "task"] => tactus_probe::task_main().map_err(|error| error.to_string()),
        ["internal", "interrupted"] => {
            tactus_probe::interrupted_main().map_err(|error| error.to_string())
        }
        ["internal", "load"] => tactus_load::host_main().map_err(|error| error.to_string()),
        ["internal", "load-worker"] => {
            tactus_load::worker_main().map_err(|error| error.to_string())
        }
        // The kernel passes unknown parameters of its command line to its first process.
        _ if std::process::id() == 1 => first().map_err(|error| error.to_string()),
        _ => Err("this program is the first process of a guest kernel; \
                  `tactus measure --kernel` boots it"
            .to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("tactus-guest: {reason}");
            ExitCode::FAILURE
        }
    }
}
