//! Results of other tools in every command that shows them.

use serde_json::Value;

use crate::support::{Tactus, text};

fn fixture(name: &str) -> String {
    format!("{}/../../tests/data/import/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_result_of_cyclictest_is_shown_as_a_run() {
    let tactus = Tactus::new();
    let file = fixture("cyclictest.json");
    let run = tactus.succeed(&["import", &file]).trim().to_owned();
    assert_eq!(run, "cyclictest-20261121-145725");
    let error = tactus.fail(2, &["import", &file]);
    assert!(error.contains("already in the store"), "{error}");
    let error = tactus.fail(2, &["import", &file, "/none", &fixture("oslat.json")]);
    for part in ["already in the store", "cannot import /none", "2 of 3 files not imported"] {
        assert!(error.contains(part), "`{part}` is missing in:\n{error}");
    }
    assert!(tactus.succeed(&["list"]).contains("oslat"), "the file after the refused ones");

    assert!(tactus.succeed(&["list"]).contains("cyclictest 2.40"));
    let shown = tactus.succeed(&["show", &run]).replace('\u{202f}', " ");
    for part in [
        "Measured by cyclictest 2.40: 99 % of the wakeups were at most 86 µs late; ",
        "measured by cyclictest 2.40, not by tactus",
        "49 latencies were longer than 100 µs",
        "cyclictest -q -m -p 80",
        "unknown",
        "imported by",
        "6.18.44-fc-v669",
    ] {
        assert!(shown.contains(part), "`{part}` is missing in:\n{shown}");
    }
    assert!(!shown.contains("Reading the clock took") && !shown.contains("26.0"), "{shown}");

    let page = tactus.folder().join("page.html");
    tactus.succeed(&["report", &run, "-o", page.to_str().unwrap()]);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("Measured by cyclictest 2.40") && !page.contains("tactus measure FILE"));

    let shown = tactus.succeed(&["show", &run, "--json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["cells"][0]["precision"]["unit"], 1000);
    assert_eq!(shown["cells"][0]["quantiles"][0]["by_schedule"], Value::Null);

    let export = tactus.folder().join("run.json");
    tactus.succeed(&["export", &run, "-o", export.to_str().unwrap()]);
    let other = Tactus::new();
    assert_eq!(other.succeed(&["import", export.to_str().unwrap()]).trim(), run);

    let gated = tactus.run(&["gate", &run, "--missed", "0", "--json"]);
    let gated: Value = serde_json::from_slice(&gated.stdout).unwrap();
    assert_eq!(gated["judgements"][0]["outcome"], "unsupported", "{gated}");
    tactus.fail(1, &["gate", &run, "--max", "1ms"]);
    tactus.succeed(&["gate", &file, "--max", "10ms"]);
}

#[test]
fn a_file_without_a_result_is_refused_with_the_place() {
    let tactus = Tactus::new();
    let damaged = tactus.folder().join("damaged.txt");
    std::fs::write(&damaged, "# Histogram\n000001 000002\n000002 x\n").unwrap();
    let error = tactus.fail(2, &["import", damaged.to_str().unwrap()]);
    assert!(error.contains("line 3: `x` is not an integer"), "{error}");
    let error = tactus.fail(2, &["import", "--format", "cyclictest-jsn", &fixture("oslat.json")]);
    assert!(error.contains("did you mean `cyclictest-json`?"), "{error}");
    let error = tactus
        .fail(2, &["import", "--as-rounds", &fixture("oslat.json"), &fixture("timerlat.txt")]);
    assert!(
        error.contains("timerlat.txt cannot be a round of the same run as oslat.json"),
        "{error}"
    );
    let error = tactus.fail(2, &["import", "--unit", "0ns", &fixture("values.hlog")]);
    assert!(error.contains("the unit is zero"), "{error}");
}

#[test]
fn several_files_of_a_tool_become_rounds_of_one_run() {
    let tactus = Tactus::new();
    let files = [1, 2, 3].map(|round| fixture(&format!("cyclictest-round-{round}.json")));
    let imported =
        tactus.succeed(&["import", "--json", "--as-rounds", &files[0], &files[1], &files[2]]);
    let imported: Value = serde_json::from_str(&imported).unwrap();
    assert_eq!(imported["origin"]["files"].as_array().unwrap().len(), 3);
    assert_eq!(tactus.succeed(&["list", "--json"]).lines().count(), 1);
    tactus.succeed(&["import", &files[0]]);
    let newest = tactus.run(&["list", "--json", "--newest", "1"]);
    assert_eq!(text(&newest.stdout).lines().count(), 1);
    assert!(text(&newest.stderr).contains("1 older run not listed"));
    assert_eq!(tactus.succeed(&["list", "--json", "--all"]).lines().count(), 2);
}
