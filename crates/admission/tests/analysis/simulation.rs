//! Against a simulator: no admitted set misses a deadline, and what an exact test refuses misses
//! one in the worst case.

use tactus_admission::demand::{self, Demand};
use tactus_admission::fixed_priority::{Extent, ranks, responses};
use tactus_admission::partition::{Assignment, Heuristic, assign};
use tactus_admission::{Admission, Placement, Plan, Policy, Steps, Task};
use tactus_model::time::Nanos;

use crate::random::Random;
use crate::simulator::{Job, Scheduler, arbitrary, critical, first_miss, simulate};

const SETS: u64 = 1_500;

/// Tasks with jitters, and with deadlines of up to `most` per cent of the period.
fn shaped(random: &mut Random, total: f64, most: u64) -> Vec<Task> {
    let count = random.between(1, 5) as usize;
    let tasks = random.tasks(count, total, (8, 120));
    tasks
        .into_iter()
        .map(|task| {
            let (cost, period) = (task.cost().as_nanos(), task.period().as_nanos());
            let deadline = random.between(cost.midpoint(period), (period * most / 100).max(period));
            let jitter = random.between(0, (deadline - cost) / 3);
            let task = task.with_deadline(Nanos::from_nanos(deadline)).unwrap();
            task.with_jitter(Nanos::from_nanos(jitter)).unwrap()
        })
        .collect()
}

fn plan(policy: Policy, cpus: u16, tasks: Vec<Task>) -> Plan {
    Plan { policy, cpus, placement: Placement::Partitioned, capacity: 100, tasks }
}

#[test]
fn response_times_are_those_at_the_critical_instant() {
    let end = 4_000;
    let mut misses = 0;
    for seed in 0..SETS {
        let mut random = Random::new(seed);
        let total = random.between(40, 100) as f64 / 100.0;
        let mut tasks = shaped(&mut random, total, 200);
        let blocking = random.between(0, 10);
        for task in &mut tasks {
            *task = task.clone().with_blocking(Nanos::from_nanos(blocking)).unwrap();
        }
        let ranks = ranks(&tasks);
        let found = responses(&tasks, &ranks, &mut Steps::default());
        let (shift, mut jobs) = critical(&tasks, end);
        // What blocks has begun just before the critical instant.
        let mut with_blocker: Vec<usize> = ranks.iter().map(|rank| rank + 1).collect();
        with_blocker.push(0);
        let blocker = Job {
            task: tasks.len(),
            arrival: shift,
            ready: shift,
            deadline: end,
            cost: blocking,
            locked: 0,
            done: None,
        };
        jobs.extend((blocking > 0).then_some(blocker));
        simulate(&mut jobs, Scheduler::Fixed(&with_blocker), 1, end);
        for (index, task) in tasks.iter().enumerate() {
            let response = found[index];
            let lasts = jobs.iter().filter(|job| job.task == index);
            let simulated =
                lasts.filter_map(|job| Some(job.done? - job.arrival)).max().unwrap_or(0);
            // A busy window that is longer than the simulation has later responses.
            if response.extent == Extent::Longest
                && response.job * task.period().as_nanos() < end / 2
            {
                assert_eq!(
                    response.worst.as_nanos(),
                    simulated,
                    "seed {seed}, task {index}: {tasks:?}"
                );
            }
            if response.meets(task.deadline()) == Some(true) {
                assert!(simulated <= task.deadline().as_nanos(), "seed {seed}: {tasks:?}");
            } else {
                misses += 1;
            }
        }
    }
    assert!(misses > 100, "only {misses} tasks miss their deadlines");
}

#[test]
fn the_first_miss_under_edf_is_at_the_overload() {
    let end = 4_000;
    let (mut fits, mut fails) = (0, 0);
    for seed in 0..SETS {
        let mut random = Random::new(seed);
        let total = random.between(40, 110) as f64 / 100.0;
        let tasks = shaped(&mut random, total, 120);
        let found = demand::demand(&tasks, &mut Steps::default());
        let (shift, mut jobs) = critical(&tasks, end);
        simulate(&mut jobs, Scheduler::Edf, 1, end);
        let miss = first_miss(&jobs, end - 300);
        match found {
            Demand::Fits => {
                assert!(miss.is_none(), "seed {seed}: {miss:?} of {tasks:?}");
                fits += 1;
            }
            Demand::Overload(overload) if overload.instant.as_nanos() < end - 300 - shift => {
                let at = miss.map(|miss| miss.deadline - shift);
                assert_eq!(at, Some(overload.instant.as_nanos()), "seed {seed}: {tasks:?}");
                fails += 1;
            }
            Demand::Overload(_) => {}
            Demand::Unbounded | Demand::Undecided => panic!("seed {seed}: {tasks:?}"),
        }
    }
    assert!(fits > SETS / 10 && fails > SETS / 10, "{fits} fit, {fails} fail");
}

#[test]
fn no_admitted_set_misses_a_deadline_on_one_cpu() {
    let end = 2_000;
    let mut admitted = 0;
    for seed in 0..SETS * 2 {
        let mut random = Random::new(seed);
        let policy = if seed % 2 == 0 { Policy::Fifo } else { Policy::Deadline };
        let total = random.between(40, 100) as f64 / 100.0;
        let mut tasks = shaped(&mut random, total, 150);
        // The least urgent task locks the others out for a while.
        let last = (0..tasks.len()).max_by_key(|index| tasks[*index].urgency()).unwrap();
        let locked = random.between(0, tasks[last].cost().as_nanos());
        for (index, task) in tasks.iter_mut().enumerate() {
            let blocking = if index == last { 0 } else { locked };
            *task = task.clone().with_blocking(Nanos::from_nanos(blocking)).unwrap();
        }
        let ranks = ranks(&tasks);
        let fits = match policy {
            Policy::Fifo => responses(&tasks, &ranks, &mut Steps::default())
                .iter()
                .zip(&tasks)
                .all(|(response, task)| response.meets(task.deadline()) == Some(true)),
            Policy::Deadline => demand::demand(&tasks, &mut Steps::default()) == Demand::Fits,
        };
        if !fits {
            continue;
        }
        admitted += 1;
        let scheduler = match policy {
            Policy::Fifo => Scheduler::Fixed(&ranks),
            Policy::Deadline => Scheduler::Edf,
        };
        let mut jobs = arbitrary(&tasks, end, Some((last, locked)), &mut random);
        simulate(&mut jobs, scheduler, 1, end);
        let miss = first_miss(&jobs, end);
        assert!(miss.is_none(), "seed {seed}: {miss:?} of {tasks:?}");
    }
    assert!(admitted > SETS / 2, "only {admitted} sets are admitted");
}

#[test]
fn no_set_admitted_to_several_cpus_misses_a_deadline() {
    let end = 1_500;
    let (mut global, mut partitioned) = (0, 0);
    for seed in 0..SETS {
        let mut random = Random::new(seed);
        let cpus = random.between(2, 4) as u16;
        let total = f64::from(cpus) * random.between(30, 95) as f64 / 100.0;
        let count = random.between(3, 8) as usize;
        let tasks = random.tasks(count, total, (10, 100));
        if tasks.iter().any(|task| task.cost() == task.period()) {
            continue;
        }
        let plan = plan(Policy::Fifo, cpus, tasks);
        let tasks = &plan.tasks;
        let bound = tactus_admission::global::DensityBound::of(tasks, cpus.into());
        if bound.holds(cpus.into()) {
            global += 1;
            let mut jobs = arbitrary(tasks, end, None, &mut random);
            simulate(&mut jobs, Scheduler::Edf, cpus.into(), end);
            let miss = first_miss(&jobs, end);
            assert!(miss.is_none(), "seed {seed}: {miss:?} of {tasks:?} on {cpus}");
        }
        for heuristic in Heuristic::ALL {
            let found = assign(&plan, heuristic, &mut Steps::default());
            let Assignment::Complete(assigned) = found else { continue };
            partitioned += 1;
            for cpu in 0..usize::from(cpus) {
                let own = tasks.iter().zip(&assigned).filter(|(_, on)| **on == cpu);
                let own: Vec<Task> = own.map(|(task, _)| task.clone()).collect();
                let ranks = ranks(&own);
                let (_, mut jobs) = critical(&own, end);
                simulate(&mut jobs, Scheduler::Fixed(&ranks), 1, end);
                assert!(first_miss(&jobs, end).is_none(), "seed {seed}, {heuristic:?}: {own:?}");
            }
        }
    }
    assert!(global > 50 && partitioned > SETS / 2, "{global} global, {partitioned} partitioned");
}

#[test]
fn the_worst_window_shows_what_the_test_found() {
    for seed in 0..SETS / 5 {
        let mut random = Random::new(seed);
        let policy = if seed % 2 == 0 { Policy::Fifo } else { Policy::Deadline };
        let total = random.between(40, 105) as f64 / 100.0;
        let plan = plan(policy, 1, shaped(&mut random, total, 120));
        let admission = Admission::of(&plan);
        let Some(window) = &admission.window else { continue };
        // Runs do not overlap.
        let mut runs: Vec<_> = window.rows.iter().flat_map(|row| &row.runs).collect();
        runs.sort_by_key(|run| run.from);
        assert!(runs.windows(2).all(|pair| pair[0].to <= pair[1].from), "seed {seed}: {window:?}");
        if window.is_cut {
            continue;
        }
        let row = &window.rows[window.decisive];
        match policy {
            // The task still runs when its response ends.
            Policy::Fifo
                if admission.tasks[row.task].response.unwrap().extent == Extent::Longest =>
            {
                assert!(
                    row.runs.iter().any(|run| run.from < window.done && window.done <= run.to),
                    "seed {seed}: {window:?}"
                );
            }
            Policy::Fifo => {}
            // Before the deadline, the CPU works as long as the demand says.
            Policy::Deadline => {
                assert!(row.deadlines.contains(&window.deadline), "seed {seed}: {window:?}");
            }
        }
    }
}
