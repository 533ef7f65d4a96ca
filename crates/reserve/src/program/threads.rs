//! The threads of a program: which get a reserve, and what they use.

use std::collections::HashSet;
use std::convert::Infallible;
use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tactus_model::policy::Scheduling;
use tactus_model::recording::ThreadId;
use tactus_model::reserve::{Capacity, RefusedRung, Rung, ThreadUsage};
use tactus_model::time::Nanos;
use tactus_prepare::ThreadRef;
use tactus_settings::{Guardian, KeptThread};
use tactus_sys::cgroup::Hierarchy;
use tactus_sys::clock;

use super::meter::Metered;
use super::{Wanted, reference, window};
use crate::{Partition, Refused, Reserve, debt_most, release_time};

/// The most threads that get a reserve; each needs memory for its use.
const THREADS_MAX: usize = 256;

/// The most reasons for threads without a reserve that are kept.
const WITHOUT_MAX: usize = 20;

/// How often new threads are looked for.
const LOOK: Duration = Duration::from_millis(20);

/// Which threads of a program get the capacity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Threads {
    /// All threads, each its own.
    All,
    /// The first thread.
    Main,
    /// The threads with one of these names.
    Named(Vec<String>),
}

impl FromStr for Threads {
    type Err = Infallible;

    /// Parses `all`, `main`, or names separated by commas.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "all" => Self::All,
            "main" => Self::Main,
            names => Self::Named(names.split(',').map(str::to_owned).collect()),
        })
    }
}

/// The reserves of a program.
pub(super) struct ReservedThreads {
    process: u32,
    which: Threads,
    rungs: Vec<Rung>,
    guardian: Guardian,
    running: Vec<Metered>,
    ended: Vec<ThreadUsage>,
    /// Threads that were found: those with a reserve, and those that are refused one.
    known: HashSet<ThreadId>,
    without: Vec<String>,
    has_children: bool,
    looked: Instant,
    first: (Rung, Vec<RefusedRung>, Option<Nanos>),
    /// Dropped after all reserves.
    partition: Option<Arc<Partition>>,
}

impl ReservedThreads {
    pub(super) fn new(
        wanted: &Wanted,
        process: u32,
        guardian: Guardian,
        partition: Option<Arc<Partition>>,
    ) -> Self {
        Self {
            process,
            which: wanted.threads.clone(),
            rungs: wanted.rungs.clone(),
            guardian,
            running: Vec::new(),
            ended: Vec::new(),
            known: HashSet::new(),
            without: Vec::new(),
            has_children: false,
            looked: Instant::now(),
            first: (Rung::Measured, Vec::new(), None),
            partition,
        }
    }

    /// Grants the first thread its capacity. With names, its name is known only later; the grant
    /// then shows whether the machine permits it, and ends at once.
    pub(super) fn grant_first(
        &mut self,
        capacity: Capacity,
        partition_refused: Option<RefusedRung>,
    ) -> Result<(), Refused> {
        let thread = ThreadId(self.process.cast_signed());
        let granted = self.grant(thread, capacity).map_err(|refused| match refused {
            Refused::Rungs { rungs, largest_cost } => {
                Refused::Rungs { rungs: in_place(rungs, partition_refused.as_ref()), largest_cost }
            }
            other => other,
        });
        let reserve = granted?;
        let refused = in_place(reserve.refused().to_vec(), partition_refused.as_ref());
        self.first = (reserve.rung(), refused, reserve.largest_cost());
        // Later threads are on the same rung, or on a better one.
        self.rungs.retain(|rung| *rung <= reserve.rung());
        if let Threads::Named(_) = self.which {
            drop(reserve);
            self.release(thread);
        } else {
            let name = "main thread".to_owned();
            let window = window(capacity.period());
            self.running.push(Metered::begin(reserve, name, window, Nanos::ZERO));
            self.known.insert(thread);
        }
        Ok(())
    }

    /// The rung of the first thread, the better rungs, and the largest cost of these.
    pub(super) fn first(&self) -> (Rung, Vec<RefusedRung>, Option<Nanos>) {
        self.first.clone()
    }

    fn grant(&mut self, thread: ThreadId, capacity: Capacity) -> Result<Reserve, Refused> {
        let reference = reference(thread);
        let kept = kept(&reference, capacity)?;
        // If the guardian was killed, nobody returns the thread after us; that is reported at the
        // end.
        let _ = self.guardian.keep(kept);
        let granted = match &self.partition {
            Some(partition) => Reserve::grant_on(partition, reference, capacity, &self.rungs),
            None => Reserve::grant(reference, capacity, &self.rungs),
        };
        granted.inspect_err(|_| self.release(thread))
    }

    fn release(&mut self, thread: ThreadId) {
        let _ = self.guardian.release(thread);
    }

    /// Reads the use of all threads at the end of `count` windows.
    pub(super) fn read(&mut self, window: Nanos, count: u64) {
        let mut number = 0;
        while let Some(thread) = self.running.get_mut(number) {
            if thread.read(window, count) {
                number += 1;
                continue;
            }
            let ended = self.running.swap_remove(number);
            let id = ended.reserve.thread();
            self.ended.push(ended.end());
            self.known.remove(&id);
            self.release(id);
        }
    }

    /// Looks for new threads from time to time and grants them the capacity; returns what was
    /// refused.
    pub(super) fn find_new(&mut self, capacity: Capacity, since: Nanos) -> Vec<String> {
        if self.looked.elapsed() < LOOK {
            return Vec::new();
        }
        self.looked = Instant::now();
        self.has_children |= has_children(self.process);
        if self.which == Threads::Main {
            return Vec::new();
        }
        let found = threads_of(self.process);
        let new: Vec<ThreadId> =
            found.into_iter().filter(|new| !self.known.contains(new)).collect();
        new.into_iter().filter_map(|thread| self.grant_new(thread, capacity, since)).collect()
    }

    /// Grants a new thread the capacity; the reason if it is refused.
    fn grant_new(&mut self, thread: ThreadId, capacity: Capacity, since: Nanos) -> Option<String> {
        let name = name(self.process, thread)?;
        if let Threads::Named(names) = &self.which
            && !names.contains(&name)
        {
            return None;
        }
        self.known.insert(thread);
        let reason = if self.running.len() + self.ended.len() >= THREADS_MAX {
            format!("more than {THREADS_MAX} threads")
        } else {
            match self.grant(thread, capacity) {
                Ok(reserve) => {
                    let window = window(capacity.period());
                    self.running.push(Metered::begin(reserve, name, window, since));
                    return None;
                }
                // It has ended already.
                Err(Refused::Thread(_)) => return None,
                Err(refused) => refused.to_string(),
            }
        };
        if self.without.len() >= WITHOUT_MAX {
            return None;
        }
        let text = format!("thread {} ({name}) has no reserve: {reason}", thread.0);
        self.without.push(text.clone());
        Some(text)
    }

    /// Changes the capacity of all threads, or of none.
    pub(super) fn change(&mut self, capacity: Capacity, old: Capacity) -> Result<(), String> {
        for number in 0..self.running.len() {
            if let Err(refused) = self.running[number].reserve.change(capacity) {
                for changed in &mut self.running[..number] {
                    // It had that before.
                    let _ = changed.reserve.change(old);
                }
                return Err(in_words(&refused));
            }
        }
        Ok(())
    }

    pub(super) fn restart_windows(&mut self, window: Nanos, since: Nanos) {
        self.running.iter_mut().for_each(|thread| thread.restart(window, since));
    }

    pub(super) const fn has_children(&self) -> bool {
        self.has_children
    }

    pub(super) fn without(&self) -> Vec<String> {
        self.without.clone()
    }

    /// Ends all reserves and returns their use. The last window is the one that the end cut.
    pub(super) fn take_usage(&mut self, window: Nanos) -> Vec<ThreadUsage> {
        self.read(window, 1);
        let running: Vec<Metered> = self.running.drain(..).collect();
        let mut all = std::mem::take(&mut self.ended);
        all.extend(running.into_iter().map(Metered::end));
        all.sort_by_key(|usage| (usage.since, usage.thread));
        all
    }

    /// Ends the partition and the guardian, and returns what went wrong.
    pub(super) fn end(self) -> Vec<String> {
        drop(self.running);
        drop(self.partition);
        self.guardian.end().into_iter().map(|trouble| trouble.reason).collect()
    }
}

/// A refusal in words, with the fix.
fn in_words(refused: &Refused) -> String {
    match refused {
        Refused::Rungs { rungs, .. } => {
            let words = |refused: &RefusedRung| match &refused.fix {
                Some(fix) => format!("{}; fix: {fix}", refused.reason),
                None => refused.reason.clone(),
            };
            rungs.iter().map(words).collect::<Vec<_>>().join("; ")
        }
        Refused::Thread(error) => error.to_string(),
    }
}

/// The refusals with the reason why no CPU was set aside.
fn in_place(mut refused: Vec<RefusedRung>, partition: Option<&RefusedRung>) -> Vec<RefusedRung> {
    for refused in refused.iter_mut().filter(|refused| refused.rung == Rung::Partitioned) {
        if let Some(reason) = partition {
            refused.clone_from(reason);
        }
    }
    refused
}

/// What the guardian returns a thread to.
fn kept(thread: &ThreadRef, capacity: Capacity) -> Result<KeptThread, Refused> {
    let id = thread.id()?;
    let groups = ["cpu", "cpuset"]
        .into_iter()
        .filter_map(|controller| Hierarchy::find(Path::new("/"), controller)?.group_of(id));
    let was = thread.scheduling().unwrap_or(Scheduling::ORDINARY);
    // The thread may be killed with any debt.
    let settle = release_time(capacity, debt_most(clock::tick()));
    Ok(KeptThread { thread: id, was, groups: groups.collect(), settle })
}

/// The threads of a process; none if it has ended.
fn threads_of(process: u32) -> Vec<ThreadId> {
    let entries = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(ThreadId)).collect()
}

fn name(process: u32, thread: ThreadId) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{process}/task/{}/comm", thread.0)).ok()?;
    Some(name.trim_end().to_owned())
}

/// Whether one of its threads has children; false if the kernel does not list them
/// (`CONFIG_PROC_CHILDREN`).
fn has_children(process: u32) -> bool {
    threads_of(process).into_iter().any(|thread| {
        let path = format!("/proc/{process}/task/{}/children", thread.0);
        fs::read_to_string(path).is_ok_and(|children| !children.trim().is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_all_or_the_first_or_named() {
        let parse = |text: &str| text.parse::<Threads>().unwrap();
        assert_eq!(parse("all"), Threads::All);
        assert_eq!(parse("main"), Threads::Main);
        let names = ["audio", "video"].map(str::to_owned).to_vec();
        assert_eq!(parse("audio,video"), Threads::Named(names));
    }

    #[test]
    fn the_threads_of_this_process_are_found_with_their_names() {
        let own = tactus_sys::thread::current_id();
        assert!(threads_of(std::process::id()).contains(&own));
        assert!(name(std::process::id(), own).is_some());
        assert_eq!(threads_of(u32::MAX), []);
    }
}
