//! The `tactus` command as a library: its arguments, from which manual pages and
//! completions are generated, and its entry point.
#![forbid(unsafe_code)]

mod building;
mod command;
mod error;
mod guest_options;
mod json_lines;
mod listener;
mod percentage;
mod progress;
mod setting_options;
mod signals;
mod terminal;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use tactus_app::Places;

use crate::command::Command;

/// Measures how late things happen on Linux and shows it.
#[derive(Parser)]
#[command(name = "tactus", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "\
Exit codes: 0 done; 1 measured, but a demand was not met; 2 wrong usage;
3 not permitted or not available here; 4 a defect of Tactus; 130 interrupted.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.command.run(&Places::of_process()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}

/// The command with all its arguments, for generating documents from it.
pub fn arguments() -> clap::Command {
    Arguments::command()
}
