//! Other programs that take CPU time from a measurement.
//!
//! See [proc_pid_stat(5)](https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html).

use std::collections::HashMap;

use tactus_model::facts::ThrottledThread;

use super::{Tree, deadline};

/// The flag of the kernel's own threads (`PF_KTHREAD`, `include/linux/sched.h`).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// The number of the deadline class (`SCHED_DEADLINE`, `include/uapi/linux/sched.h`).
const DEADLINE: u64 = 6;

/// The most throttled threads that are facts.
const THROTTLED_MAX: usize = 256;

/// The name of the thread that every recording of Tactus has.
///
/// It is here and not in the recorder because the facts of other machines name it too.
pub const DRAINER: &str = "tactus-drainer";

/// The name of the real-time thread that watches how full the buffers of a recording are.
pub const LEVEL_WATCHER: &str = "tactus-level";

/// The facts about running programs.
#[derive(Default)]
pub(super) struct Programs {
    pub irqbalance: Option<bool>,
    pub realtime_tasks: Option<Vec<String>>,
    pub recordings: Option<u64>,
    pub deadline_tasks: Option<u64>,
    /// The maximum bandwidth that they have reserved; `None` if it is unknown for one
    /// of them.
    pub deadline_ppm: Option<u64>,
    /// The same with the threads of the kernel and of this measurement.
    pub deadline_threads_ppm: Option<u64>,
    /// Those that are ready and have no runtime left.
    pub throttled_threads: Option<Vec<ThrottledThread>>,
}

/// Looks at all processes, if all of them are visible.
///
/// This process and its descendants belong to the measurement; they count only where bandwidth
/// is compared with the kernel's account.
pub(super) fn read(tree: &Tree<'_>, container: Option<&str>) -> Programs {
    // In a container only its own processes are visible, and with `hidepid` only the
    // user's.
    let all_seen = container == Some("none") && tree.text("proc/1/stat").is_some();
    let Some(processes) = tree.numbered("proc", "").filter(|_| all_seen) else {
        return Programs::default();
    };
    // A process may end while we look at it.
    let tasks: Vec<(&String, Task)> =
        processes.iter().filter_map(|process| Some((process, task(tree, process)?))).collect();
    let parents: HashMap<u64, u64> = tasks.iter().map(|(_, task)| (task.id, task.parent)).collect();
    let own =
        tree.text("proc/self/stat").and_then(|stat| stat.split_once(' ')?.0.parse::<u64>().ok());
    let (mut irqbalance, mut realtime_tasks, mut recordings) = (false, Vec::new(), 0);
    let (mut deadline_tasks, mut deadline_ppm, mut deadline_threads_ppm) = (0, Some(0), Some(0));
    let mut throttled_threads = Vec::new();
    for (process, first) in &tasks {
        let other_program =
            !first.of_kernel && !own.is_some_and(|own| is_below(first.id, own, &parents));
        irqbalance |= other_program && first.name == "irqbalance";
        let threads = tree.numbered(&format!("{process}/task"), "").unwrap_or_default();
        for (place, thread) in threads.iter().filter_map(|place| Some((place, task(tree, place)?)))
        {
            if thread.policy == DEADLINE {
                let ppm = deadline::task_ppm(tree, place, &thread);
                deadline_threads_ppm = sum(deadline_threads_ppm, ppm);
                if thread.is_ready && throttled_threads.len() < THROTTLED_MAX {
                    throttled_threads.extend(deadline::throttled(tree, place, &thread));
                }
                if other_program {
                    deadline_tasks += 1;
                    deadline_ppm = sum(deadline_ppm, ppm);
                }
            }
            match other_program {
                true if thread.name == DRAINER => recordings += 1,
                true if thread.name == LEVEL_WATCHER => {}
                true => realtime_tasks.extend(thread.realtime()),
                false => {}
            }
        }
    }
    realtime_tasks.sort();
    realtime_tasks.dedup();
    Programs {
        irqbalance: Some(irqbalance),
        realtime_tasks: Some(realtime_tasks),
        recordings: Some(recordings),
        deadline_tasks: Some(deadline_tasks),
        deadline_ppm,
        deadline_threads_ppm,
        throttled_threads: Some(throttled_threads),
    }
}

/// The sum of two values that are both known.
fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one?.checked_add(other?)
}

/// Whether a process is `ancestor` or one of its descendants.
fn is_below(process: u64, ancestor: u64, parents: &HashMap<u64, u64>) -> bool {
    // Process ids are reused, so parents that are read one after another may form a
    // cycle.
    std::iter::successors(Some(process), |process| parents.get(process).copied())
        .take(parents.len() + 1)
        .any(|process| process == ancestor)
}

/// The relevant fields of `/proc/PID/stat`.
pub(super) struct Task {
    pub id: u64,
    pub name: String,
    /// It runs, or could.
    is_ready: bool,
    parent: u64,
    of_kernel: bool,
    priority: u64,
    policy: u64,
}

impl Task {
    /// The task's name and class, if the class is a real-time one.
    fn realtime(self) -> Option<String> {
        let Self { name, priority, policy, .. } = self;
        match policy {
            1 => Some(format!("{name} fifo:{priority}")),
            2 => Some(format!("{name} rr:{priority}")),
            DEADLINE => Some(format!("{name} deadline")),
            _ => None,
        }
    }
}

fn task(tree: &Tree<'_>, directory: &str) -> Option<Task> {
    let stat = tree.text(&format!("{directory}/stat"))?;
    // The name is in parentheses and may contain any character.
    let (start, fields) = stat.rsplit_once(')')?;
    let (id, name) = start.split_once('(')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // The first of these fields is field 3 in the man page.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(Task {
        id: id.trim().parse().ok()?,
        name: name.to_owned(),
        is_ready: fields.first() == Some(&"R"),
        parent: number(4)?,
        of_kernel: number(9)? & KERNEL_THREAD != 0,
        priority: number(40)?,
        policy: number(41)?,
    })
}
