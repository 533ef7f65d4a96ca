//! Records a command until it ends, or the whole system for a while.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
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
    Started(Box<About>),
    /// The command has started.
    CommandStarted {
        /// The process id of the command.
        process: u32,
    },
    /// The command has ended.
    CommandEnded(ExitStatus),
    /// The recording has ended, and its reader still works on what it contains. A signal cuts that
    /// short: [`Stopper::cut_short`].
    ReaderWorks,
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
    after: Arc<AtomicU8>,
}

/// Stops or marks a recording from another thread.
#[derive(Clone, Debug)]
pub struct Stopper {
    sender: Sender<Signal>,
    after: Arc<AtomicU8>,
}

/// No work follows the recording, or the recording has not ended.
const NO_WORK: u8 = 0;
/// The reader works on a recording that has ended.
const WORKS: u8 = 1;
/// It was asked to end.
const CUT_SHORT: u8 = 2;

impl Default for Control {
    fn default() -> Self {
        Self::new()
    }
}

impl Control {
    /// Makes the control of one recording.
    pub fn new() -> Self {
        let (sender, receiver) = channel();
        Self { sender, receiver, after: Arc::default() }
    }

    /// A handle that stops or marks that recording.
    pub fn stopper(&self) -> Stopper {
        Stopper { sender: self.sender.clone(), after: self.after.clone() }
    }

    /// Waits while `works` after the recording, so that [`Stopper::cut_short`] can end that work;
    /// calls `on_wait` once if that takes longer than a second.
    pub fn wait_for_reader(&self, works: impl Fn() -> bool, on_wait: impl FnOnce()) {
        let (began, mut on_wait) = (Instant::now(), Some(on_wait));
        let _ = self.after.compare_exchange(NO_WORK, WORKS, RELAXED, RELAXED);
        while works() {
            std::thread::sleep(READER_CHECK);
            if began.elapsed() >= CHECK
                && let Some(on_wait) = on_wait.take()
            {
                on_wait();
            }
        }
        let _ = self.after.compare_exchange(WORKS, NO_WORK, RELAXED, RELAXED);
    }
}

/// The longest time between two checks whether the recorder has failed.
const CHECK: Duration = Duration::from_secs(1);

/// The time between two checks whether the reader has ended.
const READER_CHECK: Duration = Duration::from_millis(5);

const RELAXED: Ordering = Ordering::Relaxed;

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
        let _ = self.sender.send(Signal::Stop);
    }

    /// Like [`stop`](Self::stop), and sends a signal to the command.
    pub fn interrupt(&self, signal: i32) {
        // A recording that has ended passes no signal on: its command is on its own.
        let _ = self.sender.send(Signal::Interrupt(signal));
    }

    /// Ends the work of a reader after the recording; returns whether there is such work.
    pub fn cut_short(&self) -> bool {
        self.after.compare_exchange(WORKS, CUT_SHORT, RELAXED, RELAXED).is_ok()
    }

    /// Whether [`cut_short`](Self::cut_short) has ended the reader's work.
    pub fn is_cut_short(&self) -> bool {
        self.after.load(RELAXED) == CUT_SHORT
    }

    /// Reports that something worth storing has happened; see [`record_with`].
    pub fn mark(&self) {
        // A recording that has ended has nothing left to store.
        let _ = self.sender.send(Signal::Mark);
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
    on_event(RecordEvent::Started(Box::new(recorder.about().clone())));
    let mut running = None;
    if let Some((program, arguments)) = command.split_first() {
        let (process, descriptor) = match start(program, arguments, control.sender.clone()) {
            Ok(started) => started,
            Err(error) => {
                recorder.discard();
                return Err(error);
            }
        };
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
    fn only_work_after_the_recording_is_cut_short() {
        let control = Control::new();
        let stopper = control.stopper();
        assert!(!stopper.cut_short(), "nothing works");
        control.wait_for_reader(|| !(stopper.is_cut_short() || stopper.cut_short()), || ());
        assert!(stopper.is_cut_short() && !stopper.cut_short(), "once only");
    }

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
