//! One run in full, as text.

use std::fmt::Write;

use tactus_model::facts::FactRow;
use tactus_model::run::Run;

use super::grid::{Align, Column, grid, wrapped};
use super::{TableOptions, cells_table};
use crate::facts::changed_facts;
use crate::format;
use crate::summary::{CellResult, cell_results};
use crate::verdict::{shortfalls, verdict};

/// Writes all that is known of a run: what it carried out, what it found by both
/// rules of accounting, what its loads achieved, what was not granted, and the machine.
pub fn run_details(run: &Run) -> String {
    let options = TableOptions::default();
    let results = cell_results(run);
    let sections = [
        head(run),
        section("Verdict", &format!("{}\n", verdict(run))),
        section("Latency per wakeup", &cells_table(run, &options)),
        section(
            "Accounting, and latency by the intended schedule",
            &accounting(&results, &options),
        ),
        section("Worst wakeups", &worst(&results, &options)),
        section("What the loads achieved, and the machine meanwhile", &rates(&results, &options)),
        section("Not granted", &not_granted(run, &options)),
        section("Turns without a result", &failures(run, &options)),
        section("Cost of measuring", &cost(&results, &options)),
        section("The machine", &facts(run)),
    ];
    sections.concat()
}

/// A headed part; nothing where it has no content.
fn section(head: &str, content: &str) -> String {
    if content.is_empty() { String::new() } else { format!("\n{head}\n\n{content}") }
}

fn head(run: &Run) -> String {
    let header = &run.header;
    let plan = &header.plan;
    let pairs = [
        ("run", header.id.to_string()),
        ("began", format::date(header.created)),
        ("status", header.status.to_string()),
        ("experiment", plan.name.clone()),
        ("about", plan.about.clone()),
        (
            "plan",
            format!(
                "{}, {}, seed {}",
                format::counted(plan.cells.len() as u64, "cell"),
                format::counted(plan.rounds.into(), "round"),
                plan.seed
            ),
        ),
        ("made by", format!("tactus {}", header.version)),
        ("all of it", format!("tactus export {}", header.id)),
    ];
    lines(&pairs)
}

fn lines(pairs: &[(&str, String)]) -> String {
    let width = pairs.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:width$}  {}", format::printable(value));
    }
    text
}

fn accounting(results: &[CellResult<'_>], options: &TableOptions) -> String {
    if results.is_empty() {
        return String::new();
    }
    let texts = |of: &dyn Fn(&CellResult<'_>) -> String| results.iter().map(of).collect::<Vec<_>>();
    let columns = vec![
        Column::new("cell", Align::Left, 0, texts(&|result| result.label.clone())),
        Column::new(
            "intended",
            Align::Right,
            0,
            texts(&|result| format::count(result.accounting().intended)),
        ),
        Column::new(
            "observed",
            Align::Right,
            0,
            texts(&|result| format::count(result.accounting().observed)),
        ),
        Column::new(
            "missed",
            Align::Right,
            0,
            texts(&|result| format::count(result.accounting().missed)),
        ),
        Column::new(
            "dropped",
            Align::Right,
            1,
            texts(&|result| format::count(result.accounting().dropped)),
        ),
        Column::new(
            "early",
            Align::Right,
            2,
            texts(&|result| format::count(result.accounting().early)),
        ),
        Column::new(
            "adds up",
            Align::Right,
            1,
            texts(&|result| {
                if result.accounting().balances() { "yes".into() } else { "NO".into() }
            }),
        ),
        Column::new(
            "p99 per wakeup",
            Align::Right,
            0,
            texts(&|result| format::latency(result.wakeup_quantile(0.99))),
        ),
        Column::new(
            "p99 by schedule",
            Align::Right,
            0,
            texts(&|result| format::latency(result.schedule_quantile(0.99))),
        ),
    ];
    grid(columns, options.width)
}

fn worst(results: &[CellResult<'_>], options: &TableOptions) -> String {
    let found: Vec<_> =
        results.iter().filter_map(|result| Some((result, result.worst()?))).collect();
    if found.is_empty() {
        return String::new();
    }
    let columns = vec![
        Column::new(
            "cell",
            Align::Left,
            0,
            found.iter().map(|(result, _)| result.label.clone()).collect(),
        ),
        Column::new(
            "late by",
            Align::Right,
            0,
            found
                .iter()
                .map(|(_, worst)| format::latency(worst.outlier.sample.latency()))
                .collect(),
        ),
        Column::new(
            "round",
            Align::Right,
            1,
            found.iter().map(|(_, worst)| (worst.round + 1).to_string()).collect(),
        ),
        Column::new(
            "cpu",
            Align::Right,
            1,
            found
                .iter()
                .map(|(_, worst)| worst.cpu.map_or_else(String::new, |cpu| cpu.to_string()))
                .collect(),
        ),
        Column::new(
            "into the window",
            Align::Right,
            2,
            found.iter().map(|(_, worst)| format::latency(worst.outlier.sample.due)).collect(),
        ),
        Column::new(
            "window opened",
            Align::Left,
            3,
            found.iter().map(|(_, worst)| format::date(worst.opened)).collect(),
        ),
    ];
    grid(columns, options.width)
}

fn rates(results: &[CellResult<'_>], options: &TableOptions) -> String {
    if results.is_empty() {
        return String::new();
    }
    let rates: Vec<_> = results.iter().map(CellResult::rates).collect();
    let mut columns = vec![
        Column::new(
            "cell",
            Align::Left,
            0,
            results.iter().map(|result| result.label.clone()).collect(),
        ),
        Column::new(
            "load did",
            Align::Right,
            0,
            results.iter().map(|result| result.load_achieved().unwrap_or_default()).collect(),
        ),
    ];
    for (place, rate) in crate::summary::RATES.iter().enumerate() {
        let texts = rates.iter().map(|values| values[place].clone().unwrap_or_default()).collect();
        columns.push(Column::new(rate, Align::Right, place as u8 + 1, texts));
    }
    grid(columns, options.width)
}

fn not_granted(run: &Run, options: &TableOptions) -> String {
    let mut text = String::new();
    for shortfall in shortfalls(run) {
        let said = format!(
            "asked for {}, got {}: {}",
            shortfall.asked, shortfall.granted, shortfall.reason
        );
        text.push_str(&wrapped(&said, "", options.width));
        if let Some(mend) = &shortfall.mend {
            // Not broken into lines: it is there to be copied.
            let _ = writeln!(text, "  to mend it: {}", format::printable(mend));
        }
    }
    text
}

fn failures(run: &Run, options: &TableOptions) -> String {
    let labels = run.header.plan.labels();
    let mut text = String::new();
    for failure in &run.failures {
        let label =
            labels.get(failure.turn.cell).map_or("a cell that is not in the plan", String::as_str);
        let said = format!("{label}, round {}: {}", failure.turn.round + 1, failure.reason);
        text.push_str(&wrapped(&said, "", options.width));
        if let Some(hint) = &failure.hint {
            text.push_str(&wrapped(&format!("hint: {hint}"), "  ", options.width));
        }
    }
    text
}

fn cost(results: &[CellResult<'_>], options: &TableOptions) -> String {
    crate::summary::cost_in_words(results)
        .map_or_else(String::new, |words| wrapped(&words, "", options.width))
}

fn facts(run: &Run) -> String {
    let mut text = String::new();
    let mut group = "";
    for FactRow { group: of, name, value } in run.header.facts_before.rows() {
        let shown = if of == group { "" } else { of };
        group = of;
        let _ = writeln!(text, "{shown:<11} {name:<29} {}", format::printable(&value));
    }
    let changed = changed_facts(&run.header);
    if !changed.is_empty() {
        text.push_str("\nChanged during the run:\n");
    }
    for fact in changed {
        let _ = writeln!(
            text,
            "  {}: {} before, {} after",
            fact.name,
            format::printable(&fact.before),
            format::printable(&fact.after)
        );
    }
    text
}
