//! The program of a guest kernel: as its first process it prepares the system, has one
//! cell measured, and ends the guest; as any other it is what measuring starts, by the
//! same arguments as `tactus internal`.
//!
//! It is built static, so that the archive it is booted from holds nothing else.
//!
//! The library is what this program and the chores have in common that boot a guest for
//! something else.
#![forbid(unsafe_code)]

mod clock;
pub mod first;
mod wire;

pub use wire::Wire;

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

/// Runs this process of the guest: `first` where it is the first one, and otherwise the part
/// of measuring that its arguments name.
pub fn run(first: fn() -> Result<(), first::FirstError>) -> ExitCode {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    let rest: Vec<String> =
        arguments.map(|argument| argument.to_string_lossy().into_owned()).collect();
    if Path::new(&name).file_name() == Some(OsStr::new("true")) {
        // The load `process` starts a program that does nothing, and there is no other here.
        return ExitCode::SUCCESS;
    }
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    let done = match rest.as_slice() {
        ["internal", "cell"] => tactus_cell::main().map_err(|error| error.to_string()),
        ["internal", "guardian"] => {
            tactus_rt::settings::guardian_main().map_err(|error| error.to_string())
        }
        ["internal", "task"] => tactus_probe::task_main().map_err(|error| error.to_string()),
        ["internal", "load"] => tactus_load::host_main().map_err(|error| error.to_string()),
        ["internal", "load-worker"] => {
            tactus_load::worker_main().map_err(|error| error.to_string())
        }
        // The kernel gives its first process what it did not understand of its own line.
        _ if std::process::id() == 1 => first().map_err(|error| error.to_string()),
        _ => Err("this program is the first process of a guest kernel; \
                  `tactus lab measure` boots it"
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
