//! How commands end: exit codes, signals, closed outputs, and what becomes of a recorded command.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::flight::permitted;
use crate::support::Tactus;

/// The signals that request an end, with their exit codes.
const REQUESTS: [(Signal, i32); 3] = [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)];

/// A recorded command that runs until its standard input, which the test holds, ends.
struct Recorded {
    child: Child,
    path: PathBuf,
    command: Pid,
}

impl Recorded {
    /// Starts recording `script`, which must write the file `$0` when it is ready.
    fn start(tactus: &Tactus, options: &[&str], script: &str) -> Self {
        let path = tactus.folder().join("a.tactusrec");
        let number = tactus.folder().join("number");
        // The name appears with its content.
        let script = format!("echo $$ > $0.new; mv $0.new $0; {script}");
        let (output, ready) = (path.display().to_string(), number.display().to_string());
        let command = ["-o", &output, "--", "sh", "-c", &script, &ready];
        let mut command = tactus.command(&[&["record"], options, &command[..]].concat());
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while !number.exists() {
            assert!(child.try_wait().unwrap().is_none(), "the recorder ended");
            std::thread::sleep(Duration::from_millis(10));
        }
        let command = std::fs::read_to_string(&number).unwrap().trim().parse().unwrap();
        Self { child, path, command: Pid::from_raw(command).unwrap() }
    }

    fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn command_runs(&self) -> bool {
        test_kill_process(self.command).is_ok()
    }
}

#[test]
fn needs_tracing_a_signal_to_the_recorder_ends_the_command_and_keeps_the_recording() {
    for (signal, code) in REQUESTS {
        let tactus = Tactus::new();
        if !permitted(&tactus) {
            return;
        }
        // `read` is part of the shell, so no other process holds the standard input.
        let mut recorded = Recorded::start(&tactus, &[], "trap 'exit 5' INT TERM HUP; read line");
        recorded.send(signal);
        assert_eq!(recorded.child.wait().unwrap().code(), Some(code), "{signal:?}");
        assert!(!recorded.command_runs(), "{signal:?}");
        let path = recorded.path.display().to_string();
        tactus.succeed(&["explain", &path]);
    }
}

#[test]
fn needs_tracing_the_command_continues_after_a_kill_and_after_the_duration() {
    for kill in [true, false] {
        let tactus = Tactus::new();
        if !permitted(&tactus) {
            return;
        }
        let options = if kill { &[][..] } else { &["--duration", "5s"] };
        let mut recorded = Recorded::start(&tactus, options, "read line");
        if kill {
            recorded.send(Signal::KILL);
        }
        let input = recorded.child.stdin.take();
        if !kill {
            // The command has this end too, so the lines go on after those of the recorder.
            let mut lines = BufReader::new(recorded.child.stderr.take().unwrap()).lines();
            assert!(lines.any(|line| line.unwrap().contains("continues as process")));
        }
        let status = recorded.child.wait().unwrap();
        assert_eq!(status.code(), (!kill).then_some(0));
        assert!(recorded.command_runs());
        drop(input);
        tactus.require_nothing_left();
    }
}

#[test]
fn needs_tracing_the_exit_code_is_that_of_the_command() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let path = tactus.folder().join("a.tactusrec").display().to_string();
    let unexecutable = tactus.store().display().to_string();
    std::fs::write(&unexecutable, "").unwrap();
    let commands: [(&[&str], i32); 6] = [
        (&["true"], 0),
        (&["false"], 1),
        (&["sh", "-c", "exit 7"], 7),
        (&["sh", "-c", "kill -TERM $$"], 143),
        (&["no-such-command"], 127),
        (&[&unexecutable], 126),
    ];
    for (command, code) in commands {
        for flight in [&[][..], &["--flight", "2s"]] {
            let start = [&["record", "-o", &path, "--duration", "1min"], flight, &["--"]].concat();
            let output = tactus.run(&[&start[..], command].concat());
            assert_eq!(output.status.code(), Some(code), "{command:?} {output:?}");
        }
    }
}

#[test]
fn every_request_to_end_has_its_exit_code() {
    for (signal, code) in REQUESTS {
        let measured: [&[&str]; 2] = [
            &["watch", "--plain", "--cpus", "0", "--warmup", "0ns"],
            &["measure", "--duration", "60s", "--traced", "0s", "--no-page", "--json"],
        ];
        for arguments in measured {
            let tactus = Tactus::new();
            let mut command = tactus.command(arguments);
            let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            lines.next().unwrap().unwrap();
            kill_process(Pid::from_child(&child), signal).unwrap();
            lines.map_while(Result::ok).for_each(drop);
            assert_eq!(child.wait().unwrap().code(), Some(code), "{arguments:?} {signal:?}");
            tactus.require_nothing_left();
        }
    }
}

#[test]
fn two_signals_within_a_second_are_one_request() {
    // GNU timeout sends one to the program, and one to its process group.
    let tactus = Tactus::new();
    let arguments = ["measure", "--duration", "60s", "--traced", "0s", "--no-page", "--json"];
    let mut command = tactus.command(&arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    for _ in 0..2 {
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        std::thread::sleep(Duration::from_millis(50));
    }
    // The orderly end has its event.
    let is_end = |line: &String| line.contains("\"run-ended\"") && line.contains("interrupted");
    assert!(lines.map_while(Result::ok).any(|line| is_end(&line)));
    assert_eq!(child.wait().unwrap().code(), Some(143));
    tactus.require_nothing_left();
}

#[test]
fn an_ignored_hangup_stays_ignored() {
    let tactus = Tactus::new();
    let mut command = Command::new("nohup");
    command.arg(env!("CARGO_BIN_EXE_tactus")).env("TACTUS_STORE", tactus.store());
    command.args(["watch", "--plain", "--duration", "2s", "--cpus", "0", "--warmup", "0ns"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    lines.map_while(Result::ok).for_each(drop);
    assert!(child.wait().unwrap().success());
}

/// A measurement of a moment.
const MOMENT: [&str; 9] =
    ["measure", "--duration", "50ms", "--traced", "0s", "--warmup", "0ns", "--cpus", "0"];

#[test]
fn a_closed_standard_error_does_not_end_a_measurement() {
    let tactus = Tactus::new();
    let mut child = tactus.command(&MOMENT).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let shown = tactus.succeed(&["list"]);
    assert!(shown.contains("complete"), "{shown}");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    assert!(tactus.command(&MOMENT).stderr(full).status().unwrap().success());
    let mut error = tactus.command(&["show", "no-such-run"]);
    let mut child = error.stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[test]
fn a_reader_that_closes_standard_output_is_no_error() {
    let tactus = Tactus::new();
    tactus.succeed(&MOMENT);
    for arguments in [&["list"][..], &["export"], &["show", "--json"], &["doctor", "--help"]] {
        assert_eq!(code_without_reader(&tactus, arguments), Some(0), "{arguments:?}");
    }
}

/// The exit code of a command whose standard output is a pipe that is closed at once.
fn code_without_reader(tactus: &Tactus, arguments: &[&str]) -> Option<i32> {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    tactus.command(arguments).stdout(writer).stderr(Stdio::null()).status().unwrap().code()
}

#[test]
fn a_reader_that_closes_standard_output_does_not_change_a_verdict() {
    let tactus = Tactus::new();
    tactus.succeed(&MOMENT);
    let tasks = tactus.folder().join("tasks.toml");
    let task =
        |name: &str| format!("[[task]]\nname = \"{name}\"\ncost = \"5ms\"\nperiod = \"8ms\"\n");
    let plan = ["policy = \"deadline\"\n".to_owned(), task("a"), task("b")].concat();
    std::fs::write(&tasks, plan).unwrap();
    let tasks = tasks.to_str().unwrap();
    let verdicts: [(&[&str], i32); 5] = [
        // A busy machine may observe no wakeup.
        (&["gate", "--max", "1h", "--allow-unsupported"], 0),
        (&["gate", "--max", "1ns"], 1),
        (&["gate", "--max", "1ns", "--json"], 1),
        (&["compare", "last", "last", "--fail-on-worse"], 0),
        (&["admit", tasks], 1),
    ];
    for (arguments, code) in verdicts {
        assert_eq!(tactus.run(arguments).status.code(), Some(code), "{arguments:?}");
        assert_eq!(code_without_reader(&tactus, arguments), Some(code), "{arguments:?}");
    }
    let doctor = tactus.run(&["doctor"]).status.code();
    assert_eq!(code_without_reader(&tactus, &["doctor"]), doctor);
}

#[test]
fn an_export_says_what_it_contains() {
    let tactus = Tactus::new();
    tactus.succeed(&MOMENT);
    let path = tactus.folder().join("run.json").display().to_string();
    let output = tactus.run(&["export", "-o", &path]);
    let said = crate::support::text(&output.stderr);
    assert!(said.contains("it contains facts of the machine, command lines"), "{said}");
    assert!(Path::new(&path).exists());
}
