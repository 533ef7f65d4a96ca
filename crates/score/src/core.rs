//! The state that a score and its tasks share.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

use tactus_delivery::item::{BranchId, IfLate, StreamId};
use tactus_model::time::Nanos;

use crate::beat::Beat;
use crate::busy::Busy;
use crate::draft::{Draft, Kind, Output, Written};
use crate::error::{BRANCHES, Fault, Problem, STEPS};
use crate::score::{Input, Recorded, StreamInfo};
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
    pub(crate) recording: Vec<Recorded>,
    pub(crate) outputs: VecDeque<Output>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) busy: Arc<Busy>,
    tasks: BTreeMap<u64, State>,
    agenda: BTreeMap<Place, Entry>,
    /// The sleep that is over while its task runs.
    woken: Option<u64>,
    next_task: u64,
    next_sleep: u64,
    next_item: u64,
}

/// Several tasks of one name, which are cut together.
pub(crate) struct Branch {
    pub(crate) name: String,
    /// How often it was cut.
    epoch: u32,
    /// How many steps it made at a time, the last at which it made any.
    steps: (Time, u32),
    /// The ends of notes that are written, in their order.
    endings: BTreeMap<(Time, u64), Ending>,
    /// Notes without a written end, by stream, channel and key.
    open: BTreeMap<(StreamId, u8, u8), Open>,
}

struct Ending {
    begins: Time,
    stream: StreamId,
    payload: Rc<[u8]>,
}

/// An item without its branch.
struct Line {
    stream: StreamId,
    due: Time,
    if_late: IfLate,
    payload: Rc<[u8]>,
    label: Option<Rc<str>>,
}

impl Line {
    /// The end of a note that has begun, which is never dropped.
    const fn end_of_note(stream: StreamId, due: Time, payload: Rc<[u8]>) -> Self {
        Self { stream, due, if_late: IfLate::Deliver, payload, label: None }
    }
}

impl Branch {
    /// Follows which notes have no written end.
    fn follow(&mut self, stream: StreamId, message: &[u8], begins: Open) {
        match *message {
            [status @ 0x90..=0x9F, key, 1..=127] => {
                self.open.insert((stream, status & 0x0F, key), begins);
            }
            [status @ 0x80..=0x9F, key, _] => {
                self.open.remove(&(stream, status & 0x0F, key));
            }
            _ => {}
        }
    }
}

/// Who began a note.
#[derive(Clone, Copy)]
struct Open {
    task: u64,
    epoch: u32,
}

/// What starts a task for an input.
pub(crate) struct Reaction {
    pub(crate) branch: usize,
    pub(crate) time: Nanos,
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
    /// The sleeps that are not over.
    sleeps: u32,
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
    Input(Recorded),
    /// A sleep is over: until a time, or a beat of a timeline, which may change.
    Wake(Option<(usize, Beat)>),
}

/// What is to be done.
pub(crate) enum Due {
    End(usize, u32),
    Input(Recorded),
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
            let (name, steps) = (name.to_owned(), (Time::START, 0));
            let (endings, open) = (BTreeMap::new(), BTreeMap::new());
            self.branches.push(Branch { name, epoch: 0, steps, endings, open });
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
            sleeps: 0,
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
        self.agenda.insert(Place { at, who: Who::Task(task), sequence }, Entry::Wake(beat));
        if let Some(task) = self.tasks.get_mut(&task) {
            task.sleeps += 1;
        }
        sequence
    }

    /// Whether the sleep of this number is over.
    pub(crate) fn is_over(&self, sleep: u64) -> bool {
        self.woken == Some(sleep)
    }

    /// Adds an input to the agenda.
    pub(crate) fn expect(&mut self, recorded: Recorded) {
        let sequence = self.recording.len() as u64;
        self.recording.push(recorded.clone());
        let place = Place { at: recorded.effect, who: Who::Input, sequence };
        self.agenda.insert(place, Entry::Input(recorded));
    }

    pub(crate) fn next(&self) -> Option<Time> {
        self.agenda.first_key_value().map(|(place, _)| place.at).filter(|at| *at < Time::NEVER)
    }

    pub(crate) fn has_ended(&self) -> bool {
        let waits = |entry: &Entry| matches!(entry, Entry::Input(_));
        self.tasks.is_empty() && !self.agenda.values().any(waits)
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
        Some(match (place.who, entry) {
            (_, Entry::End(branch, epoch)) => Due::End(branch, epoch),
            (_, Entry::Input(recorded)) => Due::Input(recorded),
            (Who::Task(id), Entry::Wake(_)) => {
                self.woken = Some(place.sequence);
                Due::Task(id)
            }
            (Who::Cut | Who::Input, Entry::Wake(_)) => unreachable!("only tasks sleep"),
        })
    }

    /// Takes the program of a task out to run it.
    pub(crate) fn lend(&mut self, id: u64) -> Option<(Running, Waker)> {
        let task = self.tasks.get_mut(&id)?;
        task.sleeps -= 1;
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
            self.end_open_notes(state.branch, |note| note.task == id);
        }
    }

    /// Why a task cannot wait, if that is so.
    pub(crate) fn pause(&mut self, id: u64) -> Option<Problem> {
        let task = self.tasks.get(&id)?;
        if task.waker.is_woken() || task.sleeps == 0 {
            return Some(Problem::Awaits);
        }
        self.step(task.branch).err()
    }

    /// Counts something that a branch does.
    pub(crate) fn step(&mut self, branch: usize) -> Result<(), Problem> {
        let (at, steps) = &mut self.branches[branch].steps;
        if *at < self.now {
            (*at, *steps) = (self.now, 0);
        }
        *steps = steps.saturating_add(1);
        if *steps > STEPS { Err(Problem::Steps) } else { Ok(()) }
    }

    /// Writes an item, and the end of a note.
    pub(crate) fn play(&mut self, id: u64, draft: Draft) -> Result<(), Problem> {
        let Some(task) = self.tasks.get(&id) else { return Ok(()) };
        let (branch, ends) = (task.branch, task.ends);
        let open = Open { task: id, epoch: task.epoch };
        self.step(branch)?;
        let Draft { stream, payload, at, if_late, ending, label } = draft;
        let due = at.unwrap_or(self.now);
        // A cut that was decided takes what comes after its time.
        if due >= ends {
            return payload.map(drop).map_err(Problem::from);
        }
        let Some(StreamInfo { kind, .. }) = self.streams.get(stream.0 as usize) else {
            return Err(Problem::Other("the stream belongs to another score".to_owned()));
        };
        let payload = payload?;
        match ending {
            None if *kind == Kind::Midi => self.branches[branch].follow(stream, &payload, open),
            _ => {}
        }
        self.write(branch, Line { stream, due, if_late, payload, label });
        if let Some((length, payload)) = ending {
            let ending = Ending { begins: due, stream, payload };
            self.end_note(branch, (due + length).min(ends), ending);
        }
        Ok(())
    }

    /// Writes an item; its number.
    fn write(&mut self, branch: usize, line: Line) -> u64 {
        let Line { stream, due, if_late, payload, label } = line;
        let (number, branch) = (self.next_item, BranchId(branch as u32));
        self.next_item += 1;
        let item = Written { number, stream, branch, due, if_late, payload, label };
        self.outputs.push_back(Output::Item(item));
        number
    }

    /// Writes the end of a note, and remembers it in case the branch is cut before.
    fn end_note(&mut self, branch: usize, due: Time, ending: Ending) {
        let line = Line::end_of_note(ending.stream, due, Rc::clone(&ending.payload));
        let number = self.write(branch, line);
        let endings = &mut self.branches[branch].endings;
        while let Some(first) = endings.first_entry()
            && first.key().0 < self.now
        {
            first.remove();
        }
        endings.insert((due, number), ending);
    }

    /// Ends notes now that have no written end.
    fn end_open_notes(&mut self, branch: usize, ends: impl Fn(Open) -> bool) {
        let all = std::mem::take(&mut self.branches[branch].open);
        let (ended, kept) = all.into_iter().partition(|(_, note)| ends(*note));
        self.branches[branch].open = kept;
        let ended: BTreeMap<(StreamId, u8, u8), Open> = ended;
        for (stream, channel, key) in ended.into_keys() {
            let payload = Rc::from([0x80 | channel, key, 0x40]);
            self.write(branch, Line::end_of_note(stream, self.now, payload));
        }
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
        self.branches[branch].epoch += 1;
        let epoch = self.branches[branch].epoch;
        for task in self.tasks.values_mut().filter(|task| task.branch == branch) {
            task.ends = task.ends.min(at);
        }
        let place = Place { at, who: Who::Cut, sequence: self.next_sleep };
        self.next_sleep += 1;
        self.agenda.insert(place, Entry::End(branch, epoch));
        self.outputs.push_back(Output::Cut { branch: BranchId(branch as u32), at });
        // Notes that would sound beyond the cut end there.
        let cut = self.branches[branch].endings.split_off(&(at, 0));
        for ending in cut.into_values().filter(|ending| ending.begins < at) {
            self.end_note(branch, at, ending);
        }
        Ok(())
    }

    /// Removes the tasks of a branch that began before an epoch, and ends their notes.
    pub(crate) fn end(&mut self, branch: usize, epoch: u32) -> Vec<Running> {
        self.end_open_notes(branch, |note| note.epoch < epoch);
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
                Entry::Wake(Some((line, beat))) if line == timeline => {
                    let at = map.time(beat).unwrap_or(Time::NEVER).max(self.now);
                    (Place { at, ..place }, entry)
                }
                _ => (place, entry),
            })
            .collect();
        Ok(())
    }
}
