//! What became of a sample when it was looked for among the events.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a sample was matched with the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchOutcome {
    /// Its timer woke the thread on the processor where it then ran.
    Timer,
    /// Its timer woke the thread, and the kernel did not tell of the switch to it: some
    /// kernels tell nothing of some threads, of processors' idle threads above all.
    TimerSwitchUntold,
    /// Its timer was served on another processor than the thread then ran on.
    TimerElsewhere,
    /// Its timer was served while the thread ran: it had not gone to sleep yet,
    /// or computes while it waits for a signal.
    TimerWhileRunning,
    /// Its due time had passed when the thread was ready to sleep.
    AlreadyPast,
    /// Another thread woke it.
    WokenByThread,
    /// An interrupt or a softirq woke it that is not a high-resolution timer.
    WokenByInterrupt,
    /// A high-resolution timer woke it; of a thread of which no due time is known.
    WokenByTimer,
    /// It had been on a processor and had to leave it while it could run.
    HadToLeave,
    /// Events were lost between its due time and its arrival.
    Void,
    /// It lies outside the recorded time.
    Untraced,
    /// It could not be matched.
    Unmatched(Unmatched),
}

/// Why a sample could not be matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unmatched {
    /// No event tells of the thread.
    ThreadUnseen,
    /// A timer woke the thread, but it had been armed for another time.
    OtherTimer,
    /// The thread came back from sleep and no event tells who woke it.
    NoWakeup,
    /// The thread was seen to leave and not to come back, yet it ran: events are
    /// missing though no loss was told.
    EventsMissing,
    /// The events contradict the sample: they are out of order.
    OutOfOrder,
}

impl MatchOutcome {
    /// Whether the timer that ended the wait was found, so that there are segments.
    pub const fn has_timer(self) -> bool {
        matches!(
            self,
            Self::Timer | Self::TimerSwitchUntold | Self::TimerElsewhere | Self::TimerWhileRunning
        )
    }

    /// Whether the events tell enough to divide the latency among causes.
    pub const fn can_blame(self) -> bool {
        !matches!(
            self,
            Self::Void
                | Self::Untraced
                | Self::Unmatched(Unmatched::ThreadUnseen | Unmatched::EventsMissing)
        )
    }
}

impl fmt::Display for MatchOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Timer => "woken by its timer",
            Self::TimerSwitchUntold => "woken by its timer, the switch to it not told",
            Self::TimerElsewhere => "woken by its timer on another processor",
            Self::TimerWhileRunning => "its timer came while it ran",
            Self::AlreadyPast => "due time already past when it went to sleep",
            Self::WokenByThread => "woken by another thread",
            Self::WokenByInterrupt => "woken by an interrupt that is no timer",
            Self::WokenByTimer => "woken by a timer",
            Self::HadToLeave => "had to leave its processor",
            Self::Void => "void: events were lost meanwhile",
            Self::Untraced => "outside the recorded time",
            Self::Unmatched(Unmatched::ThreadUnseen) => "unmatched: no event of its thread",
            Self::Unmatched(Unmatched::OtherTimer) => "unmatched: woken by a timer of another time",
            Self::Unmatched(Unmatched::NoWakeup) => "unmatched: no event tells who woke it",
            Self::Unmatched(Unmatched::EventsMissing) => {
                "unmatched: events are missing unaccounted"
            }
            Self::Unmatched(Unmatched::OutOfOrder) => "unmatched: its events are out of order",
        })
    }
}
