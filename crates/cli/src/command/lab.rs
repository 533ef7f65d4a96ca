//! `tactus lab`: experiments in guest kernels.

mod bisect;
mod gate;
mod kernel_comparison_options;
mod kernels;
mod setup;

use clap::{Args, Subcommand};
use tactus_app::Places;

use crate::error::CommandResult;

/// Prepare guests, list and build kernels, compare two kernels, and bisect.
///
/// `tactus measure --kernel` measures in guest kernels. QEMU boots the guests; their figures include the
/// cost of emulation or of the hypervisor. docs/lab.md describes what they can and cannot show.
///
/// Example: tactus lab kernels debian-rt
#[derive(Args)]
pub(crate) struct LabArguments {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Subcommand)]
enum LabCommand {
    Bisect(Box<bisect::LabBisectArguments>),
    Gate(Box<gate::LabGateArguments>),
    Kernels(kernels::KernelsArguments),
    Setup(setup::SetupArguments),
}

pub(crate) fn run(arguments: LabArguments, places: &Places) -> CommandResult {
    match arguments.command {
        LabCommand::Bisect(arguments) => bisect::run(&arguments, places),
        LabCommand::Gate(arguments) => gate::run(&arguments, places),
        LabCommand::Kernels(arguments) => kernels::run(&arguments, places),
        LabCommand::Setup(arguments) => setup::run(&arguments, places),
    }
}
