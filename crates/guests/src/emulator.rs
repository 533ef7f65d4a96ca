//! The emulator in which guests run: its file, its version, and whether hardware virtualization
//! can replace it.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tactus_model::guest::{DONE, EXIT_PORT, exit_code};
use tactus_model::kernel::Architecture;
use tactus_sys::owned_directory::OwnedDirectory;
use tactus_sys::{process, program};

use crate::GuestError;
use crate::machine::{Accelerator, CONSOLE_FILE};
use crate::running::DIRECTORY;

/// The QEMU that is installed here.
#[derive(Clone, Debug)]
pub struct Emulator {
    program: PathBuf,
    architecture: Architecture,
    /// The first line of `--version`.
    pub version: String,
}

#[cfg(test)]
impl Emulator {
    /// An emulator that cannot run.
    pub(crate) fn planted() -> Self {
        let (architecture, version) = (Architecture::Amd64, String::new());
        Self { program: PathBuf::new(), architecture, version }
    }
}

/// An emulator that is a shell script in `folder`, for tests.
#[cfg(test)]
pub(crate) fn planted_script(folder: &Path, script: &str) -> Emulator {
    use std::os::unix::fs::PermissionsExt;
    // Another process writes the program: while a fork of this one has it open, it cannot start.
    let (text, program) = (folder.join("text"), folder.join("emulator"));
    fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&text, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(Command::new("cp").arg(&text).arg(&program).status().unwrap().success());
    Emulator { program, architecture: Architecture::Amd64, version: String::new() }
}

/// QEMU for guests of this architecture.
pub(crate) const fn program(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::Amd64 => "qemu-system-x86_64",
        Architecture::Arm64 => "qemu-system-aarch64",
    }
}

/// Debian's package with it.
pub(crate) const fn package(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::Amd64 => "qemu-system-x86",
        Architecture::Arm64 => "qemu-system-arm",
    }
}

impl Emulator {
    /// Finds QEMU for guests of `architecture` along `search_path`, a list of directories as `PATH`
    /// is.
    ///
    /// # Errors
    /// It is not installed, or cannot run.
    pub fn find(
        search_path: &std::ffi::OsStr,
        architecture: Architecture,
    ) -> Result<Self, GuestError> {
        let program = program::find_along(search_path, program(architecture))
            .ok_or(GuestError::NoEmulator(architecture))?;
        let output = Command::new(&program)
            .arg("--version")
            .output()
            .map_err(|source| GuestError::Io { what: "run", path: program.clone(), source })?;
        let output = String::from_utf8_lossy(&output.stdout);
        let version = output.lines().next().unwrap_or_default().to_owned();
        Ok(Self { program, architecture, version })
    }

    /// What executes guests in wall time: KVM if a trial machine of a few instructions works
    /// with it, else the emulator. Guests for arm64 make requests that only the emulator serves.
    ///
    /// The presence of `/dev/kvm` is not enough: a virtual CPU may lack features that QEMU
    /// needs. Nor are a few instructions enough for a kernel: see the module `kvm`.
    pub fn accelerator(&self) -> Accelerator {
        if self.architecture == Architecture::Arm64 {
            return Accelerator::Tcg;
        }
        match self.kvm_runs() {
            Ok(true) => Accelerator::Kvm,
            // The emulator works in any case.
            Ok(false) | Err(_) => Accelerator::Tcg,
        }
    }

    fn kvm_runs(&self) -> io::Result<bool> {
        let directory = OwnedDirectory::create(&std::env::temp_dir(), DIRECTORY)?;
        fs::write(directory.path().join("trial"), trial_firmware())?;
        let mut command = Command::new(&self.program);
        process::die_with_parent(&mut command);
        let mut child = command
            .args(["-accel", "kvm", "-cpu", "host", "-m", "16", "-bios", "trial"])
            .args(["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-device"])
            .arg(format!("isa-debug-exit,iobase={EXIT_PORT:#x},iosize=0x04"))
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let deadline = Instant::now() + TRIAL_LIMIT;
        while Instant::now() < deadline {
            if let Some(status) = child.try_wait()? {
                return Ok(status.code() == Some(exit_code(DONE)));
            }
            thread::sleep(Duration::from_millis(5));
        }
        child.kill()?;
        child.wait()?;
        Ok(false)
    }

    /// Starts a machine with the files in `directory`. Its messages arrive on the child's
    /// standard output; it is killed when this thread ends.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(&self, directory: &Path, arguments: &[String]) -> io::Result<Child> {
        let complaints = fs::File::create(directory.join(COMPLAINTS_FILE))?;
        let mut command = Command::new(&self.program);
        process::die_with_parent(&mut command);
        command
            .args(arguments)
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            // Ctrl-C at the terminal is for us; we decide how guests end.
            .process_group(0)
            .stderr(complaints)
            .spawn()
    }
}

/// The longest trial; a successful trial takes a tenth of a second.
const TRIAL_LIMIT: Duration = Duration::from_secs(3);

/// The emulator's own standard error, in its working directory.
pub(crate) const COMPLAINTS_FILE: &str = "emulator";

/// The texts that a machine leaves: the emulator's standard error, and the console of the
/// guest's kernel.
pub fn last_words(directory: &Path) -> String {
    complaints(directory) + &console(directory)
}

/// The emulator's standard error.
pub fn complaints(directory: &Path) -> String {
    text_of(directory, COMPLAINTS_FILE)
}

/// The console of the guest's kernel.
pub fn console(directory: &Path) -> String {
    text_of(directory, CONSOLE_FILE)
}

/// The content of a file, which is empty if it does not exist.
fn text_of(directory: &Path, file: &str) -> String {
    let bytes = fs::read(directory.join(file)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The line of an emulator that ended in order because of a signal, such as SIGTERM.
pub fn signal_line(directory: &Path) -> Option<String> {
    const SIGN: &str = "terminating on signal";
    let complaints = complaints(directory);
    let line = complaints.lines().find_map(|line| line.find(SIGN).and_then(|at| line.get(at..)));
    line.map(str::to_owned)
}

/// The last line of an emulator's standard error that names a failed assertion.
pub fn assertion_line(directory: &Path) -> Option<String> {
    let complaints = complaints(directory);
    // QEMU's own are written by assert(3) or by GLib, which uses lower case.
    let is_one = |line: &&str| line.to_ascii_lowercase().contains("assertion");
    complaints.lines().rfind(is_one).map(|line| line.trim().to_owned())
}

/// Firmware that only ends the machine: `mov al, DONE; out EXIT_PORT, al; hlt` at the reset
/// vector, 16 bytes below the end.
fn trial_firmware() -> Vec<u8> {
    const LENGTH: usize = 64 << 10;
    const HALT: u8 = 0xf4;
    let mut firmware = vec![HALT; LENGTH];
    let begin = LENGTH - 16;
    firmware[begin..begin + 4].copy_from_slice(&[0xb0, DONE, 0xe6, EXIT_PORT as u8]);
    firmware
}
