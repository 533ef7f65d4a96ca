//! The process that changes settings for a program and outlives it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde::{Deserialize, Serialize};
use tactus_sys::process;

use super::changed::Changed;
use super::{NotChanged, SettingChange};

/// The longest message between a program and its guardian, in bytes.
const MESSAGE_MAX: u64 = 1 << 20;

/// What a program asks of its guardian: one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    /// The root of the tree in which the settings and the notes are.
    pub(super) root: PathBuf,
    pub(super) changes: Vec<SettingChange>,
}

/// What the guardian answers: one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Response {
    /// All are changed.
    Changed,
    /// The machine is as it was.
    NotChanged(NotChanged),
}

/// The process that holds settings changed, as the program that started it sees it.
#[derive(Debug)]
pub(super) struct Guardian {
    process: Child,
    /// The guardian puts the settings back when this is closed.
    lifeline: Option<ChildStdin>,
}

impl Guardian {
    pub(super) fn start(executable: &Path, request: &Request) -> Result<Self, NotChanged> {
        let failed = |error: io::Error| {
            NotChanged::new(format!("the guardian of settings cannot be started: {error}"), None)
        };
        let mut command = Command::new(executable);
        command
            .args(["internal", "guardian"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A signal to our group is meant for the program; the guardian ends after it.
            .process_group(0);
        let mut process = command.spawn().map_err(failed)?;
        let lifeline = process.stdin.take();
        let responses = process.stdout.take();
        // From here on, leaving early drops this, which waits until all is put back.
        let mut guardian = Self { process, lifeline };
        let mut line = String::new();
        if let (Some(lifeline), Some(responses)) = (&mut guardian.lifeline, responses) {
            send(lifeline, request).map_err(failed)?;
            BufReader::new(responses).take(MESSAGE_MAX).read_line(&mut line).map_err(failed)?;
        }
        match serde_json::from_str(&line) {
            Ok(Response::Changed) => Ok(guardian),
            Ok(Response::NotChanged(reason)) => Err(reason),
            Err(_) => Err(NotChanged::new("the guardian of settings ended", None)),
        }
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        // Whatever its end was, there is nothing more to do about it here.
        let _ = self.process.wait();
    }
}

/// The whole body of `tactus internal guardian`: changes settings as its standard input
/// asks, and puts them back when that ends.
///
/// # Errors
/// The request cannot be read or the response not be written; the machine is as it was.
pub fn guardian_main() -> io::Result<()> {
    // Before anything is changed: a guardian that is asked to end leaves nothing changed.
    process::ignore_requests_to_end().map_err(io::Error::other)?;
    guard(&mut io::stdin().lock(), &mut io::stdout().lock())
}

/// Changes the settings, responds, waits for the end of `input`, and puts them back.
pub(super) fn guard(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let mut line = String::new();
    input.by_ref().take(MESSAGE_MAX).read_line(&mut line)?;
    let Request { root, changes } = serde_json::from_str(&line)?;
    let changed: Result<Vec<Changed>, NotChanged> =
        changes.into_iter().map(|change| Changed::make(&root, change)).collect();
    match changed {
        Err(reason) => send(output, &Response::NotChanged(reason)),
        Ok(_changed) => {
            send(output, &Response::Changed)?;
            // Nothing more is sent, so whatever is read is the end of the program.
            let _ = input.read(&mut [0]);
            Ok(())
        }
    }
}

fn send(stream: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    stream.flush()
}
