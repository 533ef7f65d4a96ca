//! What an operation costs: the floor, the typical cost and the tail, each by its own estimator.
//!
//! The *floor* is the minimum and the 10th percentile of the samples: every disturbance only makes
//! a sample longer. The *typical* cost is the median over processes of what each found (the median of
//! its batches), with an interval by a hierarchical bootstrap of the same ([`resample`]): processes
//! often differ by more than their batches do (E. Barrett and others, *Virtual Machine Warmup Blows
//! Hot and Cold*, 2017), and a fast one, which has more samples, must not count for more. The *tail* is
//! the 99th percentile of the samples of all processes, each with an equal share. The mean is never a typical cost: a few samples of a preempted process would
//! determine it. Files that are read ahead are the exception: most of their blocks are there, and a
//! few wait for the disk, so their typical cost is the time of whole passes.
//!
//! A cost is in nanoseconds per operation: the duration of a sample, less one reading of the clock,
//! divided by the operations of a sample.

mod comparison;
mod contamination;
pub mod differences;
pub mod growth;
pub mod ranking;
pub mod resample;
mod tail;

use std::collections::BTreeMap;

use serde::Serialize;
use tactus_model::bytes::Bytes;
use tactus_model::cell::Cell;
use tactus_model::cost::{CostProbe, Family, Operation, Traits};
use tactus_model::label::differing_settings;
use tactus_model::probe::ProbeKind;
use tactus_model::random::SplitMix64;
use tactus_model::result::{Batch, ClockFindings, Measurement};
use tactus_model::run::Run;
use tactus_model::settings;
use tactus_model::time::Nanos;

pub use self::contamination::Contamination;
use self::contamination::{Guard, Marks};
use self::differences::{Difference, differences};
use self::growth::{AtSize, Growth};
use self::ranking::{Ranking, rankings};
use self::resample::{Resamples, drawn_median};
use self::tail::Tail;
use crate::cell::{SEED, both_rules};
use crate::interrupt_cost::{InterruptCost, interrupt_costs};
use crate::median::median_of;
use crate::modes::Modes;

/// What the operations of a run cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunCosts {
    /// The duration of a getppid(2) call, in nanoseconds: the median of the calibrations of all
    /// batches. `None` without batches.
    pub system_call_ns: Option<f64>,
    /// The two speeds of the machine, by the same calibrations; `None` if it has one.
    pub modes: Option<Modes>,
    /// A row for each measured operation, in the order of the plan.
    pub rows: Vec<CostRow>,
    /// How costs grow with size, of each operation that was measured with several.
    pub growth: Vec<OverSizes>,
    /// Which ways of doing the same are best.
    pub rankings: Vec<Ranking>,
    /// What changes of a setting add.
    pub differences: Vec<Difference>,
    /// What clock interrupts cost, if sorts were measured at several rates of them.
    pub interrupts: Vec<InterruptCost>,
}

/// The settings that are sizes.
const SIZES: [&str; 2] = ["size", "image"];

/// How the cost of an operation grows with its size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverSizes {
    /// Its cells, in the order of sizes.
    pub cells: Vec<usize>,
    /// How it grows.
    #[serde(flatten)]
    pub growth: Growth,
}

/// What the operation of a cell costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostRow {
    /// The index of the cell in the plan.
    pub cell: usize,
    /// The group of the operation.
    pub family: Family,
    /// What is counted as one operation.
    pub unit: &'static str,
    /// The settings of the operation, by name.
    pub settings: BTreeMap<&'static str, String>,
    /// The other settings in which the cells of the run differ, such as the load, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub conditions: BTreeMap<&'static str, String>,
    /// The bytes that one operation moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved: Option<Bytes>,
    /// The memory that one operation touches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub touched: Option<Bytes>,
    /// The cost.
    #[serde(flatten)]
    pub cost: CostSummary,
}

impl CostRow {
    /// The bytes moved per second; `None` if it moves none.
    pub fn bytes_per_second(&self) -> Option<f64> {
        self.cost.bytes_per_second(self.moved?)
    }

    /// The operation.
    pub fn operation(&self) -> Option<&str> {
        self.settings.get("operation").map(String::as_str)
    }

    /// Its size; `None` if it has none.
    pub fn size(&self) -> Option<Bytes> {
        self.moved.or_else(|| self.settings.get("size")?.parse().ok())
    }

    fn has(&self, setting: &str, value: &str) -> bool {
        self.settings.get(setting).is_some_and(|known| known == value)
    }

    /// Whether all its settings and conditions but these are those of another.
    fn differs_only_in(&self, other: &Self, but: &[&str]) -> bool {
        let rest = |row: &Self| -> Vec<(&'static str, String)> {
            let settings = row.settings.iter().filter(|(name, _)| !but.contains(name));
            settings.map(|(name, value)| (*name, value.clone())).collect()
        };
        self.conditions == other.conditions && rest(self) == rest(other)
    }
}

/// How the cost of each operation grows that was measured with several sizes.
fn growth(rows: &[CostRow]) -> Vec<OverSizes> {
    let mut groups: Vec<Vec<&CostRow>> = Vec::new();
    for row in rows.iter().filter(|row| row.size().is_some()) {
        match groups.iter_mut().find(|group| group[0].differs_only_in(row, &SIZES)) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    let fit = |mut group: Vec<&CostRow>| {
        group.sort_by_key(|row| row.size());
        let at = |row: &&CostRow| {
            let CostSummary { of_processes_ns, resamples, .. } = &row.cost;
            let (costs, resamples) = (of_processes_ns.clone(), resamples.clone());
            Some(AtSize { size: row.size()?, costs, resamples })
        };
        let points: Vec<AtSize> = group.iter().filter_map(at).collect();
        let cells = group.iter().map(|row| row.cell).collect();
        Some(OverSizes { cells, growth: Growth::of(&points)? })
    };
    groups.into_iter().filter_map(fit).collect()
}

impl RunCosts {
    /// The row of a cell of the plan.
    pub fn row(&self, cell: usize) -> Option<&CostRow> {
        self.rows.iter().find(|row| row.cell == cell)
    }

    /// Summarizes the cost cells of a run.
    pub fn of(run: &Run) -> Self {
        let cells = &run.header.plan.cells;
        let of_cell = |cell: usize| -> Vec<&Measurement> {
            run.measurements.iter().filter(|found| found.turn.cell == cell).collect()
        };
        let all: Vec<f64> = calibrations(&run.measurements).collect();
        let modes = Modes::of(&all);
        let of_operations: Vec<Cell> =
            cells.iter().filter(|cell| cell.probe.cost().is_some()).cloned().collect();
        let differing = differing_settings(&of_operations);
        let row = |(cell, settings): (usize, &Cell)| {
            let probe = settings.probe.cost()?;
            let cost = CostSummary::of(probe, &of_cell(cell), modes.as_ref())?;
            let (Traits { family, .. }, unit) = (probe.operation.traits(), probe.unit());
            // A sleep is chosen by the settings of all probes.
            let sleeps = probe.operation == Operation::ClockSleep;
            let own = |(name, _): &(&'static str, String)| {
                settings::find(name).is_ok_and(|setting| setting.of == Some(ProbeKind::Cost))
                    || (sleeps && ["sleep", "clock"].contains(name))
            };
            let (own, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
                settings.settings().partition(own);
            let conditions =
                others.into_iter().filter(|(name, _)| differing.contains(name)).collect();
            Some(CostRow {
                cell,
                family,
                unit,
                settings: own,
                conditions,
                moved: probe.moved(),
                touched: probe.touched(),
                cost,
            })
        };
        let rows: Vec<CostRow> = cells.iter().enumerate().filter_map(row).collect();
        let (growth, rankings, differences) = (growth(&rows), rankings(&rows), differences(&rows));
        let measurements: Vec<&Measurement> = run.measurements.iter().collect();
        let interrupts = interrupt_costs(cells, &measurements);
        let system_call_ns = median_of(all);
        Self { system_call_ns, modes, rows, growth, rankings, differences, interrupts }
    }
}

/// The cost of an operation in a cell, in nanoseconds per operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostSummary {
    /// The number of processes that measured it.
    pub processes: usize,
    /// The number of samples.
    pub samples: u64,
    /// How many operations a sample has. With several, quantiles are those of their means.
    pub per_sample: u32,
    /// The floor: the minimum.
    pub min_ns: f64,
    /// The floor: the 10th percentile.
    pub p10_ns: f64,
    /// The typical cost: the median over processes of the median of each one's batches. Of a file that
    /// is read ahead, it is the median over processes of the time of whole passes, per block.
    pub typical_ns: f64,
    /// Its 95 % interval; `None` with fewer than three processes.
    pub interval: Option<[f64; 2]>,
    /// Its resamples, for intervals of what is computed from several costs.
    #[serde(skip)]
    pub resamples: Resamples,
    /// The median over processes of the median of each one's batches: the same as the typical cost,
    /// unless a file is read ahead.
    pub median_ns: f64,
    /// The time of all samples, per operation.
    pub mean_ns: f64,
    /// The 99th percentile of samples, of which each process has an equal share; `None` without enough
    /// samples.
    pub p99_ns: Option<f64>,
    /// Its interval, if the samples support one.
    pub p99_interval: Option<[f64; 2]>,
    /// The CPU time of an operation, its partner's included: the median over processes of the median
    /// of each one's batches. It includes what prepares a sample.
    pub cpu_ns: Option<f64>,
    /// The maximum.
    pub max_ns: f64,
    /// The typical cost in each process.
    pub of_processes_ns: Vec<f64>,
    /// The relative difference below which two measurements of the same thing stay in 95 of 100
    /// cases (A/A). `None` with fewer than three processes.
    pub noise_floor: Option<f64>,
    /// The CPU time of an operation on the task's CPU, with that of interrupts and of the kernel's
    /// threads: the time that was not idle, by a thread of the lowest priority that counts. `None`
    /// without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_ns: Option<f64>,
    /// What else had the CPU.
    pub contamination: Contamination,
    /// What the readings of the measured clock showed in all processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockFindings>,
    /// The median without the contaminated batches, if any is left.
    pub clean_ns: Option<f64>,
    /// The median while the machine was in its fast and in its slow mode, if it has two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_mode_ns: Option<[Option<f64>; 2]>,
}

/// The batches of a process, without those that have no sample.
fn batches(measurement: &Measurement) -> impl Iterator<Item = &Batch> {
    let all = measurement.tasks.iter().flat_map(|task| &task.batches);
    all.filter(|batch| batch.count > 0)
}

/// The duration of a system call while each batch was measured, in nanoseconds per call.
pub fn calibrations<'m>(
    measurements: impl IntoIterator<Item = &'m Measurement>,
) -> impl Iterator<Item = f64> {
    measurements.into_iter().flat_map(|measurement| batches(measurement).map(calibration))
}

fn calibration(batch: &Batch) -> f64 {
    batch.calibration.as_nanos() as f64 / f64::from(Batch::CALIBRATION_CALLS)
}

/// From the duration of a sample to the cost of an operation.
#[derive(Clone, Copy)]
struct Scale {
    per_sample: f64,
    clock_read_ns: f64,
}

impl Scale {
    fn cost(self, sample: Nanos) -> f64 {
        (sample.as_nanos() as f64 - self.clock_read_ns).max(0.0) / self.per_sample
    }
}

impl CostSummary {
    /// Summarizes all processes of a cell; `None` without samples. `modes` are those of the whole
    /// run.
    pub fn of(
        cost: &CostProbe,
        measurements: &[&Measurement],
        modes: Option<&Modes>,
    ) -> Option<Self> {
        let clock = measurements.iter().map(|found| found.cost.clock_read_ns);
        let scale = Scale {
            per_sample: f64::from(cost.per_sample().max(1)),
            clock_read_ns: median_of(clock)?,
        };
        let [samples, _] = both_rules(measurements);
        let guard = Guard::of(cost);
        let mut by_round: Vec<&Measurement> = measurements.to_vec();
        by_round.sort_by_key(|found| found.turn.round);
        let processes: Vec<Vec<(&Batch, Marks)>> = by_round
            .iter()
            .map(|found| found.tasks.iter().flat_map(|task| guard.judge(task)).collect())
            .collect();
        let of = |of: &dyn Fn(&Batch, Marks) -> Option<f64>| -> Vec<Vec<f64>> {
            let values = processes.iter().map(|batches| -> Vec<f64> {
                batches.iter().filter_map(|(batch, marks)| of(batch, *marks)).collect()
            });
            values.filter(|values| !values.is_empty()).collect()
        };
        let cost_of = |batch: &Batch| scale.cost(batch.median);
        let medians = of(&|batch, _| Some(cost_of(batch)));
        let typical = match cost.is_read_ahead() {
            true => passes(&by_round, scale),
            false => medians.clone(),
        };
        let by_mode_ns = modes.map(|modes| {
            let is_fast = |batch: &Batch| calibration(batch) <= modes.limit;
            let in_mode =
                |fast: bool| of(&|batch, _| (is_fast(batch) == fast).then(|| cost_of(batch)));
            [true, false].map(|fast| median_of_medians(&in_mode(fast)))
        });
        // A batch begins with a sample that is not kept, unless it goes on with a pass.
        let unkept = if cost.is_cold() { 0.0 } else { 1.0 };
        let cpu_time = |batch: &Batch| {
            let samples = f64::from(batch.count) + unkept;
            batch.ran.as_nanos() as f64 / samples / scale.per_sample
        };
        let mean_ns = scale.cost(Nanos::from_nanos(samples.mean()?.round() as u64));
        let tail = Tail::of(measurements);
        let resamples = Resamples::of(&typical);
        let of_processes_ns: Vec<f64> =
            typical.iter().filter_map(|values| median_of(values.iter().copied())).collect();
        let clean = of(&|batch, marks| (!marks.is_any()).then(|| cost_of(batch)));
        Some(Self {
            processes: measurements.len(),
            samples: samples.count(),
            per_sample: cost.per_sample(),
            min_ns: scale.cost(samples.min()?),
            p10_ns: scale.cost(samples.quantile(0.1)?),
            typical_ns: median_of(of_processes_ns.iter().copied())?,
            interval: resamples.interval(),
            resamples,
            median_ns: median_of_medians(&medians)?,
            mean_ns,
            used_ns: used_share(measurements).map(|share| share * mean_ns),
            p99_interval: tail.interval.map(|ends| ends.map(|end| scale.cost(end))),
            cpu_ns: median_of_medians(&of(&|batch, _| Some(cpu_time(batch)))),
            p99_ns: tail.p99.map(|p99| scale.cost(p99)),
            max_ns: scale.cost(samples.max()?),
            noise_floor: noise_floor(&of_processes_ns),
            of_processes_ns,
            contamination: Contamination::of(guard, measurements),
            clock: clock_findings(measurements),
            clean_ns: median_of_medians(&clean),
            by_mode_ns,
        })
    }

    /// [`used_ns`](Self::used_ns), unless it is less than the operation's own CPU time, which it
    /// contains: then other programs took the CPU from the thread that counts.
    pub fn credible_used_ns(&self) -> Option<f64> {
        self.used_ns.filter(|used| self.cpu_ns.is_none_or(|cpu| *used >= cpu))
    }

    /// The rate of operations that move these bytes; `None` if they take no time.
    pub fn bytes_per_second(&self, moved: Bytes) -> Option<f64> {
        (self.typical_ns > 0.0).then(|| moved.get() as f64 / self.typical_ns * 1e9)
    }
}

/// The median over processes of the median of each one's values; `None` without values.
fn median_of_medians(processes: &[Vec<f64>]) -> Option<f64> {
    median_of(processes.iter().filter_map(|values| median_of(values.iter().copied())))
}

/// The time of whole passes over a file in each process, per block.
fn passes(measurements: &[&Measurement], scale: Scale) -> Vec<Vec<f64>> {
    let mean = |found: &&Measurement| both_rules(&[*found])[0].mean();
    let means = measurements.iter().filter_map(mean);
    means.map(|mean| vec![scale.cost(Nanos::from_nanos(mean.round() as u64))]).collect()
}

/// The share of the batches' time in which the CPU was not idle; `None` if nobody counted.
fn used_share(measurements: &[&Measurement]) -> Option<f64> {
    let counted = measurements.iter().flat_map(|found| batches(found));
    let counted: Vec<_> = counted.filter_map(|batch| Some((batch.elapsed, batch.idle?))).collect();
    let sum = |of: fn(&(Nanos, Nanos)) -> Nanos| {
        counted.iter().map(|batch| of(batch).as_nanos()).sum::<u64>() as f64
    };
    let (elapsed, idle) = (sum(|batch| batch.0), sum(|batch| batch.1));
    (elapsed > 0.0).then(|| (1.0 - idle / elapsed).clamp(0.0, 1.0))
}

/// The findings of all processes together; `None` if no clock was measured.
fn clock_findings(measurements: &[&Measurement]) -> Option<ClockFindings> {
    let tasks = measurements.iter().flat_map(|measurement| &measurement.tasks);
    tasks.filter_map(|task| task.clock.as_deref().copied()).reduce(ClockFindings::and)
}

/// The number of pairs of measurements that are drawn for a noise floor.
const PAIRS: usize = 1000;

/// The relative difference below which two measurements of the same thing, each with as many
/// processes as `typical` has values, stay in 95 of 100 cases: of the medians of two samples drawn
/// from the processes with replacement. `None` with fewer than three processes.
pub fn noise_floor(typical: &[f64]) -> Option<f64> {
    noise_floor_of(typical, typical.len())
}

/// The same for two measurements with this many processes each.
pub fn noise_floor_of(typical: &[f64], processes: usize) -> Option<f64> {
    if typical.len() < 3 || typical.iter().any(|cost| *cost <= 0.0) {
        return None;
    }
    let mut random = SplitMix64::new(SEED);
    let mut differences: Vec<f64> = (0..PAIRS)
        .map(|_| {
            let [one, other] = [(); 2].map(|()| drawn_median(typical, processes, &mut random));
            (one / other).ln().abs()
        })
        .collect();
    differences.sort_unstable_by(f64::total_cmp);
    Some(differences[PAIRS * 95 / 100].exp_m1())
}

#[cfg(test)]
pub(crate) mod tests;
