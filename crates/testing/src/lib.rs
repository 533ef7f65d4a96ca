//! How a test says that this machine lacks what it needs.
//!
//! A test tries what it needs; where that fails, it calls [`skip`] and returns. A test
//! that was skipped passes, so nobody would notice that it checks nothing. Therefore
//!
//! - `TACTUS_REQUIRE=root,perf` lists what this machine has: a test that would be skipped
//!   for want of it fails instead;
//! - every skip is one line, printed and appended to the file that `TACTUS_SKIPS` names:
//!   the test harness shows nothing of what a passing test prints.
//!
//! ```
//! use tactus_testing::{Need, require};
//!
//! fn a_thread_becomes_a_real_time_one() {
//!     let attempt: Result<(), &str> = Err("CAP_SYS_NICE is not held");
//!     let Some(()) = require(Need::Root, attempt) else { return };
//!     // What is tested.
//! }
//! ```
#![forbid(unsafe_code)]

use std::fmt::{self, Display};
use std::fs::OpenOptions;
use std::io::Write;
use std::panic::Location;

/// What a test may need and a machine may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Privilege: other users, real-time classes, settings of the machine.
    Root,
    /// Permission to record kernel events, by perf or tracefs.
    Perf,
    /// An emulator, a kernel and the guests' program.
    Guest,
    /// A browser that runs without a screen.
    Browser,
    /// Programs that ours is compared with or that it starts: perf, stress-ng, python3.
    Peers,
    /// What kernels are built with, and the Python package `perfetto`.
    Tools,
    /// Hardware, or a kernel's configuration, that no package brings.
    Machine,
}

impl Need {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 7] = [
        Self::Root,
        Self::Perf,
        Self::Guest,
        Self::Browser,
        Self::Peers,
        Self::Tools,
        Self::Machine,
    ];

    /// The word for it in `TACTUS_REQUIRE` and in lines about skips.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Perf => "perf",
            Self::Guest => "guest",
            Self::Browser => "browser",
            Self::Peers => "peers",
            Self::Tools => "tools",
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

/// Gives what was found, or skips the test, or a part of it, for want of it.
///
/// # Panics
/// As [`skip`].
#[track_caller]
pub fn require<T, E: Display>(need: Need, found: Result<T, E>) -> Option<T> {
    found.map_err(|reason| skip(need, reason)).ok()
}

/// Says that the calling test, or a part of it, is skipped for want of `need`.
///
/// # Panics
/// `TACTUS_REQUIRE` lists `need`, or a word that is no need; or the file that
/// `TACTUS_SKIPS` names cannot be written.
#[track_caller]
pub fn skip(need: Need, reason: impl Display) {
    let required = parse(&std::env::var(REQUIRE).unwrap_or_default());
    let required = required.unwrap_or_else(|error| panic!("{error}"));
    let line = line(need, &reason.to_string(), Location::caller());
    assert!(!required.contains(&need), "{REQUIRE} requires {need}: {line}");
    println!("{line}");
    if let Some(path) = std::env::var_os(SKIPS) {
        let file = OpenOptions::new().append(true).create(true).open(&path);
        // Tests run at the same time: one write appends a whole line.
        let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
        written.unwrap_or_else(|error| panic!("{SKIPS}={}: {error}", path.display()));
    }
}

/// What is written of a skip: the test where its thread is named after it, the place, the reason.
fn line(need: Need, reason: &str, place: &Location<'_>) -> String {
    let thread = std::thread::current();
    let test = thread.name().filter(|name| *name != "main").map(|name| format!("{name} "));
    let test = test.unwrap_or_default();
    let reason = reason.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    format!("skipped: {test}({}:{}) needs {need}: {reason}", place.file(), place.line())
}

/// The needs in a list of words with commas between them.
fn parse(text: &str) -> Result<Vec<Need>, String> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    words
        .map(|word| {
            Need::ALL.into_iter().find(|need| need.word() == word).ok_or_else(|| {
                let known = Need::ALL.map(Need::word).join(", ");
                format!("{REQUIRE} lists `{word}`, which is none of {known}")
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_needs_is_read() {
        assert_eq!(parse(""), Ok(Vec::new()));
        assert_eq!(parse("root, browser"), Ok(vec![Need::Root, Need::Browser]));
        let refused = parse("root,chromium").unwrap_err();
        assert!(refused.contains("`chromium`, which is none of root, perf,"), "{refused}");
    }

    #[test]
    fn the_words_that_are_required_of_this_machine_are_needs() {
        parse(&std::env::var(REQUIRE).unwrap_or_default()).unwrap();
    }

    #[test]
    fn a_skip_is_one_line_with_the_test_the_place_and_the_reason() {
        let said = line(Need::Perf, "not permitted\n  here", Location::caller());
        assert!(said.starts_with("skipped: tests::a_skip_is_one_line"), "{said}");
        assert!(said.contains("lib.rs:"), "{said}");
        assert!(said.ends_with(") needs perf: not permitted here"), "{said}");
    }

    /// Has `a_skip`, below, run by a process of its own with these requirements.
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
    #[ignore = "a helper of the next test: is skipped twice"]
    fn a_skip() {
        assert_eq!(require(Need::Guest, Ok::<_, String>(7)), Some(7));
        assert_eq!(require(Need::Guest, Err::<(), _>("no kernel")), None);
        skip(Need::Guest, "no emulator");
    }

    #[test]
    fn skips_are_appended_and_what_is_required_is_never_skipped() {
        let (passed, skips) = run_a_skip("root");
        assert!(passed && skips.lines().count() == 2, "{skips}");
        assert!(skips.contains("needs guest: no kernel\nskipped: "), "{skips}");
        assert_eq!(run_a_skip("root,guest"), (false, String::new()));
        assert_eq!(run_a_skip("guests"), (false, String::new()), "an unknown word is an error");
    }
}
