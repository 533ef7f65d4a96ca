//! `tactus record`: what the kernel did, of a command or of the system.

mod flight;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use tactus_model::recording::EventSource;
use tactus_model::time::{Nanos, Realtime};
use tactus_record::RecordingSummary;
use tactus_record::file::RecordingFile;
use tactus_record::live::{
    CallChains, Control, Keep, Options, RecordError, RecordEvent, Source, record,
};
use tactus_record::{ndjson, perfetto};
use tactus_report::format;

use crate::error::{CommandError, CommandResult, ErrorKind};
use crate::json_lines::write_line;
use crate::signals::on_interrupt;

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
    /// Save that, and say who was to blame, when a thread waited longer for a processor
    ///
    /// A thread waits from when its timer was due, it was woken or had to leave a
    /// processor, until it is on one.
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

pub(crate) fn run(arguments: &RecordArguments) -> CommandResult {
    if let Some(last) = arguments.flight {
        return flight::run(arguments, last);
    }
    let path = arguments.output.clone().unwrap_or_else(new_name);
    let options = Options {
        source: arguments.source,
        keep: Keep::File(path.clone()),
        call_chains: call_chains(arguments),
        ..Options::default()
    };
    let control = Control::new();
    let stopper = control.stopper();
    on_interrupt(move || stopper.stop())?;
    let open_end = arguments.duration.is_none() && arguments.command.is_empty();
    if open_end {
        eprintln!("recording; interrupt to end it");
    }
    let recorded = record(options, &arguments.command, arguments.duration, &control, told)?;
    export(arguments, &path)?;
    tell(&recorded.summary);
    if arguments.json {
        write_line(&recorded.summary)?;
    } else {
        writeln!(io::stdout(), "{}", path.display())?;
    }
    Ok(())
}

/// With which events call chains are recorded.
fn call_chains(arguments: &RecordArguments) -> CallChains {
    if arguments.call_chains { CallChains::Always } else { CallChains::Never }
}

/// Tells what happens while a recording is made.
fn told(event: RecordEvent) {
    match event {
        RecordEvent::Started(_) | RecordEvent::CommandStarted { .. } => {}
        RecordEvent::CommandEnded(status) => eprintln!("the command ended: {status}"),
    }
}

/// Writes a recording in the other forms that were asked for.
fn export(arguments: &RecordArguments, recording: &Path) -> CommandResult {
    if let Some(target) = &arguments.perfetto {
        convert(recording, target, |source, out| Ok(perfetto::export(source, out)?))?;
    }
    if let Some(target) = &arguments.ndjson {
        convert(recording, target, |source, out| Ok(ndjson::export(source, out)?))?;
    }
    Ok(())
}

fn new_name() -> PathBuf {
    let now = tactus_sys::clock::now::<Realtime>();
    PathBuf::from(format!("tactus-{}.tactusrec", format::date(now)))
}

type Export = fn(&mut dyn EventSource, &mut dyn Write) -> anyhow::Result<()>;

fn convert(recording: &Path, target: &Path, export: Export) -> CommandResult {
    let written = || -> anyhow::Result<()> {
        let mut source = RecordingFile::open(recording)?;
        let mut out = BufWriter::new(File::create(target)?);
        export(&mut source, &mut out)?;
        Ok(out.flush()?)
    };
    written()
        .with_context(|| format!("{} cannot be written", target.display()))
        .map_err(|error| CommandError::new(ErrorKind::Unavailable, error))
}

/// Says what the recording came to, in a few lines.
fn tell(summary: &RecordingSummary) {
    let cost = &summary.cost;
    eprintln!(
        "{} events in {}, {} lost; the drainer took {} of processor time",
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
        if let Some(mend) = &shortfall.fix {
            eprintln!("to mend it: {mend}");
        }
    }
}

impl From<RecordError> for CommandError {
    fn from(error: RecordError) -> Self {
        let kind = match &error {
            RecordError::Command { .. } => ErrorKind::Usage,
            _ if error.is_not_available() => ErrorKind::Unavailable,
            _ => ErrorKind::Internal,
        };
        let mend = error.mend();
        let told = Self::new(kind, error);
        match mend {
            Some(mend) => told.with_hint(mend),
            None => told,
        }
    }
}
