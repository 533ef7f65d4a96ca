//! `tactus lab measure`: an experiment in guest kernels.

use clap::Args;
use tactus_app::Places;

use crate::command::measure::{self, MeasureArguments};
use crate::error::CommandResult;
use crate::guest_options::GuestOptions;

/// Measure an experiment in guest kernels, store the run, and print the results.
///
/// Without an experiment, it measures `lab`; settings replace those of the experiment. QEMU boots
/// the guests.
///
/// By default, guests run in wall time, and their figures depend on the host. With --exact, they run
/// in deterministic (instruction-counted) time: the host has no effect, two separately booted machines
/// measure each cell, and a result is kept only if both sent the same bytes. Deterministic time does not
/// show caches, several CPUs, or the speed of devices.
///
/// Example: tactus lab measure --kernel debian-rt --kernel debian:preempt=none --load process:2
#[derive(Args)]
#[command(mut_arg("experiment", |arg| arg.help("Experiment file, or the name of a shipped experiment [default: lab]")))]
pub(crate) struct LabMeasureArguments {
    #[command(flatten)]
    measure: MeasureArguments,
    #[command(flatten)]
    guests: GuestOptions,
}

pub(super) fn run(mut arguments: LabMeasureArguments, places: &Places) -> CommandResult {
    arguments.measure.default_experiment("lab");
    measure::run_with(&arguments.measure, &arguments.guests.settings()?, places)
}
