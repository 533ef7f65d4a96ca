//! Skipping tests on machines that lack what they need.
//!
//! A test tries what it needs; if that fails, it calls [`skip`] and returns. A skipped test
//! passes, so nobody would notice that it checks nothing. Therefore:
//!
//! - `TACTUS_REQUIRE=root,perf` lists needs that this machine meets: a test that would be
//!   skipped for one of them fails instead.
//! - Every skip is a line, printed and appended to the file in `TACTUS_SKIPS`: the test
//!   harness hides the output of passing tests.
//!
//! ```
//! use tactus_testing::{Need, require};
//!
//! fn a_thread_gets_a_real_time_policy() {
//!     let attempt: Result<(), &str> = Err("CAP_SYS_NICE is not held");
//!     let Some(()) = require(Need::Root, attempt) else { return };
//!     // The test itself.
//! }
//! ```
//!
//! A test that waits for what it has caused calls [`eventually`] or [`wait_until`].
//!
//! The test `house` of this crate checks rules of the repository: the words of texts, the order
//! of crates, and the place of `unsafe`.
#![forbid(unsafe_code)]

mod browser;
mod patience;
mod postgresql;
mod sleeper;
mod slurm;

pub use browser::{Browser, Shown};
pub use patience::{PATIENCE, eventually, wait_until};
pub use postgresql::PostgresqlServer;
pub use sleeper::Sleeper;
pub use slurm::{SlurmCluster, files_below};

use std::fmt::{self, Display};
use std::fs::OpenOptions;
use std::io::Write;
use std::panic::Location;

/// A requirement of a test that a machine may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Privilege: other users, real-time classes, settings of the machine.
    Root,
    /// Permission to record kernel events, by perf or tracefs.
    Perf,
    /// An emulator, a kernel and the guest program.
    Guest,
    /// The same for guests with arm64 CPUs.
    Arm64,
    /// A browser that runs without a display.
    Browser,
    /// Programs for comparison or as loads: perf, stress-ng, python3.
    Peers,
    /// An X server without a screen, and what makes pictures for it: Xvfb, ffmpeg.
    Display,
    /// A message bus and a sound server: dbus-daemon, PipeWire and its tools.
    Sound,
    /// A server of PostgreSQL that a test can start, and setpriv.
    Postgresql,
    /// A Prometheus that a test can start.
    Prometheus,
    /// The daemons and clients of Slurm, and root.
    Slurm,
    /// The tools for building kernels, Python packages (`perfetto`, `kubernetes-validate`, …), and
    /// programs of others that few machines have, such as SuperCollider.
    Tools,
    /// The results of `cargo xtask dist`, in the folder that `TACTUS_DIST` names.
    Dist,
    /// A quiet machine, on which figures agree with a program's own clock: `TACTUS_PLANTS` is set.
    Plants,
    /// Hardware or a kernel configuration that no package provides.
    Machine,
}

impl Need {
    /// All needs, in the order of the documentation.
    pub const ALL: [Self; 15] = [
        Self::Root,
        Self::Perf,
        Self::Guest,
        Self::Arm64,
        Self::Browser,
        Self::Peers,
        Self::Display,
        Self::Sound,
        Self::Postgresql,
        Self::Prometheus,
        Self::Slurm,
        Self::Tools,
        Self::Dist,
        Self::Plants,
        Self::Machine,
    ];

    /// Its word in `TACTUS_REQUIRE` and in lines about skips.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Perf => "perf",
            Self::Guest => "guest",
            Self::Arm64 => "arm64",
            Self::Browser => "browser",
            Self::Peers => "peers",
            Self::Display => "display",
            Self::Sound => "sound",
            Self::Postgresql => "postgresql",
            Self::Prometheus => "prometheus",
            Self::Slurm => "slurm",
            Self::Tools => "tools",
            Self::Dist => "dist",
            Self::Plants => "plants",
            Self::Machine => "machine",
        }
    }
}

impl Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The environment variable that lists the needs that this machine meets.
const REQUIRE: &str = "TACTUS_REQUIRE";

/// The environment variable that names the file to which skips are appended.
const SKIPS: &str = "TACTUS_SKIPS";

/// Returns the value, or skips the test or a part of it.
///
/// # Panics
/// See [`skip`].
#[track_caller]
pub fn require<T, E: Display>(need: Need, found: Result<T, E>) -> Option<T> {
    found.map_err(|reason| skip(need, reason)).ok()
}

/// Reports that the calling test, or a part of it, is skipped because `need` is not met.
///
/// # Panics
/// `TACTUS_REQUIRE` lists `need` or an unknown word, or the file in `TACTUS_SKIPS` cannot be
/// written.
#[track_caller]
pub fn skip(need: Need, reason: impl Display) {
    let required = parse(&std::env::var(REQUIRE).unwrap_or_default());
    let required = required.unwrap_or_else(|error| panic!("{error}"));
    let line = line(need, &reason.to_string(), Location::caller());
    assert!(!required.contains(&need), "{REQUIRE} requires {need}: {line}");
    println!("{line}");
    if let Some(path) = std::env::var_os(SKIPS) {
        let file = OpenOptions::new().append(true).create(true).open(&path);
        // Tests run concurrently: a single write appends a whole line.
        let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
        written.unwrap_or_else(|error| panic!("{SKIPS}={}: {error}", path.display()));
    }
}

/// Whether to compare explanations of a planted program with the program's own clock; skips the
/// test otherwise. It is a chore: on a shared machine, one of the comparisons fails by chance.
///
/// # Panics
/// See [`skip`].
#[track_caller]
pub fn compares_plants() -> bool {
    let compares = std::env::var_os("TACTUS_PLANTS").is_some();
    if !compares {
        skip(Need::Plants, "TACTUS_PLANTS is not set");
    }
    compares
}

/// The line about a skip: the test (if its thread has the test's name), the place, the reason.
fn line(need: Need, reason: &str, place: &Location<'_>) -> String {
    let thread = std::thread::current();
    let test = thread.name().filter(|name| *name != "main").map(|name| format!("{name} "));
    let test = test.unwrap_or_default();
    let reason = reason.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    format!("skipped: {test}({}:{}) needs {need}: {reason}", place.file(), place.line())
}

/// Parses a comma-separated list of needs.
fn parse(text: &str) -> Result<Vec<Need>, String> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    words
        .map(|word| {
            Need::ALL.into_iter().find(|need| need.word() == word).ok_or_else(|| {
                let known = Need::ALL.map(Need::word).join(", ");
                format!("{REQUIRE}: unknown word `{word}`; expected {known}")
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_needs_is_parsed() {
        assert_eq!(parse(""), Ok(Vec::new()));
        assert_eq!(parse("root, browser"), Ok(vec![Need::Root, Need::Browser]));
        let error = parse("root,chromium").unwrap_err();
        assert!(error.contains("unknown word `chromium`; expected root, perf,"), "{error}");
    }

    #[test]
    fn the_required_words_are_needs() {
        parse(&std::env::var(REQUIRE).unwrap_or_default()).unwrap();
    }

    #[test]
    fn a_skip_is_one_line_with_the_test_the_place_and_the_reason() {
        let line = line(Need::Perf, "not permitted\n  here", Location::caller());
        assert!(line.starts_with("skipped: tests::a_skip_is_one_line"), "{line}");
        assert!(line.contains("lib.rs:"), "{line}");
        assert!(line.ends_with(") needs perf: not permitted here"), "{line}");
    }

    /// Runs `a_skip`, below, in its own process with these requirements.
    fn run_a_skip(required: &str) -> (bool, String) {
        let folder = tempfile::tempdir().unwrap();
        let skips = folder.path().join("skips");
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "tests::a_skip"])
            .envs([(REQUIRE, required.as_ref()), (SKIPS, skips.as_os_str())])
            .output()
            .unwrap()
            .status;
        (status.success(), std::fs::read_to_string(skips).unwrap_or_default())
    }

    #[test]
    #[ignore = "helper of the next test; skips twice"]
    fn a_skip() {
        assert_eq!(require(Need::Guest, Ok::<_, String>(7)), Some(7));
        assert_eq!(require(Need::Guest, Err::<(), _>("no kernel")), None);
        skip(Need::Guest, "no emulator");
    }

    #[test]
    fn skips_are_appended_and_required_needs_are_not_skipped() {
        let (passed, skips) = run_a_skip("root");
        assert!(passed && skips.lines().count() == 2, "{skips}");
        assert!(skips.contains("needs guest: no kernel\nskipped: "), "{skips}");
        assert_eq!(run_a_skip("root,guest"), (false, String::new()));
        assert_eq!(run_a_skip("guests"), (false, String::new()), "an unknown word is an error");
    }
}
