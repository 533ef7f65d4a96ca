//! Who another process or thread is: its user, its start, its limit on real-time work.
//!
//! The kernel reuses IDs. An ID and a start time together name one thread for as long as the
//! machine runs. See [proc_pid_stat(5)](https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html).

use std::fs;

use tactus_model::recording::ThreadId;
use tactus_model::time::Nanos;

use crate::error::{Errno, SysError};

/// The user and the start of a thread, which distinguish it from a later one with the same ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The effective user.
    pub user: u32,
    /// The time from the boot to the start of the thread, in ticks of `USER_HZ`.
    pub started: u64,
}

/// Reads the identity of a thread of a process.
///
/// # Errors
/// `ESRCH`: the process has no such thread. `EIO`: the kernel's text has an unknown form.
pub fn of_thread(process: ThreadId, thread: ThreadId) -> Result<Identity, SysError> {
    let directory = format!("/proc/{}/task/{}", process.0, thread.0);
    let [stat, status] = ["stat", "status"].map(|file| read(&format!("{directory}/{file}")));
    parse(&stat?, &status?).ok_or(SysError::new("proc", Errno::IO))
}

/// The hard limit of a process on the time that a real-time thread runs without sleeping
/// (`RLIMIT_RTTIME` of [getrlimit(2)](https://man7.org/linux/man-pages/man2/getrlimit.2.html));
/// `None` if there is no limit.
///
/// # Errors
/// Those of [`of_thread`].
#[doc(alias = "RLIMIT_RTTIME")]
pub fn realtime_limit(process: ThreadId) -> Result<Option<Nanos>, SysError> {
    let limits = read(&format!("/proc/{}/limits", process.0))?;
    hard_realtime_limit(&limits).ok_or(SysError::new("proc", Errno::IO))
}

/// All threads that are visible, each with its process; those that begin or end meanwhile may be
/// missing.
pub fn all_threads() -> Vec<(ThreadId, ThreadId)> {
    let threads = |process: ThreadId| {
        numbers(&format!("/proc/{}/task", process.0)).into_iter().map(move |id| (process, id))
    };
    numbers("/proc").into_iter().flat_map(threads).collect()
}

/// The entries of a directory that are numbers.
fn numbers(directory: &str) -> Vec<ThreadId> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(ThreadId)).collect()
}

fn read(path: &str) -> Result<String, SysError> {
    fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .map_err(|_| SysError::new("proc", Errno::SRCH))
}

fn parse(stat: &str, status: &str) -> Option<Identity> {
    // The name is in parentheses and may contain any character; field 3 of the man page follows.
    let started = stat.rsplit_once(')')?.1.split_whitespace().nth(22 - 3)?.parse().ok()?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    // Real, effective, saved, and of file accesses.
    let user = users.split_whitespace().nth(1)?.parse().ok()?;
    Some(Identity { user, started })
}

/// `None` if the text has no such line.
fn hard_realtime_limit(limits: &str) -> Option<Option<Nanos>> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max realtime timeout"))?;
    match line.split_whitespace().nth(1)? {
        "unlimited" => Some(None),
        micros => Some(Some(Nanos::from_micros(micros.parse().ok()?))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_and_limits_are_parsed() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 4242 0 0";
        let status = "Name:\ta) b\nUid:\t1000\t1001\t1002\t1003\n";
        assert_eq!(parse(stat, status), Some(Identity { user: 1001, started: 4242 }));
        assert_eq!(parse("7 (a", status), None);
        let limits = |hard: &str| {
            format!(
                "Limit  Soft Limit  Hard Limit  Units\nMax realtime timeout  1000  {hard}  us\n"
            )
        };
        assert_eq!(hard_realtime_limit(&limits("200000")), Some(Some(Nanos::from_millis(200))));
        assert_eq!(hard_realtime_limit(&limits("unlimited")), Some(None));
        assert_eq!(hard_realtime_limit(""), None);
    }

    #[test]
    fn a_thread_keeps_its_identity_until_it_ends() {
        let process = ThreadId(std::process::id().cast_signed());
        let own = || of_thread(process, crate::thread::current_id());
        let first = own().unwrap();
        assert_eq!(first.user, crate::process::effective_user());
        assert_eq!(own(), Ok(first));
        let (thread, identity) = std::thread::spawn(move || {
            let thread = crate::thread::current_id();
            (thread, of_thread(process, thread))
        })
        .join()
        .unwrap();
        assert!(identity.unwrap().started >= first.started);
        let gone = of_thread(process, ThreadId(i32::MAX));
        assert_eq!(gone, Err(SysError::new("proc", Errno::SRCH)), "not {thread:?}");
        realtime_limit(process).unwrap();
    }
}
