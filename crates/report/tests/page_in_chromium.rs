//! Opens the page in a real browser: no script error, the graph drawn, the right numbers.

#[path = "../fixtures/runs.rs"]
mod runs;

use std::path::Path;

use tactus_model::run::Run;
use tactus_report::format;
use tactus_stats::CellSummary;
use tactus_testing::{Browser, Need, require};

/// Returns an installed browser, or skips the test.
#[track_caller]
fn browser() -> Option<Browser> {
    require(Need::Browser, Browser::find())
}

/// The document after its scripts have run, in a window of `width`.
fn dump(browser: Browser, page: &Path, width: u32) -> String {
    browser.show(&format!("file://{}", page.display()), width).document
}

/// The part of `text` between `start` and the next `end`.
fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(start)?;
    rest.split_once(end).map(|(part, _)| part)
}

/// A text as the browser writes it when it dumps the document.
fn as_dumped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\u{a0}', "&nbsp;")
}

fn check(dom: &str, run: &Run) {
    let root = between(dom, "<html", ">").expect("the dump is a document");
    assert!(!root.contains("data-error"), "a script failed: {root}");
    assert!(root.contains("data-ready=\"yes\""), "the script did not finish: {root}");
    let graph = between(dom, "id=\"graph\"", "id=\"switches\"").expect("the page has a graph");
    assert!(graph.contains("<canvas"), "uPlot drew nothing");
    let switches = between(dom, "id=\"switches\"", "</section>").expect("the graph has switches");
    assert!(as_dumped(switches).contains("99.9"), "the values are those at 99.9 %");
    for (cell, label) in run.header.plan.labels().iter().enumerate() {
        let measurements: Vec<_> = run.of_cell(cell).collect();
        let summary = CellSummary::pool(&measurements);
        let p999 = summary.quantile(0.999).and_then(|estimate| estimate.per_wakeup).unwrap();
        // Computed and written by the page's script:
        let shown = format!(
            "<output data-curve=\"{}\">{}</output>",
            curve_of(run, cell),
            format::latency(p999)
        );
        assert!(switches.contains(&shown), "{label}: {shown} is not in {switches}");
        // Written by us:
        let max = format::latency(summary.max.unwrap());
        let row = between(dom, &format!("{}</th>", as_dumped(label)), "</tr>")
            .expect("a row for each cell");
        assert!(row.contains(&format!(">{}</td>", format::latency(p999))), "{label}: {row}");
        assert!(row.contains(&format!(">{max}</td>")), "{label}: {row}");
    }
}

/// The number of a cell's curve: panel by panel, in the order of the panel's cells.
fn curve_of(run: &Run, cell: usize) -> usize {
    let all: Vec<usize> = (0..run.header.plan.cells.len()).collect();
    let panels = tactus_report::layout::panels(&run.header.plan.cells, &all);
    let curves = panels.iter().flat_map(|panel| &panel.curves);
    curves.map(|curve| curve.cell).position(|other| other == cell).unwrap()
}

#[test]
fn needs_chromium_the_page_runs_without_error_and_shows_the_numbers_of_the_run() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let run = runs::quick();
    let page = folder.path().join("quick.html");
    std::fs::write(&page, tactus_report::page(std::slice::from_ref(&run)).unwrap()).unwrap();
    for width in [500, 1280] {
        check(&dump(browser, &page, width), &run);
    }
}

#[test]
fn needs_chromium_a_hostile_label_runs_nothing() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let hostile = "</script><script>document.documentElement.dataset.broken=1</script><!-- \
                   <img src=x onerror=document.documentElement.dataset.broken=1>";
    let text = format!(
        "name = \"hostile\"\nrounds = 1\n[settings]\nduration = \"11s\"\npolicy = \"fifo:90\"\n\
         load = [\"idle\", 'cmd:\"{hostile}\"']"
    );
    let run = runs::run(&text, 3);
    let page = folder.path().join("hostile.html");
    std::fs::write(&page, tactus_report::page(std::slice::from_ref(&run)).unwrap()).unwrap();
    let dom = dump(browser, &page, 800);
    let root = between(&dom, "<html", ">").unwrap();
    assert!(!root.contains("data-broken"), "{root}");
    check(&dom, &run);
}

#[test]
fn needs_chromium_a_script_that_is_not_ours_does_not_run() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = tactus_report::page(&[runs::quick()]).unwrap();
    assert!(!page.contains("unsafe-inline"), "the policy allows any script");
    let injected = "<script>document.documentElement.dataset.broken=1</script></body>";
    let page = page.replace("</body>", injected);
    let file = folder.path().join("injected.html");
    std::fs::write(&file, page).unwrap();
    let dom = dump(browser, &file, 800);
    let root = between(&dom, "<html", ">").unwrap();
    assert!(!root.contains("data-broken"), "{root}");
    assert!(root.contains("data-error=\"refused: inline\""), "{root}");
    assert!(root.contains("data-ready=\"yes\""), "our own scripts run: {root}");
}
