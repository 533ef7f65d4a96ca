//! One run in full, as text.

use std::fmt::Write;

use tactus_judge::verdict::{changed_facts, verdict as judged};
use tactus_model::facts::FactRow;
use tactus_model::origin::{Origin, UNKNOWN};
use tactus_model::run::Run;

use super::grid::grid;
use super::{TableOptions, cells, content, plan};
use crate::format;
use crate::guests::{self, GuestRows};
use crate::summary::{cell_results, cost_in_words, kind_of};
use crate::until::{rounds_taken_text, until_text};
use crate::wrap::wrapped;
use crate::{outcome, verdict};

/// Writes a run in full: plan, outcome, verdict, latencies, accounting of due times, load
/// throughput, settings that were not granted, and the machine.
///
/// `causes` are the lines of the outcome on what delayed late samples.
pub fn run_details(run: &Run, causes: &[String], options: &TableOptions) -> String {
    let results = cell_results(run);
    let width = options.width;
    let mut outcome = wrapped(&outcome::of_results(run, &results), "", width);
    causes.iter().for_each(|line| outcome.push_str(&wrapped(line, "", width)));
    let measured = run.header.origin.is_none();
    let worst = format!("Worst {}s", kind_of(&results).noun());
    let cost = cost_in_words(&results).map(|words| wrapped(&words, "", width));
    let sections = [
        head(run),
        section("Outcome", &outcome),
        section("Precision", &until_text(run, width)),
        section("Verdict", &verdict::verdict_text(&judged(run), width)),
        section("Latency", &cells::of_results(run, &results, options)),
        section("Accounting", &grid(content::accounting(&results), width)),
        section(&worst, &grid(content::worst(&results), width)),
        section(
            "Load throughput and system activity",
            &if measured { grid(content::loads(&results), width) } else { String::new() },
        ),
        section("Turns without a result", &failures(run, width)),
        section("Cost of measuring", &cost.unwrap_or_default()),
        section("Guests", &guests(run, width)),
        section("Settings", &plan::settings(&run.header.plan.cells, options)),
        section("The machine", &facts(run)),
    ];
    sections.concat()
}

/// A section with a heading; empty if it has no content.
fn section(head: &str, content: &str) -> String {
    if content.is_empty() { String::new() } else { format!("\n{head}\n\n{content}") }
}

/// Whether tactus measured the run or imported it.
pub(crate) fn by_tactus(run: &Run) -> &'static str {
    if run.header.origin.is_some() { "imported by" } else { "measured by" }
}

/// The origin of a run that another program measured.
pub(crate) fn origin(origin: &Origin) -> Vec<(&'static str, String)> {
    vec![
        ("measured by", origin.program()),
        ("imported from", format!("{} ({})", origin.files.join(", "), origin.format)),
        ("command", origin.command_line.clone().unwrap_or_else(|| UNKNOWN.to_owned())),
    ]
}

fn head(run: &Run) -> String {
    let header = &run.header;
    let plan = &header.plan;
    // Only a measurement by Tactus has an order, which its seed determines.
    let seed = header.origin.is_none().then(|| format!(", seed {}", plan.seed));
    let size = format!(
        "{}, {}{}",
        format::counted(plan.cells.len() as u64, "cell"),
        rounds_taken_text(run),
        seed.unwrap_or_default()
    );
    let pairs = [
        ("run", header.id.to_string()),
        ("began", format::date(header.created)),
        ("status", header.status.to_string()),
        ("experiment", plan.name.clone()),
        ("about", plan.about.clone()),
        ("plan", size),
        ("command", header.command.clone().unwrap_or_default()),
        (by_tactus(run), format!("tactus {}", header.version)),
        ("exact digest", exact_digest(run)),
        ("to export", export_command(run)),
    ];
    let foreign = header.origin.as_ref().map_or_else(Vec::new, origin);
    let mut text = String::new();
    for (name, value) in foreign.iter().chain(&pairs).filter(|(_, value)| !value.is_empty()) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:13} {}", format::printable(value));
    }
    text
}

/// The command that exports a run. Of a cell alone it exports the whole run: a file with one cell
/// would be its recording, which no command reads as a run.
pub(crate) fn export_command(run: &Run) -> String {
    let id = run.header.id.as_str();
    format!("tactus export {}", id.split_once('#').map_or(id, |(whole, _)| whole))
}

/// The digest of a run in deterministic time, to compare it with the same run on another machine.
fn exact_digest(run: &Run) -> String {
    guests::exact_digest(run).map_or_else(String::new, |digest| format!("sha256 {digest}"))
}

fn failures(run: &Run, width: usize) -> String {
    let labels = run.header.plan.labels();
    let mut text = String::new();
    for failure in &run.failures {
        let label =
            labels.get(failure.turn.cell).map_or("a cell that is not in the plan", String::as_str);
        let said = format!("{label}, round {}: {}", failure.turn.round + 1, failure.reason);
        text.push_str(&wrapped(&said, "", width));
        if let Some(hint) = &failure.hint {
            text.push_str(&wrapped(&format!("hint: {hint}"), "  ", width));
        }
    }
    text
}

fn guests(run: &Run, width: usize) -> String {
    let mut text = String::new();
    for GuestRows { kernel, rows } in guests::guests(run) {
        let _ = writeln!(text, "{}", format::printable(&kernel));
        for (name, value) in rows {
            let line = format!("{name:14}  {}", format::printable(&value));
            text.push_str(&wrapped(&line, "  ", width));
        }
    }
    text
}

fn facts(run: &Run) -> String {
    let rows = run.header.facts_before.rows();
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    let mut group = "";
    for FactRow { group: of, name, value } in rows {
        let shown = if of == group { "" } else { of };
        group = of;
        let _ = writeln!(text, "{shown:10}  {name:width$}  {}", format::printable(&value));
    }
    let changed = changed_facts(&run.header);
    if !changed.is_empty() {
        text.push_str("\nChanged during the run:\n");
    }
    for fact in changed {
        let line = format!("  {}: {} before, {} after", fact.name, fact.before, fact.after);
        let _ = writeln!(text, "{}", format::printable(&line));
    }
    text
}

#[cfg(test)]
mod tests {
    use tactus_model::experiment::Turn;
    use tactus_model::result::{Failure, Shortfall};

    use super::*;
    use crate::fixture;

    #[test]
    fn a_run_in_full() {
        let mut run = fixture::quick();
        run.header.facts_after.as_mut().unwrap().cpu.governors = Some(vec!["powersave".to_owned()]);
        run.measurements[0].shortfalls.push(Shortfall {
            asked: "policy fifo:90".to_owned(),
            granted: "policy other".to_owned(),
            reason: "this user may not use real-time priorities".to_owned(),
            fix: Some("sudo setcap cap_sys_nice,cap_ipc_lock+ep target/release/tactus".to_owned()),
        });
        run.failures.push(Failure {
            turn: Turn { round: 1, cell: 2 },
            reason: "the measuring process was killed by signal 9".to_owned(),
            hint: Some("look into the kernel's log for the out-of-memory killer".to_owned()),
            by_host: false,
        });
        let causes = ["Late wakeups with other: 3 of 9 traced were over 100 µs late.".to_owned()];
        insta::assert_snapshot!(run_details(&run, &causes, &TableOptions::of_width(110)));
    }
}
