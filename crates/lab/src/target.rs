//! Where cells are measured.

use std::io;
use std::sync::mpsc::Sender;

use tactus_model::message::{CellRequest, Message};
use tactus_wire::Input;

/// What wakes the engine.
#[derive(Debug)]
pub(crate) enum Signal {
    /// Something came from the measuring process of the turn with this number.
    Input(usize, Input<Message>),
    /// The user wants the run to end.
    Stop,
}

/// Where a target puts what its measuring process says.
#[derive(Clone, Debug)]
pub struct Inbox {
    /// Keeps a process that was given up from speaking into a later turn.
    pub(crate) turn: usize,
    pub(crate) signals: Sender<Signal>,
}

impl Inbox {
    /// Hands `input` to the engine; false when the engine listens no more.
    pub fn put(&self, input: Input<Message>) -> bool {
        self.signals.send(Signal::Input(self.turn, input)).is_ok()
    }
}

/// Ends a run from another thread.
#[derive(Clone, Debug)]
pub struct Stopper(pub(crate) Sender<Signal>);

impl Stopper {
    /// Asks the engine to end the turn in flight and take no other.
    pub fn stop(&self) {
        // A run that is already over needs no stopping.
        let _ = self.0.send(Signal::Stop);
    }
}

/// Where cells are measured: on this host, or in guests.
pub trait Target {
    /// Starts measuring what `request` asks for; everything that follows arrives in `inbox`.
    ///
    /// # Errors
    /// The measuring process cannot be started.
    fn begin(&mut self, request: &CellRequest, inbox: Inbox) -> io::Result<Box<dyn Measuring>>;
}

/// A measurement that goes on somewhere.
pub trait Measuring {
    /// Ends it at once, with its load, and waits until it is gone; tells how it ended.
    fn end(self: Box<Self>) -> String;
}
