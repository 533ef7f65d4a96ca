//! `tactus record`: what the kernel did, of a command or of the system.

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
use crate::terminal::table_options;

/// Record what the kernel does: switches, wakeups, timers, interrupts, softirqs.
///
/// Records a command until it ends, or the whole system for a time or until it is
/// interrupted. Every event is accounted for: counted, read, lost. As a flight recorder
/// (--flight) it keeps the last seconds only, and saves and explains them when a thread
/// came late (--over).
#[derive(Args)]
pub(crate) struct RecordArguments {
    /// How long to record; without it until the command ends or an interrupt comes
    #[arg(long, value_name = "LENGTH")]
    duration: Option<Nanos>,
    /// Write the recording to this file instead of one named after the time
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Also write it for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
    /// Also write it as JSON, one event a line
    #[arg(long, value_name = "FILE")]
    ndjson: Option<PathBuf>,
    /// Keep only what came so shortly before the end, in memory: a flight recorder
    #[arg(long, value_name = "LENGTH")]
    flight: Option<Nanos>,
    /// Save that, and say who was to blame, when a thread waited longer for a CPU
    ///
    /// A thread waits from when its timer was due, it was woken or had to leave a
    /// CPU, until it is on one.
    #[arg(long, value_name = "LENGTH", requires = "flight")]
    over: Option<Nanos>,
    /// Only threads of this name or number; may be given several times
    ///
    /// Without it all threads but those of tactus itself.
    #[arg(long, value_name = "NAME|NUMBER", requires = "over")]
    thread: Vec<String>,
    /// How often to save before the recording ends
    #[arg(long, value_name = "N", default_value = "1", requires = "over",
        value_parser = clap::value_parser!(u32).range(1..))]
    saves: u32,
    /// By which mechanism the kernel records: auto, perf, tracefs
    ///
    /// tracefs takes less time for an event and needs root; perf needs CAP_PERFMON.
    /// auto takes tracefs where it is granted.
    #[arg(long, value_name = "MECHANISM", default_value = "auto")]
    source: Source,
    /// Record the kernel's call chain with each switch and interrupt
    #[arg(long)]
    call_chains: bool,
    /// Write the account of the recording as JSON
    #[arg(long)]
    json: bool,
    /// The command to record, after two dashes
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// A thread that came late, and where the seconds before that are, as `--json` gives it.
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
            let hint = "recording; the end of the command or an interrupt keeps what came last";
            let told = |event| tell(&event, Some(hint));
            finish(arguments, &flight::until_the_end(&arguments.wanted(), last, &control, told)?)
        }
        (None, _) => {
            let open_end = arguments.duration.is_none() && arguments.command.is_empty();
            let hint = open_end.then_some("recording; interrupt to end it");
            let told = |event| tell(&event, hint);
            finish(arguments, &record::to_file(&arguments.wanted(), &control, told)?)
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

/// Tells what happens while a recording is made, and when it begins what ends it.
fn tell(event: &RecordEvent, hint: Option<&str>) {
    match (event, hint) {
        (RecordEvent::Started(_), Some(hint)) => eprintln!("{hint}"),
        (RecordEvent::CommandEnded(status), _) => eprintln!("the command ended: {status}"),
        (RecordEvent::Started(_) | RecordEvent::CommandStarted { .. }, _) => {}
    }
}

fn finish(arguments: &RecordArguments, made: &Made) -> CommandResult {
    tell_summary(&made.summary);
    if arguments.json {
        return Ok(write_line(&made.summary)?);
    }
    Ok(writeln!(io::stdout(), "{}", made.path.display())?)
}

/// Saves the last seconds each time a thread waited longer than `over`, and says why it did.
fn until_late(
    arguments: &RecordArguments,
    control: &Control,
    last: Nanos,
    over: Nanos,
) -> CommandResult {
    let lookout = Lookout { over, threads: arguments.thread.clone(), saves: arguments.saves };
    let hint = format!("recording until a thread comes later than {over}; an interrupt ends it");
    let told = |event| tell(&event, Some(&hint));
    let caught = |caught: &Caught| tell_caught(caught, over, arguments.json);
    let Lookback { summary, late, saved } =
        flight::until_late(&arguments.wanted(), last, &lookout, control, told, caught)?;
    tell_summary(&summary);
    match late {
        0 => eprintln!("no thread came later than {over}; nothing is kept"),
        _ => eprintln!(
            "{} later than {over}; {saved} of {} kept",
            format::counted(late, "thread came"),
            arguments.saves
        ),
    }
    if arguments.json {
        write_line(&summary)?;
    }
    Ok(())
}

fn tell_caught(caught: &Caught, over: Nanos, json: bool) -> io::Result<()> {
    let Caught { wait, name, saved, waits } = caught;
    let explanation = waits::late(waits);
    if json {
        let (thread, waited) = (wait.thread, wait.length());
        return write_line(&CaughtLine { thread, name, waited, saved, explanation });
    }
    eprintln!(
        "{} ({}, {}) came {} late; what came before is in {}",
        format::printable(name),
        wait.thread,
        wait.priority.class(),
        format::latency(wait.length()),
        saved.display()
    );
    let text = tactus_report::waits_text(waits, &explanation, over, &table_options());
    write!(io::stdout(), "{text}")
}

/// Says what the recording came to, in a few lines.
fn tell_summary(summary: &RecordingSummary) {
    let cost = &summary.cost;
    eprintln!(
        "{} events in {}, {} lost; the drainer took {} of CPU time",
        format::count(cost.events),
        format::span(summary.length()),
        format::count(summary.lost()),
        format::latency(cost.drain_time),
    );
    if summary.unwritten() > 0 {
        eprintln!("{} were counted and never written", format::count(summary.unwritten()));
    }
    if !summary.absent.is_empty() {
        let names: Vec<&str> = summary.absent.iter().map(|absent| absent.event.as_str()).collect();
        eprintln!("not to be had here (--json says why): {}", names.join(", "));
    }
    for shortfall in &summary.shortfalls {
        eprintln!("asked for {}, got {}: {}", shortfall.asked, shortfall.granted, shortfall.reason);
        if let Some(fix) = &shortfall.fix {
            eprintln!("to fix it: {fix}");
        }
    }
}
