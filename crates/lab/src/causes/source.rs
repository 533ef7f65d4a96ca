//! The side that asks.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use tactus_explain::ProbeTask;
use tactus_model::cell::Cell;
use tactus_model::time::Nanos;
use tactus_wire::{Peer, Start, WireError};

use super::{CauseEvent, CauseRequest};
use tactus_cell::unmeasured;

/// A process that records the kernel's events and explains samples by them. Dropping it
/// ends it.
#[derive(Debug)]
pub struct Causes {
    peer: Peer,
    /// Takes our own answer to a request that cannot be sent.
    answer: Sender<CauseEvent>,
    answers: Receiver<CauseEvent>,
    /// Whether it is asked nothing at the moment.
    free: bool,
}

impl Causes {
    /// Starts recording by `executable`, which must run [`main`](super::main) when it is
    /// given `arguments`; away from the CPUs that `cell` measures, where there are
    /// others.
    ///
    /// The process ends with the thread that calls this.
    ///
    /// # Errors
    /// The process cannot be started. Whether it may record is told later.
    pub fn start(executable: &Path, arguments: &[&str], cell: &Cell) -> io::Result<Self> {
        let mut command = Command::new(executable);
        command.args(arguments).stderr(Stdio::null());
        let start = Start::new(command).in_own_group().dies_with_this_thread();
        let (peer, reader) = start.start()?;
        let (answer, answers) = channel();
        let sender = answer.clone();
        reader.listen("hears-causes", move |read| {
            sender.send(read.unwrap_or_else(|error| unavailable(&error))).is_ok()
        })?;
        let mut causes = Self { peer, answer, answers, free: false };
        causes.give(&CauseRequest::Record { aside: unmeasured(cell) });
        Ok(causes)
    }

    /// Whether it could be asked now; it explains one second after the other.
    pub fn is_free(&self) -> bool {
        self.free
    }

    /// Asks for the causes of the slowest of these samples that are later than `threshold`.
    pub fn ask(&mut self, tasks: Vec<ProbeTask>, threshold: Nanos) {
        self.give(&CauseRequest::Explain { tasks, threshold });
    }

    /// What it has said since it was last listened to; never waits.
    pub fn events(&mut self) -> Vec<CauseEvent> {
        let mut events = Vec::new();
        while let Ok(event) = self.answers.try_recv() {
            self.free = !matches!(event, CauseEvent::Unavailable { .. });
            events.push(event);
        }
        events
    }

    fn give(&mut self, request: &CauseRequest) {
        self.free = false;
        if let Err(error) = self.peer.send(request)
            && !error.is_end()
        {
            // A process that has ended is heard of by its output.
            let _ = self.answer.send(unavailable(&error));
        }
    }
}

impl Drop for Causes {
    fn drop(&mut self) {
        // It is not waited for: the kernel takes back the events one by one, some 20 ms
        // each, and nobody shall wait for that.
        self.peer.kill();
    }
}

fn unavailable(error: &WireError) -> CauseEvent {
    let reason = if error.is_end() {
        "the recording process ended".to_owned()
    } else {
        format!("the recording process cannot be understood: {error}")
    };
    CauseEvent::Unavailable { reason, fix: None }
}
