//! Other programs that take processors from a measurement.
//!
//! See [proc_pid_stat(5)](https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html).

use super::Tree;

/// The flag of the kernel's own threads (`PF_KTHREAD`, `include/linux/sched.h`).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// What is known of the programs that run.
#[derive(Default)]
pub(super) struct Programs {
    pub irqbalance: Option<bool>,
    pub realtime_tasks: Option<Vec<String>>,
}

/// Looks at all processes, where all of them can be seen.
pub(super) fn read(tree: &Tree<'_>, container: Option<&str>) -> Programs {
    // In a container only its own processes are seen, and with `hidepid` only the user's.
    let all_seen = container == Some("none") && tree.text("proc/1/stat").is_some();
    let Some(processes) = tree.numbered("proc", "").filter(|_| all_seen) else {
        return Programs::default();
    };
    let mut programs = Programs { irqbalance: Some(false), realtime_tasks: Some(Vec::new()) };
    for process in &processes {
        // A process may end while we look at it.
        let Some(first) = task(tree, process) else { continue };
        if first.of_kernel {
            continue;
        }
        if first.name == "irqbalance" {
            programs.irqbalance = Some(true);
        }
        let threads = tree.numbered(&format!("{process}/task"), "").unwrap_or_default();
        let realtime = threads.iter().filter_map(|thread| task(tree, thread)?.realtime());
        programs.realtime_tasks.get_or_insert_default().extend(realtime);
    }
    if let Some(tasks) = &mut programs.realtime_tasks {
        tasks.sort();
        tasks.dedup();
    }
    programs
}

/// A line of `/proc/PID/stat`, as far as it matters.
struct Task {
    name: String,
    of_kernel: bool,
    priority: u64,
    policy: u64,
}

impl Task {
    /// The task's name and class, if that is a real-time one.
    fn realtime(self) -> Option<String> {
        let Self { name, priority, policy, .. } = self;
        match policy {
            1 => Some(format!("{name} fifo:{priority}")),
            2 => Some(format!("{name} rr:{priority}")),
            6 => Some(format!("{name} deadline")),
            _ => None,
        }
    }
}

fn task(tree: &Tree<'_>, directory: &str) -> Option<Task> {
    let stat = tree.text(&format!("{directory}/stat"))?;
    // The name stands in parentheses and may itself hold any character.
    let (start, fields) = stat.rsplit_once(')')?;
    let (_, name) = start.split_once('(')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // The first of these fields is the third of the manual.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(Task {
        name: name.to_owned(),
        of_kernel: number(9)? & KERNEL_THREAD != 0,
        priority: number(40)?,
        policy: number(41)?,
    })
}
