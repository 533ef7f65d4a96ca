//! Frames of a real pipeline beside the prediction, and where the difference comes from.

use serde::Serialize;
use tactus_model::random::SplitMix64;
use tactus_model::time::Nanos;

use crate::draws::{Drawing, Durations, Samples};
use crate::estimate::{Chance, Estimate, QUANTILES, Sorted, chance, quantiles};
use crate::graph::{Graph, Link};
use crate::predict::Prediction;
use crate::simulate::simulate;

/// When a stage of a frame ran, since the first frame was due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// When it began.
    pub begin: Nanos,
    /// When it ended.
    pub end: Nanos,
}

/// What was found of the real pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Rounds of frames; the spans of a frame are those of the graph's stages, in order.
    pub rounds: Vec<Vec<Vec<Span>>>,
}

/// What else differed between the measurements of the operations and of the pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Conditions {
    /// The duration of a system call while the operations were measured, in nanoseconds.
    pub call_operations_ns: Option<f64>,
    /// The same right before the pipeline ran.
    pub call_pipeline_ns: Option<f64>,
    /// Steal time of all CPUs while the pipeline ran, as a share of the time.
    pub steal: Option<f64>,
}

/// A figure, predicted and measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The quantile.
    pub quantile: f64,
    /// What was predicted.
    pub predicted: Estimate,
    /// What was measured.
    pub measured: Estimate,
    /// The relative error: predicted less measured, as a share of the measured value.
    pub error: f64,
}

/// A part, predicted and measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartCompared {
    /// Its name.
    pub name: String,
    /// The predicted median and 99th percentile.
    pub predicted: [Nanos; 2],
    /// The measured ones.
    pub measured: [Nanos; 2],
}

/// Where a difference comes from. The amounts of one quantile are shares of the measured value; they
/// are negative where the prediction is too high.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum Cause {
    /// A part took longer or shorter than the operations that it consists of.
    Part {
        /// Its name.
        part: String,
        /// By how much its own quantile differs.
        share: f64,
    },
    /// Parts depend on one another: they are long in the same frames, or in different ones.
    Dependence {
        /// The difference to frames whose measured parts are drawn independently.
        share: f64,
    },
    /// The machine had another speed: the duration of a system call changed.
    Speed {
        /// By how much.
        share: f64,
    },
    /// The hypervisor took the CPUs.
    Steal {
        /// The share of the time.
        share: f64,
    },
}

/// The prediction beside the real pipeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The number of frames.
    pub frames: usize,
    /// The quantiles of [`QUANTILES`] that the frames and the samples support.
    pub quantiles: Vec<Compared>,
    /// The measured chance of a miss.
    pub miss: Chance,
    /// The parts.
    pub parts: Vec<PartCompared>,
    /// Where the difference of the median comes from, the most first.
    pub median_causes: Vec<Cause>,
    /// Where that of the 99th percentile comes from.
    pub p99_causes: Vec<Cause>,
    /// The measured distribution, as points of a percentile curve.
    #[serde(skip)]
    pub curve: Vec<(f64, Nanos)>,
}

/// The least difference that is explained, as a share of the measured value.
const NOTABLE: f64 = 0.03;
/// The frames of the simulation in which measured parts are independent.
const FRAMES: usize = 10_000;
/// The repetitions that give the intervals.
const REPETITIONS: usize = 200;

impl Comparison {
    /// Compares; `None` without frames.
    pub fn of(
        graph: &Graph,
        prediction: &Prediction,
        measured: &Measured,
        conditions: &Conditions,
    ) -> Option<Self> {
        let rounds: Vec<Vec<Nanos>> =
            measured.rounds.iter().map(|frames| times(graph, frames)).collect();
        let all = Sorted::of(rounds.iter().flatten().copied());
        let frames: usize = rounds.iter().map(Vec::len).sum();
        (frames > 0).then_some(())?;
        let repetitions = resampled(&rounds, prediction.seed);
        let estimates = quantiles(&all, &repetitions);
        let supported = |quantile: f64| frames as f64 * (1.0 - quantile) >= 3.0 - 1e-9;
        let compared = QUANTILES.iter().zip(&estimates).filter_map(|(quantile, measured)| {
            let predicted = prediction.quantile(*quantile).filter(|_| supported(*quantile))?;
            let error = relative(predicted.value, measured.value, measured.value);
            Some(Compared { quantile: *quantile, predicted, measured: *measured, error })
        });
        let samples = part_samples(graph, measured);
        let parts = compared_parts(prediction, &samples);
        let independent = independent(graph, &samples, prediction.seed);
        let causes = |quantile: f64, index: usize| {
            let value = all.quantile(quantile);
            let of_parts = parts.iter().map(|part| Cause::Part {
                part: part.name.clone(),
                share: relative(part.measured[index], part.predicted[index], value),
            });
            let dependence = relative(value, independent.quantile(quantile), value);
            let dependence = Cause::Dependence { share: dependence };
            let mut causes: Vec<Cause> = of_parts.chain([dependence]).collect();
            causes.extend(conditions.causes());
            causes.retain(|cause| cause.share().abs() >= NOTABLE);
            causes.sort_by(|a, b| b.share().abs().total_cmp(&a.share().abs()));
            causes
        };
        Some(Self {
            frames,
            quantiles: compared.collect(),
            miss: chance(&all, &repetitions, graph.budget, frames),
            median_causes: causes(0.5, 0),
            p99_causes: causes(0.99, 1),
            curve: all.curve(),
            parts,
        })
    }
}

impl Cause {
    /// Its amount.
    pub const fn share(&self) -> f64 {
        match self {
            Self::Part { share, .. }
            | Self::Dependence { share }
            | Self::Speed { share }
            | Self::Steal { share } => *share,
        }
    }
}

impl Conditions {
    fn causes(&self) -> impl Iterator<Item = Cause> {
        let speed = self.call_operations_ns.zip(self.call_pipeline_ns).map(|(before, then)| {
            Cause::Speed { share: then / before.max(f64::MIN_POSITIVE) - 1.0 }
        });
        speed.into_iter().chain(self.steal.map(|share| Cause::Steal { share }))
    }
}

fn relative(one: Nanos, other: Nanos, whole: Nanos) -> f64 {
    (one.as_nanos() as f64 - other.as_nanos() as f64) / whole.as_nanos().max(1) as f64
}

/// The time of each frame.
fn times(graph: &Graph, frames: &[Vec<Span>]) -> Vec<Nanos> {
    let of = |(frame, spans): (usize, &Vec<Span>)| {
        let due = graph.period.saturating_mul(frame as u64);
        spans.iter().map(|span| span.end).max().unwrap_or_default().saturating_sub(due)
    };
    frames.iter().enumerate().map(of).collect()
}

/// Rounds with replacement.
fn resampled(rounds: &[Vec<Nanos>], seed: u64) -> Vec<Sorted> {
    let mut random = SplitMix64::new(seed);
    let count = rounds.len() as u64;
    let mut repetition = || {
        let drawn = (0..count).map(|_| &rounds[random.below(count) as usize]);
        Sorted::of(drawn.flatten().copied())
    };
    (0..REPETITIONS).map(|_| repetition()).collect()
}

/// The measured durations of each part, for each part its rounds.
fn part_samples(graph: &Graph, measured: &Measured) -> Vec<Samples> {
    let parts = graph.parts().len();
    let mut of_parts: Vec<Vec<Vec<Nanos>>> = vec![Vec::new(); parts];
    for frames in &measured.rounds {
        let mut round = vec![Vec::new(); parts];
        let mut process_ended = vec![Nanos::ZERO; graph.processes.len()];
        for (number, spans) in frames.iter().enumerate() {
            let due = graph.period.saturating_mul(number as u64);
            for ((stage, parts), span) in graph.stages.iter().zip(graph.layout()).zip(spans) {
                let free = std::mem::replace(&mut process_ended[stage.process], span.end);
                round[parts.work].push(span.end.saturating_sub(span.begin));
                if let Some(wake) = parts.wake.filter(|_| free <= due) {
                    round[wake].push(span.begin.saturating_sub(due));
                }
                // The last to end decided when the stage began.
                let ended = |link: &Link| spans.get(link.from).map_or(Nanos::ZERO, |span| span.end);
                let links = stage.after.iter().zip(&parts.hand_overs);
                let last = links.max_by_key(|(link, _)| ended(link));
                if let Some((link, Some(part))) = last.filter(|(link, _)| ended(link) >= free) {
                    round[*part].push(span.begin.saturating_sub(ended(link)));
                }
            }
        }
        of_parts.iter_mut().zip(round).for_each(|(part, samples)| part.push(samples));
    }
    of_parts.into_iter().map(Samples::new).collect()
}

fn compared_parts(prediction: &Prediction, samples: &[Samples]) -> Vec<PartCompared> {
    let parts = prediction.parts.iter().zip(samples);
    parts
        .map(|(predicted, samples)| {
            let sorted = Sorted::of(samples.all());
            PartCompared {
                name: predicted.name.clone(),
                predicted: [predicted.median, predicted.p99],
                measured: [sorted.quantile(0.5), sorted.quantile(0.99)],
            }
        })
        .collect()
}

/// Frames of the measured parts, each drawn on its own.
fn independent(graph: &Graph, samples: &[Samples], seed: u64) -> Sorted {
    let rounds: Vec<usize> = (0..samples.iter().map(Samples::rounds).max().unwrap_or(0)).collect();
    let parts: Vec<Vec<&Samples>> = samples.iter().map(|samples| vec![samples]).collect();
    let drawing = Drawing { frames: FRAMES, rounds: &rounds, stretch: 1, independent: true, seed };
    let durations = Durations::draw(&parts, &drawing);
    Sorted::of(simulate(graph, FRAMES, |frame, part| durations.of(frame, part)).frames)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    /// Frames of the line in which control takes `control(n)` µs and all other parts 10 µs.
    fn measured(control: impl Fn(u64) -> u64) -> Measured {
        let frame = |number: u64| {
            let due = Nanos::from_millis(number);
            let mut at = due;
            [10, control(number), 10]
                .map(|work| {
                    let begin = at + Nanos::from_micros(10);
                    at = begin + Nanos::from_micros(work);
                    Span { begin, end: at }
                })
                .to_vec()
        };
        Measured { rounds: vec![(0..400).map(frame).collect(); 3] }
    }

    fn predicted(graph: &Graph, control: u64) -> Prediction {
        let of = |cell: usize| match cell == graph.stages[1].steps[0] {
            true => Nanos::from_micros(control - 10),
            false => Nanos::from_micros(10),
        };
        let samples: Vec<Samples> = (0..graph.cells.len())
            .map(|cell| Samples::new((0..3).map(|_| vec![of(cell); 400])))
            .collect();
        Prediction::of(graph, &samples, 1)
    }

    fn compare(control: impl Fn(u64) -> u64, expected: u64) -> Comparison {
        let graph = fixture::line();
        let prediction = predicted(&graph, expected);
        Comparison::of(&graph, &prediction, &measured(control), &Conditions::default()).unwrap()
    }

    #[test]
    fn a_prediction_that_is_right_has_no_error_and_no_cause() {
        let found = compare(|_| 100, 100);
        assert_eq!(found.frames, 1200);
        assert!(found.quantiles.iter().all(|one| one.error == 0.0), "{found:?}");
        assert!(found.median_causes.is_empty() && found.p99_causes.is_empty(), "{found:?}");
        assert_eq!(found.parts.len(), 6);
    }

    #[test]
    fn a_part_that_takes_longer_is_named() {
        let found = compare(|_| 200, 100);
        let error = found.quantiles[0].error;
        assert!((error + 100.0 / 250.0).abs() < 1e-9, "{error}");
        let Cause::Part { part, share } = &found.median_causes[0] else { panic!("{found:?}") };
        assert_eq!(part, "control");
        assert!((share - 0.4).abs() < 1e-9);
    }

    #[test]
    fn another_speed_of_the_machine_is_a_cause() {
        let graph = fixture::line();
        let conditions = Conditions {
            call_operations_ns: Some(100.0),
            call_pipeline_ns: Some(125.0),
            steal: Some(0.001),
        };
        let found =
            Comparison::of(&graph, &predicted(&graph, 100), &measured(|_| 100), &conditions)
                .unwrap();
        assert_eq!(found.median_causes, [Cause::Speed { share: 0.25 }]);
    }

    #[test]
    fn no_frames_give_no_comparison() {
        let graph = fixture::line();
        let none = Measured::default();
        let prediction = predicted(&graph, 100);
        assert_eq!(Comparison::of(&graph, &prediction, &none, &Conditions::default()), None);
    }
}
