//! What is compared of a kernel, in each seed.

use std::fmt;

use serde::Serialize;
use tactus_model::guest::Speed;
use tactus_model::probe::ProbeKind;
use tactus_model::result::Measurement;
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;

/// A figure of one cell under one seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// The shortest way from the due time to user mode: instructions.
    ShortestWakeup,
    /// The median of these ways (*per wakeup*): instructions.
    MedianWakeup,
    /// What one operation of the load takes of the window, with all that interrupts it:
    /// instructions. Of loads that keep the CPU busy and count what they do.
    Operation,
    /// What the CPU was taken away for at each interrupt, the tick's above all, on
    /// average: the time by which sorts took longer than the shortest of them, divided by
    /// the interrupts. Instructions, of sorts alone.
    Interruption,
    /// Interrupts in the window, the tick's and those of the probe's timer.
    Interrupts,
    /// The way that 99 % of the due times did not exceed (*intended schedule*): instructions.
    NinetyNine,
    /// The longest way (*intended schedule*): instructions.
    LongestWakeup,
}

/// Whether a figure is the length of a path, or of a tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The same in every seed, or nearly so.
    Path,
    /// Another one in every seed.
    Tail,
}

impl Figure {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 7] = [
        Self::ShortestWakeup,
        Self::MedianWakeup,
        Self::Operation,
        Self::Interruption,
        Self::Interrupts,
        Self::NinetyNine,
        Self::LongestWakeup,
    ];

    /// What it is called.
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

    /// Whether it is told in instructions; else it is a number of times.
    pub const fn is_in_instructions(self) -> bool {
        !matches!(self, Self::Interrupts)
    }

    /// Whether cells with such a probe have it.
    const fn is_of(self, probe: ProbeKind) -> bool {
        match self {
            Self::Interrupts => true,
            Self::Interruption => matches!(probe, ProbeKind::Sort),
            _ => !matches!(probe, ProbeKind::Sort),
        }
    }

    /// The figure of a measurement by such a probe, where it has one.
    pub fn of(self, measurement: &Measurement, probe: ProbeKind, speed: Speed) -> Option<f64> {
        if !self.is_of(probe) {
            return None;
        }
        let instructions = |length: Nanos| length.as_nanos() as f64 / nanos_each(speed);
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

/// By what share a figure may differ because it counts whole things, of the measurements of
/// a cell under both kernels: a load counts its operations in batches, the greatest that
/// divides all counts, and one batch more or less falls into the window.
pub(super) fn grain(figure: Figure, measurements: &[&Measurement]) -> f64 {
    match figure {
        Figure::Operation => {
            let done = || measurements.iter().filter_map(|found| found.load.operations);
            let batch = done().fold(0, greatest_common_divisor);
            // Of the fewest less one batch, so that one more than these is within it too.
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

/// How long an instruction is, in nanoseconds.
fn nanos_each(speed: Speed) -> f64 {
    f64::from(1_u32 << speed.shift())
}

fn per_wakeup(measurement: &Measurement) -> LatencyHistogram {
    let mut latencies = LatencyHistogram::new();
    let blocks = measurement.tasks.iter().flat_map(|task| &task.blocks);
    blocks.for_each(|block| latencies.merge_record(block));
    latencies
}

/// By how much all sorts together took longer than if each had been the shortest.
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
