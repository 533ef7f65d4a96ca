//! Booting an example of `tactus-guest` in deterministic time.

use std::fs;
use std::io::BufReader;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use tactus_guests::archive::Archive;
use tactus_guests::emulator::Emulator;
use tactus_guests::machine::{ARCHIVE_FILE, Accelerator, KERNEL_FILE, Machine, REQUEST_FILE};
use tactus_guests::{STATIC_TARGET, machine};
use tactus_kernels::{Kernel, Kernels};
use tactus_model::guest::Guest;
use tactus_wire::{MESSAGE_LIMIT, MessageReader, WireError};

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
    let found = Kernels::new("/boot", cache()?).find(&guest.kernel.source)?;
    let archive = archive(&program(root, example)?);
    let machine = Machine { guest, accelerator: Accelerator::Tcg, cpus: 1, seed: SEED as u32 };
    let first = boot(&found, &archive, request, &machine)?;
    let second = boot(&found, &archive, request, &machine)?;
    ensure!(first == second, "the outputs of two boots differ");
    Ok((found, first))
}

/// Where `tactus lab` keeps the kernels that it fetched.
fn cache() -> anyhow::Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    Ok(cache.or_else(home).context("HOME is not set")?.join("tactus/kernels"))
}

/// Builds the program that the guest runs.
fn program(root: &Path, example: &str) -> anyhow::Result<Vec<u8>> {
    let built = Command::new("cargo")
        .args(["build", "--release", "--locked", "-p", "tactus-guest", "--example", example])
        .args(["--target", STATIC_TARGET])
        .current_dir(root)
        .status()
        .context("cargo")?;
    ensure!(
        built.success(),
        "the guest's program does not build; rustup target add {STATIC_TARGET}"
    );
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    Ok(fs::read(target.join(STATIC_TARGET).join("release/examples").join(example))?)
}

fn archive(program: &[u8]) -> Vec<u8> {
    let directories = ["dev", "proc", "sys", "tmp", "bin"];
    let archive = directories.into_iter().fold(Archive::new(), Archive::directory);
    let archive = archive
        .device("dev/console", 5, 1)
        .program("bin/tactus", program)
        .link("init", "bin/tactus")
        .link("bin/true", "tactus");
    archive.finish()
}

/// Boots a guest and returns the lines of its output.
fn boot(
    kernel: &Kernel,
    archive: &[u8],
    request: &str,
    machine: &Machine<'_>,
) -> anyhow::Result<Vec<String>> {
    let emulator = Emulator::find(&std::env::var_os("PATH").unwrap_or_default())?;
    let directory = tempfile::tempdir()?;
    fs::write(directory.path().join(ARCHIVE_FILE), archive)?;
    fs::write(directory.path().join(REQUEST_FILE), request)?;
    symlink(fs::canonicalize(&kernel.path)?, directory.path().join(KERNEL_FILE))?;
    let mut child = emulator.start(directory.path(), &machine.arguments())?;
    let output = BufReader::new(child.stdout.take().context("the emulator has no output")?);
    let mut output = MessageReader::new(output, MESSAGE_LIMIT);
    let mut lines = Vec::new();
    loop {
        match output.read_line() {
            Ok(line) => lines.push(line),
            Err(WireError::Closed) => break,
            Err(error) => return Err(error.into()),
        }
    }
    child.wait()?;
    if lines.is_empty() {
        let console = fs::read(directory.path().join(machine::CONSOLE_FILE))?;
        bail!("the guest sent nothing; its console: {}", String::from_utf8_lossy(&console));
    }
    Ok(lines)
}
