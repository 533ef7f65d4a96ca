//! A bare kernel as the floor: what a small executive without processes and protection
//! takes to wake a task, in the same exact time as guests.
//!
//! It is FreeRTOS in its flat port to 32-bit x86, under the MIT licence. The source is not
//! ours to carry: it comes with a package of the Rust registry, by cargo, and is built by
//! the C compiler when it is wanted. Ours are the experiment and 60 lines to boot it
//! (`floor/`). It is no target, since it knows neither our loads nor our policies.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;
use tactus_model::guest::{DONE, Proof, Speed, exit_code};
use tactus_model::time::Nanos;

use crate::guest::emulator::Emulator;
use crate::guest::machine::bare_machine;
use crate::guest::{GuestError, prove, sha256};

/// The package that carries the source, in the version for which this was written.
const PACKAGE: (&str, &str) = ("freertos-next", "0.12.0");

/// Our files, by the names under which they include each other.
const FILES: [(&str, &str); 6] = [
    ("boot.S", include_str!("../floor/boot.S")),
    ("floor.c", include_str!("../floor/floor.c")),
    ("FreeRTOSConfig.h", include_str!("../floor/FreeRTOSConfig.h")),
    ("limits.h", include_str!("../floor/limits.h")),
    ("stdlib.h", include_str!("../floor/stdlib.h")),
    ("string.h", include_str!("../floor/string.h")),
];

/// The executive's files, below its own directory.
const SOURCES: [&str; 4] =
    ["tasks.c", "list.c", "portable/GCC/IA32_flat/port.c", "portable/GCC/IA32_flat/portASM.S"];

/// How the C compiler is called: for a machine without an operating system, reproducibly.
const COMPILE: [&str; 17] = [
    "-m32",
    "-march=i686",
    "-O2",
    "-ffreestanding",
    "-fno-builtin",
    "-fno-pic",
    "-no-pie",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-nostdlib",
    "-nostdinc",
    "-static",
    "-w",
    "-Wl,-Ttext=0x100000",
    "-Wl,-e,start",
    "-Wl,-z,noexecstack",
    "-Wl,--build-id=none",
];

/// How many boots must say the same.
const BOOTS: usize = 2;

/// Why there is no floor.
#[derive(Debug, thiserror::Error)]
pub enum FloorError {
    /// The emulator is missing.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// The directory holds no such source.
    #[error("{0} does not hold the source of FreeRTOS: {1} is missing there")]
    NoSource(PathBuf, &'static str),
    /// A program that is needed failed or is missing.
    #[error("{program} failed: {reason}")]
    Program {
        /// Which.
        program: &'static str,
        /// Its last words.
        reason: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// It did not say what it should.
    #[error("the bare kernel did not do its work: {0}")]
    Ended(String),
    /// Something else of this machine failed.
    #[error("the bare kernel cannot be built or run: {0}")]
    Io(#[from] io::Error),
}

impl FloorError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Guest(error) => error.hint(),
            Self::NoSource(..) => Some(
                "name the directory that holds tasks.c and portable/: --source FreeRTOS-Kernel"
                    .to_owned(),
            ),
            Self::Program { hint, .. } => Some((*hint).to_owned()),
            Self::Ended(_) | Self::Io(_) => None,
        }
    }
}

/// How late the task woke beside so many others that compute all the time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FloorWindow {
    /// The others, of lower priority.
    pub spinners: u32,
    /// The lateness of each wakeup in nanoseconds of exact time, in order.
    pub late_ns: Vec<u64>,
}

impl FloorWindow {
    /// The lateness that a share of the wakeups did not exceed.
    pub fn quantile(&self, share: f64) -> Option<Nanos> {
        let mut sorted = self.late_ns.clone();
        sorted.sort_unstable();
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.max(1) - 1).copied().map(Nanos::from_nanos)
    }
}

/// What a bare kernel came to, with all by which it can be repeated.
#[derive(Clone, Debug, Serialize)]
pub struct Floor {
    /// The executive and its version.
    pub kernel: String,
    /// The compiler's own word for itself.
    pub compiler: String,
    /// The emulator's own word for its version.
    pub emulator: String,
    /// The emulator's arguments.
    pub command_line: Vec<String>,
    /// Millions of instructions a second.
    pub mips: u32,
    /// The SHA-256 digest of what was booted.
    pub image_sha256: String,
    /// That it says the same when it is booted again.
    pub proof: Proof,
    /// One window for each number of spinners.
    pub windows: Vec<FloorWindow>,
}

/// Builds the executive from `source`, or from what cargo fetches, and measures it.
///
/// # Errors
/// Its source, the compiler or the emulator is missing, or it does not repeat.
pub fn measure(
    source: Option<&Path>,
    speed: Speed,
    samples: u32,
    search_path: &OsStr,
) -> Result<Floor, FloorError> {
    let emulator = Emulator::find(search_path)?;
    let source = match source {
        Some(directory) => directory.to_owned(),
        None => fetch()?,
    };
    if let Some(missing) = SOURCES.into_iter().find(|file| !source.join(file).is_file()) {
        return Err(FloorError::NoSource(source, missing));
    }
    let directory = tempfile::Builder::new().prefix("tactus-floor-").tempdir()?;
    build(&source, directory.path())?;
    let command_line = bare_machine(speed, samples);
    let said = (0..BOOTS)
        .map(|_| boot(&emulator, directory.path(), &command_line))
        .collect::<Result<Vec<_>, _>>()?;
    let proof = prove(&said)
        .map_err(|line| FloorError::Ended(format!("two boots differ from line {line} on")))?;
    let windows = windows(said.first().into_iter().flatten())
        .map_err(|line| FloorError::Ended(format!("it said `{line}`")))?;
    Ok(Floor {
        kernel: format!("FreeRTOS {}", version(&source).unwrap_or_default()),
        compiler: compiler(),
        emulator: emulator.version,
        command_line,
        mips: speed.mips(),
        image_sha256: sha256(&fs::read(directory.path().join(IMAGE))?),
        proof,
        windows,
    })
}

/// The name of what is booted, in its working directory.
const IMAGE: &str = crate::guest::machine::KERNEL_FILE;

/// Has cargo fetch the package that carries the source, and tells where it lies.
fn fetch() -> Result<PathBuf, FloorError> {
    let project = tempfile::tempdir()?;
    let (name, version) = PACKAGE;
    let manifest = format!(
        "[package]\nname = \"floor\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [dependencies]\n{name} = \"={version}\"\n[workspace]\n"
    );
    fs::write(project.path().join("Cargo.toml"), manifest)?;
    fs::create_dir(project.path().join("src"))?;
    fs::write(project.path().join("src/lib.rs"), "")?;
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--format-version", "1"]).current_dir(project.path());
    let told = run(&mut cargo, "cargo", "name a directory that has it: --source FreeRTOS-Kernel")?;
    let told: serde_json::Value = serde_json::from_slice(&told).map_err(io::Error::from)?;
    let packages = told["packages"].as_array().into_iter().flatten();
    let manifest = packages
        .filter(|package| package["name"] == name)
        .find_map(|package| package["manifest_path"].as_str())
        .map(|manifest| Path::new(manifest).with_file_name("FreeRTOS-Kernel"));
    manifest.ok_or_else(|| FloorError::NoSource(PathBuf::from(name), "the package"))
}

fn build(source: &Path, directory: &Path) -> Result<(), FloorError> {
    for (name, content) in FILES {
        fs::write(directory.join(name), content)?;
    }
    let hint = "sudo apt-get install gcc";
    let headers = run(Command::new("gcc").arg("-print-file-name=include"), "gcc", hint)?;
    let headers = String::from_utf8_lossy(&headers).trim().to_owned();
    let mut gcc = Command::new("gcc");
    gcc.current_dir(directory)
        .args(COMPILE)
        // Ours come first: the standard library's headers of a hosted system are not meant.
        .args(["-isystem", ".", "-isystem", &headers, "-I"])
        .arg(fs::canonicalize(source)?.join("include"))
        .arg("-I")
        .arg(fs::canonicalize(source)?.join("portable/GCC/IA32_flat"))
        .args(["-o", IMAGE, "boot.S", "floor.c"]);
    for file in SOURCES {
        gcc.arg(fs::canonicalize(source)?.join(file));
    }
    run(&mut gcc, "gcc", hint).map(drop)
}

/// What a program writes to its standard output.
fn run(
    command: &mut Command,
    program: &'static str,
    hint: &'static str,
) -> Result<Vec<u8>, FloorError> {
    let failed = |reason: String| FloorError::Program { program, reason, hint };
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(failed(words.lines().next_back().unwrap_or("it did not say why").to_owned()))
}

/// The compiler in its own words, where it has some.
fn compiler() -> String {
    let told = run(Command::new("gcc").arg("--version"), "gcc", "").unwrap_or_default();
    String::from_utf8_lossy(&told).lines().next().unwrap_or_default().to_owned()
}

/// The version that the source tells of itself.
fn version(source: &Path) -> Option<String> {
    let header = fs::read_to_string(source.join("include/task.h")).ok()?;
    let line = header
        .lines()
        .find(|line| line.contains("tskKERNEL_VERSION_NUMBER") && line.contains('"'))?;
    Some(line.split('"').nth(1)?.to_owned())
}

/// Boots what lies in `directory`, and gives the lines that it said.
fn boot(
    emulator: &Emulator,
    directory: &Path,
    arguments: &[String],
) -> Result<Vec<String>, FloorError> {
    let mut child = emulator.start(directory, arguments)?;
    let output = child.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
    let lines: Vec<String> = BufReader::new(output).lines().collect::<io::Result<_>>()?;
    let status = child.wait()?;
    if status.code() == Some(exit_code(DONE)) {
        return Ok(lines);
    }
    let words = crate::guest::emulator::last_words(directory);
    let last = words.lines().next_back().unwrap_or_default();
    Err(FloorError::Ended(format!("the emulator ended with {status}: {last}")))
}

/// Reads what it said: `spinners N`, then a lateness a line.
///
/// # Errors
/// The line that is neither.
fn windows<'l>(lines: impl Iterator<Item = &'l String>) -> Result<Vec<FloorWindow>, String> {
    let mut windows: Vec<FloorWindow> = Vec::new();
    for line in lines {
        let spinners = line.strip_prefix("spinners ").and_then(|number| number.parse().ok());
        match (spinners, windows.last_mut(), line.parse()) {
            (Some(spinners), _, _) => {
                windows.push(FloorWindow { spinners, late_ns: Vec::new() });
            }
            (None, Some(window), Ok(late)) => window.late_ns.push(late),
            _ => return Err(line.clone()),
        }
    }
    Ok(windows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<FloorWindow>, String> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        windows(lines.iter())
    }

    #[test]
    fn what_it_said_is_read_window_by_window() {
        let read = read("spinners 0\n133\n140\nspinners 8\n135\n").unwrap();
        let expected = [(0, vec![133, 140]), (8, vec![135])];
        let expected = expected.map(|(spinners, late_ns)| FloorWindow { spinners, late_ns });
        assert_eq!(read, expected);
        assert_eq!(read[0].quantile(0.5), Some(Nanos::from_nanos(133)));
        assert_eq!(read[0].quantile(1.0), Some(Nanos::from_nanos(140)));
    }

    #[test]
    fn what_it_should_not_say_is_refused() {
        assert_eq!(read("133").unwrap_err(), "133");
        assert_eq!(read("spinners 1\nlate").unwrap_err(), "late");
    }

    #[test]
    fn a_directory_without_the_source_is_refused_with_what_is_missing() {
        let directory = tempfile::tempdir().unwrap();
        let search_path = std::env::var_os("PATH").unwrap_or_default();
        match measure(Some(directory.path()), Speed::FASTEST, 1, &search_path) {
            Err(error @ FloorError::NoSource(..)) => {
                assert!(error.to_string().contains("tasks.c is missing"), "{error}");
            }
            // Where there is no emulator, that comes first.
            Err(FloorError::Guest(GuestError::NoEmulator(_))) => {}
            other => panic!("{other:?}"),
        }
    }
}
