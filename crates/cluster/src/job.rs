//! A job: the turns of a plan, and which task measures which of them.

use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use tactus_lab::engine::request;
use tactus_model::cell::Cell;
use tactus_model::experiment::{Plan, Turn};
use tactus_model::message::CellRequest;
use tactus_model::time::Nanos;

use crate::parts::Parts;

/// The format of the job's file.
pub const FORMAT: &str = "tactus-job-1";

/// The maximum number of tasks of a job: one less than Slurm's default of `MaxArraySize`.
pub const TASKS_MAX: usize = 1000;

/// How long a task should take: much longer than its start, and short enough that the loss of a node
/// costs little.
const TASK: Nanos = Nanos::from_secs(60);

/// The turns that tasks measure, and everything that determines their results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// [`FORMAT`].
    pub format: String,
    /// The version of Tactus that wrote it.
    pub version: String,
    /// The plan.
    pub plan: Plan,
    /// The turns to measure: those that share a boot are neighbours.
    pub turns: Vec<Turn>,
    /// The index of the first turn of each task.
    pub tasks: Vec<usize>,
    /// How many machines must agree on each turn.
    pub proofs: usize,
    /// How many machines of a task run at a time.
    pub jobs: usize,
    /// The time limit of a guest on its host; if `None`, it depends on the cell.
    pub limit: Option<Nanos>,
    /// What measures the cells.
    pub parts: Vec<Parts>,
}

/// How turns are measured.
#[derive(Clone, Copy, Debug)]
pub struct JobSettings {
    /// How many machines must agree on each turn.
    pub proofs: usize,
    /// How many machines of a task run at a time.
    pub jobs: usize,
    /// The time limit of a guest on its host.
    pub limit: Option<Nanos>,
    /// The number of turns of a task; by default, a task takes about a minute.
    pub turns_per_task: Option<usize>,
}

impl Job {
    /// A job that measures `turns` of `plan`.
    pub fn new(
        plan: Plan,
        mut turns: Vec<Turn>,
        settings: &JobSettings,
        parts: Vec<Parts>,
    ) -> Self {
        // The machines of a round boot once for each guest.
        let mut guests = HashMap::new();
        for (number, cell) in plan.cells.iter().enumerate() {
            guests.entry(cell.target.guest()).or_insert(number);
        }
        let boot = |turn: &Turn| guests.get(&plan.cells.get(turn.cell)?.target.guest());
        turns.sort_by_key(|turn| (turn.round, boot(turn)));
        let tasks = tasks(&plan, &turns, settings);
        Self {
            format: FORMAT.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            plan,
            turns,
            tasks,
            proofs: settings.proofs,
            jobs: settings.jobs,
            limit: settings.limit,
            parts,
        }
    }

    /// The turns of a task, by their indexes; empty if there is no such task.
    pub fn turns_of(&self, task: usize) -> Range<usize> {
        let Some(&first) = self.tasks.get(task) else { return 0..0 };
        let end = self.tasks.get(task + 1).copied().unwrap_or(self.turns.len());
        first..end.min(self.turns.len())
    }

    /// The cell of a turn, by the turn's index.
    pub fn cell(&self, turn: usize) -> Option<&Cell> {
        self.plan.cells.get(self.turns.get(turn)?.cell)
    }

    /// The request for a turn, by its index: that of the engine on one machine.
    pub fn request(&self, turn: usize) -> Option<CellRequest> {
        self.cell(turn)?;
        Some(request(&self.plan, self.turns[turn]))
    }
}

/// Divides turns among tasks: returns the index of the first turn of each.
fn tasks(plan: &Plan, turns: &[Turn], settings: &JobSettings) -> Vec<usize> {
    if let Some(each) = settings.turns_per_task {
        let each = each.max(turns.len().div_ceil(TASKS_MAX)).max(1);
        return (0..turns.len()).step_by(each).collect();
    }
    let at_a_time = settings.jobs.clamp(1, settings.proofs.max(1));
    let repeated = settings.proofs.max(1).div_ceil(at_a_time) as u64;
    let mut length = TASK;
    loop {
        let mut firsts = Vec::new();
        let mut begin = 0;
        for end in 1..=turns.len() {
            let taken = plan.estimate(&turns[begin..end]).saturating_mul(repeated);
            if taken >= length || end == turns.len() {
                firsts.push(begin);
                begin = end;
            }
        }
        if firsts.len() <= TASKS_MAX {
            return firsts;
        }
        length = length.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::experiment::{Experiment, Overrides};

    use super::*;

    fn plan(rounds: u32) -> Plan {
        let text = format!(
            "name = \"x\"\nseed = 1\nrounds = {rounds}\nguest-time = \"exact\"\n[settings]\n\
             kernel = [\"debian\", \"debian-rt\"]\nduration = \"100ms\"\n\
             load = [\"idle\", \"syscall\"]"
        );
        Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap()
    }

    fn job(rounds: u32, turns_per_task: Option<usize>) -> Job {
        let plan = plan(rounds);
        let turns = plan.turns();
        let settings = JobSettings { proofs: 2, jobs: 1, limit: None, turns_per_task };
        Job::new(plan, turns, &settings, Vec::new())
    }

    #[test]
    fn every_turn_is_in_one_task_and_turns_of_a_boot_are_neighbours() {
        for (rounds, each) in [(3, None), (3, Some(1)), (3, Some(5)), (600, Some(1)), (600, None)] {
            let job = job(rounds, each);
            assert!((1..=TASKS_MAX).contains(&job.tasks.len()), "{}", job.tasks.len());
            let all: Vec<usize> =
                (0..job.tasks.len()).flat_map(|task| job.turns_of(task)).collect();
            assert_eq!(all, (0..job.turns.len()).collect::<Vec<_>>());
            let mut turns = job.turns.clone();
            turns.sort();
            let mut planned = job.plan.turns();
            planned.sort();
            assert_eq!(turns, planned);
            let boots: Vec<_> = job
                .turns
                .iter()
                .map(|turn| (turn.round, job.plan.cells[turn.cell].target.clone()))
                .collect();
            let changes = boots.windows(2).filter(|pair| pair[0] != pair[1]).count();
            assert_eq!(changes as u32 + 1, 2 * rounds);
        }
        assert!(job(3, None).turns_of(1000).is_empty());
    }

    #[test]
    fn a_task_has_as_many_turns_as_asked_for() {
        let lengths = |job: &Job| -> Vec<usize> {
            (0..job.tasks.len()).map(|task| job.turns_of(task).len()).collect()
        };
        assert_eq!(lengths(&job(3, Some(5))), [5, 5, 2]);
        assert!(lengths(&job(30, None)).iter().all(|turns| *turns > 1));
    }
}
