//! The processes below one process, as `/proc` shows them.

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
    /// CPU time in ticks: its own and that of children it has waited for.
    ticks: u64,
    ended: bool,
}

impl Process {
    fn parse(stat: &str) -> Option<Self> {
        let id = stat.split_once(' ')?.0.parse().ok()?;
        // The name stands in brackets and may itself contain anything, brackets too.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |field: usize| fields.get(field)?.parse::<u64>().ok();
        // The first field after the name is the third of the page: utime is the
        // 14th, cstime the 17th.
        let ticks = number(11)? + number(12)? + number(13)? + number(14)?;
        let parent = fields.get(1)?.parse().ok()?;
        Some(Self { id, parent, ticks, ended: matches!(fields.first(), Some(&("Z" | "X"))) })
    }
}

/// `root` and all its descendants.
fn tree(root: u32) -> io::Result<Vec<Process>> {
    let all: Vec<Process> = fs::read_dir("/proc")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        // A process may end while we look: then it is not there.
        .filter_map(|id| fs::read_to_string(format!("/proc/{id}/stat")).ok())
        .filter_map(|stat| Process::parse(&stat))
        .collect();
    Ok(below(root, &all))
}

/// Picks `root` and its descendants out of all processes.
fn below(root: u32, all: &[Process]) -> Vec<Process> {
    let mut children: HashMap<u32, Vec<Process>> = HashMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(*process);
    }
    let mut found: Vec<Process> = all.iter().copied().filter(|one| one.id == root).collect();
    let mut next = 0;
    // Removing what was taken makes the walk end whatever the table says.
    while let Some(process) = found.get(next) {
        found.extend(children.remove(&process.id).unwrap_or_default());
        next += 1;
    }
    found
}

/// The CPU time of `root`, of its descendants, and of those that have ended
/// and were waited for; in steps of a tick (10 ms). `None` where `/proc` does not tell.
pub(crate) fn cpu_time(root: u32) -> Option<Nanos> {
    let tree = tree(root).ok().filter(|tree| !tree.is_empty())?;
    let ticks: u64 = tree.iter().map(|process| process.ticks).sum();
    let tick = Nanos::from_nanos(1_000_000_000 / process::clock_ticks_per_second());
    Some(tick.saturating_mul(ticks))
}

/// How long the killing of descendants may take. They only take longer when one
/// hangs in the kernel, where nothing helps.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// Kills every descendant of this process and reaps it, until none is left or a
/// limit of ten seconds is reached.
///
/// This process must be a child subreaper, or descendants could escape by losing
/// their parent.
pub(crate) fn kill_descendants() {
    let own = std::process::id();
    let deadline = Instant::now() + KILL_LIMIT;
    while Instant::now() < deadline {
        while matches!(process::reap_any_child(), Ok(Some(_))) {}
        // Without /proc nothing can be found; the death signals must do.
        let Ok(tree) = tree(own) else { return };
        let mut alive = tree.iter().filter(|one| one.id != own).peekable();
        if alive.peek().is_none() {
            return;
        }
        for process in alive.filter(|one| !one.ended) {
            // It may have ended by itself, or be another user's: then we go on.
            let _ = process::kill(process.id);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_confuse() {
        let stat = "42 (a) b (c)) S 7 1 1 0 -1 4194560 1 2 3 4 100 20 3 4 20 0 1 0 55 0 0";
        let expected = Process { id: 42, parent: 7, ticks: 127, ended: false };
        assert_eq!(Process::parse(stat), Some(expected));
        assert_eq!(Process::parse("42 (x"), None);
    }

    #[test]
    fn descendants_are_found_at_every_depth_and_no_others() {
        let process = |id, parent| Process { id, parent, ticks: 0, ended: false };
        let all = [process(1, 0), process(9, 1), process(5, 9), process(4, 5), process(3, 1)];
        let found: Vec<u32> = below(9, &all).iter().map(|one| one.id).collect();
        assert_eq!(found, [9, 5, 4]);
        assert!(below(77, &all).is_empty());
    }

    #[test]
    fn our_own_time_can_be_read() {
        assert!(cpu_time(std::process::id()).is_some());
    }
}
