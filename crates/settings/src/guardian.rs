//! The process that changes settings for a program and outlives it.

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tactus_model::recording::ThreadId;
use tactus_sys::cgroup::remove_groups_of;
use tactus_sys::process;
use tactus_sys::tracefs::remove_instances_of;
use tactus_wire::{MessageReader, MessageWriter, Peer, Start, WireError, requests, responses};

use super::changed::{Changed, restore_left};
use super::kept_threads::{KeptThread, KeptThreads};
use super::{LastFirst, NotChanged, SettingChange};

/// The longest wait for the guardian's response.
///
/// Starting a program and writing a few settings takes milliseconds, and some seconds on a
/// machine under heavy load.
const START_PATIENCE: Duration = Duration::from_secs(60);

/// The longest wait for the guardian's end. After it, the guardian is killed, and its program
/// restores the settings.
const END_PATIENCE: Duration = Duration::from_secs(10);

/// The longest wait until the kernel has closed the files of a program that was killed.
const CLOSE_PATIENCE: Duration = Duration::from_secs(60);

/// What a program requests from its guardian.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    /// The root of the tree that contains the settings and the notes.
    pub(super) root: PathBuf,
    /// The process ID of the program.
    pub(super) program: u32,
    pub(super) changes: Vec<SettingChange>,
}

/// What a program sends later. Its last message ends its guardian; a program that is killed sends
/// none.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Later {
    Keep(KeptThread),
    Release(ThreadId),
    End,
}

/// The guardian's response.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Response {
    /// All settings are changed.
    Changed,
    /// The machine is unchanged.
    NotChanged(NotChanged),
}

/// A process that keeps settings changed, as seen by the program that started it. Dropping this
/// restores the settings, the last change first, however the guardian has ended.
///
/// When the program is killed, the guardian also removes its instances of tracefs and its control
/// groups, and returns threads that it [keeps](Self::keep) to their policy.
#[derive(Debug)]
pub struct Guardian {
    /// `None` after its end.
    process: Option<Peer>,
}

impl Guardian {
    /// Starts a guardian that changes all of the settings, or none of them; without `changes`, it
    /// is there for instances of tracefs, control groups and threads only.
    ///
    /// The guardian is the program `executable`, which must run [`guardian_main`] when its
    /// arguments are `internal guardian`.
    ///
    /// # Errors
    /// One of the settings cannot be changed. The machine is unchanged.
    pub fn start(executable: &Path, changes: Vec<SettingChange>) -> Result<Self, NotChanged> {
        let unstartable = |error: &dyn std::fmt::Display| {
            NotChanged::new(format!("cannot start the guardian of settings: {error}"), None)
        };
        let mut command = Command::new(executable);
        command.args(["internal", "guardian"]);
        // A signal to our group is meant for the program; the guardian ends after it.
        let started = Start::new(command).in_own_group().start();
        let (mut process, mut responses) = started.map_err(|error| unstartable(&error))?;
        let request = Request { root: "/".into(), program: std::process::id(), changes };
        let sent = process.send(&request);
        // From here on, an early return drops this, which restores everything.
        let guardian = Self { process: Some(process) };
        sent.map_err(|error| unstartable(&error))?;
        match responses.read_within(START_PATIENCE) {
            Ok(Response::Changed) => Ok(guardian),
            Ok(Response::NotChanged(reason)) => Err(reason),
            Err(error) => {
                let reason = format!("no response from the guardian of settings: {error}");
                Err(NotChanged::new(reason, None))
            }
        }
    }

    /// The process ID of the guardian.
    pub fn id(&self) -> Option<u32> {
        self.process.as_ref().map(Peer::id)
    }

    /// Makes the guardian return a thread to its policy and its control group if this program is
    /// killed; call it before the thread gets another.
    ///
    /// # Errors
    /// The guardian was killed.
    pub fn keep(&mut self, thread: KeptThread) -> Result<(), WireError> {
        self.send(&Later::Keep(thread))
    }

    /// Ends [`keep`](Self::keep) for a thread that has its own policy again, or has ended.
    ///
    /// # Errors
    /// The guardian was killed.
    pub fn release(&mut self, thread: ThreadId) -> Result<(), WireError> {
        self.send(&Later::Release(thread))
    }

    fn send(&mut self, message: &Later) -> Result<(), WireError> {
        self.process.as_mut().map_or(Err(WireError::Closed), |process| process.send(message))
    }

    /// Waits until the settings are restored; restores them here if the guardian was killed or
    /// does not respond. Returns what went wrong.
    pub fn end(mut self) -> Vec<NotChanged> {
        self.end_process()
    }

    fn end_process(&mut self) -> Vec<NotChanged> {
        let Some(mut process) = self.process.take() else { return Vec::new() };
        // Sending fails if the guardian was killed.
        let is_early = process.send(&Later::End).is_err() || !process.is_running();
        let status = process.wait_or_kill(END_PATIENCE);
        let is_fine = status.as_ref().is_ok_and(|status| status.success());
        let trouble = (!is_fine).then(|| match status {
            Ok(status) if is_early => format!("the guardian of settings ended early: {status}"),
            Ok(status) if status.code().is_some() => {
                format!("the guardian of settings failed: {status}")
            }
            Ok(_) => format!("the guardian of settings did not end in {END_PATIENCE:?}"),
            Err(error) => format!("the end of the guardian of settings is unknown: {error}"),
        });
        let trouble = trouble.map(|reason| NotChanged::new(reason, None));
        trouble.into_iter().chain(restore_left(Path::new("/"))).collect()
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.end_process();
    }
}

/// Runs `tactus internal guardian`: changes the settings that its standard input requests,
/// and restores them when the input ends.
///
/// # Errors
/// The request cannot be read or the response cannot be written; the machine is unchanged.
pub fn guardian_main() -> io::Result<()> {
    // Before anything is changed: a signal that ends or stops the guardian would leave settings
    // changed.
    process::ignore_requests_to_end().map_err(io::Error::other)?;
    process::continue_with_parent().map_err(io::Error::other)?;
    Ok(guard(requests(), responses())?)
}

/// Changes the settings, responds, waits for the end of `input`, and restores them in
/// reverse order.
pub(super) fn guard(
    mut input: MessageReader<impl BufRead>,
    mut output: MessageWriter<impl Write>,
) -> Result<(), WireError> {
    let Request { root, program, changes } = match input.read() {
        Ok(request) => request,
        // Killed before it requested anything: there is nothing to restore.
        Err(WireError::Closed | WireError::Truncated { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    let changed: Result<LastFirst<Changed>, NotChanged> =
        changes.into_iter().map(|change| Changed::make(&root, change)).collect();
    match changed {
        Err(reason) => output.write(&Response::NotChanged(reason)),
        Ok(changed) => {
            output.write(&Response::Changed)?;
            let mut threads = KeptThreads::default();
            let is_killed = loop {
                match input.read() {
                    Ok(Later::Keep(thread)) => threads.keep(thread),
                    Ok(Later::Release(thread)) => threads.release(thread),
                    Ok(Later::End) => break false,
                    Err(_) => break true,
                }
            };
            if is_killed {
                threads.restore();
            }
            drop(changed);
            if is_killed {
                remove_instances_of(&root, program, CLOSE_PATIENCE);
                remove_groups_of(&root, program, CLOSE_PATIENCE);
            }
            Ok(())
        }
    }
}
