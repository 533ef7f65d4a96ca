//! `tactus record`: records kernel events, of a command or of the system.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use tactus_app::export::Form;
use tactus_app::flight::{self, Caught, Lookback, Lookout};
use tactus_app::record::{self, Made, Wanted};
use tactus_app::waits;
use tactus_explain::WaitExplanation;
use tactus_model::recording::ThreadId;
use tactus_model::time::Nanos;
use tactus_record::RecordingSummary;
use tactus_record::live::{CallChains, Control, RecordEvent, Source};
use tactus_report::format;

use crate::error::CommandResult;
use crate::json_lines::write_line;
use crate::signals::on_interrupt;
use crate::terminal::{say, shortfall_text, table_options};

/// Record kernel events: switches, wakeups, timers, interrupts, softirqs.
///
/// It records a command until the command ends, or the whole system until --duration is over or an
/// interrupt (Ctrl-C). Every event is accounted for as counted, read or lost. As a flight recorder
/// (--flight), it keeps only the last seconds in memory, and saves and explains them when a thread is
/// late (--over). `tactus explain` and `tactus quanta` read the recording.
///
/// Examples: tactus record -o make.tactusrec -- make;
/// tactus record --flight 5s --over 1ms --thread pipewire
#[derive(Args)]
pub(crate) struct RecordArguments {
    /// Duration of the recording [default: until the command ends or an interrupt]
    #[arg(long, value_name = "DURATION")]
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
    /// Flight recorder: keep only the events of this last duration, in memory; at least 2s
    #[arg(long, value_name = "DURATION")]
    flight: Option<Nanos>,
    /// Save the flight recorder when a thread waited longer than this for a CPU, and explain the wait
    ///
    /// A wait begins when the thread's timer is due, or it is woken or preempted, and ends when the
    /// thread runs.
    #[arg(long, value_name = "DURATION", requires = "flight")]
    over: Option<Nanos>,
    /// Consider only threads with this name or thread ID; may be repeated [default: all threads except those of tactus]
    #[arg(long, value_name = "NAME|NUMBER", requires = "over")]
    thread: Vec<String>,
    /// Number of saves after which the recording ends
    #[arg(long, value_name = "N", default_value = "1", requires = "over",
        value_parser = clap::value_parser!(u32).range(1..))]
    saves: u32,
    /// Mechanism of the kernel: auto, perf, tracefs
    ///
    /// tracefs costs less time per event and needs root; perf needs CAP_PERFMON. auto uses tracefs
    /// if it is permitted, else perf.
    #[arg(long, value_name = "MECHANISM", default_value = "auto")]
    source: Source,
    /// Also record the kernel call chain of each switch and interrupt
    #[arg(long)]
    call_chains: bool,
    /// Print the summary of the recording as JSON
    #[arg(long)]
    json: bool,
    /// Command to record, after `--` [default: record the whole system]
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
    let control = Control::new();
    let stopper = control.stopper();
    on_interrupt(move || stopper.stop())?;
    match (arguments.flight, arguments.over) {
        (Some(last), Some(over)) => until_late(arguments, &control, last, over),
        (Some(last), None) => {
            let hint = "recording; the last seconds are saved when the command ends or on an interrupt (Ctrl-C)";
            let on_event = |event| print_event(&event, Some(hint));
            let made = flight::until_the_end(&arguments.wanted(), last, &control, on_event)?;
            finish(arguments, &made)
        }
        (None, _) => {
            let open_end = arguments.duration.is_none() && arguments.command.is_empty();
            let hint = open_end.then_some("recording; press Ctrl-C to stop");
            let on_event = |event| print_event(&event, hint);
            finish(arguments, &record::to_file(&arguments.wanted(), &control, on_event)?)
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
            call_chains: if self.call_chains { CallChains::Always } else { CallChains::Never },
        }
    }
}

/// Prints the events of a recording; at its start, `hint` says how to stop it.
fn print_event(event: &RecordEvent, hint: Option<&str>) {
    match (event, hint) {
        (RecordEvent::Started(_), Some(hint)) => say!("{hint}"),
        (RecordEvent::CommandEnded(status), _) => say!("command ended: {status}"),
        (RecordEvent::Started(_) | RecordEvent::CommandStarted { .. }, _) => {}
    }
}

fn finish(arguments: &RecordArguments, made: &Made) -> CommandResult {
    print_summary(&made.summary);
    if arguments.json {
        return Ok(write_line(&made.summary)?);
    }
    Ok(writeln!(io::stdout(), "{}", made.path.display())?)
}

/// Saves the last seconds each time a thread waits longer than `over`, and explains the wait.
fn until_late(
    arguments: &RecordArguments,
    control: &Control,
    last: Nanos,
    over: Nanos,
) -> CommandResult {
    let lookout = Lookout { over, threads: arguments.thread.clone(), saves: arguments.saves };
    let hint = format!("recording until a thread waits longer than {over}; press Ctrl-C to stop");
    let on_event = |event| print_event(&event, Some(&hint));
    let caught = |caught: &Caught| print_caught(caught, over, arguments.json);
    let Lookback { summary, late, saved } =
        flight::until_late(&arguments.wanted(), last, &lookout, control, on_event, caught)?;
    print_summary(&summary);
    match late {
        0 => say!("no thread waited longer than {over}; nothing was saved"),
        _ => say!(
            "{} longer than {over}; {saved} of {} saved",
            format::counted(late, "wait"),
            format::counted(arguments.saves.into(), "recording")
        ),
    }
    if arguments.json {
        write_line(&summary)?;
    }
    Ok(())
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
    let text = tactus_report::waits_text(waits, &explanation, over, &table_options());
    write!(io::stdout(), "{text}")
}

/// Prints the summary of a recording.
fn print_summary(summary: &RecordingSummary) {
    let cost = &summary.cost;
    say!(
        "recorded {} events in {}, lost {}; the drainer used {} of CPU time",
        format::count(cost.events),
        format::span(summary.length()),
        format::count(summary.lost()),
        format::latency(cost.drain_time),
    );
    if summary.unwritten() > 0 {
        say!(
            "the kernel counted {} more events that it did not write",
            format::count(summary.unwritten())
        );
    }
    if !summary.absent.is_empty() {
        let names: Vec<&str> = summary.absent.iter().map(|absent| absent.event.as_str()).collect();
        say!("events not available here (see --json): {}", names.join(", "));
    }
    for shortfall in &summary.shortfalls {
        say!("{}", shortfall_text(shortfall).trim_end());
    }
}
