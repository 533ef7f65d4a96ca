//! What `cargo xtask timerlat` boots: a guest in which the kernel's timerlat tracer and our
//! measurement take turns.
//!
//! timerlat (the kernel's *Documentation/trace/timerlat-tracer.rst*) is driven by its files,
//! as rtla drives it. Each round has three turns, in another order every time: timerlat
//! alone; timerlat while our recorder keeps the events of its thread's wakeups, so that both
//! tell of the same wakeups; and our own cell, alone and recorded.
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
use tactus_model::message::Message;
use tactus_model::recording::ThreadId;
use tactus_model::time::Nanos;
use tactus_record::live::{Options, Recorder, Symbols};

/// How often each side has its turn; a multiple of three gives each every place.
const ROUNDS: u32 = 3;

/// What is told beside the messages of our cell.
#[derive(Serialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
enum Told<'a> {
    /// A turn begins.
    Turn { round: u32, side: Side },
    /// What timerlat wrote in its turn, and the thread that it measured.
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
        console.say(&Message::Failed { reason, hint: None })?;
    }
    first::end(console)
}

fn take_turns(console: Console) -> Result<(), String> {
    let request = first::request(console)?;
    let cell = &request.cell;
    let sides = [Side::TimerlatAlone, Side::TimerlatRecorded, Side::Ours];
    for round in 0..ROUNDS {
        for place in 0..sides.len() {
            let side = sides[(place + round as usize) % sides.len()];
            console.say(&Told::Turn { round, side }).map_err(told)?;
            if side == Side::Ours {
                first::measure(console, &request)?;
                continue;
            }
            let executable = std::env::current_exe().map_err(told)?;
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

/// Has timerlat measure for `duration`, and tells what it wrote.
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
    // Its first wakeups find the thread new.
    thread::sleep(Duration::from(period.saturating_mul(10)));
    let options = Options {
        // No name of a function is wanted, and reading them takes an emulated machine seconds.
        symbols: Some(Arc::new(Symbols::default())),
        ..Options::of_wakeups(&[ThreadId(thread)])
    };
    let recorder = recorded.then(|| Recorder::start(options)).transpose().map_err(told)?;
    thread::sleep(Duration::from(duration));
    let recorded = recorder.map(Recorder::stop).transpose().map_err(told)?;
    set("tracing_on", "0")?;
    let trace = fs::read_to_string(place("trace")).map_err(told)?;
    set("current_tracer", "nop")?;
    set("tracing_on", "1")?;
    console.say(&Told::Timerlat { thread, trace: &trace }).map_err(told)?;
    if let Some(recorded) = recorded {
        let bytes = recorded.recording.into_bytes().map_err(told)?;
        console.say(&Message::Recording { bytes }).map_err(told)?;
    }
    Ok(())
}

fn place(file: &str) -> String {
    format!("/sys/kernel/tracing/{file}")
}

fn set(file: &str, value: &str) -> Result<(), String> {
    fs::write(place(file), value).map_err(|error| match error.kind() {
        // The tracer, or its files.
        io::ErrorKind::InvalidInput | io::ErrorKind::NotFound => format!(
            "this kernel has no timerlat (CONFIG_TIMERLAT_TRACER): {file} does not take {value}"
        ),
        _ => format!("{file} does not take {value}: {error}"),
    })
}

/// The number of the thread of this name; of several the last.
fn thread_of(name: &str) -> Option<i32> {
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers
        .filter(|number| {
            let named = fs::read_to_string(format!("/proc/{number}/comm"));
            named.is_ok_and(|named| named.trim() == name)
        })
        .max()
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}
