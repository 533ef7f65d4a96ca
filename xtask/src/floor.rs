//! The floor under guest kernels: the wakeup latency of a small executive without processes and
//! memory protection, in the same deterministic (instruction-counted) time as guests.
//!
//! The executive is FreeRTOS in its flat port to 32-bit x86 (MIT licence). Its source is not in
//! this repository: cargo fetches it with a package of the Rust registry, and the C compiler
//! builds it on demand. `floor/` has the experiment and 60 lines to boot it. FreeRTOS is not a
//! target, since it supports neither our loads nor our policies.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, anyhow, ensure};
use clap::Parser;
use serde::Serialize;
use tactus_guests::emulator::{Emulator, last_words};
use tactus_guests::machine::{KERNEL_FILE, bare_machine};
use tactus_guests::prove;
use tactus_model::digest::sha256;
use tactus_model::guest::{DONE, EXACT_LIMITS, Proof, Speed, exit_code};
use tactus_model::kernel::Architecture;
use tactus_model::time::Nanos;
use tactus_report::{TableOptions, format, paragraph};

/// The package with the source, and the supported version.
const PACKAGE: (&str, &str) = ("freertos-next", "0.12.0");

/// Our files, by their include names.
const FILES: [(&str, &str); 6] = [
    ("boot.S", include_str!("../floor/boot.S")),
    ("floor.c", include_str!("../floor/floor.c")),
    ("FreeRTOSConfig.h", include_str!("../floor/FreeRTOSConfig.h")),
    ("limits.h", include_str!("../floor/limits.h")),
    ("stdlib.h", include_str!("../floor/stdlib.h")),
    ("string.h", include_str!("../floor/string.h")),
];

/// The files of the executive, relative to its directory.
const SOURCES: [&str; 4] =
    ["tasks.c", "list.c", "portable/GCC/IA32_flat/port.c", "portable/GCC/IA32_flat/portASM.S"];

/// The options of the C compiler, for a reproducible program without an operating system.
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

/// The number of boots, whose output must be identical.
const BOOTS: usize = 2;

/// Measure the wakeup latency of a bare kernel in deterministic time: the floor under all guests.
#[derive(Parser)]
#[command(name = "cargo xtask floor")]
struct Options {
    /// Directory with the source of FreeRTOS [default: a package from the Rust registry]
    #[arg(long, value_name = "DIRECTORY")]
    source: Option<PathBuf>,
    /// Speed of the machine in million instructions per second: 1000, 500, 250 or 125
    #[arg(long, value_name = "N", default_value = "1000")]
    mips: u32,
    /// Wakeups to measure for each number of competing tasks
    #[arg(long, value_name = "N", default_value = "500",
          value_parser = clap::value_parser!(u32).range(1..=20_000))]
    samples: u32,
    /// Print one JSON object, with every wakeup
    #[arg(long)]
    json: bool,
}

/// Builds the executive, measures it with the options in `words`, and prints the result.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let options = Options::parse_from(std::iter::once("floor").chain(words.iter().copied()));
    let speed = Speed::from_mips(options.mips).context("--mips")?;
    let floor = measure(options.source.as_deref(), speed, options.samples)?;
    if options.json {
        println!("{}", serde_json::to_string(&floor)?);
    } else {
        print!("{}", text(&floor));
    }
    Ok(())
}

/// The latencies of the task's wakeups with a number of tasks that compute all the time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct FloorWindow {
    /// The number of computing tasks, at lower priority.
    spinners: u32,
    /// The latency of each wakeup in nanoseconds of deterministic time, in order.
    late_ns: Vec<u64>,
}

impl FloorWindow {
    /// The latency that a share of the wakeups did not exceed.
    fn quantile(&self, share: f64) -> Option<Nanos> {
        let mut sorted = self.late_ns.clone();
        sorted.sort_unstable();
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.max(1) - 1).copied().map(Nanos::from_nanos)
    }
}

/// The result of a bare kernel, with everything needed to repeat it.
#[derive(Clone, Debug, Serialize)]
struct Floor {
    /// The executive and its version.
    kernel: String,
    /// The compiler's description of itself.
    compiler: String,
    /// The emulator's description of its version.
    emulator: String,
    /// The emulator's arguments.
    command_line: Vec<String>,
    /// Million instructions per second.
    mips: u32,
    /// The SHA-256 digest of the booted image.
    image_sha256: String,
    /// The proof that all boots had the same output.
    proof: Proof,
    /// A window for each number of spinners.
    windows: Vec<FloorWindow>,
}

/// Builds the executive from `source` or from cargo's package, and measures it.
fn measure(source: Option<&Path>, speed: Speed, samples: u32) -> anyhow::Result<Floor> {
    let emulator =
        Emulator::find(&std::env::var_os("PATH").unwrap_or_default(), Architecture::Amd64)?;
    let source = match source {
        Some(directory) => directory.to_owned(),
        None => fetch()?,
    };
    check(&source)?;
    let directory = tempfile::Builder::new().prefix("tactus-floor-").tempdir()?;
    build(&source, directory.path())?;
    let command_line = bare_machine(speed, samples);
    let outputs = (0..BOOTS)
        .map(|_| boot(&emulator, directory.path(), &command_line))
        .collect::<Result<Vec<_>, _>>()?;
    let proof =
        prove(&outputs).map_err(|line| anyhow!("two boots differ, first at line {line}"))?;
    let windows = windows(outputs.first().into_iter().flatten())
        .map_err(|line| anyhow!("unexpected output of the bare kernel: `{line}`"))?;
    Ok(Floor {
        kernel: format!("FreeRTOS {}", version(&source).unwrap_or_default()),
        compiler: compiler(),
        emulator: emulator.version,
        command_line,
        mips: speed.mips(),
        image_sha256: sha256([fs::read(directory.path().join(IMAGE))?]),
        proof,
        windows,
    })
}

/// Fails if `source` is not the directory of the FreeRTOS kernel.
fn check(source: &Path) -> anyhow::Result<()> {
    for file in SOURCES {
        ensure!(
            source.join(file).is_file(),
            "{} does not have the source of FreeRTOS: {file} is missing; fix: --source with the \
             directory of tasks.c and portable/",
            source.display()
        );
    }
    Ok(())
}

/// The name of the booted image in its working directory.
const IMAGE: &str = KERNEL_FILE;

/// Fetches the package with the source by cargo, and returns the source's directory.
fn fetch() -> anyhow::Result<PathBuf> {
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
    let metadata = output(&mut cargo).context(
        "cannot fetch the source of FreeRTOS; fix: --source with the directory of a copy",
    )?;
    let metadata: serde_json::Value = serde_json::from_slice(&metadata)?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let manifest = packages
        .filter(|package| package["name"] == name)
        .find_map(|package| package["manifest_path"].as_str())
        .map(|manifest| Path::new(manifest).with_file_name("FreeRTOS-Kernel"));
    manifest.with_context(|| format!("cargo does not list the package {name}"))
}

fn build(source: &Path, directory: &Path) -> anyhow::Result<()> {
    for (name, content) in FILES {
        fs::write(directory.join(name), content)?;
    }
    let headers = output(Command::new("gcc").arg("-print-file-name=include"))?;
    let headers = String::from_utf8_lossy(&headers).trim().to_owned();
    let mut gcc = Command::new("gcc");
    gcc.current_dir(directory)
        .args(COMPILE)
        // Our headers come first: those of the host's C library must not be used.
        .args(["-isystem", ".", "-isystem", &headers, "-I"])
        .arg(fs::canonicalize(source)?.join("include"))
        .arg("-I")
        .arg(fs::canonicalize(source)?.join("portable/GCC/IA32_flat"))
        .args(["-o", IMAGE, "boot.S", "floor.c"]);
    for file in SOURCES {
        gcc.arg(fs::canonicalize(source)?.join(file));
    }
    output(&mut gcc).map(drop)
}

/// Runs a program and returns its standard output.
fn output(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let program = command.get_program().display().to_string();
    let output = command.output().with_context(|| program.clone())?;
    let words = String::from_utf8_lossy(&output.stderr);
    let last = words.lines().next_back().unwrap_or("no error message");
    ensure!(output.status.success(), "{program} failed: {last}");
    Ok(output.stdout)
}

/// The compiler's description of itself, if any.
fn compiler() -> String {
    let version = output(Command::new("gcc").arg("--version")).unwrap_or_default();
    String::from_utf8_lossy(&version).lines().next().unwrap_or_default().to_owned()
}

/// The version in the source.
fn version(source: &Path) -> Option<String> {
    let header = fs::read_to_string(source.join("include/task.h")).ok()?;
    let line = header
        .lines()
        .find(|line| line.contains("tskKERNEL_VERSION_NUMBER") && line.contains('"'))?;
    Some(line.split('"').nth(1)?.to_owned())
}

/// Boots the image in `directory` and returns its output lines.
fn boot(
    emulator: &Emulator,
    directory: &Path,
    arguments: &[String],
) -> anyhow::Result<Vec<String>> {
    let mut child = emulator.start(directory, arguments)?;
    let output = child.stdout.take().context("the emulator has no output")?;
    let lines: Vec<String> = BufReader::new(output).lines().collect::<io::Result<_>>()?;
    let status = child.wait()?;
    let words = last_words(directory);
    let last = words.lines().next_back().unwrap_or_default();
    ensure!(
        status.code() == Some(exit_code(DONE)),
        "the emulator of the bare kernel ended with {status}: {last}"
    );
    Ok(lines)
}

/// Parses the output: `spinners N`, then a latency per line.
///
/// # Errors
/// The first line of another form.
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

fn text(floor: &Floor) -> String {
    let options = TableOptions::default();
    let head = format!(
        "{} in deterministic time, {} million instructions/s\n\n\
         spinners        min     median        max  wakeups\n",
        floor.kernel, floor.mips
    );
    let rows: String = floor.windows.iter().map(row).collect();
    let proof = &floor.proof;
    let notes = [
        (
            "Repeated",
            format!("booted {} times, identical output: sha256 {}", proof.runs, proof.sha256),
        ),
        ("Image", format!("sha256 {}; {}; {}", floor.image_sha256, floor.compiler, floor.emulator)),
        ("Deterministic time", EXACT_LIMITS.to_owned()),
    ];
    let notes = notes.iter().map(|(name, text)| paragraph(name, text, &options));
    format!("{head}{rows}\n{}", notes.collect::<String>())
}

fn row(window: &FloorWindow) -> String {
    let [min, median, max] = [0.0, 0.5, 1.0]
        .map(|share| window.quantile(share).map_or_else(|| "–".to_owned(), format::latency));
    let (spinners, wakeups) = (window.spinners, window.late_ns.len());
    format!("{spinners:>8}  {min:>9}  {median:>9}  {max:>9}  {wakeups:>7}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<FloorWindow>, String> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        windows(lines.iter())
    }

    #[test]
    fn output_is_parsed_window_by_window() {
        let read = read("spinners 0\n133\n140\nspinners 8\n135\n").unwrap();
        let expected = [(0, vec![133, 140]), (8, vec![135])];
        let expected = expected.map(|(spinners, late_ns)| FloorWindow { spinners, late_ns });
        assert_eq!(read, expected);
        assert_eq!(read[0].quantile(0.5), Some(Nanos::from_nanos(133)));
        assert_eq!(read[0].quantile(1.0), Some(Nanos::from_nanos(140)));
    }

    #[test]
    fn unexpected_output_is_rejected() {
        assert_eq!(read("133").unwrap_err(), "133");
        assert_eq!(read("spinners 1\nlate").unwrap_err(), "late");
    }

    #[test]
    fn a_directory_without_the_source_is_rejected_with_the_missing_file() {
        let directory = tempfile::tempdir().unwrap();
        let error = check(directory.path()).unwrap_err().to_string();
        assert!(error.contains("tasks.c is missing"), "{error}");
    }
}
