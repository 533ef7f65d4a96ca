//! The guest of `cargo xtask timerlat`, in which the kernel's timerlat tracer and our
//! measurement take turns.
//!
//! It controls timerlat (the kernel's *Documentation/trace/timerlat-tracer.rst*) through its
//! files, like rtla. Each round has three turns, in another order every time: timerlat alone;
//! timerlat while our recorder keeps the events of its thread's wakeups, so both describe the
//! same wakeups; and our own cell, alone and recorded.
#![forbid(unsafe_code)]

use std::fs;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde::Serialize;
use tactus_guest::first::{self, FirstError};
use tactus_guest::{Console, run};
use tactus_load::{HostOptions, RunningLoad};
use tactus_model::message::{CellRequest, Message};
use tactus_model::recording::ThreadId;
use tactus_model::time::Nanos;
use tactus_record::live::{Options, Recorder, Symbols};

/// How many turns each side has; with a multiple of three, each side has every place.
const ROUNDS: u32 = 3;

/// What the guest sends besides the messages of our cell.
#[derive(Serialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
enum Step<'a> {
    /// A turn begins.
    Turn { round: u32, side: Side },
    /// The trace of timerlat in its turn, and the thread that it measured.
    Timerlat { thread: i32, trace: &'a str },
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Side {
    TimerlatAlone,
    TimerlatRecorded,
    Ours,
}

fn main() -> ExitCode {
    run(compare)
}

fn compare() -> Result<(), FirstError> {
    let console = first::begin()?;
    if let Err(reason) = take_turns(console) {
        console.send(&Message::Failed { reason, hint: None })?;
    }
    first::end(console)
}

fn take_turns(console: Console) -> Result<(), String> {
    let request: CellRequest = first::request(console)?;
    let cell = &request.cell;
    let sides = [Side::TimerlatAlone, Side::TimerlatRecorded, Side::Ours];
    for round in 0..ROUNDS {
        for place in 0..sides.len() {
            let side = sides[(place + round as usize) % sides.len()];
            console.send(&Step::Turn { round, side }).map_err(text)?;
            if side == Side::Ours {
                first::measure(console, &request)?;
                continue;
            }
            let executable = std::env::current_exe().map_err(text)?;
            let load = RunningLoad::start(&cell.load, &HostOptions::new(executable));
            let load = load.map_err(|error| error.reason)?;
            thread::sleep(Duration::from(cell.warmup));
            let period = cell.probe.timer().interval.mean();
            timerlat(console, side == Side::TimerlatRecorded, period, cell.duration)?;
            load.stop();
        }
    }
    Ok(())
}

/// Runs timerlat for `duration`, and sends its trace.
fn timerlat(
    console: Console,
    recorded: bool,
    period: Nanos,
    duration: Nanos,
) -> Result<(), String> {
    set("trace", "")?;
    set("trace_clock", "mono")?;
    set("osnoise/timerlat_period_us", &(period.as_nanos() / 1000).to_string())?;
    set("current_tracer", "timerlat")?;
    let thread = thread_of("timerlat/0").ok_or("timerlat has no thread on CPU 0")?;
    // Skip the first wakeups of the new thread.
    thread::sleep(Duration::from(period.saturating_mul(10)));
    let options = Options {
        // Function names are not needed, and reading them takes seconds on an emulated machine.
        symbols: Some(Arc::new(Symbols::default())),
        ..Options::of_wakeups(&[ThreadId(thread)])
    };
    let recorder = recorded.then(|| Recorder::start(options)).transpose().map_err(text)?;
    thread::sleep(Duration::from(duration));
    let recorded = recorder.map(Recorder::stop).transpose().map_err(text)?;
    set("tracing_on", "0")?;
    let trace = fs::read_to_string(place("trace")).map_err(text)?;
    set("current_tracer", "nop")?;
    set("tracing_on", "1")?;
    console.send(&Step::Timerlat { thread, trace: &trace }).map_err(text)?;
    if let Some(recorded) = recorded {
        let bytes = recorded.recording.into_bytes().map_err(text)?;
        console.send(&Message::Recording { bytes }).map_err(text)?;
    }
    Ok(())
}

fn place(file: &str) -> String {
    format!("/sys/kernel/tracing/{file}")
}

fn set(file: &str, value: &str) -> Result<(), String> {
    fs::write(place(file), value).map_err(|error| match error.kind() {
        // The tracer or its files are missing.
        io::ErrorKind::InvalidInput | io::ErrorKind::NotFound => format!(
            "this kernel has no timerlat (CONFIG_TIMERLAT_TRACER): cannot write {value} to {file}"
        ),
        _ => format!("cannot write {value} to {file}: {error}"),
    })
}

/// The ID of the thread with this name; of several, the largest ID.
fn thread_of(name: &str) -> Option<i32> {
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.filter(|id| {
        let found = fs::read_to_string(format!("/proc/{id}/comm"));
        found.is_ok_and(|found| found.trim() == name)
    })
    .max()
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
