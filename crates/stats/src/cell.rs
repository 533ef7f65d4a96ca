//! The results of all measurements of a cell combined.

use std::collections::HashSet;

use serde::Serialize;
use tactus_model::load::Load;
use tactus_model::origin::Precision;
use tactus_model::result::{
    Accounting, Count, Histogram, LoadResult, Measurement, Outlier, Shortfall,
};
use tactus_model::time::{Instant, Nanos, Realtime};

use crate::bootstrap::{Blocks, Interval, Unsupported};
use crate::histogram::LatencyHistogram;
use crate::unseen::UnseenBound;

/// The quantiles in the results.
pub const QUANTILES: [f64; 7] = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999];

/// A quantile of wakeup latency, by both rules of accounting.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct QuantileEstimate {
    /// The share of wakeups, 0 to 1.
    pub quantile: f64,
    /// The latency that this share of wakeups did not exceed (*per wakeup*); `None` if there
    /// are too few samples to distinguish the share from all.
    pub per_wakeup: Option<Nanos>,
    /// The latency that this share of due times did not exceed (*intended schedule*); also
    /// `None` if another program measured and did not count missed due times (coordinated
    /// omission).
    pub by_schedule: Option<Nanos>,
    /// The 95 % interval of `per_wakeup`.
    pub interval: Option<Interval>,
    /// Why there is no interval, if there is none.
    pub unsupported: Option<Unsupported>,
}

/// A late sample with the measurement that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LateSample {
    /// The round, counted from 0.
    pub round: u32,
    /// The task.
    pub task: u32,
    /// The CPU the task was pinned to, if it was pinned.
    pub cpu: Option<u32>,
    /// When its window opened.
    pub opened: Instant<Realtime>,
    /// The sample, with its index among the task's samples.
    pub outlier: Outlier,
}

/// What the load achieved per second, over all rounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadRate {
    /// Copies running when windows opened, the maximum over all rounds.
    pub copies: u32,
    /// Copies that exited on their own, over all rounds.
    pub ended: u32,
    /// The unit of an operation; empty if operations cannot be counted.
    pub unit: String,
    /// Operations per second of all copies together.
    pub operations_per_second: Option<f64>,
    /// Bytes per second of all copies together.
    pub bytes_per_second: Option<f64>,
    /// The number of CPUs that all copies used on average.
    pub cpus: Option<f64>,
    /// Further counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<CountRate>,
    /// What each of several loads achieved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartRate>,
}

/// The rate of an event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CountRate {
    /// The name of one event.
    pub what: String,
    /// Events per second.
    pub per_second: f64,
}

/// What one of several loads achieved per second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartRate {
    /// The load.
    pub load: Load,
    /// What it achieved.
    pub rate: LoadRate,
}

/// The results of all measurements of a cell combined.
///
/// Durations are whole nanoseconds in JSON.
#[derive(Clone, Debug, Serialize)]
pub struct CellSummary {
    /// The number of rounds with a result.
    pub rounds: u32,
    /// The account of every intended wakeup.
    pub accounting: Accounting,
    /// The minimum latency.
    pub min: Option<Nanos>,
    /// The mean latency of the observed wakeups, in nanoseconds.
    pub mean_ns: Option<f64>,
    /// The maximum latency; both rules of accounting agree on it unless it was missed.
    pub max: Option<Nanos>,
    /// Quantiles of latency.
    pub quantiles: Vec<QuantileEstimate>,
    /// The bound on the rate of latencies beyond `max`.
    pub unseen: Option<UnseenBound>,
    /// The worst samples of all rounds and tasks, the worst first.
    pub worst: Vec<LateSample>,
    /// What the load achieved.
    pub load: LoadRate,
    /// The requests that the machine did not grant, without duplicates.
    pub shortfalls: Vec<Shortfall>,
    /// The precision of another program's figures; `None` for measurements by Tactus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// Latencies of the observed wakeups.
    #[serde(skip)]
    pub per_wakeup: LatencyHistogram,
    /// Latencies of all due times; missed due times count until the arrival that ended the
    /// delay.
    #[serde(skip)]
    pub by_schedule: LatencyHistogram,
}

/// How many of the worst samples are kept per cell.
const WORST_KEPT: usize = 50;
/// Intervals must be the same each time a result is shown.
pub(crate) const SEED: u64 = 1992;

impl CellSummary {
    /// Combines all rounds and tasks of a cell.
    pub fn pool(measurements: &[&Measurement]) -> Self {
        let mut accounting = Accounting::default();
        measurements.iter().for_each(|measurement| accounting += measurement.accounting());
        let [per_wakeup, by_schedule] = both_rules(measurements);
        Self {
            rounds: measurements.len() as u32,
            accounting,
            min: per_wakeup.min(),
            mean_ns: per_wakeup.mean(),
            max: by_schedule.max(),
            quantiles: quantiles(measurements, &per_wakeup, &by_schedule),
            unseen: UnseenBound::after(by_schedule.count()),
            worst: worst(measurements),
            load: load_rate(measurements),
            shortfalls: shortfalls(measurements),
            precision: measurements
                .iter()
                .filter_map(|found| found.precision)
                .reduce(Precision::and),
            per_wakeup,
            by_schedule,
        }
    }

    /// The estimate for `quantile`, if it is one of [`QUANTILES`].
    pub fn quantile(&self, quantile: f64) -> Option<&QuantileEstimate> {
        self.quantiles.iter().find(|estimate| (estimate.quantile - quantile).abs() < 1e-9)
    }
}

/// The latencies of all rounds and tasks of a cell, *per wakeup* and by the *intended schedule*.
pub fn both_rules(measurements: &[&Measurement]) -> [LatencyHistogram; 2] {
    let mut per_wakeup = LatencyHistogram::new();
    let mut missed = LatencyHistogram::new();
    for task in measurements.iter().flat_map(|measurement| &measurement.tasks) {
        task.blocks.iter().for_each(|block| per_wakeup.merge_record(block));
        missed.merge_record(&task.missed_latencies);
    }
    let mut by_schedule = per_wakeup.clone();
    by_schedule.merge(&missed);
    [per_wakeup, by_schedule]
}

fn quantiles(
    measurements: &[&Measurement],
    per_wakeup: &LatencyHistogram,
    by_schedule: &LatencyHistogram,
) -> Vec<QuantileEstimate> {
    let rounds: Vec<Vec<Histogram>> =
        measurements.iter().map(|measurement| blocks_of_all_tasks(measurement)).collect();
    let intervals = Blocks::new(&rounds).intervals(&QUANTILES, SEED);
    let missed_known = measurements
        .iter()
        .all(|found| found.precision.is_none_or(|precision| precision.missed_known));
    QUANTILES
        .into_iter()
        .zip(intervals)
        .map(|(quantile, interval)| QuantileEstimate {
            quantile,
            per_wakeup: supported(per_wakeup, quantile),
            by_schedule: supported(by_schedule, quantile).filter(|_| missed_known),
            interval: interval.ok(),
            unsupported: interval.err(),
        })
        .collect()
}

/// The quantile, if at least one sample is expected beyond it.
pub fn supported(histogram: &LatencyHistogram, quantile: f64) -> Option<Nanos> {
    let beyond = histogram.count() as f64 * (1.0 - quantile);
    (beyond >= 1.0 - 1e-6).then(|| histogram.quantile(quantile)).flatten()
}

/// The blocks of a measurement. The blocks of all tasks in the same period of time form one
/// block, since a disturbance of the machine affects all its tasks.
pub fn blocks_of_all_tasks(measurement: &Measurement) -> Vec<Histogram> {
    let count = measurement.tasks.iter().map(|task| task.blocks.len()).max().unwrap_or(0);
    (0..count)
        .map(|index| {
            let mut together = LatencyHistogram::new();
            let blocks = measurement.tasks.iter().filter_map(|task| task.blocks.get(index));
            blocks.for_each(|block| together.merge_record(block));
            together.to_record()
        })
        .collect()
}

fn worst(measurements: &[&Measurement]) -> Vec<LateSample> {
    let mut late: Vec<LateSample> = measurements
        .iter()
        .flat_map(|measurement| {
            measurement.tasks.iter().flat_map(|task| {
                task.worst.iter().map(|outlier| LateSample {
                    round: measurement.turn.round,
                    task: task.task,
                    cpu: task.cpu,
                    opened: measurement.started,
                    outlier: *outlier,
                })
            })
        })
        .collect();
    late.sort_by_key(|sample| std::cmp::Reverse(sample.outlier.sample.latency()));
    late.truncate(WORST_KEPT);
    late
}

fn load_rate(measurements: &[&Measurement]) -> LoadRate {
    let loads: Vec<&LoadResult> = measurements.iter().map(|found| &found.load).collect();
    let seconds: f64 = measurements.iter().map(|found| found.rates.over.as_secs_f64()).sum();
    rate_of(&loads, seconds)
}

fn rate_of(loads: &[&LoadResult], seconds: f64) -> LoadRate {
    // A rate over all rounds needs a figure from every round.
    let rate = |figure: &dyn Fn(&LoadResult) -> Option<f64>| -> Option<f64> {
        let total: f64 = loads.iter().map(|load| figure(load)).sum::<Option<f64>>()?;
        (seconds > 0.0).then(|| total / seconds)
    };
    let first = loads.first();
    let others = first.map_or(&[][..], |load| &load.others).iter().filter_map(|counted| {
        let same = |load: &LoadResult| {
            let found = load.others.iter().find(|other| other.what == counted.what);
            found.map(|Count { count, .. }| *count as f64)
        };
        Some(CountRate { what: counted.what.clone(), per_second: rate(&same)? })
    });
    let parts = first.map_or(&[][..], |load| &load.parts).iter().enumerate();
    let parts = parts.map(|(number, part)| {
        let same = loads.iter().filter_map(|load| load.parts.get(number));
        let rounds: Vec<&LoadResult> = same.map(|part| &part.achieved).collect();
        PartRate { load: part.load.clone(), rate: rate_of(&rounds, seconds) }
    });
    LoadRate {
        copies: loads.iter().map(|load| load.copies).max().unwrap_or(0),
        ended: loads.iter().fold(0, |sum, load| sum.saturating_add(load.ended)),
        unit: first.map(|load| load.unit.clone()).unwrap_or_default(),
        operations_per_second: rate(&|load| load.operations.map(|count| count as f64)),
        bytes_per_second: rate(&|load| load.bytes.map(|count| count as f64)),
        cpus: rate(&|load| load.cpu_time.map(Nanos::as_secs_f64)),
        others: others.collect(),
        parts: parts.collect(),
    }
}

fn shortfalls(measurements: &[&Measurement]) -> Vec<Shortfall> {
    let mut seen = HashSet::new();
    measurements
        .iter()
        .flat_map(|measurement| &measurement.shortfalls)
        .filter(|shortfall| seen.insert(*shortfall))
        .cloned()
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use tactus_model::experiment::Turn;
    use tactus_model::policy::Scheduling;
    use tactus_model::result::{
        Granted, LoadResult, MachineRates, ProbeCost, TaskResult, TaskUsage,
    };
    use tactus_model::sample::Sample;

    use super::*;
    use crate::summary::{block_length, summarise};

    /// A second of a task that wakes every millisecond with these latencies.
    pub(crate) fn task(number: u32, latencies: &[u64], missed: &[u64]) -> TaskResult {
        let samples: Vec<Sample> = (0..)
            .zip(latencies)
            .map(|(k, latency)| {
                let due = Nanos::from_millis(k);
                Sample { due, came: due + Nanos::from_micros(*latency) }
            })
            .collect();
        let summary = summarise(&samples, Nanos::from_secs(1));
        let missed: LatencyHistogram =
            missed.iter().map(|latency| Nanos::from_micros(*latency)).collect();
        TaskResult {
            task: number,
            cpu: Some(number),
            granted: Granted {
                scheduling: Scheduling::ORDINARY,
                cpus: [number].into_iter().collect(),
                memory_locked: true,
                timer_slack: None,
            },
            accounting: Accounting {
                intended: samples.len() as u64 + missed.count(),
                observed: samples.len() as u64,
                missed: missed.count(),
                ..Accounting::default()
            },
            blocks: summary.blocks,
            missed_latencies: missed.to_record(),
            series: summary.series,
            scope: summary.scope,
            worst: summary.worst,
            usage: TaskUsage::default(),
            use_over_time: Vec::new(),
            batches: Vec::new(),
            timer_interrupts: None,
            clock: None,
            by_dirt: None,
            messages: None,
            playback: None,
        }
    }

    pub(crate) fn round(number: u32, tasks: Vec<TaskResult>) -> Measurement {
        Measurement {
            turn: Turn { round: number, cell: 0 },
            started: Instant::from_nanos(u64::from(number)),
            window: Nanos::from_secs(1),
            block_length: block_length(Nanos::from_secs(1)),
            tasks,
            load: LoadResult { copies: 2, operations: Some(500), ..LoadResult::default() },
            rates: MachineRates { over: Nanos::from_secs(1), ..MachineRates::default() },
            cost: ProbeCost::default(),
            shortfalls: Vec::new(),
            traced: None,
            precision: None,
            guest: None,
        }
    }

    #[test]
    fn rounds_and_tasks_are_pooled_by_both_rules() {
        let quiet: Vec<u64> = (0..1000).map(|k| 5 + k % 3).collect();
        let first = round(0, vec![task(0, &quiet, &[]), task(1, &quiet, &[])]);
        let stalled = round(1, vec![task(0, &quiet[..900], &[90_000; 100]), task(1, &quiet, &[])]);
        let summary = CellSummary::pool(&[&first, &stalled]);

        assert_eq!(summary.accounting.intended, 4000);
        assert_eq!(summary.accounting.missed, 100);
        assert_eq!(summary.per_wakeup.count(), 3900);
        assert_eq!(summary.by_schedule.count(), 4000);
        let p99 = summary.quantile(0.99).unwrap();
        assert!(p99.per_wakeup < Some(Nanos::from_micros(8)), "missed due times are not included");
        assert!(p99.by_schedule > Some(Nanos::from_millis(89)), "missed due times are included");
        assert!(p99.interval.is_some());
        assert_eq!(summary.quantile(0.99999).unwrap().per_wakeup, None, "too few samples");
        assert_eq!(summary.max, Some(Nanos::from_millis(90)));
        assert_eq!(summary.load.operations_per_second, Some(500.0));
        assert_eq!(summary.worst.len(), WORST_KEPT);
    }

    #[test]
    fn no_measurements_give_an_empty_summary() {
        let summary = CellSummary::pool(&[]);
        assert_eq!((summary.min, summary.max, summary.rounds), (None, None, 0));
        assert!(summary.quantiles.iter().all(|estimate| estimate.per_wakeup.is_none()));
    }
}
