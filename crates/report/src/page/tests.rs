//! The content of a page, without a browser.

use std::sync::OnceLock;

use tactus_model::gate_rule::GateRule;
use tactus_model::run::Run;

use super::*;
use crate::fixture;
use crate::svg;

/// A label that tries to break out of HTML, SVG, JSON and comments.
const HOSTILE: &str = "name = \"hostile\"\nrounds = 1\n[settings]\nduration = \"1s\"\n\
    load = [\"idle\", 'cmd:\"</script><script>document.title=1</script><!-- & \u{2028} <img src=x onerror=alert(1)>\"']";

fn page_of(run: &Run) -> String {
    page(std::slice::from_ref(run)).unwrap()
}

/// The page of the run that most tests look at, made once.
fn quick() -> &'static str {
    static PAGE: OnceLock<String> = OnceLock::new();
    PAGE.get_or_init(|| page_of(&fixture::quick()))
}

#[test]
fn a_page_needs_a_run() {
    assert!(matches!(page(&[]), Err(ReportError::NoRuns)));
}

#[test]
fn a_page_has_the_figures_of_the_tables() {
    let run = fixture::quick();
    let page = quick();
    for result in crate::summary::cell_results(&run) {
        for latency in [result.summary.min, result.per_wakeup(0.99), result.max()] {
            let shown = format!(">{}</td>", format::latency_or_nothing(latency));
            assert!(page.contains(&shown), "{}: {shown}", result.label);
        }
    }
    let sentence = crate::outcome(&run);
    assert!(page.contains(&svg::escape(&sentence)));
    assert!(page.contains("tactus export quick-20261121-113355"));
}

#[test]
fn a_page_loads_nothing() {
    let page = quick();
    assert!(page.contains("default-src &#39;none&#39;") || page.contains("default-src 'none'"));
    for loading in
        ["src=\"", "src='", "url(", "@import", "<link", "fetch(", "XMLHttpRequest", "import("]
    {
        assert!(!page.contains(loading), "{loading}");
    }
    // uPlot has its address in a comment; nothing else has an address.
    let addresses: Vec<&str> = page
        .match_indices("http")
        .map(|(place, _)| &page[place..place + 30])
        .filter(|text| text.starts_with("http://") || text.starts_with("https://"))
        .filter(|text| !text.starts_with("https://github.com/leeoniya/uP"))
        .filter(|text| !text.starts_with("http://www.w3.org/2000/svg"))
        .collect();
    assert!(addresses.is_empty(), "{addresses:?}");
}

#[test]
fn a_hostile_label_stays_a_label() {
    let run = fixture::run(HOSTILE, 3);
    let page = page_of(&run);
    let ordinary = page_of(&fixture::run(
        "name = \"tame\"\nrounds = 1\n[settings]\nduration = \"1s\"\nload = [\"idle\", \"file\"]",
        3,
    ));
    for opening in ["<script", "</script", "<!--", "<img"] {
        assert_eq!(page.matches(opening).count(), ordinary.matches(opening).count(), "{opening}");
    }
}

#[test]
fn a_run_without_results_has_a_page() {
    let mut run = fixture::quick();
    run.measurements.clear();
    let page = page_of(&run);
    assert!(page.contains("Nothing was measured"));
    assert!(!page.contains("NaN"));
}

#[test]
fn a_run_without_samples_has_a_page() {
    let mut run = fixture::quick();
    for measurement in &mut run.measurements {
        measurement.tasks.clear();
    }
    let page = page_of(&run);
    assert!(page.contains("Nothing was observed"));
    assert!(
        !page.contains("NaN") || !page.contains("inf"),
        "a drawing of nothing has finite places"
    );
}

#[test]
fn several_runs_share_a_page() {
    let page = page(&[
        fixture::quick(),
        fixture::run("name = \"second\"\n[settings]\nduration = \"1s\"", 3),
    ])
    .unwrap();
    assert!(page.contains("href=\"#run-2\""));
    assert!(page.contains("id=\"run-2\""));
    assert_eq!(page.matches("id=\"ask\"").count(), 1, "one graph for all");
}

#[test]
fn each_cell_has_its_number_before_its_name() {
    let page = quick();
    let row = "<td class=\"number\" data-head=\"#\">1</td><th scope=\"row\" class=\"names\">idle · other</th>";
    assert_eq!(page.replace('\n', "").matches(row).count(), 4, "cells, worst, accounting, loads");
}

/// The page of a run with explanations of planted causes.
fn explained() -> String {
    page_with(&[fixture::quick()], &[crate::explanation_fixture::cells()]).unwrap()
}

#[test]
fn explanations_are_on_the_page_of_their_run_only() {
    let heading = ">Why wakeups were late</h2>";
    assert!(!quick().contains(heading));
    let explained = explained();
    assert_eq!(explained.matches(heading).count(), 1);
    for cell in crate::explanation_fixture::cells() {
        assert!(explained.contains(&svg::escape(&cell.label)), "{}", cell.label);
        for part in cell.explanation.worst.iter().flat_map(|worst| &worst.parts) {
            let cause = svg::escape(&part.cause.to_string());
            assert!(explained.contains(&cause), "{cause}");
        }
    }
    let drawings = explained.matches("aria-label=\"Timeline: ").count();
    assert_eq!(drawings, 9, "one for each late sample");
}

#[test]
fn there_is_one_list_of_explanations_per_run() {
    let refused = page_with(&[fixture::quick()], &[]);
    assert!(matches!(refused, Err(ReportError::Explanations { explained: 0, runs: 1 })));
}

#[test]
fn a_hostile_name_of_a_thread_stays_a_name() {
    let mut cells = crate::explanation_fixture::cells();
    let hostile = "</title></svg><script>";
    for worst in cells.iter_mut().flat_map(|cell| &mut cell.explanation.worst) {
        for part in &mut worst.parts {
            part.cause = tactus_explain::Cause::AwaitedInterrupt { name: hostile.to_owned() };
        }
        let timeline = worst.timeline.iter_mut().flat_map(|timeline| &mut timeline.lanes);
        for bar in timeline.flat_map(|lane| &mut lane.bars) {
            bar.occupant =
                tactus_explain::timeline::Occupant::Interrupt { name: hostile.to_owned() };
        }
    }
    let page = page_with(&[fixture::quick()], &[cells]).unwrap();
    assert_eq!(page.matches("<script").count(), quick().matches("<script").count());
}

#[test]
fn drawings_have_finite_places_only() {
    let page = explained();
    for drawing in page.split("<svg").skip(1).filter_map(|rest| rest.split("</svg>").next()) {
        assert!(!drawing.contains("NaN") && !drawing.contains("inf\""), "{drawing}");
    }
}

#[test]
fn the_page_of_a_gate_begins_with_its_verdict() {
    let text = "name = \"gate\"\nrounds = 10\nguest-time = \"exact:125\"\n[settings]\n\
                policy = \"fifo:80\"\nkernel = [\"debian\", \"debian:preempt=none\"]";
    let alike = page_of(&fixture::run(text, 3));
    assert!(alike.contains("debian:preempt=none is no worse than debian"), "the decision");
    assert!(alike.contains("the same, in every seed") || alike.contains("no difference found"));
    let mut run = fixture::run(text, 3);
    for measurement in run.measurements.iter_mut().filter(|found| found.turn.cell == 1) {
        for block in measurement.tasks.iter_mut().flat_map(|task| &mut task.blocks) {
            block.buckets.iter_mut().for_each(|(length, _)| *length = length.saturating_mul(9));
        }
    }
    let worse = page_of(&run);
    assert!(worse.contains("Fail: debian:preempt=none is worse than debian in "), "the decision");
    assert!(worse.contains("</h1>\n<p class=\"outcome\"><strong>Fail: "), "first of all");
    assert!(worse.contains("GREATER, p"));
    let tails = ["longest wakeup", "Tails were not compared."];
    assert_eq!(tails.map(|words| worse.contains(words)), [true, false]);
    run.header.plan.gate = Some(GateRule { paths_only: true, ..GateRule::default() });
    let paths = page_of(&run);
    assert_eq!(tails.map(|words| paths.contains(words)), [false, true], "the run's rule");
    assert!(!page_of(&fixture::quick()).contains("no worse than"), "not a gate");
}
