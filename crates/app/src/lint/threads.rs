//! The threads of processes and of their children.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use tactus_model::recording::{ThreadId, is_thread_name};

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

/// Which processes to follow, with their children.
#[derive(Clone, Debug)]
pub(super) enum Roots {
    /// The children of this process, which has adopted those of its children.
    OwnChildren,
    /// These.
    Processes(Vec<u32>),
}

/// Finds threads while they come and go.
#[derive(Debug)]
pub(super) struct Threads {
    roots: Roots,
    /// The processes that were found last: one whose parent has ended is nobody's child.
    processes: Vec<u32>,
    /// Names and numbers of threads; if empty, all.
    wanted: Vec<String>,
    seen_words: HashSet<String>,
    /// The threads that live, with the names by which they were reported.
    living: HashMap<i32, Option<String>>,
    /// The latest names of the threads that were seen and not asked for.
    others: HashMap<i32, String>,
}

impl Threads {
    pub(super) fn new(roots: Roots, wanted: Vec<String>) -> Self {
        let (processes, seen_words, living, others) = Default::default();
        Self { roots, processes, wanted, seen_words, living, others }
    }

    /// A process that does not exist.
    pub(super) fn missing(&self) -> Option<u32> {
        let Roots::Processes(processes) = &self.roots else { return None };
        processes.iter().copied().find(|process| threads_of(*process).is_empty())
    }

    /// The threads that are asked for and were not reported before, or by another name: a thread
    /// may get its name after it has started.
    pub(super) fn find(&mut self) -> Vec<Found> {
        let mut before = std::mem::take(&mut self.living);
        let mut found = Vec::new();
        let processes = self.with_children();
        for (process, threads) in &processes {
            for thread in threads {
                let reported = before.remove(thread).flatten();
                let new = self.wanted(*process, *thread, reported.as_deref());
                let name = new.as_ref().map(|new| new.name.clone()).or(reported);
                self.living.insert(*thread, name);
                found.extend(new);
            }
        }
        self.processes = processes.into_iter().map(|(process, _)| process).collect();
        found
    }

    fn wanted(&mut self, process: u32, thread: i32, reported: Option<&str>) -> Option<Found> {
        let (name, thread) = (name(process, thread)?, ThreadId(thread));
        if reported == Some(&name) {
            return None;
        }
        let words = self.wanted.iter().filter(|word| is_called(thread, &name, word));
        let words: Vec<String> = words.cloned().collect();
        if !self.wanted.is_empty() && words.is_empty() {
            if reported.is_none() {
                self.others.insert(thread.0, name);
            }
            return None;
        }
        self.others.remove(&thread.0);
        self.seen_words.extend(words);
        Some(Found { thread, process, name })
    }

    /// The followed processes with their children, their children's children, and so on, and the
    /// threads of each.
    fn with_children(&self) -> Vec<(u32, Vec<i32>)> {
        let mut next = self.processes.clone();
        match &self.roots {
            Roots::OwnChildren => next.extend(children_of(std::process::id())),
            Roots::Processes(processes) => next.extend(processes),
        }
        let (mut seen, mut found) = (HashSet::new(), Vec::new());
        while let Some(process) = next.pop()
            && found.len() < PROCESSES_MAX
        {
            let threads = if seen.insert(process) { threads_of(process) } else { Vec::new() };
            if !threads.is_empty() {
                next.extend(children_of(process));
                found.push((process, threads));
            }
        }
        found
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

/// The children of a process.
fn children_of(process: u32) -> Vec<u32> {
    let of_thread = |thread| {
        let path = format!("/proc/{process}/task/{thread}/children");
        let children = fs::read_to_string(path).unwrap_or_default();
        children.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u32>>()
    };
    threads_of(process).into_iter().flat_map(of_thread).collect()
}

/// Waits until a process that this thread has started has the name of the program that it executes:
/// the start of a program returns shortly before.
pub(super) fn await_name(process: u32, program: &OsStr) {
    // A thread that calls itself by this thread's name has no other to wait for.
    const PATIENCE: Duration = Duration::from_secs(1);
    let (Some(ours), Ok(thread)) = (comm("/proc/thread-self/comm"), i32::try_from(process)) else {
        return;
    };
    let program = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
    let started = Instant::now();
    while !is_thread_name(&ours, &program)
        && name(process, thread).as_ref() == Some(&ours)
        && started.elapsed() < PATIENCE
    {
        std::thread::yield_now();
    }
}

/// The name of a thread; `None` if it is gone.
fn name(process: u32, thread: i32) -> Option<String> {
    comm(&format!("/proc/{process}/task/{thread}/comm"))
}

/// Reads a name, which the kernel may have cut within a character.
fn comm(path: &str) -> Option<String> {
    let name = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&name).trim_end_matches('\n').to_owned())
}

/// The threads of a process; none if it is gone.
fn threads_of(process: u32) -> Vec<i32> {
    i32::try_from(process).map_or_else(|_| Vec::new(), target::threads_of)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_thread_is_found_once_by_its_name() {
        let (running, ended) = channel::<()>();
        let thread = std::thread::Builder::new().name("lint-servo".to_owned());
        let thread = thread.spawn(move || ended.recv()).unwrap();
        let wanted = vec!["lint-servo".to_owned(), "lint-mixer".to_owned()];
        let roots = Roots::Processes(vec![std::process::id()]);
        let mut threads = Threads::new(roots, wanted);
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
        let roots = Roots::Processes(vec![child.id()]);
        let mut threads = Threads::new(roots, vec!["sleep".to_owned()]);
        let found = std::iter::repeat_with(|| threads.find()).find(|found| !found.is_empty());
        let sleep = found.unwrap()[0].process;
        assert_ne!(sleep, child.id());
        tactus_sys::process::kill(sleep).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        while !threads.is_over() {
            threads.find();
        }
        assert_eq!(threads.missing(), Some(child.id()));
    }

    #[test]
    fn a_process_is_followed_after_its_parent_has_ended() {
        let mut parent = Command::new("sh");
        let parent = parent.args(["-c", "sleep 60 & read end"]).stdin(Stdio::piped());
        let mut parent = parent.spawn().unwrap();
        let roots = Roots::Processes(vec![parent.id()]);
        let mut threads = Threads::new(roots, vec!["sleep".to_owned()]);
        let found = std::iter::repeat_with(|| threads.find()).find(|found| !found.is_empty());
        let sleep = found.unwrap()[0].clone();
        drop(parent.stdin.take());
        parent.wait().unwrap();
        assert_eq!(threads.find(), []);
        assert!(threads.has(sleep.thread) && !threads.is_over());
        tactus_sys::process::kill(sleep.process).unwrap();
        while threads.has(sleep.thread) {
            threads.find();
        }
    }

    #[test]
    fn a_thread_is_found_again_when_it_has_another_name() {
        let (rename, renames) = channel::<()>();
        let (renamed, is_renamed) = channel::<ThreadId>();
        let thread = std::thread::Builder::new().name("lint-first".to_owned());
        let thread = thread.spawn(move || {
            while renames.recv().is_ok() {
                fs::write("/proc/thread-self/comm", "lint-second").unwrap();
                renamed.send(tactus_sys::thread::current_id()).unwrap();
            }
        });
        let thread = thread.unwrap();
        let roots = Roots::Processes(vec![std::process::id()]);
        let mut all = Threads::new(roots.clone(), Vec::new());
        let mut first = Threads::new(roots, vec!["lint-first".to_owned()]);
        let find = |threads: &mut Threads, wanted: &str| {
            let named = |found: &Found| found.name == wanted;
            threads.find().into_iter().find(named)
        };
        while find(&mut first, "lint-first").is_none() {}
        let _ = all.find();
        rename.send(()).unwrap();
        let id = is_renamed.recv().unwrap();
        assert_eq!(find(&mut all, "lint-second").map(|found| found.thread), Some(id));
        assert_eq!((first.find(), first.has(id)), (vec![], true));
        assert!(!first.others().contains(&"lint-second".to_owned()));
        drop(rename);
        let _ = thread.join();
    }
}
