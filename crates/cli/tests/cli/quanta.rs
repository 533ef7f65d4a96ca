//! CPU accounts of a recording.

use serde_json::Value;

use crate::support::Tactus;

const RECORDING: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/blame/kernel-section.tactusrec");

fn nanos(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a duration"))
}

#[test]
fn the_time_of_every_program_adds_up_to_the_recorded_time() {
    let tactus = Tactus::new();
    let text = tactus.succeed(&["quanta", RECORDING, "--json", "--tick", "100,20000"]);
    let line: Value = serde_json::from_str(&text).unwrap();
    let accounts = &line["accounts"];
    let sum = |rows: &Value, field: &str| -> u64 {
        rows.as_array().unwrap().iter().map(|row| nanos(&row[field])).sum()
    };
    let cpus = &accounts["cpus"];
    let unknown = sum(cpus, "unknown");
    let used = sum(&accounts["programs"], "used");
    let length = nanos(&accounts["ended"]) - nanos(&accounts["started"]);
    let all = length * cpus.as_array().unwrap().len() as u64;
    assert_eq!(used + nanos(&accounts["idle"]["used"]) + unknown, all);
    let clocks: Vec<&Value> =
        accounts["programs"][0]["billing"].as_array().unwrap().iter().collect();
    let rates: Vec<&Value> = clocks.iter().map(|billing| &billing["clock"]["rate"]).collect();
    assert_eq!(rates[rates.len() - 2..], [&Value::from(100), &Value::from(20_000)]);
}

#[test]
fn a_page_is_written_in_addition_to_the_tables() {
    let tactus = Tactus::new();
    let page = tactus.folder().join("quanta.html");
    let page = page.to_str().unwrap();
    let text = tactus.succeed(&["quanta", RECORDING, "--by", "thread", "--page", page]);
    assert!(text.contains("Why quanta ended"), "{text}");
    assert!(std::fs::read_to_string(page).unwrap().contains("CPU time by program"));
}

#[test]
fn an_impossible_tick_rate_is_refused() {
    let tactus = Tactus::new();
    let error = tactus.fail(2, &["quanta", RECORDING, "--tick", "0"]);
    assert!(error.contains("from 1 to 100000"), "{error}");
}
