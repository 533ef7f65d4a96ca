//! `tactus why`: why the periodic threads of a program are late, while it runs.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use tactus_app::jobs::{self, Question};
use tactus_app::record::Wanted;
use tactus_app::why::{self, Answer, News};
use tactus_explain::jobs::{Aperiodic, JobExplanation, LateJob};
use tactus_model::recording::CallChains;
use tactus_model::time::Nanos;
use tactus_record::RecordingSummary;
use tactus_record::live::{Control, Source};
use tactus_report::{JobsRest, format};

use crate::error::{CommandError, CommandResult};
use crate::json_lines::write_line;
use crate::quietness::Quietness;
use crate::recorded_command::{RecordedCommand, interruptible, print_summary};
use crate::target_options::TargetOptions;
use crate::terminal::{say, stdout, table_options};
use crate::values::{positive, whole};

/// Show which threads of a program miss their deadlines, and why.
///
/// It records kernel events while a program runs, finds the program's periodic threads, and prints a
/// line for each late job. At the end it prints a summary, and leaves a page and a recording of the
/// seconds before the first late job, which a job that took twice as long replaces. It ends with the
/// command or the processes of --pid, after --duration, or at Ctrl-C.
///
/// A job is one period's work of a thread. It is due when the thread's timer is due or its waker
/// regularly wakes it, and done when the thread sleeps until its next due time. It is late if that takes
/// longer than the period, or than --over. The first 16 due times of a thread serve to find its period.
/// Without a command and without --pid, --name and --cgroup, it watches the real-time threads of the
/// whole system.
///
/// It needs root or the rights that `tactus record` needs. The exit code is that of the command, as for
/// `tactus record`.
///
/// Examples: tactus why -- ./my-program; tactus why --name pipewire --over 2ms --duration 60s
#[derive(Args)]
pub(crate) struct WhyArguments {
    #[command(flatten)]
    target: TargetOptions,
    /// Watch only threads with this name or thread ID; may be repeated [default: all periodic threads]
    #[arg(long, value_name = "NAME|NUMBER")]
    thread: Vec<String>,
    /// Time from due to done above which a job is late [default: the thread's period]
    #[arg(long, value_name = "DURATION", value_parser = positive)]
    over: Option<Nanos>,
    /// Period of the threads [default: found from each thread's due times]
    #[arg(long, value_name = "DURATION", value_parser = positive)]
    period: Option<Nanos>,
    /// Duration of the recording [default: until the command ends or an interrupt]
    #[arg(long, value_name = "DURATION", value_parser = positive)]
    duration: Option<Nanos>,
    /// Number of the worst jobs of each thread to show in detail
    #[arg(long, value_name = "N", default_value = "3", value_parser = whole(0..=100_usize))]
    worst: usize,
    /// File of the recording; the page has the same name with .html [default: tactus-DATE.tactusrec]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Kernel mechanism that records the events: auto, perf, tracefs
    #[arg(long, value_name = "MECHANISM", default_value = "auto")]
    source: Source,
    /// Print JSON, one object a line: each late job, each periodic thread, the summary
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    quietness: Quietness,
    /// Command to run and watch, after `--` [default: none]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// A line of `--json`.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Line<'a> {
    /// A late job, as soon as its causes are known.
    Late(&'a LateJob),
    /// The jobs of a periodic thread.
    Thread(&'a JobExplanation),
    /// Everything else.
    Summary {
        trigger: Option<&'a LateJob>,
        recording: Option<&'a Path>,
        page: Option<&'a Path>,
        /// The threads without a line of their own.
        rest: Option<JobsRest>,
        cut_short: bool,
        aperiodic: &'a [Aperiodic],
        unseen: Vec<&'a str>,
        unseen_names: &'a [String],
        summary: &'a RecordingSummary,
    },
}

pub(crate) fn run(arguments: &WhyArguments) -> CommandResult {
    let control = interruptible()?;
    let mut command = RecordedCommand::new(arguments.quietness);
    let fault =
        watch(arguments, &control, &mut command).inspect_err(|_| command.say_if_it_continues())?;
    command.end(&control)?;
    fault.map_or(Ok(()), Err)
}

/// Watches to the end; returns what failed although there is an answer.
fn watch(
    arguments: &WhyArguments,
    control: &Control,
    command: &mut RecordedCommand,
) -> CommandResult<Option<CommandError>> {
    let question = Question {
        threads: arguments.thread.clone(),
        period: arguments.period,
        deadline: arguments.over,
        worst: arguments.worst,
    };
    let open_end = arguments.duration.is_none() && arguments.command.is_empty();
    let hint = open_end.then_some("watching; press Ctrl-C for the summary");
    let on_event = |event| command.take(&event, hint);
    let target = arguments.target.target(!arguments.command.is_empty());
    let mut printer = Printer::new(arguments.json);
    let answer = why::why(&arguments.wanted(), &target, &question, control, on_event, |news| {
        printer.take(&news)
    })?;
    printer.end();
    print_summary(&answer.summary, arguments.quietness);
    if answer.cut_short {
        say!("warning: a signal ended the explaining; the last events were not read");
    }
    printer.failed.map_or(Ok(()), Err)?;
    print_answer(&answer, arguments)?;
    print_ends(&answer, arguments.quietness, command);
    let names = answer.unseen_names.iter();
    let names = names.map(|name| format!("no program or thread `{name}` was seen"));
    let unseen = answer.unseen.iter();
    let unseen = unseen.map(|(name, hint)| format!("no thread `{name}` was seen; {hint}"));
    let unseen: Vec<String> = names.chain(unseen).collect();
    let not_written = answer.not_written.map(CommandError::from);
    Ok(not_written.or((!unseen.is_empty()).then(|| CommandError::usage(unseen.join("; ")))))
}

impl WhyArguments {
    fn wanted(&self) -> Wanted {
        Wanted {
            command: self.command.clone(),
            duration: self.duration,
            output: self.output.clone(),
            also: Vec::new(),
            source: self.source,
            call_chains: CallChains::AtSleeps,
            is_the_recorded: false,
        }
    }
}

fn print_answer(answer: &Answer, arguments: &WhyArguments) -> CommandResult {
    let Answer { jobs, trigger, recording, page, summary, unseen, unseen_names, cut_short, .. } =
        answer;
    if arguments.json {
        let rows = tactus_report::jobs_rows(jobs);
        rows.detailed.iter().try_for_each(|thread| write_line(&Line::Thread(thread)))?;
        for thread in rows.others {
            write_line(&Line::Thread(&thread.without_worst()))?;
        }
        return Ok(write_line(&Line::Summary {
            trigger: trigger.as_ref(),
            recording: recording.as_deref(),
            page: page.as_deref(),
            rest: rows.rest,
            cut_short: *cut_short,
            aperiodic: &jobs.aperiodic,
            unseen: unseen.iter().map(|(name, _)| name.as_str()).collect(),
            unseen_names,
            summary,
        })?);
    }
    let mut out = stdout();
    if let Some(job) = trigger {
        writeln!(out, "Saved for: {}\n", tactus_report::late_job_line(job))?;
    }
    if jobs.threads.is_empty() {
        writeln!(out, "No periodic thread was found.")?;
    }
    let aperiodic = jobs.threads.is_empty() || !arguments.thread.is_empty();
    let mut late = jobs::late(jobs);
    late.truncate(tactus_report::JOBS_DETAILED);
    write!(out, "{}", tactus_report::jobs_text(jobs, &late, aperiodic, &table_options()))?;
    drop(out);
    print_files(answer)
}

/// Prints which files were written.
pub(super) fn print_files(answer: &Answer) -> CommandResult {
    let files = [("page", &answer.page), ("recording", &answer.recording)];
    let lines = files.map(|(what, path)| Some(format!("\n{what}: {}", path.as_ref()?.display())));
    Ok(writeln!(stdout(), "{}", lines.into_iter().flatten().collect::<String>())?)
}

/// Says what has ended and what has not.
fn print_ends(answer: &Answer, quietness: Quietness, command: &RecordedCommand) {
    if answer.over {
        quietness.note(format_args!("the watched processes have ended"));
    }
    if command.has_ended() {
        for (process, name) in &answer.left {
            say!(
                "`{}`, which the command started, still runs; to watch it: tactus why --pid {process}",
                format::printable(name)
            );
        }
    }
}

/// How many late jobs are printed each second.
const LINES: u32 = 5;

/// Prints late jobs as they come.
pub(super) struct Printer {
    json: bool,
    second: Instant,
    /// The number of late jobs in this second.
    late: u32,
    /// Why a line could not be written. The recording and the page matter more.
    failed: Option<io::Error>,
}

impl Printer {
    pub(super) fn new(json: bool) -> Self {
        Self { json, second: Instant::now(), late: 0, failed: None }
    }

    pub(super) fn take(&mut self, news: &News<'_>) {
        match news {
            News::Late(job) if self.json => {
                if self.failed.is_none() {
                    self.failed = write_line(&Line::Late(job)).err();
                }
            }
            News::Late(job) => {
                if self.second.elapsed() >= Duration::from_secs(1) {
                    self.end();
                }
                self.late += 1;
                if self.late <= LINES {
                    say!("{}", tactus_report::late_job_line(job));
                }
            }
            News::Saved(job) => {
                let length = format::latency(job.done - job.due);
                say!("saved the seconds before this job of {length}");
            }
            News::NotSaved(error) => {
                say!("warning: {error}. These seconds are lost; recording continues.");
            }
        }
    }

    /// Reports the late jobs of this second that were not printed.
    pub(super) fn end(&mut self) {
        if let Some(more) = self.late.checked_sub(LINES).filter(|more| *more > 0) {
            say!("{} more in this second", format::counted(more.into(), "late job"));
        }
        (self.second, self.late) = (Instant::now(), 0);
    }
}
