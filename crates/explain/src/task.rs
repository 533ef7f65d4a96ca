//! What to explain: the samples of some threads.

use serde::{Deserialize, Serialize};
use tactus_model::probe::SleepMethod;
use tactus_model::recording::ThreadId;
use tactus_model::sample::Sample;
use tactus_model::time::{Instant, Monotonic, Nanos};

/// Where a sample's time begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// At a due time for which a probe requested a wakeup by this call.
    Due(SleepMethod),
    /// At a due time for which other threads or processes did what ended in this thread, which took
    /// the sample from them.
    Received,
    /// When the thread (any thread) should have run: its timer was due, it was woken, or
    /// it was preempted while runnable. The sample ends when it is on a CPU again.
    Ready,
}

/// The samples of one thread: of a timer probe's task, or of any thread that waited for
/// a CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeTask {
    /// The task's number.
    pub task: u32,
    /// Its thread.
    pub thread: ThreadId,
    /// The origin of its samples.
    pub origin: Origin,
    /// When its window opened: the zero of its samples' times.
    ///
    /// Samples of another clock are converted to the monotonic clock by the difference
    /// between the two clocks when the window opened.
    pub opened: Instant<Monotonic>,
    /// Its samples in the order of arrival.
    pub samples: Vec<Sample>,
    /// Who takes the samples, if the thread hands them over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<Receiver>,
}

/// A thread in which samples end that another thread handed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receiver {
    /// The thread, which stamps the arrivals.
    pub thread: ThreadId,
    /// When the task's thread handed over each of the task's samples, since the window opened. A
    /// sample without an entry was not handed over.
    pub handed_over: Vec<Nanos>,
}

impl ProbeTask {
    /// When a sample was due.
    pub(crate) fn due(&self, index: usize) -> Instant<Monotonic> {
        self.opened + self.samples[index].due
    }

    /// When a sample arrived.
    pub(crate) fn came(&self, index: usize) -> Instant<Monotonic> {
        self.opened + self.samples[index].came
    }

    /// When the task's thread was done with a sample: when it handed it over, or at its arrival.
    pub(crate) fn done(&self, index: usize) -> Instant<Monotonic> {
        let handed_over =
            self.receiver.as_ref().and_then(|receiver| receiver.handed_over.get(index));
        handed_over.map_or(self.came(index), |at| (self.opened + *at).min(self.came(index)))
    }

    /// Who took a sample to its arrival, and from when on: the thread to which it was handed over,
    /// or, of a sample that is only received, the task's own.
    pub(crate) fn receiving(&self, index: usize) -> Option<(ThreadId, Instant<Monotonic>)> {
        match (&self.receiver, self.origin) {
            (Some(receiver), _) => Some((receiver.thread, self.done(index))),
            (None, Origin::Received) => Some((self.thread, self.due(index))),
            (None, Origin::Due(_) | Origin::Ready) => None,
        }
    }

    /// The maximum difference between the time a timer was armed for and the due time.
    ///
    /// Absolute sleeps are armed for the due time itself, but the clock of the probe,
    /// if it is not the monotonic clock, may differ slightly from it. Relative sleeps
    /// are armed a few instructions after the remaining time was computed, and a task
    /// may be delayed in between.
    pub(crate) const fn tolerance(&self) -> Nanos {
        match self.origin {
            Origin::Due(
                SleepMethod::Nanosleep
                | SleepMethod::Timerfd
                | SleepMethod::PosixTimer
                | SleepMethod::SignalHandler
                | SleepMethod::Futex
                | SleepMethod::KernelHandler,
            ) => Nanos::from_micros(20),
            Origin::Due(
                SleepMethod::NanosleepRelative
                | SleepMethod::Ppoll
                | SleepMethod::IoUring
                | SleepMethod::Itimer,
            ) => Nanos::from_millis(1),
            // The events themselves gave the time, or no timer of the thread is due.
            Origin::Ready | Origin::Received => Nanos::ZERO,
        }
    }
}

/// What to explain, and how much to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The latency threshold: samples above it are late and are divided among causes.
    pub threshold: Nanos,
    /// How many of the slowest samples to keep with their parts, late or not.
    pub slowest: usize,
    /// How many of those to keep with a timeline.
    pub timelines: usize,
}

impl Default for Options {
    /// Late above 100 µs; the 20 slowest, each with its timeline.
    fn default() -> Self {
        Self { threshold: Nanos::from_micros(100), slowest: 20, timelines: 20 }
    }
}
