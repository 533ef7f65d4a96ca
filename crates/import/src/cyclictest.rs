//! Results of cyclictest (rt-tests, `src/cyclictest/cyclictest.c`).
//!
//! It measures the same as the timer probe: how long after its due time a thread reads the
//! clock. If it is late by an interval or more, it continues with the next due time in the
//! future, and does not count the due times it skipped (coordinated omission).

pub(crate) mod histogram;
pub(crate) mod json;

use std::collections::BTreeSet;

use tactus_model::cell::Cell;
use tactus_model::cpus::CpuList;
use tactus_model::time::Nanos;

use crate::command_line::{Given, Known};

/// The options of cyclictest 2.40.
pub(crate) const OPTIONS: Known = Known {
    with_value: "AbcdDFhHilopy",
    with_optional_value: "at",
    long: &[
        ("affinity", "a"),
        ("aligned", "A"),
        ("breaktrace", "b"),
        ("clock", "c"),
        ("distance", "d"),
        ("duration", "D"),
        ("fifo", "F"),
        ("histogram", "h"),
        ("histofall", "H"),
        ("interval", "i"),
        ("loops", "l"),
        ("mlockall", "m"),
        ("nsecs", "N"),
        ("oscope", "o"),
        ("priority", "p"),
        ("posix_timers", "x"),
        ("quiet", "q"),
        ("relative", "r"),
        ("smp", "S"),
        ("system", "s"),
        ("threads", "t"),
    ],
    long_with_value: &[
        "latency",
        "policy",
        "mainaffinity",
        "histfile",
        "json",
        "spike",
        "spike-nodes",
    ],
};

/// Notes on the data that all result formats of cyclictest lack.
fn notes(unit: Nanos) -> Vec<String> {
    vec![
        format!("Latencies are rounded down to multiples of {unit}."),
        "cyclictest does not count missed due times; their number is unknown (coordinated omission).".to_owned(),
        "The load is unknown, and so is the machine except for its kernel.".to_owned(),
    ]
}

/// The cell of a command line, as far as the command line determines it.
fn cell(given: &Given, cpus: &BTreeSet<u32>) -> Cell {
    let mut cell = Cell::imported("timer");
    // An unrecognised value leaves its setting unknown.
    let mut know = |name: &str, value: &str| drop(cell.know(name, value));
    know("policy", &policy(given));
    know("interval", &format!("{}us", given.value("i").unwrap_or("1000")));
    match given.value("c") {
        None | Some("0") => know("clock", "monotonic"),
        Some("1") => know("clock", "realtime"),
        Some(_) => {}
    }
    match (given.has("s"), given.has("x"), given.has("r")) {
        (false, true, false) => know("sleep", "posix-timer"),
        (false, false, false) => know("sleep", "nanosleep"),
        (false, false, true) => know("sleep", "nanosleep-relative"),
        _ => {}
    }
    know("lock-memory", if given.has("m") { "true" } else { "false" });
    match given.value("latency") {
        _ if given.has("laptop") || given.has("default-system") => {
            know("cpu-dma-latency", "untouched");
        }
        None => know("cpu-dma-latency", "0us"),
        Some(latency) => know("cpu-dma-latency", &format!("{latency}us")),
    }
    know("work", "none");
    know("tasks", "threads");
    know("traced", "0s");
    if (given.has("S") || given.has("a")) && !cpus.is_empty() {
        know("cpus", &cpus.iter().copied().collect::<CpuList>().to_string());
    }
    if given.has("S") {
        know("tasks-per-cpu", "1");
    }
    if let Some(duration) = given.value("D") {
        let unit =
            if duration.ends_with(|letter: char| letter.is_ascii_digit()) { "s" } else { "" };
        // cyclictest abbreviates minutes as m.
        let duration = duration
            .strip_suffix('m')
            .map_or(format!("{duration}{unit}"), |count| format!("{count}min"));
        know("duration", &duration);
    }
    cell
}

/// The policy of the command line; cyclictest uses fifo if only a priority is given.
fn policy(given: &Given) -> String {
    let priority = given.value("p").filter(|priority| *priority != "0");
    match (given.value("policy"), priority) {
        (Some("other" | "normal"), _) | (None, None) => "other".to_owned(),
        (Some(class @ ("batch" | "idle")), _) => class.to_owned(),
        (class, Some(priority)) => format!("{}:{priority}", class.unwrap_or("fifo")),
        // fifo or rr without a priority: cyclictest uses the lowest priority.
        (Some(class), None) => format!("{class}:1"),
    }
}
