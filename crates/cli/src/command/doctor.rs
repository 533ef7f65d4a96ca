//! `tactus doctor`: whether this machine is fit for measuring.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use tactus_app::doctor::findings;
use tactus_judge::doctor::{State, worst};
use tactus_model::time::Nanos;
use tactus_report::{findings_text, format};

use crate::error::{CommandError, CommandResult, for_any_reader};
use crate::json_lines::write_line;
use crate::quietness::Quietness;
use crate::terminal::{stdout, table_options};
use crate::values::positive;

/// Check what affects timing on this machine, and print the commands that fix it.
///
/// Run it before measuring: it checks CPU frequency, idle states, clock source, scheduling, memory,
/// interrupts, permissions and the hypervisor. It changes nothing: fixes are printed, never run.
/// The exit code is 1 if a finding invalidates measurements.
///
/// Example: tactus doctor --look 10s
#[derive(Args)]
pub(crate) struct DoctorArguments {
    /// Print findings as JSON, one object a line
    #[arg(long)]
    json: bool,
    /// Also watch the machine for this duration, e.g. 10s, and report steal time, thermal throttling and firmware
    /// interrupts (SMIs) [default: do not watch]
    #[arg(long, value_name = "DURATION", conflicts_with = "root", value_parser = positive)]
    look: Option<Nanos>,
    /// Examine the machine whose /proc, /sys and /boot are below this directory
    #[arg(long, value_name = "DIRECTORY", default_value = "/", hide = true)]
    root: PathBuf,
    #[command(flatten)]
    quietness: Quietness,
}

pub(crate) fn run(arguments: &DoctorArguments) -> CommandResult {
    let duration = arguments.look.map(Duration::from);
    let bar = bar(duration.unwrap_or_default(), arguments.quietness);
    let findings = findings(&arguments.root, duration, |left| show_left(&bar, left));
    bar.finish_and_clear();
    for_any_reader(if arguments.json {
        findings.iter().try_for_each(write_line)
    } else {
        write!(stdout(), "{}", findings_text(&findings, table_options().width))
    })?;
    match worst(&findings) {
        State::Invalidates => Err(CommandError::not_met(
            "this machine is not fit for measuring; see the findings that invalidate",
        )),
        _ => Ok(()),
    }
}

/// A bar for this duration, if standard error is a terminal.
fn bar(duration: Duration, quietness: Quietness) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:24} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let length = u64::try_from(duration.as_millis()).ok();
    ProgressBar::with_draw_target(length, quietness.target()).with_style(style)
}

fn show_left(bar: &ProgressBar, left: Duration) {
    let left_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
    bar.set_position(bar.length().unwrap_or(0).saturating_sub(left_ms));
    bar.set_message(format!("watching, {} left", format::span(left.into())));
}
