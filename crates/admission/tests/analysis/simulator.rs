//! A simulator of both schedulers, from one event to the next.

use tactus_admission::Task;

use crate::random::Random;

/// A job of a task.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) task: usize,
    pub(crate) arrival: u64,
    pub(crate) ready: u64,
    pub(crate) deadline: u64,
    pub(crate) cost: u64,
    /// How much of it, from its begin, runs without preemption.
    pub(crate) locked: u64,
    /// When it was done.
    pub(crate) done: Option<u64>,
}

/// What decides between jobs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scheduler<'r> {
    /// The rank of each task.
    Fixed(&'r [usize]),
    /// The deadline of each job.
    Edf,
}

/// Runs jobs, which are sorted by task and arrival, until `end`.
pub(crate) fn simulate(jobs: &mut [Job], scheduler: Scheduler<'_>, cpus: usize, end: u64) {
    let mut left: Vec<u64> = jobs.iter().map(|job| job.cost).collect();
    // The first job of each task that is not done.
    let mut first: Vec<usize> = (0..jobs.len())
        .filter(|index| *index == 0 || jobs[*index].task != jobs[*index - 1].task)
        .collect();
    let mut now = 0;
    while now < end {
        let locked = |index: usize, left: &[u64]| {
            let used = jobs[index].cost - left[index];
            if used > 0 { jobs[index].locked.saturating_sub(used) } else { 0 }
        };
        let mut ready: Vec<usize> =
            first.iter().copied().filter(|index| jobs[*index].ready <= now).collect();
        ready.sort_by_key(|index| {
            let job = &jobs[*index];
            let key = match scheduler {
                Scheduler::Fixed(ranks) => ranks[job.task] as u64,
                Scheduler::Edf => job.deadline,
            };
            (locked(*index, &left) == 0, key, job.task)
        });
        ready.truncate(cpus);
        // Nothing changes before one is done or unlocked, or another becomes ready.
        let next_ready =
            first.iter().map(|index| jobs[*index].ready).filter(|ready| *ready > now).min();
        let mut step = next_ready.unwrap_or(end).min(end) - now;
        for index in &ready {
            let begun = jobs[*index].cost > left[*index];
            step = step.min(left[*index]);
            match locked(*index, &left) {
                // A job that may lock is looked at again as soon as it has begun.
                0 if !begun && jobs[*index].locked > 0 => step = step.min(1),
                0 => {}
                rest => step = step.min(rest),
            }
        }
        now += step;
        for index in ready {
            left[index] -= step;
            if left[index] == 0 {
                let job = &mut jobs[index];
                job.done = Some(now);
                let task = job.task;
                let place = first.iter().position(|first| *first == index).expect("a first job");
                match jobs.get(index + 1) {
                    Some(next) if next.task == task => first[place] = index + 1,
                    _ => drop(first.remove(place)),
                }
            }
        }
    }
}

/// The jobs of tasks from the critical instant: all ready at 0, as late as their jitter permits,
/// and then as soon as possible. Times are shifted so that the first arrival is not below 0.
pub(crate) fn critical(tasks: &[Task], end: u64) -> (u64, Vec<Job>) {
    let shift = tasks.iter().map(|task| task.jitter().as_nanos()).max().unwrap_or(0);
    let mut jobs = Vec::new();
    for (index, task) in tasks.iter().enumerate() {
        let first = shift - task.jitter().as_nanos();
        let arrivals = (0..).map(|job| first + job * task.period().as_nanos());
        jobs.extend(arrivals.take_while(|arrival| *arrival < end).map(|arrival| Job {
            task: index,
            arrival,
            ready: arrival.max(shift),
            deadline: arrival + task.deadline().as_nanos(),
            cost: task.cost().as_nanos(),
            locked: 0,
            done: None,
        }));
    }
    (shift, jobs)
}

/// Jobs with random gaps, jitters and costs within what tasks permit. Jobs of the task `locking`
/// run without preemption for up to the given time from their begin.
pub(crate) fn arbitrary(
    tasks: &[Task],
    end: u64,
    locking: Option<(usize, u64)>,
    random: &mut Random,
) -> Vec<Job> {
    let mut jobs = Vec::new();
    for (index, task) in tasks.iter().enumerate() {
        let (period, cost) = (task.period().as_nanos(), task.cost().as_nanos());
        let is_regular = random.between(0, 1) == 0;
        let mut arrival = random.between(0, period);
        while arrival < end {
            let jitter = random.between(0, task.jitter().as_nanos());
            jobs.push(Job {
                task: index,
                arrival,
                ready: arrival + jitter,
                deadline: arrival + task.deadline().as_nanos(),
                cost: if is_regular { cost } else { random.between(1, cost) },
                locked: locking.filter(|(task, _)| *task == index).map_or(0, |(_, length)| length),
                done: None,
            });
            arrival += if is_regular { period } else { random.between(period, period * 2) };
        }
    }
    jobs
}

/// The first job that misses its deadline before `end`.
pub(crate) fn first_miss(jobs: &[Job], end: u64) -> Option<&Job> {
    jobs.iter()
        .filter(|job| job.deadline <= end && job.done.is_none_or(|done| done > job.deadline))
        .min_by_key(|job| job.deadline)
}
