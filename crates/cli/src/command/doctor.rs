//! `tactus doctor`: whether this machine is fit to be measured.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tactus_app::doctor::findings;
use tactus_judge::doctor::{State, findings_text, worst};
use tactus_model::time::Nanos;
use tactus_report::format;

use crate::error::{CommandError, CommandResult};
use crate::json_lines::write_line;
use crate::terminal::table_options;

/// Check what decides timing on this machine, and say what would fix it.
///
/// Nothing is changed: commands that fix are shown and never run. The exit code
/// is 1 when something here invalidates what is measured.
#[derive(Args)]
pub(crate) struct DoctorArguments {
    /// Write one JSON object a line, a finding each
    #[arg(long)]
    json: bool,
    /// Look for so long how much the hypervisor takes, heat slows and the firmware interrupts
    #[arg(long, value_name = "LENGTH", conflicts_with = "root")]
    look: Option<Nanos>,
    /// Examine the machine whose /proc, /sys and /boot lie below this folder
    #[arg(long, value_name = "FOLDER", default_value = "/", hide = true)]
    root: PathBuf,
}

pub(crate) fn run(arguments: &DoctorArguments) -> CommandResult {
    let length = arguments.look.map(Duration::from);
    let bar = bar(length.unwrap_or_default());
    let findings = findings(&arguments.root, length, |left| show_left(&bar, left));
    bar.finish_and_clear();
    if arguments.json {
        for finding in &findings {
            write_line(finding)?;
        }
    } else {
        let text = findings_text(&findings, table_options().width);
        write!(std::io::stdout(), "{text}")?;
    }
    match worst(&findings) {
        State::Invalidates => Err(CommandError::not_met(
            "this machine is not fit to be measured; the findings say why",
        )),
        _ => Ok(()),
    }
}

/// A bar of so much time, where standard error is a terminal.
fn bar(length: Duration) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:24} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let length = u64::try_from(length.as_millis()).ok();
    ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr()).with_style(style)
}

fn show_left(bar: &ProgressBar, left: Duration) {
    let left_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
    bar.set_position(bar.length().unwrap_or(0).saturating_sub(left_ms));
    bar.set_message(format!("looking for another {}", format::span(left.into())));
}
