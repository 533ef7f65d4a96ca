//! Runs of others, other users' stores, and stores that cannot be written.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tactus_testing::{Need, require};

use crate::support::{Tactus, text};

/// The user and group *nobody*.
const NOBODY: u32 = 65_534;

/// A recorded cell that takes less than a second.
const SHORT: [&str; 9] = [
    "measure",
    "--duration",
    "200ms",
    "--warmup",
    "20ms",
    "--traced",
    "50ms",
    "--no-page",
    "--policy=other",
];

fn exported(tactus: &Tactus, run: &str) -> Value {
    serde_json::from_str(&tactus.succeed(&["export", run])).unwrap()
}

/// Writes an exported run whose turns are all left to measure.
fn unfinished(tactus: &Tactus, mut run: Value, name: &str) -> PathBuf {
    run["header"]["id"] = Value::from(name);
    run["header"]["status"] = Value::from("interrupted");
    run["header"]["facts_after"] = Value::Null;
    run["header"]["facts_before"]["machine_id"] = Value::from("0".repeat(64));
    run["results"] = Value::from(Vec::<Value>::new());
    let path = tactus.folder().join(format!("{name}.json"));
    fs::write(&path, run.to_string()).unwrap();
    path
}

#[test]
fn an_imported_run_is_never_continued() {
    let tactus = Tactus::new();
    let mark = tactus.folder().join("executed");
    let load = format!("cmd:\"touch {}; sleep 60\"", mark.display());
    tactus.succeed(&[&SHORT[..], &["--load", &load]].concat());
    assert!(mark.exists());
    fs::remove_file(&mark).unwrap();
    let hostile = unfinished(&tactus, exported(&tactus, "last"), "hostile");

    let other = Tactus::new();
    other.succeed(&["import", hostile.to_str().unwrap()]);
    let error = other.fail(2, &["measure", "--continue", "last"]);
    assert!(error.contains("this machine began no run of the store"), "{error}");
    let error = other.fail(3, &["measure", "--continue", "hostile"]);
    assert!(error.contains("cannot continue: hostile was imported"), "{error}");
    let shown = other.succeed(&["show", "last"]);
    assert!(shown.contains("hostile") && !shown.contains("--continue"), "{shown}");
    let error = tactus.run(&["import", hostile.to_str().unwrap()]);
    assert!(error.status.success());
    let error = tactus.fail(2, &["measure", "--continue", "last"]);
    assert!(error.contains("is complete"), "`last` is a run of this machine: {error}");
    assert!(!mark.exists(), "a command of an imported run was executed");
}

#[test]
fn a_run_continues_only_on_an_unchanged_machine() {
    let tactus = Tactus::new();
    tactus.fail(5, &[&SHORT[..], &["--load", "cmd:\"exit 1\""]].concat());
    let alter = |change: &str| {
        let database = rusqlite::Connection::open(tactus.store()).unwrap();
        database.execute(&format!("UPDATE run SET {change}"), []).unwrap();
    };
    let release = exported(&tactus, "last")["header"]["facts_before"]["kernel"]["release"].clone();
    alter("facts_before = json_set(facts_before, '$.kernel.release', '2.6.9')");
    let error = tactus.fail(3, &["measure", "--continue", "last"]);
    let change = format!("Kernel release was 2.6.9, is {}", release.as_str().unwrap());
    assert!(error.contains(&change), "{error}");
    let run = exported(&tactus, "last")["header"]["id"].as_str().unwrap().to_owned();
    alter("machine = 'another'");
    let error = tactus.fail(3, &["measure", "--continue", &run]);
    assert!(error.contains("began on another machine: its machine-id differs"), "{error}");
    tactus.fail(2, &["measure", "--continue", "last"]);
    alter("machine = NULL");
    let error = tactus.fail(3, &["measure", "--continue", &run]);
    assert!(error.contains("began with an earlier version"), "{error}");
}

/// The commands that read the store, and the exit code of each.
const READING: [(&[&str], i32); 9] = [
    (&["list"], 0),
    (&["show"], 0),
    (&["export", "last"], 0),
    (&["report", "-o", "/dev/null"], 0),
    (&["compare", "last", "last"], 0),
    (&["gate", "last", "--max", "1h"], 0),
    (&["quanta", "last"], 0),
    (&["explain", "last"], 0),
    (&["report"], 3),
];

/// Requires that a run is recorded, on which `explain` and `quanta` depend.
fn recorded(tactus: &Tactus) -> Option<()> {
    tactus.succeed(&SHORT);
    let explained = tactus.run(&["explain", "last"]);
    let refused = (!explained.status.success()).then(|| text(&explained.stderr));
    require(Need::Perf, refused.map_or(Ok(()), Err))
}

fn check_reading(run: impl Fn(&[&str]) -> Output) {
    for (arguments, code) in READING {
        let output = run(arguments);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        assert!(code == 0 || error.contains("hint: name a file with `-o"), "{error}");
    }
}

#[test]
fn needs_root_every_reading_command_reads_another_users_store() {
    let tactus = Tactus::new();
    let Some(()) = recorded(&tactus) else { return };
    let permit = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    permit(tactus.folder(), 0o755);
    permit(&tactus.store(), 0o644);
    let as_nobody = |arguments: &[&str]| {
        let mut command = tactus.command(arguments);
        command.uid(NOBODY).gid(NOBODY).current_dir("/").output()
    };
    let started = as_nobody(&["list"]).map_err(|error| format!("no other user: {error}"));
    let Some(_) = require(Need::Root, started) else { return };
    let before = fs::read(tactus.store()).unwrap();
    check_reading(|arguments| as_nobody(arguments).unwrap());
    let error = text(&as_nobody(&["delete", "last", "--yes"]).unwrap().stderr);
    assert!(error.contains("cannot write the results database"), "{error}");
    assert_eq!(fs::read(tactus.store()).unwrap(), before);
    assert!(!tactus.folder().join("runs.sqlite-shm").exists());
}

/// Runs a script in a mount namespace of its own; the function `tactus` in it is the command,
/// with a store on a file system of 3 MiB at `$there`.
fn on_a_file_system(tactus: &Tactus, script: &str) -> Option<String> {
    let there = tactus.folder().join("there");
    fs::create_dir(&there).unwrap();
    let program = env!("CARGO_BIN_EXE_tactus");
    let script = format!(
        "there={there}; mount -t tmpfs -o size=3m tactus-test $there || exit 99
        export TACTUS_STORE=$there/runs.sqlite
        tactus() {{ {program} \"$@\" 2>&1; echo \"$1: code $?\"; }}
        {script}",
        there = there.display(),
    );
    let output = Command::new("unshare").args(["--mount", "sh", "-c", &script]).output();
    let mounted = output.map_err(|error| error.to_string()).and_then(|output| {
        let error = text(&output.stderr);
        let refused = output.status.code() == Some(99) || error.contains("unshare failed");
        if refused { Err(error) } else { Ok(text(&output.stdout)) }
    });
    require(Need::Root, mounted)
}

#[test]
fn needs_root_every_reading_command_reads_a_store_on_a_read_only_file_system() {
    let tactus = Tactus::new();
    let Some(()) = recorded(&tactus) else { return };
    let copied = format!("cp {} $there/; mount -o remount,ro $there", tactus.store().display());
    let commands = READING.map(|(arguments, _)| format!("tactus {}", arguments.join(" ")));
    let script = format!("{copied}; {}", commands.join("; "));
    let Some(found) = on_a_file_system(&tactus, &script) else { return };
    for (arguments, code) in READING {
        assert!(found.contains(&format!("{}: code {code}\n", arguments[0])), "{found}");
    }
    assert_eq!(found.matches(": code 0\n").count(), READING.len() - 1, "{found}");
}

#[test]
fn needs_root_a_full_disk_ends_a_measurement_with_an_error_and_runs_can_be_deleted() {
    let tactus = Tactus::new();
    let script = format!(
        "tactus {short}; tactus {short} --rounds 300; tactus list; tactus show last
        dd if=/dev/zero of=$there/rest bs=512 2>/dev/null
        tactus {short} --rounds 300; tactus list --json; tactus delete last --yes; tactus delete last --yes
        tactus list --json",
        short = SHORT.join(" ")
    );
    let Some(found) = on_a_file_system(&tactus, &script) else { return };
    let codes: Vec<&str> = found.lines().filter(|line| line.contains(": code ")).collect();
    assert_eq!(
        codes,
        [
            "measure: code 0",
            "measure: code 3",
            "list: code 0",
            "show: code 0",
            "measure: code 3",
            "list: code 0",
            "delete: code 0",
            "delete: code 0",
            "list: code 0",
        ],
        "{found}"
    );
    let full = "error: no space left for the results database";
    assert_eq!(found.matches(full).count(), 2, "{found}");
    assert!(found.contains("hint: the finished turns are kept"), "{found}");
    assert!(found.contains("unfinished"), "the run so far is listed: {found}");
    let (before, left) = found.split_once("delete: code 0").unwrap();
    let runs = |text: &str| text.lines().filter(|line| line.starts_with("{\"id\"")).count();
    assert_eq!(runs(left) + 2, runs(before), "{found}");
}

#[test]
fn a_recording_is_not_taken_for_a_run() {
    let tactus = Tactus::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/blame");
    let recording = data.join("kernel-section.tactusrec");
    let recording = recording.to_str().unwrap();
    for arguments in
        [&["show", recording][..], &["compare", recording, "last"], &["report", recording]]
    {
        let error = tactus.fail(2, arguments);
        assert!(error.contains("is a recording, not a run"), "{arguments:?}: {error}");
        let hint = format!("hint: explain it with: tactus explain {recording}");
        assert!(error.contains(&hint), "{arguments:?}: {error}");
    }
}

#[test]
fn a_run_with_a_name_that_is_an_option_is_not_imported() {
    let tactus = Tactus::new();
    tactus.succeed(&SHORT);
    let run = exported(&tactus, "last");
    for name in ["-rf", "--all", "run#1", "\u{1b}[2J"] {
        let mut run = run.clone();
        run["header"]["id"] = Value::from(name);
        let path = tactus.folder().join("named.json");
        fs::write(&path, run.to_string()).unwrap();
        let error = tactus.fail(2, &["import", path.to_str().unwrap()]);
        assert!(error.contains("is not a valid run name: a run name has 1 to 200"), "{error}");
        assert!(!error.contains('\u{1b}'), "{error:?}");
    }
}
