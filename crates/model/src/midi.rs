//! MIDI messages that are handed over ahead of their time, and how late they come out.
//!
//! The program of Dannenberg and others (*The Mach Multimedia Testbed*, CMU-CS-93-205, 1993,
//! section 5): it enqueues 100 messages a second, about one second in advance.

use serde::{Deserialize, Serialize};

use crate::frames::Rate;
use crate::probe::{Interval, TimerProbe};
use crate::text::keywords;
use crate::time::Nanos;

keywords! {
    /// Who keeps messages until their time.
    pub enum Via: "way of delivery" {
        /// A library in the program: a queue, and a thread that waits for its head.
        Library = "library",
        /// The delivery server, another process.
        Server = "server",
    }
}

/// The settings of the MIDI probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MidiProbe {
    /// How the output thread of a library sleeps. Its interval is the time from one message to the
    /// next, and its clock the monotonic clock, by which the receiver stamps messages.
    #[serde(flatten)]
    pub timer: TimerProbe,
    /// Messages per second.
    pub message_rate: Rate,
    /// How long before its time a message is handed over.
    pub ahead: Nanos,
    /// Who keeps it until then.
    pub via: Via,
}

impl MidiProbe {
    /// The shortest interval: a MIDI cable carries about 1000 messages a second.
    pub const INTERVAL_MIN: Nanos = Nanos::from_millis(1);

    /// The longest time ahead.
    pub const AHEAD_MAX: Nanos = Nanos::from_secs(60);

    /// Sets the rate.
    pub fn set_rate(&mut self, rate: Rate) {
        self.message_rate = rate;
        self.timer.interval = Interval::Fixed(rate.period());
    }

    /// The time from one message to the next.
    pub const fn interval(&self) -> Nanos {
        self.timer.interval.mean()
    }

    /// The most messages that wait for their time.
    pub const fn waiting_max(&self) -> u64 {
        self.ahead.as_nanos() / self.interval().as_nanos() + 2
    }
}
