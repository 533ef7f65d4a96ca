//! Threads of the deadline class, as the kernel shows them.

use std::fs::File;
use std::io::Read;

use tactus_model::recording::ThreadId;

/// Bytes that are read of a file in `/proc/TID`; those files have less than 2 KiB.
const FILE_LIMIT: u64 = 16 << 10;

/// What is left of a thread's runtime in nanoseconds: below zero, the thread is in debt. A thread
/// that runs spends up to a tick more than this shows.
///
/// From `dl.runtime` in `/proc/TID/sched` (kernel/sched/debug.c). `None` if the thread does not
/// exist or is in another class, or if the kernel has no such file (`CONFIG_SCHED_DEBUG`).
#[doc(alias = "dl.runtime")]
pub fn runtime_left(thread: ThreadId) -> Option<i64> {
    runtime_in(&read(thread, "sched")?)
}

/// What `/proc/TID/sched` says of the runtime.
pub(crate) fn runtime_in(text: &str) -> Option<i64> {
    let line = text.lines().find_map(|line| line.strip_prefix("dl.runtime"))?;
    line.trim_start().strip_prefix(':')?.trim().parse().ok()
}

/// Whether a thread is ready to run, or runs: the state `R` in
/// [/proc/TID/stat](https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html), in which a
/// throttled thread is too. False if it does not exist.
pub fn is_ready(thread: ThreadId) -> bool {
    state(thread) == Some('R')
}

/// Whether a thread does not run again: it does not exist, or it is a zombie.
pub(crate) fn has_ended(thread: ThreadId) -> bool {
    matches!(state(thread), None | Some('Z' | 'X'))
}

fn state(thread: ThreadId) -> Option<char> {
    // The name is in parentheses and may contain any character.
    read(thread, "stat")?.rsplit_once(") ")?.1.chars().next()
}

fn read(thread: ThreadId, file: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let file = File::open(format!("/proc/{}/{file}", thread.0)).ok()?;
    file.take(FILE_LIMIT).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calling_thread_is_ready_and_has_no_runtime_of_the_class() {
        let own = crate::thread::current_id();
        assert!(is_ready(own));
        assert_eq!(runtime_left(own), None);
        assert!(!is_ready(ThreadId(i32::MAX)));
    }
}
