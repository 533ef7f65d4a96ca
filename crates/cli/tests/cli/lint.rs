//! `tactus lint` reports planted violations with their lines, and refuses what it cannot watch.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::flight::permitted;
use crate::support::{Tactus, text};

const SOURCE: &str = include_str!("plant.c");

const PLANTED: &str = "crates/cli/tests/cli/plant.c";

/// Four seconds of the planted loop: on a busy machine, watching begins late.
const ROUNDS: &str = "4000";

/// Whether so many sections were watched. A busy machine can delay the watching.
fn some_sections(report: &Value) -> bool {
    (1..ROUNDS.parse().unwrap()).contains(&report["sections"].as_u64().unwrap())
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
    let Some(program) = tactus.compile(PLANTED) else { return };
    let plants = ["open", "malloc", "touch", "printf", "mutex"];
    let arguments = ["lint", "--json", "--thread", "servo", "--", &program, ROUNDS];
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
    assert!(some_sections(&report), "{report:#}");
}

#[test]
fn needs_tracing_a_clean_loop_passes_and_permitted_calls_are_no_violations() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let Some(program) = tactus.compile(PLANTED) else { return };
    let output = tactus.run(&["lint", "--json", "--thread", "servo", "--", &program, ROUNDS]);
    let report: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    // A machine that is short of memory can take pages of the program away.
    let rows = report["violations"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["kind"] == "page-fault"), "{report:#}");
    let allowed = ["--allow", "openat", "--allow", "close"];
    let output = tactus.run(
        &[
            &["lint", "--json", "--thread", "servo"],
            &allowed[..],
            &["--", &program, ROUNDS, "open"],
        ]
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
    let error = tactus.fail(2, &["lint", "--thread", "sleap", "--", "sleep", "2"]);
    assert!(error.contains("no thread `sleap` was seen; did you mean `sleep`?"), "{error}");
    let error = tactus.fail(1, &["lint", "--", "sleep", "2"]);
    assert!(error.contains("no section was seen"), "{error}");
}

#[test]
fn needs_tracing_a_wait_that_no_thread_makes_fails_with_the_call_in_which_it_slept() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let Some(program) = tactus.compile(PLANTED) else { return };
    let watched = ["lint", "--thread", "servo", "--until", "ppoll", "--", &program, ROUNDS];
    let error = tactus.fail(1, &watched);
    let expected = "no watched thread waited twice in `ppoll`; servo waits in clock_nanosleep (";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn needs_tracing_a_thread_that_slept_before_it_was_watched_is_reported() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    // It gets the name after it has slept.
    let script = "sleep 1; echo late >/proc/$$/comm; sleep 1; sleep 1; sleep 1";
    let output = tactus.run(&["lint", "--json", "--thread", "late", "--", "sh", "-c", script]);
    let report = report(&output.stdout);
    // The children have the name until they execute their program.
    assert!(report["late_threads"].as_u64().unwrap() >= 1, "{report:#}");
}

#[test]
fn needs_tracing_without_open_files_the_watched_threads_are_reported() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let Some(program) = tactus.compile(PLANTED) else { return };
    let started = format!("{program} {ROUNDS} open & ").repeat(12);
    let lint = tactus.command(&["lint", "--", "sh", "-c", &format!("{started} wait")]);
    let limited = Command::new("sh")
        .args(["-c", "ulimit -n 50; exec \"$@\"", "sh"])
        .arg(lint.get_program())
        .args(lint.get_args())
        .output()
        .unwrap();
    let (printed, errors) = (text(&limited.stdout), text(&limited.stderr));
    let names_the_limit = printed.contains("RLIMIT_NOFILE") && printed.contains("ulimit -n");
    assert!(names_the_limit, "{printed}\n{errors}");
    assert_eq!(limited.status.code(), Some(1), "{errors}");
}

/// The report of `--json`.
fn report(printed: &[u8]) -> Value {
    serde_json::from_str(&text(printed)).unwrap_or_else(|error| panic!("{error}: {printed:?}"))
}

#[test]
fn needs_tracing_a_wait_in_a_condition_variable_is_one_wait() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let Some(program) = tactus.compile(PLANTED) else { return };
    let watched = ["lint", "--json", "--thread", "servo", "--", &program, ROUNDS, "condition"];
    let report = report(&tactus.run(&watched).stdout);
    assert!(some_sections(&report), "{report:#}");
    let rows = report["violations"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["kind"] == "page-fault"), "{report:#}");
    assert!(report["threads"][0]["wait"].as_str().unwrap().starts_with("futex wait"), "{report:#}");
}

#[test]
fn needs_tracing_threads_that_outlive_the_command_are_watched_by_their_latest_name() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let Some(program) = tactus.compile(PLANTED) else { return };
    let script = format!("{program} {ROUNDS} open & exit 7");
    let output = tactus.run(&["lint", "--json", "--", "sh", "-c", &script]);
    let error = text(&output.stderr);
    assert!(error.contains("the command exited with status 7"), "{error}");
    let report = report(&output.stdout);
    let named = |key: &str, name: &str| {
        let rows = report[key].as_array().unwrap().iter();
        rows.filter(|row| row[name] == "servo").count()
    };
    // Two calls at one line.
    assert_eq!((named("threads", "name"), named("violations", "thread")), (1, 2), "{report:#}");
    assert!(some_sections(&report), "{report:#}");
    assert_eq!(output.status.code(), Some(1), "{error}");
}

#[test]
fn needs_tracing_a_deleted_program_has_lines() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let Some(program) = tactus.compile(PLANTED) else { return };
    let mut running = Command::new(&program).args(["600000", "open"]).spawn().unwrap();
    fs::remove_file(&program).unwrap();
    let process = running.id().to_string();
    let watched = ["lint", "--json", "--thread", "servo", "--pid", &process, "--duration", "5s"];
    let output = tactus.run(&watched);
    running.kill().unwrap();
    running.wait().unwrap();
    let report = report(&output.stdout);
    let mut rows = report["violations"].as_array().unwrap().iter();
    let is_planted = |row: &Value| row["what"] == "openat" && row["at"]["line"] == line("open");
    assert!(rows.any(is_planted), "{report:#}");
}

#[test]
fn needs_tracing_after_a_signal_the_exit_code_is_that_of_the_signal() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let Some(program) = tactus.compile(PLANTED) else { return };
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        for is_command in [true, false] {
            let mut other = Command::new("sleep").arg("600").spawn().unwrap();
            let process = other.id().to_string();
            let options = match is_command {
                true => &["--", &program, "600000", "open"][..],
                false => &["--pid", &process],
            };
            let mut lint = tactus.command(&[&["lint"], options].concat());
            let lint = lint.stdout(Stdio::null()).stderr(Stdio::piped());
            let mut lint = lint.spawn().unwrap();
            let mut said = BufReader::new(lint.stderr.take().unwrap());
            let mut first = String::new();
            said.read_line(&mut first).unwrap();
            assert!(first.starts_with("watching"), "{first}");
            kill_process(Pid::from_child(&lint), signal).unwrap();
            let mut rest = String::new();
            said.read_to_string(&mut rest).unwrap();
            assert_eq!(lint.wait().unwrap().code(), Some(code), "{signal:?}: {rest}");
            // The command has got the signal too, the process has not.
            tactus.require_nothing_left();
            assert!(other.try_wait().unwrap().is_none());
            other.kill().unwrap();
            other.wait().unwrap();
        }
    }
}

#[test]
fn needs_tracing_a_command_that_is_killed_is_reported() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let error = tactus.fail(1, &["lint", "--", "sh", "-c", "kill -9 $$"]);
    assert!(error.contains("the command was ended by signal 9"), "{error}");
    assert!(error.contains("no section was seen"), "{error}");
}
