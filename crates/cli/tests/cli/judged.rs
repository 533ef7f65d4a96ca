//! Comparing and gating from the outside: output and exit codes.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use crate::support::{Tactus, text};
use serde_json::Value;

/// Measures a short run of two cells, and returns its name.
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
    let output = tactus.succeed(&["compare", &a, &b]);
    for part in [&a, &b, "B / A", "(other), 2 rounds", "(batch), 2 rounds", "Hochberg"] {
        assert!(output.contains(part), "{part} is missing in:\n{output}");
    }
    let output = tactus.succeed(&["compare", &a, &b, "--json"]);
    let comparison: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(comparison["pairs"].as_array().unwrap().len(), 2);
    let median = &comparison["pairs"][0]["quantiles"][0];
    let figure = |name: &str| median["difference"][name].as_f64().unwrap();
    assert!(figure("ratio_low") <= figure("ratio") && figure("ratio") <= figure("ratio_high"));
    assert!(median["verdict"].is_string() && median["adjusted_chance"].is_number());

    let output = tactus.succeed(&["compare", &format!("{a}#other"), &format!("{a}#2")]);
    assert!(output.contains("(other)") && output.contains("(batch)"), "{output}");
    let error = tactus.fail(2, &["compare", &format!("{a}#3"), &a]);
    assert!(error.contains("1 (other), 2 (batch)"), "{error}");
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
fn runs_that_cannot_be_compared_are_refused_with_a_hint() {
    let tactus = Tactus::new();
    let (a, b) = (measured(&tactus, "1", &[]), measured(&tactus, "1", &["--interval", "2ms"]));
    let error = tactus.fail(2, &["compare", &a, &b]);
    assert!(
        error.contains("interval is `1ms` in A and `2ms` in B") && error.contains("--force"),
        "{error}"
    );
    let output = tactus.succeed(&["compare", &a, &b, "--force"]);
    assert!(output.contains("not compared") && output.contains("--rounds 3"), "{output}");
}

#[test]
fn a_gate_sets_the_exit_code_and_writes_its_findings() {
    let tactus = Tactus::new();
    let run = measured(&tactus, "2", &[]);
    let baseline = tactus.folder().join("baseline.json");
    let (junit, baseline) = (tactus.folder().join("gate.xml"), baseline.to_str().unwrap());
    tactus.succeed(&["export", &run, "-o", baseline, "--without-samples"]);

    let met = ["--max", "1h", "--quantile", "50=1h", "--missed", "100000"];
    // Two rounds on a busy machine may not decide.
    let baseline = ["--no-worse-than", baseline, "--allow-unsupported"];
    let gate = [&["gate", &run, "--junit", junit.to_str().unwrap()], &baseline[..]].concat();
    let output = tactus.succeed(&[&gate[..], &met].concat());
    assert_eq!(output.lines().filter(|line| line.starts_with("ok  ")).count(), 4, "{output}");
    let written = fs::read_to_string(&junit).unwrap();
    assert!(written.contains("tests=\"4\" failures=\"0\""), "{written}");

    let error = tactus.fail(1, &["gate", &run, "--max", "1ns"]);
    assert!(error.contains("not met: 1 of 1 demands"), "{error}");
    tactus.fail(1, &["gate", &run, "--quantile", "99.9999=1h"]);
    let output = tactus.run(&["gate", &run, "--quantile", "99.9999=1h", "--json"]);
    let report: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert_eq!((output.status.code(), &report["passes"]), (Some(1), &Value::Bool(false)));
    assert_eq!(report["judgements"][0]["outcome"], "unsupported");
    tactus.succeed(&["gate", &run, "--quantile", "99.9999=1h", "--allow-unsupported"]);

    assert!(tactus.fail(2, &["gate", &run]).contains("no demand is given"));
    tactus.fail(2, &["gate", &run, "--quantile", "99.9"]);
    tactus.fail(2, &["gate", &run, "--max", "1h", "--junit", "/no/such/folder/gate.xml"]);
}

#[test]
fn a_purpose_is_shown_with_a_run_and_a_gate_demands_it() {
    let tactus = Tactus::new();
    let run = measured(&tactus, "2", &["--for", "2ms:10s"]);
    let page = tactus.folder().join("page.html");
    let page = page.to_str().unwrap();
    tactus.succeed(&["report", &run, "--for", "2ms:10s", "--for", "midi", "-o", page]);
    let page = fs::read_to_string(page).unwrap();
    let shown = tactus.succeed(&["show", &run, "--for", "2ms:10s", "--for", "midi"]);
    for text in [&page, &shown] {
        for part in ["For 2ms:10s", "For midi", "the user set this limit", "None of 1"] {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
        // The run was measured at the period of the first purpose, not of the second. The text
        // may contain line breaks.
        let words = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words.matches("Measured with `--interval 2ms`").count(), 1, "{text}");
    }
    let gate = ["gate", &run, "--for", "2ms:10s", "--at-most"];
    tactus.succeed(&[&gate[..], &["10/s"]].concat());
    let error = tactus.fail(1, &[&gate[..], &["1/h"]].concat());
    assert!(error.contains("not met: 1 of 1 demands"), "{error}");
    let output = tactus.run(&[&gate[..], &["1/h", "--json"]].concat());
    let report: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert_eq!(report["judgements"][0]["outcome"], "unsupported");
    assert_eq!(report["judgements"][0]["demand"], "at most 1/h missed deadlines for 2ms:10s");
    tactus.succeed(&[&gate[..], &["1/h", "--allow-unsupported"]].concat());
    // Every wakeup is later than 1 ns.
    let output = tactus.run(&["gate", &run, "--for", "2ms:1ns", "--at-most", "1/h", "--json"]);
    let report: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert_eq!(report["judgements"][0]["outcome"], "not-met");
    tactus.fail(2, &["gate", &run, "--for", "2ms:10s"]);
}

/// Exports a run, and changes its clock source to jiffies.
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
fn every_run_has_a_verdict() {
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

    let error = tactus.fail(1, &["gate", &ticks, "--max", "1h", "--valid"]);
    assert!(error.contains("not met: 1 of 2 demands"), "{error}");
    let output = tactus.run(&["gate", &ticks, "--max", "1h"]);
    let note = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{note}");
    assert!(
        note.contains("is invalid and would fail with `--valid`: clock source: jiffies"),
        "{note}"
    );

    let output = tactus.succeed(&["compare", &ticks, &run]);
    assert!(output.starts_with("A is invalid"), "{output}");
    let output = parsed(&tactus.succeed(&["compare", &run, &ticks, "--json"]));
    assert_eq!(output["b"]["validity"], "invalid");

    tactus.succeed(&["import", &ticks]);
    let listed = tactus.succeed(&["list", "--json"]);
    let of_ticks = listed.lines().map(parsed).find(|run| run["id"] == "ticks-20261121-113355");
    assert_eq!(of_ticks.expect("the imported run")["validity"], "invalid");
    assert!(tactus.succeed(&["list"]).contains("invalid"));
    let output = tactus.succeed(&["show", "ticks"]);
    assert!(output.contains("Invalid for 1 reason.\n  × clock source: jiffies."), "{output}");
}

#[test]
fn the_script_in_the_documentation_works() {
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
    // A busy machine may exceed the limits; the files must exist in either case.
    for _ in ["a baseline is made", "it is used"] {
        let output = run();
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 1)), "{code:?}: {}", text(&output.stderr));
        for file in ["tactus-baseline.json", "tactus-gate.xml", "tactus-report.html"] {
            assert!(tactus.folder().join(file).is_file(), "{file} was not written");
        }
    }
}
