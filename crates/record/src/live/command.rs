//! Records a command until it ends, or the whole system for a while.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use tactus_model::recording::About;
use tactus_model::time::Nanos;

use super::error::RecordError;
use super::options::Options;
use super::recorder::{Recorded, Recorder};

/// What happens during a recording.
#[derive(Clone, Debug)]
pub enum RecordEvent {
    /// Recording has started: every event is recorded from now on.
    Started(About),
    /// The command has started.
    CommandStarted {
        /// The process id of the command.
        process: u32,
    },
    /// The command has ended.
    CommandEnded(ExitStatus),
}

/// What another thread requests from a recording, or reports to it.
#[derive(Debug)]
enum Signal {
    Stop,
    Mark,
    CommandEnded(ExitStatus),
}

/// Controls a recording from other threads.
#[derive(Debug)]
pub struct Control {
    sender: Sender<Signal>,
    receiver: Receiver<Signal>,
}

/// Stops or marks a recording from another thread.
#[derive(Clone, Debug)]
pub struct Stopper(Sender<Signal>);

impl Default for Control {
    fn default() -> Self {
        Self::new()
    }
}

impl Control {
    /// Makes the control of one recording.
    pub fn new() -> Self {
        let (sender, receiver) = channel();
        Self { sender, receiver }
    }

    /// A handle that stops or marks that recording.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.sender.clone())
    }
}

impl Control {
    /// The next signal; `None` if `until` comes first.
    fn next(&self, until: Option<Instant>) -> Option<Signal> {
        match until {
            Some(until) => {
                let left = until.saturating_duration_since(Instant::now());
                self.receiver.recv_timeout(left).ok()
            }
            // The control holds a sender itself, so this waits until a signal comes.
            None => self.receiver.recv().ok(),
        }
    }
}

impl Stopper {
    /// Ends the recording; it is stored as if it had ended by itself.
    pub fn stop(&self) {
        // A recording that has ended needs no signal.
        let _ = self.0.send(Signal::Stop);
    }

    /// Reports that something worth storing has happened; see [`record_with`].
    pub fn mark(&self) {
        // A recording that has ended has nothing left to store.
        let _ = self.0.send(Signal::Mark);
    }
}

/// Records with `options` until `command` ends, `duration` is over, or a [`Stopper`] of
/// `control` stops the recording, whichever comes first.
///
/// If the command is still running then, it continues.
///
/// # Errors
/// Recording or the command cannot be started, or the recording cannot be stored.
pub fn record(
    options: Options,
    command: &[OsString],
    duration: Option<Nanos>,
    control: &Control,
    on_event: impl FnMut(RecordEvent),
) -> Result<Recorded, RecordError> {
    let recorder = Recorder::start(options)?;
    record_with(recorder, command, duration, control, on_event, |_| Ok(ControlFlow::Continue(())))
}

/// Like [`record`] with a recorder that has started. It calls `on_mark` at each
/// [`Stopper::mark`]; the recording continues meanwhile, and ends if `on_mark` returns
/// `Break`.
///
/// # Errors
/// Those of [`record`] and of `on_mark`.
pub fn record_with(
    recorder: Recorder,
    command: &[OsString],
    duration: Option<Nanos>,
    control: &Control,
    mut on_event: impl FnMut(RecordEvent),
    mut on_mark: impl FnMut(&Recorder) -> Result<ControlFlow<()>, RecordError>,
) -> Result<Recorded, RecordError> {
    let until = duration.map(|length| Instant::now() + Duration::from(length));
    on_event(RecordEvent::Started(recorder.about().clone()));
    if let Some((program, arguments)) = command.split_first() {
        let process = start(program, arguments, control.sender.clone())?;
        on_event(RecordEvent::CommandStarted { process });
    }
    loop {
        match control.next(until) {
            Some(Signal::Mark) if on_mark(&recorder)?.is_continue() => {}
            Some(Signal::CommandEnded(status)) => {
                on_event(RecordEvent::CommandEnded(status));
                break;
            }
            Some(Signal::Stop | Signal::Mark) | None => break,
        }
    }
    recorder.stop()
}

/// Starts the command and a thread that waits for its end.
fn start(
    program: &OsString,
    arguments: &[OsString],
    ended: Sender<Signal>,
) -> Result<u32, RecordError> {
    let failed =
        |error| RecordError::Command { command: program.to_string_lossy().into_owned(), error };
    let mut child = Command::new(program).args(arguments).spawn().map_err(failed)?;
    let process = child.id();
    std::thread::Builder::new()
        .name("tactus-waiter".to_owned())
        .spawn(move || {
            if let Ok(status) = child.wait() {
                // A recording that has ended has dropped its receiver.
                let _ = ended.send(Signal::CommandEnded(status));
            }
        })
        .map_err(RecordError::Thread)?;
    Ok(process)
}
