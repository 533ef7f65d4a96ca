//! ffmpeg as a process that makes something. What it reads has modules of its own.

use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tactus_sys::process;
use tactus_wire::{LastWords, PatientInput};

/// Why an ffmpeg does not work.
#[derive(Debug, thiserror::Error)]
pub enum FfmpegError {
    /// It is not in `PATH`.
    #[error("ffmpeg is not installed")]
    NotInstalled,
    /// It cannot be started.
    #[error("cannot start ffmpeg: {0}")]
    Start(io::Error),
    /// It failed.
    #[error("ffmpeg failed: {0}")]
    Failed(String),
    /// It did not read its input or did not end after it.
    #[error("ffmpeg did not answer for {} s and was killed", .0.as_secs())]
    Hangs(Duration),
    /// A signal has stopped it.
    #[error("ffmpeg was stopped by a signal, and was killed")]
    Stopped,
}

impl FfmpegError {
    /// What the user can do about it.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotInstalled => Some("apt-get install ffmpeg"),
            _ => None,
        }
    }
}

/// How long the end of its messages is awaited.
const COMPLAINT: Duration = Duration::from_millis(500);
/// How long a signal may stop it.
const STOPPED_MOST: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(10);

/// A command of ffmpeg that writes errors only, and reads nothing from the terminal.
pub fn command() -> Command {
    let mut command = Command::new("ffmpeg");
    command.args(["-hide_banner", "-nostdin", "-loglevel", "error"]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// A running ffmpeg. It is killed with this value.
#[derive(Debug)]
pub struct Ffmpeg {
    process: Child,
    complaints: Option<LastWords>,
    /// Why it was killed, if it was.
    killed: Option<FfmpegError>,
    /// Since when a signal has stopped it.
    stopped: Option<Instant>,
}

impl Ffmpeg {
    /// Starts a command, which has its input and output already.
    ///
    /// # Errors
    /// It is not installed, or cannot be started.
    pub fn start(command: &mut Command) -> Result<Self, FfmpegError> {
        let process =
            command.stderr(Stdio::piped()).spawn().map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => FfmpegError::NotInstalled,
                _ => FfmpegError::Start(error),
            })?;
        let mut started = Self { process, complaints: None, killed: None, stopped: None };
        let messages = started.process.stderr.take().map(LastWords::listen);
        started.complaints = messages.transpose().map_err(FfmpegError::Start)?;
        Ok(started)
    }

    /// Takes its input, a pipe from which it may read nothing for `patience`.
    ///
    /// # Errors
    /// It has none, or the system refuses to make it a pipe that never waits.
    pub fn take_input(&mut self, patience: Duration) -> Result<PatientInput, FfmpegError> {
        let input = self.process.stdin.take().ok_or_else(no_pipe);
        input.and_then(|input| PatientInput::new(input, patience)).map_err(FfmpegError::Start)
    }

    /// Kills it for this reason, and does not wait for its end. What it has written stays.
    pub fn kill(&mut self, reason: FfmpegError) {
        self.killed.get_or_insert(reason);
        let _ = self.process.kill();
    }

    /// Kills it if a signal has stopped it for 5 s, or at all if it is to end.
    pub fn look(&mut self, is_ending: bool) {
        let most = if is_ending { Duration::ZERO } else { STOPPED_MOST };
        if process::stopped_by(self.process.id()).is_none() {
            self.stopped = None;
        } else if self.stopped.get_or_insert_with(Instant::now).elapsed() >= most {
            self.kill(FfmpegError::Stopped);
        }
    }

    /// Waits for its end, for `patience` at most. Its input has ended.
    ///
    /// # Errors
    /// It has failed, was stopped or killed, or does not end.
    pub fn finish(mut self, patience: Duration) -> Result<(), FfmpegError> {
        let deadline = Instant::now() + patience;
        let status = loop {
            match self.process.try_wait().map_err(FfmpegError::Start)? {
                Some(status) => break status,
                None if Instant::now() >= deadline => return Err(FfmpegError::Hangs(patience)),
                None => self.look(true),
            }
            thread::sleep(STEP);
        };
        match (self.killed.take(), status.success()) {
            (Some(reason), _) => Err(reason),
            (None, true) => Ok(()),
            (None, false) => Err(FfmpegError::Failed(self.reason(status))),
        }
    }

    fn reason(&mut self, status: ExitStatus) -> String {
        self.complaint().unwrap_or_else(|| status.to_string())
    }

    /// The first line of its messages has the reason; later ones follow from it.
    fn complaint(&mut self) -> Option<String> {
        let text = self.complaints.take()?.take(COMPLAINT);
        let line = text.lines().next().map(str::trim);
        line.filter(|line| !line.is_empty()).map(str::to_owned)
    }
}

fn no_pipe() -> io::Error {
    io::Error::from(io::ErrorKind::BrokenPipe)
}

impl Drop for Ffmpeg {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
