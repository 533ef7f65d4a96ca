//! Programs that run under reserves.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitStatus;

use tactus_model::reserve::{RefusedRung, ReserveUsage};
use tactus_reserve::Refused;
use tactus_reserve::program::{self, Change, Control, Event, NotAdjusted, ProgramError, Wanted};

use crate::{Error, ErrorKind, Result, files};

/// Runs a program under reserves until it ends.
///
/// # Errors
/// The program cannot be started, no rung grants the capacity, or the `page` that is to be written
/// afterwards cannot be.
pub fn run(
    wanted: &Wanted,
    page: Option<&Path>,
    control: Control,
    on_event: impl FnMut(Event),
) -> Result<(ReserveUsage, ExitStatus)> {
    page.map_or(Ok(()), files::check)?;
    program::run(&executable()?, wanted, control, on_event)
        .map_err(|error| of_program(error, wanted))
}

/// Writes a page that plots the use of a program.
///
/// # Errors
/// The file cannot be written.
pub fn write_page(path: &Path, usage: &ReserveUsage) -> Result<()> {
    files::write(path, tactus_report::reserve_page(usage)?)
}

fn executable() -> Result<std::path::PathBuf> {
    std::env::current_exe().map_err(|error| Error::new(ErrorKind::Unavailable, error))
}

/// Changes a capacity of a running program.
///
/// # Errors
/// The process runs under no reserve of this user, or the capacity is refused.
pub fn adjust(process: u32, change: &Change) -> Result<()> {
    program::adjust(process, change).map_err(|error| {
        let kind = match error {
            NotAdjusted::NotReserved(_) => ErrorKind::Usage,
            _ => ErrorKind::Unavailable,
        };
        Error::new(kind, error)
    })
}

/// Runs the process that executes a command when it has its reserve, which the process `parent`
/// grants; returns only if that fails.
///
/// # Errors
/// The parent was killed, or the command does not exist or cannot be executed.
pub fn become_command(parent: u32, command: &[OsString], lock_memory: bool) -> Result<()> {
    let name = command.first().map(|name| name.to_string_lossy().into_owned());
    program::child_main(parent, command, lock_memory).map_err(|error| {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => ErrorKind::NoCommand,
            _ => ErrorKind::CommandRefused,
        };
        Error::new(kind, error).within(kind, format!("cannot run {}", name.unwrap_or_default()))
    })
}

fn of_program(error: ProgramError, wanted: &Wanted) -> Error {
    let capacity = wanted.shares[0].capacity;
    match error {
        ProgramError::Refused(Refused::Rungs { rungs, largest_cost }) => {
            let reasons: Vec<String> = rungs.iter().map(in_words).collect();
            let text = format!("no rung grants {capacity}: {}", reasons.join("; "));
            let hint = largest_cost.map(|cost| {
                format!("the largest cost in {} that fits now is {cost}", capacity.period())
            });
            Error::new(ErrorKind::Unavailable, text).with_hint_if_any(hint)
        }
        error => Error::new(ErrorKind::Unavailable, error),
    }
}

/// A refusal with its fix.
fn in_words(refused: &RefusedRung) -> String {
    let RefusedRung { rung, reason, fix } = refused;
    match fix {
        Some(fix) => format!("{rung}: {reason} (fix: {fix})"),
        None => format!("{rung}: {reason}"),
    }
}
