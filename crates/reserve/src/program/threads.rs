//! The threads of a program: which get a reserve, and what they use.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tactus_model::format::{printable, quoted};
use tactus_model::recording::ThreadId;
use tactus_model::reserve::{Capacity, RefusedRung, Rung, ThreadUsage};
use tactus_model::text::nearest;
use tactus_model::time::Nanos;
use tactus_settings::Guardian;

use super::meter::{Metered, Status};
use super::{Change, Event, Share, Wanted, Which, reference, window};
use crate::reserve::{IfFull, Ladder};
use crate::{Partition, Refused, Reserve, kept, release_time};

/// The most threads that have a reserve at a time, and the most ended ones whose use is kept; each
/// needs memory for its use.
const THREADS_MAX: usize = 256;

/// The most reasons for threads without a reserve that are kept.
const WITHOUT_MAX: usize = 20;

/// The most names of other threads that are kept, to suggest one.
const NAMES_MAX: usize = 64;

/// How often new threads are looked for.
const LOOK: Duration = Duration::from_millis(20);

/// The first pause before a refused thread is tried again, after the bandwidth of threads that
/// ended is released, and the longest: each pause is twice the one before.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];

/// The threads of one [`Share`], whose use is read together.
struct Selection {
    share: Share,
    window: Nanos,
    /// The end of the present window.
    next: Instant,
    was_seen: bool,
}

/// A thread that was refused its reserve.
struct Waiting {
    name: String,
    reason: String,
    /// When it is tried again.
    again: Instant,
    pause: Duration,
    is_reported: bool,
}

/// The reserves of a program.
pub(super) struct ReservedThreads {
    process: u32,
    /// The name of its file.
    program: String,
    selections: Vec<Selection>,
    rungs: Vec<Rung>,
    guardian: Guardian,
    /// The threads with a reserve, each with the number of its selection.
    running: Vec<(usize, Metered)>,
    ended: Vec<ThreadUsage>,
    /// How many more ended.
    unlisted: u64,
    waiting: HashMap<ThreadId, Waiting>,
    /// Reasons for threads that ended without a reserve.
    without: Vec<String>,
    /// Names of threads that no selection has.
    others: BTreeSet<String>,
    has_children: bool,
    looked: Instant,
    first: (Rung, Vec<RefusedRung>, Option<Nanos>),
    /// Dropped after all reserves.
    partition: Option<Arc<Partition>>,
}

impl ReservedThreads {
    /// Of a program with this process ID; at least one share is wanted.
    pub(super) fn new(
        wanted: &Wanted,
        process: u32,
        guardian: Guardian,
        partition: Option<Arc<Partition>>,
    ) -> Self {
        let now = Instant::now();
        let selection = |share: &Share| Selection {
            share: share.clone(),
            window: window(share.capacity.period()),
            next: now,
            was_seen: false,
        };
        let program = wanted.command.first().and_then(|path| Path::new(path).file_name());
        Self {
            process,
            program: program.unwrap_or_default().to_string_lossy().into_owned(),
            selections: wanted.shares.iter().map(selection).collect(),
            rungs: wanted.rungs.clone(),
            guardian,
            running: Vec::new(),
            ended: Vec::new(),
            unlisted: 0,
            waiting: HashMap::new(),
            without: Vec::new(),
            others: BTreeSet::new(),
            has_children: false,
            looked: now,
            first: (Rung::Measured, Vec::new(), None),
            partition,
        }
    }

    /// Grants the first thread its capacity. With names, its name is known only later; the grant
    /// then shows whether the machine permits the first share, and ends at once.
    pub(super) fn grant_first(
        &mut self,
        partition_refused: Option<RefusedRung>,
    ) -> Result<(), Refused> {
        let thread = ThreadId(self.process.cast_signed());
        let Share { which, capacity } = self.selections[0].share.clone();
        let granted = self.grant(thread, capacity, IfFull::Wait).map_err(|refused| match refused {
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
        if which.name().is_some() {
            drop(reserve);
            self.release(thread);
        } else {
            let window = self.selections[0].window;
            let name = self.program.clone();
            self.running.push((0, Metered::begin(reserve, name, window, Nanos::ZERO)));
        }
        let now = Instant::now();
        self.selections.iter_mut().for_each(|one| one.next = now + Duration::from(one.window));
        Ok(())
    }

    /// The rung of the first thread, the better rungs, and the largest cost of these.
    pub(super) fn first(&self) -> (Rung, Vec<RefusedRung>, Option<Nanos>) {
        self.first.clone()
    }

    fn grant(
        &mut self,
        thread: ThreadId,
        capacity: Capacity,
        if_full: IfFull,
    ) -> Result<Reserve, Refused> {
        let reference = reference(thread);
        let kept = kept(&reference, capacity)?;
        // If the guardian was killed, nobody returns the thread after us; that is reported at the
        // end.
        let _ = self.guardian.keep(kept);
        let partition = self.partition.as_ref();
        let ladder = Ladder { rungs: &self.rungs, partition, if_full };
        let granted = Reserve::grant_by(reference, capacity, &ladder);
        if granted.is_err() {
            self.release(thread);
        }
        granted
    }

    fn release(&mut self, thread: ThreadId) {
        let _ = self.guardian.release(thread);
    }

    /// When there is something to do: the end of the next window, or a look for new threads.
    pub(super) fn next(&self) -> Instant {
        let window = self.selections.iter().map(|one| one.next).min().unwrap_or(self.looked);
        match self.looks() {
            true => window.min(self.looked + LOOK),
            false => window,
        }
    }

    /// Whether later threads can get a reserve.
    fn looks(&self) -> bool {
        self.selections.iter().any(|one| one.share.which != Which::Main)
    }

    /// Reads the use of the threads whose windows have ended, several windows if this is late.
    /// Returns how late it is at most.
    pub(super) fn read_due(&mut self) -> Nanos {
        let now = Instant::now();
        let mut late_max = Nanos::ZERO;
        for number in 0..self.selections.len() {
            let due = &mut self.selections[number];
            let Some(late) = now.checked_duration_since(due.next).map(Nanos::from) else {
                continue;
            };
            let count = 1 + late.div_floor(due.window);
            due.next += Duration::from(due.window.saturating_mul(count));
            late_max = late_max.max(late);
            self.read(number, count);
        }
        late_max
    }

    /// Reads the use of the threads of a selection at the end of `count` windows.
    fn read(&mut self, selection: usize, count: u64) {
        let window = self.selections[selection].window;
        let mut number = 0;
        while let Some((own, thread)) = self.running.get_mut(number) {
            if *own != selection || thread.read(window, count) {
                number += 1;
                continue;
            }
            let (_, ended) = self.running.swap_remove(number);
            self.release(ended.reserve.thread());
            match self.ended.len() < THREADS_MAX {
                true => self.ended.push(ended.end()),
                false => self.unlisted += 1,
            }
            // It may have made room.
            self.try_all_soon();
        }
    }

    fn try_all_soon(&mut self) {
        let now = Instant::now();
        for (_, waiting) in self.waiting.iter_mut().filter(|(_, waiting)| waiting.is_reported) {
            (waiting.again, waiting.pause) = (now + LOOK, PAUSES[0]);
        }
    }

    /// Looks for new threads from time to time, and for those that were refused, and grants them
    /// their capacity.
    pub(super) fn find_new(&mut self, since: Nanos) -> Vec<Event> {
        if self.looked.elapsed() < LOOK {
            return Vec::new();
        }
        self.looked = Instant::now();
        self.has_children |= has_children(self.process);
        if !self.looks() {
            return Vec::new();
        }
        let found: HashSet<ThreadId> = threads_of(self.process).into_iter().collect();
        self.forget_ended(&found);
        let reserved: HashSet<ThreadId> =
            self.running.iter().map(|(_, thread)| thread.reserve.thread()).collect();
        let mut new: Vec<ThreadId> = found.difference(&reserved).copied().collect();
        new.sort_unstable();
        new.into_iter().filter_map(|thread| self.meet(thread, since)).collect()
    }

    /// Moves the reasons for threads that ended to those that are kept.
    fn forget_ended(&mut self, living: &HashSet<ThreadId>) {
        let without = &mut self.without;
        self.waiting.retain(|thread, waiting| {
            let lives = living.contains(thread);
            if !lives && without.len() < WITHOUT_MAX {
                without.push(waiting.in_words(*thread));
            }
            lives
        });
    }

    /// Grants a thread without a reserve the capacity of its selection, if it has one and it is
    /// time.
    fn meet(&mut self, thread: ThreadId, since: Nanos) -> Option<Event> {
        let name = Status::of(thread).filter(Status::lives)?.name;
        let selected = |one: &Selection| one.share.which.selects(&name);
        let Some(number) = self.selections.iter().position(selected) else {
            if self.others.len() < NAMES_MAX {
                self.others.insert(name);
            }
            return None;
        };
        self.selections[number].was_seen = true;
        let now = Instant::now();
        if self.waiting.get(&thread).is_some_and(|waiting| waiting.again > now) {
            return None;
        }
        let capacity = self.selections[number].share.capacity;
        let refused = match self.running.len() < THREADS_MAX {
            true => self.grant(thread, capacity, IfFull::Refuse),
            false => return self.refuse(thread, name, capacity, too_many()),
        };
        match refused {
            Ok(reserve) => {
                let was_refused =
                    self.waiting.remove(&thread).is_some_and(|waiting| waiting.is_reported);
                let window = self.selections[number].window;
                let is_named = self.selections[number].share.which.name().is_some();
                self.running.push((number, Metered::begin(reserve, name.clone(), window, since)));
                (was_refused || is_named).then_some(Event::Granted { thread, name, capacity })
            }
            // It has ended already.
            Err(Refused::Thread(_)) => None,
            Err(refused) => self.refuse(thread, name, capacity, in_words(&refused)),
        }
    }

    /// Notes a refusal. The first is reported only if it repeats after a period, when the kernel
    /// has released the bandwidth of threads that ended.
    fn refuse(
        &mut self,
        thread: ThreadId,
        name: String,
        capacity: Capacity,
        reason: String,
    ) -> Option<Event> {
        let now = Instant::now();
        let Some(waiting) = self.waiting.get_mut(&thread) else {
            let again = now + LOOK + Duration::from(release_time(capacity, Nanos::ZERO));
            let waiting = Waiting { name, reason, again, pause: PAUSES[0], is_reported: false };
            self.waiting.insert(thread, waiting);
            return None;
        };
        waiting.again = now + waiting.pause;
        waiting.pause = (waiting.pause * 2).min(PAUSES[1]);
        (waiting.name, waiting.reason) = (name, reason);
        let is_new = !std::mem::replace(&mut waiting.is_reported, true);
        is_new.then(|| Event::Warning(waiting.in_words(thread)))
    }

    /// Changes the capacity of all threads of a selection, or of none. `since` is the time after
    /// the start of the program.
    pub(super) fn change(&mut self, change: &Change, since: Nanos) -> Result<(), String> {
        let selection = self.selection_of(change.thread.as_deref())?;
        let old = self.selections[selection].share.capacity;
        let mut changed = Vec::new();
        for number in 0..self.running.len() {
            let (own, thread) = &mut self.running[number];
            if *own != selection {
                continue;
            }
            if let Err(refused) = thread.reserve.change(change.capacity) {
                for number in changed {
                    let (_, thread): &mut (usize, Metered) = &mut self.running[number];
                    // It had that before.
                    let _ = thread.reserve.change(old);
                }
                return Err(in_words(&refused));
            }
            changed.push(number);
        }
        let one = &mut self.selections[selection];
        one.share.capacity = change.capacity;
        let window = window(change.capacity.period());
        if window != one.window {
            // Windows of different lengths would be one curve.
            one.window = window;
            one.next = Instant::now() + Duration::from(window);
            let own = self.running.iter_mut().filter(|(own, _)| *own == selection);
            own.for_each(|(_, thread)| thread.restart(window, since));
        }
        self.try_all_soon();
        Ok(())
    }

    /// The selection with this name, or the only one.
    fn selection_of(&self, name: Option<&str>) -> Result<usize, String> {
        let all: Vec<&str> =
            self.selections.iter().filter_map(|one| one.share.which.word()).collect();
        match name {
            None if self.selections.len() == 1 => Ok(0),
            None => Err(format!(
                "its threads have capacities of their own. fix: name one, e.g. --threads {}",
                all.first().unwrap_or(&"NAME")
            )),
            Some(name) => {
                let found = all.iter().position(|known| *known == name);
                found.ok_or_else(|| match &all[..] {
                    [] => "its reserve names no threads. fix: leave out --threads".to_owned(),
                    all => format!(
                        "no capacity is for the name `{}`. fix: use {}",
                        quoted(name),
                        all.join(", ")
                    ),
                })
            }
        }
    }

    pub(super) const fn has_children(&self) -> bool {
        self.has_children
    }

    /// The capacity that all threads have; `None` if they have different ones.
    pub(super) fn capacity(&self) -> Option<Capacity> {
        let first = self.selections[0].share.capacity;
        self.selections.iter().all(|one| one.share.capacity == first).then_some(first)
    }

    /// What got no reserve, and why.
    pub(super) fn without(&self) -> Vec<String> {
        let waiting = self.waiting.iter().map(|(thread, waiting)| waiting.in_words(*thread));
        let mut all: Vec<String> = self.without.iter().cloned().chain(waiting).collect();
        all.truncate(WITHOUT_MAX);
        let unseen = self.selections.iter().filter(|one| !one.was_seen);
        all.extend(unseen.filter_map(|one| Some(self.unseen(one.share.which.name()?))));
        if self.unlisted > 0 {
            all.push(format!("the use of {} more threads that ended is not listed", self.unlisted));
        }
        all
    }

    /// That no thread had a name, and which one may be meant.
    fn unseen(&self, name: &str) -> String {
        let others: Vec<&str> = self.others.iter().map(String::as_str).collect();
        let fix = match (nearest(name, &others), &others[..]) {
            (Some(near), _) => format!("did you mean `{}`?", quoted(near)),
            (None, []) => "the program ended before its threads were seen".to_owned(),
            (None, others) => {
                let some: Vec<String> = others.iter().take(8).map(|name| quoted(name)).collect();
                format!("its threads were {}", some.join(", "))
            }
        };
        format!("no thread had the name `{}`: {fix}", quoted(name))
    }

    /// Ends all reserves and returns their use. The last window is the one that the end cut.
    pub(super) fn take_usage(&mut self) -> Vec<ThreadUsage> {
        (0..self.selections.len()).for_each(|selection| self.read(selection, 1));
        let running: Vec<(usize, Metered)> = self.running.drain(..).collect();
        let mut all = std::mem::take(&mut self.ended);
        all.extend(running.into_iter().map(|(_, thread)| thread.end()));
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

impl Waiting {
    fn in_words(&self, thread: ThreadId) -> String {
        format!("thread {thread} ({}) has no reserve: {}", printable(&self.name), self.reason)
    }
}

fn too_many() -> String {
    format!("{THREADS_MAX} threads have one, and no more can")
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

/// The threads of a process; none if it has ended.
fn threads_of(process: u32) -> Vec<ThreadId> {
    let entries = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(ThreadId)).collect()
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
    fn the_threads_of_this_process_are_found() {
        let own = tactus_sys::thread::current_id();
        assert!(threads_of(std::process::id()).contains(&own));
        assert_eq!(threads_of(u32::MAX), []);
    }
}
