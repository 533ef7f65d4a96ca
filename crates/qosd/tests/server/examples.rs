//! The examples in other languages, as the documents show them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tactus_testing::{Need as TestNeed, require, skip};

use crate::support::Running;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/qos").join(name)
}

/// Checks what an example prints; it is skipped if the kernel refuses the reserve.
fn check(output: &Output, expected: &str) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let all = text(&output.stdout) + &text(&output.stderr);
    if all.contains("org.tactus.qos.Refused") && all.contains("kernel") {
        return skip(TestNeed::Root, all);
    }
    assert!(output.status.success() && all.contains(expected), "{all}");
}

#[test]
fn needs_root_the_example_in_python_reserves() {
    let server = Running::start();
    let run = Command::new("python3").arg(example("reserve.py")).arg(server.socket()).output();
    let Some(output) = require(TestNeed::Peers, run) else { return };
    check(&output, "200000 ns in every 10000000 ns");
    server.until_reserves(0);
}

#[test]
fn needs_root_the_example_in_c_reserves() {
    let server = Running::start();
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("reserve");
    let compiled = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-o"])
        .args([&program, &example("reserve.c")])
        .output();
    let Some(compiled) = require(TestNeed::Tools, compiled) else { return };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(&program).arg(server.socket()).output().unwrap();
    check(&output, "\"cost\":200000");
    server.until_reserves(0);
}

#[test]
fn needs_root_the_example_in_shell_reserves() {
    let found = Command::new("varlinkctl").arg("--version").output();
    let Some(_) = require(TestNeed::Machine, found) else { return };
    let server = Running::start();
    let output = Command::new("sh")
        .arg(example("reserve.sh"))
        .arg(server.socket())
        .args(["100000", "10000000", "sleep", "1"])
        .output()
        .unwrap();
    check(&output, "\"cost\"");
    server.until_reserves(0);
}
