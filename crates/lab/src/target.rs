//! Targets, which measure cells.

use std::io;
use std::sync::mpsc::Sender;

use tactus_model::message::{CellRequest, Message};
use tactus_wire::Input;

/// An event that wakes the engine.
#[derive(Debug)]
pub(crate) enum Signal {
    /// Input from the measuring process of the turn with this number.
    Input(usize, Input<Message>),
    /// The user stops the run.
    Stop,
}

/// The engine's inbox for the input from a measuring process.
#[derive(Clone, Debug)]
pub struct Inbox {
    /// Prevents a process of an ended turn from affecting a later turn.
    pub(crate) turn: usize,
    pub(crate) signals: Sender<Signal>,
}

impl Inbox {
    /// Passes `input` to the engine; false if the engine is gone.
    pub fn put(&self, input: Input<Message>) -> bool {
        self.signals.send(Signal::Input(self.turn, input)).is_ok()
    }
}

/// Ends a run from another thread.
#[derive(Clone, Debug)]
pub struct Stopper(pub(crate) Sender<Signal>);

impl Stopper {
    /// Requests the end of the present turn and of the run.
    pub fn stop(&self) {
        // If the engine is gone, the run has ended already.
        let _ = self.0.send(Signal::Stop);
    }
}

/// A place where cells are measured: this host, or guests.
pub trait Target {
    /// Starts the measurement that `request` describes; its input arrives in `inbox`.
    ///
    /// # Errors
    /// The measuring process cannot be started.
    fn begin(&mut self, request: &CellRequest, inbox: Inbox) -> io::Result<Box<dyn Measuring>>;
}

/// A measurement in progress.
pub trait Measuring {
    /// Ends it at once, with its load, waits for its end, and describes how it ended.
    fn end(self: Box<Self>) -> String;
}
