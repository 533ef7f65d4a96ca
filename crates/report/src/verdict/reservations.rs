//! What limits the worth of a run, each as a sentence with the way out.

use std::collections::BTreeSet;

use tactus_model::result::Shortfall;
use tactus_model::run::{Run, RunStatus};
use tactus_model::time::Nanos;

use super::Reservation;
use crate::facts::changed_facts;
use crate::format;
use crate::summary::{CellResult, total};

/// Below this many samples in a cell, its p99.9 rests on fewer than ten of them.
const SAMPLES_WANTED: u64 = 10_000;

/// Rounds of a cell whose p99 differ by more than this factor disagree.
const DISAGREEMENT: f64 = 2.0;

pub(super) fn reservations(run: &Run, results: &[CellResult<'_>]) -> Vec<Reservation> {
    let mut found = Vec::new();
    found.extend(cut_short(run));
    found.extend(failures(run));
    found.extend(unbalanced(results));
    found.extend(shortfalls(run).into_iter().map(not_granted));
    found.extend(unobserved(results));
    found.extend(dead_loads(results));
    found.extend(few_samples(results));
    found.extend(rounds(run, results));
    found.extend(steal(run));
    found.extend(changed_machine(run));
    found.extend(early(results));
    found.extend(virtual_machine(run));
    found
}

/// The shortfalls of all turns, each once, in the order in which they came up.
pub(crate) fn shortfalls(run: &Run) -> Vec<&Shortfall> {
    let mut seen = BTreeSet::new();
    run.measurements
        .iter()
        .flat_map(|measurement| &measurement.shortfalls)
        .filter(|shortfall| seen.insert((&shortfall.asked, &shortfall.granted, &shortfall.reason)))
        .collect()
}

fn cut_short(run: &Run) -> Option<Reservation> {
    let plan = &run.header.plan;
    let planned = u64::from(plan.rounds) * plan.cells.len() as u64;
    let taken = (run.measurements.len() + run.failures.len()) as u64;
    if run.header.status == RunStatus::Complete {
        return None;
    }
    Some(Reservation::mended_by(
        format!(
            "The run is {}: {} of {} were taken.",
            run.header.status,
            format::count(taken),
            format::counted(planned, "turn")
        ),
        format!("tactus measure --continue {}", run.header.id),
    ))
}

fn failures(run: &Run) -> Option<Reservation> {
    let (first, rest) = run.failures.split_first()?;
    let labels = run.header.plan.labels();
    let label = labels.get(first.turn.cell).map_or("an unknown cell", String::as_str);
    let more = match rest.len() {
        0 => String::new(),
        more => format!(" (and {} more)", format::count(more as u64)),
    };
    Some(Reservation {
        text: format!(
            "{} gave no result: {label}, round {}: {}{more}",
            format::counted(run.failures.len() as u64, "turn"),
            first.turn.round + 1,
            first.reason
        ),
        mend: first.hint.clone(),
    })
}

fn unbalanced(results: &[CellResult<'_>]) -> Option<Reservation> {
    let cells: Vec<&str> = results
        .iter()
        .filter(|result| !result.accounting().balances())
        .map(|result| result.label.as_str())
        .collect();
    (!cells.is_empty()).then(|| {
        Reservation::new(format!(
            "The accounting does not balance in {}: intended is not observed + missed + dropped. \
             This is a defect of Tactus; trust none of these figures.",
            named(&cells)
        ))
    })
}

fn not_granted(shortfall: &Shortfall) -> Reservation {
    Reservation {
        text: format!(
            "Asked for {}, got {}: {}",
            shortfall.asked,
            shortfall.granted,
            sentence(&shortfall.reason)
        ),
        mend: shortfall.mend.clone(),
    }
}

fn unobserved(results: &[CellResult<'_>]) -> Vec<Reservation> {
    let mut found = Vec::new();
    let most_missed = results
        .iter()
        .filter(|result| result.accounting().missed > 0)
        .max_by(|a, b| missed_share(a).total_cmp(&missed_share(b)));
    if let Some(result) = most_missed {
        let accounting = result.accounting();
        found.push(Reservation::new(format!(
            "Due times were missed, at most {} ({} under {}): judge a periodic task by the \
             intended schedule, not by the figures per wakeup.",
            format::share(accounting.missed, accounting.intended),
            format::count(accounting.missed),
            result.label,
        )));
    }
    let dropped: u64 = results.iter().map(|result| result.accounting().dropped).sum();
    if dropped > 0 {
        found.push(Reservation::new(format!(
            "{} took place and {} not kept, because the memory for samples was full; a larger \
             sample-limit or a shorter duration keeps them.",
            format::counted(dropped, "wakeup"),
            if dropped == 1 { "was" } else { "were" }
        )));
    }
    found
}

fn missed_share(result: &CellResult<'_>) -> f64 {
    let accounting = result.accounting();
    accounting.missed as f64 / accounting.intended.max(1) as f64
}

fn dead_loads(results: &[CellResult<'_>]) -> Option<Reservation> {
    let cells: Vec<&str> = results
        .iter()
        .filter(|result| {
            let loads = || result.measurements.iter().map(|measurement| &measurement.load);
            let loaded = !result.cell.load.load.is_idle();
            loaded && loads().any(|load| load.copies == 0 || load.ended > 0)
        })
        .map(|result| result.label.as_str())
        .collect();
    (!cells.is_empty()).then(|| {
        Reservation::new(format!(
            "The load was not there all the time in {}: copies of it did not start or ended by themselves.",
            named(&cells)
        ))
    })
}

fn few_samples(results: &[CellResult<'_>]) -> Option<Reservation> {
    let count = |result: &CellResult<'_>| result.summary.by_schedule.count();
    let fewest = results.iter().min_by_key(|result| count(result))?;
    let seen = count(fewest);
    (seen < SAMPLES_WANTED).then(|| {
        let bound = fewest.summary.unseen.map_or_else(String::new, |bound| {
            format!(
                ", so what did not happen in it may still happen to one wakeup in {}",
                format::count((1.0 / bound.rate) as u64)
            )
        });
        Reservation::new(format!(
            "Few samples: {} under {}{bound}. A longer duration or more rounds give more.",
            format::count(seen),
            fewest.label
        ))
    })
}

fn rounds(run: &Run, results: &[CellResult<'_>]) -> Option<Reservation> {
    if run.header.plan.rounds == 1 {
        return Some(Reservation::new(
            "One round only: drift of the machine cannot be told from a difference between cells; \
             three rounds part the two.",
        ));
    }
    let disagreement = |result: &CellResult<'_>| {
        let p99s = result.round_quantiles(0.99);
        let most = p99s.iter().max().copied().unwrap_or_default();
        let least = p99s.iter().min().copied().unwrap_or_default();
        (most.as_nanos() as f64 / least.as_nanos().max(1) as f64, least, most)
    };
    let (result, (factor, least, most)) = results
        .iter()
        .map(|result| (result, disagreement(result)))
        .max_by(|(_, (a, _, _)), (_, (b, _, _))| a.total_cmp(b))?;
    (factor > DISAGREEMENT).then(|| {
        Reservation::new(format!(
            "The rounds disagree, most under {}: p99 from {} to {}; see the seconds for what changed.",
            result.label,
            format::latency(least),
            format::latency(most)
        ))
    })
}

fn steal(run: &Run) -> Option<Reservation> {
    let steal = total(run.measurements.iter().map(|measurement| measurement.rates.steal))?;
    let over: Nanos = run.measurements.iter().map(|measurement| measurement.rates.over).sum();
    let processors =
        run.header.facts_before.processor.online.as_ref().map_or(1, |online| online.len().max(1));
    (steal > Nanos::ZERO).then(|| {
        let share =
            format::share(steal.as_nanos(), over.as_nanos().saturating_mul(processors as u64));
        Reservation::new(format!(
            "The hypervisor gave {} of processor time to others meanwhile ({share}); such pauses \
             count as latency here.",
            format::latency(steal)
        ))
    })
}

fn changed_machine(run: &Run) -> Option<Reservation> {
    let changed = changed_facts(&run.header);
    let names: Vec<String> = changed
        .iter()
        .map(|fact| format!("{} ({} before, {} after)", fact.name, fact.before, fact.after))
        .collect();
    (!names.is_empty()).then(|| {
        Reservation::new(format!("The machine changed during the run: {}.", names.join("; ")))
    })
}

fn early(results: &[CellResult<'_>]) -> Option<Reservation> {
    let early: u64 = results.iter().map(|result| result.accounting().early).sum();
    (early > 0).then(|| {
        Reservation::new(format!(
            "{} came before their time; they count as not late at all.",
            format::counted(early, "wakeup")
        ))
    })
}

fn virtual_machine(run: &Run) -> Option<Reservation> {
    let hypervisor = run.header.facts_before.processor.virtualization.as_deref()?;
    (hypervisor != "none").then(|| {
        Reservation::new(format!(
            "The machine is virtual ({hypervisor}): what its host does counts as latency here."
        ))
    })
}

/// Ends a text as a sentence.
fn sentence(text: &str) -> String {
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}

/// Names a few cells and counts the others.
fn named(cells: &[&str]) -> String {
    match cells {
        [] | [_] | [_, _] | [_, _, _] => cells.join(", "),
        [first, second, rest @ ..] => {
            format!("{first}, {second} and {}", format::counted(rest.len() as u64, "other cell"))
        }
    }
}
