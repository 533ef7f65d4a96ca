//! Decides whether the intervals of a run are narrow enough, or another round is needed.
//!
//! A run that stops when its interval is narrow is slightly more likely to stop when the
//! interval is narrow by chance. So such intervals contain the true value slightly less often
//! than intervals from a fixed number of rounds (Y. S. Chow and H. Robbins, *On the asymptotic
//! theory of fixed-width sequential confidence intervals for the mean*, 1965: the difference
//! vanishes as the interval narrows).

use serde::Serialize;
use tactus_model::experiment::Plan;
use tactus_model::result::{Histogram, Measurement};
use tactus_model::time::Nanos;
use tactus_model::until::{Aim, Until};

use crate::bootstrap::{Blocks, Interval, Unsupported};
use crate::cell::{SEED, blocks_of_all_tasks};

/// The interval width that one cell has reached.
///
/// Durations are whole nanoseconds in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Narrowness {
    /// Whether the interval is narrow enough.
    pub met: bool,
    /// The quantile, *per wakeup*; `None` without a sample.
    pub estimate: Option<Nanos>,
    /// Its 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// Why there is no interval, if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsupported: Option<Unsupported>,
}

impl Narrowness {
    /// Evaluates the rounds of one cell.
    pub fn of(measurements: &[&Measurement], aim: Aim) -> Self {
        let rounds: Vec<Vec<Histogram>> =
            measurements.iter().map(|measurement| blocks_of_all_tasks(measurement)).collect();
        Self::of_blocks(&Blocks::new(&rounds), aim)
    }

    /// Evaluates the blocks of one cell.
    pub fn of_blocks(blocks: &Blocks, aim: Aim) -> Self {
        let estimate = blocks.quantile(aim.quantile());
        let found = blocks.intervals(&[aim.quantile()], SEED).into_iter().next();
        let interval = found.and_then(Result::ok);
        let narrow = |(estimate, interval): (Nanos, Interval)| {
            interval.high - interval.low <= aim.widest(estimate)
        };
        Self {
            met: estimate.zip(interval).is_some_and(narrow),
            estimate,
            interval,
            unsupported: found.and_then(Result::err),
        }
    }

    /// The distance from the lower to the upper end of the interval.
    pub fn width(&self) -> Option<Nanos> {
        self.interval.map(|interval| interval.high - interval.low)
    }

    /// The width as a share of the quantile; also `None` if the quantile is zero.
    pub fn relative_width(&self) -> Option<f64> {
        let estimate = self.estimate.filter(|estimate| *estimate > Nanos::ZERO)?;
        Some(self.width()?.as_nanos() as f64 / estimate.as_nanos() as f64)
    }
}

/// The decision after a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Next {
    /// Every interval is narrow enough.
    Enough,
    /// Another round would end after the time limit, or exceed the maximum number of rounds.
    Limit,
    /// Some interval is still too wide.
    AnotherRound,
}

/// Decides whether to measure another round, `spent` after the start of the run.
pub fn next(plan: &Plan, until: Until, cells: &[Narrowness], spent: Nanos) -> Next {
    let round = plan.estimate(&plan.turns_of_round(0));
    if cells.iter().all(|cell| cell.met) {
        Next::Enough
    } else if plan.rounds >= Plan::MAX_ROUNDS || spent + round > until.limit {
        Next::Limit
    } else {
        Next::AnotherRound
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::experiment::{Experiment, Overrides};

    use super::*;
    use crate::histogram::LatencyHistogram;
    use crate::simulate::{Draw, Process};

    /// Measures rounds of simulated cells, with ten blocks each, like the engine; returns the
    /// number of rounds and the decision that ended them.
    fn carry_out(aim: &str, limit: Nanos, processes: &[Process]) -> (u32, Next, Vec<Narrowness>) {
        let mut plan = Experiment::parse("rounds = 3\n[settings]\nduration = \"1s\"")
            .unwrap()
            .plan(&Overrides::default())
            .unwrap();
        plan.cells = vec![plan.cells[0].clone(); processes.len()];
        let until = Until { aim: aim.parse().unwrap(), limit };
        let mut draw = Draw::new(1992);
        let mut rounds: Vec<Vec<Vec<Histogram>>> = vec![Vec::new(); processes.len()];
        loop {
            for (taken, process) in rounds.iter_mut().zip(processes) {
                while taken.len() < plan.rounds as usize {
                    taken.push((0..10).map(|_| block(*process, &mut draw)).collect());
                }
            }
            let found: Vec<Narrowness> = rounds
                .iter()
                .map(|taken| Narrowness::of_blocks(&Blocks::new(taken), until.aim))
                .collect();
            match next(&plan, until, &found, plan.estimate(&plan.turns())) {
                Next::AnotherRound => plan.rounds += 1,
                ended => return (plan.rounds, ended, found),
            }
        }
    }

    fn block(process: Process, draw: &mut Draw) -> Histogram {
        let latencies = process.draw(100, draw).into_iter();
        let nanos = |micros: f64| Nanos::from_nanos((micros * 1000.0) as u64);
        latencies.map(nanos).collect::<LatencyHistogram>().to_record()
    }

    /// How many of 300 intervals of the p90 contain the true value, and the mean number of
    /// rounds: stopped at `aim`, or after a fixed number of rounds.
    fn covered(aim: &str, fixed: Option<usize>) -> (usize, f64) {
        let aim: Aim = aim.parse().unwrap();
        let truth = Nanos::from_nanos((WIDE.level(10.0) * 1000.0) as u64);
        let (mut held, mut taken) = (0, 0);
        for seed in 0..300 {
            let mut draw = Draw::new(seed);
            let mut round = || (0..10).map(|_| block(WIDE, &mut draw)).collect::<Vec<_>>();
            let mut rounds: Vec<_> =
                (0..fixed.unwrap_or(Until::FEWEST_ROUNDS as usize)).map(|_| round()).collect();
            let found = loop {
                let found = Narrowness::of_blocks(&Blocks::new(&rounds), aim);
                if fixed.is_some() || found.met || rounds.len() >= 30 {
                    break found.interval.unwrap();
                }
                rounds.push(round());
            };
            held += usize::from(found.low <= truth && truth <= found.high);
            taken += rounds.len();
        }
        (held, taken as f64 / 300.0)
    }

    #[test]
    fn stopping_at_a_narrow_interval_costs_little_coverage() {
        for aim in ["p90:8%", "p90:6%"] {
            let (stopped, rounds) = covered(aim, None);
            let (fixed, _) = covered(aim, Some(rounds.round() as usize));
            println!(
                "{aim}: {stopped} of 300 intervals contained the true value after {rounds:.1} rounds, \
                 {fixed} with a fixed number of rounds"
            );
            assert!(stopped >= 270, "{aim}: {stopped} of 300");
        }
    }

    const NARROW: Process = Process::LogNormal(0.02);
    const WIDE: Process = Process::LogNormal(0.5);
    const LIMIT: Nanos = Nanos::from_secs(60);

    #[test]
    fn a_narrow_distribution_ends_with_the_fewest_rounds() {
        let (rounds, ended, cells) = carry_out("p90:5%", Until::LIMIT, &[NARROW]);
        assert_eq!((rounds, ended), (3, Next::Enough));
        assert!(cells[0].relative_width().unwrap() <= 0.05);
    }

    #[test]
    fn a_wide_distribution_adds_rounds_to_all_cells_until_it_is_narrow() {
        let (rounds, ended, cells) = carry_out("p90:5%", Until::LIMIT, &[NARROW, WIDE]);
        assert_eq!(ended, Next::Enough);
        assert!((4..30).contains(&rounds), "{rounds}");
        assert!(cells.iter().all(|cell| cell.met && cell.relative_width().unwrap() <= 0.05));
        let (alone, ..) = carry_out("p90:5%", Until::LIMIT, &[NARROW]);
        assert!(alone < rounds);
    }

    #[test]
    fn the_time_limit_ends_the_run_and_reports_the_width() {
        let (rounds, ended, cells) = carry_out("p90:1%", LIMIT, &[WIDE]);
        assert_eq!(ended, Next::Limit);
        assert!(rounds > 10, "{rounds}");
        assert!(!cells[0].met && cells[0].relative_width().unwrap() > 0.01);
        let (fewer, ended, _) = carry_out("p90:1%", Nanos::from_secs(20), &[WIDE]);
        assert_eq!(ended, Next::Limit);
        assert!(fewer < rounds, "{fewer} and {rounds}");
        // The minimum number of rounds is measured even if it takes longer.
        assert_eq!(carry_out("p90:1%", Nanos::from_secs(1), &[WIDE]).0, 3);
    }

    #[test]
    fn a_cell_without_an_interval_is_not_narrow() {
        let aim: Aim = "p99.99:50%".parse().unwrap();
        let none = Narrowness::of(&[], aim);
        assert_eq!((none.met, none.estimate, none.width()), (false, None, None));
        let mut draw = Draw::new(7);
        let few = [vec![block(NARROW, &mut draw); 30]];
        let few = Narrowness::of_blocks(&Blocks::new(&few), aim);
        assert!(!few.met && matches!(few.unsupported, Some(Unsupported::FewBeyond { .. })));
    }

    #[test]
    fn an_absolute_width_is_not_relative_to_the_quantile() {
        let latency = |micros| -> Histogram {
            let latencies = std::iter::repeat_n(Nanos::from_micros(micros), 20);
            latencies.collect::<LatencyHistogram>().to_record()
        };
        let rounds: Vec<Vec<Histogram>> =
            (0..4).map(|_| (0..10).map(|k| latency(100 + k % 3)).collect()).collect();
        let blocks = Blocks::new(&rounds);
        let met = |aim: &str| Narrowness::of_blocks(&blocks, aim.parse().unwrap()).met;
        assert!(met("p50:2us") && met("p50:2%"));
        assert!(!met("p50:1ns"));
    }
}
