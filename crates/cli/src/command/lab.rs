//! `tactus lab`: experiments in guest kernels.

mod gate;
mod kernels;

use clap::{Args, Subcommand};
use tactus_app::Places;

use crate::error::CommandResult;

/// List, fetch and build kernels for guests, and compare two kernels.
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
    Gate(Box<gate::LabGateArguments>),
    Kernels(kernels::KernelsArguments),
}

pub(crate) fn run(arguments: LabArguments, places: &Places) -> CommandResult {
    match arguments.command {
        LabCommand::Gate(arguments) => gate::run(&arguments, places),
        LabCommand::Kernels(arguments) => kernels::run(&arguments, places),
    }
}
