//! What a task does.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tactus_model::time::Nanos;

use crate::beat::Beat;
use crate::core::Shared;
use crate::draft::Draft;
use crate::error::Problem;
use crate::score::program_of;
use crate::time::Time;
use crate::timeline::Timeline;

/// A task of a score, as its program sees it: an active object of the toolkit of 1993.
///
/// A program awaits [`at`](Self::at), [`after`](Self::after) and [`beat`](Self::beat), and nothing
/// else. A task that awaits anything else ends with a [fault](crate::Fault).
#[derive(Clone, Debug)]
pub struct Task {
    core: Shared,
    id: u64,
    branch: usize,
}

impl Task {
    pub(crate) const fn new(core: Shared, id: u64, branch: usize) -> Self {
        Self { core, id, branch }
    }

    /// The present logical time.
    pub fn now(&self) -> Time {
        self.core.borrow().now
    }

    /// Waits until a logical time. If it has passed, the task goes on at the present one, after
    /// what was to happen then.
    pub fn at(&self, time: Time) -> Sleep {
        Sleep { core: Rc::clone(&self.core), task: self.id, until: time, beat: None, number: None }
    }

    /// Waits for a duration.
    pub fn after(&self, length: Nanos) -> Sleep {
        self.at(self.now() + length)
    }

    /// Waits until a beat, whatever becomes of the tempo meanwhile.
    ///
    /// # Errors
    /// Fails if the beat has no time.
    pub async fn beat(&self, timeline: &Timeline, beat: Beat) -> Result<(), Problem> {
        let until = timeline.time(beat)?;
        Sleep { beat: Some((timeline.number(), beat)), ..self.at(until) }.await;
        Ok(())
    }

    /// Writes an item, in the branch of the task.
    ///
    /// # Errors
    /// Fails if the payload does not fit, or after [too much](crate::error::STEPS) at one time.
    pub fn play(&self, draft: Draft) -> Result<(), Problem> {
        self.core.borrow_mut().play(self.id, draft)
    }

    /// Adds a task in the branch of this name, which begins now.
    ///
    /// # Errors
    /// Fails if there are too many branches, or after [too much](crate::error::STEPS) at one time.
    pub fn spawn<F>(&self, branch: &str, program: F) -> Result<(), Problem>
    where
        F: AsyncFnOnce(Self) -> Result<(), Problem> + 'static,
    {
        let mut core = self.core.borrow_mut();
        core.step(self.branch)?;
        let branch = core.branch(branch)?;
        core.spawn(branch, program_of(&self.core, branch, program));
        Ok(())
    }

    /// Cuts a branch at a time, in all streams: its tasks end then, what they wrote for later is
    /// not delivered, and their notes end. Tasks that are added to the branch from now on are not
    /// cut.
    ///
    /// # Errors
    /// Fails if there is no such branch.
    pub fn cut(&self, branch: &str, at: Time) -> Result<(), Problem> {
        let mut core = self.core.borrow_mut();
        core.step(self.branch)?;
        core.cut(branch, at)
    }

    /// The name of the task's branch.
    pub fn branch(&self) -> String {
        self.core.borrow().branches[self.branch].name.clone()
    }
}

/// Waits for a logical time.
#[derive(Debug)]
#[must_use = "a task waits only for what it awaits"]
pub struct Sleep {
    core: Shared,
    task: u64,
    until: Time,
    beat: Option<(usize, Beat)>,
    number: Option<u64>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let Self { task, until, beat, number, .. } = *self;
        match number {
            Some(number) if self.core.borrow().is_over(task, number) => return Poll::Ready(()),
            Some(_) => {}
            None => {
                let number = self.core.borrow_mut().sleep(task, until, beat);
                self.number = Some(number);
            }
        }
        Poll::Pending
    }
}
