//! What the threads of a player share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tactus_delivery::item::Moment;
use tactus_model::time::Monotonic;
use tactus_playback::{Clock, MediaTime, Speed};
use tactus_sys::clock;

/// The present.
pub(crate) fn now() -> Moment {
    clock::now::<Monotonic>()
}

/// A part of a clip that plays without a jump, to the end: what a decoder is to deliver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Passage {
    /// Its number: what decoders have delivered for earlier ones does not count any more.
    pub(crate) number: u64,
    /// The first media time.
    pub(crate) from: MediaTime,
    pub(crate) speed: Speed,
    /// Frames of sound a second.
    pub(crate) rate: u32,
}

/// The clock, with what was asked of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    pub(crate) clock: Clock,
    /// How often it was started or stopped: whoever follows it sees that something has changed.
    pub(crate) changes: u64,
    pub(crate) passage: Passage,
    /// When it last started.
    pub(crate) started: Moment,
}

/// The clock of a player. It is held for a few instructions, by threads of several priorities.
pub(crate) struct SharedClock(Mutex<State>);

impl SharedClock {
    pub(crate) fn new(passage: Passage) -> Self {
        let clock = Clock::resting(passage.from, passage.speed);
        Self(Mutex::new(State { clock, changes: 0, passage, started: Moment::from_nanos(0) }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state(&self) -> State {
        *self.lock()
    }

    pub(crate) fn clock(&self) -> Clock {
        self.lock().clock
    }

    pub(crate) fn start(&self, at: Moment) {
        let mut state = self.lock();
        state.clock.start(at);
        state.started = at;
        state.changes += 1;
    }

    pub(crate) fn rest(&self, at: Moment) {
        let mut state = self.lock();
        state.clock.rest(at);
        state.changes += 1;
    }

    /// Lets it rest where a passage begins.
    pub(crate) fn reset(&self, passage: Passage) {
        let mut state = self.lock();
        state.clock.set_speed(passage.speed);
        state.clock.seek(passage.from);
        state.passage = passage;
        state.changes += 1;
    }

    /// Lets the sound device drive it, unless it was started or stopped since `changes`.
    pub(crate) fn steer(&self, changes: u64, drive: impl FnOnce(&mut Clock)) {
        let mut state = self.lock();
        if state.changes == changes {
            drive(&mut state.clock);
        }
    }
}
