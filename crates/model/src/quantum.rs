//! How long a task may run before another task of its class runs.

use std::fmt;
use std::str::FromStr;

use crate::text::serde_as_text;
use crate::time::Nanos;

/// The quantum of the scheduling classes that have one, during the measurement of a cell.
///
/// As text: `untouched`, `60ms`, `6ticks`.
#[doc(alias = "sched_rr_timeslice_ms")]
#[doc(alias = "base_slice_ns")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantum {
    /// The machine's own setting.
    #[default]
    Untouched,
    /// A duration.
    Length(Nanos),
    /// A number of kernel ticks.
    Ticks(u32),
}

impl Quantum {
    /// The duration of the quantum if a tick lasts `tick`; `None` for [`Self::Untouched`].
    pub const fn length(self, tick: Nanos) -> Option<Nanos> {
        match self {
            Self::Untouched => None,
            Self::Length(length) => Some(length),
            Self::Ticks(ticks) => Some(tick.saturating_mul(ticks as u64)),
        }
    }
}

impl fmt::Display for Quantum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untouched => f.pad("untouched"),
            Self::Length(length) => f.pad(&length.to_string()),
            Self::Ticks(ticks) => f.pad(&format!("{ticks}ticks")),
        }
    }
}

/// The error for a text that is not a quantum.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a quantum: write a duration from 100us to 10s, e.g. 60ms, or a number of ticks, e.g. 6ticks, or untouched"
)]
pub struct NotAQuantum(String);

/// The shortest quantum, the minimum of sched_setattr(2) for ordinary tasks, and the longest.
const SHORTEST: Nanos = Nanos::from_micros(100);
const LONGEST: Nanos = Nanos::from_secs(10);

impl FromStr for Quantum {
    type Err = NotAQuantum;

    fn from_str(text: &str) -> Result<Self, NotAQuantum> {
        let wrong = || NotAQuantum(text.to_owned());
        if text == "untouched" {
            return Ok(Self::Untouched);
        }
        if let Some(ticks) = text.strip_suffix("ticks") {
            let ticks = ticks.trim_end().parse().ok().filter(|ticks| (1..=10_000).contains(ticks));
            return ticks.map(Self::Ticks).ok_or_else(wrong);
        }
        let length = text.parse().ok().filter(|length| (SHORTEST..=LONGEST).contains(length));
        length.map(Self::Length).ok_or_else(wrong)
    }
}

serde_as_text!(Quantum);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quanta_are_parsed_and_formatted_or_rejected_with_an_example() {
        for text in ["untouched", "60ms", "100us", "6ticks"] {
            assert_eq!(text.parse::<Quantum>().unwrap().to_string(), text);
        }
        assert_eq!("6 ticks".parse(), Ok(Quantum::Ticks(6)));
        for text in ["0ticks", "6", "1us", "20s", "ticks", "short"] {
            let error = text.parse::<Quantum>().unwrap_err().to_string();
            assert!(error.contains("6ticks"), "{error}");
        }
    }

    #[test]
    fn ticks_have_the_duration_of_the_kernels_tick() {
        let tick = Nanos::from_micros(50);
        assert_eq!(Quantum::Ticks(2).length(tick), Some(Nanos::from_micros(100)));
        assert_eq!(
            Quantum::Length(Nanos::from_millis(60)).length(tick),
            Some(Nanos::from_millis(60))
        );
        assert_eq!(Quantum::Untouched.length(tick), None);
    }
}
