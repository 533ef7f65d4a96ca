//! An ordinary user: the measurement uses the best permitted policy, and the output says how to
//! get more. File capabilities give more, but open no file that the user may not read.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{self, Tactus};
use serde_json::Value;

use tactus_testing::{Need, require, skip};

/// The user and group *nobody*.
const NOBODY: u32 = 65_534;

/// A copy of the command that *nobody* can execute, in a directory of *nobody*.
fn copied(tactus: &Tactus) -> PathBuf {
    let program = tactus.folder().join("tactus");
    if !program.exists() {
        fs::copy(env!("CARGO_BIN_EXE_tactus"), &program).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        chown(tactus.folder(), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    program
}

/// The command as *nobody*, from a copy that this user can execute.
fn as_nobody(tactus: &Tactus, arguments: &[&str]) -> Command {
    let mut command = Command::new(copied(tactus));
    command
        .args(arguments)
        .env("TACTUS_STORE", tactus.store())
        .current_dir(tactus.folder())
        .stdin(Stdio::null())
        .uid(NOBODY)
        .gid(NOBODY);
    command
}

/// Standard output, standard error, and whether the command succeeded.
fn output(mut command: Command) -> (String, String, bool) {
    let output = command.output().unwrap();
    (support::text(&output.stdout), support::text(&output.stderr), output.status.success())
}

fn run_as_nobody(tactus: &Tactus, arguments: &[&str]) -> (String, String, bool) {
    output(as_nobody(tactus, arguments))
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

#[test]
fn needs_root_nobody_learns_that_network_namespaces_need_permission() {
    if !rustix::process::geteuid().is_root() {
        return skip(Need::Root, "only root can become another user");
    }
    let tactus = Tactus::new();
    let settings = "measure --probe net --clock realtime --duration 100ms --warmup 0ns --traced 0s";
    let (_, err, success) =
        run_as_nobody(&tactus, &settings.split_whitespace().collect::<Vec<&str>>());
    assert!(!success && err.contains("no network namespaces: CAP_SYS_ADMIN is not held"), "{err}");
    assert!(err.contains("sudo"), "{err}");
    tactus.require_nothing_left();
}

/// The capabilities that `tactus doctor` advises, and one that opens files for writing.
const CAPABILITIES: [u32; 6] = [1, 2, 14, 23, 34, 38];

/// Gives the file what setcap(8) would give it: `struct vfs_cap_data` of `linux/capability.h`.
fn give_capabilities(program: &Path) -> rustix::io::Result<()> {
    let permitted = CAPABILITIES.iter().fold(0u64, |mask, bit| mask | 1 << bit);
    let (low, high) = (permitted as u32, (permitted >> 32) as u32);
    let words = [0x0200_0001, low, 0, high, 0];
    let data = words.map(u32::to_le_bytes).concat();
    rustix::fs::setxattr(program, "security.capability", &data, rustix::fs::XattrFlags::empty())
}

/// A command with file capabilities for *nobody*; none if this machine cannot give them.
fn with_capabilities() -> Option<Tactus> {
    if !rustix::process::geteuid().is_root() {
        skip(Need::Root, "only root can give capabilities to a file");
        return None;
    }
    let tactus = Tactus::new();
    require(Need::Root, give_capabilities(&copied(&tactus)))?;
    Some(tactus)
}

/// Text that no output may contain.
const SECRET: &str = "x7-hidden-q";

/// A file that only root may read.
fn secret(tactus: &Tactus, name: &str, content: &str) -> String {
    let path = tactus.folder().join(name);
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Requires that the command was refused for `reason` and printed no secret.
fn check_refused(tactus: &Tactus, command: Command, reason: &str) {
    let shown = format!("{command:?}");
    let (out, err, success) = output(command);
    assert!(!success, "{shown}\n{out}\n{err}");
    assert!(!out.contains(SECRET) && !err.contains(SECRET), "{shown}\n{out}\n{err}");
    assert!(err.contains(reason), "{shown}\n{out}\n{err}");
    tactus.require_nothing_left();
}

#[test]
fn needs_root_file_capabilities_read_and_write_no_file_of_root() {
    let Some(tactus) = with_capabilities() else { return };
    let text = secret(&tactus, "text", &format!("root:{SECRET}:19000\n"));
    let plan = secret(&tactus, "plan.toml", &format!("name = \"{SECRET}\"\n"));
    let histogram = secret(&tactus, "histogram", &format!("# Histogram\n000001 5 {SECRET}\n"));
    for arguments in [
        ["import", &text].as_slice(),
        &["import", &histogram, "--format", "cyclictest-histogram"],
        &["measure", &text, "--plan-only"],
        &["measure", &plan, "--plan-only"],
        &["show", &histogram],
        &["explain", &text],
        &["report", &histogram, "-o", "page.html"],
        &["compare", &histogram, &text],
        &["gate", &histogram, "--max", "1ms"],
        &["quanta", &text],
        &["record", "-o", &text, "--", "true"],
        &["why", "-o", &text, "--", "true"],
    ] {
        check_refused(&tactus, as_nobody(&tactus, arguments), "Permission denied");
    }
    for arguments in [["list"].as_slice(), &["show"], &["measure", "--duration", "100ms"]] {
        let mut command = as_nobody(&tactus, arguments);
        command.env("TACTUS_STORE", &text);
        // SQLite does not say why.
        check_refused(&tactus, command, "unable to open database file");
    }
    assert!(fs::read_to_string(&text).unwrap().contains(SECRET), "the file was overwritten");
}

#[test]
fn needs_root_file_capabilities_read_no_file_of_root_as_a_fact() {
    let Some(tactus) = with_capabilities() else { return };
    let hidden = secret(&tactus, "fact", &format!("[{SECRET}]\n"));
    for fact in [
        "sys/devices/system/clocksource/clocksource0/current_clocksource",
        "sys/kernel/mm/transparent_hugepage/enabled",
    ] {
        let place = tactus.folder().join("machine").join(fact);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        symlink(&hidden, place).unwrap();
    }
    let (out, err, _) = run_as_nobody(&tactus, &["doctor", "--json", "--root", "machine"]);
    assert!(out.contains("clock source"), "{out}\n{err}");
    assert!(!out.contains(SECRET), "{out}\n{err}");
}

#[test]
fn needs_root_a_set_user_id_program_reads_no_file_of_root() {
    if !rustix::process::geteuid().is_root() {
        return skip(Need::Root, "only root can make such a program");
    }
    let tactus = Tactus::new();
    fs::set_permissions(copied(&tactus), fs::Permissions::from_mode(0o6755)).unwrap();
    let text = secret(&tactus, "text", &format!("root:{SECRET}:19000\n"));
    check_refused(&tactus, as_nobody(&tactus, &["import", &text]), "Permission denied");
}

#[test]
fn needs_root_file_capabilities_record_and_are_not_inherited() {
    let Some(tactus) = with_capabilities() else { return };
    let command = "grep -E '^Cap(Inh|Prm|Eff|Amb)' /proc/self/status";
    let arguments = ["record", "-o", "recording", "--call-chains", "--", "sh", "-c", command];
    let (out, err, success) = run_as_nobody(&tactus, &arguments);
    if !success && !Path::new("/sys/kernel/tracing/events").exists() {
        return skip(Need::Perf, err);
    }
    assert!(success, "{out}\n{err}");
    let held: Vec<&str> = out.lines().filter(|line| line.starts_with("Cap")).collect();
    assert_eq!(held.len(), 4, "{out}\n{err}");
    assert!(held.iter().all(|line| line.ends_with("0000000000000000")), "{out}");
    assert!(!err.contains("kptr_restrict"), "call chains have no names: {err}");

    let load = format!("cmd:{command} > held-by-a-load; sleep 60");
    let measure = ["measure", "--load", &load, "--policy", "fifo:50", "--duration", "300ms"];
    let (out, err, success) = run_as_nobody(&tactus, &measure);
    assert!(success, "{out}\n{err}");
    let held = fs::read_to_string(tactus.folder().join("held-by-a-load")).unwrap_or_default();
    assert_eq!(held.matches("0000000000000000").count(), 4, "{held}\n{out}\n{err}");
    // The second stretch of the cell was recorded, so tracefs was open to its process.
    let (out, err, success) = run_as_nobody(&tactus, &["explain", "last", "--json"]);
    assert!(success, "{out}\n{err}");
    tactus.require_nothing_left();
}

#[test]
fn needs_root_nobody_runs_a_program_without_a_reserve_and_learns_why() {
    if !rustix::process::geteuid().is_root() {
        return skip(Need::Root, "only root can become another user");
    }
    let tactus = Tactus::new();
    let (_, err, success) = run_as_nobody(&tactus, &["reserve", "1ms/10ms", "--", "true"]);
    assert!(success, "{err}");
    assert!(err.contains("rung deadline is refused: CAP_SYS_NICE is not held"), "{err}");
    assert!(err.contains("fix: sudo setcap"), "{err}");
    assert!(err.contains("by rung measured: nothing"), "{err}");
}
