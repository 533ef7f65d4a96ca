//! Targets, which measure cells.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tactus_model::message::{CellRequest, Message};
use tactus_wire::Input;

/// The maximum number of signals that wait for the engine; a measuring process that sends more
/// has to wait. A message has at most [`MESSAGE_LIMIT`](tactus_wire::MESSAGE_LIMIT) bytes, and
/// the engine only stores it.
const QUEUE: usize = 4;

/// An event that wakes the engine.
#[derive(Debug)]
pub(crate) enum Signal {
    /// Input from the measuring process.
    Input(Input<Message>),
    /// The user stops the run.
    Stop,
}

/// The engine's inbox for the input from the measuring process of one turn.
#[derive(Clone, Debug)]
pub struct Inbox(SyncSender<Signal>);

impl Inbox {
    /// An inbox and its other end, which the engine drops at the end of the turn.
    pub(crate) fn new() -> (Self, Receiver<Signal>) {
        let (sender, signals) = sync_channel(QUEUE);
        (Self(sender), signals)
    }

    /// Passes `input` to the engine, and waits until it has space; false if the turn has ended.
    pub fn put(&self, input: Input<Message>) -> bool {
        self.0.send(Signal::Input(input)).is_ok()
    }
}

/// Ends a run from another thread.
#[derive(Clone, Debug, Default)]
pub struct Stopper(Arc<Stop>);

#[derive(Debug, Default)]
struct Stop {
    is_requested: AtomicBool,
    /// The inboxes of the present turns, with numbers that identify them.
    inboxes: Mutex<Vec<(u64, Inbox)>>,
    /// The number of the next inbox.
    next: AtomicU64,
}

impl Stopper {
    /// Requests the end of the present turns and of the run; never waits.
    pub fn stop(&self) {
        self.0.is_requested.store(true, Ordering::SeqCst);
        for (_, inbox) in self.inboxes().iter() {
            // An engine with a full inbox is awake, and a turn that has ended needs no signal.
            let _ = inbox.0.try_send(Signal::Stop);
        }
    }

    /// Wakes a turn through `inbox` until the returned value is dropped.
    pub(crate) fn watch(&self, inbox: Inbox) -> Watching {
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        self.inboxes().push((number, inbox));
        Watching { stopper: self.clone(), number }
    }

    /// Whether the end was requested.
    pub(crate) fn is_requested(&self) -> bool {
        self.requested().load(Ordering::SeqCst)
    }

    /// The flag that a request sets, for what is no turn.
    pub fn requested(&self) -> &AtomicBool {
        &self.0.is_requested
    }

    /// Whether the end was requested since the last call.
    pub(crate) fn take_request(&self) -> bool {
        self.0.is_requested.swap(false, Ordering::SeqCst)
    }

    fn inboxes(&self) -> MutexGuard<'_, Vec<(u64, Inbox)>> {
        self.0.inboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A turn that the stopper wakes.
#[derive(Debug)]
pub(crate) struct Watching {
    stopper: Stopper,
    number: u64,
}

impl Watching {
    /// Whether the end was requested.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopper.is_requested()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.stopper.inboxes().retain(|(number, _)| *number != self.number);
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
pub trait Measuring: Send {
    /// Ends it at once, with its load, waits for its end, and describes how it ended.
    fn end(self: Box<Self>) -> String;
}
