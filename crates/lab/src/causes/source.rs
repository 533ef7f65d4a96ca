//! The side that asks.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;

use tactus_explain::ProbeTask;
use tactus_model::cell::Cell;
use tactus_model::time::Nanos;

use super::{CauseEvent, CauseRequest};
use tactus_cell::unmeasured;

/// A process that records the kernel's events and explains samples by them. Dropping it
/// ends it.
#[derive(Debug)]
pub struct Causes {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<CauseEvent>,
    /// Whether it is asked nothing at the moment.
    free: bool,
}

impl Causes {
    /// Starts recording by `executable`, which must run [`main`](super::main) when it is
    /// given `arguments`; away from the processors that `cell` measures, where there are
    /// others.
    ///
    /// The process ends with the thread that calls this.
    ///
    /// # Errors
    /// The process cannot be started. Whether it may record is told later.
    pub fn start(executable: &Path, arguments: &[&str], cell: &Cell) -> io::Result<Self> {
        let mut command = Command::new(executable);
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        tactus_sys::process::die_with_parent(&mut command);
        let mut child = command.spawn()?;
        let no_pipe = || io::Error::other("the recording process has no pipe");
        let requests = child.stdin.take().ok_or_else(no_pipe)?;
        let lines = BufReader::new(child.stdout.take().ok_or_else(no_pipe)?);
        let (sender, answers) = channel();
        thread::Builder::new().name("hears-causes".to_owned()).spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                let Ok(answer) = serde_json::from_str(&line) else { return };
                if sender.send(answer).is_err() {
                    return;
                }
            }
        })?;
        let mut causes = Self { child, requests, answers, free: false };
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
        loop {
            match self.answers.try_recv() {
                Ok(event) => {
                    self.free = !matches!(event, CauseEvent::Unavailable { .. });
                    events.push(event);
                }
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return events,
            }
        }
    }

    fn give(&mut self, request: &CauseRequest) {
        self.free = false;
        let Ok(mut line) = serde_json::to_vec(request) else { return };
        line.push(b'\n');
        // A process that has ended gives no answer either.
        let _ = self.requests.write_all(&line);
    }
}

impl Drop for Causes {
    fn drop(&mut self) {
        // It is not waited for: the kernel takes back the events one by one, some 20 ms
        // each, and nobody shall wait for that.
        let _ = self.child.kill();
    }
}
