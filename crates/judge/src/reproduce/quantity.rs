//! What is measured and which figure of it is told.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;

/// A length that is measured again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// From the due time to the first instruction of its interrupt's handling, as
    /// recorded (Faller 1992, section 5).
    InterruptAcknowledge,
    /// From the due time to the task that waited for it, as recorded samples tell
    /// (Faller 1992, section 5).
    ContextSwitch,
    /// The same where nothing was recorded meanwhile.
    WakeupLatency,
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::InterruptAcknowledge => "interrupt acknowledge",
            Self::ContextSwitch => "context switch",
            Self::WakeupLatency => "wakeup latency",
        })
    }
}

/// Which samples count: all, or those alone that saw no transfer of a block device.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Transfers {
    /// All samples.
    #[default]
    Included,
    /// Those during which no transfer was in flight.
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

/// One figure of many lengths.
///
/// As text: `min`, `median`, `max`, `average`, `deviation`, `p99.9`,
/// `within 10ms` (a share), `samples`, `set-aside` (a share).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// The least.
    Min,
    /// The one in the middle.
    Median,
    /// The greatest.
    Max,
    /// The mean.
    Average,
    /// The standard deviation.
    Deviation,
    /// What a share of them, in per cent, did not exceed.
    Percentile(f64),
    /// The share of them that were no longer than this.
    Within(Nanos),
    /// How many there are.
    Samples,
    /// The share of the samples that saw a transfer.
    SetAside,
}

impl Statistic {
    /// The figure of these lengths; none when there is no length, or where it is
    /// not one of lengths.
    pub fn of(self, lengths: &LatencyHistogram) -> Option<f64> {
        let nanos = |length: Option<Nanos>| length.map(|length| length.as_nanos() as f64);
        match self {
            Self::Min => nanos(lengths.min()),
            Self::Median => nanos(lengths.quantile(0.5)),
            Self::Max => nanos(lengths.max()),
            Self::Average => lengths.mean(),
            Self::Deviation => lengths.deviation(),
            Self::Percentile(percent) => nanos(lengths.quantile(percent / 100.0)),
            Self::Within(length) => lengths.share_within(length),
            Self::Samples => Some(lengths.count() as f64),
            Self::SetAside => None,
        }
    }

    /// Whether it is a length of time, in nanoseconds.
    pub const fn is_length(self) -> bool {
        !matches!(self, Self::Within(_) | Self::Samples | Self::SetAside)
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
            Self::Samples => f.pad("samples"),
            Self::SetAside => f.pad("set-aside"),
        }
    }
}

/// Why a text is not a statistic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a statistic: write min, median, max, average, deviation, p99.9, within 10ms, samples or set-aside"
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
            _ => match (text.strip_prefix("within "), text.strip_prefix('p')) {
                (Some(length), _) => Self::Within(length.parse().map_err(|_| wrong())?),
                (None, Some(share)) => Self::Percentile(percent(share).ok_or_else(wrong)?),
                (None, None) => return Err(wrong()),
            },
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
}

impl Unit {
    /// A number of this unit in the base unit: nanoseconds for lengths.
    pub const fn base(self, number: f64) -> f64 {
        match self {
            Self::Micros => number * 1e3,
            Self::Millis => number * 1e6,
            Self::Share => number,
        }
    }
}
