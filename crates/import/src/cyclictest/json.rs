//! `cyclictest --json=FILE`.
//!
//! The file omits the wakeups that overflowed the histogram, but contains the number of cycles:
//! the difference is the overflow.

use serde::Deserialize;
use tactus_model::time::Nanos;

use super::{OPTIONS, cell, notes};
use crate::command_line::Given;
use crate::error::ImportError;
use crate::result::{ForeignCell, ForeignResult, ForeignTask};
use crate::rt_tests::{Document, Histogram, tally};

#[derive(Debug, Deserialize)]
struct Thread {
    histogram: Histogram,
    cycles: u64,
    max: Option<u64>,
    avg: Option<f64>,
    cpu: Option<u32>,
}

pub(crate) fn read(content: &[u8]) -> Result<ForeignResult, ImportError> {
    let document = Document::<Thread>::read(content)?;
    let given = Given::of(&document.command_line, &OPTIONS);
    // Older versions do not write the resolution; the option determines it.
    let nanos = document.resolution_in_ns == 1 || given.has("N");
    let unit = if nanos { Nanos::from_nanos(1) } else { Nanos::from_micros(1) };
    let size = given.value("h").or(given.value("H")).and_then(|size| size.parse().ok());
    let (window, started) = (document.window(), document.started());
    let facts = document.facts();
    let cpus = document.thread.values().filter_map(|thread| thread.cpu).collect();
    let mut tasks = Vec::new();
    for (number, thread) in document.thread {
        let wrong = |reason| ImportError::key(format!("thread.{number}"), reason);
        tasks.push(task(&thread, unit, size).map_err(wrong)?);
    }
    if tasks.is_empty() {
        return Err(ImportError::key("thread", "there is no thread"));
    }
    let cell =
        ForeignCell { cell: cell(&given, &cpus), window, block_length: Nanos::ZERO, unit, tasks };
    Ok(ForeignResult {
        tool: "cyclictest",
        version: document.version,
        command_line: Some(document.command_line),
        started,
        facts,
        cells: vec![cell],
        notes: notes(unit),
    })
}

fn task(thread: &Thread, unit: Nanos, size: Option<u64>) -> Result<ForeignTask, String> {
    if thread.histogram.iter().all(|(_, count)| count == 0) && size.is_none() {
        return Err("the histogram is empty: run cyclictest with -h, e.g. \
             cyclictest -h 1000 --json=FILE"
            .to_owned());
    }
    let mut tally = tally(&thread.histogram, unit, thread.cycles, size.unwrap_or(0))?;
    thread.max.into_iter().for_each(|max| tally.greatest(max));
    thread.avg.into_iter().for_each(|mean| tally.mean(mean));
    Ok(ForeignTask::whole(thread.cpu, tally.finish()?))
}
