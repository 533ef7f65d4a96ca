//! Guests that chores boot: an example of `tactus-guest` is their program.

mod files;
pub(crate) mod modules;
mod session;

pub(crate) use files::Files;
pub(crate) use session::{Session, ended, line_with, words};

use std::fs;
use std::io::BufReader;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use tactus_guests::STATIC_TARGET;
use tactus_guests::archive::Archive;
use tactus_guests::emulator::Emulator;
use tactus_guests::machine::{
    ARCHIVE_FILE, Accelerator, CONSOLE_FILE, KERNEL_FILE, Machine, REQUEST_FILE,
};
use tactus_kernels::{Kernel, Kernels};
use tactus_model::guest::Guest;
use tactus_model::kernel::KernelSource;
use tactus_wire::{MESSAGE_LIMIT, MessageReader, WireError};

use crate::cargo::{self, cargo};

/// The seed of all random numbers in a guest.
pub(crate) const SEED: u64 = 1;

/// Boots an example twice with a request. Returns its kernel and the lines of its output, which
/// are the same.
pub(crate) fn twice(
    root: &Path,
    example: &str,
    guest: &Guest,
    request: &str,
) -> anyhow::Result<(Kernel, Vec<String>)> {
    let found = kernel(&guest.kernel.source)?;
    let archive = archive(root, example)?;
    let lines = boot_twice(&found, guest, &archive, request)?;
    Ok((found, lines))
}

/// Boots an archive twice with a request. Returns the lines of its output, which are the same.
pub(crate) fn boot_twice(
    found: &Kernel,
    guest: &Guest,
    archive: &[u8],
    request: &str,
) -> anyhow::Result<Vec<String>> {
    let machine = Machine {
        guest,
        architecture: found.architecture,
        accelerator: Accelerator::Tcg,
        cpus: 1,
        seed: SEED as u32,
    };
    let boot = || {
        let mut lines = Vec::new();
        let guest = ChoreGuest { request, ..ChoreGuest::new(found, archive) };
        guest.boot(&machine, |line| lines.push(line)).map(|()| lines)
    };
    let (first, second) = (boot()?, boot()?);
    ensure!(first == second, "the outputs of two boots differ");
    Ok(first)
}

/// Finds a kernel, or fetches it as `tactus lab` does.
pub(crate) fn kernel(source: &KernelSource) -> anyhow::Result<Kernel> {
    Ok(Kernels::new("/boot", cache()?).find(source)?)
}

/// Where `tactus lab` keeps the kernels that it fetched.
fn cache() -> anyhow::Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    Ok(cache.or_else(home).context("HOME is not set")?.join("tactus/kernels"))
}

/// Builds an example of `tactus-guest`, and packs it into the archive of a guest.
pub(crate) fn archive(root: &Path, example: &str) -> anyhow::Result<Vec<u8>> {
    archive_with(root, example, &Files::default())
}

/// Like [`archive`], with other files beside it.
pub(crate) fn archive_with(root: &Path, example: &str, files: &Files) -> anyhow::Result<Vec<u8>> {
    let mut build = cargo(root);
    build
        .args(["build", "--release", "--locked", "-p", "tactus-guest", "--example", example])
        .args(["--target", STATIC_TARGET]);
    let fix = format!("fix: rustup target add {STATIC_TARGET}");
    cargo::run(&mut build, &format!("the guest's program does not build; {fix}"))?;
    let examples = cargo::target(root).join(STATIC_TARGET).join("release/examples");
    let program = fs::read(examples.join(example))?;
    let directories = ["dev", "proc", "sys", "tmp", "bin"];
    let archive = directories.into_iter().fold(Archive::new(), Archive::directory);
    let archive = archive
        .device("dev/console", 5, 1)
        .program("bin/tactus", &program)
        .link("init", "bin/tactus")
        .link("bin/true", "tactus");
    Ok(files.pack(archive, &directories).finish())
}

/// What a guest boots with.
pub(crate) struct ChoreGuest<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) archive: &'a [u8],
    /// What the program reads from the emulator; it may ignore it.
    pub(crate) request: &'a str,
    /// The content of a disk, `/dev/nvme0n1` in the guest.
    pub(crate) disk: Option<&'a [u8]>,
    /// Its memory in MiB, if not that of all guests.
    pub(crate) memory: Option<u32>,
}

/// The file of the disk in the working directory of a machine.
const DISK_FILE: &str = "disk";

impl<'a> ChoreGuest<'a> {
    /// A guest without a request and a disk.
    pub(crate) const fn new(kernel: &'a Kernel, archive: &'a [u8]) -> Self {
        Self { kernel, archive, request: "", disk: None, memory: None }
    }

    /// Boots it, and yields the lines of its output until it ends.
    ///
    /// # Errors
    /// It sent nothing.
    pub(crate) fn boot(
        &self,
        machine: &Machine<'_>,
        mut on_line: impl FnMut(String),
    ) -> anyhow::Result<()> {
        let emulator = Emulator::find(
            &std::env::var_os("PATH").unwrap_or_default(),
            self.kernel.architecture,
        )?;
        let directory = tempfile::tempdir()?;
        fs::write(directory.path().join(ARCHIVE_FILE), self.archive)?;
        fs::write(directory.path().join(REQUEST_FILE), self.request)?;
        symlink(fs::canonicalize(&self.kernel.path)?, directory.path().join(KERNEL_FILE))?;
        let mut arguments = machine.arguments();
        if let Some(memory) = self.memory {
            let at = arguments.iter().position(|word| word == "-m").context("no -m")?;
            arguments[at + 1] = memory.to_string();
        }
        if let Some(disk) = self.disk {
            fs::write(directory.path().join(DISK_FILE), disk)?;
            let drive = format!("if=none,id=disk,format=raw,file={DISK_FILE}");
            arguments.extend(
                ["-drive", &drive, "-device", "nvme,drive=disk,serial=1"].map(str::to_owned),
            );
        }
        let mut child = emulator.start(directory.path(), &arguments)?;
        let output = BufReader::new(child.stdout.take().context("the emulator has no output")?);
        let mut output = MessageReader::new(output, MESSAGE_LIMIT);
        let mut lines = 0;
        loop {
            match output.read_line() {
                Ok(line) => on_line(line),
                Err(WireError::Closed) => break,
                Err(error) => return Err(error.into()),
            }
            lines += 1;
        }
        child.wait()?;
        if lines == 0 {
            let console = fs::read(directory.path().join(CONSOLE_FILE))?;
            bail!("the guest sent nothing; its console: {}", String::from_utf8_lossy(&console));
        }
        Ok(())
    }
}
