//! Measured quantities and their statistics.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tactus_explain::account::TickRate;
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;
use tactus_stats::cell::supported;

/// A quantity that is measured many times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// From the due time to the first instruction of its interrupt handler, as recorded (Faller
    /// 1992, section 5).
    InterruptAcknowledge,
    /// From the due time to the task that waits for it, of recorded samples (Faller 1992,
    /// section 5).
    ContextSwitch,
    /// From the due time to the kernel's switch to the task, as recorded (Mehnert, Hohmuth and
    /// Härtig 2002: the kernel path).
    KernelPath,
    /// From the due time to the task, without recording.
    WakeupLatency,
    /// How long a task took after its wakeup to read its working set: what the dirt of the caches
    /// cost (the same: the first run of the handler).
    FirstPass,
    /// How long it took to read the same again.
    SecondPass,
    /// Frames shown by a player (Etsion, Tsafrir and Feitelson 2003, Figure 1).
    FramesShown,
    /// From the due time of a frame to when it was seen, by the clock of a whole player.
    FrameLateness,
    /// From handing a frame over to when the X server had drawn it (Dannenberg and others 1993,
    /// section 11).
    Drawing,
    /// From the switch to a program to the switch away from it (the same, section 3).
    EffectiveQuantum,
    /// The time that ticks billed for effective quanta (the same, section 4).
    Billing,
    /// From the beginning of a sort to its end (the same, section 3).
    SortTime,
    /// From the entry of the clock's interrupt handler to its exit, as recorded on the measured CPUs
    /// (the same, Table 1).
    HandlerTime,
    /// A measured operation: a system call, a round trip, a copy (the same, Table 2); a message, a
    /// read, an image (Dannenberg and others 1993, sections 8 to 10).
    OperationCost,
    /// From the due time of a frame of a pipeline to its end (the same, section 11); of a player, from
    /// when a frame was to be handed over to when it was seen.
    FrameTime,
    /// From the due time of a burst of packets to the kernel's stamp of its last packet at the
    /// receiver (Mercer, Zelenka and Rajkumar 1994, Figure 5).
    BurstDelivery,
    /// From the due time of a MIDI message to its stamp at the receiver (Dannenberg and others 1993,
    /// section 5).
    MessageDelivery,
    /// From the arrival of one message to that of the next (the same).
    MessageInterval,
    /// By how much that time was longer than the time between their due times (the same, Table 1).
    ExtraDelay,
    /// From the due time of a message to the beginning of the call that writes it.
    OutputDelay,
    /// From the beginning of the call that writes a message to its stamp: what the line and the
    /// receiver add at most (the same).
    ReceiverError,
}

impl Measure {
    /// Its statistics if no table of the paper names them.
    pub const fn statistics(self) -> &'static [Statistic] {
        use Statistic::{
            Average, Desired, Deviation, Expected, Max, Median, Min, Percentile, Rate, Samples,
            Serving, SetAside,
        };
        match self {
            Self::InterruptAcknowledge | Self::ContextSwitch => {
                &[Samples, SetAside, Serving, Min, Median, Max, Average, Deviation]
            }
            Self::KernelPath | Self::WakeupLatency | Self::FirstPass | Self::SecondPass => {
                &[Samples, Median, Percentile(90.0), Percentile(99.0), Max]
            }
            Self::FramesShown => &[Samples, Desired, Rate, Expected],
            Self::FrameLateness => &[Samples, Median, Percentile(99.0), Max],
            Self::Drawing => &[Samples, Min, Median, Percentile(99.0), Max],
            Self::EffectiveQuantum => {
                &[Samples, Statistic::Quanta, Statistic::Use, Median, Percentile(90.0), Max]
            }
            Self::Billing => &[Samples],
            Self::SortTime => &[
                Samples,
                Min,
                Average,
                Max,
                Statistic::Sorted,
                Statistic::Overhead,
                Statistic::TickCost,
            ],
            Self::HandlerTime => &[Samples, Min, Median, Percentile(99.0), Max, Average, Deviation],
            Self::OperationCost => &[Samples, Min, Median, Percentile(99.0)],
            Self::FrameTime => &[Samples, Median, Percentile(90.0), Percentile(99.0)],
            Self::BurstDelivery => &[Samples, Median, Percentile(99.0), Max, Statistic::Use],
            Self::MessageDelivery
            | Self::MessageInterval
            | Self::ExtraDelay
            | Self::OutputDelay
            | Self::ReceiverError => &[Samples, Min, Median, Percentile(99.0), Max],
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::InterruptAcknowledge => "interrupt acknowledge",
            Self::ContextSwitch => "context switch",
            Self::KernelPath => "kernel path",
            Self::WakeupLatency => "wakeup latency",
            Self::FirstPass => "first pass over the working set",
            Self::SecondPass => "second pass over the working set",
            Self::FramesShown => "frames shown",
            Self::FrameLateness => "lateness of frames",
            Self::Drawing => "drawing a frame",
            Self::EffectiveQuantum => "effective quantum",
            Self::Billing => "billing",
            Self::SortTime => "sort duration",
            Self::HandlerTime => "clock interrupt handler",
            Self::OperationCost => "operation cost",
            Self::FrameTime => "frame time",
            Self::BurstDelivery => "burst delivery",
            Self::MessageDelivery => "message latency",
            Self::MessageInterval => "time between messages",
            Self::ExtraDelay => "extra delay between messages",
            Self::OutputDelay => "delay of the output thread",
            Self::ReceiverError => "error of the receiver",
        })
    }
}

/// The choice of samples: all, or only those without a transfer of a block device.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Transfers {
    /// All samples.
    #[default]
    Included,
    /// Samples without a transfer in flight.
    Excluded,
}

impl fmt::Display for Transfers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Included => "all samples",
            Self::Excluded => "without transfers",
        })
    }
}

/// A statistic of a measured quantity.
///
/// As text: `min`, `median`, `max`, `average`, `deviation`, `p99.9`,
/// `within 10ms` and `beyond 10ms` (shares), `samples`, `set-aside` and `serving` (shares),
/// `desired`, `rate` and `expected` (frames per second), `quanta` (per second), `use` (a share of a
/// CPU), `billed at 100Hz` (a ratio to the time used), `missed at 100Hz` (a share),
/// `billed` and `missed` (the same for the kernel's own ticks, at any rate),
/// `sorted` (numbers per second), `overhead` (a share), `tick cost` (a duration),
/// `interrupt cost` and `two-rate cost` (durations), `slowdown` (a share),
/// `hop` (a duration), `bandwidth` (bytes per second),
/// `cpu per MB` (a duration), `decoder cpu`, `player cpu`, `display cpu` and `frame cpu` (durations
/// per frame shown).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// The minimum.
    Min,
    /// The median.
    Median,
    /// The maximum.
    Max,
    /// The mean.
    Average,
    /// The standard deviation.
    Deviation,
    /// A percentile, in per cent.
    Percentile(f64),
    /// The share of durations no longer than this.
    Within(Nanos),
    /// The share of durations longer than this.
    Beyond(Nanos),
    /// The number of samples.
    Samples,
    /// The share of the samples with a transfer in flight.
    SetAside,
    /// The share of the samples that were due while an interrupt or a softirq was being served.
    Serving,
    /// The desired rate, per second.
    Desired,
    /// The achieved rate, per second.
    Rate,
    /// The rate that the ticks alone would leave, by the closed form, per second.
    Expected,
    /// Effective quanta per second.
    Quanta,
    /// CPU time used, as a share of one CPU. For an operation, that of the time it takes.
    Use,
    /// The time billed by ticks of this rate, over the time used. If timers expire only at the
    /// kernel's ticks, these are the kernel's own and no other rate is available; otherwise
    /// ticks of any rate are simulated on the recording.
    Billed(TickRate),
    /// The share of the effective quanta without such a tick.
    Missed(TickRate),
    /// The time billed by the kernel's own ticks, over the time used.
    BilledByKernel,
    /// The share of the effective quanta without a tick of the kernel's own.
    MissedByKernel,
    /// Numbers sorted per second, by all tasks.
    Sorted,
    /// The share of the time beyond the work itself: the excess of the average over the minimum,
    /// for repetitions of the same work.
    Overhead,
    /// The same excess per tick of the kernel, a duration. It is the cost of a tick if the
    /// fastest repetition has no tick and nothing else disturbs.
    TickCost,
    /// The CPU time that a clock interrupt takes from a sort, by the slowdown over all measured
    /// rates of interrupts. Of the cell with the lowest rate.
    InterruptCost,
    /// The same by the lowest and the highest rate alone (Dannenberg and others 1993, section 6).
    TwoRateCost,
    /// The share of the CPU that the clock interrupts of the cell's rate take from a sort.
    Slowdown,
    /// Half of the median of a round trip: one switch.
    Hop,
    /// Bytes moved per second.
    Bandwidth,
    /// CPU time of an operation per million bytes moved.
    CpuPerMegabyte,
    /// CPU time of the decoder per frame shown, with its start.
    DecoderCpu,
    /// CPU time of the player's process per frame shown.
    PlayerCpu,
    /// CPU time of the X server per frame shown.
    DisplayCpu,
    /// The sum of the three.
    FrameCpu,
}

/// The kind of a number, which decides its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A duration, in nanoseconds.
    Length,
    /// A share, from 0 to 1.
    Share,
    /// A count.
    Count,
    /// A rate per second.
    PerSecond,
    /// A ratio.
    Ratio,
    /// Bytes per second.
    ByteRate,
}

impl Statistic {
    /// The statistic of these durations; `None` without durations, for a percentile that they do not
    /// support, or if it is not a statistic of durations.
    pub fn of(self, lengths: &LatencyHistogram) -> Option<f64> {
        let nanos = |length: Option<Nanos>| length.map(|length| length.as_nanos() as f64);
        match self {
            Self::Min => nanos(lengths.min()),
            Self::Median => nanos(lengths.quantile(0.5)),
            Self::Max => nanos(lengths.max()),
            Self::Average => lengths.mean(),
            Self::Deviation => lengths.deviation(),
            Self::Percentile(percent) => nanos(supported(lengths, percent / 100.0)),
            Self::Within(length) => lengths.share_within(length),
            Self::Beyond(length) => lengths.share_within(length).map(|within| 1.0 - within),
            Self::Samples => Some(lengths.count() as f64),
            Self::SetAside
            | Self::Serving
            | Self::Desired
            | Self::Rate
            | Self::Expected
            | Self::Quanta
            | Self::Use
            | Self::Billed(_)
            | Self::Missed(_)
            | Self::BilledByKernel
            | Self::MissedByKernel
            | Self::Sorted
            | Self::Overhead
            | Self::TickCost
            | Self::InterruptCost
            | Self::TwoRateCost
            | Self::Slowdown
            | Self::Hop
            | Self::Bandwidth
            | Self::CpuPerMegabyte
            | Self::DecoderCpu
            | Self::PlayerCpu
            | Self::DisplayCpu
            | Self::FrameCpu => None,
        }
    }

    /// The kind of number.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Min
            | Self::Median
            | Self::Max
            | Self::Average
            | Self::Deviation
            | Self::Percentile(_)
            | Self::TickCost
            | Self::InterruptCost
            | Self::TwoRateCost
            | Self::Hop
            | Self::CpuPerMegabyte
            | Self::DecoderCpu
            | Self::PlayerCpu
            | Self::DisplayCpu
            | Self::FrameCpu => Kind::Length,
            Self::Bandwidth => Kind::ByteRate,
            Self::Within(_)
            | Self::Beyond(_)
            | Self::SetAside
            | Self::Serving
            | Self::Use
            | Self::Missed(_)
            | Self::MissedByKernel
            | Self::Overhead
            | Self::Slowdown => Kind::Share,
            Self::Samples => Kind::Count,
            Self::Desired | Self::Rate | Self::Expected | Self::Quanta | Self::Sorted => {
                Kind::PerSecond
            }
            Self::Billed(_) | Self::BilledByKernel => Kind::Ratio,
        }
    }

    /// Whether its values in single rounds are comparable with its value in all of them: those of
    /// extremes are not, since they depend on the number of samples.
    pub const fn is_of_the_middle(self) -> bool {
        !matches!(
            self,
            Self::Min | Self::Max | Self::Deviation | Self::Percentile(_) | Self::Samples
        )
    }

    /// Its tick rate; `None` if it has none.
    pub const fn ticks(self) -> Option<TickRate> {
        match self {
            Self::Billed(rate) | Self::Missed(rate) => Some(rate),
            _ => None,
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Min => f.pad("min"),
            Self::Median => f.pad("median"),
            Self::Max => f.pad("max"),
            Self::Average => f.pad("average"),
            Self::Deviation => f.pad("deviation"),
            Self::Percentile(percent) => f.pad(&format!("p{percent}")),
            Self::Within(length) => f.pad(&format!("within {length}")),
            Self::Beyond(length) => f.pad(&format!("beyond {length}")),
            Self::Samples => f.pad("samples"),
            Self::SetAside => f.pad("set-aside"),
            Self::Serving => f.pad("serving"),
            Self::Desired => f.pad("desired"),
            Self::Rate => f.pad("rate"),
            Self::Expected => f.pad("expected"),
            Self::Quanta => f.pad("quanta"),
            Self::Use => f.pad("use"),
            Self::Billed(rate) => f.pad(&format!("billed at {rate}")),
            Self::Missed(rate) => f.pad(&format!("missed at {rate}")),
            Self::BilledByKernel => f.pad("billed"),
            Self::MissedByKernel => f.pad("missed"),
            Self::Sorted => f.pad("sorted"),
            Self::Overhead => f.pad("overhead"),
            Self::TickCost => f.pad("tick cost"),
            Self::InterruptCost => f.pad("interrupt cost"),
            Self::TwoRateCost => f.pad("two-rate cost"),
            Self::Slowdown => f.pad("slowdown"),
            Self::Hop => f.pad("hop"),
            Self::Bandwidth => f.pad("bandwidth"),
            Self::CpuPerMegabyte => f.pad("cpu per MB"),
            Self::DecoderCpu => f.pad("decoder cpu"),
            Self::PlayerCpu => f.pad("player cpu"),
            Self::DisplayCpu => f.pad("display cpu"),
            Self::FrameCpu => f.pad("frame cpu"),
        }
    }
}

/// Why a text is not a statistic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a statistic; expected min, median, max, average, deviation, p99.9, within 10ms, beyond 10ms, samples, set-aside, serving, desired, rate, expected, quanta, use, billed at 100Hz, missed at 100Hz, billed, missed, sorted, overhead, tick cost, interrupt cost, two-rate cost, slowdown, hop, bandwidth, cpu per MB, decoder cpu, player cpu, display cpu or frame cpu"
)]
pub struct NotAStatistic(String);

impl FromStr for Statistic {
    type Err = NotAStatistic;

    fn from_str(text: &str) -> Result<Self, NotAStatistic> {
        let wrong = || NotAStatistic(text.to_owned());
        let percent =
            |text: &str| text.parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
        Ok(match text {
            "min" => Self::Min,
            "median" => Self::Median,
            "max" => Self::Max,
            "average" => Self::Average,
            "deviation" => Self::Deviation,
            "samples" => Self::Samples,
            "set-aside" => Self::SetAside,
            "serving" => Self::Serving,
            "desired" => Self::Desired,
            "rate" => Self::Rate,
            "expected" => Self::Expected,
            "quanta" => Self::Quanta,
            "use" => Self::Use,
            "billed" => Self::BilledByKernel,
            "missed" => Self::MissedByKernel,
            "sorted" => Self::Sorted,
            "overhead" => Self::Overhead,
            "tick cost" => Self::TickCost,
            "interrupt cost" => Self::InterruptCost,
            "two-rate cost" => Self::TwoRateCost,
            "slowdown" => Self::Slowdown,
            "hop" => Self::Hop,
            "bandwidth" => Self::Bandwidth,
            "cpu per MB" => Self::CpuPerMegabyte,
            "decoder cpu" => Self::DecoderCpu,
            "player cpu" => Self::PlayerCpu,
            "display cpu" => Self::DisplayCpu,
            "frame cpu" => Self::FrameCpu,
            _ => {
                let rate = |text: &str| text.parse().map_err(|_| wrong());
                if let Some(length) = text.strip_prefix("within ") {
                    Self::Within(length.parse().map_err(|_| wrong())?)
                } else if let Some(length) = text.strip_prefix("beyond ") {
                    Self::Beyond(length.parse().map_err(|_| wrong())?)
                } else if let Some(text) = text.strip_prefix("billed at ") {
                    Self::Billed(rate(text)?)
                } else if let Some(text) = text.strip_prefix("missed at ") {
                    Self::Missed(rate(text)?)
                } else if let Some(share) = text.strip_prefix('p') {
                    Self::Percentile(percent(share).ok_or_else(wrong)?)
                } else {
                    return Err(wrong());
                }
            }
        })
    }
}

impl Serialize for Statistic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Statistic {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The unit in which a paper gives figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Microseconds.
    #[serde(rename = "us")]
    Micros,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Millis,
    /// A share, from 0 to 1.
    #[serde(rename = "share")]
    Share,
    /// A share, from 0 to 100.
    #[serde(rename = "per cent")]
    PerCent,
    /// Per second.
    #[serde(rename = "per second")]
    PerSecond,
    /// A ratio.
    #[serde(rename = "ratio")]
    Ratio,
    /// Millions of bytes per second.
    #[serde(rename = "MB/s")]
    MegabytesPerSecond,
}

impl Unit {
    /// Converts a number to the base unit: nanoseconds for durations, bytes per second for rates of
    /// bytes.
    pub const fn base(self, number: f64) -> f64 {
        match self {
            Self::Micros => number * 1e3,
            Self::Millis | Self::MegabytesPerSecond => number * 1e6,
            Self::PerCent => number / 100.0,
            Self::Share | Self::PerSecond | Self::Ratio => number,
        }
    }
}
