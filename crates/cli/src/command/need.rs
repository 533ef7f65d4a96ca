//! `tactus need`: how much CPU time the periodic threads of a program need, and whether a reserve
//! of that size helps.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use tactus_app::need::{self, Answer, Question, ReserveCommand, TrialAnswer, TrialNews, TrialPlan};
use tactus_app::plan::new_seed;
use tactus_app::record::Wanted;
use tactus_app::{Error, catalogue, files};
use tactus_explain::jobs::Aperiodic;
use tactus_judge::need::{Arm, Asked, ThreadNeed};
use tactus_model::load::Load;
use tactus_model::recording::CallChains;
use tactus_model::time::Nanos;
use tactus_record::RecordingSummary;
use tactus_record::live::{Control, Source};
use tactus_report::{format, need_text, trial_text};

use crate::error::{CommandError, CommandResult, for_any_reader};
use crate::json_lines::write_line;
use crate::percentage;
use crate::quietness::Quietness;
use crate::recorded_command::{RecordedCommand, interruptible, print_summary};
use crate::target_options::TargetOptions;
use crate::terminal::{say, stdout, table_options};
use crate::values::{positive, seed, whole};

/// Measure how much CPU time the periodic threads of a program need.
///
/// It records kernel events while a program runs, finds the program's periodic threads, and measures
/// the CPU time that each job uses. From that it computes a reserve for each thread: an upper
/// confidence limit of the p99.9, and a cushion. It ends with the command, after --duration, or at
/// Ctrl-C.
///
/// With --trial, it then gives the threads their reserves and takes them away again, in turns and in
/// random order, under each of the loads of `tactus measure quick`, and compares the missed
/// deadlines. It lasts about a minute longer. A started command keeps running afterwards.
///
/// It needs root or the rights that `tactus record` needs; --trial needs CAP_SYS_NICE too.
///
/// Examples: tactus need -- ./player; tactus need --pid 812 --thread audio --duration 2min --trial
#[derive(Args)]
pub(crate) struct NeedArguments {
    #[command(flatten)]
    target: TargetOptions,
    /// Measure only threads with this name or thread ID; may be repeated [default: all periodic threads]
    #[arg(long, value_name = "NAME|NUMBER", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    thread: Vec<String>,
    /// Period of the threads [default: found from each thread's due times]
    #[arg(long, value_name = "DURATION", value_parser = positive)]
    period: Option<Nanos>,
    /// Deadline of a job after its due time [default: the period]
    #[arg(long, value_name = "DURATION", value_parser = positive)]
    deadline: Option<Nanos>,
    /// Share of jobs that the reserve is to cover
    #[arg(long, value_name = "PERCENTAGE", default_value = "99.9%", value_parser = percentage::covered)]
    cover: f64,
    /// Confidence that the reserve covers as many
    #[arg(long, value_name = "PERCENTAGE", default_value = "95%", value_parser = percentage::covered)]
    confidence: f64,
    /// Share of the limit that is added to it, for what other programs cost it
    #[arg(long, value_name = "PERCENTAGE", default_value = "25%", value_parser = percentage::cushion)]
    cushion: f64,
    /// Duration of the measurement [default: until the command ends or an interrupt; with --trial 20s]
    #[arg(long, value_name = "DURATION", value_parser = positive)]
    duration: Option<Nanos>,
    /// Then compare deadline misses with and without the reserves, under competing loads
    #[arg(long)]
    trial: bool,
    /// Competing load of the trial; may be repeated [default: those of `tactus measure quick`]
    #[arg(long, value_name = "LOAD", requires = "trial")]
    load: Vec<Load>,
    /// Number of pairs of windows for each load of the trial
    #[arg(long, value_name = "N", default_value = "3", requires = "trial", value_parser = whole(1..=100_u32))]
    rounds: u32,
    /// Duration of a window of the trial [default: 2s, or 50 of the longest period]
    #[arg(long, value_name = "DURATION", requires = "trial", value_parser = positive)]
    window: Option<Nanos>,
    /// Seed of the order of the trial [default: a new one]
    #[arg(long, value_name = "N", requires = "trial", value_parser = seed)]
    seed: Option<u64>,
    /// Also write the reserves as a plan for `tactus admit`
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Also write a self-contained HTML page that plots the CPU time of jobs
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Also keep the recording, for `tactus explain --jobs`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Kernel mechanism that records the events: auto, perf, tracefs
    #[arg(long, value_name = "MECHANISM", default_value = "auto")]
    source: Source,
    /// Print JSON, one object a line: each periodic thread, the trial, the summary
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    quietness: Quietness,
    /// Command to run and measure, after `--` [default: none]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// A line of `--json`. Durations are in nanoseconds.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Line<'a> {
    /// A periodic thread.
    Thread(&'a ThreadNeed),
    /// The trial.
    Trial(&'a TrialAnswer),
    /// Everything else.
    Summary {
        aperiodic: &'a [Aperiodic],
        unseen: Vec<&'a str>,
        command: Option<&'a str>,
        notes: &'a [String],
        summary: &'a RecordingSummary,
    },
}

/// The duration of a measurement before a trial.
const BEFORE_TRIAL: Nanos = Nanos::from_secs(20);

/// The shortest window of a trial, and how many periods it has.
const WINDOW: (Nanos, u64) = (Nanos::from_secs(2), 50);

pub(crate) fn run(arguments: &NeedArguments) -> CommandResult {
    if arguments.command.is_empty() && arguments.target.is_empty() {
        let hint = "name one: `tactus need -- COMMAND`, --pid PID, --name NAME or --cgroup PATH";
        return Err(Error::usage("no program is named").with_hint(hint).into());
    }
    for path in [&arguments.plan, &arguments.page].into_iter().flatten() {
        files::check(path)?;
    }
    let control = interruptible()?;
    let mut command = RecordedCommand::new(arguments.quietness);
    let unseen =
        watch(arguments, &control, &mut command).inspect_err(|_| command.say_if_it_continues())?;
    command.end(&control)?;
    match unseen {
        None => Ok(()),
        Some(message) => Err(CommandError::usage(message)),
    }
}

/// Measures; returns the message about threads that were never seen.
fn watch(
    arguments: &NeedArguments,
    control: &Control,
    command: &mut RecordedCommand,
) -> CommandResult<Option<String>> {
    let duration = arguments.duration();
    let hint = match duration {
        Some(duration) => Some(format!("measuring for {}", format::span(duration))),
        None if arguments.command.is_empty() => {
            Some("measuring; press Ctrl-C for the result".to_owned())
        }
        None => None,
    };
    let target = arguments.target.target(!arguments.command.is_empty());
    let on_event = |event| command.take(&event, hint.as_deref());
    let question = arguments.question();
    let answer = need::measure(&arguments.wanted(duration), &target, &question, control, on_event)?;
    print_summary(&answer.summary, arguments.quietness);
    for_any_reader(print_threads(&answer, arguments))?;
    let has_reserve = answer.threads.iter().any(|thread| thread.demand.reserve.is_ok());
    let trial = match arguments.trial {
        true if has_reserve => Some(try_out(&answer, arguments, control, command)?),
        true => {
            say!("warning: there is no trial, since no thread has a reserve");
            None
        }
        false => None,
    };
    for_any_reader(print_end(&answer, arguments))?;
    let planned = write_plan(&answer, arguments);
    if let Some(path) = &arguments.page {
        answer.write_page(path, &arguments.command, trial.as_ref())?;
    }
    let unseen = answer.unseen.iter();
    let unseen: Vec<String> =
        unseen.map(|(name, hint)| format!("no thread `{name}` was seen; {hint}")).collect();
    match unseen.is_empty() {
        true => planned.map(|()| None),
        false => Ok(Some(unseen.join("; "))),
    }
}

impl NeedArguments {
    fn duration(&self) -> Option<Nanos> {
        self.duration.or(self.trial.then_some(BEFORE_TRIAL))
    }

    fn question(&self) -> Question {
        let Self { cover, confidence, cushion, deadline, .. } = *self;
        Question {
            threads: self.thread.clone(),
            period: self.period,
            asked: Asked { quantile: cover, confidence, cushion, deadline },
        }
    }

    fn wanted(&self, duration: Option<Nanos>) -> Wanted {
        Wanted {
            command: self.command.clone(),
            duration,
            output: self.output.clone(),
            also: Vec::new(),
            source: self.source,
            call_chains: CallChains::Never,
            is_the_recorded: false,
        }
    }

    fn trial_plan(&self, threads: &[ThreadNeed]) -> CommandResult<TrialPlan> {
        let loads = match self.load.is_empty() {
            true => catalogue::quick_loads()?,
            false => self.load.clone(),
        };
        let longest = threads.iter().map(|thread| thread.demand.period).max();
        let (shortest, periods) = WINDOW;
        let window = longest.unwrap_or_default().saturating_mul(periods).max(shortest);
        Ok(TrialPlan {
            loads,
            rounds: self.rounds,
            window: self.window.unwrap_or(window),
            seed: self.seed.unwrap_or_else(new_seed),
            source: self.source,
        })
    }
}

fn print_threads(answer: &Answer, arguments: &NeedArguments) -> CommandResult {
    if arguments.json {
        return Ok(answer.threads.iter().try_for_each(|need| write_line(&Line::Thread(need)))?);
    }
    let text = need_text(&answer.threads, &answer.aperiodic, &table_options());
    Ok(write!(stdout(), "{text}")?)
}

fn print_end(answer: &Answer, arguments: &NeedArguments) -> CommandResult {
    let ReserveCommand { line, notes } = answer.reserve_command(&arguments.command);
    if arguments.json {
        return Ok(write_line(&Line::Summary {
            aperiodic: &answer.aperiodic,
            unseen: answer.unseen.iter().map(|(name, _)| name.as_str()).collect(),
            command: line.as_deref(),
            notes: &notes,
            summary: &answer.summary,
        })?);
    }
    notes.iter().for_each(|note| say!("warning: {note}"));
    if let Some(line) = line {
        writeln!(stdout(), "\n{line}")?;
    }
    Ok(())
}

fn write_plan(answer: &Answer, arguments: &NeedArguments) -> CommandResult {
    match &arguments.plan {
        // A plan of an earlier run can be there, and a script would go on with it.
        Some(path) if !answer.write_plan(path)? => {
            let path = path.display();
            Err(CommandError::not_met(format!("{path} is not written: no thread has a reserve")))
        }
        _ => Ok(()),
    }
}

/// Runs the trial and prints it.
fn try_out(
    answer: &Answer,
    arguments: &NeedArguments,
    control: &Control,
    command: &mut RecordedCommand,
) -> CommandResult<TrialAnswer> {
    let plan = arguments.trial_plan(&answer.threads)?;
    let on_news = |news: TrialNews<'_>| match news {
        TrialNews::Recording(event) => command.take(&event, None),
        TrialNews::Window { number, of, load, arm, left } => {
            let with = match arm {
                Arm::With => "with",
                Arm::Without => "without",
            };
            let left = format::span(left);
            arguments
                .quietness
                .note(format_args!("trial {number} of {of}: {load}, {with} reserves; {left} left"));
        }
    };
    let found = need::trial(&answer.threads, &plan, control, on_news)?;
    if let Some(reason) = &found.cut {
        say!("warning: the trial ended early: {reason}");
    }
    match arguments.json {
        true => write_line(&Line::Trial(&found))?,
        false => print_trial(answer, &found)?,
    }
    Ok(found)
}

fn print_trial(answer: &Answer, found: &TrialAnswer) -> CommandResult {
    let mut out = stdout();
    for trial in &found.trials {
        let Some(need) = answer.threads.iter().find(|need| need.thread == trial.thread) else {
            continue;
        };
        writeln!(out, "\n{}", trial_text(need, trial, &table_options()))?;
    }
    writeln!(out, "{}", found.conditions())?;
    Ok(())
}
