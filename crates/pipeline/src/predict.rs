//! The time of a frame, predicted from measured operations.

use serde::Serialize;
use tactus_model::random::SplitMix64;
use tactus_model::time::Nanos;

use crate::dissect::{Dissected, OnPath, Path, path_at};
use crate::draws::{Drawing, Durations, Samples};
use crate::estimate::{Chance, Estimate, QUANTILES, Sorted, chance, quantiles};
use crate::graph::{Graph, Part};
use crate::simulate::simulate;

/// The frames of the main simulation.
const FRAMES: usize = 10_000;
/// The fewest occurrences of a part whose 99th percentile is more than the longest.
const OCCURRENCES_MIN: usize = 100;
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
    /// The samples of the part that has the fewest: events rarer than 1 in this number are not in
    /// the prediction.
    pub samples: usize,
    /// The rounds in which they were measured.
    pub rounds: usize,
    /// The quantiles of [`QUANTILES`].
    pub quantiles: Vec<Estimate>,
    /// The chance of a miss.
    pub miss: Chance,
    /// The parts of a frame's time.
    #[serde(flatten)]
    pub parts: Parts,
    /// What each part would bring, the most first.
    pub improvements: Vec<Improvement>,
    /// The processes.
    pub processes: Vec<Use>,
    /// The distribution, as points of a percentile curve.
    #[serde(skip)]
    pub curve: Vec<(f64, Nanos)>,
}

/// A part of a frame's time, predicted or measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PartFigures {
    /// Its name.
    pub name: String,
    /// How often it occurred: a hand-over counts in the frames in which it was the last to come.
    pub count: usize,
    /// Its median.
    pub median: Nanos,
    /// Its 99th percentile; `None` if no occurrence is expected beyond it.
    pub p99: Option<Nanos>,
    /// Its longest.
    pub max: Nanos,
    /// Its mean share of the frames near the median, where it lies on their path.
    pub of_median: Nanos,
    /// The same of the frames near the 99th percentile.
    pub of_p99: Nanos,
    /// The share of the frames near the median whose path it lies on, and of those near the 99th
    /// percentile.
    pub on_path: [f64; 2],
}

/// The parts of frames.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Parts {
    /// The parts, in the order of [`Graph::parts`].
    pub parts: Vec<PartFigures>,
    /// How long data waited for a process that was busy with earlier work, in the frames near the
    /// median and near the 99th percentile.
    pub waiting: [Nanos; 2],
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
        let usual = |frame, part, idle| model.duration(&durations, (frame, part), idle);
        let simulated = simulate(graph, FRAMES, usual);
        let dissected = Dissected::of(graph, simulated.spans.chunks(graph.stages.len().max(1)));
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
            parts: Parts::of(graph, &[&dissected]),
            improvements: improvements(graph, &usual, &frames),
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
struct Model<'m> {
    graph: &'m Graph,
    /// The samples of each part, and after those the samples of parts after work.
    parts: Vec<Vec<&'m Samples>>,
    /// For each part, what measured it on a CPU that worked shortly before.
    after_work: Vec<Option<AfterWork>>,
    rounds: usize,
}

/// Samples of a part on a CPU that worked shortly before.
#[derive(Clone, Copy)]
struct AfterWork {
    /// Their index among the parts.
    part: usize,
    /// The longest idle time of the CPU that is nearer to theirs than to that of the usual samples.
    idle_max: Nanos,
}

impl<'m> Model<'m> {
    fn new(graph: &'m Graph, samples: &'m [Samples]) -> Self {
        let of_part = |part: &Part| {
            graph.cells_of(*part).into_iter().filter_map(|cell| samples.get(cell)).collect()
        };
        let known = graph.parts();
        let mut parts: Vec<Vec<&Samples>> = known.iter().map(of_part).collect();
        let mut after_work = Vec::new();
        for part in known {
            let found = graph.cell_after_work(part).zip(graph.cells_of(part).first().copied());
            let found = found.filter(|(cell, _)| samples.get(*cell).is_some_and(|s| !s.is_empty()));
            after_work.push(found.map(|(cell, usual)| {
                parts.push(vec![&samples[cell]]);
                let idle_max = idle_max(graph, usual, samples);
                AfterWork { part: parts.len() - 1, idle_max }
            }));
        }
        let rounds = samples.iter().map(Samples::rounds).max().unwrap_or(0);
        Self { graph, parts, after_work, rounds }
    }

    /// The duration of a part in a frame, on a CPU that was idle for so long.
    fn duration(&self, durations: &Durations, (frame, part): (usize, usize), idle: Nanos) -> Nanos {
        let after_work = self.after_work[part].filter(|after_work| idle <= after_work.idle_max);
        durations.of(frame, after_work.map_or(part, |after_work| after_work.part))
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
            let of = |frame, part, idle| self.duration(&durations, (frame, part), idle);
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

/// Between the two idle times that are measured, on a logarithmic scale: before the usual samples of
/// a hand-over, the CPU was idle during the pause; before those after work, while the partner was
/// woken, which takes as long as a hand-over.
fn idle_max(graph: &Graph, usual: usize, samples: &[Samples]) -> Nanos {
    let pause = graph.operation(usual).map_or(Nanos::ZERO, |cost| cost.sampling.pause);
    let woken = samples.get(usual).map(|usual| Sorted::of(usual.all()).quantile(0.5));
    let [short, long] = [woken.unwrap_or_default(), pause].map(|time| time.as_nanos() as f64);
    Nanos::from_nanos((short * long).sqrt() as u64)
}

impl PartFigures {
    /// What it contributes to the frames near the median, or else near the 99th percentile.
    pub(crate) fn on_path(&self, is_median: bool) -> OnPath {
        let [of_median, of_p99] = self.on_path;
        match is_median {
            true => OnPath { time: self.of_median, share: of_median },
            false => OnPath { time: self.of_p99, share: of_p99 },
        }
    }
}

impl Parts {
    /// The figures of rounds of frames.
    pub(crate) fn of(graph: &Graph, rounds: &[&Dissected]) -> Self {
        let [median, p99] = [0.5, 0.99].map(|quantile| path_at(rounds, quantile));
        let figures = |(number, part): (usize, Part)| {
            let occurrences = rounds.iter().filter_map(|round| round.parts.get(number));
            let occurrences: Vec<Nanos> = occurrences.flatten().copied().collect();
            let count = occurrences.len();
            let sorted = Sorted::of(occurrences);
            let on_path = |path: &Path| path.parts.get(number).copied().unwrap_or_default();
            PartFigures {
                name: graph.name_of(part),
                count,
                median: sorted.quantile(0.5),
                p99: (count >= OCCURRENCES_MIN).then(|| sorted.quantile(0.99)),
                max: sorted.quantile(1.0),
                of_median: on_path(&median).time,
                of_p99: on_path(&p99).time,
                on_path: [&median, &p99].map(|path| on_path(path).share),
            }
        };
        let parts = graph.parts().into_iter().enumerate().map(figures).collect();
        Self { parts, waiting: [median.waiting, p99.waiting] }
    }
}

/// Simulates the same draws with each part shortened, so that nothing else differs.
fn improvements(
    graph: &Graph,
    usual: &impl Fn(usize, usize, Nanos) -> Nanos,
    frames: &Sorted,
) -> Vec<Improvement> {
    let shortened = |shorter: usize, divisor: Option<u64>| {
        let of = |frame, part, idle| match (part == shorter, divisor) {
            (false, _) => usual(frame, part, idle),
            (true, Some(divisor)) => {
                Nanos::from_nanos(usual(frame, part, idle).as_nanos() / divisor)
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
    let takes_time =
        |part: usize| (0..FRAMES).any(|frame| usual(frame, part, Nanos::MAX) > Nanos::ZERO);
    let parts = graph.parts().into_iter().enumerate();
    let mut found: Vec<Improvement> = parts
        .filter(|(number, _)| takes_time(*number))
        .map(|(number, part)| Improvement {
            part: graph.name_of(part),
            half: shortened(number, Some(2)),
            nothing: shortened(number, None),
        })
        .collect();
    // While frames miss their budget, what saves most of them comes first.
    let misses = frames.share_above(graph.budget) > 0.0;
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

    /// The actuator shares the CPU of the sensor, so its hand-over is measured in two states.
    #[test]
    fn a_hand_over_to_a_cpu_that_worked_shortly_before_has_its_own_samples() {
        let mut text = fixture::LINE.replace("cpu = 2", "cpu = 0");
        let of = |text: &str| {
            let graph = crate::Pipeline::parse(text).unwrap().graph(&Default::default()).unwrap();
            let link = graph.stages[2].after[0];
            let mut samples: Vec<Samples> = graph.cells.iter().map(|_| constant(10)).collect();
            samples[link.after_work.unwrap()] = constant(4);
            micros(Prediction::of(&graph, &samples, 1).quantiles[0].value)
        };
        // The CPU was idle for 20 µs + 2 × 10 µs of control: less than √(10 µs × 1 ms).
        assert_eq!(of(&text), 64);
        text = text.replace("size = \"64KiB\" }", "size = \"64KiB\" }, \"read-byte\", \"fault\"");
        text = text.replace(
            "\"gettime\"",
            "\"gettime\", \"recycled\", \"first-touch\", \"memory-copy\", \"memory-write\"",
        );
        // Eight operations of 10 µs and a hand-over of 10 µs: still less than 100 µs.
        assert_eq!(of(&text), 124);
        text = text.replace("\"gettime\"", "\"gettime\", \"gettime-syscall\", \"getppid\"");
        assert_eq!(of(&text), 150, "the CPU was idle for longer");
    }

    #[test]
    fn the_same_seed_gives_the_same_prediction() {
        let (graph, samples) = line_with(constant(200));
        assert_eq!(Prediction::of(&graph, &samples, 5), Prediction::of(&graph, &samples, 5));
    }
}
