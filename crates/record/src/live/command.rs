//! Records a command until it ends, or the whole system for a while.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use tactus_model::recording::About;
use tactus_model::time::Nanos;
use tactus_sys::pidfd::PidFd;

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
    Interrupt(i32),
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

/// The longest time between two checks whether the recorder has failed.
const CHECK: Duration = Duration::from_secs(1);

impl Control {
    /// The next signal; `None` at `until`, even if signals are waiting, and once `is_over`.
    fn next(&self, until: Option<Instant>, is_over: impl Fn() -> bool) -> Option<Signal> {
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let left = left.map_or(CHECK, |left| left.min(CHECK));
            if left.is_zero() || is_over() {
                return None;
            }
            match self.receiver.recv_timeout(left) {
                Err(RecvTimeoutError::Timeout) => {}
                received => return received.ok(),
            }
        }
    }

    /// Waits for the end of a command that outlived its recording; without a command, it never
    /// returns.
    pub fn wait_for_command(&self) -> Option<ExitStatus> {
        self.receiver.iter().find_map(|signal| match signal {
            Signal::CommandEnded(status) => Some(status),
            Signal::Stop | Signal::Interrupt(_) | Signal::Mark => None,
        })
    }
}

impl Stopper {
    /// Ends the recording; it is stored as if it had ended by itself.
    pub fn stop(&self) {
        // A recording that has ended needs no signal.
        let _ = self.0.send(Signal::Stop);
    }

    /// Like [`stop`](Self::stop), and sends a signal to the command.
    pub fn interrupt(&self, signal: i32) {
        // A recording that has ended passes no signal on: its command is on its own.
        let _ = self.0.send(Signal::Interrupt(signal));
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
/// If the command is still running then, it continues; see [`Control::wait_for_command`] and
/// [`Stopper::interrupt`]. A recording that cannot be stored ends at once.
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
    let mut running = None;
    if let Some((program, arguments)) = command.split_first() {
        let (process, descriptor) = start(program, arguments, control.sender.clone())?;
        on_event(RecordEvent::CommandStarted { process });
        running = descriptor;
    }
    loop {
        match control.next(until, || recorder.has_failed()) {
            Some(Signal::Mark) if on_mark(&recorder)?.is_continue() => {}
            Some(Signal::CommandEnded(status)) => {
                on_event(RecordEvent::CommandEnded(status));
                break;
            }
            Some(Signal::Interrupt(signal)) => {
                // A command that has just ended, or that gave itself to another user, gets none.
                let _ = running.map(|command| command.send(signal));
                break;
            }
            Some(Signal::Stop | Signal::Mark) | None => break,
        }
    }
    recorder.stop()
}

/// Starts the command and a thread that waits for its end. The descriptor is `None` on kernels
/// before 5.3.
fn start(
    program: &OsString,
    arguments: &[OsString],
    ended: Sender<Signal>,
) -> Result<(u32, Option<PidFd>), RecordError> {
    let failed =
        |error| RecordError::Command { command: program.to_string_lossy().into_owned(), error };
    let mut child = Command::new(program).args(arguments).spawn().map_err(failed)?;
    let process = child.id();
    // Nobody has waited for the child yet, so the number is its own.
    let descriptor = PidFd::of_process(process).ok();
    std::thread::Builder::new()
        .name("tactus-waiter".to_owned())
        .spawn(move || {
            if let Ok(status) = child.wait() {
                // A recording that has ended has dropped its receiver.
                let _ = ended.send(Signal::CommandEnded(status));
            }
        })
        .map_err(RecordError::Thread)?;
    Ok((process, descriptor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_signals_do_not_delay_the_end() {
        let control = Control::new();
        let stopper = control.stopper();
        stopper.mark();
        stopper.mark();
        let later = Some(Instant::now() + Duration::from_secs(3600));
        assert!(matches!(control.next(later, || false), Some(Signal::Mark)));
        assert!(control.next(Some(Instant::now()), || false).is_none(), "the time is over");
        assert!(matches!(control.next(None, || false), Some(Signal::Mark)));
        assert!(control.next(None, || true).is_none(), "the recorder has failed");
    }
}
