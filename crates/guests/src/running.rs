//! Running machines, held so that a turn can be ended at any moment.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tactus_model::guest::REQUEST_FILE;
use tactus_sys::owned_directory::OwnedDirectory;

use crate::emulator::{Emulator, assertion_line, signal_line};
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
        let kernel = fs::canonicalize(files.kernel).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot find {}: {error}", files.kernel.display()))
        })?;
        let directory = Self::files(&kernel, files)
            .map_err(|error| in_temporary("write the files of the machine", &error))?;
        let child = emulator.start(directory.path(), arguments).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot start the emulator: {error}"))
        })?;
        Ok(Self { child, directory })
    }

    /// A working directory with the files of a machine.
    fn files(kernel: &Path, files: &MachineFiles<'_>) -> io::Result<OwnedDirectory> {
        let directory = OwnedDirectory::create(&std::env::temp_dir(), DIRECTORY)?;
        symlink(kernel, directory.path().join(KERNEL_FILE))?;
        fs::write(directory.path().join(ARCHIVE_FILE), files.archive)?;
        fs::write(directory.path().join(REQUEST_FILE), files.request)?;
        Ok(directory)
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

    /// The error if the emulator cannot do `what`: how it ended, if it has, else `error`.
    pub fn explain(&self, what: &str, error: &io::Error) -> io::Error {
        self.explain_with(what, error, |error| {
            io::Error::new(error.kind(), format!("cannot {what}: {error}"))
        })
    }

    /// The error if the emulator cannot do `what`, which writes a file for temporary files: how it
    /// ended, if it has.
    pub fn explain_write(&self, what: &str, error: &io::Error) -> io::Error {
        self.explain_with(what, error, |error| in_temporary(what, error))
    }

    fn explain_with(
        &self,
        what: &str,
        error: &io::Error,
        if_alive: impl FnOnce(&io::Error) -> io::Error,
    ) -> io::Error {
        match self.status() {
            Some(status) if status.signal().is_some() => self.killed(status),
            Some(status) => io::Error::other(format!(
                "cannot {what}: {error}; the emulator ended with {status}"
            )),
            None => if_alive(error),
        }
    }

    /// The exit status of an emulator that has closed its output or its socket: it ends shortly
    /// after.
    fn status(&self) -> Option<ExitStatus> {
        const LOOKS: usize = 100;
        const BETWEEN: Duration = Duration::from_millis(10);
        for _ in 0..LOOKS {
            let ended = self.place().machine.as_mut().map(|machine| machine.child.try_wait());
            if let Some(Ok(Some(status))) = ended {
                return Some(status);
            }
            thread::sleep(BETWEEN);
        }
        None
    }

    /// Requires that no signal ended the emulator, which has closed its output. We end it only with
    /// its turn.
    ///
    /// # Errors
    /// A signal ended it.
    pub fn check_alive_or_exited(&self) -> io::Result<()> {
        match self.status() {
            Some(status) if status.signal().is_some() => Err(self.killed(status)),
            _ => match self.directory().and_then(|directory| signal_line(&directory)) {
                Some(line) => Err(io::Error::other(format!("the emulator ended: {line}"))),
                None => Ok(()),
            },
        }
    }

    /// The error of an emulator that a signal ended.
    fn killed(&self, status: ExitStatus) -> io::Error {
        const KILL: i32 = 9;
        const ABORT: i32 = 6;
        let assertion = || self.directory().and_then(|directory| assertion_line(&directory));
        let why = match status.signal() {
            Some(KILL) => " (the kernel kills programs when memory is short: use fewer --jobs)",
            Some(ABORT) => match assertion() {
                Some(line) => return io::Error::other(Aborted(line)),
                None => "",
            },
            _ => "",
        };
        io::Error::other(format!("the emulator was ended by {status}{why}"))
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

/// An error with files in the directory for temporary files, where the state of a machine takes
/// about 100 MB.
pub fn in_temporary(what: &str, error: &io::Error) -> io::Error {
    io::Error::other(format!(
        "cannot {what} in {}, which needs about 100 MB for each machine (TMPDIR chooses another \
         directory): {error}",
        std::env::temp_dir().display()
    ))
}

/// The emulator aborted by an assertion of its own, which it names in this line.
#[derive(Debug, thiserror::Error)]
#[error("the emulator failed, by an assertion of its own: {0}")]
pub struct Aborted(String);

impl Aborted {
    /// Whether this is the reason of `error`.
    pub fn is_reason_of(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|reason| reason.is::<Self>())
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

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

    /// A slot with a machine that runs this shell script.
    fn slot(script: &str) -> Slot {
        let slot = Slot::default();
        let mut shell = Command::new("sh");
        let child = shell.args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap();
        let directory = OwnedDirectory::create(&std::env::temp_dir(), "tactus-test-").unwrap();
        slot.hold(Running { child, directory }).unwrap();
        slot
    }

    #[test]
    fn an_error_names_the_exit_status_of_the_emulator() {
        let slot = slot("exit 3");
        let explained = slot.explain("restore its state", &io::ErrorKind::BrokenPipe.into());
        assert_eq!(
            explained.to_string(),
            "cannot restore its state: broken pipe; the emulator ended with exit status: 3"
        );
        slot.check_alive_or_exited().unwrap();
    }

    #[test]
    fn an_emulator_that_was_killed_is_an_error_with_its_signal() {
        let error = slot("kill -KILL $$").check_alive_or_exited().unwrap_err().to_string();
        assert!(error.contains("signal: 9 (SIGKILL)") && error.contains("--jobs"), "{error}");
        let broken = io::ErrorKind::BrokenPipe.into();
        for error in [
            slot("kill -TERM $$").explain("restore its state", &broken).to_string(),
            slot("kill -TERM $$").explain_write("save its state", &broken).to_string(),
        ] {
            assert_eq!(error, "the emulator was ended by signal: 15 (SIGTERM)");
        }
        // QEMU ends in order after some signals.
        let slot = slot("exit 0");
        let complaints = slot.directory().unwrap().join(crate::emulator::COMPLAINTS_FILE);
        fs::write(complaints, "qemu: terminating on signal 15 from pid 7 (sh)\n").unwrap();
        let error = slot.check_alive_or_exited().unwrap_err().to_string();
        assert_eq!(error, "the emulator ended: terminating on signal 15 from pid 7 (sh)");
    }

    #[test]
    fn an_emulator_that_aborts_is_an_error_with_its_assertion() {
        let abort = |complaints: &str| {
            let slot = slot("read go; kill -ABRT $$");
            let file = slot.directory().unwrap().join(crate::emulator::COMPLAINTS_FILE);
            fs::write(file, complaints).unwrap();
            drop(slot.place().machine.as_mut().unwrap().child.stdin.take());
            slot.check_alive_or_exited().unwrap_err()
        };
        let error =
            abort("qemu: warning: a\nqemu: replay.c:248: f: Assertion `diff >= 0' failed.\n");
        assert!(Aborted::is_reason_of(&error));
        assert_eq!(
            error.to_string(),
            "the emulator failed, by an assertion of its own: qemu: replay.c:248: f: Assertion \
             `diff >= 0' failed."
        );
        let error = abort("qemu: warning: a\n");
        assert!(!Aborted::is_reason_of(&error));
        assert!(error.to_string().contains("signal: 6 (SIGABRT)"), "{error}");
    }

    #[test]
    fn files_that_cannot_be_written_are_an_error_with_their_directory() {
        let error = in_temporary("save its state", &io::ErrorKind::StorageFull.into()).to_string();
        assert!(error.contains("no storage space"), "{error}");
        let directory = std::env::temp_dir().display().to_string();
        assert!(error.contains(&directory) && error.contains("TMPDIR"), "{error}");
        let (slot, error) = (slot("exec sleep 60"), io::Error::other("it failed"));
        let written = slot.explain_write("save its state", &error).to_string();
        assert!(written.contains("TMPDIR") && written.ends_with("it failed"), "{written}");
        let read = slot.explain("restore its state", &error).to_string();
        assert_eq!(read, "cannot restore its state: it failed");
    }
}
