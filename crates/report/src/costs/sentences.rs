//! What the costs of a run say, in sentences.

use tactus_judge::doctor::State;
use tactus_judge::verdict::verdict;
use tactus_model::cost::{Operation, Partner};
use tactus_model::run::Run;
use tactus_stats::costs::differences::Difference;
use tactus_stats::costs::{Contamination, CostRow, RunCosts};

use super::{interrupts, probe};
use crate::format::{self, THIN_SPACE, fine_latency};

/// The sentences above the tables.
pub(super) fn findings(run: &Run, costs: &RunCosts) -> Vec<String> {
    let call = costs.system_call_ns.map(|call| {
        format!(
            "A system call (getppid) takes {}, the median over the whole run.",
            fine_latency(call)
        )
    });
    let found = [call, address_space(costs), fresh_pages(costs), interrupts::finding(costs)];
    let warnings = tactus_judge::costs::warnings(run, costs);
    let warnings = warnings.iter().map(|warning| format!("warning: {warning}"));
    found.into_iter().flatten().chain(warnings).collect()
}

/// The first change of this setting between these values, with the rows that differ by it.
fn change<'c>(
    costs: &'c RunCosts,
    setting: &str,
    to: &str,
) -> Option<(&'c Difference, [&'c CostRow; 2])> {
    let is_it = |found: &&Difference| found.setting == setting && found.values[1] == to;
    let found = costs.differences.iter().find(is_it)?;
    let [first, second] = found.cells;
    Some((found, [costs.row(first)?, costs.row(second)?]))
}

/// What the switch of the address space adds to a round trip.
fn address_space(costs: &RunCosts) -> Option<String> {
    let (found, [thread, process]) = change(costs, "partner", Partner::Process.word())?;
    if is_disturbed(&[thread, process]) {
        return None;
    }
    let operation = thread.operation()?;
    let [one, two] = [thread, process].map(|row| fine_latency(row.cost.typical_ns));
    let between = format!("threads of one process {one}, of two {two}");
    Some(match found.is_found && found.ratio.value > 1.0 {
        true => format!(
            "Changing the address space adds {} to a round trip by {operation} ({between}).",
            fine_latency(found.added_ns.value)
        ),
        false => format!(
            "No difference was found between round trips by {operation} within an address space \
             and between two ({between})."
        ),
    })
}

/// Whether others had a CPU in most batches of a row, so that a ratio of rows says more about them.
fn is_disturbed(rows: &[&CostRow]) -> bool {
    rows.iter().any(|row| row.cost.contamination.is_most())
}

/// How much more fresh memory costs than memory that is used again.
fn fresh_pages(costs: &RunCosts) -> Option<String> {
    let (found, [recycled, fresh]) = change(costs, "operation", Operation::FirstTouch.word())?;
    let size = fresh.settings.get("size")?;
    let [new, used] = [fresh, recycled].map(|row| fine_latency(row.cost.typical_ns));
    let costs = format!("{size}: {new} against {used}");
    let [low, high] = match found.ratio.interval {
        Some(ends) if found.is_found && !is_disturbed(&[recycled, fresh]) => ends,
        _ => {
            return Some(format!(
                "Whether fresh memory costs more than memory that is used again cannot be decided \
                 here ({costs}). fix: more --rounds, or a quieter machine."
            ));
        }
    };
    (found.ratio.value >= 2.0).then(|| {
        format!(
            "Touching fresh memory costs {:.0} times as much as touching memory that is used again \
             (95{THIN_SPACE}% interval {low:.0} to {high:.0}; {costs}). fix: reuse buffers.",
            found.ratio.value
        )
    })
}

/// What limits the figures.
pub(super) fn notes(run: &Run, costs: &RunCosts) -> Vec<String> {
    let sum = |of: fn(&Contamination) -> usize| -> u64 {
        costs.rows.iter().map(|row| of(&row.cost.contamination) as u64).sum()
    };
    let [all, any, stolen, foreign, waited, partner] = [
        sum(|counts| counts.batches),
        sum(|counts| counts.contaminated),
        sum(|counts| counts.stolen),
        sum(|counts| counts.foreign),
        sum(|counts| counts.waited),
        sum(|counts| counts.at_partner),
    ];
    let contaminated = (any > 0).then(|| {
        format!(
            "Contaminated batches: {} of {} (steal time {}, others on the CPU {}, waits for the CPU {}, any of \
             these on the CPU of a partner {}). They count in all figures; --json has the medians without them.",
            format::count(any),
            format::count(all),
            format::count(stolen),
            format::count(foreign),
            format::count(waited),
            format::count(partner)
        )
    });
    let mut failed: Vec<String> = run
        .failures
        .iter()
        .map(|failure| {
            let hint = failure.hint.as_ref().map(|hint| format!(". fix: {hint}"));
            format!("Not measured: {}{}", failure.reason, hint.unwrap_or_default())
        })
        .collect();
    failed.sort();
    failed.dedup();
    let is_idle = |row: &CostRow| probe(run, row).is_some_and(|(cell, _)| cell.load.load.is_idle());
    let is_unloaded = costs.rows.iter().all(is_idle) && !costs.rankings.is_empty();
    let tails = is_unloaded.then(|| {
        "No load was measured, so no way of handing over is called best for its tail. fix: add \
         --load compute:cpus"
            .to_owned()
    });
    let explained = "The floor is the shortest sample. The median is that over processes of the median of \
        each one's batches, of about a millisecond; its interval is over processes, and batches within \
        them. A round trip has two \
         switches, on one CPU unless the name says otherwise. A message is half of a round trip of \
         equal messages. Rates are in decimal units; a copy counts its bytes once.";
    let emulated = (!costs.interrupts.is_empty()).then(|| interrupts::NOTE.to_owned());
    let warnings = verdict(run).of_state(State::Warning).count() as u64;
    let verdict = (warnings > 0).then(|| {
        let warnings = format::counted(warnings, "warning");
        format!("The verdict on the run has {warnings}: tactus show {}", run.header.id)
    });
    [contaminated, tails, emulated, verdict]
        .into_iter()
        .flatten()
        .chain(failed)
        .chain([explained.to_owned()])
        .collect()
}
