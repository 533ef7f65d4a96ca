//! The target that measures on this machine, in a fresh process of our own binary.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tactus_model::message::{CellRequest, Input};

use crate::target::{Inbox, Measuring, Target};

/// Measures on this machine.
#[derive(Debug)]
pub struct Host {
    executable: PathBuf,
    arguments: Vec<String>,
}

impl Host {
    /// Measures by `executable`, which must run [`tactus_cell::main`] when it is
    /// given `arguments`.
    pub fn new(executable: PathBuf, arguments: &[&str]) -> Self {
        Self { executable, arguments: arguments.iter().map(ToString::to_string).collect() }
    }
}

impl Target for Host {
    fn begin(&mut self, request: &CellRequest, inbox: Inbox) -> io::Result<Box<dyn Measuring>> {
        let mut command = Command::new(&self.executable);
        command
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // An interrupt typed at the terminal is for us; we end the cell in our own way.
            .process_group(0);
        tactus_sys::process::die_with_parent(&mut command);
        let mut child = command.spawn()?;
        let stdin = child.stdin.take().ok_or_else(no_pipe)?;
        let stdout = child.stdout.take().ok_or_else(no_pipe)?;
        let stderr = child.stderr.take().ok_or_else(no_pipe)?;
        let forwarder = thread::spawn(move || forward(BufReader::new(stdout), &inbox));
        let last_words = thread::spawn(move || tail(stderr));
        let mut measuring = HostMeasuring { child, stdin, forwarder, last_words };
        match measuring.give(request) {
            Ok(()) => Ok(Box::new(measuring)),
            Err(error) => Err(io::Error::new(error.kind(), Box::new(measuring).end())),
        }
    }
}

fn no_pipe() -> io::Error {
    io::Error::other("the measuring process has no pipe")
}

/// Passes on every line until the process closes its end.
fn forward(lines: impl BufRead, inbox: &Inbox) {
    for line in lines.lines().map_while(Result::ok) {
        let input = match serde_json::from_str(&line) {
            Ok(message) => Input::Message(message),
            Err(_) => Input::Garbled(line),
        };
        if !inbox.put(input) {
            return;
        }
    }
    inbox.put(Input::Closed);
}

/// The most of a dead process's last words that is kept, in bytes.
const LAST_WORDS_LIMIT: usize = 4096;

fn tail(mut stream: impl Read) -> String {
    let mut kept = Vec::new();
    let mut buffer = [0; LAST_WORDS_LIMIT];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        kept.extend_from_slice(&buffer[..count]);
        let surplus = kept.len().saturating_sub(LAST_WORDS_LIMIT);
        kept.drain(..surplus);
    }
    String::from_utf8_lossy(&kept).trim().to_owned()
}

fn describe_end(status: io::Result<ExitStatus>, last_words: &str) -> String {
    let end = match status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => format!("it ended with exit code {code}"),
            (None, Some(signal)) => format!("it was ended by signal {signal}"),
            (None, None) => "it ended".to_owned(),
        },
        Err(error) => format!("its end could not be learnt: {error}"),
    };
    if last_words.is_empty() { end } else { format!("{end}; it said: {last_words}") }
}

struct HostMeasuring {
    child: Child,
    /// Held open while somebody waits for the result.
    stdin: ChildStdin,
    forwarder: JoinHandle<()>,
    last_words: JoinHandle<String>,
}

/// How long a process that has closed its output may take to end by itself, so
/// that its own way of ending can be told.
const END_GRACE: Duration = Duration::from_secs(1);

impl HostMeasuring {
    fn give(&mut self, request: &CellRequest) -> io::Result<()> {
        serde_json::to_writer(&mut self.stdin, request)?;
        self.stdin.write_all(b"\n")?;
        self.stdin.flush()
    }

    fn end_by_itself(&mut self) {
        let deadline = Instant::now() + END_GRACE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Measuring for HostMeasuring {
    fn end(mut self: Box<Self>) -> String {
        if self.forwarder.is_finished() {
            self.end_by_itself();
        }
        // A process that has ended already cannot be killed, which is as well.
        let _ = self.child.kill();
        let status = self.child.wait();
        let last_words = self.last_words.join().unwrap_or_default();
        describe_end(status, &last_words)
    }
}
