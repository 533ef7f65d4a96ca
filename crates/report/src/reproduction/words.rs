//! How figures, claims and reservations of a reproduction are put.

use tactus_judge::reproduce::claim::Claim;
use tactus_judge::reproduce::paper::{Paper, PaperTable};
use tactus_judge::reproduce::{Beside, Judged, Kind, Outcome, PartFound, Statistic, TableFound};
use tactus_model::run::Run;

use super::{Form, Measured};
use crate::explanation;
use crate::format::{self, NOTHING};

/// A figure as its kind is told: a length, a share or a number.
pub(super) fn figure(statistic: Statistic, value: Option<f64>) -> String {
    let Some(value) = value else { return NOTHING.to_owned() };
    match statistic.kind() {
        Kind::Share => share(value),
        Kind::Count => format::count(value as u64),
        Kind::PerSecond => format!("{value:.2}"),
        Kind::Ratio => ratio(value),
        Kind::Length => format::latency(format::rounded_nanos(value)),
    }
}

/// What stands over a column of such figures.
pub(super) fn head(statistic: Statistic) -> String {
    match statistic {
        Statistic::SetAside => "saw a transfer".to_owned(),
        Statistic::Serving => "in service".to_owned(),
        Statistic::Rate => "shown/s".to_owned(),
        Statistic::Desired => "desired/s".to_owned(),
        Statistic::Expected => "closed form".to_owned(),
        Statistic::Quanta => "quanta/s".to_owned(),
        Statistic::Use => "processor".to_owned(),
        other => other.to_string(),
    }
}

/// A share in per cent.
pub(super) fn share(share: f64) -> String {
    format!("{:.1}{}%", share * 100.0, format::THIN_SPACE)
}

/// A ratio with as many digits as are worth telling.
fn ratio(ratio: f64) -> String {
    match ratio {
        ..10.0 => format!("{ratio:.2}"),
        10.0..1000.0 => format!("{ratio:.0}"),
        _ => format::count(ratio.round() as u64),
    }
}

/// Who wrote what, where and when.
pub(super) fn citation(paper: &Paper) -> String {
    format!("{}, {} ({})", paper.authors, paper.title, paper.published)
}

/// The machine that was measured, in a line.
pub(super) fn machine(run: &Run) -> String {
    let facts = &run.header.facts_before;
    let processors = facts.processor.online.as_ref();
    let parts = [
        facts.kernel.release.as_ref().map(|release| format!("Linux {release}")),
        facts.kernel.preemption.as_ref().map(|model| format!("preempt={model}")),
        facts.processor.model.clone(),
        processors.map(|online| format::counted(online.len() as u64, "processor")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// How a part was measured.
pub(super) fn form(measured: &Measured<'_>) -> String {
    let Measured { run, form, .. } = measured;
    let form = match form {
        Form::Quick => "the quick form",
        Form::Full => "the paper's own durations",
        Form::Own => "with settings of its own, neither the quick form's nor the paper's",
    };
    format!("Run {}, {}, {form}.", run.header.id, format::date(run.header.created))
}

/// What recording cost, where the part's samples were recorded.
pub(super) fn cost(measured: &Measured<'_>) -> Option<String> {
    let recorded = measured.run.measurements.iter().any(|measurement| measurement.traced.is_some());
    recorded.then(|| explanation::cost_in_words(measured.tracing_cost.as_ref()))
}

/// What the machine did not grant, each said once.
pub(super) fn not_granted(run: &Run) -> Vec<String> {
    let mut told = Vec::new();
    for shortfall in run.measurements.iter().flat_map(|measurement| &measurement.shortfalls) {
        let text = format!(
            "Asked for {}, got {}: {}.",
            shortfall.asked,
            shortfall.granted,
            shortfall.reason.trim_end_matches('.')
        );
        if !told.contains(&text) {
            told.push(text);
        }
    }
    told.extend(run.failures.iter().map(|failure| {
        format!("One turn gave no result: {}.", failure.reason.trim_end_matches('.'))
    }));
    told
}

/// What the table of services tells.
pub(super) const SERVED: &str =
    "What was being served when samples came due, and their interrupt acknowledge";

/// What stands over a table of the paper.
pub(super) fn table(PaperTable { name, place, title, .. }: &PaperTable) -> String {
    format!("{name} ({place}): {title}")
}

/// A claim with its place.
pub(super) fn claim(Claim { text, place, .. }: &Claim) -> String {
    format!("{text} ({place})")
}

/// How many of these claims came to what.
pub(super) fn tally<'j, 'a: 'j>(claims: impl IntoIterator<Item = &'j Judged<'a>>) -> String {
    let (mut held, mut not_held, mut not_testable) = (0, 0, 0);
    for judged in claims {
        match judged.outcome {
            Outcome::Held => held += 1,
            Outcome::NotHeld => not_held += 1,
            Outcome::NotTestable { .. } => not_testable += 1,
        }
    }
    format!("{held} held, {not_held} not held, {not_testable} not testable here")
}

/// What became of a claim, in a word or two.
pub(super) const fn outcome(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Held => "held",
        Outcome::NotHeld => "not held",
        Outcome::NotTestable { .. } => "not testable",
    }
}

/// The numbers that decided a claim, or why there are none.
pub(super) fn grounds(judged: &Judged<'_>) -> String {
    let demand = judged.claim.holds.demand();
    if let Outcome::NotTestable { reason } = &judged.outcome {
        return sentence(reason);
    }
    if let Some(Beside { paper: Some(paper), here: Some(here) }) = judged.ratio {
        return format!(
            "{} here, {} in the paper; demanded is {demand}.",
            ratio(here),
            ratio(paper)
        );
    }
    let list = |of: fn(&Beside) -> Option<f64>| -> String {
        let told = judged.figures.iter().map(|one| figure(one.statistic, of(&one.beside)));
        told.collect::<Vec<_>>().join(", ")
    };
    format!(
        "{} here, {} in the paper; demanded is {demand}.",
        list(|beside| beside.here),
        list(|beside| beside.paper)
    )
}

/// A reason as a sentence of its own.
fn sentence(reason: &str) -> String {
    let mut letters = reason.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

/// The tables that this machine is not set beside, together where the reason is the same.
pub(super) fn not_beside(part: &PartFound<'_>) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&TableFound<'_>>)> = Vec::new();
    for table in &part.tables {
        let Some(reason) = table.not_here.as_deref() else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, tables)) => tables.push(table),
            None => reasons.push((reason, vec![table])),
        }
    }
    let told = reasons.into_iter().map(|(reason, tables)| {
        let names: Vec<&str> = tables.iter().map(|table| table.table.name.as_str()).collect();
        format!("Not set beside {}: {reason}.", names.join(", "))
    });
    told.collect()
}
