//! `tactus lab`: experiments in guest kernels.

mod gate;
mod kernels;
mod measure;

use clap::{Args, Subcommand};
use tactus_app::Places;

use crate::error::CommandResult;

/// Measure in guest kernels: other builds, preemption models and versions, or deterministic time.
///
/// QEMU boots the guests; their figures include the cost of emulation or of the hypervisor. docs/lab.md
/// describes what they can and cannot show.
///
/// Example: tactus lab measure --kernel debian-rt --kernel debian:preempt=none
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

pub(crate) fn run(arguments: LabArguments, places: &Places) -> CommandResult {
    match arguments.command {
        LabCommand::Measure(arguments) => measure::run(arguments, places),
        LabCommand::Gate(arguments) => gate::run(&arguments, places),
        LabCommand::Kernels(arguments) => kernels::run(&arguments, places),
    }
}
