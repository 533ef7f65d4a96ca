//! Comparing and gating, from outside: what is told, and the exit codes.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use crate::support::{Tactus, text};
use serde_json::Value;

/// Measures a run of two cells so short that a test can afford it, and names it.
fn measured(tactus: &Tactus, rounds: &str, more: &[&str]) -> String {
    let short = ["--duration", "1100ms", "--warmup", "10ms", "--no-page", "--seed", "1", "--json"];
    let arguments = [&["measure", "--cpus", "0", "--rounds", rounds][..], &short, more].concat();
    let lines = tactus.succeed(&arguments);
    let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    last["run"].as_str().unwrap().to_owned()
}

#[test]
fn two_runs_are_compared_by_their_rounds() {
    let tactus = Tactus::new();
    let two_cells = ["--policy", "other", "--policy", "batch"];
    let (a, b) = (measured(&tactus, "2", &two_cells), measured(&tactus, "2", &two_cells));
    let told = tactus.succeed(&["compare", &a, &b]);
    for part in [&a, &b, "B / A", "(other), 2 rounds", "(batch), 2 rounds", "Hochberg"] {
        assert!(told.contains(part), "{part} is missing in:\n{told}");
    }
    let told = tactus.succeed(&["compare", &a, &b, "--json"]);
    let comparison: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(comparison["pairs"].as_array().unwrap().len(), 2);
    let median = &comparison["pairs"][0]["quantiles"][0];
    let figure = |name: &str| median["difference"][name].as_f64().unwrap();
    assert!(figure("ratio_low") <= figure("ratio") && figure("ratio") <= figure("ratio_high"));
    assert!(median["verdict"].is_string() && median["adjusted_chance"].is_number());

    let told = tactus.succeed(&["compare", &format!("{a}#other"), &format!("{a}#2")]);
    assert!(told.contains("(other)") && told.contains("(batch)"), "{told}");
    let told = tactus.fail(2, &["compare", &format!("{a}#3"), &a]);
    assert!(told.contains("1 (other), 2 (batch)"), "{told}");
    let page = tactus.folder().join("compared.html");
    tactus.succeed(&["compare", &a, &b, "--page", page.to_str().unwrap()]);
    let page = fs::read_to_string(page).unwrap();
    assert_eq!(page.matches("<svg").count(), 4, "two graphs for each of two pairs");
    assert!(page.contains("±5") && page.contains(&a) && page.contains(&b));
    // A run is not worse than itself.
    tactus.succeed(&["compare", &a, &a, "--fail-on-worse"]);
    tactus.fail(2, &["compare", &a, &b, "--margin", "none"]);
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_way_out() {
    let tactus = Tactus::new();
    let (a, b) = (measured(&tactus, "1", &[]), measured(&tactus, "1", &["--interval", "2ms"]));
    let told = tactus.fail(2, &["compare", &a, &b]);
    assert!(
        told.contains("interval is 1ms in A and 2ms in B") && told.contains("--force"),
        "{told}"
    );
    let told = tactus.succeed(&["compare", &a, &b, "--force"]);
    assert!(told.contains("not compared") && told.contains("--rounds 3"), "{told}");
}

#[test]
fn a_gate_opens_by_its_exit_code_and_writes_what_it_found() {
    let tactus = Tactus::new();
    let run = measured(&tactus, "2", &[]);
    let baseline = tactus.folder().join("baseline.json");
    let (junit, baseline) = (tactus.folder().join("gate.xml"), baseline.to_str().unwrap());
    tactus.succeed(&["export", &run, "-o", baseline, "--without-samples"]);

    let met = ["--max", "1h", "--quantile", "50=1h", "--missed", "100000"];
    let gate = ["gate", &run, "--no-worse-than", baseline, "--junit", junit.to_str().unwrap()];
    let told = tactus.succeed(&[&gate[..], &met].concat());
    assert_eq!(told.lines().filter(|line| line.starts_with("ok  ")).count(), 4, "{told}");
    let written = fs::read_to_string(&junit).unwrap();
    assert!(written.contains("tests=\"4\" failures=\"0\""), "{written}");

    let told = tactus.fail(1, &["gate", &run, "--max", "1ns"]);
    assert!(told.contains("not met: 1 of 1 demands"), "{told}");
    tactus.fail(1, &["gate", &run, "--quantile", "99.9999=1h"]);
    let output = tactus.run(&["gate", &run, "--quantile", "99.9999=1h", "--json"]);
    let told: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert_eq!((output.status.code(), &told["passes"]), (Some(1), &Value::Bool(false)));
    assert_eq!(told["judgements"][0]["outcome"], "unsupported");
    tactus.succeed(&["gate", &run, "--quantile", "99.9999=1h", "--allow-unsupported"]);

    assert!(tactus.fail(2, &["gate", &run]).contains("nothing is demanded"));
    tactus.fail(2, &["gate", &run, "--quantile", "99.9"]);
    tactus.fail(3, &["gate", &run, "--max", "1h", "--junit", "/no/such/folder/gate.xml"]);
}

#[test]
fn a_purpose_is_told_wherever_a_run_is_and_a_gate_demands_it() {
    let tactus = Tactus::new();
    let run = measured(&tactus, "2", &["--for", "2ms:10s"]);
    let page = tactus.folder().join("page.html");
    let page = page.to_str().unwrap();
    tactus.succeed(&["report", &run, "--for", "2ms:10s", "--for", "midi", "-o", page]);
    let page = fs::read_to_string(page).unwrap();
    let shown = tactus.succeed(&["show", &run, "--for", "2ms:10s", "--for", "midi"]);
    for text in [&page, &shown] {
        for part in ["For 2ms:10s", "For midi", "more is late, as its user says", "None of 1"] {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
        // The run was measured at the period of the first, not at that of the second.
        // Lines may be broken within it.
        let words = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words.matches("Measured at 2ms").count(), 1, "{text}");
    }
    let gate = ["gate", &run, "--for", "2ms:10s", "--at-most"];
    tactus.succeed(&[&gate[..], &["10/s"]].concat());
    let told = tactus.fail(1, &[&gate[..], &["1/h"]].concat());
    assert!(told.contains("not met: 1 of 1 demands"), "{told}");
    let output = tactus.run(&[&gate[..], &["1/h", "--json"]].concat());
    let told: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert_eq!(told["judgements"][0]["outcome"], "unsupported");
    assert_eq!(told["judgements"][0]["demand"], "2ms:10s: at most 1/h deadlines missed");
    tactus.succeed(&[&gate[..], &["1/h", "--allow-unsupported"]].concat());
    // Every wakeup is later than nothing at all.
    let told = tactus.run(&["gate", &run, "--for", "2ms:1ns", "--at-most", "1/h", "--json"]);
    let told: Value = serde_json::from_str(&text(&told.stdout)).unwrap();
    assert_eq!(told["judgements"][0]["outcome"], "not-met");
    tactus.fail(2, &["gate", &run, "--for", "2ms:10s"]);
}

/// Writes the export of a run as if its latencies had been read from a clock of ticks.
fn with_a_clock_of_ticks(tactus: &Tactus, run: &str) -> String {
    let path = tactus.folder().join("ticks.json");
    let path = path.to_str().unwrap().to_owned();
    tactus.succeed(&["export", run, "-o", &path, "--without-samples"]);
    let mut exported: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    exported["header"]["id"] = "ticks-20261121-113355".into();
    for facts in ["facts_before", "facts_after"] {
        exported["header"][facts]["cpu"]["clock_source"] = "jiffies".into();
    }
    fs::write(&path, exported.to_string()).unwrap();
    path
}

#[test]
fn a_verdict_goes_with_every_run() {
    let tactus = Tactus::new();
    let run = measured(&tactus, "2", &[]);
    let parsed = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
    let shown = parsed(&tactus.succeed(&["show", &run, "--json"]));
    for finding in shown["verdict"]["findings"].as_array().unwrap() {
        for part in ["check", "state", "fact", "why"] {
            assert!(finding[part].is_string(), "{part}: {finding}");
        }
    }
    let ticks = with_a_clock_of_ticks(&tactus, &run);

    let told = tactus.fail(1, &["gate", &ticks, "--max", "1h", "--valid"]);
    assert!(told.contains("not met: 1 of 2 demands"), "{told}");
    let output = tactus.run(&["gate", &ticks, "--max", "1h"]);
    let note = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{note}");
    assert!(
        note.contains("is invalid, which --valid would refuse: clock source: jiffies"),
        "{note}"
    );

    let told = tactus.succeed(&["compare", &ticks, &run]);
    assert!(told.starts_with("A is invalid"), "{told}");
    let told = parsed(&tactus.succeed(&["compare", &run, &ticks, "--json"]));
    assert_eq!(told["b"]["validity"], "invalid");

    tactus.succeed(&["import", &ticks]);
    let listed = tactus.succeed(&["list", "--json"]);
    let of_ticks = listed.lines().map(parsed).find(|run| run["id"] == "ticks-20261121-113355");
    assert_eq!(of_ticks.expect("what was imported")["validity"], "invalid");
    assert!(tactus.succeed(&["list"]).contains("invalid"));
    let told = tactus.succeed(&["show", "ticks"]);
    assert!(told.contains("Invalid for 1 reason.\n  × clock source: jiffies."), "{told}");
}

#[test]
fn the_script_of_the_documents_works_as_written() {
    let tactus = Tactus::new();
    let documents = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ci.md");
    let documents = fs::read_to_string(documents).unwrap();
    let script = documents.split("```sh\n").find(|text| text.starts_with("#!")).unwrap();
    let script = script.split("```").next().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_tactus"));
    let path = format!("{}:{}", program.parent().unwrap().display(), env::var("PATH").unwrap());
    let run = || {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).current_dir(tactus.folder()).env("PATH", &path);
        shell.env("TACTUS_STORE", tactus.store()).env("DURATION", "300ms").output().unwrap()
    };
    // A busy machine may miss the limits; what is written must be there either way.
    for _ in ["a baseline is made", "it is used"] {
        let output = run();
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 1)), "{code:?}: {}", text(&output.stderr));
        for file in ["tactus-baseline.json", "tactus-gate.xml", "tactus-report.html"] {
            assert!(tactus.folder().join(file).is_file(), "{file} was not written");
        }
    }
}
