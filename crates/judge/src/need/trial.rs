//! Whether a reserve helps: deadline misses with and without it, in turns.

use serde::Serialize;
use tactus_explain::jobs::DoneJob;
use tactus_model::load::Load;
use tactus_model::recording::ThreadId;
use tactus_model::result::Histogram;
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;
use tactus_stats::paired::PairedDifference;

/// Whether the threads have their reserves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arm {
    /// As the program runs by itself.
    Without,
    /// With the reserves.
    With,
}

impl Arm {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Without, Self::With];
}

/// The jobs of a thread in a window of the trial.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialWindow {
    /// The thread.
    pub thread: ThreadId,
    /// The competing load.
    pub load: Load,
    /// The number of the pair: a window with and one without belong together.
    pub pair: usize,
    /// Whether it had its reserve.
    pub arm: Arm,
    /// The deadline after each due time.
    pub deadline: Nanos,
    /// Its jobs.
    pub jobs: Vec<DoneJob>,
}

impl TrialWindow {
    /// The jobs done after their deadline, and the due times without a job.
    fn misses(&self) -> u64 {
        let late = self.jobs.iter().filter(|job| job.response() > self.deadline).count() as u64;
        late + self.skipped()
    }

    /// The due times without a job. Those before the first job belong to no window.
    fn skipped(&self) -> u64 {
        self.jobs.iter().skip(1).map(|job| job.missed).sum()
    }

    fn due_times(&self) -> u64 {
        self.jobs.len() as u64 + self.skipped()
    }

    /// The share of due times that were missed.
    fn rate(&self) -> Option<f64> {
        (self.due_times() > 0).then(|| self.misses() as f64 / self.due_times() as f64)
    }
}

/// The jobs of a thread in all windows of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ArmResult {
    /// The number of due times.
    pub due_times: u64,
    /// The number of jobs done after their deadline, and of due times without a job.
    pub misses: u64,
    /// The times from due to done.
    pub responses: Histogram,
    /// The CPU time of the jobs.
    pub costs: Histogram,
}

impl ArmResult {
    fn of<'w>(windows: impl Iterator<Item = &'w TrialWindow>) -> Self {
        let (mut result, mut responses, mut costs) =
            (Self::default(), LatencyHistogram::new(), LatencyHistogram::new());
        for window in windows {
            result.due_times += window.due_times();
            result.misses += window.misses();
            for job in &window.jobs {
                responses.record(job.response());
                costs.record(job.used.total());
            }
        }
        Self { responses: responses.to_record(), costs: costs.to_record(), ..result }
    }
}

/// Whether the share of missed deadlines differs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "found", rename_all = "kebab-case")]
pub enum Difference {
    /// No window had a miss.
    NoMisses,
    /// There are too few pairs of windows, or their interval contains zero.
    None {
        /// The difference, if there are enough pairs.
        paired: Option<PairedDifference>,
    },
    /// The reserve lowers the share of misses.
    Fewer {
        /// The share with the reserve less the share without.
        paired: PairedDifference,
    },
    /// The reserve raises the share of misses.
    More {
        /// The share with the reserve less the share without.
        paired: PairedDifference,
    },
}

impl Difference {
    fn of(windows: &[&TrialWindow]) -> Self {
        if windows.iter().all(|window| window.misses() == 0) {
            return Self::NoMisses;
        }
        let rate = |pair, arm| {
            let mut found =
                windows.iter().filter(|window| (window.pair, window.arm) == (pair, arm));
            found.next()?.rate()
        };
        let mut pairs: Vec<usize> = windows.iter().map(|window| window.pair).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let differences: Vec<f64> = pairs
            .into_iter()
            .filter_map(|pair| Some(rate(pair, Arm::With)? - rate(pair, Arm::Without)?))
            .collect();
        match PairedDifference::of(&differences) {
            Some(paired) if paired.high < 0.0 => Self::Fewer { paired },
            Some(paired) if paired.low > 0.0 => Self::More { paired },
            paired => Self::None { paired },
        }
    }
}

/// A thread under one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadTrial {
    /// The load.
    pub load: Load,
    /// Without the reserve.
    pub without: ArmResult,
    /// With it.
    pub with: ArmResult,
}

/// A thread under all loads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// The thread.
    pub thread: ThreadId,
    /// Each load, in the order of the first window.
    pub loads: Vec<LoadTrial>,
    /// The difference over all pairs of windows.
    pub difference: Difference,
    /// The greatest cost of a job with the reserve.
    pub cost_max: Nanos,
}

impl Trial {
    /// The results of each thread, in the order of the first windows.
    pub fn of(windows: &[TrialWindow]) -> Vec<Self> {
        let mut threads: Vec<ThreadId> = Vec::new();
        for window in windows {
            if !threads.contains(&window.thread) {
                threads.push(window.thread);
            }
        }
        threads.into_iter().map(|thread| Self::of_thread(thread, windows)).collect()
    }

    fn of_thread(thread: ThreadId, windows: &[TrialWindow]) -> Self {
        let own: Vec<&TrialWindow> =
            windows.iter().filter(|window| window.thread == thread).collect();
        let mut loads: Vec<&Load> = Vec::new();
        for window in &own {
            if !loads.contains(&&window.load) {
                loads.push(&window.load);
            }
        }
        let result = |load: &Load, arm| {
            let fits = |window: &&&TrialWindow| window.load == *load && window.arm == arm;
            ArmResult::of(own.iter().filter(fits).copied())
        };
        let loads: Vec<LoadTrial> = loads
            .into_iter()
            .map(|load| LoadTrial {
                load: load.clone(),
                without: result(load, Arm::Without),
                with: result(load, Arm::With),
            })
            .collect();
        let cost_max = loads.iter().map(|load| load.with.costs.max).max().unwrap_or_default();
        Self { thread, loads, difference: Difference::of(&own), cost_max }
    }
}

#[cfg(test)]
mod tests {
    use tactus_explain::jobs::CpuTime;
    use tactus_model::time::Instant;

    use super::*;

    const DEADLINE: Nanos = Nanos::from_millis(10);

    /// A window of 100 jobs, of which the first `late` are late.
    fn window(pair: usize, arm: Arm, late: usize) -> TrialWindow {
        let job = |number: usize| {
            let due = Instant::from_nanos(number as u64 * 10_000_000);
            let response = Nanos::from_millis(if number < late { 12 } else { 3 });
            let used = CpuTime { own: Nanos::from_millis(2), interrupted: Nanos::ZERO };
            DoneJob { thread: ThreadId(1), due, done: due + response, missed: 0, used }
        };
        let load = if pair.is_multiple_of(2) { "compute:2" } else { "idle" };
        TrialWindow {
            thread: ThreadId(1),
            load: load.parse().unwrap(),
            pair,
            arm,
            deadline: DEADLINE,
            jobs: (0..100).map(job).collect(),
        }
    }

    /// The trial of one thread with these misses without and with the reserve, pair by pair.
    fn trial(pairs: &[[usize; 2]]) -> Trial {
        let windows: Vec<TrialWindow> = (0..)
            .zip(pairs)
            .flat_map(|(pair, late)| {
                Arm::BOTH.into_iter().zip(late).map(move |(arm, late)| window(pair, arm, *late))
            })
            .collect();
        let [trial] = <[Trial; 1]>::try_from(Trial::of(&windows)).unwrap();
        trial
    }

    #[test]
    fn misses_are_added_up_by_load() {
        let trial = trial(&[[30, 0], [2, 1], [40, 0], [0, 1]]);
        let [compute, idle] = &trial.loads[..] else { panic!("{trial:?}") };
        assert_eq!((compute.without.misses, compute.with.misses), (70, 0));
        assert_eq!((idle.without.misses, idle.with.misses), (2, 2));
        assert_eq!((compute.with.due_times, compute.with.responses.count), (200, 200));
    }

    #[test]
    fn a_difference_is_found_only_if_the_pairs_agree() {
        let found = |pairs: &[[usize; 2]]| trial(pairs).difference;
        assert!(matches!(found(&[[30, 0], [31, 1], [29, 0]]), Difference::Fewer { .. }));
        assert!(matches!(found(&[[0, 30], [1, 31], [0, 29]]), Difference::More { .. }));
        assert!(matches!(found(&[[30, 0], [0, 25]]), Difference::None { paired: Some(_) }));
        assert!(matches!(found(&[[30, 0]]), Difference::None { paired: None }));
        assert_eq!(found(&[[0, 0], [0, 0]]), Difference::NoMisses);
    }

    #[test]
    fn due_times_without_a_job_are_misses() {
        let mut one = window(0, Arm::Without, 0);
        one.jobs[0].missed = 50;
        one.jobs[40].missed = 5;
        assert_eq!((one.misses(), one.due_times()), (5, 105));
    }
}
