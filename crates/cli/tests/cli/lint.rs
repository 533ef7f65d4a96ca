//! `tactus lint` reports planted violations with their lines, and refuses what it cannot watch.

use std::process::Command;

use serde_json::Value;
use tactus_testing::{Need, skip};

use crate::flight::permitted;
use crate::support::{Tactus, text};

const SOURCE: &str = include_str!("plant.c");

/// Builds the planted program; `None` without a C compiler.
fn planted(tactus: &Tactus) -> Option<String> {
    let program = tactus.folder().join("plant");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/plant.c");
    let built = Command::new("cc")
        .args(["-g", "-O1", "-pthread", "-o"])
        .args([program.as_os_str(), source.as_ref()])
        .status();
    if built.is_ok_and(|status| status.success()) {
        return Some(program.display().to_string());
    }
    skip(Need::Tools, "there is no C compiler");
    None
}

/// The line of a plant.
fn line(plant: &str) -> usize {
    let mark = format!("/* PLANT {plant} */");
    SOURCE.lines().position(|line| line.contains(&mark)).unwrap() + 1
}

#[test]
fn needs_tracing_planted_violations_are_reported_with_their_lines() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let Some(program) = planted(&tactus) else { return };
    let plants = ["open", "malloc", "touch", "printf", "mutex"];
    let arguments = ["lint", "--json", "--thread", "servo", "--", &program, "600"];
    let output = tactus.run(&[&arguments[..], &plants[..]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let report: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    let rows = report["violations"].as_array().unwrap();
    for (kind, what, plant) in [
        ("system-call", "openat", "open"),
        ("system-call", "mmap", "malloc"),
        ("system-call", "munmap", "malloc"),
        ("page-fault", "anonymous memory", "touch"),
        ("system-call", "write", "printf"),
        ("contended-lock", "futex wait", "mutex"),
    ] {
        let is_planted = |row: &&Value| {
            row["kind"] == kind
                && row["what"] == what
                && row["at"]["line"] == line(plant)
                && row["at"]["function"] == "violate"
        };
        let row = rows.iter().find(is_planted);
        let row = row.unwrap_or_else(|| panic!("{what} of {plant}: {report:#}"));
        assert!(row["at"]["file"].as_str().unwrap().ends_with("plant.c"), "{row}");
        assert!(kind == "page-fault" || row["worst"].as_u64().unwrap() > 0, "{row}");
    }
    let thread = &report["threads"][0];
    assert_eq!((&thread["name"], &thread["wait"]), (&"servo".into(), &"clock_nanosleep".into()));
    assert!(report["sections"].as_u64().unwrap() >= 500, "{report:#}");
}

#[test]
fn needs_tracing_a_clean_loop_passes_and_permitted_calls_are_no_violations() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let Some(program) = planted(&tactus) else { return };
    let output = tactus.run(&["lint", "--json", "--thread", "servo", "--", &program, "600"]);
    let report: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    // A machine that is short of memory can take pages of the program away.
    let rows = report["violations"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["kind"] == "page-fault"), "{report:#}");
    let allowed = ["--allow", "openat", "--allow", "close"];
    let output = tactus.run(
        &[&["lint", "--json", "--thread", "servo"], &allowed[..], &["--", &program, "600", "open"]]
            .concat(),
    );
    let report: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    let rows = report["violations"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["kind"] == "page-fault"), "{report:#}");
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let tactus = Tactus::new();
    let error = tactus.fail(2, &["lint", "--allow", "wirte", "--", "true"]);
    assert!(error.contains("unknown system call `wirte`"), "{error}");
    assert!(error.contains("did you mean `write`?"), "{error}");
    let error = tactus.fail(2, &["lint", "--until", "ppoll@servo.c", "--", "true"]);
    assert!(error.contains("`ppoll@servo.c` is not CALL or CALL@FILE:LINE"), "{error}");
    let error = tactus.fail(2, &["lint", "--pid", "4194305"]);
    assert!(error.contains("there is no process 4194305"), "{error}");
    let error = tactus.fail(127, &["lint", "--", "/no/such/program"]);
    assert!(error.contains("cannot start /no/such/program"), "{error}");
    tactus.fail(2, &["lint"]);
}

#[test]
fn needs_tracing_a_name_that_no_thread_has_and_a_thread_without_sections_fail() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let error = tactus.fail(2, &["lint", "--thread", "sleap", "--", "sleep", "0.2"]);
    assert!(error.contains("no thread `sleap` was seen; did you mean `sleep`?"), "{error}");
    let error = tactus.fail(1, &["lint", "--", "sleep", "0.2"]);
    assert!(error.contains("no section was seen"), "{error}");
}
