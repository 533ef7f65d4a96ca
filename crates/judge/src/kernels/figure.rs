//! The compared figures of a kernel, for each seed.

use std::fmt;

use serde::Serialize;
use tactus_model::cell::Cell;
use tactus_model::gate_rule::GateRule;
use tactus_model::guest::Speed;
use tactus_model::probe::ProbeKind;
use tactus_model::result::Measurement;
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;

/// A figure of one cell with one seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// The shortest path from the due time to user mode, in instructions.
    ShortestWakeup,
    /// The median of these paths (*per wakeup*), in instructions.
    MedianWakeup,
    /// One operation of the load, including all interruptions, in instructions. Only for loads
    /// that keep the CPU busy and count their operations.
    Operation,
    /// The mean duration of an interruption, mainly by the tick, in instructions: the total time
    /// of sorts beyond the shortest sort, divided by the number of interrupts. Only for sorts.
    Interruption,
    /// The number of interrupts in the window, by the tick and by the probe's timer.
    Interrupts,
    /// The path that 99 % of the due times did not exceed (*intended schedule*), in
    /// instructions.
    NinetyNine,
    /// The longest path (*intended schedule*), in instructions.
    LongestWakeup,
}

/// Whether a figure describes a path or a tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The same for all seeds, or nearly so.
    Path,
    /// Different for every seed.
    Tail,
}

impl Figure {
    /// All figures, in the order of reports.
    pub const ALL: [Self; 7] = [
        Self::ShortestWakeup,
        Self::MedianWakeup,
        Self::Operation,
        Self::Interruption,
        Self::Interrupts,
        Self::NinetyNine,
        Self::LongestWakeup,
    ];

    /// The name.
    pub const fn words(self) -> &'static str {
        match self {
            Self::ShortestWakeup => "shortest wakeup",
            Self::MedianWakeup => "median wakeup",
            Self::Operation => "operation of the load",
            Self::Interruption => "interruption",
            Self::Interrupts => "interrupts",
            Self::NinetyNine => "p99",
            Self::LongestWakeup => "longest wakeup",
        }
    }

    /// Whether it is a path or a tail.
    pub const fn kind(self) -> Kind {
        match self {
            Self::ShortestWakeup
            | Self::MedianWakeup
            | Self::Operation
            | Self::Interruption
            | Self::Interrupts => Kind::Path,
            Self::NinetyNine | Self::LongestWakeup => Kind::Tail,
        }
    }

    /// Whether the unit is instructions; otherwise it is a number of events.
    pub const fn is_in_instructions(self) -> bool {
        !matches!(self, Self::Interrupts)
    }

    /// Whether cells with this kind of probe have the figure.
    const fn is_of(self, probe: ProbeKind) -> bool {
        match self {
            Self::Interrupts => true,
            Self::Interruption => matches!(probe, ProbeKind::Sort),
            _ => !matches!(probe, ProbeKind::Sort | ProbeKind::Cost),
        }
    }

    /// Whether a gate compares the figure.
    pub(super) fn is_wanted(self, rule: &GateRule) -> bool {
        !(rule.paths_only && self.kind() == Kind::Tail)
    }

    /// Whether measurements of a cell may have the figure.
    pub(super) fn may_have(self, cell: &Cell) -> bool {
        let has_load = self != Self::Operation || !cell.load.load.is_idle();
        self.is_of(cell.probe.kind()) && has_load
    }

    /// The figure of a measurement by this kind of probe, if it has one.
    pub fn of(self, measurement: &Measurement, probe: ProbeKind, speed: Speed) -> Option<f64> {
        if !self.is_of(probe) {
            return None;
        }
        let instructions = |time: Nanos| time.as_nanos() as f64 / nanos_each(speed);
        match self {
            Self::ShortestWakeup => per_wakeup(measurement).min().map(instructions),
            Self::MedianWakeup => per_wakeup(measurement).quantile(0.5).map(instructions),
            Self::Operation => {
                let done = measurement.load.operations.filter(|done| *done > 0)?;
                Some(instructions(measurement.rates.over) / done as f64)
            }
            Self::Interruption => {
                let interrupts = measurement.rates.interrupts.filter(|count| *count > 0)?;
                Some(instructions(beyond_the_shortest(measurement)?) / interrupts as f64)
            }
            Self::Interrupts => measurement.rates.interrupts.map(|count| count as f64),
            Self::NinetyNine => by_schedule(measurement).quantile(0.99).map(instructions),
            Self::LongestWakeup => by_schedule(measurement).max().map(instructions),
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.words())
    }
}

/// The relative uncertainty of a figure that counts whole events, from the measurements of a
/// cell under both kernels. A load counts its operations in batches, whose size is the
/// greatest common divisor of all counts, and a window may contain one batch more or less.
pub(super) fn grain(figure: Figure, measurements: &[&Measurement]) -> f64 {
    match figure {
        Figure::Operation => {
            let done = || measurements.iter().filter_map(|found| found.load.operations);
            let batch = done().fold(0, greatest_common_divisor);
            // Relative to the fewest minus one batch, so that one batch more than these is
            // within it too.
            let fewest = done().min().unwrap_or(0).saturating_sub(batch).max(1);
            batch as f64 / fewest as f64
        }
        Figure::Interrupts => {
            let fewest = measurements.iter().filter_map(|found| found.rates.interrupts).min();
            1.0 / fewest.unwrap_or(0).max(1) as f64
        }
        _ => 0.0,
    }
}

const fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// The duration of one instruction, in nanoseconds.
fn nanos_each(speed: Speed) -> f64 {
    f64::from(1_u32 << speed.shift())
}

fn per_wakeup(measurement: &Measurement) -> LatencyHistogram {
    let mut latencies = LatencyHistogram::new();
    let blocks = measurement.tasks.iter().flat_map(|task| &task.blocks);
    blocks.for_each(|block| latencies.merge_record(block));
    latencies
}

/// The total time of all sorts beyond the shortest sort.
fn beyond_the_shortest(measurement: &Measurement) -> Option<Nanos> {
    let blocks = || measurement.tasks.iter().flat_map(|task| &task.blocks);
    let seen = || blocks().filter(|block| block.count > 0);
    let shortest = seen().map(|block| block.min).min()?;
    Some(seen().map(|block| block.sum.saturating_sub(shortest.saturating_mul(block.count))).sum())
}

fn by_schedule(measurement: &Measurement) -> LatencyHistogram {
    let mut latencies = per_wakeup(measurement);
    measurement.tasks.iter().for_each(|task| latencies.merge_record(&task.missed_latencies));
    latencies
}
