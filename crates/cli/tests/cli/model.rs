//! Pipelines: predicted, run with real processes, and compared.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use tactus_sys::pidfd::PidFd;

use crate::support::{Tactus, text};

/// Three processes on one CPU.
const PIPELINE: &str = r#"
    name = "short"
    period = "3ms"
    [[stage]]
    name = "read"
    do = ["read-byte"]
    [[stage]]
    name = "compute"
    by = "futex"
    do = [{ operation = "memory-read", size = "16KiB", times = 2 }]
    [[stage]]
    name = "write"
    do = ["getppid"]
"#;

fn event(lines: &str, name: &str) -> Value {
    let mut events = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.find(|event| event["event"] == name).unwrap_or_else(|| panic!("no {name} in {lines}"))
}

/// The quantiles of an event ascend, each within its interval.
fn check_quantiles<'v>(estimates: impl Iterator<Item = &'v Value>) {
    let mut before = 0;
    for estimate in estimates {
        let [low, value, high] =
            ["low", "value", "high"].map(|key| estimate[key].as_u64().unwrap());
        assert!(low <= value && value <= high, "{estimate}");
        assert!(before <= value, "{estimate}");
        before = value;
    }
    assert!(before > 0);
}

#[test]
fn a_pipeline_is_predicted_and_run_beside_the_prediction() {
    let tactus = Tactus::new();
    let file = tactus.folder().join("short.toml");
    fs::write(&file, PIPELINE).unwrap();
    let file = file.to_str().unwrap();
    let page = tactus.folder().join("page.html");
    let seeded = ["model", file, "--seed", "5", "--json"];
    let measured = [&seeded[..], &["--rounds", "2", "--verify", "--frames", "40", "-o"]].concat();
    let lines = tactus.succeed(&[&measured[..], &[page.to_str().unwrap()]].concat());

    let prediction = event(&lines, "prediction");
    check_quantiles(prediction["quantiles"].as_array().unwrap().iter());
    assert_eq!(prediction["rounds"], 2);
    let names: Vec<&str> = prediction["parts"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|part| part["name"].as_str())
        .collect();
    let expected =
        ["wake-up of read", "read", "read to compute", "compute", "compute to write", "write"];
    assert_eq!(names, expected);
    let effects = prediction["improvements"].as_array().unwrap();
    for effect in effects {
        let [half, nothing] = ["half", "nothing"].map(|key| effect[key]["p99"].as_u64().unwrap());
        assert!(nothing <= half, "{effect}");
    }

    let comparison = event(&lines, "comparison");
    assert_eq!(comparison["frames"], 80, "every frame of both rounds");
    let compared = comparison["quantiles"].as_array().unwrap();
    check_quantiles(compared.iter().map(|one| &one["measured"]));
    assert_eq!(comparison["parts"].as_array().unwrap().len(), expected.len());
    assert!(fs::read_to_string(page).unwrap().contains("<svg"));

    // The same samples and the same seed give the same prediction.
    let again = event(&tactus.succeed(&[&seeded[..], &["--run", "last"]].concat()), "prediction");
    assert_eq!(again, prediction);
    // Another policy changes durations by orders of magnitude.
    let other = [&seeded[..], &["--run", "last", "--policy", "batch"]].concat();
    let error = tactus.fail(2, &other);
    assert!(error.contains("policy is `other` in"), "{error}");
    assert!(error.contains("add --policy other to predict for that"), "{error}");
    let slower = tactus.folder().join("slower.toml");
    fs::write(&slower, PIPELINE.replace("3ms", "4ms")).unwrap();
    let lines = tactus.succeed(&[
        "model",
        slower.to_str().unwrap(),
        "--run",
        "last",
        "--seed",
        "5",
        "--json",
    ]);
    let warnings = &event(&lines, "prediction")["warnings"];
    let of = |name: &str| {
        let mut all = warnings.as_array().into_iter().flatten();
        all.find(|warning| warning["name"] == name).unwrap_or_else(|| panic!("{warnings}"))
    };
    assert!(of("interval")["fact"].is_string() && of("interval")["fix"].is_string(), "{warnings}");
    let pause = of("pause")["fact"].as_str().unwrap_or_default();
    assert!(pause.contains("read-byte 3ms instead of 4ms"), "{warnings}");
    tactus.require_nothing_left();
}

/// The process that coordinates a pipeline, as soon as the command has started it.
fn coordinator(command: u32) -> u32 {
    let until = Instant::now() + Duration::from_secs(60);
    while Instant::now() < until {
        let children = fs::read_to_string(format!("/proc/{command}/task/{command}/children"));
        for child in children.unwrap_or_default().split_whitespace() {
            let line = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            if text(&line).contains("internal\0pipeline") {
                return child.parse().unwrap();
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("the pipeline did not start");
}

/// The frames would run for a minute.
#[test]
fn a_coordinator_that_is_killed_or_stopped_ends_the_command_with_the_reason() {
    let tactus = Tactus::new();
    let file = tactus.folder().join("short.toml");
    fs::write(&file, PIPELINE).unwrap();
    let arguments = ["model", file.to_str().unwrap(), "--quiet", "--rounds", "1", "--verify"];
    for (signal, expected) in [(9, "killed by signal 9"), (19, "signal 19 has stopped")] {
        let mut command = tactus.command(&[&arguments[..], &["--frames", "20000"]].concat());
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        PidFd::of_process(coordinator(command.id())).unwrap().send(signal).unwrap();
        let sent = Instant::now();
        let output = command.wait_with_output().unwrap();
        let error = text(&output.stderr);
        assert!(error.contains(expected), "{error}");
        assert!(sent.elapsed() < Duration::from_secs(50), "it waited for the frames");
        tactus.require_nothing_left();
    }
}

#[test]
fn a_run_without_an_operation_of_the_pipeline_is_refused() {
    let tactus = Tactus::new();
    let cost = ["measure", "--probe", "cost", "--operation", "getppid", "--duration", "5ms"];
    tactus.succeed(&[&cost[..], &["--traced", "0s", "--warmup", "0s", "--no-page"]].concat());
    let file = tactus.folder().join("short.toml");
    fs::write(&file, PIPELINE).unwrap();
    let error = tactus.fail(5, &["model", file.to_str().unwrap(), "--run", "last"]);
    assert!(error.contains("does not measure --operation read-byte"), "{error}");
    assert!(error.contains("leave --run out"), "{error}");
}

#[test]
fn stages_that_take_too_much_memory_together_are_refused_while_planning() {
    let tactus = Tactus::new();
    let file = tactus.folder().join("large.toml");
    let stages: String = (0..32)
        .map(|stage| {
            let step = "{ operation = \"memory-copy\", size = \"1GiB\" }";
            format!("[[stage]]\nname = \"s{stage}\"\ndo = [{step}, {step}, {step}, {step}]\n")
        })
        .collect();
    fs::write(&file, format!("period = \"1s\"\n{stages}")).unwrap();
    let error = tactus.fail(2, &["model", file.to_str().unwrap(), "--plan-only"]);
    assert!(error.contains("MB of memory"), "{error}");
}
