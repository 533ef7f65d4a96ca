//! The commands from the outside.

use std::fs;
use std::process::Output;

use crate::support::{self, Tactus};
use serde_json::Value;

use tactus_testing::{Need, skip};

/// A short cell.
const SHORT: [&str; 10] = [
    "measure",
    "--duration",
    "200ms",
    "--traced",
    "50ms",
    "--warmup",
    "50ms",
    "--no-page",
    "--seed",
    "1",
];

fn short<'a>(more: &[&'a str]) -> Vec<&'a str> {
    SHORT.into_iter().chain(more.iter().copied()).collect()
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn errors_of_wrong_input_name_the_place_and_the_nearest_choice() {
    let tactus = Tactus::new();
    let cases: [(&[&str], &str); 6] = [
        (&["measure", "--load", "compil:2"], "did you mean `compile`?"),
        (&["measure", "--policy", "fifo:100"], "write a number from 1 to 99"),
        (&["measure", "--intervall", "1ms"], "--interval"),
        (&["measure", "quik"], "hint: did you mean `quick`?"),
        (&["measure", "--sleep", "futex", "--clock", "tai"], "it supports: monotonic, realtime"),
        (&["show", "nothing"], "tactus measure"),
    ];
    for (arguments, expected) in cases {
        let error = tactus.fail(2, arguments);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
    let plan = tactus.folder().join("plan.toml");
    fs::write(&plan, "name = \"x\"\n[settings]\nlod = \"idle\"\n").unwrap();
    let error = tactus.fail(2, &["measure", plan.to_str().unwrap()]);
    assert!(error.contains("plan.toml") && error.contains("line 3"), "{error}");
    assert!(error.contains("did you mean `load`?"), "{error}");
}

#[test]
fn a_plan_is_printed_without_measuring() {
    let tactus = Tactus::new();
    let shown = tactus.succeed(&["measure", "quick", "--plan-only"]);
    for part in ["compute:cpus", "fifo:90", "20 turns"] {
        assert!(shown.contains(part), "{part} is missing in:\n{shown}");
    }
    let plan = tactus.succeed(&["measure", "quick", "--plan-only", "--json"]);
    assert_eq!(json_lines(&plan)[0]["cells"].as_array().unwrap().len(), 10);
    assert!(!tactus.store().exists(), "printing a plan creates no store");
}

#[test]
fn a_run_is_measured_stored_shown_exported_and_imported() {
    let tactus = Tactus::new();
    let lines =
        json_lines(&tactus.succeed(&short(&[
            "--policy", "other", "--policy", "fifo:50", "--rounds", "2", "--json",
        ])));
    let of = |event: &str| -> Vec<&Value> {
        lines.iter().filter(|line| line["event"] == event).collect()
    };
    assert_eq!(of("turn-failed"), Vec::<&Value>::new());
    assert_eq!(of("turn-finished").len(), 4);
    assert_eq!(of("result").len(), 2);
    let mut intended = 0;
    for turn in of("turn-finished") {
        for task in turn["measurement"]["tasks"].as_array().unwrap() {
            let count = |name: &str| task["accounting"][name].as_u64().unwrap();
            assert_eq!(count("intended"), count("observed") + count("missed") + count("dropped"));
            intended += count("intended");
        }
    }
    // On a busy machine, some tasks are ready for their first sleep only after the window.
    assert!(intended > 0);
    let run = of("run-ended")[0]["run"].as_str().unwrap().to_owned();
    assert_eq!(of("run-ended")[0]["status"], "complete");

    assert!(tactus.succeed(&["list"]).contains(&run));
    let shown = tactus.succeed(&["show"]);
    assert!(shown.contains(&run) && shown.contains("fifo:50"), "{shown}");
    let typed = shown.lines().find(|line| line.starts_with("command"));
    assert!(typed.is_some_and(|line| line.contains("--policy other --policy fifo:50")), "{shown}");
    let overview = &json_lines(&tactus.succeed(&["show", "last", "--json"]))[0];
    assert_eq!(overview["cells"].as_array().unwrap().len(), 2);

    let page = tactus.folder().join("page.html");
    tactus.succeed(&["report", &run, "-o", page.to_str().unwrap()]);
    assert!(fs::read_to_string(page).unwrap().contains(&run));

    let file = tactus.folder().join("run.json");
    tactus.succeed(&["export", "-o", file.to_str().unwrap()]);
    let exported = tactus.succeed(&["export", &run]);
    tactus.fail(2, &["export", &format!("{run}#1"), "--round", "9"]);
    tactus.fail(2, &["export", &run, "--as", "perfetto"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), exported);
    let log = tactus.folder().join("run.hlog");
    tactus.succeed(&["export", &run, "--as", "hdr", "-o", log.to_str().unwrap()]);
    let imported = tactus.succeed(&["import", log.to_str().unwrap()]);
    let table = tactus.succeed(&["show", &run, imported.trim(), "--csv"]);
    assert!(table.starts_with("run,#,cell,") && table.contains(&run), "{table}");
    let table = tactus.succeed(&["show", &run, "--markdown"]);
    assert!(table.starts_with("| run | # | cell |"), "{table}");
    tactus.fail(2, &["delete", &run]);
    tactus.succeed(&["delete", &run, "--yes"]);
    assert!(!tactus.succeed(&["list"]).contains(&run));
    assert_eq!(tactus.succeed(&["import", file.to_str().unwrap()]).trim(), run);
    assert_eq!(tactus.succeed(&["export", &run]), exported, "the import is complete");
}

#[test]
fn a_complete_run_is_not_continued() {
    let tactus = Tactus::new();
    tactus.succeed(&short(&["--cpus", "0"]));
    let error = tactus.fail(2, &["measure", "--continue", "last"]);
    assert!(error.contains("complete"), "{error}");
}

#[test]
fn a_load_that_cannot_run_fails_its_cell_only() {
    let tactus = Tactus::new();
    let go = tactus.folder().join("go");
    let load = format!("cmd:\"test -e {} && sleep 60\"", go.display());
    let output = tactus.run(&short(&["--load", "idle", "--load", &load, "--json"]));
    assert_eq!(output.status.code(), Some(5), "some turns failed");
    let count = |output: &Output, event: &str| {
        let lines = json_lines(&support::text(&output.stdout));
        lines.iter().filter(|line| line["event"] == event).count()
    };
    assert_eq!((count(&output, "turn-finished"), count(&output, "turn-failed")), (1, 1));
    let error = support::text(&output.stderr);
    assert!(error.contains("incomplete: failed turns of measure-"), "{error}");
    assert!(error.contains(": 1 of 2; the others are kept"), "{error}");
    assert!(error.contains("hint: measure the failed turns again: tactus measure --continue"));

    fs::write(go, "").unwrap();
    let output = tactus.run(&["measure", "--continue", "last", "--no-page", "--json"]);
    assert!(output.status.success(), "{}", support::text(&output.stderr));
    assert_eq!((count(&output, "turn-finished"), count(&output, "turn-failed")), (1, 0));
    let run = json_lines(&tactus.succeed(&["list", "--json"])).remove(0);
    assert_eq!(run["status"], "complete");
    assert_eq!((&run["turns_done"], &run["failures"]), (&Value::from(2), &Value::from(0)));
}

#[test]
fn a_measurement_without_any_result_has_an_exit_code_of_its_own() {
    let tactus = Tactus::new();
    let error = tactus.fail(5, &short(&["--load", "cmd:\"exit 1\""]));
    assert!(error.contains(": 1 of 1; nothing was measured"), "{error}");
    let overview = json_lines(&tactus.succeed(&["list", "--json"])).remove(0);
    assert_eq!(overview["status"], "partial");
}

#[test]
fn results_go_to_standard_output_and_everything_else_to_standard_error() {
    let tactus = Tactus::new();
    let output = tactus.run(&short(&["--cpus", "0"]));
    let (out, err) = (support::text(&output.stdout), support::text(&output.stderr));
    assert!(out.contains("idle"), "{out}");
    assert!(err.contains("seed 1"), "{err}");
    assert!(!out.contains('\u{1b}') && !err.contains('\u{1b}'), "no colour without a terminal");
}

#[test]
fn completions_name_the_settings() {
    let tactus = Tactus::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(tactus.succeed(&["completions", shell]).contains("cpu-dma-latency"), "{shell}");
    }
}

#[test]
fn needs_tracing_every_event_of_a_recorded_command_is_accounted_for() {
    let tactus = Tactus::new();
    let path = |name: &str| tactus.folder().join(name).to_str().unwrap().to_owned();
    let (recording, lines, perfetto) = (path("a.tactusrec"), path("a.ndjson"), path("a.pftrace"));
    let output = tactus.run(&[
        "record",
        "-o",
        &recording,
        "--ndjson",
        &lines,
        "--perfetto",
        &perfetto,
        "--json",
        "--",
        "sleep",
        "0.2",
    ]);
    let error = support::text(&output.stderr);
    if output.status.code() == Some(3) {
        return skip(Need::Perf, error);
    }
    let account = &json_lines(&support::text(&output.stdout))[0];
    let events = account["cost"]["events"].as_u64().unwrap();
    assert!(events > 0, "{error}");
    // perf counts by event, tracefs by CPU.
    let all = [&account["accounts"], &account["cpus"]];
    let counted = all.iter().filter_map(|accounts| accounts.as_array()).flatten();
    let counted: Vec<_> = counted.filter(|account| account["counted"].is_u64()).collect();
    assert!(!counted.is_empty(), "{account}");
    for account in counted {
        let count = |name: &str| account[name].as_u64().unwrap();
        assert!(count("counted") >= count("read") + count("lost"), "{account}");
    }
    let lines = fs::read_to_string(lines).unwrap();
    assert!(lines.lines().any(|line| line.contains("sched_switch")), "no sched_switch event");
    assert!(tactus.succeed(&["export", &recording]) == lines, "the lines differ later");
    let later = path("later");
    tactus.succeed(&["export", &recording, "--as", "perfetto", "-o", &later]);
    let perfetto = fs::read(perfetto).unwrap();
    assert!(!perfetto.is_empty() && fs::read(&later).unwrap() == perfetto);
    tactus.fail(2, &["export", &recording, "--cell", "1"]);
    assert!(
        tactus
            .fail(127, &["record", "-o", &recording, "--", "/no/such/program"])
            .contains("/no/such")
    );
}

#[test]
fn only_terminals_get_colours_unless_they_are_chosen() {
    let tactus = Tactus::new();
    let error = |arguments: &[&str], no_color: &str| {
        let output = tactus.command(arguments).env("NO_COLOR", no_color).output().unwrap();
        support::text(&output.stderr)
    };
    assert!(!error(&["show", "x"], "").contains('\u{1b}'));
    let coloured = "\u{1b}[31m\u{1b}[1merror:\u{1b}[0m ";
    assert!(error(&["show", "x", "--color", "always"], "1").starts_with(coloured));
    // What is not ours is escaped before ours is coloured.
    let hostile = error(&["measure", "\u{1b}[2J", "--color=always"], "");
    assert!(hostile.contains("\\u{1b}[2J") && !hostile.contains("\u{1b}[2J"), "{hostile}");
    let listed = tactus.succeed(&["list", "experiments", "--json", "--color", "always"]);
    assert!(!listed.contains('\u{1b}'));
}
