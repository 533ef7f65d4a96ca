//! The doctor from the outside.

use std::fs;

use crate::support::Tactus;
use serde_json::Value;

#[test]
fn the_doctor_examines_this_machine_without_measuring() {
    let tactus = Tactus::new();
    // This machine may be unfit.
    let output = tactus.run(&["doctor", "--json"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let findings: Vec<Value> = crate::support::text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(findings.iter().any(|finding| finding["check"] == "clock source"));
    for finding in &findings {
        assert!(finding["fact"].is_string() && finding["why"].is_string(), "{finding}");
    }
    assert!(!tactus.store().exists(), "examining a machine creates no store");
}

#[test]
fn a_finding_that_invalidates_sets_the_exit_code() {
    let tactus = Tactus::new();
    let place = tactus.folder().join("sys/devices/system/clocksource/clocksource0");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("current_clocksource"), "jiffies\n").unwrap();
    let root = tactus.folder().to_str().unwrap();
    let output = tactus.run(&["doctor", "--root", root]);
    assert_eq!(output.status.code(), Some(1));
    let findings = crate::support::text(&output.stdout);
    assert!(findings.contains("invalidates  clock source: jiffies"), "{findings}");
}
