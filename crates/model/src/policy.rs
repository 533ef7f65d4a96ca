//! How a probe is scheduled and prepared.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::cpus::CpuChoice;
use crate::text::UnknownWord;
use crate::time::{Nanos, NotALength};

/// A scheduling class with its parameters, as sched(7) describes them.
///
/// As text: `other`, `other:5` (nice 5), `batch`, `idle`, `fifo:90`, `rr:50`,
/// `deadline:500us/1ms/1ms` (runtime, deadline, period).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheduling {
    /// Ordinary time-sharing.
    #[doc(alias = "SCHED_OTHER")]
    Other {
        /// −20 (most favoured) to 19.
        nice: i8,
    },
    /// Time-sharing for batch work.
    #[doc(alias = "SCHED_BATCH")]
    Batch {
        /// −20 (most favoured) to 19.
        nice: i8,
    },
    /// Runs only if no other task is runnable.
    #[doc(alias = "SCHED_IDLE")]
    Idle,
    /// Runs until it blocks or a task of higher priority preempts it.
    #[doc(alias = "SCHED_FIFO")]
    Fifo(RealtimePriority),
    /// Like fifo, but tasks of the same priority take turns by quanta.
    #[doc(alias = "SCHED_RR")]
    RoundRobin(RealtimePriority),
    /// Runs for `runtime` in each `period`, finishing before `deadline`.
    #[doc(alias = "SCHED_DEADLINE")]
    Deadline {
        /// The CPU time per period.
        runtime: Nanos,
        /// From the start of a period to the deadline of its runtime.
        deadline: Nanos,
        /// From the start of one period to the next.
        period: Nanos,
    },
}

/// The kinds of quantum that a kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quanta {
    /// The quantum of rr tasks.
    RoundRobin,
    /// The quantum of time-sharing tasks.
    Ordinary,
}

/// A priority of the real-time classes: 1 (lowest) to 99.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RealtimePriority(u8);

impl RealtimePriority {
    /// Makes a priority; `None` unless `value` is between 1 and 99.
    pub const fn new(value: u8) -> Option<Self> {
        if value >= 1 && value <= 99 { Some(Self(value)) } else { None }
    }

    /// The priority for sched_setattr(2).
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl Scheduling {
    /// Time-sharing at nice 0, the initial policy of every process.
    pub const ORDINARY: Self = Self::Other { nice: 0 };

    /// The forms of the text, each with its meaning.
    pub const FORMS: [(&str, &str); 6] = [
        ("other[:NICE]", "Ordinary time-sharing; nice -20 (most favoured) to 19, 0 by default."),
        ("batch[:NICE]", "Time-sharing for batch work; nice as for other."),
        ("idle", "Runs only if no other task is runnable."),
        ("fifo:N", "Real-time, priority 1 (lowest) to 99: runs until it blocks or is preempted."),
        ("rr:N", "Real-time like fifo, but tasks of the same priority take turns by quanta."),
        (
            "deadline:RUNTIME/DEADLINE/PERIOD",
            "Runs for RUNTIME in each PERIOD, within DEADLINE of its start, e.g. deadline:500us/1ms/1ms.",
        ),
    ];

    /// The class alone, without its parameters.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Other { .. } => "other",
            Self::Batch { .. } => "batch",
            Self::Idle => "idle",
            Self::Fifo(_) => "fifo",
            Self::RoundRobin(_) => "rr",
            Self::Deadline { .. } => "deadline",
        }
    }

    /// The kind of quantum of the class; `None` if a task runs until it blocks or its runtime
    /// is used up.
    pub const fn quanta(self) -> Option<Quanta> {
        match self {
            Self::Other { .. } | Self::Batch { .. } | Self::Idle => Some(Quanta::Ordinary),
            Self::RoundRobin(_) => Some(Quanta::RoundRobin),
            Self::Fifo(_) | Self::Deadline { .. } => None,
        }
    }

    /// Whether the class preempts all time-sharing tasks: fifo, rr and deadline.
    pub const fn is_realtime(self) -> bool {
        matches!(self, Self::Fifo(_) | Self::RoundRobin(_) | Self::Deadline { .. })
    }
}

impl fmt::Display for Scheduling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = self.class();
        let text = match self {
            Self::Other { nice: 0 } | Self::Batch { nice: 0 } | Self::Idle => class.to_owned(),
            Self::Other { nice } | Self::Batch { nice } => format!("{class}:{nice}"),
            Self::Fifo(priority) | Self::RoundRobin(priority) => {
                format!("{class}:{}", priority.0)
            }
            Self::Deadline { runtime, deadline, period } => {
                format!("{class}:{runtime}/{deadline}/{period}")
            }
        };
        f.pad(&text)
    }
}

/// The error for a text that is not a scheduling class.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotScheduling {
    /// The class is unknown.
    #[error(transparent)]
    Class(#[from] UnknownWord),
    /// The nice value is invalid.
    #[error("`{0}` is not a nice value: write a number from -20 to 19, e.g. other:5")]
    Nice(String),
    /// The real-time priority is invalid.
    #[error("`{0}` is not a real-time priority: write a number from 1 to 99, e.g. fifo:90")]
    Priority(String),
    /// The real-time priority is missing.
    #[error("{0} needs a priority from 1 to 99, e.g. {0}:90")]
    NoPriority(&'static str),
    /// The class takes three durations.
    #[error(
        "`{0}` is not runtime/deadline/period: write three durations, e.g. deadline:500us/1ms/1ms"
    )]
    Deadline(String),
    /// One of the three durations is invalid.
    #[error(transparent)]
    Length(#[from] NotALength),
    /// The durations are out of order.
    #[error(
        "deadline:{0}: the kernel requires 1024ns <= runtime <= deadline <= period (see sched(7))"
    )]
    Order(String),
    /// The class takes no parameter.
    #[error("the class idle takes no parameter, but `{0}` was given")]
    NoParameter(String),
}

impl FromStr for Scheduling {
    type Err = NotScheduling;

    fn from_str(text: &str) -> Result<Self, NotScheduling> {
        let (class, parameter) = match text.split_once(':') {
            Some((class, parameter)) => (class, Some(parameter)),
            None => (text, None),
        };
        match class.to_ascii_lowercase().as_str() {
            "other" => Ok(Self::Other { nice: parse_nice(parameter)? }),
            "batch" => Ok(Self::Batch { nice: parse_nice(parameter)? }),
            "idle" => match parameter {
                None => Ok(Self::Idle),
                Some(parameter) => Err(NotScheduling::NoParameter(parameter.to_owned())),
            },
            "fifo" => Ok(Self::Fifo(parse_priority("fifo", parameter)?)),
            "rr" => Ok(Self::RoundRobin(parse_priority("rr", parameter)?)),
            "deadline" => parse_deadline(parameter.unwrap_or_default()),
            _ => Err(UnknownWord::new(
                "scheduling class",
                class,
                &["other", "batch", "idle", "fifo", "rr", "deadline"],
            )
            .into()),
        }
    }
}

fn parse_nice(parameter: Option<&str>) -> Result<i8, NotScheduling> {
    let Some(text) = parameter else { return Ok(0) };
    text.parse()
        .ok()
        .filter(|nice| (-20..=19).contains(nice))
        .ok_or_else(|| NotScheduling::Nice(text.to_owned()))
}

fn parse_priority(
    class: &'static str,
    parameter: Option<&str>,
) -> Result<RealtimePriority, NotScheduling> {
    let missing = NotScheduling::NoPriority(class);
    let text = parameter.filter(|text| !text.is_empty()).ok_or(missing)?;
    text.parse()
        .ok()
        .and_then(RealtimePriority::new)
        .ok_or_else(|| NotScheduling::Priority(text.to_owned()))
}

fn parse_deadline(text: &str) -> Result<Scheduling, NotScheduling> {
    let parts: Vec<&str> = text.split('/').collect();
    let [runtime, deadline, period] = parts[..] else {
        return Err(NotScheduling::Deadline(text.to_owned()));
    };
    let (runtime, deadline, period): (Nanos, Nanos, Nanos) =
        (runtime.parse()?, deadline.parse()?, period.parse()?);
    if runtime < Nanos::from_nanos(1024) || runtime > deadline || deadline > period {
        return Err(NotScheduling::Order(text.to_owned()));
    }
    Ok(Scheduling::Deadline { runtime, deadline, period })
}

crate::text::serde_as_text!(Scheduling);

/// How a probe's tasks are scheduled and prepared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// The scheduling class and its parameters.
    pub scheduling: Scheduling,
    /// The CPUs on which the probe's tasks run.
    pub cpus: CpuChoice,
    /// Whether memory is locked and touched before the measurement (mlockall(2)).
    pub lock_memory: bool,
    /// The timer slack to set (`PR_SET_TIMERSLACK`); `None` leaves the kernel's value.
    pub timer_slack: Option<Nanos>,
    /// The longest idle-state exit latency to allow, in microseconds, by holding
    /// `/dev/cpu_dma_latency`; `None` leaves it unchanged.
    pub cpu_dma_latency_us: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, shown: &str) {
        let scheduling: Scheduling = text.parse().unwrap();
        assert_eq!(scheduling.to_string(), shown);
        assert_eq!(shown.parse(), Ok(scheduling));
    }

    #[test]
    fn classes_are_parsed_and_formatted() {
        check("other", "other");
        check("other:0", "other");
        check("other:-5", "other:-5");
        check("batch:19", "batch:19");
        check("idle", "idle");
        check("fifo:90", "fifo:90");
        check("rr:1", "rr:1");
        check("deadline:500us/1ms/1000us", "deadline:500us/1ms/1ms");
        check("FIFO:90", "fifo:90");
        check("Deadline:500US/1ms/1MS", "deadline:500us/1ms/1ms");
    }

    #[test]
    fn an_unknown_class_names_the_nearest() {
        let error = "fifi:90".parse::<Scheduling>().unwrap_err().to_string();
        assert!(error.contains("did you mean `fifo`?"), "{error}");
    }

    #[test]
    fn parameters_out_of_range_are_rejected() {
        for text in [
            "fifo",
            "fifo:0",
            "fifo:100",
            "rr:x",
            "other:20",
            "idle:3",
            "deadline:1ms",
            "deadline:2ms/1ms/5ms",
            "deadline:1ns/1ms/1ms",
        ] {
            assert!(text.parse::<Scheduling>().is_err(), "{text}");
        }
    }
}
