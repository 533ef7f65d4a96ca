//! What operations cost, as text and as a page.

mod clocks;
mod drawings;
mod growth;
mod interrupts;
mod section;
mod sentences;
mod table;

use std::fmt::Write;

use askama::Template;
use tactus_model::cell::Cell;
use tactus_model::cost::{CostProbe, Family};
use tactus_model::label::operation_label;
use tactus_model::run::Run;
use tactus_stats::costs::{CostRow, RunCosts};

use self::sentences::{findings, notes};
use crate::page::ReportError;
use crate::page::frame::{Frame, written};
use crate::table::{TableOptions, grid};
use crate::wrap::wrapped;

pub(crate) use section::{Section, sections};

/// Writes the costs of a run: tables for each family of operations, and what follows from them.
pub fn costs_text(run: &Run, costs: &RunCosts, options: &TableOptions) -> String {
    let width = options.width;
    let mut text = String::new();
    for sentence in findings(run, costs) {
        text.push_str(&wrapped(&sentence, "", width));
    }
    text.push_str(&tables(run, costs, width));
    text.push('\n');
    for note in notes(run, costs) {
        text.push_str(&wrapped(&note, "", width));
    }
    text
}

/// The tables of all families, each below its heading.
pub(crate) fn tables(run: &Run, costs: &RunCosts, width: usize) -> String {
    let mut text = String::new();
    for section in sections(run, costs) {
        let _ = writeln!(text, "\n{}", section.heading);
        for captioned in section.tables {
            if !captioned.caption.is_empty() {
                let _ = write!(text, "\n{}:\n", captioned.caption);
            }
            text.push('\n');
            text.push_str(&grid(captioned.table.columns, width));
            for remark in captioned.remarks {
                text.push_str(&wrapped(&remark, "", width));
            }
        }
    }
    text
}

/// Writes the costs of a run as a page that also draws how they grow with size.
///
/// # Errors
/// The page could not be put together.
pub fn costs_page(run: &Run, costs: &RunCosts) -> Result<String, ReportError> {
    let page = Page {
        title: format!("What operations cost on {}", machine(run)),
        findings: findings(run, costs),
        sections: sections(run, costs),
        notes: notes(run, costs),
        frame: Frame::new("", &[]),
    };
    Ok(written(&page)?)
}

#[derive(Template)]
#[template(path = "costs.html")]
struct Page {
    title: String,
    findings: Vec<String>,
    sections: Vec<Section>,
    notes: Vec<String>,
    frame: Frame,
}

const fn heading(family: Family) -> &'static str {
    match family {
        Family::Trap => "Entering the kernel",
        Family::Switch => "Round trips to another thread or process",
        Family::Memory => "Moving and getting memory",
        Family::Ipc => "Handing a message over to another process",
        Family::File => "Reading files",
        Family::Display => "Drawing images on a display",
        Family::Clock => "Clocks, and sleeping by them",
    }
}

fn machine(run: &Run) -> String {
    let facts = &run.header.facts_before;
    let unknown = || "unknown".to_owned();
    format!(
        "{}, Linux {}",
        facts.cpu.model.clone().unwrap_or_else(unknown),
        facts.kernel.release.clone().unwrap_or_else(unknown)
    )
}

/// The probe of a row's cell.
fn probe<'r>(run: &'r Run, row: &CostRow) -> Option<(&'r Cell, &'r CostProbe)> {
    let cell = run.header.plan.cells.get(row.cell)?;
    Some((cell, cell.probe.cost()?))
}

/// The operation of a row with what distinguishes it from the others.
pub(crate) fn name(run: &Run, row: &CostRow) -> String {
    operation_label(&run.header.plan.cells, row.cell)
}

#[cfg(test)]
mod tests {
    use tactus_model::experiment::Turn;
    use tactus_model::result::{Batch, Failure, Histogram, Shortfall};
    use tactus_model::time::Nanos;
    use tactus_stats::LatencyHistogram;

    use super::*;
    use crate::fixture;

    const QUICK: &str = include_str!("../../../experiments/costs-quick.toml");

    /// A run whose cells take 1, 2, 3, … µs a sample, on a machine that is slower in some batches.
    fn run() -> Run {
        let mut run = fixture::run(QUICK, 3);
        for measurement in &mut run.measurements {
            let base = 1_000 * (measurement.turn.cell as u64 + 1);
            for task in &mut measurement.tasks {
                let batch = |number: u64| Batch {
                    at: Nanos::from_millis(number),
                    count: 50,
                    min: Nanos::from_nanos(base),
                    median: Nanos::from_nanos(base + number * base / 200),
                    calibration: Nanos::from_nanos(if number < 8 { 12_800 } else { 16_000 }),
                    elapsed: Nanos::from_millis(1),
                    ran: Nanos::from_micros(if number == 19 { 400 } else { 1_000 }),
                    waited: Some(Nanos::ZERO),
                    preempted: 0,
                    steal: Some(Nanos::ZERO),
                    ..Batch::default()
                };
                task.batches = (0..20).map(batch).collect();
                let samples: LatencyHistogram = task
                    .batches
                    .iter()
                    .flat_map(|batch| std::iter::repeat_n(batch.median, 50))
                    .collect();
                task.blocks = vec![samples.to_record(), Histogram::default()];
            }
        }
        run
    }

    #[test]
    fn a_table_for_each_family_follows_what_was_found() {
        let run = run();
        let text = costs_text(&run, &RunCosts::of(&run), &TableOptions::default());
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_page_draws_sizes_and_names_what_failed() {
        let mut run = run();
        let turn = Turn { round: 0, cell: 5 };
        let (reason, hint) = ("no <CPU>".to_owned(), Some("add one".to_owned()));
        run.failures.push(Failure { turn, reason, hint, by_host: false });
        let page = costs_page(&run, &RunCosts::of(&run)).unwrap();
        assert_eq!(page.matches("<svg").count(), 1, "copies of three sizes");
        assert!(page.contains("What a change adds") && page.contains("first-touch"));
        assert!(!page.contains("<details>"), "few rows are not folded");
        assert!(page.contains("Not measured: no &#60;CPU&#62;. fix: add one"), "{page}");
        assert!(page.contains("warning: two speeds: "));
    }

    #[test]
    fn interrupts_that_were_refused_are_a_warning() {
        let mut run = run();
        run.measurements[0].shortfalls.push(Shortfall {
            asked: "extra-interrupts 20000".to_owned(),
            granted: "extra-interrupts 0".to_owned(),
            reason: "it needs CAP_PERFMON".to_owned(),
            fix: Some("sudo".to_owned()),
        });
        let found = findings(&run, &RunCosts::of(&run)).join("\n");
        assert!(found.contains("warning: clock interrupts: those requested"), "{found}");
        assert!(found.contains("not added: it needs CAP_PERFMON. "), "{found}");
    }

    #[test]
    fn a_run_without_operations_has_no_tables() {
        let run = fixture::quick();
        let costs = RunCosts::of(&run);
        assert!(costs.rows.is_empty() && costs.system_call_ns.is_none());
        costs_page(&run, &costs).unwrap();
    }
}
