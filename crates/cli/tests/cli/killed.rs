//! A kill at any moment loses no finished turn and leaves nothing behind.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{self, Tactus};
use serde_json::Value;
use tactus_model::random::SplitMix64;
use tactus_sys::block_queue::{disks_under, least_request, request_limit};
use tactus_sys::process::kill;
use tactus_sys::setting::Setting;
use tactus_testing::{Need, require, skip};

/// Kills a run of short turns, `delay` after it reported `turns` finished turns; returns how many
/// finished turns it reported in total.
fn measure_and_kill(tactus: &Tactus, turns: usize, delay: Duration) -> usize {
    let mut command = tactus.command(&[
        "measure",
        "--duration",
        "20ms",
        "--traced",
        "0s",
        "--warmup",
        "0ns",
        "--rounds",
        "500",
        "--cpus",
        "0",
        "--no-page",
        "--json",
        "--load",
        "idle",
    ]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    // The last line may be truncated.
    let mut finished = lines
        .filter_map(|line| serde_json::from_str::<Value>(&line).ok())
        .filter(|line| line["event"] == "turn-finished");
    let seen = finished.by_ref().take(turns).count();
    assert_eq!(seen, turns, "the run ended before the kill");
    thread::sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap();
    seen + finished.count()
}

#[test]
fn a_kill_at_twenty_random_moments_loses_at_most_the_current_turn() {
    let seed = 20_261_121;
    println!("seed {seed}");
    let mut random = SplitMix64::new(seed);
    let tactus = Tactus::new();
    for kill in 0..20 {
        // A turn takes some tens of milliseconds, and much longer on a busy machine.
        let (turns, delay) = (random.below(6) as usize, random.below(100));
        let finished = measure_and_kill(&tactus, turns, Duration::from_millis(delay));
        tactus.require_nothing_left();
        let listed = tactus.succeed(&["list", "--json"]);
        if finished == 0 && listed.is_empty() {
            continue;
        }
        let shown = tactus.succeed(&["show", "last", "--json"]);
        let run: Value = serde_json::from_str(&shown).unwrap();
        let kept: u64 = run["cells"]
            .as_array()
            .unwrap()
            .iter()
            .map(|cell| cell["rounds"].as_u64().unwrap())
            .sum();
        assert!(kept >= finished as u64, "kill {kill}: {finished} finished, {kept} kept");
    }
}

#[test]
fn loads_die_with_the_measurement_even_when_it_is_killed() {
    let tactus = Tactus::new();
    for load in ["compute:2", "process", "cmd:\"sleep 300 & sleep 300\"", "message"] {
        let mut command = tactus.command(&[
            "measure",
            "--duration",
            "60s",
            "--no-page",
            "--json",
            "--load",
            load,
        ]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let opened = lines.map_while(Result::ok).any(|line| line.contains("\"window-opened\""));
        assert!(opened, "{load}: the window never opened");
        assert!(tactus.processes().len() > 2, "{load}: no load is running");
        child.kill().unwrap();
        child.wait().unwrap();
        tactus.require_nothing_left();
    }
}

/// The limits of the disks under the directory of the loads, in KiB.
fn request_limits() -> std::io::Result<Vec<u64>> {
    let root = Path::new("/");
    let disks = disks_under(root, &std::env::temp_dir())?;
    let limit = |disk: &String| Setting::open(&root.join(request_limit(disk)))?.get();
    let number = |text: String| text.parse().map_err(std::io::Error::other);
    disks.iter().map(|disk| limit(disk).and_then(number)).collect()
}

#[test]
fn disk_settings_are_restored_after_a_kill_as_root() {
    let before = match request_limits() {
        Ok(before) if before.iter().all(|limit| *limit > least_request()) => before,
        Ok(_) => return skip(Need::Machine, "a disk already has the minimum"),
        Err(error) => return skip(Need::Machine, error),
    };
    let tactus = Tactus::new();
    let mut command = tactus.command(&[
        "measure",
        "--block-requests",
        "single",
        "--duration",
        "60s",
        "--no-page",
        "--json",
    ]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let written: Vec<String> = lines
        .map_while(Result::ok)
        .take_while(|line| !line.contains("\"window-opened\""))
        .collect();
    let refused = written.iter().any(|line| line.contains("block-requests single"));
    let meanwhile = request_limits().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    if refused {
        return skip(Need::Root, format!("{written:?}"));
    }
    assert_eq!(meanwhile, vec![least_request(); before.len()]);
    // The guardian detects the end of its input as soon as it runs.
    let deadline = Instant::now() + Duration::from_secs(10);
    while request_limits().unwrap() != before {
        assert!(Instant::now() < deadline, "{before:?} has become {:?}", request_limits());
        thread::sleep(Duration::from_millis(5));
    }
    tactus.require_nothing_left();
}

/// The quantum of the rr class.
const QUANTUM: &str = "proc/sys/kernel/sched_rr_timeslice_ms";

/// Held by the test that changes the quantum.
static CHANGES_QUANTUM: Mutex<()> = Mutex::new(());

/// Starts a measurement that changes the quantum; returns it with the lines of its output.
fn changing_quantum(tactus: &Tactus, duration: &str) -> (Child, impl Iterator<Item = String>) {
    let options = ["--policy", "rr:5", "--load", "idle", "--quantum", "60ms", "--traced", "0s"];
    let output = ["measure", "--duration", duration, "--no-page", "--json"];
    let mut command = tactus.command(&[&output[..], &options].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    (child, lines)
}

#[test]
fn a_killed_guardian_is_reported_and_its_setting_restored_as_root() {
    let quantum = Setting::open(&Path::new("/").join(QUANTUM));
    let Some(quantum) = require(Need::Root, quantum) else { return };
    let _alone = CHANGES_QUANTUM.lock();
    let before = quantum.get().unwrap();
    let tactus = Tactus::new();
    let (mut child, mut lines) = changing_quantum(&tactus, "3s");
    let opened: Vec<String> =
        lines.by_ref().take_while(|line| !line.contains("\"window-opened\"")).collect();
    if opened.iter().any(|line| line.contains("quantum untouched")) {
        child.kill().unwrap();
        child.wait().unwrap();
        return skip(Need::Machine, format!("{opened:?}"));
    }
    let guardian = tactus.processes().into_iter().find(|(_, line)| line.contains("guardian"));
    kill(guardian.unwrap().0).unwrap();
    let rest: Vec<String> = lines.collect();
    assert!(child.wait().unwrap().success());
    assert_eq!(quantum.get().unwrap(), before);
    let reported = |line: &String| line.contains("the guardian of settings ended early");
    assert!(rest.iter().any(reported), "no line reports it");
    tactus.require_nothing_left();
}

#[test]
fn settings_left_by_killed_processes_are_listed_by_the_doctor_and_restored_as_root() {
    let quantum = Setting::open(&Path::new("/").join(QUANTUM));
    let Some(quantum) = require(Need::Root, quantum) else { return };
    let _alone = CHANGES_QUANTUM.lock();
    let before = quantum.get().unwrap();
    let tactus = Tactus::new();
    let (mut child, mut lines) = changing_quantum(&tactus, "60s");
    lines.by_ref().find(|line| line.contains("\"window-opened\"")).unwrap();
    // The guardian first: it would restore the setting.
    let mut processes = tactus.processes();
    processes.sort_by_key(|(_, line)| !line.contains("guardian"));
    for (process, _) in processes {
        let _ = kill(process);
    }
    child.wait().unwrap();
    if quantum.get().unwrap() != before {
        // Exit code 1 if another finding invalidates measurements.
        let found = tactus.run(&["doctor", "--json"]);
        let found = support::text(&found.stdout);
        let line = found.lines().find(|line| line.contains("left by killed runs")).unwrap();
        // Another measurement on this machine restores it too.
        assert!(line.contains(QUANTUM) || quantum.get().unwrap() == before, "{line}");
    }
    tactus.succeed(&["measure", "--load", "idle", "--duration", "50ms", "--traced", "0s"]);
    assert_eq!(quantum.get().unwrap(), before);
}

#[test]
fn an_interrupt_keeps_finished_turns_and_prints_how_to_continue() {
    let tactus = Tactus::new();
    let mut command = tactus.command(&[
        "measure",
        "--duration",
        "50ms",
        "--traced",
        "0s",
        "--warmup",
        "0ns",
        "--rounds",
        "100",
        "--cpus",
        "0",
        "--no-page",
        "--json",
        "--seed",
        "1",
    ]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let third = lines
        .by_ref()
        .map_while(Result::ok)
        .filter(|line| line.contains("\"turn-finished\""))
        .nth(2);
    assert!(third.is_some());
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let error = support::text(&output.stderr);
    assert!(error.contains("tactus measure --continue"), "{error}");
    assert!(rest.iter().any(|line| line.contains("\"interrupted\"")), "{rest:?}");
    tactus.require_nothing_left();
}
