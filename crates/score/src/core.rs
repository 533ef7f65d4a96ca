//! The state that a score and its tasks share.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

use tactus_delivery::format::Format;
use tactus_model::time::Nanos;

use crate::beat::Beat;
use crate::branch::{Author, Branch, Ending, Line, Writer};
use crate::busy::Busy;
use crate::draft::Draft;
use crate::error::{BRANCHES, Fault, Problem};
use crate::score::{HeardInput, Input, StreamInfo};
use crate::tempo::{TempoError, TempoMap};
use crate::time::Time;

pub(crate) type Shared = Rc<RefCell<Core>>;
pub(crate) type Running = Pin<Box<dyn Future<Output = Result<(), Problem>>>>;
/// A program before its task has a number.
pub(crate) type Program = Box<dyn FnOnce(u64) -> Running>;

#[derive(Default)]
pub(crate) struct Core {
    /// The logical time of what runs.
    pub(crate) now: Time,
    /// Up to where everything has run.
    pub(crate) reached: Option<Time>,
    pub(crate) streams: Vec<StreamInfo>,
    pub(crate) branches: Vec<Branch>,
    pub(crate) timelines: Vec<TempoMap>,
    pub(crate) reactions: Vec<Reaction>,
    pub(crate) inputs: Vec<HeardInput>,
    pub(crate) writer: Writer,
    pub(crate) faults: Vec<Fault>,
    pub(crate) busy: Arc<Busy>,
    tasks: BTreeMap<u64, State>,
    agenda: BTreeMap<Place, Entry>,
    next_task: u64,
    next_sleep: u64,
}

/// What starts a task for an input.
pub(crate) struct Reaction {
    pub(crate) branch: usize,
    /// How long after the arrival of an input its task begins.
    pub(crate) within: Nanos,
    pub(crate) start: Rc<dyn Fn(Input) -> Program>,
}

struct State {
    branch: usize,
    epoch: u32,
    /// When the cut of its branch ends it.
    ends: Time,
    /// `None` while it runs.
    future: Option<Running>,
    waker: Arc<Foreign>,
    /// The numbers of the sleeps that are not over.
    sleeps: Vec<u64>,
}

/// Notices that something other than logical time wakes a task.
#[derive(Default)]
struct Foreign(AtomicBool);

impl Foreign {
    fn is_woken(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Wake for Foreign {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Where something stands in the agenda: at the same time, cuts come first, then inputs as they
/// arrived, then tasks by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    at: Time,
    who: Who,
    sequence: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Cut,
    Input,
    Task(u64),
}

enum Entry {
    /// Tasks of earlier epochs of a branch end.
    End(usize, u32),
    Input(HeardInput),
    /// A sleep of a task is over: until a time, or a beat of a timeline, which may change.
    Wake(u64, Option<(usize, Beat)>),
}

/// What is to be done.
pub(crate) enum Due {
    End(usize, u32),
    Input(HeardInput),
    Task(u64),
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").field("now", &self.now).finish_non_exhaustive()
    }
}

impl Core {
    /// The number of the branch of this name, which may be new.
    pub(crate) fn branch(&mut self, name: &str) -> Result<usize, Problem> {
        let found = self.branches.iter().position(|branch| branch.name == name);
        if found.is_none() && self.branches.len() >= BRANCHES {
            return Err(Problem::Branches);
        }
        Ok(found.unwrap_or_else(|| {
            self.busy.named(name);
            self.branches.push(Branch::new(name, self.branches.len()));
            self.branches.len() - 1
        }))
    }

    pub(crate) fn spawn(&mut self, branch: usize, program: Program) {
        let id = self.next_task;
        self.next_task += 1;
        let state = State {
            branch,
            epoch: self.branches[branch].epoch,
            ends: Time::NEVER,
            future: Some(program(id)),
            waker: Arc::default(),
            sleeps: Vec::new(),
        };
        self.tasks.insert(id, state);
        self.sleep(id, self.now, None);
    }

    /// Removes everything that may refer to the core.
    pub(crate) fn clear(&mut self) -> impl Sized + use<> {
        (std::mem::take(&mut self.tasks), std::mem::take(&mut self.reactions))
    }

    /// Adds a sleep of a task; its number.
    pub(crate) fn sleep(&mut self, task: u64, until: Time, beat: Option<(usize, Beat)>) -> u64 {
        let sequence = self.next_sleep;
        self.next_sleep += 1;
        let at = until.max(self.now);
        self.agenda.insert(Place { at, who: Who::Task(task), sequence }, Entry::Wake(task, beat));
        if let Some(task) = self.tasks.get_mut(&task) {
            task.sleeps.push(sequence);
        }
        sequence
    }

    /// Whether a sleep of a task is over.
    pub(crate) fn is_over(&self, task: u64, sleep: u64) -> bool {
        self.tasks.get(&task).is_none_or(|task| !task.sleeps.contains(&sleep))
    }

    /// Adds an input to the agenda.
    pub(crate) fn expect(&mut self, heard: HeardInput) {
        let sequence = self.inputs.len() as u64;
        self.inputs.push(heard.clone());
        let place = Place { at: heard.effect, who: Who::Input, sequence };
        self.agenda.insert(place, Entry::Input(heard));
    }

    pub(crate) fn next(&self) -> Option<Time> {
        self.agenda.first_key_value().map(|(place, _)| place.at).filter(|at| *at < Time::NEVER)
    }

    pub(crate) fn has_ended(&self) -> bool {
        // Tasks may have ended before a sleep of theirs, but a cut ends notes.
        let happens = |(place, entry): (&Place, &Entry)| {
            place.at < Time::NEVER && !matches!(entry, Entry::Wake(..))
        };
        self.tasks.is_empty() && !self.agenda.iter().any(happens)
    }

    pub(crate) fn has_reached(&mut self, horizon: Time) {
        self.reached = self.reached.max(Some(horizon));
    }

    /// The next thing to do up to a time, which becomes the present.
    pub(crate) fn take_due(&mut self, horizon: Time) -> Option<Due> {
        let is_due = |at: Time| at <= horizon && at < Time::NEVER;
        let first = self.agenda.first_entry().filter(|first| is_due(first.key().at))?;
        let (place, entry) = first.remove_entry();
        self.now = self.now.max(place.at);
        Some(match entry {
            Entry::End(branch, epoch) => Due::End(branch, epoch),
            Entry::Input(heard) => Due::Input(heard),
            Entry::Wake(task, _) => {
                if let Some(state) = self.tasks.get_mut(&task) {
                    state.sleeps.retain(|sleep| *sleep != place.sequence);
                }
                Due::Task(task)
            }
        })
    }

    /// Takes the program of a task out to run it.
    pub(crate) fn lend(&mut self, id: u64) -> Option<(Running, Waker)> {
        let task = self.tasks.get_mut(&id)?;
        self.busy.begins(task.branch);
        Some((task.future.take()?, Waker::from(Arc::clone(&task.waker))))
    }

    /// Puts it back.
    pub(crate) fn keep(&mut self, id: u64, future: Running) {
        if let Some(task) = self.tasks.get_mut(&id) {
            task.future = Some(future);
        }
    }

    /// Removes a task that has ended. A problem ends its notes.
    pub(crate) fn remove(&mut self, id: u64, problem: Option<Problem>) {
        let Some(state) = self.tasks.remove(&id) else { return };
        if let Some(problem) = problem {
            let task = self.branches[state.branch].name.clone();
            self.faults.push(Fault { task, at: self.now, problem });
            let branch = &mut self.branches[state.branch];
            branch.end_open_notes(&mut self.writer, self.now, |author| author.task == id);
        }
    }

    /// Why a task cannot wait, if that is so.
    pub(crate) fn pause(&mut self, id: u64) -> Option<Problem> {
        let task = self.tasks.get(&id)?;
        if task.waker.is_woken() || task.sleeps.is_empty() {
            return Some(Problem::Awaits);
        }
        self.step(task.branch).err()
    }

    /// Counts something that a branch does.
    pub(crate) fn step(&mut self, branch: usize) -> Result<(), Problem> {
        self.branches[branch].step(self.now)
    }

    /// Writes an item, and the end of a note.
    pub(crate) fn play(&mut self, id: u64, draft: Draft) -> Result<(), Problem> {
        let Some(task) = self.tasks.get(&id) else { return Ok(()) };
        let (ends, author) = (task.ends, Author { task: id, epoch: task.epoch });
        let branch = &mut self.branches[task.branch];
        branch.step(self.now)?;
        let Draft { stream, payload, at, if_late, ending, label } = draft;
        let payload = payload?;
        let Some(StreamInfo { format, .. }) = self.streams.get(stream.0 as usize) else {
            return Err(Problem::Other("the stream belongs to another score".to_owned()));
        };
        let due = at.unwrap_or(self.now);
        // A cut that was decided takes what comes after its time.
        if due >= ends {
            return Ok(());
        }
        let line = Line { stream, due, if_late, payload, label };
        match (ending, format) {
            (Some((length, payload)), _) => {
                branch.write(&mut self.writer, line);
                let ending = Ending { begins: due, stream, payload };
                branch.end_note(&mut self.writer, self.now, (due + length).min(ends), ending);
            }
            (None, Format::Midi) => branch.write_message(&mut self.writer, line, author),
            (None, _) => branch.write(&mut self.writer, line),
        }
        Ok(())
    }

    /// Cuts a branch at a time, or at once if that has passed.
    pub(crate) fn cut(&mut self, name: &str, at: Time) -> Result<(), Problem> {
        let Some(branch) = self.branches.iter().position(|branch| branch.name == name) else {
            let names: Vec<&str> =
                self.branches.iter().map(|branch| branch.name.as_str()).collect();
            let nearest = tactus_model::text::nearest(name, &names).map(str::to_owned);
            return Err(Problem::NoBranch(name.to_owned(), nearest));
        };
        let at = at.max(self.now);
        for task in self.tasks.values_mut().filter(|task| task.branch == branch) {
            task.ends = task.ends.min(at);
        }
        self.branches[branch].cut(&mut self.writer, self.now, at);
        let place = Place { at, who: Who::Cut, sequence: self.next_sleep };
        self.next_sleep += 1;
        self.agenda.insert(place, Entry::End(branch, self.branches[branch].epoch));
        Ok(())
    }

    /// Removes the tasks of a branch that began before an epoch, and ends their notes.
    pub(crate) fn end(&mut self, branch: usize, epoch: u32) -> Vec<Running> {
        let is_before = |author: Author| author.epoch < epoch;
        self.branches[branch].end_open_notes(&mut self.writer, self.now, is_before);
        let is_cut = |task: &State| task.branch == branch && task.epoch < epoch;
        let cut: Vec<u64> =
            self.tasks.iter().filter(|(_, task)| is_cut(task)).map(|(id, _)| *id).collect();
        cut.into_iter().filter_map(|id| self.tasks.remove(&id)?.future).collect()
    }

    /// Replaces a timeline's tempo from a beat on, and moves the sleeps that await later beats.
    pub(crate) fn change(
        &mut self,
        timeline: usize,
        change: impl FnOnce(&mut TempoMap) -> Result<(), TempoError>,
    ) -> Result<(), TempoError> {
        change(&mut self.timelines[timeline])?;
        let map = &self.timelines[timeline];
        let agenda = std::mem::take(&mut self.agenda).into_iter();
        self.agenda = agenda
            .map(|(place, entry)| match entry {
                // A beat that has no time any more never comes.
                Entry::Wake(_, Some((line, beat))) if line == timeline => {
                    let at = map.time(beat).unwrap_or(Time::NEVER).max(self.now);
                    (Place { at, ..place }, entry)
                }
                _ => (place, entry),
            })
            .collect();
        Ok(())
    }
}
