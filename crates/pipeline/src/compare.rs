//! Frames of a real pipeline beside the prediction, and where the difference comes from.

use serde::Serialize;
use tactus_model::random::SplitMix64;
use tactus_model::time::Nanos;

use crate::dissect::{Dissected, Span, part_samples};
use crate::draws::{Drawing, Durations, Samples};
use crate::estimate::{Chance, Estimate, QUANTILES, Sorted, chance, quantiles};
use crate::graph::Graph;
use crate::predict::{Parts, Prediction};
use crate::simulate::simulate;

/// What was found of the real pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Rounds of frames; the spans of a frame are those of the graph's stages, in order.
    pub rounds: Vec<Vec<Vec<Span>>>,
    /// The rounds without frames: the pipeline fell so far behind that it was ended.
    pub ended: usize,
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
    /// The share of the CPUs that others used while the operations were measured.
    pub foreign_operations: Option<f64>,
    /// The same while the pipeline ran.
    pub foreign_pipeline: Option<f64>,
    /// How long the processes of the pipeline waited for a CPU that others had, for each frame.
    pub run_delay: Option<Nanos>,
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

/// Where a difference comes from. The amounts of one quantile are shares of the measured value; they
/// are negative where the prediction is too high.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum Cause {
    /// A part took longer or shorter in the frames near the quantile than predicted, where it was on
    /// their path. With the waits and the other path, these amounts add up to the difference.
    Part {
        /// Its name.
        part: String,
        /// By how much.
        share: f64,
    },
    /// Another branch was the later one: a part was on the path of more or fewer frames. Of branches
    /// that take equally long, these amounts cancel each other out.
    Path {
        /// By how much.
        share: f64,
    },
    /// Data waited more or less for a process that was busy.
    Waiting {
        /// By how much.
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

/// The rounds in which the real pipeline fell behind: in more than one of twenty frames, data waited
/// for a busy process for longer than a period. Such a round says how long it ran, and nothing of the
/// duration of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Behind {
    /// How many fell behind.
    pub rounds: usize,
    /// Of how many.
    pub of: usize,
}

/// The prediction beside the real pipeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The number of frames of all rounds.
    pub frames: usize,
    /// The rounds that fell behind. Unless all did, the quantiles, parts and causes are those of the
    /// others; misses are of all.
    pub behind: Behind,
    /// The quantiles of [`QUANTILES`] that the frames and the samples support.
    pub quantiles: Vec<Compared>,
    /// The measured chance of a miss.
    pub miss: Chance,
    /// The parts.
    #[serde(flatten)]
    pub parts: Parts,
    /// Where the difference of the median comes from, the most first.
    pub median_causes: Vec<Cause>,
    /// Where that of the 99th percentile comes from.
    pub p99_causes: Vec<Cause>,
    /// What else differed.
    pub conditions: Conditions,
    /// The measured distribution, as points of a percentile curve.
    #[serde(skip)]
    pub curve: Vec<(f64, Nanos)>,
}

/// The least difference that is explained, as a share of the measured value.
const NOTABLE: f64 = 0.03;
/// The share of frames from which on a round fell behind.
const BEHIND_MAX: f64 = 0.05;
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
        let dissected =
            |frames: &Vec<Vec<Span>>| Dissected::of(graph, frames.iter().map(|spans| &spans[..]));
        let rounds: Vec<Dissected> = measured.rounds.iter().map(dissected).collect();
        let all: Vec<&Dissected> = rounds.iter().collect();
        let frames = frames_of(&all);
        (frames > 0).then_some(())?;
        let kept_up: Vec<&Dissected> =
            rounds.iter().filter(|round| round.behind() <= BEHIND_MAX).collect();
        let behind = Behind {
            rounds: rounds.len() - kept_up.len() + measured.ended,
            of: rounds.len() + measured.ended,
        };
        let compared = if kept_up.is_empty() { &all } else { &kept_up };
        let sorted = sorted(compared);
        let parts = Parts::of(graph, compared);
        // Of frames that queue without end, no part is the cause.
        let independent = (!kept_up.is_empty())
            .then(|| independent(graph, &part_samples(&kept_up), prediction.seed));
        let causes = |quantile: f64| {
            let Some(independent) = &independent else { return Vec::new() };
            let value = sorted.quantile(quantile);
            let mut causes = shares(&prediction.parts, &parts, quantile, value);
            let share = relative(value, independent.quantile(quantile), value);
            causes.push(Cause::Dependence { share });
            causes.extend(conditions.causes());
            causes.retain(|cause| cause.share().abs() >= NOTABLE);
            causes.sort_by(|a, b| b.share().abs().total_cmp(&a.share().abs()));
            causes
        };
        let of_all = resampled(&all, prediction.seed);
        Some(Self {
            frames,
            behind,
            quantiles: compared_quantiles(prediction, compared),
            miss: chance(&self::sorted(&all), &of_all, graph.budget, frames),
            median_causes: causes(0.5),
            p99_causes: causes(0.99),
            conditions: *conditions,
            curve: sorted.curve(),
            parts,
        })
    }
}

impl Cause {
    /// Its amount.
    pub const fn share(&self) -> f64 {
        match self {
            Self::Part { share, .. }
            | Self::Path { share }
            | Self::Waiting { share }
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

/// How much longer than predicted each part took of the frames near the median, or else near the 99th
/// percentile, as shares of `whole`.
fn shares(predicted: &Parts, measured: &Parts, quantile: f64, whole: Nanos) -> Vec<Cause> {
    let is_median = quantile == 0.5;
    let [before, then] = [predicted, measured].map(|parts| parts.waiting[usize::from(!is_median)]);
    let waiting = Cause::Waiting { share: relative(then, before, whole) };
    let whole = whole.as_nanos().max(1) as f64;
    let mut path = 0.0;
    let parts = predicted.parts.iter().zip(&measured.parts).map(|(predicted, measured)| {
        let [before, then] = [predicted, measured].map(|part| part.on_path(is_median));
        let [own, of_path] = before.differences(then);
        path += of_path / whole;
        Cause::Part { part: measured.name.clone(), share: own / whole }
    });
    let mut causes: Vec<Cause> = parts.collect();
    causes.extend([Cause::Path { share: path }, waiting]);
    causes
}

fn frames_of(rounds: &[&Dissected]) -> usize {
    rounds.iter().map(|round| round.times.len()).sum()
}

/// The times of the frames of all rounds.
fn sorted(rounds: &[&Dissected]) -> Sorted {
    Sorted::of(rounds.iter().flat_map(|round| round.times.iter().copied()))
}

fn compared_quantiles(prediction: &Prediction, rounds: &[&Dissected]) -> Vec<Compared> {
    let frames = frames_of(rounds);
    let estimates = quantiles(&sorted(rounds), &resampled(rounds, prediction.seed));
    let supported = |quantile: f64| frames as f64 * (1.0 - quantile) >= 3.0 - 1e-9;
    let compared = QUANTILES.iter().zip(estimates).filter_map(|(quantile, measured)| {
        let predicted = prediction.quantile(*quantile).filter(|_| supported(*quantile))?;
        let error = relative(predicted.value, measured.value, measured.value);
        Some(Compared { quantile: *quantile, predicted, measured, error })
    });
    compared.collect()
}

/// Rounds with replacement.
fn resampled(rounds: &[&Dissected], seed: u64) -> Vec<Sorted> {
    let mut random = SplitMix64::new(seed);
    let count = rounds.len() as u64;
    let mut repetition = || {
        let drawn = (0..count).map(|_| rounds[random.below(count) as usize]);
        Sorted::of(drawn.flat_map(|round| round.times.iter().copied()))
    };
    (0..REPETITIONS).map(|_| repetition()).collect()
}

/// Frames of the measured parts, each drawn on its own.
fn independent(graph: &Graph, samples: &[Samples], seed: u64) -> Sorted {
    let rounds: Vec<usize> = (0..samples.iter().map(Samples::rounds).max().unwrap_or(0)).collect();
    let parts: Vec<Vec<&Samples>> = samples.iter().map(|samples| vec![samples]).collect();
    let drawing = Drawing { frames: FRAMES, rounds: &rounds, stretch: 1, independent: true, seed };
    let durations = Durations::draw(&parts, &drawing);
    Sorted::of(simulate(graph, FRAMES, |frame, part, _| durations.of(frame, part)).frames)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::predict::PartFigures;

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
        Measured { rounds: vec![(0..400).map(frame).collect(); 3], ended: 0 }
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
        assert_eq!(found.parts.parts.len(), 6);
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
            ..Conditions::default()
        };
        let found =
            Comparison::of(&graph, &predicted(&graph, 100), &measured(|_| 100), &conditions)
                .unwrap();
        assert_eq!(found.median_causes, [Cause::Speed { share: 0.25 }]);
    }

    /// Half a round of frames takes 1.2 periods each: the rest of the round is late, and the other
    /// rounds are compared without it.
    #[test]
    fn a_round_that_falls_behind_is_counted_and_not_compared() {
        let graph = fixture::line();
        let mut measured = measured(|_| 100);
        let late = |number: u64| {
            let at = |micros: u64| Nanos::from_micros(1200 * number + micros);
            [(10, 20), (30, 1230), (1240, 1250)]
                .map(|(begin, end)| Span { begin: at(begin), end: at(end) })
                .to_vec()
        };
        measured.rounds[1] = (0..400).map(late).collect();
        measured.ended = 1;
        let found =
            Comparison::of(&graph, &predicted(&graph, 100), &measured, &Conditions::default())
                .unwrap();
        assert_eq!(found.behind, Behind { rounds: 2, of: 4 });
        assert_eq!(found.frames, 1200);
        assert!(found.quantiles.iter().all(|one| one.error == 0.0), "{found:?}");
        assert!(found.p99_causes.is_empty(), "{found:?}");
        assert!((found.miss.share - 1.0 / 3.0).abs() < 0.01, "misses are of all frames");
        measured.rounds = vec![measured.rounds[1].clone()];
        let found =
            Comparison::of(&graph, &predicted(&graph, 100), &measured, &Conditions::default())
                .unwrap();
        assert_eq!(found.behind, Behind { rounds: 2, of: 2 });
        assert!(found.quantiles[0].error < -0.9 && found.median_causes.is_empty(), "{found:?}");
    }

    /// Control takes 500 µs longer in one of 50 frames.
    #[test]
    fn the_part_that_makes_late_frames_late_is_named() {
        let found = compare(|n| if n.is_multiple_of(50) { 600 } else { 100 }, 100);
        assert!(found.median_causes.is_empty(), "{found:?}");
        let Cause::Part { part, share } = &found.p99_causes[0] else { panic!("{found:?}") };
        assert_eq!(part, "control");
        assert!((share - 500.0 / 650.0).abs() < 1e-9, "{share}");
    }

    /// Two branches that take equally long: which one is later differs, and that cancels out.
    #[test]
    fn equal_branches_are_not_causes() {
        let part = |name: &str, time: u64, share: f64| PartFigures {
            name: name.to_owned(),
            of_median: Nanos::from_micros(time),
            on_path: [share, 0.0],
            ..PartFigures::default()
        };
        let parts = |left: [f64; 2], right: [f64; 2]| Parts {
            parts: vec![
                part("left", left[0] as u64, left[1]),
                part("right", right[0] as u64, right[1]),
            ],
            ..Parts::default()
        };
        let predicted = parts([750.0, 0.75], [250.0, 0.25]);
        let check = |measured: Parts, expected: [f64; 3]| {
            let causes = shares(&predicted, &measured, 0.5, Nanos::from_millis(1));
            let found: Vec<f64> = causes.iter().map(Cause::share).collect();
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-9, "{causes:?}");
            }
        };
        check(parts([250.0, 0.25], [750.0, 0.75]), [0.0, 0.0, 0.0]);
        // A branch that takes twice as long is always the later one.
        check(parts([0.0, 0.0], [2000.0, 1.0]), [0.0, 0.625, 0.375]);
    }

    #[test]
    fn no_frames_give_no_comparison() {
        let graph = fixture::line();
        let none = Measured::default();
        let prediction = predicted(&graph, 100);
        assert_eq!(Comparison::of(&graph, &prediction, &none, &Conditions::default()), None);
    }
}
