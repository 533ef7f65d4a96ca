//! From a measurement to the causes of late samples.

use serde_json::Value;
use tactus_testing::{Need, skip};

use crate::support::Tactus;

/// A real-time probe, short, with every sample above the threshold.
const MEASURE: [&str; 15] = [
    "measure",
    "--policy",
    "fifo:50",
    "--cpus",
    "0",
    "--duration",
    "200ms",
    "--traced",
    "300ms",
    "--rounds",
    "2",
    "--warmup",
    "0ns",
    "--no-page",
    "--json",
];

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn nanos(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a duration"))
}

#[test]
fn needs_tracing_the_causes_of_every_explained_sample_add_up_to_its_latency() {
    let tactus = Tactus::new();
    let lines = json_lines(&tactus.succeed(&MEASURE));
    let turns: Vec<&Value> = lines.iter().filter(|line| line["event"] == "turn-finished").collect();
    assert_eq!(turns.len(), 2);
    for turn in &turns {
        let traced = &turn["measurement"]["traced"];
        if traced.is_null() {
            skip(Need::Perf, &turn["measurement"]["shortfalls"]);
            let error = tactus.fail(3, &["explain"]);
            assert!(error.contains("contains no recorded events"), "{error}");
            return;
        }
        assert_eq!(nanos(&traced["window"]), 300_000_000);
        assert!(nanos(&traced["recording"]["events"]) > 0);
        let accounting = &traced["tasks"][0]["accounting"];
        assert!((1..=300).contains(&nanos(&accounting["intended"])), "{accounting}");
    }
    let threshold = ["--threshold", "1ns", "--worst", "5"];
    let arguments = [&["explain", "--json"], &threshold[..]].concat();
    let cell = &json_lines(&tactus.succeed(&arguments))[0];
    assert_eq!(cell["tracing_cost"]["pairs"], 2);
    let explanation = &cell["explanation"];
    let observed: u64 = turns
        .iter()
        .map(|turn| nanos(&turn["measurement"]["traced"]["tasks"][0]["accounting"]["observed"]))
        .sum();
    assert_eq!(nanos(&explanation["samples"]), observed, "the samples of both rounds");
    let worst = explanation["worst"].as_array().unwrap();
    assert_eq!(worst.len(), 5);
    let mut divided = 0;
    for sample in worst {
        let latency = nanos(&sample["sample"]["came"]) - nanos(&sample["sample"]["due"]);
        let parts = sample["parts"].as_array().unwrap();
        if !parts.is_empty() {
            let sum: u64 = parts.iter().map(|part| nanos(&part["time"])).sum();
            assert_eq!(sum, latency, "{sample}");
            divided += 1;
        }
    }
    assert!(divided > 0, "no sample was divided among causes: {explanation}");
    let pareto = &explanation["pareto"];
    let rows: u64 = pareto["rows"].as_array().unwrap().iter().map(|row| nanos(&row["time"])).sum();
    assert_eq!(rows, nanos(&pareto["time"]));

    let shown = tactus.succeed(&["show", "last"]);
    assert!(shown.contains("\nLate wakeups with "), "{shown}");
    let text = tactus.succeed(&["explain", "last", "--threshold", "1ns", "--cell", "1"]);
    assert!(text.contains("Main cause of latency over 1ns") || text.contains("worst"), "{text}");
    // The recording of a turn has the same format as any other.
    let recording = tactus.folder().join("turn.tactusrec").to_str().unwrap().to_owned();
    let turn = ["export", "last#1", "--round", "2", "--as"];
    tactus.succeed(&[&turn[..], &["recording", "-o", &recording]].concat());
    let lines = tactus.succeed(&[&turn[..], &["json-lines"]].concat());
    assert!(tactus.succeed(&["export", &recording]) == lines);
    let (of_turn, kept) = (lines.lines().count() as u64, &turns[1]["measurement"]["traced"]);
    assert!(of_turn > nanos(&kept["recording"]["events"]), "{of_turn} lines, {kept}");

    let error = tactus.fail(2, &["explain", "--cell", "nothing"]);
    assert!(error.contains("`nothing` does not name exactly one cell"), "{error}");
}

#[test]
fn the_error_for_an_untraced_cell_says_how_to_trace() {
    let tactus = Tactus::new();
    let mut measure = MEASURE;
    measure[8] = "0s";
    tactus.succeed(&measure);
    let error = tactus.fail(3, &["explain"]);
    assert!(error.contains("--traced"), "{error}");
}

/// A recorded session in which a spinner of higher priority held a probe off.
const RECORDING: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/data/blame/higher-priority-spinner.tactusrec"
);

#[test]
fn the_waits_of_a_recording_have_causes() {
    let tactus = Tactus::new();
    let lines =
        json_lines(&tactus.succeed(&["explain", RECORDING, "--threshold", "1ms", "--json"]));
    assert!(!lines.is_empty());
    for line in &lines {
        let explanation = &line["explanation"];
        let rows = explanation["pareto"]["rows"].as_array().unwrap();
        let sum: u64 = rows.iter().map(|row| nanos(&row["time"])).sum();
        assert_eq!(sum, nanos(&explanation["pareto"]["time"]));
    }
    let name = lines[0]["name"].as_str().unwrap();
    let text = tactus.succeed(&["explain", RECORDING, "--threshold", "1ms", "--thread", name]);
    assert!(text.contains("The longest waits"), "{text}");
}

#[test]
fn a_truncated_recording_is_explained_with_a_warning() {
    let tactus = Tactus::new();
    let whole = std::fs::read(RECORDING).unwrap();
    let path = tactus.folder().join("truncated.tactusrec");
    let warning = |length: usize, command: &str| {
        std::fs::write(&path, &whole[..length]).unwrap();
        let output = tactus.run(&[command, &path.display().to_string()]);
        assert!(output.status.success(), "{output:?}");
        crate::support::text(&output.stderr)
    };
    for command in ["explain", "quanta", "export"] {
        let text = warning(whole.len() - 10, command);
        assert!(text.contains("warning: the recording is truncated: its last "), "{text}");
        assert!(text.contains("are missing"), "{text}");
    }
}

#[test]
fn an_unknown_thread_of_a_recording_is_an_error() {
    let tactus = Tactus::new();
    let error = tactus.fail(2, &["explain", RECORDING, "--thread", "no such thread"]);
    assert!(error.contains("no thread `no such thread`"), "{error}");
    let error = tactus.fail(2, &["explain", RECORDING, "--cell", "1"]);
    assert!(error.contains("is a recording, not a run"), "{error}");
}
