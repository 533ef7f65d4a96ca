//! What explaining a cell yields, in a form to keep and to send.

use serde::{Deserialize, Serialize};
use tactus_model::result::Histogram;
use tactus_model::sample::Sample;
use tactus_model::time::Nanos;

use crate::cause::Cause;
use crate::circumstance::{Circumstance, Circumstances};
use crate::outcome::{MatchOutcome, Unmatched};
use crate::segments::{Segment, Segments};
use crate::timeline::Timeline;

/// Why the samples of a cell were late.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// The latency above which a sample is late.
    pub threshold: Nanos,
    /// How many samples were given.
    pub samples: u64,
    /// What became of each: how many of every outcome. They add up to `samples`.
    pub outcomes: Vec<OutcomeCount>,
    /// What went on while they were open.
    #[serde(default)]
    pub circumstances: Circumstances,
    /// How long each segment took, over all samples that have segments.
    pub segments: Vec<SegmentHistogram>,
    /// Causes over the late samples, the greatest first.
    pub pareto: Pareto,
    /// The slowest samples, the slowest first.
    pub worst: Vec<ExplainedSample>,
}

/// How many samples had an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeCount {
    /// The outcome.
    pub outcome: MatchOutcome,
    /// How many had it.
    pub count: u64,
}

/// How long one segment took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentHistogram {
    /// The segment.
    pub segment: Segment,
    /// Its lengths.
    pub histogram: Histogram,
}

/// The causes of a cell's late samples.
///
/// The time that is divided is the whole latency of every late sample, so the
/// times of all rows add up to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pareto {
    /// How many late samples were divided among causes.
    pub samples: u64,
    /// How many late samples could not be: void, untraced or unmatched.
    pub undivided: u64,
    /// Their latency, all together.
    pub time: Nanos,
    /// A row for each cause, the greatest time first; the remainder is a row too.
    pub rows: Vec<ParetoRow>,
}

/// One cause of a cell's late samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParetoRow {
    /// The cause; threads of one name are taken together.
    pub cause: Cause,
    /// The time it took in all late samples.
    pub time: Nanos,
    /// In how many late samples it had a part.
    pub samples: u64,
    /// In how many late samples it had the greatest part.
    pub first: u64,
    /// The most it took in one sample.
    pub max: Nanos,
}

/// A late sample with all that is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplainedSample {
    /// The task's number.
    pub task: u32,
    /// The sample's number among those of its task, counted from 0.
    pub index: u64,
    /// The sample.
    pub sample: Sample,
    /// How it was matched.
    pub outcome: MatchOutcome,
    /// Its segments, where its timer was found. They add up to its latency.
    pub segments: Option<Segments>,
    /// What else went on while it was open.
    #[serde(default)]
    pub circumstance: Circumstance,
    /// Its causes, the greatest first. They add up to its latency; none where
    /// the outcome says that events are lacking.
    pub parts: Vec<Part>,
    /// Who ran where meanwhile.
    pub timeline: Option<Timeline>,
}

/// A share of a late sample's time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// What took it.
    pub cause: Cause,
    /// How much.
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

    /// The share of the samples in recorded, unbroken time that were matched or
    /// classified, from 0 to 1; 1 when there was none.
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

    /// The share of the samples in recorded, unbroken time whose timer was
    /// found, from 0 to 1; 1 when there was none.
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

    /// The reasons for which samples were not matched, and how many each.
    pub fn unmatched(&self) -> impl Iterator<Item = (Unmatched, u64)> + '_ {
        self.outcomes.iter().filter_map(|counted| match counted.outcome {
            MatchOutcome::Unmatched(reason) => Some((reason, counted.count)),
            _ => None,
        })
    }
}
