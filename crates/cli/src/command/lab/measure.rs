//! `tactus lab measure`: an experiment in guest kernels.

use clap::Args;
use tactus_app::Places;

use crate::command::measure::{self, MeasureArguments};
use crate::error::CommandResult;
use crate::guest_options::GuestOptions;

/// Measure an experiment's cells in guest kernels, and keep and show it as `measure` does.
///
/// Without an experiment this is `lab`, over which the settings are laid: `--kernel debian-rt
/// --kernel debian:preempt=none --load process:2`. Guests are booted by QEMU.
///
/// In wall time a guest runs as the host lets it. With --exact its time is its instructions:
/// nothing of the host enters, each cell is measured in two machines that booted by themselves,
/// and a result is only kept when both said the same to the byte. Caches, several CPUs
/// and the time that devices take are not in it.
#[derive(Args)]
pub(crate) struct LabMeasureArguments {
    #[command(flatten)]
    measure: MeasureArguments,
    #[command(flatten)]
    guests: GuestOptions,
}

pub(super) fn run(mut arguments: LabMeasureArguments, places: &Places) -> CommandResult {
    arguments.measure.default_experiment("lab");
    measure::run_with(&arguments.measure, &arguments.guests.wishes()?, places)
}
