//! The `tactus` command as a library: its entry point, and its arguments for generating man pages
//! and completions.
#![forbid(unsafe_code)]

mod building;
mod chosen_cell;
mod cluster_options;
mod command;
mod error;
mod groups;
mod guest_options;
mod json_lines;
mod listener;
pub mod manual;
mod percentage;
mod progress;
mod quietness;
mod recorded_command;
mod setting_options;
mod signals;
mod status;
mod style;
mod table_form_options;
mod target_options;
mod terminal;
mod usage;
mod values;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser};
use tactus_app::Places;
use tactus_sys::capability;

use crate::command::Command;
use crate::error::CommandError;

/// Measure, explain and check timing on Linux: wakeup latency, deadline misses, CPU time.
///
/// Start with `tactus doctor`, then `tactus measure`, then `tactus explain`.
#[derive(Parser)]
#[command(name = "tactus", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = manual::exit_codes())]
struct Arguments {
    /// Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never
    #[arg(
        long,
        value_name = "WHEN",
        global = true,
        default_value = "auto",
        hide_possible_values = true
    )]
    color: ColorChoice,
    /// Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]
    #[arg(long, value_name = "STORE", global = true)]
    store: Option<OsString>,
    #[command(subcommand)]
    command: Command,
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    // Before anything else: this process has one thread and has opened nothing yet.
    if let Err(refused) = capability::confine() {
        return CommandError::confinement(refused).report();
    }
    signals::catch_file_size_limit();
    style::choose(ColorChoice::Auto);
    let parsed = arguments().try_get_matches();
    let arguments = match parsed.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(error) => return usage::report(&error),
    };
    style::choose(arguments.color);
    if !arguments.command.may_record()
        && let Err(refused) = capability::give_up_reading()
    {
        return CommandError::confinement(refused).report();
    }
    match arguments.command.run(&Places::of_process().with_store(arguments.store)) {
        Ok(()) => signals::exit_code().map_or(ExitCode::SUCCESS, ExitCode::from),
        Err(error) => error.report(),
    }
}

/// The command with all its arguments, also for generating documents.
pub fn arguments() -> clap::Command {
    let command = values::accept_negative(Arguments::command());
    let template = groups::template(&command);
    command.help_template(template)
}
