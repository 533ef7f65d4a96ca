//! The threads of processes and of their children.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::time::{Duration, Instant};

use tactus_model::recording::ThreadId;

use crate::target::{self, Status};
use crate::waits::is_called;

/// The most processes that are followed.
const PROCESSES_MAX: usize = 4096;

/// A thread that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) thread: ThreadId,
    pub(super) process: u32,
    pub(super) name: String,
}

/// Finds threads while they come and go.
#[derive(Debug)]
pub(super) struct Threads {
    roots: Vec<u32>,
    /// Names and numbers of threads; if empty, all.
    wanted: Vec<String>,
    seen_words: HashSet<String>,
    /// The threads that live, and whether they were reported.
    living: HashMap<i32, bool>,
    /// The latest names of the threads that were seen and not asked for.
    others: HashMap<i32, String>,
}

impl Threads {
    pub(super) fn new(roots: Vec<u32>, wanted: Vec<String>) -> Self {
        let (seen_words, living, others) = Default::default();
        Self { roots, wanted, seen_words, living, others }
    }

    /// A process that does not exist.
    pub(super) fn missing(&self) -> Option<u32> {
        self.roots.iter().copied().find(|process| threads_of(*process).is_empty())
    }

    /// The threads that are asked for and were not reported before. A thread may get its name
    /// after it has started.
    pub(super) fn find(&mut self) -> Vec<Found> {
        let before = std::mem::take(&mut self.living);
        let mut found = Vec::new();
        for process in with_children(&self.roots) {
            for thread in threads_of(process) {
                let was_reported = before.get(&thread).copied().unwrap_or(false);
                let new = if was_reported { None } else { self.wanted(process, thread) };
                self.living.insert(thread, was_reported || new.is_some());
                found.extend(new);
            }
        }
        found
    }

    fn wanted(&mut self, process: u32, thread: i32) -> Option<Found> {
        let (name, thread) = (name(process, thread)?, ThreadId(thread));
        let words = self.wanted.iter().filter(|word| is_called(thread, &name, word));
        let words: Vec<String> = words.cloned().collect();
        if !self.wanted.is_empty() && words.is_empty() {
            self.others.insert(thread.0, name);
            return None;
        }
        self.others.remove(&thread.0);
        self.seen_words.extend(words);
        Some(Found { thread, process, name })
    }

    /// Whether a thread lives, as far as was found last.
    pub(super) fn has(&self, thread: ThreadId) -> bool {
        self.living.contains_key(&thread.0)
    }

    /// Whether all threads have ended, even if nobody has waited for them.
    pub(super) fn is_over(&self) -> bool {
        self.living.keys().all(|thread| Status::of(*thread).is_none())
    }

    /// The words that no thread was called by.
    pub(super) fn unseen_names(&self) -> Vec<String> {
        self.wanted.iter().filter(|word| !self.seen_words.contains(*word)).cloned().collect()
    }

    /// The names of the other threads.
    pub(super) fn others(&self) -> Vec<String> {
        let names: BTreeSet<&String> = self.others.values().collect();
        names.into_iter().cloned().collect()
    }
}

/// Processes with their children, their children's children, and so on.
fn with_children(roots: &[u32]) -> Vec<u32> {
    let mut found = roots.to_vec();
    let mut at = 0;
    while at < found.len() && found.len() < PROCESSES_MAX {
        for thread in threads_of(found[at]) {
            let path = format!("/proc/{}/task/{thread}/children", found[at]);
            let children = fs::read_to_string(path).unwrap_or_default();
            found.extend(children.split_whitespace().filter_map(|word| word.parse::<u32>().ok()));
        }
        at += 1;
    }
    found
}

/// Waits until a new process has the name of the program that it executes; the start of a program
/// returns shortly before. A program with the name of this one is not waited for long.
pub(super) fn await_name(process: u32) {
    const PATIENCE: Duration = Duration::from_millis(5);
    let thread_name = |process: u32| name(process, i32::try_from(process).ok()?);
    let ours = thread_name(std::process::id());
    let started = Instant::now();
    while thread_name(process) == ours && started.elapsed() < PATIENCE {
        std::thread::yield_now();
    }
}

/// The name of a thread; `None` if it is gone.
fn name(process: u32, thread: i32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{process}/task/{thread}/comm")).ok()?;
    Some(name.trim_end_matches('\n').to_owned())
}

/// The threads of a process; none if it is gone.
fn threads_of(process: u32) -> Vec<i32> {
    i32::try_from(process).map_or_else(|_| Vec::new(), target::threads_of)
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_thread_is_found_once_by_its_name() {
        let (running, ended) = channel::<()>();
        let thread = std::thread::Builder::new().name("lint-servo".to_owned());
        let thread = thread.spawn(move || ended.recv()).unwrap();
        let wanted = vec!["lint-servo".to_owned(), "lint-mixer".to_owned()];
        let mut threads = Threads::new(vec![std::process::id()], wanted);
        assert_eq!(threads.missing(), None);
        let found: Vec<Found> = std::iter::repeat_with(|| {
            std::thread::yield_now();
            threads.find()
        })
        .find(|found| !found.is_empty())
        .unwrap();
        assert_eq!((found.len(), found[0].name.as_str()), (1, "lint-servo"));
        assert_eq!(threads.find(), []);
        assert_eq!(threads.unseen_names(), ["lint-mixer"]);
        drop(running);
        let _ = thread.join();
        // The kernel removes the thread a moment later.
        while threads.has(found[0].thread) {
            threads.find();
        }
    }

    #[test]
    fn children_are_followed_and_ended_processes_are_over() {
        let mut child = Command::new("sh").args(["-c", "sleep 60 & echo; wait"]).spawn().unwrap();
        let mut threads = Threads::new(vec![child.id()], vec!["sleep".to_owned()]);
        let found = std::iter::repeat_with(|| threads.find()).find(|found| !found.is_empty());
        let sleep = found.unwrap()[0].process;
        assert_ne!(sleep, child.id());
        tactus_sys::process::kill(sleep).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        threads.find();
        assert!(threads.is_over());
        assert_eq!(threads.missing(), Some(child.id()));
    }
}
