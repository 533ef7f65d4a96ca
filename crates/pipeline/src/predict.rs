//! The time of a frame, predicted from measured operations.

use serde::Serialize;
use tactus_model::random::SplitMix64;
use tactus_model::time::Nanos;

use crate::draws::{Drawing, Durations, Samples};
use crate::estimate::{Chance, Estimate, QUANTILES, Sorted, chance, quantiles};
use crate::graph::{Graph, Part};
use crate::simulate::simulate;

/// The frames of the main simulation.
const FRAMES: usize = 10_000;
/// The repetitions that give the intervals, and the frames of each.
const REPETITIONS: usize = 100;
const FRAMES_REPEATED: usize = 2_000;

/// The predicted time of a frame.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The number of simulated frames.
    pub frames: usize,
    /// The seed of the draws.
    pub seed: u64,
    /// The samples of the part that has the fewest: rarer events than 1 in as many are not in the
    /// prediction.
    pub samples: usize,
    /// The rounds in which they were measured.
    pub rounds: usize,
    /// The quantiles of [`QUANTILES`].
    pub quantiles: Vec<Estimate>,
    /// The chance of a miss.
    pub miss: Chance,
    /// The parts of a frame's time.
    pub parts: Vec<PartFigures>,
    /// What each part would bring, the most first.
    pub improvements: Vec<Improvement>,
    /// The processes.
    pub processes: Vec<Use>,
    /// The distribution, as points of a percentile curve.
    #[serde(skip)]
    pub curve: Vec<(f64, Nanos)>,
}

/// A part of a frame's time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartFigures {
    /// Its name.
    pub name: String,
    /// Its median.
    pub median: Nanos,
    /// Its 99th percentile.
    pub p99: Nanos,
}

/// What would become of a frame's time if a part took half as long, and nothing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Improvement {
    /// The name of the part.
    pub part: String,
    /// If it took half as long.
    pub half: Effect,
    /// If it took no time.
    pub nothing: Effect,
}

/// The time of a frame after an improvement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// The median.
    pub median: Nanos,
    /// The 99th percentile.
    pub p99: Nanos,
    /// The chance of a miss.
    pub miss: f64,
}

/// How much of the time a process computes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Use {
    /// Its name.
    pub process: String,
    /// The share of the period that its stages take; from 1 on, frames queue without end.
    pub share: f64,
}

impl Prediction {
    /// Predicts from the samples of each of the graph's cells; a cell without samples takes no time.
    pub fn of(graph: &Graph, samples: &[Samples], seed: u64) -> Self {
        let model = Model::new(graph, samples);
        let all: Vec<usize> = (0..model.rounds).collect();
        let durations = model.draw(FRAMES, &all, seed);
        let simulated = simulate(graph, FRAMES, |frame, part| durations.of(frame, part));
        let frames = Sorted::of(simulated.frames);
        let curve = frames.curve();
        let repetitions = model.repetitions(seed);
        let fewest = model.fewest();
        let span = graph.period.saturating_mul(FRAMES as u64).as_nanos().max(1) as f64;
        let processes = graph.processes.iter().zip(&simulated.busy).map(|(process, busy)| Use {
            process: process.name.clone(),
            share: busy.as_nanos() as f64 / span,
        });
        Self {
            frames: FRAMES,
            seed,
            samples: fewest,
            rounds: model.rounds,
            quantiles: quantiles(&frames, &repetitions),
            miss: chance(&frames, &repetitions, graph.budget, fewest),
            parts: part_figures(graph, &durations),
            improvements: improvements(graph, &durations, &frames),
            processes: processes.collect(),
            curve,
        }
    }

    /// The estimate of a quantile of [`QUANTILES`]; `None` if fewer than three samples are beyond it.
    pub fn quantile(&self, quantile: f64) -> Option<Estimate> {
        let index = QUANTILES.iter().position(|known| *known == quantile)?;
        let beyond = self.samples as f64 * (1.0 - quantile);
        self.quantiles.get(index).copied().filter(|_| beyond + 1e-9 >= Self::BEYOND_MIN)
    }

    /// The least number of samples beyond a quantile that is reported.
    const BEYOND_MIN: f64 = 3.0;

    /// The process that computes most.
    pub fn busiest(&self) -> Option<&Use> {
        self.processes.iter().max_by(|a, b| a.share.total_cmp(&b.share))
    }
}

/// A graph with the samples of its parts.
pub(crate) struct Model<'m> {
    graph: &'m Graph,
    parts: Vec<Vec<&'m Samples>>,
    pub(crate) rounds: usize,
}

impl<'m> Model<'m> {
    pub(crate) fn new(graph: &'m Graph, samples: &'m [Samples]) -> Self {
        let of_part = |part: Part| {
            graph.cells_of(part).into_iter().filter_map(|cell| samples.get(cell)).collect()
        };
        let parts = graph.parts().into_iter().map(of_part).collect();
        let rounds = samples.iter().map(Samples::rounds).max().unwrap_or(0);
        Self { graph, parts, rounds }
    }

    fn draw(&self, frames: usize, rounds: &[usize], seed: u64) -> Durations {
        let stretch = Drawing::STRETCH;
        let drawing = Drawing { frames, rounds, stretch, independent: false, seed };
        Durations::draw(&self.parts, &drawing)
    }

    /// Simulations from rounds that are drawn with replacement.
    fn repetitions(&self, seed: u64) -> Vec<Sorted> {
        let mut random = SplitMix64::new(seed);
        let repetition = |_| {
            let rounds: Vec<usize> =
                (0..self.rounds).map(|_| random.below(self.rounds as u64) as usize).collect();
            let durations = self.draw(FRAMES_REPEATED, &rounds, random.next_u64());
            let of = |frame, part| durations.of(frame, part);
            Sorted::of(simulate(self.graph, FRAMES_REPEATED, of).frames)
        };
        (0..REPETITIONS).map(repetition).collect()
    }

    /// The samples of the cell that has the fewest.
    fn fewest(&self) -> usize {
        let with = self.parts.iter().flatten().filter(|samples| !samples.is_empty());
        with.map(|samples| samples.count()).min().unwrap_or(0)
    }
}

fn part_figures(graph: &Graph, durations: &Durations) -> Vec<PartFigures> {
    let figures = |(number, part): (usize, Part)| {
        let sorted = Sorted::of(durations.of_part(number));
        let (median, p99) = (sorted.quantile(0.5), sorted.quantile(0.99));
        PartFigures { name: graph.name_of(part), median, p99 }
    };
    graph.parts().into_iter().enumerate().map(figures).collect()
}

/// Simulates the same draws with each part shortened, so that nothing else differs.
fn improvements(graph: &Graph, durations: &Durations, usual: &Sorted) -> Vec<Improvement> {
    let shortened = |shorter: usize, divisor: Option<u64>| {
        let of = |frame, part| match (part == shorter, divisor) {
            (false, _) => durations.of(frame, part),
            (true, Some(divisor)) => {
                Nanos::from_nanos(durations.of(frame, part).as_nanos() / divisor)
            }
            (true, None) => Nanos::ZERO,
        };
        let frames = Sorted::of(simulate(graph, FRAMES, of).frames);
        Effect {
            median: frames.quantile(0.5),
            p99: frames.quantile(0.99),
            miss: frames.share_above(graph.budget),
        }
    };
    let parts = graph.parts().into_iter().enumerate();
    let mut found: Vec<Improvement> = parts
        .filter(|(number, _)| durations.of_part(*number).any(|one| one > Nanos::ZERO))
        .map(|(number, part)| Improvement {
            part: graph.name_of(part),
            half: shortened(number, Some(2)),
            nothing: shortened(number, None),
        })
        .collect();
    // While frames miss their budget, what saves most of them comes first.
    let misses = usual.share_above(graph.budget) > 0.0;
    found.sort_by(|a, b| {
        let by_miss =
            if misses { a.half.miss.total_cmp(&b.half.miss) } else { std::cmp::Ordering::Equal };
        by_miss.then(a.half.p99.cmp(&b.half.p99)).then(a.half.median.cmp(&b.half.median))
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn constant(micros: u64) -> Samples {
        Samples::new([vec![Nanos::from_micros(micros); 100]])
    }

    /// Samples of each cell of the line: the wake-up, then the steps and hand-overs.
    fn line_with(control: Samples) -> (Graph, Vec<Samples>) {
        let graph = fixture::line();
        let mut samples: Vec<Samples> = graph.cells.iter().map(|_| constant(10)).collect();
        samples[graph.stages[1].steps[0]] = control;
        (graph, samples)
    }

    fn micros(time: Nanos) -> u64 {
        time.as_nanos() / 1000
    }

    #[test]
    fn constant_parts_compose_to_their_sum() {
        let (graph, samples) = line_with(constant(200));
        let found = Prediction::of(&graph, &samples, 1);
        // Seven parts of 10 µs, one of them with another 200 µs in it less its own 10.
        assert!(found.quantiles.iter().all(|one| micros(one.value) == 260), "{found:?}");
        assert_eq!(found.miss.share, 0.0);
        assert_eq!(found.samples, 100);
    }

    /// A part that takes 1 ms in one of 20 frames, in a budget of 600 µs: 5 % of the frames miss.
    #[test]
    fn rare_long_parts_give_the_chance_of_a_miss() {
        let rare = |round: u64| {
            (0..1000)
                .map(|k| Nanos::from_micros(if (k + round).is_multiple_of(20) { 900 } else { 20 }))
                .collect()
        };
        let (graph, samples) = line_with(Samples::new((0..5).map(rare)));
        let found = Prediction::of(&graph, &samples, 7);
        assert!((found.miss.share - 0.05).abs() < 0.005, "{:?}", found.miss);
        assert!(found.miss.low <= found.miss.share && found.miss.share <= found.miss.high);
        assert_eq!(micros(found.quantiles[0].value), 80);
        assert_eq!(micros(found.quantiles[2].value), 960);
    }

    #[test]
    fn the_planted_bottleneck_comes_first() {
        let (graph, samples) = line_with(constant(700));
        let found = Prediction::of(&graph, &samples, 1);
        assert_eq!(found.miss.share, 1.0);
        assert_eq!(found.improvements[0].part, "control");
        assert_eq!(found.improvements[0].half.miss, 0.0);
        assert_eq!(micros(found.improvements[0].nothing.p99), 50);
        assert_eq!(found.busiest().unwrap().process, "control");
    }

    /// Two parts of a round are fast or slow together: the sum has two values and none between.
    #[test]
    fn a_machine_with_two_speeds_is_slow_in_all_parts_at_once() {
        let graph = fixture::line();
        let two_speeds = || Samples::new([10, 100].map(|one| vec![Nanos::from_micros(one); 200]));
        let samples: Vec<Samples> = graph.cells.iter().map(|_| two_speeds()).collect();
        let found = Prediction::of(&graph, &samples, 3);
        assert_eq!(micros(found.quantiles[1].value), 700);
        assert!([70, 700].contains(&micros(found.quantiles[0].value)), "{found:?}");
        let median = found.quantiles[0];
        assert_eq!(
            (micros(median.low), micros(median.high)),
            (70, 700),
            "either may be the median"
        );
    }

    #[test]
    fn the_same_seed_gives_the_same_prediction() {
        let (graph, samples) = line_with(constant(200));
        assert_eq!(Prediction::of(&graph, &samples, 5), Prediction::of(&graph, &samples, 5));
    }
}
