//! The reserve that a periodic thread needs, from the CPU time of its jobs.
//!
//! The cost of a job is the CPU time that its thread used for it, with the interrupts on top of it:
//! kernels without `CONFIG_IRQ_TIME_ACCOUNTING` take both from a reserve. The cost of the reserve
//! is an upper confidence limit of a high quantile of these costs, and a cushion, see
//! [`Asked::CUSHION`].

mod trial;

use serde::Serialize;
use tactus_explain::jobs::{DoneJob, DueBy, JobExplanation, Period};
use tactus_model::format;
use tactus_model::recording::ThreadId;
use tactus_model::reserve::Capacity;
use tactus_model::result::Histogram;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_stats::LatencyHistogram;
use tactus_stats::bootstrap::Blocks;
use tactus_stats::extreme::{LateWakeup, TailEstimation, TailWindow};
use tactus_stats::order::{UpperLimit, fewest};

pub use trial::{Arm, ArmResult, Difference, LoadTrial, Trial, TrialWindow};

/// What a reserve is to cover.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Asked {
    /// The share of jobs that fit, 0 to 1.
    pub quantile: f64,
    /// The confidence that this quantile fits, 0 to 1.
    pub confidence: f64,
    /// The share of the limit that is added to it.
    pub cushion: f64,
    /// The deadline of a job after its due time; if `None`, the period.
    pub deadline: Option<Nanos>,
}

impl Asked {
    /// The usual cushion.
    ///
    /// A reserve that is one microsecond too small costs a whole period: the thread is throttled
    /// until its budget is renewed. A reserve that is too large costs nothing while the machine has
    /// room, since others run in what is left over. Costs are measured under the program's own
    /// load; other programs take cache, memory bandwidth and the other thread of the core, which no
    /// measurement without them shows. docs/need.md has figures.
    pub const CUSHION: f64 = 0.25;
}

impl Default for Asked {
    fn default() -> Self {
        Self { quantile: 0.999, confidence: 0.95, cushion: Self::CUSHION, deadline: None }
    }
}

/// The least number of jobs from which a reserve is concluded.
pub const FEWEST_JOBS: u64 = 20;

/// In how many stretches of consecutive jobs the measurement is divided to find how costs cluster.
const STRETCHES: usize = 50;

/// The numbers of consecutive jobs over which costs are averaged.
const RUNS: [usize; 5] = [2, 4, 8, 16, 32];

/// The ratio of the limit to the mean from which costs count as bursts.
const BURSTY: f64 = 1.5;

/// The change of the median cost and of the mean during the measurement from which it is reported.
const CHANGED: f64 = 0.1;

/// A periodic thread and what it needs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThreadNeed {
    /// The thread.
    pub thread: ThreadId,
    /// Its last name.
    pub name: String,
    /// What gives it its due times.
    pub due: DueBy,
    /// How its period was found.
    pub period: Period,
    /// The number of due times for which it began no job.
    pub missed: u64,
    /// The number of jobs not counted because events were lost.
    pub void: u64,
    /// What its jobs cost.
    pub demand: Demand,
}

impl ThreadNeed {
    /// What a thread with these `jobs` needs.
    pub fn of(thread: &JobExplanation, jobs: &[DoneJob], asked: &Asked) -> Self {
        Self {
            thread: thread.thread,
            name: thread.name.clone(),
            due: thread.due.clone(),
            period: thread.period,
            missed: thread.missed,
            void: thread.void,
            demand: Demand::of(jobs, thread.period.length, asked),
        }
    }
}

/// What the jobs of a thread cost, and the reserve that covers them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Demand {
    /// What was asked.
    pub asked: Asked,
    /// The number of jobs.
    pub jobs: u64,
    /// From the first due time to the last.
    pub observed: Nanos,
    /// The period of the reserve: that of the thread, to four digits.
    pub period: Nanos,
    /// The mean cost of a job.
    pub mean: Nanos,
    /// The part of it that interrupts took.
    pub interrupted: Nanos,
    /// The costs.
    pub costs: Histogram,
    /// The limit of the asked quantile; `None` without jobs.
    pub limit: Option<UpperLimit>,
    /// The duration of a measurement for the asked quantile; `None` if this was long enough.
    pub needed: Option<Nanos>,
    /// What is added to the limit.
    pub cushion: Nanos,
    /// The greatest average cost of consecutive jobs.
    pub runs: Vec<RunCost>,
    /// The median cost in the first and in the last quarter, if they differ.
    pub changed: Option<[Nanos; 2]>,
    /// The estimate of the costs of rare jobs. It is never a bound.
    pub tail: TailEstimation,
    /// The cost over time: at most [`POINTS`] stretches.
    pub over_time: Vec<Stretch>,
    /// The reserve, or why there is none.
    pub reserve: Result<Capacity, NoReserve>,
}

/// The greatest average cost of a number of consecutive jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RunCost {
    /// The number of jobs.
    pub jobs: usize,
    /// The average.
    pub cost: Nanos,
}

/// The most stretches of [`Demand::over_time`].
pub const POINTS: usize = 400;

/// Consecutive jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Stretch {
    /// When the first was due, since the first of all.
    pub at: Nanos,
    /// The average cost.
    pub mean: Nanos,
    /// The greatest cost.
    pub max: Nanos,
}

/// Why no reserve follows from a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, thiserror::Error)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum NoReserve {
    /// The program ended too early.
    #[error(
        "{} seen; a reserve needs at least {FEWEST_JOBS}, so measure for {}",
        jobs_were(*jobs), format::span(*needed)
    )]
    FewJobs {
        /// The number of jobs.
        jobs: u64,
        /// The duration of a measurement that is long enough.
        needed: Nanos,
    },
    /// The jobs need a whole CPU or more.
    #[error(
        "its jobs use {} of a CPU, and a thread runs on one CPU at a time; reduce its work or divide it among threads",
        format::cpus(*share)
    )]
    Overload {
        /// The mean cost as a share of the period.
        share: f64,
    },
    /// The cost is above the deadline.
    #[error(
        "the reserve would need {cost} in {deadline}; reduce the work of the slowest jobs, or let the program buffer several periods and use the average below"
    )]
    TooLong {
        /// The cost with the cushion.
        cost: Nanos,
        /// The deadline.
        deadline: Nanos,
    },
}

fn jobs_were(jobs: u64) -> String {
    let verb = if jobs == 1 { "was" } else { "were" };
    format!("{} {verb}", format::counted(jobs, "job"))
}

impl Demand {
    /// The demand of a thread from its jobs in the order of time.
    pub fn of(jobs: &[DoneJob], period: Nanos, asked: &Asked) -> Self {
        let costs: Vec<Nanos> = jobs.iter().map(|job| job.used.total()).collect();
        let mut ascending = costs.clone();
        ascending.sort_unstable();
        let period = to_four_digits(period);
        let limit = limit(&costs, &ascending, asked);
        let enough = fewest(asked.quantile, asked.confidence);
        let count = jobs.len() as u64;
        let cushion = limit.map_or(Nanos::ZERO, |limit| scaled(limit.value, asked.cushion));
        let mut demand = Self {
            asked: *asked,
            jobs: count,
            observed: observed(jobs),
            period,
            mean: mean(&costs),
            interrupted: mean(&jobs.iter().map(|job| job.used.interrupted).collect::<Vec<_>>()),
            costs: costs.iter().copied().collect::<LatencyHistogram>().to_record(),
            limit,
            needed: (count < enough).then(|| period.saturating_mul(enough)),
            cushion,
            runs: runs(&costs),
            changed: changed(&costs),
            tail: tail(jobs, period),
            over_time: over_time(jobs),
            reserve: Err(NoReserve::FewJobs {
                jobs: count,
                needed: period.saturating_mul(FEWEST_JOBS + 2),
            }),
        };
        if let Some(limit) = limit.filter(|_| count >= FEWEST_JOBS) {
            demand.reserve = demand.reserve_for_cost(limit.value);
        }
        demand
    }

    /// The reserve for jobs of this cost, with the cushion.
    ///
    /// # Errors
    /// No reserve covers them.
    pub fn reserve_for_cost(&self, cost: Nanos) -> Result<Capacity, NoReserve> {
        let cost = cost + scaled(cost, self.asked.cushion);
        let deadline = self.asked.deadline.unwrap_or(self.period).min(self.period);
        let share = self.share();
        if share >= 0.99 {
            return Err(NoReserve::Overload { share });
        }
        let cost = rounded_up(cost);
        Capacity::new(cost, self.period, deadline)
            .map_err(|_| NoReserve::TooLong { cost, deadline })
    }

    /// The mean cost as a share of the period.
    pub fn share(&self) -> f64 {
        self.mean.as_nanos() as f64 / self.period.as_nanos().max(1) as f64
    }

    /// Whether the costs come in bursts: a reserve for each job is much larger than one for their
    /// average.
    pub fn is_bursty(&self) -> bool {
        let limit = self.limit.map_or(0.0, |limit| limit.value.as_nanos() as f64);
        limit > BURSTY * self.mean.as_nanos() as f64 && !self.runs.is_empty()
    }
}

/// The limit by order statistics; if costs cluster, the higher one of resampled stretches of
/// consecutive jobs.
fn limit(costs: &[Nanos], ascending: &[Nanos], asked: &Asked) -> Option<UpperLimit> {
    let mut limit = UpperLimit::of(ascending, asked.quantile, asked.confidence)?;
    let stretch = costs.len().div_ceil(STRETCHES).max(1);
    let blocks: Vec<Histogram> = costs
        .chunks(stretch)
        .map(|costs| costs.iter().copied().collect::<LatencyHistogram>().to_record())
        .collect();
    // The interval is a two-sided one of 95 %: its upper end is a limit of 97.5 %.
    let intervals = Blocks::new([&blocks]).intervals(&[limit.quantile], SEED);
    if let Some(Ok(interval)) = intervals.first() {
        limit.value = limit.value.max(interval.high);
    }
    Some(limit)
}

/// The seed of the resampling, so that a measurement always has the same limit.
const SEED: u64 = 1994;

fn observed(jobs: &[DoneJob]) -> Nanos {
    let ends = jobs.first().zip(jobs.last());
    ends.map_or(Nanos::ZERO, |(first, last)| last.due - first.due)
}

fn mean(values: &[Nanos]) -> Nanos {
    let sum: Nanos = values.iter().copied().sum();
    Nanos::from_nanos(sum.as_nanos() / (values.len() as u64).max(1))
}

fn scaled(length: Nanos, factor: f64) -> Nanos {
    format::rounded_nanos(length.as_nanos() as f64 * factor)
}

/// The greatest average of each number of consecutive jobs, if there are four times as many.
fn runs(costs: &[Nanos]) -> Vec<RunCost> {
    let known = RUNS.into_iter().filter(|run| run * 4 <= costs.len());
    known
        .map(|run| RunCost {
            jobs: run,
            cost: costs.windows(run).map(mean).max().unwrap_or_default(),
        })
        .collect()
}

/// The median of the first and of the last quarter, if they differ. The mean must differ too: if half
/// of the costs are high, chance decides which half has the median.
fn changed(costs: &[Nanos]) -> Option<[Nanos; 2]> {
    let quarter = costs.len() / 4;
    if (quarter as u64) < FEWEST_JOBS {
        return None;
    }
    let median = |costs: &[Nanos]| {
        let mut sorted = costs.to_vec();
        *sorted.select_nth_unstable(costs.len() / 2).1
    };
    let (first, last) = (&costs[..quarter], &costs[costs.len() - quarter..]);
    let differ = |first: Nanos, last: Nanos| {
        let ratio = last.as_nanos() as f64 / first.as_nanos().max(1) as f64;
        (ratio - 1.0).abs() > CHANGED
    };
    let medians = [median(first), median(last)];
    (differ(medians[0], medians[1]) && differ(mean(first), mean(last))).then_some(medians)
}

fn tail(jobs: &[DoneJob], period: Nanos) -> TailEstimation {
    let first = jobs.first().map_or(Instant::<Monotonic>::from_nanos(0), |job| job.due);
    let costs =
        jobs.iter().map(|job| LateWakeup { due: job.due - first, latency: job.used.total() });
    let (length, count) = (observed(jobs) + period, jobs.len() as u64);
    TailEstimation::of(&[TailWindow::of_samples(length, count, costs, Nanos::ZERO)])
}

fn over_time(jobs: &[DoneJob]) -> Vec<Stretch> {
    let Some(first) = jobs.first() else { return Vec::new() };
    let stretches = jobs.chunks(jobs.len().div_ceil(POINTS).max(1));
    stretches
        .map(|jobs| {
            let costs: Vec<Nanos> = jobs.iter().map(|job| job.used.total()).collect();
            Stretch {
                at: jobs[0].due - first.due,
                mean: mean(&costs),
                max: costs.into_iter().max().unwrap_or_default(),
            }
        })
        .collect()
}

/// A period as a person would write it: a clock is not more exact than four digits.
fn to_four_digits(period: Nanos) -> Nanos {
    let step = digit_step(period, 4);
    Nanos::from_nanos((period.as_nanos() + step / 2) / step * step)
}

/// A cost rounded up to three digits.
fn rounded_up(cost: Nanos) -> Nanos {
    let step = digit_step(cost, 3);
    Nanos::from_nanos(cost.as_nanos().div_ceil(step).saturating_mul(step))
}

/// The value of the last of `digits` digits.
fn digit_step(length: Nanos, digits: u32) -> u64 {
    let all = length.as_nanos().checked_ilog10().unwrap_or(0) + 1;
    10_u64.pow(all.saturating_sub(digits))
}

#[cfg(test)]
mod tests {
    use tactus_explain::jobs::CpuTime;

    use super::*;

    const PERIOD: Nanos = Nanos::from_millis(40);

    /// Jobs with these costs in microseconds.
    fn jobs(costs: impl IntoIterator<Item = u64>) -> Vec<DoneJob> {
        let job = |(number, cost): (u64, u64)| {
            let due = Instant::from_nanos((number + 1) * PERIOD.as_nanos());
            let used = CpuTime { own: Nanos::from_micros(cost), interrupted: Nanos::ZERO };
            DoneJob { thread: ThreadId(7), due, done: due + used.own, missed: 0, used }
        };
        (0..).zip(costs).map(job).collect()
    }

    fn demand(costs: impl IntoIterator<Item = u64>) -> Demand {
        Demand::of(&jobs(costs), PERIOD, &Asked::default())
    }

    #[test]
    fn a_constant_cost_needs_that_cost_and_the_cushion() {
        let demand = demand([3000; 3000]);
        assert_eq!(demand.mean, Nanos::from_millis(3));
        assert_eq!(demand.needed, None);
        assert_eq!(demand.reserve.unwrap().to_string(), "3.75ms/40ms");
        assert!(!demand.is_bursty() && demand.changed.is_none());
    }

    #[test]
    fn a_short_measurement_says_what_it_covers_and_how_long_is_needed() {
        let demand = demand([3000; 299]);
        let limit = demand.limit.unwrap();
        assert!((limit.quantile - 0.99).abs() < 1e-4, "{limit:?}");
        assert_eq!(demand.needed, Some(Nanos::from_millis(2995 * 40)));
        assert!(demand.reserve.is_ok());
    }

    #[test]
    fn a_change_is_one_of_the_median_and_of_the_mean() {
        let grown = (0..400).map(|job| if job < 200 { 3000 } else { 5000 });
        let [first, last] = demand(grown).changed.unwrap();
        assert_eq!([first, last], [Nanos::from_micros(3000), Nanos::from_micros(5000)]);
        // Half of the jobs are long, one more or less in a quarter.
        let modes = (0..400).map(|job| if (job + job / 200) % 2 == 0 { 500 } else { 2000 });
        let odd = modes.take(398);
        assert_eq!(demand(odd).changed, None);
    }

    #[test]
    fn few_jobs_give_no_reserve() {
        let demand = demand([3000; 7]);
        let error = demand.reserve.unwrap_err();
        assert_eq!(
            error.to_string(),
            "7 jobs were seen; a reserve needs at least 20, so measure for 0.9\u{202f}s"
        );
        assert_eq!(super::Demand::of(&[], PERIOD, &Asked::default()).limit, None);
    }

    #[test]
    fn bursts_are_covered_and_their_average_is_shown() {
        // Every twelfth frame costs four times as much.
        let demand = demand((0..3600).map(|frame| if frame % 12 == 0 { 20_000 } else { 5000 }));
        assert_eq!(demand.reserve.unwrap().to_string(), "25ms/40ms");
        assert!(demand.is_bursty());
        let run = |jobs| demand.runs.iter().find(|run| run.jobs == jobs).unwrap().cost;
        assert_eq!(run(2), Nanos::from_micros(12_500));
        // Two of sixteen frames in a row cost more.
        assert_eq!(run(16), Nanos::from_micros(6875));
    }

    #[test]
    fn a_thread_that_needs_more_than_a_cpu_gets_no_reserve() {
        let error = demand([41_000; 100]).reserve.unwrap_err();
        assert!(matches!(error, NoReserve::Overload { .. }), "{error}");
        let error = demand((0..100).map(|job| 1000 + job * 380)).reserve.unwrap_err();
        assert!(matches!(error, NoReserve::TooLong { .. }), "{error}");
    }

    #[test]
    fn a_deadline_before_the_end_of_the_period_is_part_of_the_reserve() {
        let asked = Asked { deadline: Some(Nanos::from_millis(20)), ..Asked::default() };
        let found = Demand::of(&jobs([3000; 100]), PERIOD, &asked);
        assert_eq!(found.reserve.unwrap().to_string(), "3.75ms/40ms:20ms");
    }

    #[test]
    fn a_changing_cost_is_reported() {
        let found = demand((0..400).map(|job| if job < 200 { 2000 } else { 3000 }));
        assert_eq!(found.changed, Some([Nanos::from_millis(2), Nanos::from_millis(3)]));
    }

    #[test]
    fn high_costs_in_one_cluster_raise_the_limit() {
        // 12 000 jobs; the only stretches with high costs are neighbours.
        let found =
            demand((0..12_000).map(|job| if (6000..6960).contains(&job) { 9000 } else { 1000 }));
        assert_eq!(found.limit.unwrap().value, Nanos::from_millis(9));
    }

    #[test]
    fn values_are_rounded_as_a_person_would_write_them() {
        let nanos = Nanos::from_nanos;
        assert_eq!(to_four_digits(nanos(39_999_871)), Nanos::from_millis(40));
        assert_eq!(to_four_digits(nanos(21_333_301)), nanos(21_330_000));
        assert_eq!(rounded_up(nanos(4_120_001)), nanos(4_130_000));
        assert_eq!(rounded_up(nanos(999)), nanos(999));
    }
}
