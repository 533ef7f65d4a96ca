//! Tempo maps that tasks share.

use std::rc::Rc;

use tactus_model::time::Nanos;

use crate::beat::Beat;
use crate::core::Shared;
use crate::tempo::{Tempo, TempoError, TempoMap};
use crate::time::Time;

/// A tempo map of a score. When its tempo changes, tasks that [await](crate::Task::beat) later
/// beats wake at their new times. Copies refer to the same map.
#[derive(Clone, Debug)]
pub struct Timeline {
    core: Shared,
    number: usize,
}

impl Timeline {
    pub(crate) fn new(core: &Shared, map: TempoMap) -> Self {
        let core = Rc::clone(core);
        let number = core.borrow().timelines.len();
        core.borrow_mut().timelines.push(map);
        Self { core, number }
    }

    pub(crate) const fn number(&self) -> usize {
        self.number
    }

    fn map<T>(&self, ask: impl FnOnce(&TempoMap) -> T) -> T {
        ask(&self.core.borrow().timelines[self.number])
    }

    /// The time of a beat; see [`TempoMap::time`].
    ///
    /// # Errors
    /// Fails if the beat has no time.
    pub fn time(&self, beat: Beat) -> Result<Time, TempoError> {
        self.map(|map| map.time(beat))
    }

    /// The duration of `length` beats from a beat on, at the present tempo.
    ///
    /// # Errors
    /// Fails if a beat has no time.
    pub fn span(&self, from: Beat, length: Beat) -> Result<Nanos, TempoError> {
        self.map(|map| map.span(from, length))
    }

    /// The last multiple of 1/`parts` of a beat at a time; see [`TempoMap::beat`].
    ///
    /// # Errors
    /// Fails if the time is too far away.
    pub fn position(&self, time: Time, parts: u32) -> Result<Beat, TempoError> {
        self.map(|map| map.beat(time, parts))
    }

    /// Replaces everything from a beat on by one tempo. The position does not jump if that beat has
    /// not come yet.
    ///
    /// # Errors
    /// Fails if the tempo is impossible, or the beat has no time.
    pub fn change(&self, from: Beat, tempo: Tempo) -> Result<(), TempoError> {
        self.core.borrow_mut().change(self.number, |map| map.change(from, tempo))
    }
}
