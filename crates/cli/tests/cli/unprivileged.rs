//! An ordinary user: the measurement uses the best permitted policy, and the output says how to
//! get more.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::support::{self, Tactus};
use serde_json::Value;

use tactus_testing::{Need, skip};

/// The user and group *nobody*.
const NOBODY: u32 = 65_534;

/// Runs the command as *nobody*, from a copy that this user can execute.
fn run_as_nobody(tactus: &Tactus, arguments: &[&str]) -> (String, String, bool) {
    let program = tactus.folder().join("tactus");
    if !program.exists() {
        fs::copy(env!("CARGO_BIN_EXE_tactus"), &program).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        chown(tactus.folder(), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("TACTUS_STORE", tactus.store())
        .current_dir(tactus.folder())
        .stdin(Stdio::null())
        .uid(NOBODY)
        .gid(NOBODY);
    let output = command.output().unwrap();
    (support::text(&output.stdout), support::text(&output.stderr), output.status.success())
}

#[test]
fn needs_root_nobody_gets_the_best_permitted_policy_and_the_fix() {
    if !rustix::process::geteuid().is_root() {
        return skip(Need::Root, "only root can become another user");
    }
    let tactus = Tactus::new();
    let (out, err, success) = run_as_nobody(
        &tactus,
        &[
            "measure",
            "--policy",
            "other",
            "--policy",
            "fifo:90",
            "--load",
            "compute",
            "--duration",
            "300ms",
            "--warmup",
            "50ms",
            "--seed",
            "1",
            "--json",
        ],
    );
    assert!(success, "{out}\n{err}");
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let finished: Vec<&Value> =
        lines.iter().filter(|line| line["event"] == "turn-finished").collect();
    assert_eq!(finished.len(), 2, "{err}");
    let fifo =
        finished.iter().find(|turn| turn["label"].as_str().unwrap().contains("fifo:90")).unwrap();
    let granted = fifo["measurement"]["tasks"][0]["granted"]["scheduling"].as_str().unwrap();
    let shortfalls = fifo["measurement"]["shortfalls"].to_string();
    assert_ne!(granted, "fifo:90", "the user nobody got a real-time priority");
    assert!(shortfalls.contains("fifo:90"), "{shortfalls}");
    assert!(err.contains("warning: requested") && err.contains("fix: "), "{err}");
    tactus.require_nothing_left();
}
