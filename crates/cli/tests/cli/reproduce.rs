//! Reproducing papers from the outside: lists, plans, refusals and results.

use crate::support::{Tactus, text};
use serde_json::Value;
use tactus_testing::{Need, skip};

#[test]
fn papers_are_listed_and_unknown_papers_are_refused_with_a_hint() {
    let tactus = Tactus::new();
    assert!(tactus.succeed(&["reproduce"]).contains("latency-method"));
    let lines = tactus.succeed(&["reproduce", "--json"]);
    for line in lines.lines() {
        let paper: Value = serde_json::from_str(line).unwrap();
        assert!(paper["name"].is_string() && paper["parts"].is_array(), "{line}");
    }
    let error = tactus.fail(2, &["reproduce", "latency-methods"]);
    assert!(error.contains("did you mean `latency-method`?"), "{error}");
    let error = tactus.fail(2, &["reproduce", "latency-method", "--part", "latncy"]);
    assert!(error.contains("did you mean `latency`?"), "{error}");
}

#[test]
fn the_quick_form_is_shorter_than_the_full_form() {
    let tactus = Tactus::new();
    let plan = |more: &[&str]| -> Value {
        let arguments = [&["reproduce", "latency-method", "--plan-only", "--json"][..], more];
        serde_json::from_str(&tactus.succeed(&arguments.concat())).unwrap()
    };
    let (quick, full) = (plan(&[]), plan(&["--full"]));
    assert_eq!(quick["cells"].as_array().unwrap().len(), full["cells"].as_array().unwrap().len());
    assert_eq!(full["cells"][0]["probe"]["interval"], "990ms");
    assert_eq!(quick["cells"][0]["probe"]["interval"], "98.7ms");
}

#[test]
fn an_existing_run_is_compared_with_the_paper() {
    let tactus = Tactus::new();
    let measure = [
        "measure",
        "papers/latency-method",
        "--load",
        "idle",
        "--interval",
        "9900us",
        "--rounds",
        "1",
        "--warmup",
        "10ms",
        "--duration",
        "100ms",
        "--traced",
        "300ms",
        "--no-page",
    ];
    tactus.succeed(&measure);
    let page = tactus.folder().join("paper.html");
    let from = ["reproduce", "latency-method", "--from", "last", "-o", page.to_str().unwrap()];
    let text = tactus.succeed(&from);
    for part in ["Newton Faller", "Claims: ", "not testable", "other settings than the quick"] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    assert!(std::fs::read_to_string(&page).unwrap().contains("</html>"));

    let json = ["reproduce", "latency-method", "--from", "last", "--json", "--no-page"];
    let line = tactus.succeed(&json);
    let result: Value = serde_json::from_str(line.lines().last().unwrap()).unwrap();
    assert_eq!(result["event"], "reproduction");
    let claims = result["parts"][0]["claims"].as_array().unwrap();
    assert!(claims.iter().all(|claim| claim["outcome"].is_string()), "{line}");
    assert_eq!(result["parts"][0]["tables"].as_array().unwrap().len(), 11);

    tactus.succeed(&[
        "measure",
        "--duration",
        "100ms",
        "--warmup",
        "1ms",
        "--traced",
        "0s",
        "--no-page",
    ]);
    let error = tactus.fail(2, &from);
    assert!(error.contains("papers/latency-method"), "{error}");
}

#[test]
fn kinds_of_dirt_are_samples_of_one_cell() {
    let tactus = Tactus::new();
    tactus.succeed(&[
        "measure",
        "papers/address-spaces",
        "--interrupted",
        "process",
        "--sleep",
        "nanosleep",
        "--load",
        "idle",
        "--rounds",
        "1",
        "--warmup",
        "10ms",
        "--duration",
        "1500ms",
        "--traced",
        "0s",
        "--no-page",
    ]);
    let from = ["reproduce", "address-spaces", "--from", "last", "--json", "--no-page"];
    let line = tactus.succeed(&from);
    let result: Value = serde_json::from_str(line.lines().last().unwrap()).unwrap();
    let views = result["parts"][0]["views"].as_array().unwrap();
    let rows = views.iter().flat_map(|view| view["rows"].as_array().unwrap());
    let of_process: Vec<&str> = rows
        .filter(|row| row["measure"] == "wakeup-latency")
        .filter_map(|row| row["cell"].as_str())
        .collect();
    assert!(of_process.contains(&"other process, clean"), "{line}");
    assert!(of_process.iter().all(|cell| cell.starts_with("other process")), "{of_process:?}");
}

#[test]
fn kernels_are_an_axis_of_the_experiment_of_a_paper() {
    let tactus = Tactus::new();
    let arguments = "reproduce latency-method --plan-only --json --kernel debian:preempt=none \
                     --kernel debian-rt --exact --mips 125";
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let plan: Value = serde_json::from_str(&tactus.succeed(&arguments)).unwrap();
    assert_eq!(plan["name"], "papers/latency-method-guests");
    let cells = plan["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2 * 7, "two kernels, seven loads");
    assert!(cells.iter().all(|cell| cell["target"]["time"] == "exact:125"), "{plan}");

    let refused = |more: &str| {
        let arguments = format!("reproduce latency-method --plan-only {more}");
        tactus.fail(2, &arguments.split_whitespace().collect::<Vec<_>>())
    };
    assert!(refused("--exact").contains("name a kernel"));
    assert!(refused("--kernel debain").contains("did you mean `debian`?"));
    assert!(refused("--kernel debian --kernel host").contains("not both"));
    assert!(refused("--kernel debian --preemption full").contains("--preemption"));
    assert!(refused("--kernel debian --exact --mips 300").contains("1000, 500, 250, 125"));
}

#[test]
fn needs_root_bursts_through_a_relay_are_compared_with_the_paper() {
    let tactus = Tactus::new();
    let settings = "papers/reserves --net-path relay --policy other --relay-policy other --load idle \
                    --net-rivals 1 --rounds 1 --duration 400ms --warmup 10ms --no-page";
    let measure: Vec<&str> = ["measure"].into_iter().chain(settings.split_whitespace()).collect();
    let measured = tactus.run(&measure);
    let error = text(&measured.stderr);
    if error.contains("no network namespaces") {
        return skip(Need::Root, error);
    }
    assert!(measured.status.success(), "{error}");
    let page = tactus.folder().join("paper.html");
    let reproduced =
        tactus.succeed(&["reproduce", "reserves", "--from", "last", "-o", page.to_str().unwrap()]);
    for part in ["Mercer", "relay (d)", "10 samples, and 50 are needed"] {
        assert!(reproduced.contains(part), "{part} is missing in:\n{reproduced}");
    }
    assert!(std::fs::read_to_string(page).unwrap().contains("CPU use over time: relay (d)"));
    tactus.require_nothing_left();
}

#[test]
fn costs_of_operations_are_compared_with_those_of_a_paper() {
    let tactus = Tactus::new();
    let short = ["--rounds", "1", "--duration", "20ms", "--no-page"];
    tactus.succeed(&[&["measure", "papers/memory-transfer"][..], &short].concat());
    let from = ["reproduce", "mach-testbed", "--from", "last", "--json", "--no-page"];
    let line = tactus.succeed(&from);
    let result: Value = serde_json::from_str(line.lines().last().unwrap()).unwrap();
    let part = &result["parts"][1];
    assert_eq!(part["name"], "memory-transfer");
    let rows = part["tables"][0]["rows"].as_array().unwrap();
    for row in rows {
        let figure = &row["figures"][0];
        assert_eq!(figure["statistic"], "bandwidth");
        assert!(figure["here"].as_f64().is_some_and(|rate| rate > 0.0), "{row}");
    }
}

#[test]
fn a_prediction_without_real_frames_leaves_claims_about_them_open() {
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2) {
        return skip(Need::Machine, "one CPU");
    }
    let tactus = Tactus::new();
    tactus.succeed(&["model", "video-1993", "--rounds", "1"]);
    let from = ["reproduce", "mach-testbed", "--from", "last", "--json", "--no-page"];
    let line = tactus.succeed(&from);
    let result: Value = serde_json::from_str(line.lines().last().unwrap()).unwrap();
    let claims = result["parts"][4]["claims"].as_array().unwrap();
    let lacks_frames = |claim: &&Value| {
        let reason = claim["reason"].as_str().unwrap_or_default();
        reason.starts_with("measured: the stored run has no frames")
    };
    // One round may leave the others undecided, but not for want of frames.
    let open = claims.iter().filter(lacks_frames).count();
    assert!((1..claims.len()).contains(&open), "{open} of {}: {line}", claims.len());
}

#[test]
fn the_player_of_a_paper_is_played_beside_its_prediction() {
    let tactus = Tactus::new();
    let short = ["--rounds", "1", "--duration", "2s", "--no-page"];
    let measured = tactus.run(&[&["measure", "papers/playback"][..], &short].concat());
    let error = text(&measured.stderr);
    if error.contains("is not installed") {
        return skip(Need::Peers, error);
    }
    assert!(measured.status.success(), "{error}");
    let from = ["reproduce", "mach-testbed", "--from", "last", "--json", "--no-page"];
    let line = tactus.succeed(&from);
    let result: Value = serde_json::from_str(line.lines().last().unwrap()).unwrap();
    let parts = result["parts"].as_array().unwrap();
    let part = parts.iter().find(|part| part["name"] == "playback").unwrap();
    let tables = part["tables"].as_array().unwrap();
    let here = |table: &str, cell: &str| {
        let table = tables.iter().find(|found| found["name"] == table).unwrap();
        let rows = table["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["cell"] == cell).unwrap();
        row["figures"][0]["here"].as_f64().unwrap_or_default()
    };
    for cell in ["sockets", "shared memory"] {
        assert!(here("Section 11, a frame", cell) > 0.0, "CPU time of {cell} in {part}");
        assert!(here("Section 11, frames", cell) > 0.0, "frames of {cell} in {part}");
        let drawing = here("Section 11, drawing", cell);
        assert!(drawing > 0.0, "{part}");
        for cell in [cell.to_owned(), format!("predicted, {cell}")] {
            assert!(here("Section 11, time of a frame", &cell) > 0.0, "{cell} in {part}");
        }
    }
    tactus.require_nothing_left();
}
