//! The result of matching a sample with the events.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a sample was matched with the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchOutcome {
    /// Its timer woke the thread on the CPU where it then ran.
    Timer,
    /// Its timer woke the thread, and the sched_switch event is missing: some kernels
    /// write no events for some threads, mostly for the idle threads of CPUs.
    #[serde(alias = "timer-switch-untold")]
    TimerSwitchMissing,
    /// Its timer was served on a CPU other than the one on which the thread then ran.
    TimerElsewhere,
    /// Its timer was served while the thread ran: it had not gone to sleep yet, or it
    /// computes while it waits for a signal.
    TimerWhileRunning,
    /// Its due time had passed before the thread was ready to sleep.
    AlreadyPast,
    /// Another thread woke it.
    WokenByThread,
    /// It was taken from other threads or processes, which acted at its due time.
    Received,
    /// An interrupt or a softirq other than a high-resolution timer woke it.
    WokenByInterrupt,
    /// A high-resolution timer woke it, and the thread has no known due time.
    WokenByTimer,
    /// The thread itself marked its beginning.
    Marked,
    /// The thread had to leave its CPU while it was runnable.
    HadToLeave,
    /// Events were lost between its due time and its arrival.
    Void,
    /// It is outside the recorded time.
    Untraced,
    /// It could not be matched.
    Unmatched(Unmatched),
}

/// Why a sample could not be matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unmatched {
    /// The thread has no event.
    ThreadUnseen,
    /// A timer woke the thread, but it was armed for another time.
    OtherTimer,
    /// The thread came back from sleep, and there is no wakeup event.
    NoWakeup,
    /// The thread was seen to leave and not to come back, but it ran: events are
    /// missing although no loss was reported.
    EventsMissing,
    /// The events are out of order and contradict the sample.
    OutOfOrder,
}

impl MatchOutcome {
    /// Whether the timer that ended the wait was found, so that the sample has
    /// segments.
    pub const fn has_timer(self) -> bool {
        matches!(
            self,
            Self::Timer | Self::TimerSwitchMissing | Self::TimerElsewhere | Self::TimerWhileRunning
        )
    }

    /// Whether the events suffice to divide the latency among causes.
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
            Self::TimerSwitchMissing => "woken by its timer, missing sched_switch event",
            Self::TimerElsewhere => "woken by its timer on another CPU",
            Self::TimerWhileRunning => "its timer came while it ran",
            Self::AlreadyPast => "due time already past when it went to sleep",
            Self::WokenByThread => "woken by another thread",
            Self::Received => "received from another thread",
            Self::WokenByInterrupt => "woken by an interrupt other than a timer",
            Self::WokenByTimer => "woken by a timer",
            Self::Marked => "its beginning was marked",
            Self::HadToLeave => "preempted while runnable",
            Self::Void => "void: events were lost",
            Self::Untraced => "outside the recorded time",
            Self::Unmatched(Unmatched::ThreadUnseen) => "unmatched: no event of its thread",
            Self::Unmatched(Unmatched::OtherTimer) => "unmatched: woken by a timer of another time",
            Self::Unmatched(Unmatched::NoWakeup) => "unmatched: missing wakeup event",
            Self::Unmatched(Unmatched::EventsMissing) => {
                "unmatched: events are missing without a reported loss"
            }
            Self::Unmatched(Unmatched::OutOfOrder) => "unmatched: its events are out of order",
        })
    }
}
