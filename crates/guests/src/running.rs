//! Machines that run: where each one is, so that a turn can be ended at any moment.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::emulator::Emulator;
use crate::machine::{ARCHIVE_FILE, KERNEL_FILE, REQUEST_FILE};

/// The files by which a machine is started.
#[derive(Clone, Debug)]
pub struct MachineFiles<'a> {
    /// The kernel.
    pub kernel: &'a Path,
    /// The content of the archive.
    pub archive: &'a [u8],
    /// The request that the guest reads when it has booted.
    pub request: &'a [u8],
}

/// One machine that runs, with its working directory; it ends when this is dropped.
#[derive(Debug)]
pub struct Running {
    /// The emulator's process.
    pub child: Child,
    directory: TempDir,
}

impl Running {
    /// Starts a machine in a working directory of its own.
    ///
    /// # Errors
    /// A file cannot be written, or the emulator not be started.
    pub fn start(
        emulator: &Emulator,
        files: &MachineFiles<'_>,
        arguments: &[String],
    ) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("tactus-guest-").tempdir()?;
        symlink(fs::canonicalize(files.kernel)?, directory.path().join(KERNEL_FILE))?;
        fs::write(directory.path().join(ARCHIVE_FILE), files.archive)?;
        fs::write(directory.path().join(REQUEST_FILE), files.request)?;
        let child = emulator.start(directory.path(), arguments)?;
        Ok(Self { child, directory })
    }

    /// Its working directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended already cannot be killed, which is as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The place of one machine of a turn: another can take it, until the turn is ended.
#[derive(Debug, Default)]
pub struct Slot(Mutex<Place>);

#[derive(Debug, Default)]
struct Place {
    is_ended: bool,
    machine: Option<Running>,
}

/// The turn was ended, and no machine is wanted any more.
#[derive(Debug, thiserror::Error)]
#[error("the guest was ended")]
pub struct Ended;

impl From<Ended> for io::Error {
    fn from(ended: Ended) -> Self {
        Self::other(ended)
    }
}

impl Slot {
    /// Puts `machine` here; the one that was here before ends.
    ///
    /// # Errors
    /// The turn was ended, and the machine is now.
    pub fn hold(&self, machine: Running) -> Result<(), Ended> {
        let mut place = self.place();
        if place.is_ended {
            return Err(Ended);
        }
        place.machine = Some(machine);
        Ok(())
    }

    /// Whether the machine has not ended yet.
    pub fn is_running(&self) -> bool {
        let mut place = self.place();
        place.machine.as_mut().is_some_and(|machine| matches!(machine.child.try_wait(), Ok(None)))
    }

    /// `error`, by which the machine was lost, and how its emulator ended where it did.
    pub fn explain(&self, error: io::Error) -> io::Error {
        // Who closes its socket has ended a moment later.
        const LOOKS: usize = 20;
        const BETWEEN: Duration = Duration::from_millis(10);
        for _ in 0..LOOKS {
            let ended = self.place().machine.as_mut().map(|machine| machine.child.try_wait());
            if let Some(Ok(Some(status))) = ended {
                return io::Error::other(format!("{error}; the emulator ended with {status}"));
            }
            thread::sleep(BETWEEN);
        }
        error
    }

    /// The working directory of the machine, where there is one.
    pub fn directory(&self) -> Option<PathBuf> {
        self.place().machine.as_ref().map(|machine| machine.directory().to_owned())
    }

    /// Takes the machine out.
    pub fn take(&self) -> Option<Running> {
        self.place().machine.take()
    }

    /// Ends the machine, and lets no other in. What it wrote can be read until the slot is gone.
    pub fn end(&self) {
        let mut place = self.place();
        place.is_ended = true;
        if let Some(machine) = &mut place.machine {
            let _ = machine.child.kill();
        }
    }

    /// Whether the turn was ended.
    pub fn is_ended(&self) -> bool {
        self.place().is_ended
    }

    fn place(&self) -> MutexGuard<'_, Place> {
        // What panicked elsewhere leaves a machine that has to be ended all the same.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn an_emulator_that_ended_is_told_beside_what_came_of_it() {
        let slot = Slot::default();
        let child = Command::new("sh").args(["-c", "exit 3"]).spawn().unwrap();
        let directory = tempfile::tempdir().unwrap();
        slot.hold(Running { child, directory }).unwrap();
        let told = slot.explain(io::ErrorKind::BrokenPipe.into()).to_string();
        assert!(told.contains("broken pipe") && told.contains("exit status: 3"), "{told}");
    }
}
