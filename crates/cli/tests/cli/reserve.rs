//! Programs under a reserve: exit codes, signals, changes, and what a kill leaves.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tactus_model::recording::ThreadId;
use tactus_sys::sched;
use tactus_testing::{Need, skip};

use crate::support::{Tactus, text};

/// The longest wait for something that takes milliseconds on an idle machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Computes for some 300 ms of CPU time in the shell itself.
const COMPUTE: &str = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";

/// Starts a sleeper under a reserve by one rung; the process ID of the sleeper, if it is granted.
fn start(tactus: &Tactus, rung: &str) -> Option<(Child, u32)> {
    let arguments = ["reserve", "2ms/20ms", "--rung", rung, "--", "sleep", "60"];
    let mut command = tactus.command(&arguments);
    let mut tactus = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let children = format!("/proc/{0}/task/{0}/children", tactus.id());
    let until = Instant::now() + PATIENCE;
    loop {
        let listed = fs::read_to_string(&children).unwrap_or_default();
        let sleeper =
            listed.split_whitespace().find(|child| name(child).as_deref() == Some("sleep"));
        if let Some(sleeper) = sleeper {
            return Some((tactus, sleeper.parse().unwrap()));
        }
        if tactus.try_wait().unwrap().is_some() {
            let output = tactus.wait_with_output().unwrap();
            skip(Need::Root, format!("{rung}: {}", text(&output.stderr)));
            return None;
        }
        assert!(Instant::now() < until, "the command did not start");
        std::thread::sleep(Duration::from_millis(5));
    }
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

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
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

#[test]
fn needs_root_every_thread_or_only_named_threads_get_the_capacity() {
    const THREADS: &str = "
import threading, time, ctypes
def work(name):
    ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
    time.sleep(1)
for name in (b'audio', b'video'):
    threading.Thread(target=work, args=(name,)).start()
";
    let tactus = Tactus::new();
    let python = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let Some(python) = python.ok().filter(|output| output.status.success()) else {
        return skip(Need::Peers, "python3 does not run");
    };
    let python = text(&python.stdout).trim().to_owned();
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
