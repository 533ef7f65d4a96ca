//! The coverage of the intervals of `tactus-stats`, for processes with known truth.

mod rounds;

use std::num::NonZero;
use std::thread;

use tactus_model::time::Nanos;
use tactus_stats::extreme::{
    GeneralisedPareto, LateWakeup, TailEstimate, TailRefusal, TailWindow, anderson_darling,
};
use tactus_stats::simulate::{Draw, Process};

pub use rounds::intervals;

/// Repetitions of each measurement: enough to know a coverage of 95 % to ±1 %.
const REPETITIONS: u64 = 1000;
/// Wakeups of each measurement: a minute at 1 kHz, in five rounds.
const WAKEUPS: usize = 60_000;
const ROUNDS: usize = 5;

/// The processes, with their names.
const PROCESSES: [(&str, Process); 8] = [
    ("exponential", Process::Pareto(0.0)),
    ("Pareto, shape 0.2", Process::Pareto(0.2)),
    ("Pareto, shape 0.5", Process::Pareto(0.5)),
    ("Pareto, shape -0.2", Process::Pareto(-0.2)),
    ("log-normal, deviation 0.5", Process::LogNormal(0.5)),
    ("log-normal, deviation 1", Process::LogNormal(1.0)),
    ("two in a row, shape 0.2", Process::InARow(0.5, 0.2)),
    ("five in a row, shape 0.3", Process::InARow(0.2, 0.3)),
];

/// The results of the repetitions for a process.
#[derive(Clone, Debug, Default)]
struct Tally {
    given: u64,
    hour: Held,
    hundredfold: Held,
    refusals: [u64; 6],
}

/// The number of intervals that contain the truth, lie below it, or lie above it.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    held: u64,
    below: u64,
    above: u64,
}

impl Held {
    fn count(&mut self, low: Nanos, high: Nanos, truth: f64) {
        if high.as_micros_f64() < truth {
            self.below += 1;
        } else if low.as_micros_f64() > truth {
            self.above += 1;
        } else {
            self.held += 1;
        }
    }

    fn text(self) -> String {
        let all = (self.held + self.below + self.above).max(1) as f64;
        let share = |count: u64| count as f64 / all * 100.0;
        format!(
            "{:5.1} % ({:.1} too low, {:.1} too high)",
            share(self.held),
            share(self.below),
            share(self.above)
        )
    }

    fn add(&mut self, other: Self) {
        self.held += other.held;
        self.below += other.below;
        self.above += other.above;
    }
}

/// Prints the coverage of the levels that one late event is expected to exceed.
pub fn levels() {
    println!(
        "{REPETITIONS} repetitions of {WAKEUPS} wakeups in {ROUNDS} rounds; 95 % intervals of the level \
         that one event exceeds\nin 10 times and in 100 times the measured duration\n"
    );
    for (name, process) in PROCESSES {
        let tally = in_parallel(|seed, tally: &mut Tally| repeat(process, seed, tally), merge);
        let [few, fit, unstable, heavy, dependent, differ] = tally.refusals;
        println!(
            "{name:26} x10 {}  x100 {}  estimated {:5.1} %; refused: {few} few, {fit} fit, {unstable} unstable, \
             {heavy} heavy, {dependent} dependent, {differ} differ",
            tally.hour.text(),
            tally.hundredfold.text(),
            tally.given as f64 / REPETITIONS as f64 * 100.0,
        );
    }
}

fn merge(tally: &mut Tally, other: &Tally) {
    tally.given += other.given;
    tally.hour.add(other.hour);
    tally.hundredfold.add(other.hundredfold);
    for (sum, more) in tally.refusals.iter_mut().zip(other.refusals) {
        *sum += more;
    }
}

fn repeat(process: Process, seed: u64, tally: &mut Tally) {
    let latencies = process.draw(WAKEUPS, &mut Draw::new(seed));
    let windows: Vec<TailWindow> = latencies.chunks(WAKEUPS / ROUNDS).map(window).collect();
    match TailEstimate::of(&windows) {
        Ok(estimate) => {
            tally.given += 1;
            for (factor, held) in [(10, &mut tally.hour), (100, &mut tally.hundredfold)] {
                let wakeups = (WAKEUPS * factor) as u64;
                if let Ok(level) = estimate.level(Nanos::from_millis(wakeups)) {
                    held.count(level.low, level.high, process.level(wakeups as f64));
                }
            }
        }
        Err(refusal) => tally.refusals[number_of(refusal)] += 1,
    }
}

fn number_of(refusal: TailRefusal) -> usize {
    match refusal {
        TailRefusal::FewEvents { .. } => 0,
        TailRefusal::DoesNotFit { .. } => 1,
        TailRefusal::Unstable { .. } => 2,
        TailRefusal::TooHeavy { .. } => 3,
        TailRefusal::Dependent { .. } => 4,
        TailRefusal::NotStationary { .. } => 5,
    }
}

/// A window with a wakeup every millisecond.
fn window(latencies: &[f64]) -> TailWindow {
    let length = Nanos::from_millis(latencies.len() as u64);
    let late = (0..).zip(latencies).map(|(nth, latency)| LateWakeup {
        due: Nanos::from_millis(nth),
        latency: Nanos::from_nanos((latency * 1000.0) as u64),
    });
    TailWindow::of_samples(length, latencies.len() as u64, late, Nanos::ZERO)
}

/// Prints the level that the Anderson-Darling statistic exceeds in 1 % of samples that fit.
pub fn goodness() {
    const SAMPLES: u64 = 10_000;
    println!("{SAMPLES} samples; the 99 % point of the statistic for 80, 200 and 600 excesses\n");
    for tenths in [-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10] {
        let shape = f64::from(tenths) / 10.0;
        let point = |count: usize| {
            let mut found = in_parallel_to(
                SAMPLES,
                |seed, found: &mut Vec<f64>| {
                    let truth = GeneralisedPareto { shape, scale: 1.0 };
                    let mut draw = Draw::new(seed);
                    let excesses: Vec<f64> =
                        (0..count).map(|_| truth.exceeded_with(draw.uniform())).collect();
                    found.push(anderson_darling(&excesses, GeneralisedPareto::fit(&excesses)));
                },
                |all, some| all.extend(some),
            );
            found.sort_unstable_by(f64::total_cmp);
            found[found.len() * 99 / 100]
        };
        println!("{shape:5.1} {:.3} {:.3} {:.3}", point(80), point(200), point(600));
    }
}

fn in_parallel<T: Default + Send>(
    each: impl Fn(u64, &mut T) + Sync,
    merge: impl Fn(&mut T, &T),
) -> T {
    in_parallel_to(REPETITIONS, each, merge)
}

/// Calls `each` for every seed, with the seeds divided among the CPUs.
fn in_parallel_to<T: Default + Send>(
    seeds: u64,
    each: impl Fn(u64, &mut T) + Sync,
    merge: impl Fn(&mut T, &T),
) -> T {
    let workers = thread::available_parallelism().map_or(1, NonZero::get) as u64;
    let each = &each;
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers)
            .map(|worker| {
                scope.spawn(move || {
                    let mut part = T::default();
                    (worker..seeds)
                        .step_by(workers as usize)
                        .for_each(|seed| each(seed, &mut part));
                    part
                })
            })
            .collect();
        let mut all = T::default();
        for worker in workers {
            merge(&mut all, &worker.join().expect("drawing does not panic"));
        }
        all
    })
}
