//! `tactus lab`: the same experiments inside guest kernels.

mod kernels;
mod measure;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tactus_lab::guest::GuestError;
use tactus_lab::kernels::{KernelError, Kernels};

use crate::error::{CommandError, CommandResult, ErrorKind};

/// Measure in guest kernels: other builds, preemption models and versions, and exact virtual time.
#[derive(Args)]
pub(crate) struct LabArguments {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Subcommand)]
enum LabCommand {
    Measure(measure::LabMeasureArguments),
    Kernels(kernels::KernelsArguments),
}

pub(crate) fn run(arguments: LabArguments) -> CommandResult {
    match arguments.command {
        LabCommand::Measure(arguments) => measure::run(arguments),
        LabCommand::Kernels(arguments) => kernels::run(&arguments),
    }
}

/// The kernels of this system, with the cache under `XDG_CACHE_HOME` or `~/.cache`.
pub(super) fn kernels() -> CommandResult<Kernels> {
    let directory = |name: &str| {
        let value = std::env::var_os(name).map(PathBuf::from);
        value.filter(|path| path.is_absolute())
    };
    let cache = directory("XDG_CACHE_HOME")
        .or_else(|| directory("HOME").map(|home| home.join(".cache")))
        .ok_or_else(|| {
            CommandError::new(
                ErrorKind::Unavailable,
                anyhow::anyhow!("there is no place for fetched kernels: HOME is not set"),
            )
        })?;
    Ok(Kernels::new("/boot", cache.join("tactus/kernels")))
}

impl From<GuestError> for CommandError {
    fn from(error: GuestError) -> Self {
        let hint = error.hint();
        let error = Self::new(ErrorKind::Unavailable, error);
        hint.into_iter().fold(error, Self::with_hint)
    }
}

impl From<KernelError> for CommandError {
    fn from(error: KernelError) -> Self {
        GuestError::from(error).into()
    }
}
