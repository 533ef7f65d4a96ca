//! Plans of tasks: output, exit codes, JSON and the page.

use std::fs;

use serde_json::Value;

use crate::support::{Tactus, text};

fn plan(name: &str) -> String {
    format!("{}/../../tests/data/admission/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_exit_code_says_whether_a_plan_is_admitted() {
    let tactus = Tactus::new();
    for (name, code) in [("control", 0), ("robot", 0), ("media", 1)] {
        let output = tactus.run(&["admit", &plan(name)]);
        assert_eq!(output.status.code(), Some(code), "{name}: {}", text(&output.stdout));
    }
    assert!(
        tactus.fail(1, &["admit", &plan("media")]).contains("not met: the plan is not admitted")
    );
}

#[test]
fn programs_read_the_answer_as_json() {
    let tactus = Tactus::new();
    let output = tactus.run(&["admit", &plan("media"), "--json", "--cost-for", "20ms"]);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["admitted"], false);
    assert_eq!(answer["findings"][0]["test"], "demand");
    assert_eq!(answer["findings"][0]["outcome"], "fails");
    assert_eq!(answer["changes"][0]["cost"]["value"], 1_000_000);
    assert_eq!(answer["tasks"][2]["name"], "network");
    assert_eq!(answer["room"][0]["fit"], Value::Null);
    assert!(answer["window"]["rows"].as_array().is_some_and(|rows| rows.len() == 3));
}

#[test]
fn the_page_and_the_example_of_the_documents_show_the_same_plan() {
    let tactus = Tactus::new();
    let page = tactus.folder().join("plan.html");
    let output = tactus.run(&["admit", &plan("media"), "--page", page.to_str().unwrap()]);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("deadline missed") && page.contains("network"), "{page}");
    let document = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/admit.md"));
    assert!(
        document.unwrap().contains(&text(&output.stdout)),
        "docs/admit.md shows another output"
    );
}

#[test]
fn a_hostile_plan_is_answered_within_the_limits() {
    let tactus = Tactus::new();
    let file = tactus.folder().join("hostile.toml");
    // Periods without a common divisor, and nearly the whole CPU used.
    let tasks: String = (0..256)
        .map(|number| {
            let period = 3_000_000_000_u64 + number * 7_919 + 1;
            format!(
                "[[task]]\nname = \"{number}\"\ncost = \"{}ns\"\nperiod = \"{period}ns\"\n",
                period / 256
            )
        })
        .collect();
    for head in ["policy = \"fifo\"", "capacity = \"100%\"", "policy = \"fifo\"\ncpus = 1024"] {
        fs::write(&file, format!("{head}\n{tasks}")).unwrap();
        let code = tactus.run(&["admit", file.to_str().unwrap(), "--json"]).status.code();
        assert!(matches!(code, Some(0 | 1)), "{head}: {code:?}");
    }
    fs::write(&file, "#".repeat((1 << 20) + 1)).unwrap();
    let error = tactus.fail(2, &["admit", file.to_str().unwrap()]);
    assert!(error.contains("larger than 1024 KiB"), "{error}");
}
