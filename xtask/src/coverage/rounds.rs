//! The coverage of intervals of quantiles, for a fixed number of rounds and for rounds added
//! until the interval is narrow.

use tactus_model::result::Histogram;
use tactus_model::time::Nanos;
use tactus_model::until::{Aim, Until};
use tactus_stats::LatencyHistogram;
use tactus_stats::bootstrap::Blocks;
use tactus_stats::narrow::Narrowness;
use tactus_stats::simulate::{Draw, Process};

use super::{Held, in_parallel_to};

/// Repetitions of each: enough to know a coverage of 95 % to ±2 %.
const REPETITIONS: u64 = 400;

/// The blocks of a round, and the wakeups of a block.
const BLOCKS: usize = 10;
const WAKEUPS: usize = 100;
/// The standard deviation of a wakeup's logarithm.
const DEVIATION: f64 = 0.5;
/// The maximum number of rounds if rounds are added.
const MOST_ROUNDS: usize = 30;
/// The deviation between rounds, and the aims of intervals.
const AIMS: [(f64, [&str; 3]); 2] =
    [(0.0, ["p50:5%", "p90:5%", "p99:10%"]), (0.05, ["p50:10%", "p90:10%", "p99:15%"])];

/// The results of the repetitions for an aim.
#[derive(Default)]
struct Tally {
    /// Intervals for a fixed number of rounds.
    fixed: Held,
    /// Intervals for the number of rounds that made them narrow.
    until: Held,
    /// The number of narrow intervals, and the rounds of all.
    narrow: u64,
    rounds: u64,
}

/// Prints the coverage of intervals of quantiles.
pub fn intervals() {
    println!(
        "{REPETITIONS} repetitions; rounds of {BLOCKS} blocks of {WAKEUPS} log-normal wakeups (deviation \
         {DEVIATION}); 95 % intervals\n"
    );
    for (apart, aims) in AIMS {
        println!("rounds differ by {:.0} %", apart * 100.0);
        for rounds in [2, 3, 5, 10] {
            let texts: Vec<String> = [0.5, 0.9, 0.99]
                .map(|quantile| {
                    let held = in_parallel_to(
                        REPETITIONS,
                        |seed, held: &mut Held| {
                            let mut cell = Cell::new(seed, apart);
                            cell.take(rounds);
                            cell.count(quantile, held);
                        },
                        |held, more| held.add(*more),
                    );
                    format!("p{} {}", quantile * 100.0, held.text())
                })
                .to_vec();
            println!("  {rounds:2} rounds: {}", texts.join("  "));
        }
        for aim in aims {
            stopped(aim, apart);
        }
    }
}

/// Prints the effect of stopping at `aim` on the coverage.
fn stopped(aim: &str, apart: f64) {
    let aim: Aim = aim.parse().expect("an aim of this program");
    let stopped = in_parallel_to(
        REPETITIONS,
        |seed, tally: &mut Tally| {
            let mut cell = Cell::new(seed, apart);
            cell.take(Until::FEWEST_ROUNDS as usize);
            while !cell.is_narrow(aim) && cell.rounds.len() < MOST_ROUNDS {
                cell.take(1);
            }
            tally.narrow += u64::from(cell.is_narrow(aim));
            tally.rounds += cell.rounds.len() as u64;
            cell.count(aim.quantile(), &mut tally.until);
        },
        |all, some| {
            all.until.add(some.until);
            all.narrow += some.narrow;
            all.rounds += some.rounds;
        },
    );
    let mean = stopped.rounds as f64 / REPETITIONS as f64;
    let fixed = in_parallel_to(
        REPETITIONS,
        |seed, tally: &mut Tally| {
            let mut cell = Cell::new(seed, apart);
            cell.take(mean.round() as usize);
            cell.count(aim.quantile(), &mut tally.fixed);
        },
        |all, some| all.fixed.add(some.fixed),
    );
    println!(
        "  until {aim}: {}  after {mean:.1} rounds, narrow {:5.1} %; same number of rounds, fixed: {}",
        stopped.until.text(),
        stopped.narrow as f64 / REPETITIONS as f64 * 100.0,
        fixed.fixed.text(),
    );
}

/// A cell whose rounds are drawn one after another.
struct Cell {
    draw: Draw,
    /// The standard deviation of a round's logarithm.
    apart: f64,
    rounds: Vec<Vec<Histogram>>,
}

impl Cell {
    fn new(seed: u64, apart: f64) -> Self {
        Self { draw: Draw::new(seed), apart, rounds: Vec::new() }
    }

    fn take(&mut self, rounds: usize) {
        for _ in 0..rounds {
            let factor = (self.apart * self.draw.normal()).exp();
            let round = (0..BLOCKS).map(|_| self.block(factor)).collect();
            self.rounds.push(round);
        }
    }

    fn block(&mut self, factor: f64) -> Histogram {
        let latencies = Process::LogNormal(DEVIATION).draw(WAKEUPS, &mut self.draw).into_iter();
        let nanos = |micros: f64| Nanos::from_nanos((micros * factor * 1000.0) as u64);
        latencies.map(nanos).collect::<LatencyHistogram>().to_record()
    }

    fn is_narrow(&self, aim: Aim) -> bool {
        Narrowness::of_blocks(&Blocks::new(&self.rounds), aim).met
    }

    /// Counts whether the interval of a quantile contains the true one of all possible rounds.
    fn count(&self, quantile: f64, held: &mut Held) {
        let found = Blocks::new(&self.rounds).intervals(&[quantile], 1992);
        if let Some(Ok(interval)) = found.first() {
            // A log-normal factor of each round keeps wakeups log-normal.
            let all = Process::LogNormal(DEVIATION.hypot(self.apart));
            held.count(interval.low, interval.high, all.level((1.0 - quantile).recip()));
        }
    }
}
