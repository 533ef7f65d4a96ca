//! `tactus need` measures what planted periodic threads use, and refuses what it cannot measure.

use serde_json::Value;
use tactus_admission::Plan;
use tactus_model::time::Nanos;

use crate::flight::permitted;
use crate::support::Tactus;

const PLANTED: &str = "crates/explain/tests/support/periodic.c";

fn lines(text: &str) -> Vec<Value> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn needs_tracing_each_periodic_thread_has_its_reserve_and_the_plan_is_read_by_admit() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let Some(program) = tactus.compile(PLANTED) else { return };
    let plan = tactus.folder().join("plan.toml").display().to_string();
    let threads = ["2", "0", "steady:10000:1000:1000:1", "modes:20000:500:2000:5"];
    let page = tactus.folder().join("need.html").display().to_string();
    let command = ["need", "--json", "--plan", &plan, "--page", &page, "--", &program];
    let need = || tactus.succeed(&[&command[..], &threads[..]].concat());
    // A busy machine may leave a thread too few jobs in order.
    let has_all =
        |output: &String| output.matches(r#""reserve":{"Ok":"#).count() == threads.len() - 2;
    let output = (0..2).map(|_| need()).find(has_all).unwrap_or_else(need);
    let lines = lines(&output);
    for (name, period, cost) in [("steady", 10, 1000), ("modes", 20, 2000)] {
        let named = |line: &&Value| line["kind"] == "thread" && line["name"] == name;
        let thread = lines.iter().find(named).unwrap_or_else(|| panic!("{name}: {output}"));
        let demand = &thread["demand"];
        assert_eq!(demand["period"], Nanos::from_millis(period).as_nanos(), "{demand}");
        // Jobs use at least what their own clock counted, and the reserve covers it.
        assert!(demand["limit"]["value"].as_u64().unwrap() >= cost * 1000, "{demand}");
        assert!(demand["reserve"]["Ok"].is_string(), "{demand}");
    }
    let summary = lines.iter().find(|line| line["kind"] == "summary").unwrap();
    let command = summary["command"].as_str().unwrap();
    let capacities = command.strip_prefix("tactus reserve --threads ").expect(command);
    let (capacities, _) = capacities.split_once(" -- ").expect(command);
    let mut names: Vec<&str> =
        capacities.split(',').map(|one| one.split('=').next().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["modes", "steady"]);
    assert!(capacities.contains("ms/20ms") && capacities.contains("ms/10ms"), "{command}");
    let page = std::fs::read_to_string(&page).unwrap();
    assert_eq!(page.matches("<svg").count(), 2);
    assert!(page.contains(&format!("tactus reserve --threads {capacities} --")), "{page}");
    let text = std::fs::read_to_string(&plan).unwrap();
    assert_eq!(Plan::parse(&text).unwrap().tasks.len(), 2, "{text}");
    assert!(tactus.succeed(&["admit", &plan]).contains("admitted"));
}

#[test]
fn needs_tracing_a_program_without_a_period_gets_no_reserve_and_a_fix() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let output = tactus.succeed(&["need", "--", "sh", "-c", "sleep 0.01; sleep 0.02"]);
    assert!(output.contains("No periodic thread was found."), "{output}");
    assert!(output.contains("--period"), "{output}");
    let plan = tactus.folder().join("plan.toml").display().to_string();
    let error = tactus.fail(1, &["need", "--plan", &plan, "--", "true"]);
    assert!(error.contains("plan.toml is not written"), "{error}");
    let Some(program) = tactus.compile(PLANTED) else { return };
    let brief = ["need", "--", &program, "1", "0", "brief:90000:100:100:1"];
    let output = tactus.succeed(&brief);
    assert!(output.contains("a reserve needs at least 20"), "{output}");
}

#[test]
fn needs_tracing_a_period_that_does_not_fit_names_the_median() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let Some(program) = tactus.compile(PLANTED) else { return };
    let threads = ["1", "0", "steady:10000:500:500:1"];
    let with = |options: &[&str]| {
        let all = [&["need", "--period", "13ms"], options, &["--", &program], &threads];
        let output = tactus.succeed(&all.concat()).replace('\u{202f}', " ");
        output.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let output = with(&[]);
    assert!(output.contains("does not have the period 13.0 ms"), "{output}");
    assert!(output.contains("Their median is 10.0 ms"), "{output}");
    let output = with(&["--thread", "steady"]);
    assert!(output.contains("warning: the median of the spacings is 10.0 ms"), "{output}");
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let tactus = Tactus::new();
    let error = tactus.fail(2, &["need"]);
    assert!(error.contains("no program is named") && error.contains("--pid"), "{error}");
    let error = tactus.fail(2, &["need", "--pid", "4194305"]);
    assert!(error.contains("there is no process 4194305"), "{error}");
    tactus.fail(2, &["need", "--name", ""]);
    tactus.fail(2, &["need", "--thread", "", "--", "true"]);
    let error = tactus.fail(2, &["need", "--cover", "100%", "--", "true"]);
    assert!(error.contains("99.9999"), "{error}");
}
