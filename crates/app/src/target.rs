//! Which threads to watch.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tactus_model::recording::{
    Dictionary, Event, EventKind, NameId, Priority, PriorityClass, ThreadId, is_thread_name,
};

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
    /// Those that have not ended.
    living: BTreeSet<i32>,
    /// Whether processes were chosen.
    chosen: bool,
    /// Whether nothing else can be watched than the chosen processes and their children.
    closed: bool,
    names: Vec<Name>,
    /// Names and numbers of threads; if empty, all threads of these processes.
    only: Vec<String>,
    /// The command, once it is started.
    command: Arc<OnceLock<ThreadId>>,
}

/// The name of a program or thread.
#[derive(Debug)]
struct Name {
    whole: String,
    was_seen: bool,
}

impl Name {
    /// Whether it is the name of a thread.
    fn is_of(&self, thread: &str) -> bool {
        is_thread_name(thread, &self.whole)
    }
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
                let error = Error::usage(format!("there is no process {process}"));
                return Err(error.with_hint("--name NAME also watches a program that starts later"));
            }
            threads.extend(found);
        }
        let mut names = Vec::new();
        for name in &self.names {
            let mut name = Name { whole: name.clone(), was_seen: false };
            let running = numbers(Path::new("/proc")).into_iter();
            let found: Vec<i32> =
                running.filter(|process| runs(*process, &name)).flat_map(threads_of).collect();
            name.was_seen = !found.is_empty();
            names.push(name);
            threads.extend(found);
        }
        for cgroup in &self.cgroups {
            threads.extend(of_cgroup(&directory(cgroup))?);
        }
        let chosen = self.command
            || !(self.processes.is_empty()
                && self.names.is_empty()
                && self.cgroups.is_empty()
                && self.threads.is_empty());
        let closed = chosen && !self.command && self.names.is_empty() && self.cgroups.is_empty();
        let living = threads.iter().copied().collect();
        Ok(Watched { threads, living, chosen, closed, names, only: only.to_vec(), command })
    }
}

impl Watched {
    /// Forgets the threads that ended before the recording began.
    pub(crate) fn began(&mut self) {
        self.living.retain(|thread| Status::of(*thread).is_some());
    }

    /// Follows the start and end of threads and processes. `names` has those of the events.
    pub(crate) fn follow(&mut self, event: &Event, names: &Dictionary) {
        match event.kind {
            // A child begins with the name of its parent.
            EventKind::Fork { child, child_name }
                if self.has(event.thread) || self.is_named(names, child_name) =>
            {
                self.add(child);
            }
            EventKind::Switch { prev, prev_name, .. } if self.is_named(names, prev_name) => {
                self.add(prev);
            }
            EventKind::Exit { thread } => _ = self.living.remove(&thread.0),
            _ => {}
        }
    }

    fn add(&mut self, thread: ThreadId) {
        if self.threads.insert(thread.0) {
            self.living.insert(thread.0);
        }
    }

    fn is_named(&mut self, names: &Dictionary, thread: NameId) -> bool {
        // Most recordings choose no name.
        !self.names.is_empty() && {
            let thread = names.name(thread);
            let found = self.names.iter_mut().find(|name| name.is_of(thread));
            found.is_some_and(|name| {
                name.was_seen = true;
                true
            })
        }
    }

    /// Whether everything that could be watched has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.closed && self.living.is_empty()
    }

    /// The names that no program and no thread had.
    pub(crate) fn unseen(&self) -> impl Iterator<Item = &str> {
        self.names.iter().filter(|name| !name.was_seen).map(|name| name.whole.as_str())
    }

    /// The processes that the command has left, with their names.
    pub(crate) fn left_by_the_command(&self) -> Vec<(i32, String)> {
        let Some(command) = self.command.get() else { return Vec::new() };
        let left = self.living.iter().filter(|thread| **thread != command.0);
        let status = left.filter_map(|thread| Some((*thread, Status::of(*thread)?)));
        // A process is its first thread.
        let processes = status.filter(|(thread, status)| status.process == *thread);
        processes.map(|(process, status)| (process, status.name)).collect()
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
            return self.has(thread) || self.names.iter().any(|wanted| wanted.is_of(name));
        }
        let ordinary = matches!(priority.class(), PriorityClass::Ordinary { .. });
        !name.starts_with("tactus") && (!ordinary || !self.only.is_empty())
    }
}

/// Whether a process runs a program of this name.
fn runs(process: i32, name: &Name) -> bool {
    let called = fs::read_to_string(format!("/proc/{process}/comm"));
    let program = fs::read_link(format!("/proc/{process}/exe"));
    called.is_ok_and(|called| name.is_of(called.trim_end_matches('\n')))
        || program.is_ok_and(|program| program.file_name().is_some_and(|file| file == &*name.whole))
}

/// What the kernel says of a thread that has not ended.
pub(crate) struct Status {
    name: String,
    process: i32,
    /// How often it has left its CPU of its own will.
    pub(crate) sleeps: u64,
}

impl Status {
    /// The status of a thread; `None` if it has ended, even if nobody has waited for it.
    pub(crate) fn of(thread: i32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
        let value = |key: &str| text.lines().find_map(|line| Some(line.strip_prefix(key)?.trim()));
        if value("State:")?.starts_with(['Z', 'X']) {
            return None;
        }
        Some(Self {
            name: value("Name:")?.to_owned(),
            process: value("Tgid:")?.parse().ok()?,
            sleeps: value("voluntary_ctxt_switches:")?.parse().ok()?,
        })
    }
}

/// The directory of a control group: a path below its file system, such as
/// `/system.slice/audio.service`, is accepted too.
fn directory(cgroup: &Path) -> PathBuf {
    let below = Path::new("/sys/fs/cgroup");
    match cgroup.join("cgroup.procs").exists() || cgroup.starts_with(below) {
        true => cgroup.to_owned(),
        false => below.join(cgroup.strip_prefix("/").unwrap_or(cgroup)),
    }
}

/// The threads of a control group and of those below it.
fn of_cgroup(directory: &Path) -> Result<Vec<i32>> {
    let path = directory.join("cgroup.procs");
    let processes = fs::read_to_string(&path).or_error(ErrorKind::Usage, || {
        format!("cannot read control group {}", directory.display())
    });
    let processes =
        processes.map_err(|error| error.with_hint("`systemd-cgls` lists control groups"))?;
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
pub(crate) fn threads_of(process: i32) -> Vec<i32> {
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
        let names = Dictionary::new();
        watched.follow(&fork(own as i32, -5), &names);
        watched.follow(&fork(-5, -6), &names);
        watched.follow(&fork(-7, -8), &names);
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
    fn a_program_that_starts_later_is_watched_with_its_children() {
        let whole = "a-program-with-a-long-name".to_owned();
        let target = Target { names: vec![whole.clone()], ..Target::default() };
        let mut watched = watched(&target, &[]);
        assert_eq!(watched.unseen().collect::<Vec<_>>(), [&whole]);
        let mut names = Dictionary::new();
        let name = names.intern("a-program-with-");
        let mut event = fork(-5, -6);
        event.kind = EventKind::Fork { child: ThreadId(-6), child_name: name };
        watched.follow(&event, &names);
        watched.follow(&fork(-6, -7), &names);
        assert!(watched.includes(ThreadId(-7), "worker", ORDINARY));
        assert_eq!(watched.unseen().count(), 0);
    }

    #[test]
    fn watching_is_over_when_the_chosen_process_and_its_children_have_ended() {
        let own = std::process::id();
        let target = Target { processes: vec![own], ..Target::default() };
        let mut watched = watched(&target, &[]);
        let names = Dictionary::new();
        let exit = |thread| Event {
            kind: EventKind::Exit { thread: ThreadId(thread) },
            ..fork(thread, 0)
        };
        watched.follow(&fork(own as i32, -5), &names);
        for thread in watched.living.clone() {
            assert!(!watched.is_over());
            watched.follow(&exit(thread), &names);
        }
        assert!(watched.is_over());
    }

    #[test]
    fn a_process_that_does_not_exist_is_the_users_error() {
        let target = Target { processes: vec![u32::MAX], ..Target::default() };
        let error = target.watched(&[], Arc::new(OnceLock::new())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
    }
}
