//! What a clock interrupt costs, by the slowdown of sorts at several rates of interrupts.
//!
//! Sorts of equal work take longer when interrupts take a part of the CPU's time. With a cost of
//! `c` per interrupt and a rate `r`, the work done per second is `w(r) = w₀ (1 − c r)`: a line, whose
//! slope over its value at rate zero is the cost. Two rates are enough for an estimate (R. B.
//! Dannenberg and others, *Performance Measurements of the Multimedia Testbed on Mach 3.0*,
//! CMU-CS-93-205, 1993, section 6); several show whether it is a line.
//!
//! The cost includes everything that an interrupt takes from the program: entering and leaving the
//! kernel, the handler, and refilling the caches, so that it depends on the program (Y. Etsion, D.
//! Tsafrir and D. G. Feitelson, *Effects of Clock Resolution on the Scheduling of Interactive and
//! Soft Real-Time Processes*, SIGMETRICS 2003, section 3). An array of few numbers leaves the caches
//! almost empty: its cost is the direct part.
//!
//! The work per second in a process is the median over blocks of time, which a few disturbed blocks
//! do not move; the value of a rate is the median over processes. The interval is that of the
//! hierarchical bootstrap of [`crate::bootstrap`]: rounds are resampled first, jointly for all rates,
//! since rates of one round were measured close together, and blocks within each process.

use serde::Serialize;
use tactus_model::cell::Cell;
use tactus_model::random::SplitMix64;
use tactus_model::result::{Measurement, Shortfall};
use tactus_model::run::Run;
use tactus_model::sort::Numbers;

use crate::bootstrap::{RESAMPLES, ends_of};
use crate::cell::SEED;
use crate::median::median_of;

/// The cost of a clock interrupt for sorts that differ in nothing but the rate of interrupts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InterruptCost {
    /// The numbers that are sorted.
    pub numbers: Numbers,
    /// How many tasks share each CPU.
    pub tasks_per_cpu: u32,
    /// The rates, ascending.
    pub rates: Vec<SortRate>,
    /// The cost of an interrupt, in nanoseconds of CPU time, from the line through all rates.
    pub cost_ns: f64,
    /// A range that contains it in 95 of 100 repetitions; `None` with fewer than two rounds.
    pub interval: Option<[f64; 2]>,
    /// The same from the lowest and the highest rate alone: the method of 1993.
    pub two_rate_ns: f64,
    /// The greatest distance of a rate from the line, as a share of the value there.
    pub misfit: f64,
}

/// The sorts at one rate of interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SortRate {
    /// The index of the cell in the plan.
    pub cell: usize,
    /// The requested additional interrupts per second.
    pub extra: u32,
    /// The interrupts per second that the CPU had, by the kernel's counter, with the kernel's own.
    pub delivered: f64,
    /// Numbers sorted per second, on one CPU.
    pub sorted_per_second: f64,
    /// How much less was sorted than without interrupts, by the line; a share of the CPU's time.
    pub slowdown: f64,
}

/// The costs of clock interrupts by `measurements` of these cells of a plan: one for each kind of sort
/// that was measured at several rates.
pub fn interrupt_costs(cells: &[Cell], measurements: &[&Measurement]) -> Vec<InterruptCost> {
    let without = |cell: &Cell| Cell { extra_interrupts: 0, ..cell.clone() };
    let mut groups: Vec<(Cell, Vec<usize>)> = Vec::new();
    for (number, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.probe.sort().is_some()) {
        let base = without(cell);
        match groups.iter_mut().find(|(known, _)| *known == base) {
            Some((_, numbers)) => numbers.push(number),
            None => groups.push((base, vec![number])),
        }
    }
    groups
        .iter()
        .filter_map(|(base, numbers)| InterruptCost::of(cells, base, numbers, measurements))
        .collect()
}

/// What one process found.
#[derive(Clone, Debug)]
struct Process {
    round: u32,
    delivered: f64,
    /// The sorts per second in each block.
    blocks: Vec<f64>,
}

impl InterruptCost {
    /// The cost by the sorts of these cells; `None` unless several rates were delivered and counted.
    fn of(
        cells: &[Cell],
        base: &Cell,
        numbers: &[usize],
        measurements: &[&Measurement],
    ) -> Option<Self> {
        let sort = base.probe.sort()?;
        let mut rates: Vec<(usize, Vec<Process>)> = Vec::new();
        for &number in numbers {
            let of_cell = measurements.iter().filter(|found| found.turn.cell == number);
            let processes: Vec<Process> = of_cell.filter_map(|found| process(found)).collect();
            if !processes.is_empty() {
                rates.push((number, processes));
            }
        }
        keep_delivered(cells, &mut rates);
        let points = points_of(&rates, |process| median_of(process.blocks.iter().copied()))?;
        let line = Line::through(&points)?;
        let two_rate =
            Line::through(&[*points.iter().min_by(by_rate)?, *points.iter().max_by(by_rate)?])?;
        let mut found: Vec<SortRate> = rates
            .iter()
            .zip(&points)
            .map(|((cell, _), &(delivered, sorts))| SortRate {
                cell: *cell,
                extra: cells[*cell].extra_interrupts,
                delivered,
                sorted_per_second: sorts * f64::from(sort.numbers.get()),
                slowdown: 1.0 - sorts / line.at_zero,
            })
            .collect();
        found.sort_by(|one, other| one.delivered.total_cmp(&other.delivered));
        Some(Self {
            numbers: sort.numbers,
            tasks_per_cpu: base.probe.timer().tasks_per_cpu,
            rates: found,
            cost_ns: line.cost_ns(),
            interval: interval(&rates),
            two_rate_ns: two_rate.cost_ns(),
            misfit: points.iter().map(|point| line.misfit(*point)).fold(0.0, f64::max),
        })
    }

    /// Whether the cost is above zero in 95 of 100 repetitions.
    pub fn is_above_zero(&self) -> bool {
        self.interval.is_some_and(|[low, _]| low > 0.0)
    }
}

/// Removes the rates that were not delivered: those with less than half of what they add to the
/// lowest.
fn keep_delivered(cells: &[Cell], rates: &mut Vec<(usize, Vec<Process>)>) {
    let rate = |(cell, processes): &(usize, Vec<Process>)| {
        let delivered = median_of(processes.iter().map(|process| process.delivered));
        (cells[*cell].extra_interrupts, delivered.unwrap_or_default())
    };
    let Some((least, kernel)) = rates.iter().map(rate).min_by_key(|(extra, _)| *extra) else {
        return;
    };
    rates.retain(|processes| {
        let (extra, delivered) = rate(processes);
        delivered - kernel >= 0.5 * f64::from(extra - least) || extra == least
    });
}

/// Why additional clock interrupts of a run were not delivered; `None` if they were.
pub fn refused(run: &Run) -> Option<&Shortfall> {
    let mut all = run.measurements.iter().flat_map(|found| &found.shortfalls);
    all.find(|shortfall| shortfall.asked.starts_with("extra-interrupts"))
}

/// A rate and the sorts per second.
type Point = (f64, f64);

fn by_rate(one: &&Point, other: &&Point) -> std::cmp::Ordering {
    one.0.total_cmp(&other.0)
}

/// A measurement's rate of interrupts, and the sorts per second on one CPU in each block of time;
/// `None` if the interrupts were not counted.
fn process(measurement: &Measurement) -> Option<Process> {
    let tasks = &measurement.tasks;
    let delivered =
        tasks.iter().map(|task| task.timer_interrupts?.rate()).collect::<Option<Vec<_>>>()?;
    // The tasks of a CPU sort in turns: each one's duration contains the turns of the others.
    let mut cpus: Vec<Option<u32>> = tasks.iter().map(|task| task.cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let sharing = (tasks.len() / cpus.len().max(1)).max(1) as f64;
    let blocks = tasks.iter().flat_map(|task| &task.blocks).filter(|block| block.count > 0);
    let rates =
        blocks.map(|block| sharing * block.count as f64 / block.sum.as_secs_f64().max(1e-9));
    Some(Process {
        round: measurement.turn.round,
        delivered: median_of(delivered)?,
        blocks: rates.collect(),
    })
}

/// A point for each rate: the medians over its processes.
fn points_of(
    rates: &[(usize, Vec<Process>)],
    mut sorts: impl FnMut(&Process) -> Option<f64>,
) -> Option<Vec<Point>> {
    let point = |(_, processes): &(usize, Vec<Process>)| {
        let delivered = median_of(processes.iter().map(|process| process.delivered))?;
        Some((delivered, median_of(processes.iter().filter_map(&mut sorts))?))
    };
    rates.iter().map(point).collect()
}

/// The interval of the cost; `None` with fewer than two rounds of every rate.
fn interval(rates: &[(usize, Vec<Process>)]) -> Option<[f64; 2]> {
    let rounds: Vec<u32> = rates.first()?.1.iter().map(|process| process.round).collect();
    let is_in = |round: u32, (_, processes): &(usize, Vec<Process>)| {
        processes.iter().any(|process| process.round == round)
    };
    let whole: Vec<u32> =
        rounds.into_iter().filter(|round| rates.iter().all(|rate| is_in(*round, rate))).collect();
    if whole.len() < 2 {
        return None;
    }
    let mut random = SplitMix64::new(SEED);
    ends_of((0..RESAMPLES).filter_map(|_| resampled(rates, &whole, &mut random)).collect())
}

/// The cost by a resample of the rounds, and of the blocks of each process.
fn resampled(
    rates: &[(usize, Vec<Process>)],
    rounds: &[u32],
    random: &mut SplitMix64,
) -> Option<f64> {
    let drawn: Vec<u32> =
        (0..rounds.len()).map(|_| rounds[random.below(rounds.len() as u64) as usize]).collect();
    let of_rounds = rates.iter().map(|(cell, processes)| {
        let of_round = |round: &u32| processes.iter().find(|process| process.round == *round);
        (*cell, drawn.iter().filter_map(of_round).cloned().collect())
    });
    let of_rounds: Vec<(usize, Vec<Process>)> = of_rounds.collect();
    let points = points_of(&of_rounds, |process| {
        let blocks = &process.blocks;
        median_of((0..blocks.len()).map(|_| blocks[random.below(blocks.len() as u64) as usize]))
    })?;
    Some(Line::through(&points)?.cost_ns())
}

/// The work per second over the rate of interrupts.
#[derive(Clone, Copy, Debug)]
struct Line {
    at_zero: f64,
    slope: f64,
}

impl Line {
    /// The line of least squares; `None` if all rates are the same.
    fn through(points: &[Point]) -> Option<Self> {
        let count = points.len() as f64;
        let mean = |of: fn(&Point) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (rate, sorts) = (mean(|point| point.0), mean(|point| point.1));
        let square: f64 = points.iter().map(|point| (point.0 - rate).powi(2)).sum();
        let product: f64 = points.iter().map(|point| (point.0 - rate) * (point.1 - sorts)).sum();
        // Rates within a per cent of each other differ by chance.
        let is_spread = (square / count).sqrt() > 0.01 * rate;
        let slope = product / square;
        let at_zero = sorts - slope * rate;
        (is_spread && at_zero > 0.0).then_some(Self { at_zero, slope })
    }

    fn cost_ns(self) -> f64 {
        -self.slope / self.at_zero * 1e9
    }

    fn misfit(self, (rate, sorts): Point) -> f64 {
        (sorts / (self.at_zero + self.slope * rate) - 1.0).abs()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tactus_model::experiment::{Experiment, Overrides, Turn};
    use tactus_model::result::TimerInterrupts;
    use tactus_model::time::Nanos;

    use super::*;
    use crate::LatencyHistogram;
    use crate::cell::tests::{round, task};

    /// Sorts at these rates, in which an interrupt costs `cost` nanoseconds.
    fn measured(
        rates: &[u32],
        cost: f64,
        rounds: u32,
        noise: impl Fn(u32, usize) -> f64,
    ) -> (Vec<Cell>, Vec<Measurement>) {
        let rates_text: Vec<String> = rates.iter().map(u32::to_string).collect();
        let text = format!(
            "[settings]\nprobe = \"sort\"\nnumbers = 64\n[[matrix]]\nextra-interrupts = [{}]",
            rates_text.join(", ")
        );
        let plan = Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap();
        let mut measurements = Vec::new();
        for number in 0..rounds {
            for (cell, rate) in rates.iter().enumerate() {
                let delivered = f64::from(*rate + 250);
                let length = 10_000.0 / (1.0 - cost * 1e-9 * delivered) * noise(number, cell);
                let mut task = task(0, &[], &[]);
                let block: LatencyHistogram =
                    std::iter::repeat_n(Nanos::from_nanos(length as u64), 100).collect();
                task.blocks = vec![block.to_record(); 5];
                task.timer_interrupts =
                    Some(TimerInterrupts { count: delivered as u64, over: Nanos::from_secs(1) });
                let mut measurement = round(number, vec![task]);
                measurement.turn = Turn { round: number, cell };
                measurements.push(measurement);
            }
        }
        (plan.cells, measurements)
    }

    fn costs((cells, measurements): &(Vec<Cell>, Vec<Measurement>)) -> Vec<InterruptCost> {
        interrupt_costs(cells, &measurements.iter().collect::<Vec<_>>())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn a_planted_cost_is_found_by_all_rates_and_by_two(cost in 500.0_f64..20_000.0) {
            let found = costs(&measured(&[0, 5_000, 10_000, 20_000], cost, 3, |_, _| 1.0));
            let [found] = &found[..] else { panic!("{found:?}") };
            // Durations are whole nanoseconds of 10 000.
            let slack = 0.02 * cost + 50.0;
            prop_assert!((found.cost_ns - cost).abs() < slack, "{found:?}");
            prop_assert!((found.two_rate_ns - cost).abs() < slack, "{found:?}");
            prop_assert!(found.misfit < 0.01 && found.is_above_zero(), "{found:?}");
            prop_assert_eq!(found.rates.len(), 4);
        }
    }

    #[test]
    fn the_figures_of_1993_follow_from_two_rates() {
        // Section 6: 1530 iterations a second at 100 Hz, 1333.6 at 2000 Hz: 67 µs an interrupt.
        let line = Line::through(&[(100.0, 1530.0), (2000.0, 1333.6)]).unwrap();
        assert!((line.cost_ns() - 67_000.0).abs() < 200.0, "{}", line.cost_ns());
    }

    #[test]
    fn no_cost_is_claimed_where_rounds_differ_more_than_rates() {
        // The rounds disagree about which rate is slower.
        let noise =
            |round: u32, cell: usize| 1.0 + 0.05 * f64::from(round % 2) * (cell as f64 - 0.5);
        let found = costs(&measured(&[0, 20_000], 0.0, 6, noise)).remove(0);
        assert!(!found.is_above_zero(), "{found:?}");
    }

    #[test]
    fn rates_that_were_not_delivered_give_no_cost() {
        let mut found = measured(&[0, 10_000, 20_000], 1000.0, 3, |_, _| 1.0);
        let refuse = |found: &mut Measurement| {
            let count = found.tasks[0].timer_interrupts.as_mut().unwrap();
            count.count = 250 + u64::from(found.turn.round);
        };
        found.1.iter_mut().filter(|found| found.turn.cell == 1).for_each(refuse);
        assert_eq!(costs(&found)[0].rates.len(), 2);
        found.1.iter_mut().for_each(refuse);
        assert_eq!(costs(&found), []);
    }

    #[test]
    fn one_rate_or_uncounted_interrupts_give_no_cost() {
        assert_eq!(costs(&measured(&[0], 1000.0, 3, |_, _| 1.0)), []);
        let mut uncounted = measured(&[0, 20_000], 1000.0, 3, |_, _| 1.0);
        let tasks = uncounted.1.iter_mut().flat_map(|found| &mut found.tasks);
        tasks.for_each(|task| task.timer_interrupts = None);
        assert_eq!(costs(&uncounted), []);
        let one_round = costs(&measured(&[0, 20_000], 1000.0, 1, |_, _| 1.0)).remove(0);
        assert_eq!(one_round.interval, None);
    }
}
