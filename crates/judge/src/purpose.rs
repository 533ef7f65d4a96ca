//! Whether a machine is on time for a purpose: the probability of a deadline miss.
//!
//! A purpose is a period and a deadline, the tolerated lateness; [`Purpose::reason`]
//! explains the deadline. A due time is a deadline miss if its wakeup is later than the
//! deadline, or if it was missed by more than the deadline (*intended schedule*).

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

pub(crate) use text::other_intervals;
pub use text::{AtMost, NotAPurpose, NotARate, notes};

/// A periodic activity with a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Audio processing buffer by buffer: `audio:48000/64`.
    Audio {
        /// Frames per second.
        rate: u32,
        /// Frames per buffer.
        frames: u32,
    },
    /// A control loop: `control:1kHz:50us`.
    Control {
        /// The period.
        period: Nanos,
        /// The tolerated lateness.
        deadline: Nanos,
    },
    /// Video frames: `video:60`.
    Video {
        /// Frames per second.
        rate: u32,
    },
    /// Messages on a MIDI wire: `midi`.
    Midi,
    /// User-defined: `2ms:100us`.
    Own {
        /// The period.
        period: Nanos,
        /// The tolerated lateness.
        deadline: Nanos,
    },
}

const SECOND: u64 = 1_000_000_000;

impl Purpose {
    /// The time between due times.
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

    /// The tolerated lateness.
    pub fn deadline(self) -> Nanos {
        match self {
            Self::Audio { .. } | Self::Video { .. } => {
                Nanos::from_nanos(self.period().as_nanos() / 2)
            }
            Self::Midi => self.period(),
            Self::Control { deadline, .. } | Self::Own { deadline, .. } => deadline,
        }
    }

    /// The name of one period's work.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Audio { .. } => "buffer",
            Self::Control { .. } => "cycle",
            Self::Video { .. } => "frame",
            Self::Midi => "message",
            Self::Own { .. } => "deadline",
        }
    }

    /// The reason for the deadline.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Audio { .. } => {
                "a buffer must be ready when the previous one has been played; half of that time is \
                 assumed for computing it"
            }
            Self::Control { .. } => "the user set this limit",
            Self::Video { .. } => {
                "a frame must be ready for the next refresh; half of that time is assumed for \
                 drawing it"
            }
            Self::Midi => {
                "a message of three bytes takes 960 µs on the wire (MIDI 1.0 Detailed Specification, \
                 hardware: 31 250 baud, ten bits per byte); a later message would follow its successor"
            }
            Self::Own { .. } => "the user set this limit",
        }
    }
}

/// The deadline misses of a cell for a purpose.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PurposeVerdict {
    /// The cell's index in the plan.
    #[serde(rename = "number", serialize_with = "tactus_model::address::counted_from_one")]
    pub cell: usize,
    /// The cell's name.
    pub label: String,
    /// The purpose in its notation.
    pub purpose: String,
    /// The period of the purpose.
    pub period: Nanos,
    /// The tolerated lateness.
    pub deadline: Nanos,
    /// The reason for the deadline.
    pub reason: &'static str,
    /// The number of due times.
    pub due: u64,
    /// The number of deadline misses, with its interval.
    pub missed: BurstyCount,
    /// The probability of a miss: the share of misses, 0 to 1.
    pub chance: f64,
    /// Its 95 % interval.
    pub chance_interval: [f64; 2],
    /// The measured duration of all rounds.
    pub measured: Nanos,
    /// The time with at most one miss, with 95 % confidence; without observed misses, the
    /// time with at most one occasion of misses.
    pub at_most_one_in: Nanos,
    /// The interval of the cell if it is not the purpose's period.
    pub measured_at: Option<String>,
    /// The verdict in words, without the [`notes`].
    pub words: String,
}

impl PurposeVerdict {
    /// The verdict on a cell of `run`; `None` if the cell has no due times.
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
            measurements.iter().map(|found| missed_in_blocks(found, deadline)).collect();
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

    /// The verdicts on all cells of `run`.
    pub fn of_run(run: &Run, purpose: Purpose) -> Vec<Self> {
        let labels = run.header.plan.labels();
        let cells = labels.iter().enumerate();
        cells.filter_map(|(cell, label)| Self::of(run, cell, label, purpose)).collect()
    }
}

fn at_most_one_in(purpose: Purpose, measured: Nanos, due: u64, missed: BurstyCount) -> Nanos {
    let seconds = match missed.count {
        // The size of bursts is unknown, so the bound counts time, not wakeups.
        0 => measured.as_secs_f64() / missed.at_most,
        _ => purpose.period().as_secs_f64() * due as f64 / missed.at_most,
    };
    Nanos::from_nanos((seconds * SECOND as f64) as u64)
}

/// The deadline misses of all tasks in each block of time.
///
/// Missed due times are not recorded by block. They belong to the late wakeups that ended
/// the sleep, and are distributed among the blocks in proportion to those wakeups.
fn missed_in_blocks(measurement: &Measurement, deadline: Nanos) -> Vec<u64> {
    let mut blocks: Vec<u64> =
        blocks_of_all_tasks(measurement).iter().map(|block| later_than(block, deadline)).collect();
    let slept: u64 =
        measurement.tasks.iter().map(|task| later_than(&task.missed_latencies, deadline)).sum();
    let woken: u64 = blocks.iter().sum();
    let mut left = slept;
    let (mut passed, mut given) = (0_u64, 0_u64);
    for block in &mut blocks {
        passed += *block;
        let so_far = u128::from(slept) * u128::from(passed) / u128::from(woken.max(1));
        let part = (so_far as u64 - given).min(left);
        given += part;
        left -= part;
        *block += part;
    }
    // Without a late wakeup in the window, the sleep ended after it.
    match blocks.last_mut() {
        Some(last) => *last += left,
        None => blocks.push(left),
    }
    blocks
}

/// The number of latencies in buckets above `deadline`.
fn later_than(histogram: &Histogram, deadline: Nanos) -> u64 {
    histogram.buckets.iter().filter(|(low, _)| *low > deadline).map(|(_, count)| count).sum()
}

/// The interval of a cell if it differs from the purpose's period.
fn measured_at(cell: &Cell, period: Nanos) -> Option<String> {
    let probe = cell.probe.timer();
    (probe.interval != Interval::Fixed(period)).then(|| probe.interval.to_string())
}
