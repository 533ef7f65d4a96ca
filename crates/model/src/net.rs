//! Bursts of packets that are sent at a rate, and who does their protocol work.
//!
//! The sender of Mercer, Zelenka and Rajkumar (*On Predictable Operating System Protocol
//! Processing*, CMU-CS-94-165, 1994, Figure 5): in every period it computes, sends packets, and
//! sleeps until the next period.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::policy::Scheduling;
use crate::probe::{Interval, TimerProbe};
use crate::text::{keywords, serde_as_text};
use crate::time::Nanos;

keywords! {
    /// Who does the protocol work of the packets.
    pub enum NetPath: "path of packets" {
        /// The kernel, in a socket of the sender.
        Socket = "socket",
        /// One process for all senders, behind a Unix socket with one queue.
        Relay = "relay",
        /// A library in the sender's thread, over AF_PACKET.
        PacketLibrary = "packet-library",
        /// A library in the sender's thread, over AF_XDP in copy mode.
        XdpLibrary = "xdp-library",
    }
}

keywords! {
    /// Where the kernel works on packets that come to the receiver.
    pub enum NetReceive: "place of receive work" {
        /// In softirqs, here those of the sender's thread.
        Softirq = "softirq",
        /// In a thread of the kernel for each queue (threaded NAPI).
        Thread = "thread",
    }
}

/// The number of packets in a burst: 1 to 1000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Packets(u32);

impl Packets {
    /// The burst of the paper.
    pub const OF_THE_PAPER: Self = Self(10);

    /// A number of packets; `None` if it is out of range.
    pub fn new(packets: u32) -> Option<Self> {
        (1..=1000).contains(&packets).then_some(Self(packets))
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The error for a text that is not a number of packets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a number of packets: write 1 to 1000, e.g. 10")]
pub struct NotPackets(String);

impl FromStr for Packets {
    type Err = NotPackets;

    fn from_str(text: &str) -> Result<Self, NotPackets> {
        text.parse().ok().and_then(Self::new).ok_or_else(|| NotPackets(text.to_owned()))
    }
}

serde_as_text!(Packets);

/// The settings of the net probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetProbe {
    /// How the sender sleeps. Its interval is the period of the bursts, and its clock the realtime
    /// clock, by which the kernel stamps packets.
    #[serde(flatten)]
    pub timer: TimerProbe,
    /// Who does the protocol work.
    pub path: NetPath,
    /// The packets of a burst.
    pub packets: Packets,
    /// The computation of a burst, in CPU time; a share of it precedes each packet.
    pub burst_work: Nanos,
    /// Low-priority senders of the same bursts, by the same path.
    pub rivals: u32,
    /// How the relay is scheduled.
    pub relay_policy: Scheduling,
    /// Where the kernel works on received packets.
    pub receive: NetReceive,
    /// How its threads are scheduled that do so.
    pub napi_policy: Scheduling,
}

impl NetProbe {
    /// The nice value of a rival.
    pub const RIVAL_NICE: i8 = 10;

    /// The maximum number of rivals.
    pub const RIVALS_MAX: u32 = 16;

    /// The maximum number of packets in a window: their stamps wait in a socket until its end.
    pub const PACKETS_MAX: u64 = 200_000;

    /// The time from one burst to the next.
    pub const fn period(&self) -> Nanos {
        self.timer.interval.mean()
    }

    /// Sets the period.
    pub const fn set_period(&mut self, period: Nanos) {
        self.timer.interval = Interval::Fixed(period);
    }

    /// The bursts that are due in a window.
    pub const fn bursts(&self, window: Nanos) -> u64 {
        window.as_nanos().div_ceil(self.period().as_nanos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_packets_are_parsed_and_formatted_or_rejected_with_the_range() {
        for text in ["1", "10", "1000"] {
            assert_eq!(text.parse::<Packets>().unwrap().to_string(), text);
        }
        for text in ["0", "1001", "many", ""] {
            let error = text.parse::<Packets>().unwrap_err().to_string();
            assert!(error.contains("1 to 1000"), "{error}");
        }
    }
}
