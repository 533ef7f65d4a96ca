//! `tactus record`: records kernel events, of a command or of the system.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use tactus_app::export::Form;
use tactus_app::flight::{self, Caught, Found, Lookback, Lookout};
use tactus_app::record::{self, Made, Wanted};
use tactus_app::waits;
use tactus_explain::WaitExplanation;
use tactus_model::recording::{CallChains, ThreadId};
use tactus_model::time::Nanos;
use tactus_record::live::{Control, Source};
use tactus_report::format;

use crate::error::CommandResult;
use crate::json_lines::write_line;
use crate::quietness::Quietness;
use crate::recorded_command::{RecordedCommand, interruptible, print_summary};
use crate::terminal::{say, stdout, table_options};
use crate::values::{positive, whole};

/// Record kernel events: switches, wakeups, timers, interrupts, softirqs.
///
/// It records the whole system: while a command runs, or until --duration is over or an interrupt
/// (Ctrl-C). Every event that the kernel counted is read, or reported as lost. As a flight recorder
/// (--flight), it keeps only the last seconds in memory, and saves and explains them when a thread is
/// late (--over). `tactus explain` and `tactus quanta` read the recording.
///
/// The exit code is that of the command, 128 plus the signal if a signal ended it, 127 if it does not
/// exist, or 126 if it cannot be executed. Ctrl-C, SIGTERM and SIGHUP save the recording and end the
/// command too: tactus passes the signal on, waits for the command, and exits with 128 plus the signal;
/// at a second signal it does not wait. The command continues if the recording ends before it
/// (--duration, --saves, a full disk) or if tactus is killed (SIGKILL). What was recorded until then
/// remains as FILE.part, which `tactus explain` reads. Recordings contain thread names and addresses
/// of the kernel; only their owner may read them (mode 0600).
///
/// Examples: tactus record -o make.tactusrec -- make;
/// tactus record --flight 5s --over 1ms --thread pipewire
#[derive(Args)]
pub(crate) struct RecordArguments {
    /// Duration of the recording [default: until the command ends or an interrupt]
    #[arg(long, value_name = "DURATION", value_parser = positive)]
    duration: Option<Nanos>,
    /// File of the recording [default: tactus-DATE.tactusrec]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Also write a trace for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
    /// Also write JSON, one event a line
    #[arg(long, value_name = "FILE")]
    ndjson: Option<PathBuf>,
    /// Flight recorder: keep only the events of the last DURATION, in memory; at least 2s
    #[arg(long, value_name = "DURATION")]
    flight: Option<Nanos>,
    /// With --flight: save the events when a thread waited longer than this for a CPU, and explain the wait
    ///
    /// A wait begins when the thread's timer is due, or it is woken or preempted, and ends when the
    /// thread runs.
    #[arg(long, value_name = "DURATION", requires = "flight")]
    over: Option<Nanos>,
    /// With --over: consider only threads with this name or thread ID; may be repeated [default: all threads except those of tactus]
    #[arg(long, value_name = "NAME|NUMBER", requires = "over")]
    thread: Vec<String>,
    /// With --over: number of saves after which the recording ends
    #[arg(long, value_name = "N", default_value = "1", requires = "over",
        value_parser = whole(1..=1_000_000_u32))]
    saves: u32,
    /// Kernel mechanism that records the events: auto, perf, tracefs
    ///
    /// tracefs costs less time per event and needs root; perf needs CAP_PERFMON. auto uses tracefs
    /// if it is permitted, else perf.
    #[arg(long, value_name = "MECHANISM", default_value = "auto")]
    source: Source,
    /// Events with a kernel call chain: never, interrupts, sleeps (and interrupts), all (switches and interrupts)
    ///
    /// The chain of a thread that goes to sleep names the system call or page fault in which it sleeps,
    /// and on what. A chain costs about 2 µs. Without a value: all.
    #[arg(long, value_name = "EVENTS", default_value = "sleeps", default_missing_value = "all",
        num_args = 0..=1, require_equals = true)]
    call_chains: CallChains,
    /// Print the summary of the recording as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    quietness: Quietness,
    /// Command to run while recording, after `--` [default: none]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// A late thread, and the file with the seconds before it, for `--json`.
#[derive(Serialize)]
struct CaughtLine<'a> {
    thread: ThreadId,
    name: &'a str,
    waited: Nanos,
    saved: &'a Path,
    explanation: Vec<&'a WaitExplanation>,
}

pub(crate) fn run(arguments: &RecordArguments) -> CommandResult {
    let control = interruptible()?;
    let mut command = RecordedCommand::new(arguments.quietness);
    say_what_is_left(&arguments.wanted().left_parts());
    record_it(arguments, &control, &mut command).inspect_err(|_| command.say_if_it_continues())?;
    command.end(&control)
}

/// The most left parts that are named.
const PARTS: usize = 3;

/// Names the recordings that did not get to their ends.
fn say_what_is_left(parts: &[PathBuf]) {
    for part in parts.iter().take(PARTS) {
        let part = format::printable(&part.display().to_string());
        say!(
            "{part} is a recording without its end, e.g. of a killed recorder; read it: \
             tactus explain {part}, or remove it"
        );
    }
    if let Some(more) = parts.len().checked_sub(PARTS).filter(|more| *more > 0) {
        say!("{} more beside it", format::counted(more as u64, "such file"));
    }
}

fn record_it(
    arguments: &RecordArguments,
    control: &Control,
    command: &mut RecordedCommand,
) -> CommandResult {
    match (arguments.flight, arguments.over) {
        (Some(last), Some(over)) => until_late(arguments, control, command, last, over),
        (Some(last), None) => {
            let hint = match arguments.command.is_empty() {
                true => "recording; Ctrl-C saves the last seconds",
                false => "recording; the end of the command, or Ctrl-C, saves the last seconds",
            };
            let on_event = |event| command.take(&event, Some(hint));
            let made = flight::until_the_end(&arguments.wanted(), last, control, on_event)?;
            finish(arguments, &made)
        }
        (None, _) => {
            let open_end = arguments.duration.is_none() && arguments.command.is_empty();
            let hint = open_end.then_some("recording; press Ctrl-C to stop");
            let on_event = |event| command.take(&event, hint);
            finish(arguments, &record::to_file(&arguments.wanted(), control, on_event)?)
        }
    }
}

impl RecordArguments {
    fn wanted(&self) -> Wanted {
        let perfetto = self.perfetto.clone().map(|path| (Form::Perfetto, path));
        let ndjson = self.ndjson.clone().map(|path| (Form::JsonLines, path));
        Wanted {
            command: self.command.clone(),
            duration: self.duration,
            output: self.output.clone(),
            also: perfetto.into_iter().chain(ndjson).collect(),
            source: self.source,
            call_chains: self.call_chains,
            is_the_recorded: false,
        }
    }
}

fn finish(arguments: &RecordArguments, made: &Made) -> CommandResult {
    print_summary(&made.summary, arguments.quietness);
    if arguments.json {
        return Ok(write_line(&made.summary)?);
    }
    Ok(writeln!(stdout(), "{}", made.path.display())?)
}

/// Saves the last seconds each time a thread waits longer than `over`, and explains the wait.
fn until_late(
    arguments: &RecordArguments,
    control: &Control,
    command: &mut RecordedCommand,
    last: Nanos,
    over: Nanos,
) -> CommandResult {
    let lookout = Lookout { over, threads: arguments.thread.clone(), saves: arguments.saves };
    let hint = format!("recording until a thread waits longer than {over}; press Ctrl-C to stop");
    let on_event = |event| command.take(&event, Some(&hint));
    let on_found = |found: Found<'_>| match found {
        Found::Caught(caught) => print_caught(caught, over, arguments.json),
        Found::NotSaved(error) => {
            say!("warning: {error}. These seconds are lost; recording continues.");
            Ok(())
        }
    };
    let Lookback { summary, late, saved, not_saved } =
        flight::until_late(&arguments.wanted(), last, &lookout, control, on_event, on_found)?;
    print_summary(&summary, arguments.quietness);
    match late {
        0 => arguments
            .quietness
            .note(format_args!("no thread waited longer than {over}; nothing was saved")),
        _ => arguments.quietness.note(format_args!(
            "found {} longer than {over}; saved {}",
            format::counted(late, "wait"),
            format::counted(saved.into(), "recording")
        )),
    }
    if arguments.json {
        write_line(&summary)?;
    }
    not_saved.map_or(Ok(()), |error| Err(error.into()))
}

fn print_caught(caught: &Caught, over: Nanos, json: bool) -> io::Result<()> {
    let Caught { wait, name, saved, waits } = caught;
    let explanation = waits::late(waits);
    if json {
        let (thread, waited) = (wait.thread, wait.length());
        return write_line(&CaughtLine { thread, name, waited, saved, explanation });
    }
    say!(
        "{} ({}, {}) waited {}; the seconds before are in {}",
        format::printable(name),
        wait.thread,
        wait.priority.class(),
        format::latency(wait.length()),
        saved.display()
    );
    let text = tactus_report::waits_text(waits, &explanation, over, 1, &table_options());
    write!(stdout(), "{text}")
}
