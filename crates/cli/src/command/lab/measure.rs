//! `tactus lab measure`: an experiment in guest kernels.

use clap::Args;
use tactus_model::guest::{GuestTime, Speed};
use tactus_model::time::Nanos;

use crate::command::measure::{self, GuestWishes, MeasureArguments};
use crate::error::{CommandError, CommandResult};

/// Measure an experiment's cells in guest kernels, and keep and show it as `measure` does.
///
/// Without an experiment this is `lab`, over which the settings are laid: `--kernel debian-rt
/// --kernel debian:preempt=none --load process:2`. A guest is booted for each cell, by QEMU.
///
/// In wall time a guest runs as the host lets it. With --exact its time is its instructions:
/// nothing of the host enters, each cell is booted twice, and a result is only kept when both
/// said the same to the byte. Caches, several processors and the time that devices take are
/// not in it.
#[derive(Args)]
pub(crate) struct LabMeasureArguments {
    #[command(flatten)]
    measure: MeasureArguments,
    /// Let time be instructions, so that every run repeats to the byte
    #[arg(long)]
    exact: bool,
    /// The speed of a machine in exact time, in million instructions a second: 1000, 500, 250, 125
    #[arg(long, value_name = "N", requires = "exact", default_value = "1000")]
    mips: u32,
    /// How long a guest may take on this host; by the length of its cell unless told otherwise
    #[arg(long, value_name = "TIME")]
    guest_limit: Option<Nanos>,
}

pub(super) fn run(mut arguments: LabMeasureArguments) -> CommandResult {
    arguments.measure.default_experiment("lab");
    let speed = Speed::from_mips(arguments.mips)
        .map_err(|error| CommandError::usage(format!("--mips: {error}")))?;
    let wishes = GuestWishes {
        time: arguments.exact.then_some(GuestTime::Exact(speed)),
        limit: arguments.guest_limit,
    };
    measure::run_with(&arguments.measure, &wishes)
}
