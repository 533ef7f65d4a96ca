//! Results of cyclictest (rt-tests, `src/cyclictest/cyclictest.c`).
//!
//! What it measures is what our timer probe measures: how long after its due time a
//! thread stamps the clock. When it comes late by a whole interval it goes on with the
//! next due time in the future, and does not count those it left out.

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

/// What cyclictest leaves open in every form of its results.
fn notes(unit: Nanos) -> Vec<String> {
    vec![
        format!("Latencies are whole multiples of {unit}, rounded down."),
        "Due times that were slept through are not counted by cyclictest; how many there were is unknown.".to_owned(),
        "The load, and the machine but for its kernel, are unknown.".to_owned(),
    ]
}

/// The cell of a command line, as far as it says what was done.
fn cell(given: &Given, cpus: &BTreeSet<u32>) -> Cell {
    let mut cell = Cell::imported("timer");
    // A value that is not understood leaves its setting unknown, which is what it is.
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
        // cyclictest writes minutes as m.
        let duration = duration
            .strip_suffix('m')
            .map_or(format!("{duration}{unit}"), |count| format!("{count}min"));
        know("duration", &duration);
    }
    cell
}

/// The class and priority; cyclictest measures as fifo where a priority is given, unless told otherwise.
fn policy(given: &Given) -> String {
    let priority = given.value("p").filter(|priority| *priority != "0");
    match (given.value("policy"), priority) {
        (Some("other" | "normal"), _) | (None, None) => "other".to_owned(),
        (Some(class @ ("batch" | "idle")), _) => class.to_owned(),
        (class, Some(priority)) => format!("{}:{priority}", class.unwrap_or("fifo")),
        // fifo or rr without a priority: cyclictest then takes the lowest.
        (Some(class), None) => format!("{class}:1"),
    }
}
