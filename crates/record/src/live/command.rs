//! Records a command until it ends, or the system for a while.

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

/// What happens while a recording is made.
#[derive(Clone, Debug)]
pub enum RecordEvent {
    /// Everything is recorded from now on.
    Started(About),
    /// The command runs.
    CommandStarted {
        /// Its process.
        process: u32,
    },
    /// The command has ended.
    CommandEnded(ExitStatus),
}

/// What a recording is told.
#[derive(Debug)]
enum Told {
    Stop,
    Mark,
    CommandEnded(ExitStatus),
}

/// Through which a recording is told what to do from outside.
#[derive(Debug)]
pub struct Control {
    sender: Sender<Told>,
    receiver: Receiver<Told>,
}

/// Tells a recording from another thread.
#[derive(Clone, Debug)]
pub struct Stopper(Sender<Told>);

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

    /// What tells that recording.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.sender.clone())
    }
}

impl Control {
    /// The next thing that is told; none when it is `until` before that.
    fn next(&self, until: Option<Instant>) -> Option<Told> {
        match until {
            Some(until) => {
                let left = until.saturating_duration_since(Instant::now());
                self.receiver.recv_timeout(left).ok()
            }
            // The control holds a sender itself, so this waits until something is told.
            None => self.receiver.recv().ok(),
        }
    }
}

impl Stopper {
    /// Ends the recording; it is kept as if it had ended by itself.
    pub fn stop(&self) {
        // A recording that is over needs no ending.
        let _ = self.0.send(Told::Stop);
    }

    /// Says that something worth keeping has happened; see [`record_with`].
    pub fn mark(&self) {
        // A recording that is over has nothing to keep any more.
        let _ = self.0.send(Told::Mark);
    }
}

/// Records with `options` until `command` ends, `duration` is over, or a
/// [`Stopper`] of `control` asks for the end, whichever comes first.
///
/// A command that is still running then is left running.
///
/// # Errors
/// Recording or the command cannot be started, or what was recorded cannot be kept.
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

/// Does as [`record`] with a recorder that has started, and calls `on_mark` with it
/// at each [`Stopper::mark`]; the recording goes on meanwhile, and ends when
/// `on_mark` says so.
///
/// # Errors
/// As [`record`], and what `on_mark` fails with.
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
            Some(Told::Mark) if on_mark(&recorder)?.is_continue() => {}
            Some(Told::CommandEnded(status)) => {
                on_event(RecordEvent::CommandEnded(status));
                break;
            }
            Some(Told::Stop | Told::Mark) | None => break,
        }
    }
    recorder.stop()
}

/// Starts the command and has a thread wait for its end.
fn start(
    program: &OsString,
    arguments: &[OsString],
    ended: Sender<Told>,
) -> Result<u32, RecordError> {
    let failed =
        |error| RecordError::Command { command: program.to_string_lossy().into_owned(), error };
    let mut child = Command::new(program).args(arguments).spawn().map_err(failed)?;
    let process = child.id();
    std::thread::Builder::new()
        .name("tactus-waiter".to_owned())
        .spawn(move || {
            if let Ok(status) = child.wait() {
                // A recording that is over no longer listens.
                let _ = ended.send(Told::CommandEnded(status));
            }
        })
        .map_err(RecordError::Thread)?;
    Ok(process)
}
