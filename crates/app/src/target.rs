//! Which threads to watch.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tactus_model::recording::{Event, EventKind, Priority, PriorityClass, ThreadId};

use crate::error::OrError;
use crate::waits::is_called;
use crate::{Error, ErrorKind, Result};

/// The processes to watch, with their children. If nothing is chosen and there is no command:
/// the real-time and deadline threads of the whole system, except those of tactus.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// Whether a command is recorded.
    pub command: bool,
    /// Process ids.
    pub processes: Vec<u32>,
    /// Names of programs or threads.
    pub names: Vec<String>,
    /// Directories of control groups.
    pub cgroups: Vec<PathBuf>,
    /// Threads, without the others of their processes.
    pub threads: Vec<ThreadId>,
}

/// The threads to watch, as far as they are known.
#[derive(Debug)]
pub(crate) struct Watched {
    /// The threads of the chosen processes, and those that they start.
    threads: HashSet<i32>,
    /// Whether processes were chosen.
    chosen: bool,
    names: Vec<String>,
    /// Names and numbers of threads; if empty, all threads of these processes.
    only: Vec<String>,
    /// The command, once it is started.
    command: Arc<OnceLock<ThreadId>>,
}

impl Target {
    /// The threads that exist now.
    ///
    /// # Errors
    /// There is no such process or control group.
    pub(crate) fn watched(
        &self,
        only: &[String],
        command: Arc<OnceLock<ThreadId>>,
    ) -> Result<Watched> {
        let mut threads: HashSet<i32> = self.threads.iter().map(|thread| thread.0).collect();
        for process in &self.processes {
            let found = i32::try_from(*process).map_or_else(|_| Vec::new(), threads_of);
            if found.is_empty() {
                return Err(Error::usage(format!("there is no process {process}")));
            }
            threads.extend(found);
        }
        for name in &self.names {
            let running = numbers(Path::new("/proc")).into_iter();
            threads.extend(running.filter(|process| runs(*process, name)).flat_map(threads_of));
        }
        for cgroup in &self.cgroups {
            threads.extend(of_cgroup(&directory(cgroup))?);
        }
        let chosen = self.command
            || !(self.processes.is_empty() && self.names.is_empty() && self.cgroups.is_empty())
            || !self.threads.is_empty();
        let (names, only) = (self.names.clone(), only.to_vec());
        Ok(Watched { threads, chosen, names, only, command })
    }
}

impl Watched {
    /// Follows the start of threads and processes.
    pub(crate) fn follow(&mut self, event: &Event) {
        if let EventKind::Fork { child, .. } = event.kind
            && self.has(event.thread)
        {
            self.threads.insert(child.0);
        }
    }

    fn has(&self, thread: ThreadId) -> bool {
        self.threads.contains(&thread.0) || self.command.get() == Some(&thread)
    }

    /// Whether to watch a thread.
    pub(crate) fn includes(&self, thread: ThreadId, name: &str, priority: Priority) -> bool {
        if !self.only.is_empty() && !self.only.iter().any(|word| is_called(thread, name, word)) {
            return false;
        }
        if self.chosen {
            return self.has(thread) || self.names.iter().any(|wanted| wanted == name);
        }
        let ordinary = matches!(priority.class(), PriorityClass::Ordinary { .. });
        !name.starts_with("tactus") && (!ordinary || !self.only.is_empty())
    }
}

/// Whether a process runs a program of this name.
fn runs(process: i32, name: &str) -> bool {
    let called = fs::read_to_string(format!("/proc/{process}/comm"));
    let program = fs::read_link(format!("/proc/{process}/exe"));
    called.is_ok_and(|called| called.trim_end() == name)
        || program.is_ok_and(|program| program.file_name().is_some_and(|file| file == name))
}

/// The directory of a control group: a path below its file system, such as
/// `/system.slice/audio.service`, is accepted too.
fn directory(cgroup: &Path) -> PathBuf {
    let below = Path::new("/sys/fs/cgroup");
    match cgroup.join("cgroup.procs").exists() {
        true => cgroup.to_owned(),
        false => below.join(cgroup.strip_prefix("/").unwrap_or(cgroup)),
    }
}

/// The threads of a control group and of those below it.
fn of_cgroup(directory: &Path) -> Result<Vec<i32>> {
    let path = directory.join("cgroup.procs");
    let processes = fs::read_to_string(&path).or_error(ErrorKind::Usage, || {
        format!("cannot read control group {}", directory.display())
    })?;
    let processes = processes.lines().filter_map(|line| line.parse::<i32>().ok());
    let mut threads: Vec<i32> = processes.flat_map(threads_of).collect();
    let below = fs::read_dir(directory).into_iter().flatten().flatten();
    for group in below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        // A group that is gone by now has no threads.
        threads.extend(of_cgroup(&group.path()).unwrap_or_default());
    }
    Ok(threads)
}

/// The threads of a process; none if it is gone.
fn threads_of(process: i32) -> Vec<i32> {
    numbers(Path::new(&format!("/proc/{process}/task")))
}

/// The entries of a directory that are numbers; empty if the directory is gone or hidden.
fn numbers(directory: &Path) -> Vec<i32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use tactus_model::recording::{Context, NameId};
    use tactus_model::time::Instant;

    use super::*;

    const ORDINARY: Priority = Priority(120);

    fn watched(target: &Target, only: &[String]) -> Watched {
        target.watched(only, Arc::new(OnceLock::new())).expect("the target exists")
    }

    fn fork(parent: i32, child: i32) -> Event {
        Event {
            at: Instant::from_nanos(0),
            cpu: 0,
            thread: ThreadId(parent),
            context: Context { flags: 0, preempt_count: 0 },
            chain: None,
            kind: EventKind::Fork { child: ThreadId(child), child_name: NameId::UNKNOWN },
        }
    }

    #[test]
    fn a_process_is_watched_with_its_threads_and_children() {
        let own = std::process::id();
        let target = Target { processes: vec![own], ..Target::default() };
        let mut watched = watched(&target, &[]);
        watched.follow(&fork(own as i32, -5));
        watched.follow(&fork(-5, -6));
        watched.follow(&fork(-7, -8));
        let includes = |thread| watched.includes(ThreadId(thread), "x", ORDINARY);
        assert!(includes(own as i32) && includes(-5) && includes(-6) && !includes(-8));
    }

    #[test]
    fn without_a_choice_only_threads_with_a_class_for_deadlines_are_watched() {
        let watched = watched(&Target::default(), &[]);
        assert!(!watched.includes(ThreadId(9), "audio", ORDINARY));
        assert!(watched.includes(ThreadId(9), "audio", Priority(50)));
        assert!(!watched.includes(ThreadId(9), "tactus", Priority(50)));
    }

    #[test]
    fn a_name_chooses_programs_and_threads() {
        let target = Target { names: vec!["audio".to_owned()], ..Target::default() };
        let watched = watched(&target, &["voice".to_owned(), "audio".to_owned()]);
        assert!(watched.includes(ThreadId(9), "audio", ORDINARY));
        assert!(!watched.includes(ThreadId(9), "voice", ORDINARY));
    }

    #[test]
    fn a_process_that_does_not_exist_is_the_users_error() {
        let target = Target { processes: vec![u32::MAX], ..Target::default() };
        let error = target.watched(&[], Arc::new(OnceLock::new())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
    }
}
