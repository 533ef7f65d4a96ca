//! Running machines, held so that a turn can be ended at any moment.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tactus_model::guest::REQUEST_FILE;
use tactus_sys::owned_directory::OwnedDirectory;

use crate::emulator::Emulator;
use crate::machine::{ARCHIVE_FILE, KERNEL_FILE};

/// The prefix of the names of working directories.
pub const DIRECTORY: &str = "tactus-guest-";

/// The files of a machine.
#[derive(Clone, Debug)]
pub struct MachineFiles<'a> {
    /// The kernel.
    pub kernel: &'a Path,
    /// The content of the archive.
    pub archive: &'a [u8],
    /// The request, which the guest reads after its boot.
    pub request: &'a [u8],
}

/// A running machine with its working directory; dropping it ends the machine.
#[derive(Debug)]
pub struct Running {
    /// The emulator's process.
    pub child: Child,
    directory: OwnedDirectory,
}

impl Running {
    /// Starts a machine in its own working directory.
    ///
    /// # Errors
    /// A file cannot be written, or the emulator cannot be started.
    pub fn start(
        emulator: &Emulator,
        files: &MachineFiles<'_>,
        arguments: &[String],
    ) -> io::Result<Self> {
        let directory = OwnedDirectory::create(&std::env::temp_dir(), DIRECTORY)?;
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
        // Killing fails only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The place of one machine of a turn at a time, until the turn is ended.
#[derive(Debug, Default)]
pub struct Slot(Mutex<Place>);

#[derive(Debug, Default)]
struct Place {
    is_ended: bool,
    machine: Option<Running>,
}

/// How often a machine that waits looks whether its turn was ended.
pub const LOOK_FOR_END: Duration = Duration::from_millis(100);

/// The turn was ended, so no machine may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the guest was ended")]
pub struct Ended;

impl From<Ended> for io::Error {
    fn from(ended: Ended) -> Self {
        Self::other(ended)
    }
}

impl Slot {
    /// Puts `machine` here; the previous machine ends.
    ///
    /// # Errors
    /// The turn was ended; `machine` ends too.
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

    /// Adds the exit status of the emulator to `error`, if it has ended.
    pub fn explain(&self, error: io::Error) -> io::Error {
        // An emulator that closes its socket ends shortly after.
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

    /// The working directory of the machine, if there is one.
    pub fn directory(&self) -> Option<PathBuf> {
        self.place().machine.as_ref().map(|machine| machine.directory().to_owned())
    }

    /// Takes the machine out.
    pub fn take(&self) -> Option<Running> {
        self.place().machine.take()
    }

    /// Ends the machine, and accepts no other. Its output stays readable while the slot exists.
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
        // After a panic in another thread, the machine still has to be ended.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_next_machine_removes_the_directories_of_killed_ones() {
        let stale = std::env::temp_dir().join(format!("{DIRECTORY}{}-999", std::process::id()));
        fs::create_dir(&stale).unwrap();
        fs::write(stale.join(ARCHIVE_FILE), "").unwrap();
        let kernel = tempfile::NamedTempFile::new().unwrap();
        let files = MachineFiles { kernel: kernel.path(), archive: b"", request: b"" };
        let refused = Running::start(&Emulator::planted(), &files, &[]);
        assert!(refused.is_err() && !stale.exists());
    }

    #[test]
    fn an_error_names_the_exit_status_of_the_emulator() {
        let slot = Slot::default();
        let child = Command::new("sh").args(["-c", "exit 3"]).spawn().unwrap();
        let directory = OwnedDirectory::create(&std::env::temp_dir(), "tactus-test-").unwrap();
        slot.hold(Running { child, directory }).unwrap();
        let error = slot.explain(io::ErrorKind::BrokenPipe.into()).to_string();
        assert!(error.contains("broken pipe") && error.contains("exit status: 3"), "{error}");
    }
}
