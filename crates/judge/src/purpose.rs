//! Whether a machine is on time for a purpose: the chance of a missed deadline.
//!
//! A purpose is a period and a lateness that does no harm; what each of them takes
//! for that, and why, is [`Purpose::reason`]. A due time counts as missed when its wakeup
//! came later than that, or was slept through for longer than that (*intended schedule*).

mod text;

#[cfg(test)]
mod tests;

use serde::Serialize;
use tactus_model::cell::Cell;
use tactus_model::probe::Interval;
use tactus_model::result::{Histogram, Measurement};
use tactus_model::run::Run;
use tactus_model::time::Nanos;
use tactus_stats::BurstyCount;
use tactus_stats::cell::blocks_of_all_tasks;

pub use text::{AtMost, NotAPurpose, NotARate};

/// Something that must be on time again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Sound that is computed buffer by buffer: `audio:48000/64`.
    Audio {
        /// Frames a second.
        rate: u32,
        /// Frames in a buffer.
        frames: u32,
    },
    /// A control loop: `control:1kHz:50us`.
    Control {
        /// Its period.
        period: Nanos,
        /// The lateness it bears.
        deadline: Nanos,
    },
    /// Pictures: `video:60`.
    Video {
        /// Frames a second.
        rate: u32,
    },
    /// Messages on a MIDI wire: `midi`.
    Midi,
    /// Numbers of one's own: `2ms:100us`.
    Own {
        /// The period.
        period: Nanos,
        /// The lateness that does no harm.
        deadline: Nanos,
    },
}

const SECOND: u64 = 1_000_000_000;

impl Purpose {
    /// How a due time follows another.
    pub fn period(self) -> Nanos {
        match self {
            Self::Audio { rate, frames } => {
                Nanos::from_nanos(u64::from(frames) * SECOND / u64::from(rate.max(1)))
            }
            Self::Video { rate } => Nanos::from_nanos(SECOND / u64::from(rate.max(1))),
            Self::Midi => Nanos::from_micros(960),
            Self::Control { period, .. } | Self::Own { period, .. } => period,
        }
    }

    /// The lateness that does no harm.
    pub fn deadline(self) -> Nanos {
        match self {
            Self::Audio { .. } | Self::Video { .. } => {
                Nanos::from_nanos(self.period().as_nanos() / 2)
            }
            Self::Midi => self.period(),
            Self::Control { deadline, .. } | Self::Own { deadline, .. } => deadline,
        }
    }

    /// What is missed.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Audio { .. } => "buffer",
            Self::Control { .. } => "cycle",
            Self::Video { .. } => "frame",
            Self::Midi => "message",
            Self::Own { .. } => "deadline",
        }
    }

    /// Why this lateness does no harm and more does.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Audio { .. } => {
                "a buffer must be ready when the one before it has been played; half of that time is \
                 left for computing it, which is an assumption of ours"
            }
            Self::Control { .. } => "the loop bears no more, as its user says",
            Self::Video { .. } => {
                "a picture must be ready for the next refresh; half of that time is left for drawing \
                 it, which is an assumption of ours"
            }
            Self::Midi => {
                "a message of three bytes takes 960 us on the wire (MIDI 1.0 Detailed Specification, \
                 hardware: 31 250 baud, ten bits a byte), so that a later one would come after its successor"
            }
            Self::Own { .. } => "more is late, as its user says",
        }
    }
}

/// How a cell stands to a purpose.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PurposeVerdict {
    /// The cell's number in the plan.
    pub cell: usize,
    /// The cell's name.
    pub label: String,
    /// The purpose, as it is written.
    pub purpose: String,
    /// Its period.
    pub period: Nanos,
    /// The lateness that does no harm.
    pub deadline: Nanos,
    /// Why.
    pub reason: &'static str,
    /// Due times.
    pub due: u64,
    /// How many of them were missed, with the interval of that number.
    pub missed: BurstyCount,
    /// The chance of missing one: the share that was missed, 0 to 1.
    pub chance: f64,
    /// Its 95 % interval.
    pub chance_interval: [f64; 2],
    /// How long was measured, over all rounds.
    pub measured: Nanos,
    /// The time in which at most one is missed, with 95 % confidence; where none was
    /// seen, in which at most one occasion comes of missing some.
    pub at_most_one_in: Nanos,
    /// How the cell was measured where that is not the purpose's period.
    pub measured_at: Option<String>,
    /// All that in words.
    pub words: String,
}

impl PurposeVerdict {
    /// How a cell of `run` stands to `purpose`; none where nothing was due in it.
    pub fn of(run: &Run, cell: usize, label: &str, purpose: Purpose) -> Option<Self> {
        let measurements: Vec<&Measurement> = run.of_cell(cell).collect();
        let due: u64 =
            measurements.iter().map(|measurement| measurement.accounting().intended).sum();
        let measured: Nanos = measurements.iter().map(|measurement| measurement.window).sum();
        if due == 0 || measured == Nanos::ZERO {
            return None;
        }
        let deadline = purpose.deadline();
        let rounds: Vec<Vec<u64>> =
            measurements.iter().map(|found| missed_in_stretches(found, deadline)).collect();
        let missed = BurstyCount::of(&rounds);
        let share = |count: f64| (count / due as f64).min(1.0);
        let at_most_one_in = at_most_one_in(purpose, measured, due, missed);
        let mut verdict = Self {
            cell,
            label: label.to_owned(),
            purpose: purpose.to_string(),
            period: purpose.period(),
            deadline,
            reason: purpose.reason(),
            due,
            chance: share(missed.count as f64),
            chance_interval: [share(missed.low), share(missed.high)],
            missed,
            measured,
            at_most_one_in,
            measured_at: measured_at(run.header.plan.cells.get(cell)?, purpose.period()),
            words: String::new(),
        };
        verdict.words = text::words(&verdict, purpose);
        Some(verdict)
    }

    /// How all cells of `run` stand to `purpose`.
    pub fn of_run(run: &Run, purpose: Purpose) -> Vec<Self> {
        let labels = run.header.plan.labels();
        let cells = labels.iter().enumerate();
        cells.filter_map(|(cell, label)| Self::of(run, cell, label, purpose)).collect()
    }
}

fn at_most_one_in(purpose: Purpose, measured: Nanos, due: u64, missed: BurstyCount) -> Nanos {
    let seconds = match missed.count {
        // Nothing is known of how bursts would be, so that time is counted and not wakeups.
        0 => measured.as_secs_f64() / missed.at_most,
        _ => purpose.period().as_secs_f64() * due as f64 / missed.at_most,
    };
    Nanos::from_nanos((seconds * SECOND as f64) as u64)
}

/// How many due times of all tasks were missed, stretch by stretch.
///
/// Due times that were slept through are not kept by stretches. They belong to the late
/// wakeups that ended the sleep, and are shared out among the stretches that hold those.
fn missed_in_stretches(measurement: &Measurement, deadline: Nanos) -> Vec<u64> {
    let mut stretches: Vec<u64> =
        blocks_of_all_tasks(measurement).iter().map(|block| later_than(block, deadline)).collect();
    let slept: u64 =
        measurement.tasks.iter().map(|task| later_than(&task.missed_latencies, deadline)).sum();
    let woken: u64 = stretches.iter().sum();
    let mut left = slept;
    let (mut passed, mut given) = (0_u64, 0_u64);
    for stretch in &mut stretches {
        passed += *stretch;
        let so_far = u128::from(slept) * u128::from(passed) / u128::from(woken.max(1));
        let part = (so_far as u64 - given).min(left);
        given += part;
        left -= part;
        *stretch += part;
    }
    // Without a late wakeup in the window, the sleep ended behind it.
    match stretches.last_mut() {
        Some(last) => *last += left,
        None => stretches.push(left),
    }
    stretches
}

/// How many lengths lie in buckets above that of `deadline`.
fn later_than(histogram: &Histogram, deadline: Nanos) -> u64 {
    histogram.buckets.iter().filter(|(low, _)| *low > deadline).map(|(_, count)| count).sum()
}

/// The interval of a cell that was not measured at the purpose's period.
fn measured_at(cell: &Cell, period: Nanos) -> Option<String> {
    let probe = cell.probe.timer();
    (probe.interval != Interval::Fixed(period)).then(|| probe.interval.to_string())
}
