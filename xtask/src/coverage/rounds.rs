//! How often intervals of quantiles hold the truth, for rounds that were fixed beforehand
//! and for rounds that were added until the interval is narrow.

use tactus_model::result::Histogram;
use tactus_model::time::Nanos;
use tactus_model::until::{Aim, Until};
use tactus_stats::LatencyHistogram;
use tactus_stats::bootstrap::Blocks;
use tactus_stats::narrow::Narrowness;
use tactus_stats::simulate::{Draw, Process};

use super::{Held, in_parallel_to};

/// Repetitions of each: a coverage of 95 % is then known to ±2 %.
const REPETITIONS: u64 = 400;

/// A round: as many stretches, of as many wakeups each.
const BLOCKS: usize = 10;
const WAKEUPS: usize = 100;
/// The deviation of a wakeup's logarithm.
const DEVIATION: f64 = 0.5;
/// Where rounds are added, no more than these.
const MOST_ROUNDS: usize = 30;
/// By how much rounds differ, and what the intervals are to come to.
const ASKED: [(f64, [&str; 3]); 2] =
    [(0.0, ["p50:5%", "p90:5%", "p99:10%"]), (0.05, ["p50:10%", "p90:10%", "p99:15%"])];

/// What became of the repetitions of one aim.
#[derive(Default)]
struct Tally {
    /// Intervals of so many rounds as were fixed beforehand.
    fixed: Held,
    /// Intervals of so many rounds as made them narrow.
    until: Held,
    /// How many became narrow, and how many rounds all took.
    narrow: u64,
    rounds: u64,
}

/// Prints the coverage of intervals of quantiles.
pub fn intervals() {
    println!(
        "{REPETITIONS} repetitions; rounds of {BLOCKS} stretches of {WAKEUPS} log-normal wakeups (deviation \
         {DEVIATION}); 95 % intervals\n"
    );
    for (apart, aims) in ASKED {
        println!("rounds differ by {:.0} %", apart * 100.0);
        for rounds in [2, 3, 5, 10] {
            let told: Vec<String> = [0.5, 0.9, 0.99]
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
                    format!("p{} {}", quantile * 100.0, held.told())
                })
                .to_vec();
            println!("  {rounds:2} rounds: {}", told.join("  "));
        }
        for aim in aims {
            stopped(aim, apart);
        }
    }
}

/// Prints what stopping at `aim` does to the coverage.
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
        "  until {aim}: {}  after {mean:.1} rounds, narrow {:5.1} %; as many rounds, fixed: {}",
        stopped.until.told(),
        stopped.narrow as f64 / REPETITIONS as f64 * 100.0,
        fixed.fixed.told(),
    );
}

/// A cell whose rounds are drawn one after another.
struct Cell {
    draw: Draw,
    /// The deviation of a round's logarithm.
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

    /// Looks whether the interval of a quantile holds the true one of all rounds there could be.
    fn count(&self, quantile: f64, held: &mut Held) {
        let found = Blocks::new(&self.rounds).intervals(&[quantile], 1992);
        if let Some(Ok(interval)) = found.first() {
            // Rounds that differ by a log-normal factor leave wakeups log-normal.
            let all = Process::LogNormal(DEVIATION.hypot(self.apart));
            held.count(interval.low, interval.high, all.level((1.0 - quantile).recip()));
        }
    }
}
