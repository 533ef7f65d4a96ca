//! The JSON of jitterdebugger (`dump_stats` in its `jitterdebugger.c`).
//!
//! Its histogram ends at one millisecond; longer latencies are counted but are in no slot.

use std::collections::BTreeMap;

use serde::Deserialize;
use tactus_model::cell::Cell;
use tactus_model::facts::MachineFacts;
use tactus_model::time::{Instant, Nanos};

use crate::error::ImportError;
use crate::result::{ForeignCell, ForeignResult, ForeignTask, check_task_count};
use crate::rt_tests::{Histogram, SystemInformation, tally};

/// The end of its histogram.
const END: Nanos = Nanos::from_millis(1);

#[derive(Debug, Deserialize)]
struct Document {
    /// Files before version 2 have none.
    #[serde(default)]
    sysinfo: Option<SystemInformation>,
    cpu: BTreeMap<u32, Thread>,
}

#[derive(Debug, Deserialize)]
struct Thread {
    histogram: Histogram,
    count: u64,
    max: Option<u64>,
    avg: Option<f64>,
}

pub(crate) fn read(content: &[u8], unit: Option<Nanos>) -> Result<ForeignResult, ImportError> {
    let document: Document =
        serde_json::from_slice(content).map_err(|error| ImportError::Json(error.to_string()))?;
    check_task_count(document.cpu.len())?;
    let (facts, reported) = document.sysinfo.map_or_else(
        || (MachineFacts::unknown(Instant::from_nanos(0)), None),
        |system| (system.facts(), system.resolution_in_ns),
    );
    let reported = reported.filter(|nanos| *nanos > 0).map(Nanos::from_nanos);
    let unit = unit.or(reported).unwrap_or(Nanos::from_micros(1));
    let mut tasks = Vec::new();
    for (cpu, thread) in document.cpu {
        let wrong = |reason| ImportError::key(format!("cpu.{cpu}"), reason);
        tasks.push(task(cpu, &thread, unit).map_err(wrong)?);
    }
    if tasks.is_empty() {
        return Err(ImportError::key("cpu", "there is no thread"));
    }
    let mut cell = Cell::imported("timer");
    // It always locks its memory and sets the idle-state exit limit to zero.
    for (name, value) in [
        ("clock", "monotonic"),
        ("lock-memory", "true"),
        ("cpu-dma-latency", "0us"),
        ("work", "none"),
        ("tasks", "threads"),
        ("tasks-per-cpu", "1"),
        ("traced", "0s"),
    ] {
        let _ = cell.know(name, value);
    }
    let cell = ForeignCell { cell, window: Nanos::ZERO, block_length: Nanos::ZERO, unit, tasks };
    Ok(ForeignResult {
        tool: "jitterdebugger",
        version: None,
        command_line: None,
        started: None,
        facts,
        cells: vec![cell],
        notes: vec![
            format!("Latencies are rounded down to multiples of {unit}."),
            "jitterdebugger does not count missed due times; their number is unknown (coordinated omission).".to_owned(),
            "The priority, the interval and the load are unknown, and so is the machine except for its kernel.".to_owned(),
        ],
    })
}

fn task(cpu: u32, thread: &Thread, unit: Nanos) -> Result<ForeignTask, String> {
    let mut tally = tally(&thread.histogram, unit, thread.count, END.div_floor(unit))?;
    thread.max.into_iter().for_each(|max| tally.greatest(max));
    thread.avg.into_iter().for_each(|mean| tally.mean(mean));
    Ok(ForeignTask::whole(Some(cpu), tally.finish()?))
}
