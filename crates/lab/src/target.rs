//! Where cells are measured.

use std::io;
use std::sync::mpsc::Sender;

use tactus_model::message::{Message, Order};
use tactus_wire::WireError;

/// What a measuring process lets the engine know.
#[derive(Debug)]
pub enum Input {
    /// It said something.
    Message(Message),
    /// It wrote a line that is no message; its beginning, or what else is wrong with it.
    Garbled(String),
    /// It has closed its end: nothing more will come.
    Closed,
}

impl From<Result<Message, WireError>> for Input {
    fn from(read: Result<Message, WireError>) -> Self {
        match read {
            Ok(message) => Self::Message(message),
            Err(WireError::Garbled { beginning, .. }) => Self::Garbled(beginning),
            // A process that is killed may leave half a message behind.
            Err(error) if error.is_end() => Self::Closed,
            Err(error) => Self::Garbled(error.to_string()),
        }
    }
}

/// What wakes the engine.
#[derive(Debug)]
pub(crate) enum Signal {
    /// Something came from the measuring process of the turn with this number.
    Input(usize, Input),
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
    pub fn put(&self, input: Input) -> bool {
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

/// A place where cells are measured: this host, later guests and other machines.
pub trait Target {
    /// Starts measuring `order`; everything that follows arrives in `inbox`.
    ///
    /// # Errors
    /// The measuring process cannot be started.
    fn begin(&mut self, order: &Order, inbox: Inbox) -> io::Result<Box<dyn Measuring>>;
}

/// A measurement that goes on somewhere.
pub trait Measuring {
    /// Ends it at once, with its load, and waits until it is gone; tells how it ended.
    fn end(self: Box<Self>) -> String;
}
