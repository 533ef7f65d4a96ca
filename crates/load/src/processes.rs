//! The descendants of a process, as `/proc` shows them.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

use tactus_model::time::Nanos;
use tactus_sys::process;

/// One process, from `/proc/PID/stat`
/// ([proc_pid_stat(5)](https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    id: u32,
    parent: u32,
    /// CPU time in ticks: its own and that of children that it has waited for.
    ticks: u64,
    ended: bool,
}

impl Process {
    fn parse(stat: &str) -> Option<Self> {
        let id = stat.split_once(' ')?.0.parse().ok()?;
        // The name is in parentheses and may itself contain any character, even parentheses.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |field: usize| fields.get(field)?.parse::<u64>().ok();
        // The first field after the name is field 3 of the page: utime is field 14, cstime 17.
        let ticks = number(11)? + number(12)? + number(13)? + number(14)?;
        let parent = fields.get(1)?.parse().ok()?;
        Some(Self { id, parent, ticks, ended: matches!(fields.first(), Some(&("Z" | "X"))) })
    }
}

/// `root` and all its descendants.
fn tree(root: u32) -> io::Result<Vec<Process>> {
    let all: Vec<Process> = fs::read_dir("/proc")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        // A process may end meanwhile; then it is skipped.
        .filter_map(|id| fs::read_to_string(format!("/proc/{id}/stat")).ok())
        .filter_map(|stat| Process::parse(&stat))
        .collect();
    Ok(below(root, &all))
}

/// Selects `root` and its descendants from all processes.
fn below(root: u32, all: &[Process]) -> Vec<Process> {
    let mut children: HashMap<u32, Vec<Process>> = HashMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(*process);
    }
    let mut found: Vec<Process> =
        all.iter().copied().filter(|process| process.id == root).collect();
    let mut next = 0;
    // Removing the children ends the walk even if the table contains a cycle.
    while let Some(process) = found.get(next) {
        found.extend(children.remove(&process.id).unwrap_or_default());
        next += 1;
    }
    found
}

/// The CPU time of `root`, of its descendants, and of descendants that have ended and were
/// waited for, in steps of a tick (10 ms). `None` if `/proc` cannot be read.
pub(crate) fn cpu_time(root: u32) -> Option<Nanos> {
    let tree = tree(root).ok().filter(|tree| !tree.is_empty())?;
    let ticks: u64 = tree.iter().map(|process| process.ticks).sum();
    let tick = Nanos::from_nanos(1_000_000_000 / process::clock_ticks_per_second());
    Some(tick.saturating_mul(ticks))
}

/// The longest time to kill descendants. Only a process that hangs in the kernel takes longer,
/// and nothing helps against that.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// Kills every descendant of this process and reaps it, until none is left or ten seconds have
/// passed.
///
/// This process must be a child subreaper; otherwise, a descendant escapes when its parent
/// ends.
pub(crate) fn kill_descendants() {
    let own = std::process::id();
    let deadline = Instant::now() + KILL_LIMIT;
    while Instant::now() < deadline {
        while Instant::now() < deadline && matches!(process::reap_any_child(), Ok(Some(_))) {}
        // Without /proc, nothing can be found; only the death signals are left.
        let Ok(tree) = tree(own) else { return };
        let mut alive = tree.iter().filter(|process| process.id != own).peekable();
        if alive.peek().is_none() {
            return;
        }
        for process in alive.filter(|process| !process.ended) {
            // This fails if the process has just ended or belongs to another user.
            let _ = process::kill(process.id);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_is_parsed() {
        let stat = "42 (a) b (c)) S 7 1 1 0 -1 4194560 1 2 3 4 100 20 3 4 20 0 1 0 55 0 0";
        let expected = Process { id: 42, parent: 7, ticks: 127, ended: false };
        assert_eq!(Process::parse(stat), Some(expected));
        assert_eq!(Process::parse("42 (x"), None);
    }

    #[test]
    fn descendants_are_found_at_every_depth_and_no_others() {
        let process = |id, parent| Process { id, parent, ticks: 0, ended: false };
        let all = [process(1, 0), process(9, 1), process(5, 9), process(4, 5), process(3, 1)];
        let found: Vec<u32> = below(9, &all).iter().map(|process| process.id).collect();
        assert_eq!(found, [9, 5, 4]);
        assert!(below(77, &all).is_empty());
    }

    #[test]
    fn cpu_time_of_this_process_can_be_read() {
        assert!(cpu_time(std::process::id()).is_some());
    }
}
