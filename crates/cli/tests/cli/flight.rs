//! The flight recorder saves the seconds before a late thread, and explains them.

use serde_json::Value;
use tactus_testing::{Need, skip};

use crate::support::Tactus;

/// A command whose threads wait for a CPU many times, for microseconds.
const COMMAND: [&str; 4] =
    ["--", "sh", "-c", "i=0; while [ $i -lt 200 ]; do sleep 0.02; i=$((i+1)); done"];

/// Whether recording is permitted; prints the reason if not.
#[track_caller]
pub fn permitted(tactus: &Tactus) -> bool {
    let probe = tactus.folder().join("permitted.tactusrec");
    let output = tactus.run(&["record", "--duration", "10ms", "-o", &probe.display().to_string()]);
    if !output.status.success() {
        skip(Need::Perf, String::from_utf8_lossy(&output.stderr));
    }
    output.status.success()
}

#[test]
fn needs_tracing_a_late_thread_is_caught_saved_and_explained() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let path = tactus.folder().join("late.tactusrec").display().to_string();
    let flight = ["record", "--flight", "2s", "--over", "1us", "--thread", "sleep"];
    let output = ["-o", &path, "--json"];
    let text = tactus.succeed(&[&flight[..], &output[..], &COMMAND[..]].concat());
    let caught: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(caught["name"], "sleep");
    assert!(caught["waited"].as_u64().unwrap() > 1_000, "{caught}");
    let explanation = &caught["explanation"][0]["explanation"];
    let worst = &explanation["worst"][0];
    let parts = worst["parts"].as_array().unwrap();
    let sum: u64 = parts.iter().map(|part| part["time"].as_u64().unwrap()).sum();
    let sample = &worst["sample"];
    assert_eq!(sum, sample["came"].as_u64().unwrap() - sample["due"].as_u64().unwrap());
    let again = tactus.succeed(&["explain", &path, "--thread", "sleep", "--threshold", "1us"]);
    assert!(again.contains("The longest waits"), "{again}");
}

#[test]
fn needs_tracing_without_a_limit_the_last_seconds_are_kept_at_the_end() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let path = tactus.folder().join("last.tactusrec").display().to_string();
    tactus.succeed(&["record", "--flight", "2s", "-o", &path, "--", "sleep", "0.2"]);
    let waits = tactus.succeed(&["explain", &path, "--threshold", "1us", "--json"]);
    assert!(waits.lines().count() > 0);
}

#[test]
fn too_short_a_flight_is_refused() {
    let tactus = Tactus::new();
    let error = tactus.fail(2, &["record", "--flight", "10ms"]);
    assert!(error.contains("keep the last 2s"), "{error}");
}
