//! What is asked: the samples of a probe's tasks.

use serde::{Deserialize, Serialize};
use tactus_model::probe::SleepMethod;
use tactus_model::recording::ThreadId;
use tactus_model::sample::Sample;
use tactus_model::time::{Instant, Monotonic, Nanos};

/// The samples of one task of a timer probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeTask {
    /// The task's number.
    pub task: u32,
    /// Its thread.
    pub thread: ThreadId,
    /// How it sleeps.
    pub sleep: SleepMethod,
    /// When its window opened: the origin of its samples.
    ///
    /// Samples by another clock are brought to the monotonic one by the
    /// difference of the two clocks when the window opened.
    pub opened: Instant<Monotonic>,
    /// Its samples in the order in which they came.
    pub samples: Vec<Sample>,
}

impl ProbeTask {
    /// When a sample was due.
    pub(crate) fn due(&self, index: usize) -> Instant<Monotonic> {
        self.opened + self.samples[index].due
    }

    /// When a sample came.
    pub(crate) fn came(&self, index: usize) -> Instant<Monotonic> {
        self.opened + self.samples[index].came
    }

    /// By how much the time a timer was armed for may differ from the due time.
    ///
    /// Absolute sleeps are armed for the due time itself; the clocks of a
    /// probe other than the monotonic one may be a little apart from it. Relative
    /// ones are armed some instructions after the time that remains was computed,
    /// and a task may be delayed in between.
    pub(crate) const fn tolerance(&self) -> Nanos {
        match self.sleep {
            SleepMethod::Nanosleep
            | SleepMethod::Timerfd
            | SleepMethod::PosixTimer
            | SleepMethod::SignalHandler
            | SleepMethod::Futex => Nanos::from_micros(20),
            SleepMethod::NanosleepRelative
            | SleepMethod::Ppoll
            | SleepMethod::IoUring
            | SleepMethod::Itimer => Nanos::from_millis(1),
        }
    }
}

/// What is to be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The latency above which a sample is late and divided among causes.
    pub threshold: Nanos,
    /// How many of the slowest samples are kept with their parts, late or not.
    pub slowest: usize,
    /// How many of those are kept with a timeline.
    pub timelines: usize,
}

impl Default for Options {
    /// Late above 100 µs; the 20 slowest, each with its timeline.
    fn default() -> Self {
        Self { threshold: Nanos::from_micros(100), slowest: 20, timelines: 20 }
    }
}
