//! Consistency checks before a result is stored.

use std::collections::BTreeMap;

use tactus_model::facts::MachineFacts;
use tactus_model::limits::{self, SAMPLES_ALWAYS, SAMPLES_PER_BYTE};
use tactus_model::result::{Accounting, Histogram, Measurement, TaskResult};
use tactus_model::run::RunHeader;
use tactus_model::sample::{DamagedBlock, SampleBlock};
use tactus_model::traced::{HandedOver, TracedData};

use crate::StoreError;

/// An inconsistency in a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Imbalance {
    /// The accounting invariant is violated.
    #[error(
        "task {task}: intended {intended} is not observed {observed} + missed {missed} + dropped {dropped}"
    )]
    Intended {
        /// The task's number.
        task: u32,
        /// Due times within the window.
        intended: u64,
        /// Wakeups kept.
        observed: u64,
        /// Due times that were missed.
        missed: u64,
        /// Wakeups not stored.
        dropped: u64,
    },
    /// Two figures that must be equal differ.
    #[error("task {task}: {what} {found} is not {equal_to} {expected}")]
    Different {
        /// The task's number.
        task: u32,
        /// The figure.
        what: &'static str,
        /// Its value.
        found: u64,
        /// The figure that it must equal.
        equal_to: &'static str,
        /// Its value.
        expected: u64,
    },
    /// A figure exceeds its limit.
    #[error("task {task}: {what} {found} is more than {limit}")]
    Beyond {
        /// The task's number.
        task: u32,
        /// The figure.
        what: &'static str,
        /// Its value.
        found: u64,
        /// Its limit.
        limit: u64,
    },
    /// The buckets of a histogram are not in ascending order, or a bucket is empty.
    #[error("task {task}: the buckets of {what} are not ascending and filled")]
    Buckets {
        /// The task's number.
        task: u32,
        /// Which histogram.
        what: &'static str,
    },
    /// Two tasks have the same number.
    #[error("task {0} occurs twice")]
    TwiceTheSameTask(u32),
    /// Samples belong to a task without a result.
    #[error("task {0} has samples but no result")]
    SamplesWithoutTask(u32),
    /// The count of a sample block exceeds its limit, or the block cannot be decoded.
    #[error("task {task}: {reason}")]
    Samples {
        /// The task's number.
        task: u32,
        /// The reason.
        reason: String,
    },
    /// More samples than their bytes can plausibly hold.
    #[error("{found} samples are more than their bytes hold; the limit is {limit}")]
    TooManySamples {
        /// The number of samples.
        found: u64,
        /// The limit for their bytes.
        limit: u64,
    },
    /// A figure is infinite or not a number, which JSON cannot represent.
    #[error("{0} is not a finite number")]
    NotFinite(&'static str),
}

/// Checks the whole result of a turn, including its traced stretch.
pub(crate) fn check_turn(
    measurement: &Measurement,
    samples: &[(u32, SampleBlock)],
    traced_data: &TracedData,
) -> Result<(), StoreError> {
    check(measurement, samples)
        .and_then(|()| check_traced(measurement, traced_data))
        .map_err(|imbalance| StoreError::Unbalanced { turn: measurement.turn, imbalance })
}

/// Checks that a result accounts for every sample and can be kept as it is.
fn check(measurement: &Measurement, samples: &[(u32, SampleBlock)]) -> Result<(), Imbalance> {
    finite("the cost of reading the clock", measurement.cost.clock_read_ns)?;
    finite("the cost of the loop", measurement.cost.loop_ns)?;
    finite("the load average", measurement.rates.load_average.unwrap_or(0.0))?;
    let mut observed = BTreeMap::new();
    for task in &measurement.tasks {
        check_task(task)?;
        if observed.insert(task.task, task.accounting.observed).is_some() {
            return Err(Imbalance::TwiceTheSameTask(task.task));
        }
    }
    check_samples(&observed, samples)
}

/// Checks that the results of a traced window account for every sample.
fn check_traced(measurement: &Measurement, traced_data: &TracedData) -> Result<(), Imbalance> {
    let mut observed = BTreeMap::new();
    for task in measurement.traced.iter().flat_map(|traced| &traced.tasks) {
        let number = task.task;
        let Accounting { intended, observed: came, missed, dropped, early } = task.accounting;
        within(number, "intended", intended, limits::COUNT)?;
        if !task.accounting.balances() {
            let observed = came;
            return Err(Imbalance::Intended { task: number, intended, observed, missed, dropped });
        }
        within(number, "early", early, came)?;
        check_histogram(number, "the traced latencies", &task.latencies)?;
        let counted = task.latencies.count;
        equal(number, ("the count of traced latencies", counted), ("observed", came))?;
        if let Some(HandedOver { block, .. }) = &task.handed_over {
            let most = came.min(HandedOver::SAMPLES_MAX as u64);
            within(number, "the count of samples handed over", block.count, most)?;
            check_readable(&[(number, block.clone())])?;
        }
        if observed.insert(number, came).is_some() {
            return Err(Imbalance::TwiceTheSameTask(number));
        }
    }
    check_samples(&observed, &traced_data.samples)
}

/// Checks that the facts of a machine can be stored exactly.
pub(crate) fn check_facts(facts: &MachineFacts) -> Result<(), StoreError> {
    facts
        .load_average
        .unwrap_or_default()
        .into_iter()
        .try_for_each(|average| finite("the load average", average))
        .map_err(|imbalance| StoreError::Unkeepable {
            what: "the facts of the machine",
            reason: imbalance.to_string(),
        })
}

/// When a run began, as SQLite keeps it: in nanoseconds since 1970.
pub(crate) fn created_ns(header: &RunHeader) -> Result<i64, StoreError> {
    i64::try_from(header.created.as_nanos()).map_err(|_| StoreError::Unkeepable {
        what: "the moment a run began",
        reason: "it lies after the year 2262, where SQLite's integers end".to_owned(),
    })
}

/// Checks that sample blocks can be decoded, in memory in proportion to their bytes; worth its
/// time only for blocks from an import.
pub(crate) fn check_readable(samples: &[(u32, SampleBlock)]) -> Result<(), Imbalance> {
    let bytes = total(samples.iter().map(|(_, block)| block.bytes.len() as u64));
    let limit = bytes.saturating_mul(SAMPLES_PER_BYTE).max(SAMPLES_ALWAYS);
    let found = total(samples.iter().map(|(_, block)| block.count));
    if found > limit {
        return Err(Imbalance::TooManySamples { found, limit });
    }
    for (task, block) in samples {
        let unreadable =
            |error: DamagedBlock| Imbalance::Samples { task: *task, reason: error.to_string() };
        block.decode().map_err(unreadable)?;
    }
    Ok(())
}

fn check_task(result: &TaskResult) -> Result<(), Imbalance> {
    let task = result.task;
    let Accounting { intended, observed, missed, dropped, early } = result.accounting;
    within(task, "intended", intended, limits::COUNT)?;
    if !result.accounting.balances() {
        return Err(Imbalance::Intended { task, intended, observed, missed, dropped });
    }
    within(task, "early", early, observed)?;
    for block in &result.blocks {
        check_histogram(task, "a block", block)?;
    }
    check_histogram(task, "the missed latencies", &result.missed_latencies)?;
    let in_blocks = total(result.blocks.iter().map(|block| block.count));
    equal(task, ("the count of all blocks", in_blocks), ("observed", observed))?;
    let in_missed = result.missed_latencies.count;
    equal(task, ("the count of missed latencies", in_missed), ("missed", missed))
}

fn check_histogram(task: u32, what: &'static str, histogram: &Histogram) -> Result<(), Imbalance> {
    let buckets = &histogram.buckets;
    let filled = buckets.iter().all(|(_, count)| *count > 0);
    let ascending = buckets.windows(2).all(|pair| pair[0].0 < pair[1].0);
    if !(filled && ascending) {
        return Err(Imbalance::Buckets { task, what });
    }
    let in_buckets = total(buckets.iter().map(|(_, count)| *count));
    equal(task, ("the count of all buckets", in_buckets), (what, histogram.count))
}

/// Checks that the samples of a task are either complete or absent.
fn check_samples(
    observed: &BTreeMap<u32, u64>,
    samples: &[(u32, SampleBlock)],
) -> Result<(), Imbalance> {
    let mut kept: BTreeMap<u32, u64> = BTreeMap::new();
    for (task, block) in samples {
        within(*task, "the count of a block of samples", block.count, SampleBlock::MAX_COUNT)?;
        let kept = kept.entry(*task).or_default();
        *kept = kept.saturating_add(block.count);
    }
    for (task, kept) in kept {
        let observed = *observed.get(&task).ok_or(Imbalance::SamplesWithoutTask(task))?;
        equal(task, ("the count of samples", kept), ("observed", observed))?;
    }
    Ok(())
}

/// Saturates: such a large sum fails the comparison that follows.
fn total(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

fn equal(
    task: u32,
    (what, found): (&'static str, u64),
    (equal_to, expected): (&'static str, u64),
) -> Result<(), Imbalance> {
    if found == expected {
        Ok(())
    } else {
        Err(Imbalance::Different { task, what, found, equal_to, expected })
    }
}

fn within(task: u32, what: &'static str, found: u64, limit: u64) -> Result<(), Imbalance> {
    if found <= limit { Ok(()) } else { Err(Imbalance::Beyond { task, what, found, limit }) }
}

fn finite(what: &'static str, number: f64) -> Result<(), Imbalance> {
    if number.is_finite() { Ok(()) } else { Err(Imbalance::NotFinite(what)) }
}
