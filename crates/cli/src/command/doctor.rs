//! `tactus doctor`: whether this machine is fit to be measured.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tactus_judge::doctor::{State, examine, examine_between, findings_text, worst};
use tactus_model::time::Nanos;
use tactus_report::format;

use super::table_options;
use crate::error::{CommandError, CommandResult};
use crate::json_lines::write_line;

/// Check what decides timing on this machine, and say what would mend it.
///
/// Nothing is changed: commands that mend are shown and never run. The exit code
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
    let facts = tactus_sys::facts::read(&arguments.root);
    let findings = match arguments.look {
        None => examine(&facts),
        Some(length) => {
            wait(length);
            examine_between(&facts, &tactus_sys::facts::read(&arguments.root))
        }
    };
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

/// Lets time pass, and shows how much is left where standard error is a terminal.
fn wait(length: Nanos) {
    let length = Duration::from(length);
    let style = ProgressStyle::with_template("{bar:24} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::with_draw_target(
        u64::try_from(length.as_millis()).ok(),
        ProgressDrawTarget::stderr(),
    )
    .with_style(style);
    let began = Instant::now();
    while let Some(left) = length.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) {
        bar.set_position(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
        bar.set_message(format!("looking for another {}", format::span(left.into())));
        // What is watched is the machine, so we stir rarely.
        std::thread::sleep(left.min(Duration::from_secs(1)));
    }
    bar.finish_and_clear();
}
