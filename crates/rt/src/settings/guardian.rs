//! The process that changes settings for a program and outlives it.

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tactus_sys::process;
use tactus_wire::{MessageReader, MessageWriter, Peer, Start, WireError, requests, responses};

use super::changed::Changed;
use super::{LastFirst, NotChanged, SettingChange};

/// The longest wait for the guardian: for its response, and for its end.
///
/// Starting a program and writing a few settings takes milliseconds, and some seconds on a
/// machine under heavy load.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a program requests from its guardian.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    /// The root of the tree that contains the settings and the notes.
    pub(super) root: PathBuf,
    pub(super) changes: Vec<SettingChange>,
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

/// The process that keeps settings changed, as seen by the program that started it.
#[derive(Debug)]
pub(super) struct Guardian {
    /// The guardian restores the settings when its input is closed.
    process: Peer,
}

impl Guardian {
    pub(super) fn start(executable: &Path, request: &Request) -> Result<Self, NotChanged> {
        let unstartable = |error: &dyn std::fmt::Display| {
            NotChanged::new(format!("cannot start the guardian of settings: {error}"), None)
        };
        let mut command = Command::new(executable);
        command.args(["internal", "guardian"]);
        // A signal to our group is meant for the program; the guardian ends after it.
        let started = Start::new(command).in_own_group().start();
        let (process, mut responses) = started.map_err(|error| unstartable(&error))?;
        // From here on, an early return drops this, which waits until all is restored.
        let mut guardian = Self { process };
        guardian.process.send(request).map_err(|error| unstartable(&error))?;
        match responses.read_within(PATIENCE) {
            Ok(Response::Changed) => Ok(guardian),
            Ok(Response::NotChanged(reason)) => Err(reason),
            Err(error) => {
                let reason = format!("no response from the guardian of settings: {error}");
                Err(NotChanged::new(reason, None))
            }
        }
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        // If it has to be killed, the next program restores the settings.
        let _ = self.process.wait_or_kill(PATIENCE);
    }
}

/// Runs `tactus internal guardian`: changes the settings that its standard input requests,
/// and restores them when the input ends.
///
/// # Errors
/// The request cannot be read or the response cannot be written; the machine is unchanged.
pub fn guardian_main() -> io::Result<()> {
    // Before anything is changed: a signal that ends the guardian would leave settings changed.
    process::ignore_requests_to_end().map_err(io::Error::other)?;
    Ok(guard(requests(), responses())?)
}

/// Changes the settings, responds, waits for the end of `input`, and restores them in
/// reverse order.
pub(super) fn guard(
    mut input: MessageReader<impl BufRead>,
    mut output: MessageWriter<impl Write>,
) -> Result<(), WireError> {
    let Request { root, changes } = input.read()?;
    let changed: Result<LastFirst<Changed>, NotChanged> =
        changes.into_iter().map(|change| Changed::make(&root, change)).collect();
    match changed {
        Err(reason) => output.write(&Response::NotChanged(reason)),
        Ok(_changed) => {
            output.write(&Response::Changed)?;
            // No second request follows, so this returns at the end of the program.
            let _ = input.read_line();
            Ok(())
        }
    }
}
