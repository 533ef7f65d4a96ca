//! The side that sends the requests.

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

/// A process that records the kernel's events and explains samples with them. Dropping this
/// ends the process.
#[derive(Debug)]
pub struct Causes {
    peer: Peer,
    /// Takes our own event if a request cannot be sent.
    sender: Sender<CauseEvent>,
    events: Receiver<CauseEvent>,
    /// Whether no request is pending.
    free: bool,
}

impl Causes {
    /// Starts recording with `executable`, which must run [`main`](super::main) with
    /// `arguments`; on other CPUs than those that `cell` measures, if there are others.
    ///
    /// The process ends with the thread that calls this.
    ///
    /// # Errors
    /// The process cannot be started. A later event reports whether it can record.
    pub fn start(executable: &Path, arguments: &[&str], cell: &Cell) -> io::Result<Self> {
        let mut command = Command::new(executable);
        command.args(arguments).stderr(Stdio::null());
        let start = Start::new(command).in_own_group().dies_with_this_thread();
        let (peer, reader) = start.start()?;
        let (sender, events) = channel();
        let received = sender.clone();
        reader.listen("cause-reader", move |read| {
            received.send(read.unwrap_or_else(|error| unavailable(&error))).is_ok()
        })?;
        let mut causes = Self { peer, sender, events, free: false };
        causes.send(&CauseRequest::Record { aside: unmeasured(cell) });
        Ok(causes)
    }

    /// Whether it accepts a request now; it explains the seconds one after another.
    pub fn is_free(&self) -> bool {
        self.free
    }

    /// Requests the causes of the slowest of these samples that are later than `threshold`.
    pub fn request(&mut self, tasks: Vec<ProbeTask>, threshold: Nanos) {
        self.send(&CauseRequest::Explain { tasks, threshold });
    }

    /// The events since the last call; never waits.
    pub fn events(&mut self) -> Vec<CauseEvent> {
        let mut events = Vec::new();
        while let Ok(event) = self.events.try_recv() {
            self.free = !matches!(event, CauseEvent::Unavailable { .. });
            events.push(event);
        }
        events
    }

    fn send(&mut self, request: &CauseRequest) {
        self.free = false;
        if let Err(error) = self.peer.send(request)
            && !error.is_end()
        {
            // The end of the process is reported by the end of its output.
            let _ = self.sender.send(unavailable(&error));
        }
    }
}

impl Drop for Causes {
    fn drop(&mut self) {
        // This does not wait for its end: the kernel closes the events one by one, which takes
        // about 20 ms each.
        self.peer.kill();
    }
}

fn unavailable(error: &WireError) -> CauseEvent {
    let reason = if error.is_end() {
        "the recording process ended".to_owned()
    } else {
        format!("invalid output of the recording process: {error}")
    };
    CauseEvent::Unavailable { reason, fix: None }
}
