//! The side that sends the requests.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;

use tactus_explain::ProbeTask;
use tactus_model::cell::Cell;
use tactus_model::time::Nanos;
use tactus_wire::{MESSAGE_LIMIT, MessageWriter, Peer, Start, WireError};

use super::{CauseEvent, CauseRequest};
use tactus_cell::unmeasured;

/// A process that records the kernel's events and explains samples with them. Dropping this
/// ends the process.
#[derive(Debug)]
pub struct Causes {
    peer: Peer,
    /// The requests to a thread that writes them. A process that does not read, e.g. a stopped
    /// one, delays only that thread.
    requests: SyncSender<CauseRequest>,
    events: Receiver<CauseEvent>,
    state: State,
}

/// What the recording process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It waits for a request.
    Free,
    /// It works on a request.
    Busy,
    /// It cannot record, so it answers no request.
    Unavailable,
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
        let (mut peer, reader) = start.start()?;
        let input = peer.take_input().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut writer = MessageWriter::new(input, MESSAGE_LIMIT);
        let (sender, events) = channel();
        let received = sender.clone();
        reader.listen("cause-reader", move |read| {
            received.send(read.unwrap_or_else(|error| unavailable(&error))).is_ok()
        })?;
        // One request is pending at most.
        let (requests, waiting) = sync_channel::<CauseRequest>(1);
        thread::Builder::new().name("cause-writer".to_owned()).spawn(move || {
            for request in waiting {
                // The end of the process is reported by the end of its output.
                if let Err(error) = writer.write(&request)
                    && !error.is_end()
                {
                    let _ = sender.send(unavailable(&error));
                }
            }
        })?;
        let mut causes = Self { peer, requests, events, state: State::Busy };
        causes.send(CauseRequest::Record { aside: unmeasured(cell) });
        Ok(causes)
    }

    /// Whether it accepts a request now; it explains the seconds one after another.
    pub fn is_free(&self) -> bool {
        self.state == State::Free
    }

    /// Whether it has not answered the last request yet; false if it cannot record.
    pub fn is_busy(&self) -> bool {
        self.state == State::Busy
    }

    /// Requests the causes of the slowest of these samples that are later than `threshold`;
    /// never waits. Nothing is requested while it is not [free](Self::is_free).
    pub fn request(&mut self, tasks: Vec<ProbeTask>, threshold: Nanos) {
        if self.is_free() {
            self.send(CauseRequest::Explain { tasks, threshold });
        }
    }

    /// The events since the last call; never waits.
    pub fn events(&mut self) -> Vec<CauseEvent> {
        let mut events = Vec::new();
        while let Ok(event) = self.events.try_recv() {
            self.state = match event {
                CauseEvent::Unavailable { .. } => State::Unavailable,
                _ => State::Free,
            };
            events.push(event);
        }
        events
    }

    fn send(&mut self, request: CauseRequest) {
        self.state = State::Busy;
        // The queue has space: the previous request has been read. If its thread has ended, so
        // has the process, which the end of its output reports.
        let _ = self.requests.try_send(request);
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant as StdInstant};

    use tactus_explain::Origin;
    use tactus_model::experiment::{Experiment, Overrides};
    use tactus_model::recording::ThreadId;
    use tactus_model::sample::Sample;
    use tactus_model::time::Instant;

    use super::*;

    /// Longer than any of these steps takes.
    const AMPLE: Duration = Duration::from_secs(60);

    fn start(script: &str) -> Causes {
        let plan = Experiment::parse("name = \"a\"").unwrap().plan(&Overrides::default()).unwrap();
        Causes::start(Path::new("sh"), &["-c", script], &plan.cells[0]).unwrap()
    }

    #[test]
    fn a_process_that_cannot_record_is_not_waited_for() {
        let mut causes = start("read request; exit 1");
        let deadline = StdInstant::now() + AMPLE;
        let mut events = Vec::new();
        while events.is_empty() && StdInstant::now() < deadline {
            events = causes.events();
            thread::sleep(Duration::from_millis(1));
        }
        assert!(matches!(events[..], [CauseEvent::Unavailable { .. }]), "{events:?}");
        assert!(!causes.is_busy() && !causes.is_free());
    }

    #[test]
    fn a_request_to_a_stopped_process_does_not_wait() {
        let (done, finished) = channel();
        thread::spawn(move || {
            let mut causes = start("read request; echo '{\"event\":\"recording\"}'; kill -STOP $$");
            let deadline = StdInstant::now() + AMPLE;
            while !causes.is_free() && StdInstant::now() < deadline {
                causes.events();
                thread::sleep(Duration::from_millis(1));
            }
            // More than a pipe holds.
            let samples = vec![Sample::default(); 100_000];
            let (origin, opened) = (Origin::Ready, Instant::from_nanos(0));
            let task =
                ProbeTask { task: 0, thread: ThreadId(1), origin, opened, samples, receiver: None };
            assert!(causes.is_free());
            causes.request(vec![task], Nanos::ZERO);
            assert!(!causes.is_free() && causes.events().is_empty());
            drop(causes);
            done.send(()).unwrap();
        });
        finished.recv_timeout(AMPLE).expect("the request waits for a process that does not read");
    }
}
