//! Programs under a reserve: exit codes, signals, changes, and what a kill leaves.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tactus_model::recording::ThreadId;
use tactus_sys::sched;
use tactus_testing::{Need, eventually, skip, wait_until};

use crate::support::{Tactus, text};

/// Computes for some 300 ms of CPU time in the shell itself.
const COMPUTE: &str = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";

/// The child of a process with this name.
fn child_named(process: u32, wanted: &str) -> Option<u32> {
    let children = format!("/proc/{process}/task/{process}/children");
    let listed = fs::read_to_string(children).unwrap_or_default();
    let child = listed.split_whitespace().find(|child| name(child).as_deref() == Some(wanted));
    child.map(|child| child.parse().unwrap())
}

/// Starts a sleeper under a reserve by one rung; the process ID of the sleeper, if it is granted.
fn start(tactus: &Tactus, rung: &str) -> Option<(Child, u32)> {
    let arguments = ["reserve", "2ms/20ms", "--rung", rung, "--", "sleep", "60"];
    let mut command = tactus.command(&arguments);
    let mut tactus = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let started = eventually(|| {
        let has_ended = tactus.try_wait().unwrap().is_some();
        let started = child_named(tactus.id(), "sleep");
        if started.is_some() || has_ended { Ok(started) } else { Err("the command did not start") }
    });
    let Some(sleeper) = started else {
        let output = tactus.wait_with_output().unwrap();
        skip(Need::Root, format!("{rung}: {}", text(&output.stderr)));
        return None;
    };
    Some((tactus, sleeper))
}

fn name(process: &str) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).ok()?;
    Some(name.trim().to_owned())
}

fn class(process: u32) -> String {
    sched::get_of(ThreadId(process.cast_signed()))
        .map_or_else(|error| error.to_string(), |class| class.to_string())
}

fn groups(process: u32) -> String {
    fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap_or_default()
}

fn granted(output: &Output) -> bool {
    let refused = text(&output.stderr).contains("no rung grants");
    if refused {
        skip(Need::Root, text(&output.stderr));
    }
    !refused
}

#[test]
fn the_exit_code_is_that_of_the_program() {
    let tactus = Tactus::new();
    let code = |command: &[&str]| {
        let output = tactus.run(&[&["reserve", "1ms/10ms", "--quiet", "--"], command].concat());
        output.status.code()
    };
    assert_eq!(code(&["true"]), Some(0));
    assert_eq!(code(&["sh", "-c", "exit 7"]), Some(7));
    assert_eq!(code(&["sh", "-c", "kill -9 $$"]), Some(137));
    assert_eq!(code(&["no-such-program"]), Some(127));
    assert_eq!(code(&["/dev/null"]), Some(126));
    tactus.require_nothing_left();
}

#[test]
fn the_result_has_the_use_in_json_and_a_page() {
    let tactus = Tactus::new();
    let page = tactus.folder().join("use.html");
    let page = page.to_str().unwrap();
    let arguments = ["reserve", "5ms/20ms", "--json", "--page", page, "--", "sh", "-c", COMPUTE];
    let result: Value = serde_json::from_str(&tactus.succeed(&arguments)).unwrap();
    assert_eq!((&result["capacity"], &result["exit_code"]), (&"5ms/20ms".into(), &0.into()));
    let thread = &result["threads"][0];
    let windows = thread["history"]["windows"].as_array().unwrap();
    let used: u64 = windows.iter().map(|window| window["used"].as_u64().unwrap()).sum();
    assert!(used > 1_000_000, "{used} ns");
    assert_eq!(thread["rung"], result["rung"]);
    assert!(fs::read_to_string(page).unwrap().contains("<svg"));
}

#[test]
fn without_permission_the_program_runs_and_is_measured() {
    let tactus = Tactus::new();
    let output = tactus.run(&["reserve", "2ms/20ms", "--rung", "measured", "--", "sleep", "0.1"]);
    assert!(output.status.success());
    assert!(text(&output.stderr).contains("by rung measured: nothing"));
    // No machine keeps CPUs aside for nobody.
    let refused = tactus.fail(3, &["reserve", "2ms/20ms", "--rung", "partitioned", "--", "true"]);
    assert!(refused.contains("no CPU was set aside"), "{refused}");
}

#[test]
fn needs_root_each_rung_ends_with_its_program_and_leaves_nothing() {
    let tactus = Tactus::new();
    for rung in ["deadline", "group", "priority", "weight"] {
        let arguments =
            ["reserve", "2ms/20ms", "--rung", rung, "--json", "--", "sh", "-c", COMPUTE];
        let output = tactus.run(&arguments);
        if !granted(&output) {
            continue;
        }
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["rung"], rung);
        if rung != "weight" {
            let windows = result["threads"][0]["history"]["windows"].as_array().unwrap();
            let overruns: u64 = windows.iter().map(|one| one["overruns"].as_u64().unwrap()).sum();
            assert!(overruns > 0, "{rung}: it computed without a pause: {windows:?}");
        }
    }
    tactus.require_nothing_left();
    assert_eq!(left_groups(), 0);
}

/// The control groups of processes that have ended.
fn left_groups() -> usize {
    tactus_sys::cgroup::stale_groups(Path::new("/")).len()
}

#[test]
fn needs_root_after_a_kill_the_program_continues_without_its_reserve() {
    let tactus = Tactus::new();
    for rung in ["deadline", "group", "priority", "weight"] {
        let Some((mut supervisor, sleeper)) = start(&tactus, rung) else { continue };
        // At rung `priority`, the start of the program can use up the cost of its first period.
        wait_until(rung, || class(sleeper) != "other" || groups(sleeper).contains("/tactus-"));
        supervisor.kill().unwrap();
        supervisor.wait().unwrap();
        wait_until(rung, || class(sleeper) == "other" && !groups(sleeper).contains("/tactus-"));
        assert_eq!(name(&sleeper.to_string()).as_deref(), Some("sleep"), "it continues");
        tactus_sys::process::kill(sleeper).unwrap();
    }
    tactus.require_nothing_left();
}

#[test]
fn needs_root_a_running_program_gets_another_capacity_and_keeps_it_after_a_refusal() {
    let tactus = Tactus::new();
    let Some((mut supervisor, sleeper)) = start(&tactus, "deadline") else { return };
    let process = sleeper.to_string();
    assert_eq!(class(sleeper), "deadline:2ms/20ms/20ms");
    tactus.succeed(&["reserve", "--adjust", &process, "1ms/10ms:5ms"]);
    assert_eq!(class(sleeper), "deadline:1ms/5ms/10ms");
    let refused = tactus.fail(3, &["reserve", "--adjust", &process, "1ms/5s"]);
    assert!(refused.contains("ask for a period of 4194.304ms"), "{refused}");
    assert_eq!(class(sleeper), "deadline:1ms/5ms/10ms");
    // A signal from a process reaches the program, and its end is ours.
    let id = supervisor.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    let status = supervisor.wait().unwrap();
    assert_eq!((status.code(), status.signal()), (Some(143), None));
    tactus.require_nothing_left();
}

/// The Python interpreter itself, not a script that starts it; `None` if there is none.
#[track_caller]
fn python() -> Option<String> {
    let python = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    match python.ok().filter(|output| output.status.success()) {
        Some(python) => Some(text(&python.stdout).trim().to_owned()),
        None => {
            skip(Need::Peers, "python3 does not run");
            None
        }
    }
}

/// Two threads with names.
const THREADS: &str = "
import threading, time, ctypes
def work(name):
    ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
    time.sleep(1)
for name in (b'audio', b'video'):
    threading.Thread(target=work, args=(name,)).start()
";

/// The result of a program under a reserve, and what was reported; `None` if it is refused.
#[track_caller]
fn result(tactus: &Tactus, options: &[&str], command: &[&str]) -> Option<(Value, String)> {
    let output = tactus.run(&[&["reserve", "--json"], options, &["--"], command].concat());
    let reported = text(&output.stderr);
    granted(&output).then(|| {
        let result = serde_json::from_slice(&output.stdout);
        (result.unwrap_or_else(|error| panic!("{error}: {reported}")), reported)
    })
}

#[test]
fn needs_root_a_name_that_no_thread_has_is_reported_with_the_nearest() {
    let tactus = Tactus::new();
    let Some(python) = python() else { return };
    let options = ["1ms/50ms", "--rung", "deadline", "--threads", "audoi"];
    let found = result(&tactus, &options, &[&python, "-c", THREADS]);
    let Some((result, reported)) = found else { return };
    assert_eq!(result["threads"].as_array().unwrap().len(), 0, "{result}");
    let without = result["without"][0].as_str().unwrap();
    assert_eq!(without, "no thread had the name `audoi`: did you mean `audio`?");
    assert!(!reported.contains(" has 1ms/50ms"), "{reported}");
    assert!(reported.contains("gets 1ms/50ms for threads named `audoi`"), "{reported}");
}

#[test]
fn needs_root_each_name_can_have_its_own_capacity_which_is_changed_by_its_name() {
    let tactus = Tactus::new();
    let Some(python) = python() else { return };
    let options = ["--rung", "deadline", "--threads", "audio=1ms/50ms,video=2ms/40ms"];
    let found = result(&tactus, &options, &[&python, "-c", THREADS]);
    let Some((result, reported)) = found else { return };
    let capacity = |name: &str| {
        let threads = result["threads"].as_array().unwrap();
        let thread = threads.iter().find(|thread| thread["name"] == name);
        thread.unwrap_or_else(|| panic!("{name}: {result}"))["capacity"].clone()
    };
    assert_eq!((capacity("audio"), capacity("video")), ("1ms/50ms".into(), "2ms/40ms".into()));
    assert!(result["capacity"].is_null(), "{result}");
    assert!(reported.contains("(video) has 2ms/40ms"), "{reported}");
    let error = tactus.fail(2, &["reserve", "--threads", "audio=1ms/50ms,video", "--", "true"]);
    assert!(error.contains("no capacity is given for thread `video`"), "{error}");
    tactus.fail(2, &["reserve", "--threads", "audio=2ms/1ms", "--", "true"]);
    tactus.fail(2, &["reserve", "1ms/10ms", "--threads", "", "--", "true"]);
}

#[test]
fn a_first_thread_that_ends_before_the_others_is_listed_once() {
    let tactus = Tactus::new();
    let Some(python) = python() else { return };
    let program = "
import threading, time, ctypes
threading.Thread(target=lambda: time.sleep(0.5)).start()
ctypes.CDLL(None).pthread_exit(None)
";
    let options = ["1ms/20ms", "--rung", "measured", "--threads", "all"];
    let found = result(&tactus, &options, &[&python, "-c", program]);
    let Some((result, _)) = found else { return };
    let threads = result["threads"].as_array().unwrap();
    assert_eq!(threads.len(), 2, "{threads:?}");
}

#[test]
fn a_cpu_that_no_chosen_rung_sets_aside_is_refused() {
    let tactus = Tactus::new();
    let arguments = ["reserve", "1ms/10ms", "--exclusive", "0", "--rung", "deadline", "--", "true"];
    let error = tactus.fail(2, &arguments);
    assert!(error.contains("CPU 0 cannot be set aside by rung deadline"), "{error}");
    assert!(error.contains("--rung partitioned"), "{error}");
}

#[test]
fn needs_root_only_its_user_and_root_change_a_reserve() {
    let tactus = Tactus::new();
    let arguments = ["reserve", "2ms/20ms", "--rung", "measured", "--", "sleep", "60"];
    let mut supervisor = tactus.command(&arguments);
    let mut supervisor = supervisor.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let sleeper =
        eventually(|| child_named(supervisor.id(), "sleep").ok_or("there is no child sleep"));
    let change = tactus.command(&["reserve", "--adjust", &sleeper.to_string(), "1ms/20ms"]);
    let change = as_nobody(change);
    let change = change.and_then(|mut change| change.output().ok());
    match change.map(|output| (output.status.code(), text(&output.stderr))) {
        Some((code, error)) if !error.contains("Permission denied") => {
            assert!(error.contains("belongs to another user"), "{error}");
            assert_eq!(code, Some(3));
        }
        other => skip(Need::Root, format!("the command does not run as another user: {other:?}")),
    }
    tactus_sys::process::kill(sleeper).unwrap();
    assert_eq!(supervisor.wait().unwrap().code(), Some(137));
}

/// A command as another user; `None` without the right to that.
fn as_nobody(mut command: Command) -> Option<Command> {
    use std::os::unix::process::CommandExt as _;
    let is_root = tactus_sys::process::effective_user() == 0;
    is_root.then(|| {
        command.uid(65534).gid(65534);
        command
    })
}

#[test]
fn needs_root_throttled_time_is_reported() {
    let tactus = Tactus::new();
    for rung in ["deadline", "group"] {
        let options = ["5ms/40ms", "--rung", rung];
        let Some((result, _)) = result(&tactus, &options, &["sh", "-c", COMPUTE]) else { continue };
        let windows = result["threads"][0]["history"]["windows"].as_array().unwrap();
        let sum = |of: &str| -> u64 {
            let throttled = windows.iter().filter(|one| one["overruns"].as_u64() > Some(0));
            throttled.map(|one| one[of].as_u64().unwrap()).sum()
        };
        // It is always ready, so what it does not use of these windows it waits for; what it waits
        // for in the first is known at the end of the second.
        let throttled = windows.iter().filter(|one| one["overruns"].as_u64() > Some(0)).count();
        let window = result["threads"][0]["history"]["window"].as_u64().unwrap();
        let all = window * throttled.saturating_sub(2) as u64;
        assert!(sum("used") + sum("waited") >= all * 9 / 10, "{rung}: {windows:?}");
        assert!(sum("waited") > sum("used"), "{rung}: {windows:?}");
    }
}

#[test]
fn needs_root_every_thread_or_only_named_threads_get_the_capacity() {
    let tactus = Tactus::new();
    let Some(python) = python() else { return };
    for (which, expected) in [("all", 3), ("audio", 1)] {
        let arguments = ["reserve", "1ms/50ms", "--rung", "deadline", "--threads", which, "--json"];
        let output = tactus.run(&[&arguments[..], &["--", &python, "-c", THREADS]].concat());
        if !granted(&output) {
            return;
        }
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["threads"].as_array().unwrap().len(), expected, "{which}: {result}");
    }
}
