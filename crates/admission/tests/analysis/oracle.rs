//! Against the crate `response-time-analysis`, which follows theorems proven in Prosa.

use response_time_analysis::arrival::Sporadic;
use response_time_analysis::demand::RBF;
use response_time_analysis::time::{Duration, Service};
use response_time_analysis::wcet::Scalar;
use response_time_analysis::{edf, fixed_priority};
use tactus_admission::fixed_priority::{Extent, ranks, responses};
use tactus_admission::{Steps, Task, demand};
use tactus_model::time::Nanos;

use crate::random::Random;

const SETS: u64 = 4_000;

/// Beyond it, the oracle gives up.
const LIMIT: u64 = 1_000_000;

fn arrival(task: &Task, jitter: Nanos) -> Sporadic {
    Sporadic::new(task.period().as_nanos().into(), jitter.as_nanos().into())
}

fn cost(task: &Task) -> Scalar {
    Scalar::new(Service::from(task.cost().as_nanos()))
}

#[test]
fn response_times_are_those_of_the_oracle() {
    let (mut compared, mut late) = (0, 0);
    for seed in 0..SETS {
        let mut random = Random::new(seed);
        let count = random.between(1, 8) as usize;
        let total = random.between(30, 99) as f64 / 100.0;
        let tasks = random.tasks(count, total, (10, 1_000));
        // The oracle measures responses from the instant a job becomes ready, so only the tasks of
        // higher priority have jitter here; the simulator covers the others.
        let tasks: Vec<Task> = tasks
            .into_iter()
            .map(|task| {
                let jitter = random.between(0, (task.period() - task.cost()).as_nanos());
                let deadline =
                    random.between(task.cost().as_nanos() + jitter, 2 * task.period().as_nanos());
                let blocking = Nanos::from_nanos(random.between(0, 20));
                let task = task.with_deadline(Nanos::from_nanos(deadline)).unwrap();
                task.with_jitter(Nanos::from_nanos(jitter))
                    .unwrap()
                    .with_blocking(blocking)
                    .unwrap()
            })
            .collect();
        let ranks = ranks(&tasks);
        for index in 0..tasks.len() {
            let mut tasks = tasks.clone();
            tasks[index] = tasks[index].clone().with_jitter(Nanos::ZERO).unwrap();
            let ours = responses(&tasks, &ranks, &mut Steps::default())[index];
            let above: Vec<RBF<Sporadic, Scalar>> = (0..tasks.len())
                .filter(|other| ranks[*other] < ranks[index])
                .map(|other| {
                    RBF::new(arrival(&tasks[other], tasks[other].jitter()), cost(&tasks[other]))
                })
                .collect();
            let own = RBF::new(arrival(&tasks[index], Nanos::ZERO), cost(&tasks[index]));
            let task = fixed_priority::floating_nonpreemptive::TaskUnderAnalysis {
                rbf: &own,
                blocking_bound: Service::from(tasks[index].blocking().as_nanos()),
            };
            let theirs = fixed_priority::floating_nonpreemptive::dedicated_uniproc_rta(
                &task,
                &above,
                Duration::from(LIMIT),
            );
            let Ok(theirs) = theirs else { continue };
            assert_eq!(ours.extent, Extent::Longest, "seed {seed}, task {index}: {tasks:?}");
            assert_eq!(
                ours.worst.as_nanos(),
                u64::from(theirs),
                "seed {seed}, task {index}: {tasks:?}"
            );
            compared += 1;
            late += u64::from(ours.job > 0);
        }
    }
    assert!(compared > 3 * SETS, "only {compared} tasks were compared");
    assert!(late > 30, "in only {late} of them is a later job the worst");
}

#[test]
fn demand_fits_if_the_oracle_finds_all_responses_within_deadlines() {
    let (mut fits, mut fails) = (0, 0);
    for seed in 0..SETS {
        let mut random = Random::new(seed);
        let count = random.between(1, 6) as usize;
        let total = random.between(40, 99) as f64 / 100.0;
        let tasks: Vec<Task> = random
            .tasks(count, total, (10, 300))
            .into_iter()
            .map(|task| {
                let (cost, period) = (task.cost().as_nanos(), task.period().as_nanos());
                let deadline = random.between(cost, period + period / 4);
                task.with_deadline(Nanos::from_nanos(deadline)).unwrap()
            })
            .collect();
        let ours = demand::demand(&tasks, &mut Steps::default()).fits();
        let rbfs: Vec<RBF<Sporadic, Scalar>> =
            tasks.iter().map(|task| RBF::new(arrival(task, Nanos::ZERO), cost(task))).collect();
        let demands: Vec<_> = rbfs
            .iter()
            .zip(&tasks)
            .map(|(rbf, task)| (rbf, Duration::from(task.deadline().as_nanos())))
            .collect();
        let theirs = (0..tasks.len()).all(|index| {
            let task = |&(rbf, deadline)| edf::fully_preemptive::Task { rbf, deadline };
            let mut others: Vec<_> = demands.iter().map(task).collect();
            let own = others.remove(index);
            let found =
                edf::fully_preemptive::dedicated_uniproc_rta(&own, &others, Duration::from(LIMIT));
            found.is_ok_and(|response| response <= own.deadline)
        });
        assert_eq!(ours, Some(theirs), "seed {seed}: {tasks:?}");
        fits += u64::from(theirs);
        fails += u64::from(!theirs);
    }
    assert!(fits > SETS / 10 && fails > SETS / 10, "{fits} fit, {fails} fail");
}
