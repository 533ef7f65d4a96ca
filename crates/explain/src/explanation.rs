//! The result of explaining a cell, in a form to store and to send.

use serde::{Deserialize, Serialize};
use tactus_model::result::Histogram;
use tactus_model::sample::Sample;
use tactus_model::time::Nanos;

use crate::cause::{Cause, Throttle};
use crate::circumstance::{Circumstance, Circumstances};
use crate::jobs::JobDivision;
use crate::outcome::MatchOutcome;
use crate::segments::{Segment, Segments};
use crate::timeline::Timeline;

/// Why the samples of a cell were late.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// The latency threshold: samples above it are late.
    pub threshold: Nanos,
    /// The number of samples.
    pub samples: u64,
    /// The number of samples with each outcome. They add up to `samples`.
    pub outcomes: Vec<OutcomeCount>,
    /// What happened while the samples were open.
    #[serde(default)]
    pub circumstances: Circumstances,
    /// The duration of each segment, over all samples that have segments.
    pub segments: Vec<SegmentHistogram>,
    /// The causes of the late samples, the greatest first.
    pub pareto: Pareto,
    /// The slowest samples, the slowest first.
    pub worst: Vec<ExplainedSample>,
    /// The throttled control groups of the tasks; none in recordings that do not show them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throttled: Vec<ThrottledGroup>,
}

/// How long the kernel throttled a control group by its quota of CPU time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThrottledGroup {
    /// Its path in the hierarchy of groups, e.g. `/robot`.
    pub path: String,
    /// The kernel's own account of the whole recording, added up over CPUs (`cpu.stat`).
    pub throttled: Nanos,
}

impl Explanation {
    /// How much of the late samples' time is throttling by a quota, as the events show.
    pub fn throttled_by_quota(&self) -> Nanos {
        let quota = Cause::Throttling { rule: Throttle::Cgroup };
        let rows = self.pareto.rows.iter().filter(|row| row.cause == quota);
        rows.map(|row| row.time).sum()
    }
}

/// How many samples had an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeCount {
    /// The outcome.
    pub outcome: MatchOutcome,
    /// The number of samples.
    pub count: u64,
}

/// The durations of one segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentHistogram {
    /// The segment.
    pub segment: Segment,
    /// Its durations.
    pub histogram: Histogram,
}

/// The causes of a cell's late samples.
///
/// Shares are of the total latency of all late samples, so the times of all rows add up
/// to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pareto {
    /// How many late samples were divided among causes.
    pub samples: u64,
    /// How many late samples could not be divided: void, untraced or unmatched.
    pub undivided: u64,
    /// The total latency of the divided samples.
    pub time: Nanos,
    /// A row for each cause, the greatest time first; unexplained time has rows too.
    pub rows: Vec<ParetoRow>,
}

/// One cause of a cell's late samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParetoRow {
    /// The cause; threads with one name are combined.
    pub cause: Cause,
    /// The time it took in all late samples.
    pub time: Nanos,
    /// In how many late samples it had a part.
    pub samples: u64,
    /// In how many late samples its [`Group`](crate::Group) had the greatest part, and it the
    /// greatest part of the group.
    pub first: u64,
    /// The maximum time it took in one sample.
    pub max: Nanos,
}

/// A late sample with everything that is known about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplainedSample {
    /// The task's number.
    pub task: u32,
    /// The sample's index among the samples of its task, from 0.
    pub index: u64,
    /// The sample.
    pub sample: Sample,
    /// How the sample was matched.
    pub outcome: MatchOutcome,
    /// The sample's segments, if its timer was found. They add up to the sample's
    /// latency.
    pub segments: Option<Segments>,
    /// Where the time of a job of a periodic thread went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobDivision>,
    /// What else happened while the sample was open.
    #[serde(default)]
    pub circumstance: Circumstance,
    /// The sample's causes, the greatest first. They add up to the sample's latency;
    /// empty if the outcome says that events are missing.
    pub parts: Vec<Part>,
    /// Which threads ran where in the sample's window.
    pub timeline: Option<Timeline>,
}

/// A share of a late sample's time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The cause.
    pub cause: Cause,
    /// The time it took.
    pub time: Nanos,
}

impl Explanation {
    /// How many samples had `outcome`.
    pub fn count(&self, outcome: MatchOutcome) -> u64 {
        self.outcomes
            .iter()
            .find(|counted| counted.outcome == outcome)
            .map_or(0, |counted| counted.count)
    }

    /// The share of the samples in recorded time without losses that were matched or
    /// classified, from 0 to 1; 1 if there were no such samples.
    pub fn classified(&self) -> f64 {
        let mut known = 0;
        let mut all = 0;
        for counted in &self.outcomes {
            match counted.outcome {
                MatchOutcome::Untraced | MatchOutcome::Void => {}
                MatchOutcome::Unmatched(_) => all += counted.count,
                _ => {
                    known += counted.count;
                    all += counted.count;
                }
            }
        }
        if all == 0 { 1.0 } else { known as f64 / all as f64 }
    }

    /// The share of the samples in recorded time without losses whose timer was found,
    /// from 0 to 1; 1 if there were no such samples.
    pub fn matched(&self) -> f64 {
        let sum = |wanted: fn(MatchOutcome) -> bool| -> u64 {
            self.outcomes
                .iter()
                .filter(|counted| wanted(counted.outcome))
                .map(|counted| counted.count)
                .sum()
        };
        let all = sum(|outcome| !matches!(outcome, MatchOutcome::Untraced | MatchOutcome::Void));
        if all == 0 { 1.0 } else { sum(MatchOutcome::has_timer) as f64 / all as f64 }
    }
}
