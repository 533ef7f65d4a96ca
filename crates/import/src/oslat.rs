//! `oslat --json=FILE` (rt-tests, `src/oslat/oslat.c`).
//!
//! It measures gaps in a loop that only reads the clock, not wakeups. So its cells are
//! `oslat-gap`, and are not compared with wakeups unless forced. The last bucket contains all
//! longer gaps.

use std::collections::BTreeSet;

use serde::Deserialize;
use tactus_model::cell::Cell;
use tactus_model::cpus::CpuList;
use tactus_model::format::quoted;
use tactus_model::time::Nanos;

use crate::command_line::{Given, Known};
use crate::error::ImportError;
use crate::result::{ForeignCell, ForeignResult, ForeignTask};
use crate::rt_tests::{Document, Histogram};
use crate::tally::Tally;

/// The options of oslat 2.40.
const OPTIONS: Known = Known {
    with_value: "bcCDfmTwW",
    with_optional_value: "",
    long: &[
        ("bucket-size", "b"),
        ("bias", "B"),
        ("cpu-list", "c"),
        ("duration", "D"),
        ("rtprio", "f"),
        ("bucket-width", "W"),
    ],
    long_with_value: &["json"],
};
/// Its default number of buckets.
const BUCKETS: u64 = 32;

#[derive(Debug, Deserialize)]
struct Thread {
    cpu: Option<u32>,
    max: Option<u64>,
    avg: Option<f64>,
    duration: Option<f64>,
    histogram: Histogram,
}

pub(crate) fn read(content: &[u8]) -> Result<ForeignResult, ImportError> {
    let document = Document::<Thread>::read(content)?;
    let given = Given::of(&document.command_line, &OPTIONS);
    for option in ["B", "W"] {
        if given.has(option) {
            return Err(ImportError::key(
                "cmdline",
                format!(
                    "oslat was started with -{option}, so its buckets are not whole microseconds; such files cannot be imported"
                ),
            ));
        }
    }
    let last = match given.value("b") {
        None => BUCKETS,
        Some(size) => size.parse().map_err(|_| {
            ImportError::key("cmdline", format!("`{}` is not a number of buckets", quoted(size)))
        })?,
    };
    let unit = Nanos::from_micros(1);
    let (started, facts) = (document.started(), document.facts());
    let mut window = document.window();
    let cpus: BTreeSet<u32> = document.thread.values().filter_map(|thread| thread.cpu).collect();
    let mut tasks = Vec::new();
    for (number, thread) in document.thread {
        let wrong = |reason| ImportError::key(format!("thread.{number}"), reason);
        tasks.push(task(&thread, unit, last).map_err(wrong)?);
        if let Some(seconds) = thread.duration.filter(|seconds| (0.0..1e9).contains(seconds)) {
            window = Nanos::from_nanos((seconds * 1e9) as u64);
        }
    }
    if tasks.is_empty() {
        return Err(ImportError::key("thread", "there is no thread"));
    }
    let mut cell = Cell::imported("oslat-gap");
    // An unrecognised value leaves its setting unknown.
    let policy = given.value("f").map_or("other".to_owned(), |priority| format!("fifo:{priority}"));
    for (name, value) in
        [("policy", policy), ("cpus", cpus.into_iter().collect::<CpuList>().to_string())]
    {
        let _ = cell.know(name, &value);
    }
    let cell = ForeignCell { cell, window, block_length: Nanos::ZERO, unit, tasks };
    Ok(ForeignResult {
        tool: "oslat",
        version: document.version,
        command_line: Some(document.command_line),
        started,
        facts,
        cells: vec![cell],
        notes: vec![
            format!("Gaps are rounded down to multiples of {unit}."),
            "Gaps in a busy loop have no due times, so none can be missed.".to_owned(),
            "The load is unknown, and so is the machine except for its kernel.".to_owned(),
        ],
    })
}

fn task(thread: &Thread, unit: Nanos, last: u64) -> Result<ForeignTask, String> {
    let mut tally = Tally::new(unit);
    for (gap, count) in thread.histogram.iter() {
        if gap >= last {
            tally.overflow(gap, count)?;
        } else {
            tally.count(gap, count)?;
        }
    }
    if tally.total() == 0 {
        return Err("the histogram is empty".to_owned());
    }
    thread.max.into_iter().for_each(|max| tally.greatest(max));
    thread.avg.into_iter().for_each(|mean| tally.mean(mean));
    Ok(ForeignTask::whole(thread.cpu, tally.finish()?))
}
