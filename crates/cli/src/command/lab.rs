//! `tactus lab`: the same experiments inside guest kernels.

mod building;
mod gate;
mod kernels;
mod measure;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tactus_guests::GuestError;
use tactus_kernels::{KernelError, Kernels};
use tactus_model::guest::{GuestTime, Speed};
use tactus_model::time::Nanos;

use super::measure::GuestWishes;
use crate::error::{CommandError, CommandResult, ErrorKind};
use building::Building;

/// Measure in guest kernels: other builds, preemption models and versions, and exact virtual time.
#[derive(Args)]
pub(crate) struct LabArguments {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Subcommand)]
enum LabCommand {
    Measure(measure::LabMeasureArguments),
    Gate(gate::LabGateArguments),
    Kernels(kernels::KernelsArguments),
}

/// How time passes in guests, and how long they may take.
#[derive(Args)]
pub(crate) struct GuestOptions {
    /// Let time be instructions, so that every run repeats to the byte
    #[arg(long)]
    exact: bool,
    /// The speed of a machine in exact time, in million instructions a second: 1000, 500, 250, 125
    #[arg(long, value_name = "N", requires = "exact", default_value = "1000")]
    mips: u32,
    /// In exact time: how many machines, each booted by itself, must say the same; 2 to 100
    #[arg(long, value_name = "N", requires = "exact", default_value = "2",
          value_parser = clap::value_parser!(u8).range(2..=100))]
    proofs: u8,
    /// How long a guest may take on this host; by the length of its cell unless told otherwise
    #[arg(long, value_name = "TIME")]
    guest_limit: Option<Nanos>,
}

impl GuestOptions {
    /// What is wished of guests.
    pub(super) fn wishes(&self) -> CommandResult<GuestWishes> {
        let speed = Speed::from_mips(self.mips)
            .map_err(|error| CommandError::usage(format!("--mips: {error}")))?;
        let time = self.exact.then_some(GuestTime::Exact(speed));
        let proofs = Some(usize::from(self.proofs));
        Ok(GuestWishes { time, limit: self.guest_limit, proofs })
    }

    /// Whether none of the options was given.
    pub(super) const fn are_absent(&self) -> bool {
        !self.exact && self.guest_limit.is_none()
    }
}

pub(crate) fn run(arguments: LabArguments) -> CommandResult {
    match arguments.command {
        LabCommand::Measure(arguments) => measure::run(arguments),
        LabCommand::Gate(arguments) => gate::run(&arguments),
        LabCommand::Kernels(arguments) => kernels::run(&arguments),
    }
}

/// The kernels of this system. Who waits while one is built is shown how far that is.
pub(super) fn kernels() -> CommandResult<Kernels> {
    kernels_telling(Building::new(false))
}

fn kernels_telling(building: Building) -> CommandResult<Kernels> {
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    let kernels = Kernels::new("/boot", kernel_cache()?).building_with(search_path);
    Ok(kernels.telling(move |event| building.hear(event)))
}

/// Where kernels are kept: under `XDG_CACHE_HOME` or `~/.cache`.
fn kernel_cache() -> CommandResult<PathBuf> {
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
    Ok(cache.join("tactus/kernels"))
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
