//! `tactus doctor`: whether this machine is fit to be measured.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use tactus_judge::doctor::{State, examine, findings_text, worst};

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
    /// Examine the machine whose /proc, /sys and /boot lie below this folder
    #[arg(long, value_name = "FOLDER", default_value = "/", hide = true)]
    root: PathBuf,
}

pub(crate) fn run(arguments: &DoctorArguments) -> CommandResult {
    let findings = examine(&tactus_sys::facts::read(&arguments.root));
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
