//! A score: the tasks of a program and their executor.

use std::cell::Ref;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use serde::{Deserialize, Serialize};
use tactus_delivery::format::Format;
use tactus_delivery::item::{BranchId, StreamId};
use tactus_model::time::Nanos;

use crate::busy::Busy;
use crate::core::{Due, Program, Reaction, Shared};
use crate::draft::{Bytes, Dmx, Midi, Output};
use crate::error::{Fault, Problem};
use crate::task::Task;
use crate::tempo::TempoMap;
use crate::time::Time;
use crate::timeline::Timeline;

/// A program in logical time: its streams, its tasks and what they have written.
///
/// Tasks run in the order of (logical time, task, sequence), whatever is asked of
/// [`Self::run_until`]: what they write depends only on the program and its inputs.
#[derive(Debug, Default)]
pub struct Score {
    core: Shared,
}

/// A stream that a score writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamInfo {
    /// The name of its device.
    pub device: String,
    /// What the score writes to it.
    pub format: Format,
}

/// An input: bytes, and when they arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// When it arrived.
    pub at: Time,
    /// The bytes.
    pub bytes: Box<[u8]>,
}

/// The most inputs of a performance: each is recorded.
pub const INPUTS: usize = 1 << 20;

/// A reaction of a score to inputs: its number, in the order of [`Score::react`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReactionId(pub usize);

/// An input with the time at which the program reacted: enough to repeat the performance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeardInput {
    /// The reaction that it starts.
    pub reaction: ReactionId,
    /// The logical time at which the reaction began.
    pub effect: Time,
    /// The input.
    pub input: Input,
}

impl Score {
    /// A score without tasks.
    pub fn new() -> Self {
        Self::default()
    }

    /// A stream of MIDI messages to the device of this name.
    pub fn midi(&self, device: &str) -> Midi {
        Midi::new(self.stream(device, Format::Midi))
    }

    /// A stream of a DMX512 universe to the device of this name.
    pub fn dmx(&self, device: &str) -> Dmx {
        Dmx::new(self.stream(device, Format::Dmx))
    }

    /// A stream of bytes to the device of this name.
    pub fn bytes(&self, device: &str) -> Bytes {
        Bytes::new(self.stream(device, Format::Bytes { most: u32::MAX }))
    }

    fn stream(&self, device: &str, format: Format) -> StreamId {
        let mut core = self.core.borrow_mut();
        core.streams.push(StreamInfo { device: device.to_owned(), format });
        StreamId(core.streams.len() as u32 - 1)
    }

    /// The streams, in the order of their numbers.
    pub fn streams(&self) -> Ref<'_, [StreamInfo]> {
        Ref::map(self.core.borrow(), |core| core.streams.as_slice())
    }

    /// The name of a branch; empty if there is no such branch.
    pub fn branch_name(&self, branch: BranchId) -> String {
        let core = self.core.borrow();
        core.branches.get(branch.0 as usize).map(|branch| branch.name.clone()).unwrap_or_default()
    }

    /// A tempo map that tasks share, and may change while others await its beats.
    pub fn timeline(&self, map: TempoMap) -> Timeline {
        Timeline::new(&self.core, map)
    }

    /// Adds a task in the branch of this name. It begins at [`Time::START`].
    ///
    /// # Errors
    /// Fails if there are too many branches.
    pub fn spawn<F>(&self, branch: &str, program: F) -> Result<(), Problem>
    where
        F: AsyncFnOnce(Task) -> Result<(), Problem> + 'static,
    {
        let mut core = self.core.borrow_mut();
        let branch = core.branch(branch)?;
        core.spawn(branch, program_of(&self.core, branch, program));
        Ok(())
    }

    /// Starts a task in the branch of this name for each input, `within` after the input arrived.
    ///
    /// A performance runs its tasks at most half of that time ahead; the other half is for
    /// the way of the input. An input that takes longer acts as early as possible, and is counted.
    ///
    /// # Errors
    /// Fails if there are too many branches.
    pub fn react<F>(&self, branch: &str, within: Nanos, program: F) -> Result<ReactionId, Problem>
    where
        F: AsyncFn(Task, Input) -> Result<(), Problem> + 'static,
    {
        let mut core = self.core.borrow_mut();
        let branch = core.branch(branch)?;
        let program = Rc::new(program);
        let shared = Rc::clone(&self.core);
        let start = move |input: Input| {
            let program = Rc::clone(&program);
            program_of(&shared, branch, async move |task: Task| program(task, input).await)
        };
        core.reactions.push(Reaction { branch, within, start: Rc::new(start) });
        Ok(ReactionId(core.reactions.len() - 1))
    }

    /// The shortest time within which a task reacts; `None` if the score takes no inputs.
    pub fn shortest_reaction(&self) -> Option<Nanos> {
        self.core.borrow().reactions.iter().map(|reaction| reaction.within).min()
    }

    /// Which task runs, for another thread.
    pub fn busy(&self) -> Arc<Busy> {
        Arc::clone(&self.core.borrow().busy)
    }

    /// Whether it has a reaction.
    pub fn has_reaction(&self, reaction: ReactionId) -> bool {
        reaction.0 < self.core.borrow().reactions.len()
    }

    /// Passes an input to a reaction; whether it came in time. Inputs beyond [`INPUTS`] are ignored.
    ///
    /// # Panics
    /// Panics if there is no such reaction.
    pub fn input(&self, reaction: ReactionId, input: Input) -> bool {
        let mut core = self.core.borrow_mut();
        if core.inputs.len() >= INPUTS {
            return false;
        }
        let wanted = input.at + core.reactions[reaction.0].within;
        // Everything up to there has happened.
        let earliest = core.reached.map_or(Time::START, |reached| reached + Nanos::from_nanos(1));
        core.expect(HeardInput { reaction, effect: wanted.max(earliest), input });
        wanted >= earliest
    }

    /// Repeats the inputs of another performance, before the score runs.
    ///
    /// # Errors
    /// Fails if an input has no reaction in this score.
    pub fn replay(&self, inputs: &[HeardInput]) -> Result<(), Problem> {
        let mut core = self.core.borrow_mut();
        for heard in inputs {
            let ReactionId(number) = heard.reaction;
            if number >= core.reactions.len() {
                return Err(Problem::Other(format!("the score has no reaction {number}")));
            }
            if core.inputs.len() >= INPUTS {
                return Err(Problem::Other(format!("more than {INPUTS} inputs")));
            }
            core.expect(heard.clone());
        }
        Ok(())
    }

    /// The inputs so far, with the times of their effects.
    pub fn inputs_so_far(&self) -> Vec<HeardInput> {
        self.core.borrow().inputs.clone()
    }

    /// Runs everything up to a logical time, that time included.
    pub fn run_until(&self, horizon: Time) {
        loop {
            let due = self.core.borrow_mut().take_due(horizon);
            match due {
                Some(Due::End(branch, epoch)) => self.end(branch, epoch),
                Some(Due::Input(heard)) => self.begin(heard),
                Some(Due::Task(task)) => self.resume(task),
                None => return self.core.borrow_mut().has_reached(horizon),
            }
        }
    }

    /// When something happens next; `None` if nothing does before an input.
    pub fn next(&self) -> Option<Time> {
        self.core.borrow().next()
    }

    /// Whether nothing is left to run.
    pub fn has_ended(&self) -> bool {
        self.core.borrow().has_ended()
    }

    /// Takes what was written since the last call, in order.
    pub fn take_outputs(&self) -> VecDeque<Output> {
        std::mem::take(&mut self.core.borrow_mut().writer.outputs)
    }

    /// Takes the tasks that ended because of a problem since the last call.
    pub fn take_faults(&self) -> Vec<Fault> {
        std::mem::take(&mut self.core.borrow_mut().faults)
    }

    fn begin(&self, heard: HeardInput) {
        let (branch, start) = {
            let core = self.core.borrow();
            let reaction = &core.reactions[heard.reaction.0];
            (reaction.branch, Rc::clone(&reaction.start))
        };
        self.core.borrow_mut().spawn(branch, start(heard.input));
    }

    fn end(&self, branch: usize, epoch: u32) {
        let ended = self.core.borrow_mut().end(branch, epoch);
        // Programs may have destructors, which may use the score.
        drop(ended);
    }

    fn resume(&self, id: u64) {
        // The program is out of the core while it runs, because it uses the core.
        let Some((mut future, waker)) = self.core.borrow_mut().lend(id) else { return };
        let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
        let mut core = self.core.borrow_mut();
        core.busy.ends();
        let problem = match polled {
            Poll::Ready(result) => result.err(),
            Poll::Pending => match core.pause(id) {
                None => return core.keep(id, future),
                problem => problem,
            },
        };
        core.remove(id, problem);
        drop(core);
        drop(future);
    }
}

impl Drop for Score {
    fn drop(&mut self) {
        // Tasks hold their score. Their destructors may use it.
        let cleared = self.core.borrow_mut().clear();
        drop(cleared);
    }
}

/// The program that becomes a task when it has a number.
pub(crate) fn program_of<F>(core: &Shared, branch: usize, program: F) -> Program
where
    F: AsyncFnOnce(Task) -> Result<(), Problem> + 'static,
{
    let core = Rc::clone(core);
    Box::new(move |id| {
        let task = Task::new(core, id, branch);
        Box::pin(async move { program(task).await })
    })
}
