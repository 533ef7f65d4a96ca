//! Timed delivery in C and Python.

use std::fs;
use std::process::Command;

use tactus_testing::{Need, require, skip};

use crate::common::Running;
use crate::{Link, compile, libraries, root, run, sanitizing};

const PROGRAM: &str = "crates/capi/tests/c/delivery.c";

#[test]
fn items_are_answered_and_wrong_calls_are_refused() {
    let (folder, server) = (tempfile::tempdir().unwrap(), Running::start());
    let Some(program) = compile(folder.path(), PROGRAM, Link::Shared, &[]) else { return };
    assert_eq!(run(Command::new(program).arg(server.socket())), "0 failures\n");
}

#[test]
fn deliveries_corrupt_no_memory() {
    let (folder, server) = (tempfile::tempdir().unwrap(), Running::start());
    let Some(sanitize) = sanitizing(folder.path()) else { return };
    let Some(program) = compile(folder.path(), PROGRAM, Link::Shared, &sanitize) else { return };
    let mut program = Command::new(program);
    program.arg(server.socket()).env("ASAN_OPTIONS", "detect_leaks=0");
    assert_eq!(run(&mut program), "0 failures\n");
}

#[test]
fn valgrind_finds_nothing_in_a_client() {
    let (folder, server) = (tempfile::tempdir().unwrap(), Running::start());
    let Some(program) = compile(folder.path(), PROGRAM, Link::Shared, &[]) else { return };
    if Command::new("valgrind").arg("--version").output().is_err() {
        return skip(Need::Tools, "valgrind is not installed");
    }
    let log = folder.path().join("log");
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"]);
    valgrind.arg(format!("--log-file={}", log.display())).arg(program).arg(server.socket());
    let output = valgrind.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let found = fs::read_to_string(log).unwrap_or_default();
    assert!(output.status.success() && said == "0 failures\n", "{said}{found}");
}

#[test]
fn the_metronomes_deliver_every_click() {
    let (folder, server) = (tempfile::tempdir().unwrap(), Running::start());
    let source = "examples/streams/metronome.c";
    let Some(program) = compile(folder.path(), source, Link::Static, &[]) else { return };
    let said = run(Command::new(program).args(["one", "20"]).arg(server.socket()));
    assert!(said.contains("\ndelivered 20 of 20; "), "{said}");

    let found = Command::new("python3").arg("--version").output().map(|_| ());
    let Some(()) = require(Need::Peers, found.map_err(|error| format!("python3: {error}"))) else {
        return;
    };
    let mut python = Command::new("python3");
    python.arg(root().join("examples/streams/metronome.py")).args(["two", "20"]);
    python.arg(server.socket()).env("TACTUS_RT", libraries().join("libtactusrt.so"));
    let said = run(&mut python);
    assert!(said.ends_with("delivered 20 of 20\n"), "{said}");
}
