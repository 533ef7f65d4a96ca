//! Stores with made-up runs.

use tactus_model::run::{Run, RunId};
use tactus_model::time::{Instant, Nanos};
use tactus_store::Store;

use crate::runs;

/// A plan of one short cell.
pub const PLAN: &str = "name = \"watched\"\nrounds = 1\n\
    [settings]\nduration = \"11s\"\npolicy = \"fifo:90\"\nload = \"idle\"";

/// A day between two runs.
const DAY: u64 = 86_400_000_000_000;

/// The run `number` of a plan on a machine; `slower` runs have all latencies twice as long.
pub fn run(template: &Run, number: u64, machine: &str, slower: bool) -> Run {
    let mut run = template.clone();
    let begin = run.header.created.as_nanos() + number * DAY;
    run.header.id = RunId::new("");
    run.header.created = Instant::from_nanos(begin);
    run.header.facts_before.machine_id = Some(machine.repeat(8));
    for task in run.measurements.iter_mut().flat_map(|measurement| &mut measurement.tasks) {
        for block in &mut task.blocks {
            vary(block, number, slower);
        }
    }
    run
}

/// Makes the latencies of a histogram longer by some nanoseconds, and twice as long.
fn vary(block: &mut tactus_model::result::Histogram, number: u64, slower: bool) {
    let longer = |length: Nanos| {
        let length = length.as_nanos() + number * 37 % 97;
        Nanos::from_nanos(if slower { length * 2 } else { length })
    };
    block.min = longer(block.min);
    block.max = longer(block.max);
    block.sum = block
        .buckets
        .iter()
        .map(|(at, count)| Nanos::from_nanos(longer(*at).as_nanos().saturating_mul(*count)))
        .sum();
    for (at, _) in &mut block.buckets {
        *at = longer(*at);
    }
}

/// Adds 24 runs on each of two machines; on the second, runs from the 13th are slower.
pub fn fill(store: &mut Store) -> Vec<RunId> {
    let template = runs::run(PLAN, 5);
    let mut ids = Vec::new();
    for number in 0..24 {
        for (machine, slower) in [("ab12cd34", false), ("ef56ab78", number >= 12)] {
            ids.push(store.add(run(&template, number, machine, slower)).expect("a run"));
        }
    }
    ids
}
