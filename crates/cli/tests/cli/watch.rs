//! The timing monitor from the outside.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;
use tactus_testing::{Need, skip};

use crate::support::Tactus;

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_second_is_printed_and_the_total_is_their_sum() {
    for more in [&["--tasks", "threads"][..], &["--tasks", "processes", "--work", "5%"]] {
        let tactus = Tactus::new();
        let short = ["watch", "--json", "--duration", "1200ms", "--cpus", "0", "--warmup", "0ns"];
        let lines = json_lines(&tactus.succeed(&[&short[..], more].concat()));
        let of =
            |event: &str| lines.iter().filter(|line| line["event"] == event).collect::<Vec<_>>();
        let (seconds, total) = (of("second"), of("total")[0]);
        assert_eq!((of("opened").len(), seconds.len()), (1, 2), "{lines:?}");
        assert_eq!(seconds[1]["at"], 1_200_000_000, "the last second is shorter");
        for name in ["intended", "observed", "missed", "dropped"] {
            let sum: u64 = seconds.iter().map(|second| second[name].as_u64().unwrap()).sum();
            assert_eq!(total[name], sum, "{name}");
        }
        let count = |name: &str| total[name].as_u64().unwrap();
        assert_eq!(count("intended"), count("observed") + count("missed") + count("dropped"));
        assert!(count("observed") > 0 && count("intended") <= 1200, "{total}");
        let latency = |name: &str| total["latency"][name].as_u64().unwrap();
        assert!(latency("max") >= latency("median"), "{total}");
        assert!(!tactus.store().exists(), "watching stores nothing");
    }
}

#[test]
fn messages_are_watched_and_measured_by_library_and_by_server() {
    for via in ["library", "server"] {
        let tactus = Tactus::new();
        let probe = ["--probe", "midi", "--via", via, "--message-ahead", "200ms"];
        let short = ["--duration", "1200ms", "--cpus", "0", "--warmup", "0ns"];
        let watch = [&["watch", "--json"][..], &probe, &short].concat();
        let lines = json_lines(&tactus.succeed(&watch));
        let of =
            |event: &str| lines.iter().filter(|line| line["event"] == event).collect::<Vec<_>>();
        let total = of("total")[0];
        // The last ones may come after the end.
        let count = |name: &str| total[name].as_u64().unwrap();
        assert!((1..=120).contains(&count("observed")), "{via}: {total}");
        assert_eq!((count("intended"), count("missed")), (count("observed"), 0), "{via}: {total}");
        let measure = ["measure", "--traced", "0s", "--rounds", "1", "--json", "--no-page"];
        let lines = json_lines(&tactus.succeed(&[&measure[..], &probe, &short].concat()));
        let turn = lines.iter().find(|line| line["event"] == "turn-finished").unwrap();
        let task = &turn["measurement"]["tasks"][0];
        assert_eq!(task["accounting"]["observed"], 120, "{via}: {task}");
        assert_eq!(task["messages"]["receiver"]["count"], 120, "{via}: each has a receipt");
    }
}

#[test]
fn needs_tracing_late_samples_are_explained_in_lines_too() {
    let tactus = Tactus::new();
    let options = ["--cpus", "0", "--causes", "--threshold", "1us", "--duration", "10s"];
    let lines = json_lines(&tactus.succeed(&[&["watch", "--json"][..], &options].concat()));
    let of = |event: &str| lines.iter().filter(|line| line["event"] == event).collect::<Vec<_>>();
    if let [refusal] = of("not-recorded")[..] {
        return skip(Need::Perf, &refusal["reason"]);
    }
    assert_eq!(of("recording").len(), 1, "{lines:?}");
    let late = of("late");
    assert!(!late.is_empty(), "every wakeup is later than a microsecond: {lines:?}");
    let mut divided = 0;
    for sample in late {
        assert_eq!(sample["cpu"], 0, "{sample}");
        let parts = sample["parts"].as_array().unwrap();
        divided += usize::from(!parts.is_empty());
        let sum: u64 = parts.iter().map(|part| part["time"].as_u64().unwrap()).sum();
        let [due, came] = ["due", "came"].map(|name| sample["sample"][name].as_u64().unwrap());
        assert!(parts.is_empty() || sum == came - due, "causes add up to the latency: {sample}");
    }
    assert!(divided > 0, "no sample was divided among causes: {lines:?}");
}

#[test]
fn an_interrupt_ends_with_the_total_and_a_kill_leaves_nothing() {
    use rustix::process::{Pid, Signal, kill_process};
    for signal in [Signal::INT, Signal::KILL] {
        let tactus = Tactus::new();
        let mut command = tactus.command(&["watch", "--plain", "--load", "compute:2"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let (header, second) = (lines.next().unwrap(), lines.next().unwrap());
        assert!(header.contains("median") && second.contains("1\u{202f}s"), "{header}\n{second}");
        assert!(tactus.processes().len() > 2, "the probe and the load run");
        kill_process(Pid::from_child(&child), signal).unwrap();
        let last = lines.last();
        let status = child.wait().unwrap();
        if signal == Signal::INT {
            assert_eq!(status.code(), Some(130));
            assert!(last.is_some_and(|line| line.contains("all")));
        }
        tactus.require_nothing_left();
    }
}

#[test]
fn a_load_that_ends_by_itself_is_reported() {
    let tactus = Tactus::new();
    // The flag ends the load in the middle of the window, however busy the machine is.
    let flag = tactus.folder().join("end");
    let load = format!("cmd:\"until [ -e {} ]; do sleep 0.1; done; exit 7\"", flag.display());
    let options = ["--json", "--duration", "5s", "--cpus", "0", "--warmup", "0ns", "--load", &load];
    let mut command = tactus.command(&[&["watch"][..], &options].concat());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut lines = lines.map(|line| serde_json::from_str::<Value>(&line).unwrap());
    assert!(lines.any(|line| line["event"] == "opened"));
    std::fs::write(&flag, "").unwrap();
    let reported = lines.find(|line| {
        line["event"] == "shortfall" && line["reason"].as_str().unwrap().contains("exit status: 7")
    });
    assert!(reported.is_some(), "the end of the load was not reported");
    lines.for_each(drop);
    assert!(child.wait().unwrap().success());
    tactus.require_nothing_left();
}

#[test]
fn settings_that_cannot_be_measured_are_refused() {
    let tactus = Tactus::new();
    let error = tactus.fail(2, &["watch", "--plain", "--sleep", "futex", "--clock", "tai"]);
    assert!(error.contains("it supports: monotonic, realtime"), "{error}");
}
