//! `tactus admit`: whether tasks on paper meet their deadlines.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use tactus_admission::fit::{Question, Room};
use tactus_admission::{Admission, Plan};
use tactus_app::{admit, files};
use tactus_report::{admission_page, admission_text};

use crate::error::{CommandError, CommandResult, for_any_reader};
use crate::json_lines::write_line;
use crate::terminal::{stdout, table_options};

/// Check on paper whether periodic tasks meet their deadlines, and what would fit.
///
/// Use it before a program exists, or to find out why SCHED_DEADLINE refuses one. FILE lists tasks
/// with cost, period, deadline, jitter and blocking, the policy (fifo or deadline), and the CPUs
/// (docs/admit.md). The output has the verdict of each test with its reason, the change that would
/// make a refused plan fit, and the schedule in the worst window. Costs are the longest CPU times
/// of a job; the answer is as good as they are.
///
/// The exit code is 1 if the plan is not admitted. The command needs no permission and changes
/// nothing.
///
/// Example: tactus admit plan.toml --cost-for 10ms --page plan.html
#[derive(Args)]
pub(crate) struct AdmitArguments {
    /// Plan in TOML (docs/admit.md)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Also print the largest cost of a new task with this period and deadline, e.g. 10ms or 10ms:5ms; may be repeated
    #[arg(long, value_name = "PERIOD[:DEADLINE]", value_parser = Question::cost_for)]
    cost_for: Vec<Question>,
    /// Also print the shortest period of a new task with this cost, e.g. 2ms; may be repeated
    #[arg(long, value_name = "COST", value_parser = Question::period_for)]
    period_for: Vec<Question>,
    /// Also write a self-contained HTML page with the schedule in the worst window
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Print one JSON object; durations are in nanoseconds
    #[arg(long)]
    json: bool,
}

/// The answer, for `--json`.
#[derive(Serialize)]
struct Answer<'a> {
    plan: &'a Plan,
    #[serde(flatten)]
    admission: &'a Admission,
    room: &'a [Room],
}

pub(crate) fn run(arguments: &AdmitArguments) -> CommandResult {
    let plan = admit::plan(&arguments.file)?;
    let admission = Admission::of(&plan);
    let questions = arguments.cost_for.iter().chain(&arguments.period_for);
    let room: Vec<Room> = questions.map(|question| question.answer(&plan)).collect();
    if let Some(path) = &arguments.page {
        files::write(path, admission_page(&plan, &admission, &room)?)?;
    }
    for_any_reader(if arguments.json {
        write_line(&Answer { plan: &plan, admission: &admission, room: &room })
    } else {
        write!(stdout(), "{}", admission_text(&plan, &admission, &room, &table_options()))
    })?;
    match admission.admitted {
        true => Ok(()),
        false => Err(CommandError::not_met("the plan is not admitted")),
    }
}
