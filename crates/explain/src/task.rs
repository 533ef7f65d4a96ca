//! What is asked: the samples of some threads.

use serde::{Deserialize, Serialize};
use tactus_model::probe::SleepMethod;
use tactus_model::recording::ThreadId;
use tactus_model::sample::Sample;
use tactus_model::time::{Instant, Monotonic, Nanos};

/// Where a sample's time begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// At a due time for which a probe had itself woken by this call.
    Due(SleepMethod),
    /// When the thread, any thread, ought to run: its timer was due, it was woken, or it
    /// had to leave its processor. The sample ends when it is on a processor again.
    Ready,
}

/// The samples of one thread: of a timer probe's task, or of any thread that
/// waited for a processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeTask {
    /// The task's number.
    pub task: u32,
    /// Its thread.
    pub thread: ThreadId,
    /// Where its samples begin.
    pub origin: Origin,
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
        match self.origin {
            Origin::Due(
                SleepMethod::Nanosleep
                | SleepMethod::Timerfd
                | SleepMethod::PosixTimer
                | SleepMethod::SignalHandler
                | SleepMethod::Futex,
            ) => Nanos::from_micros(20),
            Origin::Due(
                SleepMethod::NanosleepRelative
                | SleepMethod::Ppoll
                | SleepMethod::IoUring
                | SleepMethod::Itimer,
            ) => Nanos::from_millis(1),
            // The events themselves told when.
            Origin::Ready => Nanos::ZERO,
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
