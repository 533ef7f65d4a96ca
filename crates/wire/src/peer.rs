//! Starting a process of ours, and ending it.

use std::io::{self, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::MESSAGE_LIMIT;
use crate::error::WireError;
use crate::last_words::LastWords;
use crate::message::{MessageReader, MessageWriter};
use crate::output::Output;

/// A command that starts the program of this process with `arguments`, even if its file has
/// been replaced since.
pub fn this_binary(arguments: &[&str]) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("tactus").args(arguments);
    command
}

/// How a process of ours is started: its standard input is a pipe for requests.
#[derive(Debug)]
pub struct Start {
    command: Command,
    keeps_last_words: bool,
}

impl Start {
    /// Starts `command`.
    pub const fn new(command: Command) -> Self {
        Self { command, keeps_last_words: false }
    }

    /// Gives the process its own process group: Ctrl-C at the terminal does not reach it, so
    /// we decide how it ends.
    pub fn in_own_group(mut self) -> Self {
        self.command.process_group(0);
        self
    }

    /// Makes the kernel kill the process when the thread that starts it ends; see
    /// [`die_with_parent`](tactus_sys::process::die_with_parent).
    pub fn dies_with_this_thread(mut self) -> Self {
        tactus_sys::process::die_with_parent(&mut self.command);
        self
    }

    /// Keeps the end of the process's standard error; otherwise the process inherits ours.
    pub fn keeps_last_words(mut self) -> Self {
        self.command.stderr(Stdio::piped());
        self.keeps_last_words = true;
        self
    }

    /// Starts the process; its standard output is a pipe for its responses.
    ///
    /// # Errors
    /// The process or the thread that keeps its last words cannot be started.
    pub fn start(self) -> io::Result<(Peer, MessageReader<BufReader<Output>>)> {
        let mut peer = self.start_into(Stdio::piped())?;
        let pipe = peer.process.stdout.take().ok_or_else(no_pipe)?;
        Ok((peer, MessageReader::new(BufReader::new(Output::new(pipe)), MESSAGE_LIMIT)))
    }

    /// Starts the process; its standard output is `output`.
    ///
    /// # Errors
    /// Those of [`start`](Self::start).
    pub fn start_into(mut self, output: impl Into<Stdio>) -> io::Result<Peer> {
        let mut process = self.command.stdin(Stdio::piped()).stdout(output).spawn()?;
        let input = process.stdin.take().ok_or_else(no_pipe)?;
        let complaints = process.stderr.take().filter(|_| self.keeps_last_words);
        let last_words = complaints.map(LastWords::listen).transpose()?;
        Ok(Peer { process, input: Some(MessageWriter::new(input, MESSAGE_LIMIT)), last_words })
    }
}

fn no_pipe() -> io::Error {
    io::Error::other("the process has no pipe")
}

/// A process of ours. Dropping it closes its standard input, and neither kills it nor waits
/// for it.
#[derive(Debug)]
pub struct Peer {
    process: Child,
    input: Option<MessageWriter<ChildStdin>>,
    last_words: Option<LastWords>,
}

/// The longest wait for the end of the standard error of a process that has ended. Its load
/// holds the stream open too, and ends with the process.
const LAST_WORDS_PATIENCE: Duration = Duration::from_secs(10);

/// The interval at which a process that ends soon is polled.
const STEP: Duration = Duration::from_millis(2);

impl Peer {
    /// Its process ID.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Writes a message to its standard input.
    ///
    /// # Errors
    /// Those of [`MessageWriter::write`]; [`WireError::Closed`] if its input is closed.
    pub fn send(&mut self, message: &impl Serialize) -> Result<(), WireError> {
        self.input.as_mut().ok_or(WireError::Closed)?.write(message)
    }

    /// Closes its standard input: no further request follows.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// Takes its standard input, for data that follows the requests.
    pub fn take_input(&mut self) -> Option<ChildStdin> {
        self.input.take()?.into_output()
    }

    /// Takes its last words, for another thread.
    pub const fn take_last_words(&mut self) -> Option<LastWords> {
        self.last_words.take()
    }

    /// Whether it has not ended yet.
    pub fn is_running(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// Kills it, and does not wait for its end.
    pub fn kill(&mut self) {
        // This fails only if the process has ended already.
        let _ = self.process.kill();
    }

    /// Closes its standard input, and waits for its end.
    ///
    /// # Errors
    /// Those of [waitpid(2)](https://man7.org/linux/man-pages/man2/wait.2.html).
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.close();
        self.process.wait()
    }

    /// Closes its standard input, waits for its end, and kills it after `patience`.
    ///
    /// # Errors
    /// Those of [`wait`](Self::wait).
    pub fn wait_or_kill(&mut self, patience: Duration) -> io::Result<ExitStatus> {
        self.close();
        let deadline = Instant::now() + patience;
        while self.is_running() && Instant::now() < deadline {
            thread::sleep(STEP);
        }
        self.kill();
        self.process.wait()
    }

    /// Ends it like [`wait_or_kill`](Self::wait_or_kill), and returns how it ended, with the
    /// end of its standard error.
    pub fn end(mut self, patience: Duration) -> String {
        let status = self.wait_or_kill(patience);
        let last_words = self.last_words.map(|words| words.take(LAST_WORDS_PATIENCE));
        describe_end(status, &last_words.unwrap_or_default())
    }
}

fn describe_end(status: io::Result<ExitStatus>, last_words: &str) -> String {
    let end = match status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => format!("it ended with exit code {code}"),
            (None, Some(signal)) => format!("it was killed by signal {signal}"),
            (None, None) => "it ended".to_owned(),
        },
        Err(error) => format!("its exit status is unknown: {error}"),
    };
    if last_words.is_empty() { end } else { format!("{end}; stderr: {last_words}") }
}
