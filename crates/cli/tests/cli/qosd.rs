//! The QoS manager as a process: its start, its kill, the kill of its clients.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tactus_model::recording::ThreadId;
use tactus_model::time::Nanos;
use tactus_qos::{Connection, Constraint, Grant, Need, NotAnswered};
use tactus_sys::pidfd::PidFd;
use tactus_testing::{Need as TestNeed, skip};

use crate::support::{Tactus, text};

/// A process that is killed at the end.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Options for a manager in the folder of `tactus`, with a share that leaves room for others.
fn options(tactus: &Tactus) -> [String; 6] {
    let policy = tactus.folder().join("policy.toml");
    fs::write(&policy, "[machine]\nshare = \"10%\"\nown = \"100us/10ms\"\n").unwrap();
    let path = |name: &str| tactus.folder().join(name).display().to_string();
    [
        "--socket".to_owned(),
        path("socket"),
        "--state".to_owned(),
        path("state"),
        "--policy".to_owned(),
        path("policy.toml"),
    ]
}

/// Starts a manager, and waits until it serves.
fn start(tactus: &Tactus) -> (Killed, Connection) {
    let options = options(tactus);
    let mut command = tactus.command(&["qosd"]);
    let mut manager = Killed(command.args(&options).stderr(Stdio::piped()).spawn().unwrap());
    loop {
        if let Ok(connection) = Connection::open(options[1].as_ref()) {
            return (manager, connection);
        }
        if let Some(status) = manager.0.try_wait().unwrap() {
            panic!("{status}");
        }
        std::thread::yield_now();
    }
}

fn sleeping() -> Killed {
    Killed(Command::new("sleep").arg("600").spawn().unwrap())
}

fn thread_of(process: &Killed) -> ThreadId {
    ThreadId(process.0.id().cast_signed())
}

fn policy(process: &Killed) -> String {
    tactus_sys::sched::get_of(thread_of(process)).unwrap().to_string()
}

/// Reserves 1 % of a CPU for a process; `None` if the kernel refuses it.
fn reserve(connection: &mut Connection, process: &Killed) -> Option<Grant> {
    let thread = PidFd::of_process(process.0.id()).unwrap();
    let need = Need::new(Nanos::from_millis(10), Nanos::from_micros(100));
    match connection.reserve(thread.as_fd(), need) {
        Ok(grant) => Some(grant),
        Err(NotAnswered::Refused(refusal)) if refusal.bound_by == Constraint::Kernel => {
            skip(TestNeed::Root, refusal);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn needs_root_a_killed_manager_is_repaired_by_the_next() {
    let (tactus, process) = (Tactus::new(), sleeping());
    let (mut manager, mut connection) = start(&tactus);
    if reserve(&mut connection, &process).is_none() {
        return;
    }
    assert_eq!(policy(&process), "deadline:100us/10ms/10ms");
    manager.0.kill().unwrap();
    manager.0.wait().unwrap();
    assert!(connection.status().is_err());
    assert_eq!(policy(&process), "deadline:100us/10ms/10ms", "what a kill leaves");
    let (mut next, mut connection) = start(&tactus);
    assert_eq!(policy(&process), "other");
    assert!(connection.status().is_ok());
    tactus_sys::process::kill(next.0.id()).unwrap();
    let output = {
        let mut errors = String::new();
        std::io::Read::read_to_string(next.0.stderr.as_mut().unwrap(), &mut errors).unwrap();
        errors
    };
    assert!(output.contains("repair: returned 1 thread"), "{output}");
}

#[test]
fn needs_root_a_manager_that_ends_returns_all_threads() {
    let (tactus, process) = (Tactus::new(), sleeping());
    let (mut manager, mut connection) = start(&tactus);
    if reserve(&mut connection, &process).is_none() {
        return;
    }
    PidFd::of_process(manager.0.id()).unwrap().send(15).unwrap();
    // As of every command that a signal ended.
    assert_eq!(manager.0.wait().unwrap().code(), Some(143));
    assert_eq!(policy(&process), "other");
}

#[test]
fn needs_root_the_reserves_of_a_killed_client_end() {
    let (tactus, process) = (Tactus::new(), sleeping());
    let (_manager, mut connection) = start(&tactus);
    let socket = tactus.folder().join("socket");
    let client = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/qos/reserve.py");
    // The example works for a moment only; it is killed while it waits for its input.
    let script = format!(
        "import runpy, sys, threading, os; m = runpy.run_path({client:?}); \
         manager = m['Manager']({:?}); \
         print(manager.call('Reserve', {{'need': {{'period': 10000000, 'cost_min': 100000}}, \
         'thread': {}}}), flush=True); sys.stdin.read()",
        socket.display().to_string(),
        process.0.id()
    );
    let started = Command::new("python3")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut client = match started {
        Ok(client) => Killed(client),
        Err(error) => return skip(TestNeed::Peers, error),
    };
    let mut line = String::new();
    let mut lines = std::io::BufReader::new(client.0.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut lines, &mut line).unwrap();
    if !line.contains("grant") {
        return skip(TestNeed::Root, "the kernel refuses the reserve");
    }
    assert_eq!(policy(&process), "deadline:100us/10ms/10ms");
    client.0.kill().unwrap();
    client.0.wait().unwrap();
    while connection
        .status()
        .unwrap()
        .reserves
        .iter()
        .any(|state| state.thread == thread_of(&process).0)
    {
        std::thread::yield_now();
    }
    assert_eq!(policy(&process), "other");
}

#[test]
fn needs_root_the_status_is_printed_for_people_and_programs() {
    let (tactus, process) = (Tactus::new(), sleeping());
    let (_manager, mut connection) = start(&tactus);
    if reserve(&mut connection, &process).is_none() {
        return;
    }
    let socket = tactus.folder().join("socket");
    let socket = socket.to_str().unwrap();
    let printed = tactus.succeed(&["qos", "status", "--socket", socket]);
    assert!(printed.contains("sleep") && printed.contains("100us/10ms"), "{printed}");
    let json = tactus.succeed(&["qos", "status", "--socket", socket, "--json"]);
    let status: Value = serde_json::from_str(&json).unwrap();
    let reserves = status["reserves"].as_array().unwrap();
    let own = process.0.id();
    let found = reserves.iter().find(|reserve| reserve["thread"] == own).unwrap();
    assert_eq!(found["grant"]["bound_by"], "request");
}

#[test]
fn a_second_manager_and_a_policy_of_others_are_refused() {
    let tactus = Tactus::new();
    let (_manager, _connection) = start(&tactus);
    let options = options(&tactus);
    let again: Vec<&str> = ["qosd"].into_iter().chain(options.iter().map(String::as_str)).collect();
    let refused = tactus.fail(3, &again);
    assert!(refused.contains("another manager holds"), "{refused}");
    let open = fs::Permissions::from_mode(0o666);
    fs::set_permissions(&options[5], open).unwrap();
    let refused = tactus.fail(2, &again);
    assert!(refused.contains("can be written by others; fix: chown root"), "{refused}");
}

#[test]
fn without_a_manager_the_status_says_so() {
    let tactus = Tactus::new();
    let output = tactus.run(&["qos", "status", "--socket", "/nonexistent/socket"]);
    assert_eq!(output.status.code(), Some(3));
    let errors = text(&output.stderr);
    assert!(errors.contains("cannot reach the QoS manager"), "{errors}");
    assert!(errors.contains("hint: is the manager running? start it by tactus qosd"), "{errors}");
}

#[test]
fn an_idle_manager_ends() {
    let tactus = Tactus::new();
    let options = options(&tactus);
    let mut command = tactus.command(&["qosd", "--idle-exit", "50ms"]);
    let output = command.args(&options).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}
