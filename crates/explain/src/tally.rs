//! Sums over samples while they are explained.

use tactus_model::sample::Sample;
use tactus_model::time::Nanos;

use crate::circumstance::Circumstances;
use crate::explanation::{ExplainedSample, Explanation, OutcomeCount, SegmentHistogram};
use crate::outcome::MatchOutcome;
use crate::pareto::{CauseTimes, ParetoBuilder};
use crate::task::Options;
use crate::timeline::Timeline;

/// The sums over the samples of a cell, or over the waits of the threads with one name.
///
/// It keeps only the slowest samples, so its memory does not grow with their number.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    options: Options,
    outcomes: Vec<OutcomeCount>,
    pareto: ParetoBuilder,
    /// The total latency of the late samples that were divided.
    late: Nanos,
    worst: Vec<ExplainedSample>,
}

impl Tally {
    pub(crate) fn new(options: Options) -> Self {
        let (outcomes, worst) = (Vec::new(), Vec::new());
        Self { options, outcomes, pareto: ParetoBuilder::default(), late: Nanos::ZERO, worst }
    }

    /// The total latency of the late samples that were divided.
    pub(crate) const fn late_time(&self) -> Nanos {
        self.late
    }

    /// Drops the timelines, and all but the `most` slowest samples.
    pub(crate) fn shorten(&mut self, most: usize) {
        self.sort_worst();
        self.worst.truncate(most);
        self.worst.shrink_to_fit();
        self.worst.iter_mut().for_each(|explained| explained.timeline = None);
    }

    /// Counts the outcome of a sample.
    pub(crate) fn count(&mut self, outcome: MatchOutcome) {
        match self.outcomes.iter_mut().find(|counted| counted.outcome == outcome) {
            Some(counted) => counted.count += 1,
            None => self.outcomes.push(OutcomeCount { outcome, count: 1 }),
        }
    }

    /// Takes a sample whose parts were found.
    pub(crate) fn take(&mut self, explained: ExplainedSample) {
        let named = explained.parts.iter().map(|part| (part.cause.by_name(), part.time)).collect();
        self.take_named(explained, &named);
    }

    /// Takes a sample whose parts were found, with the sums of its causes by name.
    pub(crate) fn take_named(&mut self, explained: ExplainedSample, named: &CauseTimes) {
        if self.is_late(&explained.sample) {
            self.late = self.late + explained.sample.latency();
            self.pareto.add(named);
        }
        self.keep(explained);
    }

    /// Takes a sample that cannot be divided among causes.
    pub(crate) fn leave_undivided(&mut self, explained: ExplainedSample) {
        if self.is_late(&explained.sample) {
            self.pareto.leave_out();
        }
        self.keep(explained);
    }

    /// Takes a sample that the replay did not reach.
    pub(crate) fn leave_unreached(&mut self, sample: Sample, outcome: MatchOutcome) {
        self.count(outcome);
        self.leave_unexplained(&sample);
    }

    /// Takes a sample of a known outcome that nobody explains.
    pub(crate) fn leave_unexplained(&mut self, sample: &Sample) {
        if self.is_late(sample) {
            self.pareto.leave_out();
        }
    }

    /// Whether a sample would be kept. The causes of others are needed only by name.
    pub(crate) fn would_keep(&self, explained: &ExplainedSample) -> bool {
        self.slower(explained) < self.options.slowest
    }

    /// Whether a sample would be kept with a timeline, as far as is known.
    pub(crate) fn would_draw(&self, explained: &ExplainedSample) -> bool {
        self.slower(explained) < self.options.timelines.min(self.options.slowest)
    }

    /// Draws the slowest samples that were due before `end` and have no timeline yet. Of samples
    /// that overlap, the slowest gets one: it shows the time of the others too.
    pub(crate) fn draw_before(&mut self, end: Nanos, draw: impl Fn(&Sample) -> Option<Timeline>) {
        self.sort_worst();
        for number in 0..self.worst.len().min(self.options.timelines) {
            let (slower, rest) = self.worst.split_at_mut(number);
            let Some(explained) = rest.first_mut() else { break };
            let Sample { due, came } = explained.sample;
            let overlaps =
                |other: &ExplainedSample| other.sample.due < came && due < other.sample.came;
            if explained.timeline.is_none() && due < end && !slower.iter().any(overlaps) {
                explained.timeline = draw(&explained.sample);
            }
        }
    }

    /// Returns the sums; `segments` are the durations of the segments.
    pub(crate) fn finish(mut self, segments: Vec<SegmentHistogram>) -> Explanation {
        self.sort_worst();
        self.outcomes.sort_by_key(|counted| counted.outcome);
        Explanation {
            threshold: self.options.threshold,
            samples: self.outcomes.iter().map(|counted| counted.count).sum(),
            outcomes: self.outcomes,
            circumstances: Circumstances::default(),
            segments,
            pareto: self.pareto.finish(),
            worst: self.worst,
            throttled: Vec::new(),
        }
    }

    fn is_late(&self, sample: &Sample) -> bool {
        sample.latency() > self.options.threshold
    }

    /// How many of the kept samples precede this one.
    fn slower(&self, explained: &ExplainedSample) -> usize {
        self.worst.iter().filter(|kept| rank(kept) < rank(explained)).count()
    }

    fn keep(&mut self, explained: ExplainedSample) {
        if !self.would_keep(&explained) {
            return;
        }
        self.worst.push(explained);
        if self.worst.len() > self.options.slowest.saturating_mul(2) {
            self.sort_worst();
        }
    }

    fn sort_worst(&mut self) {
        self.worst.sort_by_key(rank);
        self.worst.truncate(self.options.slowest);
        for explained in self.worst.iter_mut().skip(self.options.timelines) {
            explained.timeline = None;
        }
    }
}

/// The order of the slowest samples: the slowest first, samples with equal latency by
/// task and index.
fn rank(explained: &ExplainedSample) -> (std::cmp::Reverse<Nanos>, u32, u64) {
    (std::cmp::Reverse(explained.sample.latency()), explained.task, explained.index)
}
