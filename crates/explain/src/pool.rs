//! The explanations of several stretches of one cell combined.

use std::collections::BTreeMap;

use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;

use crate::cause::Cause;
use crate::circumstance::Circumstances;
use crate::explanation::{
    ExplainedSample, Explanation, OutcomeCount, Pareto, ParetoRow, SegmentHistogram,
};
use crate::outcome::MatchOutcome;
use crate::segments::Segment;

impl Explanation {
    /// Combines explanations that were made with the same threshold and keeps the
    /// `slowest` samples of all; `None` if there are no explanations.
    pub fn pool(explanations: Vec<Self>, slowest: usize) -> Option<Self> {
        let threshold = explanations.first()?.threshold;
        let mut outcomes: BTreeMap<MatchOutcome, u64> = BTreeMap::new();
        let mut segments: BTreeMap<Segment, LatencyHistogram> = BTreeMap::new();
        let mut paretos = Vec::new();
        let mut worst: Vec<ExplainedSample> = Vec::new();
        let mut throttled = Vec::new();
        let mut samples = 0;
        let mut circumstances = Circumstances::default();
        for explanation in explanations {
            samples += explanation.samples;
            circumstances = circumstances.and(explanation.circumstances);
            for counted in explanation.outcomes {
                *outcomes.entry(counted.outcome).or_default() += counted.count;
            }
            for part in &explanation.segments {
                segments.entry(part.segment).or_default().merge_record(&part.histogram);
            }
            paretos.push(explanation.pareto);
            worst.extend(explanation.worst);
            throttled.extend(explanation.throttled);
        }
        // The sort is stable: samples with equal latency stay in the order of their stretches.
        worst.sort_by_key(|explained| std::cmp::Reverse(explained.sample.latency()));
        worst.truncate(slowest);
        let outcomes = outcomes.into_iter();
        let segments = segments.into_iter();
        Some(Self {
            threshold,
            samples,
            outcomes: outcomes.map(|(outcome, count)| OutcomeCount { outcome, count }).collect(),
            circumstances,
            segments: segments
                .map(|(segment, all)| SegmentHistogram { segment, histogram: all.to_record() })
                .collect(),
            pareto: pooled(paretos),
            worst,
            throttled,
        })
    }
}

fn pooled(paretos: Vec<Pareto>) -> Pareto {
    let mut whole = Pareto::default();
    let mut rows: BTreeMap<Cause, ParetoRow> = BTreeMap::new();
    for pareto in paretos {
        whole.samples += pareto.samples;
        whole.undivided += pareto.undivided;
        whole.time = whole.time + pareto.time;
        for row in pareto.rows {
            let sum = rows.entry(row.cause.clone()).or_insert_with(|| ParetoRow {
                cause: row.cause,
                time: Nanos::ZERO,
                samples: 0,
                first: 0,
                max: Nanos::ZERO,
            });
            sum.time = sum.time + row.time;
            sum.samples += row.samples;
            sum.first += row.first;
            sum.max = sum.max.max(row.max);
        }
    }
    whole.rows = rows.into_values().collect();
    whole.rows.sort_by_key(|row| std::cmp::Reverse(row.time));
    whole
}

#[cfg(test)]
mod tests {
    use tactus_model::recording::Softirq;
    use tactus_model::sample::Sample;

    use super::*;
    use crate::circumstance::{Circumstance, Serving, ServingCount};

    fn explanation(micros: u64, cause: Cause) -> Explanation {
        let time = Nanos::from_micros(micros);
        let mut lengths = LatencyHistogram::new();
        lengths.record(time);
        let histogram = lengths.to_record();
        Explanation {
            throttled: Vec::new(),
            threshold: Nanos::from_micros(100),
            samples: 10,
            outcomes: vec![OutcomeCount { outcome: MatchOutcome::Timer, count: 10 }],
            circumstances: Circumstances::new(
                10,
                Some(2),
                vec![ServingCount { serving: Serving::Softirq(Softirq::NET_RX), count: micros }],
            ),
            segments: vec![SegmentHistogram { segment: Segment::DueToIrq, histogram }],
            pareto: Pareto {
                samples: 1,
                undivided: 0,
                time,
                rows: vec![ParetoRow { cause, time, samples: 1, first: 1, max: time }],
            },
            worst: vec![ExplainedSample {
                task: 0,
                index: micros,
                sample: Sample { due: Nanos::ZERO, came: time },
                outcome: MatchOutcome::Timer,
                segments: None,
                circumstance: Circumstance::default(),
                parts: Vec::new(),
                job: None,
                timeline: None,
            }],
        }
    }

    #[test]
    fn stretches_are_added_up_and_the_slowest_kept() {
        let stretches = vec![
            explanation(200, Cause::HostPause),
            explanation(500, Cause::UnexplainedGap),
            explanation(400, Cause::HostPause),
        ];
        let pooled = Explanation::pool(stretches, 2).unwrap();
        assert_eq!((pooled.samples, pooled.count(MatchOutcome::Timer)), (30, 30));
        assert_eq!(pooled.segments[0].histogram.count, 3);
        let serving = ServingCount { serving: Serving::Softirq(Softirq::NET_RX), count: 1100 };
        assert_eq!(pooled.circumstances, Circumstances::new(30, Some(6), vec![serving]));
        let rows: Vec<(&Cause, u64, u64)> = pooled
            .pareto
            .rows
            .iter()
            .map(|row| (&row.cause, row.time.as_nanos() / 1000, row.samples))
            .collect();
        assert_eq!(rows, [(&Cause::HostPause, 600, 2), (&Cause::UnexplainedGap, 500, 1)]);
        let sum: Nanos = pooled.pareto.rows.iter().map(|row| row.time).sum();
        assert_eq!(sum, pooled.pareto.time);
        let worst: Vec<u64> = pooled.worst.iter().map(|explained| explained.index).collect();
        assert_eq!(worst, [500, 400]);
        assert_eq!(Explanation::pool(Vec::new(), 2), None);
    }
}
