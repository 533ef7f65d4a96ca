//! A thread that tests do something to.

use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};

/// A thread that sleeps until this is dropped.
#[derive(Debug)]
pub struct Sleeper<Id> {
    /// Its ID.
    pub id: Id,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl<Id: Send + 'static> Sleeper<Id> {
    /// Starts the thread, which finds its own ID by `id`. Its stack is small: tests start many.
    ///
    /// # Panics
    /// The system starts no thread.
    pub fn start(id: fn() -> Id) -> Self {
        let (end, ended) = channel();
        let (number, numbers) = channel();
        let thread = Builder::new().stack_size(64 << 10).spawn(move || {
            let _ = number.send(id());
            let _ = ended.recv();
        });
        let thread = Some(thread.expect("a thread"));
        Self { id: numbers.recv().expect("the ID of a thread"), end: Some(end), thread }
    }
}

impl<Id> Drop for Sleeper<Id> {
    fn drop(&mut self) {
        self.end.take();
        // A panic of it was printed by itself.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
