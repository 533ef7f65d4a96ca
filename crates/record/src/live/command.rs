//! Records a command until it ends, or the system for a while.

use std::ffi::OsString;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

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

/// What ends a recording.
#[derive(Debug)]
enum End {
    Asked,
    Command(ExitStatus),
}

/// Through which a recording is ended from outside.
#[derive(Debug)]
pub struct Control {
    sender: Sender<End>,
    receiver: Receiver<End>,
}

/// Ends a recording from another thread.
#[derive(Clone, Debug)]
pub struct Stopper(Sender<End>);

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

    /// What ends that recording.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.sender.clone())
    }
}

impl Stopper {
    /// Ends the recording; it is kept as if it had ended by itself.
    pub fn stop(&self) {
        // A recording that is over needs no ending.
        let _ = self.0.send(End::Asked);
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
    mut on_event: impl FnMut(RecordEvent),
) -> Result<Recorded, RecordError> {
    let recorder = Recorder::start(options)?;
    on_event(RecordEvent::Started(recorder.about().clone()));
    if let Some((program, arguments)) = command.split_first() {
        let process = start(program, arguments, control.sender.clone())?;
        on_event(RecordEvent::CommandStarted { process });
    }
    let end = match duration {
        Some(length) => control.receiver.recv_timeout(length.into()),
        // The control holds a sender itself, so this waits for an end that is asked for.
        None => control.receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
    };
    if let Ok(End::Command(status)) = end {
        on_event(RecordEvent::CommandEnded(status));
    }
    recorder.stop()
}

/// Starts the command and has a thread wait for its end.
fn start(
    program: &OsString,
    arguments: &[OsString],
    ended: Sender<End>,
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
                let _ = ended.send(End::Command(status));
            }
        })
        .map_err(RecordError::Thread)?;
    Ok(process)
}
