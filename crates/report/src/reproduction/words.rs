//! How figures, claims and reservations of a reproduction are put.

use tactus_judge::reproduce::claim::Claim;
use tactus_judge::reproduce::paper::{Draw, Paper, PaperTable};
use tactus_judge::reproduce::{
    Across, Beside, Judged, Kind, Outcome, PartFound, Statistic, TableFound, View,
};
use tactus_model::guest::{EXACT_LIMITS, GuestTime, WALL_LIMITS};
use tactus_model::run::Run;

use super::{Form, Measured};
use crate::explanation;
use crate::format::{self, NOTHING};
use crate::guests;

/// A figure as its kind is told: a length, a share or a number.
pub(super) fn figure(statistic: Statistic, value: Option<f64>) -> String {
    let Some(value) = value else { return NOTHING.to_owned() };
    match statistic.kind() {
        // What ticks cost is told in hundredths of a per cent.
        Kind::Share if statistic == Statistic::Overhead => {
            format!("{:.2}{}%", value * 100.0, format::THIN_SPACE)
        }
        Kind::Share => share(value),
        Kind::Count => format::count(value as u64),
        // Of what is many digits are not worth telling behind the point.
        Kind::PerSecond if value >= 1e4 => format::count(value.round() as u64),
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
        Statistic::Sorted => "numbers/s".to_owned(),
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

/// How time passed in the guests of a run; none where it has no guest.
pub(super) fn guest_time(run: &Run) -> Option<GuestTime> {
    run.header.plan.cells.iter().find_map(|cell| cell.target.guest()).map(|guest| guest.time)
}

/// What was measured now, in a line: this machine, or guests on it.
pub(super) fn now(run: &Run) -> String {
    match guest_time(run) {
        None => machine(run),
        Some(GuestTime::Wall) => format!("guest kernels in wall time, on {}", machine(run)),
        Some(GuestTime::Exact(speed)) => format!(
            "guest kernels in exact time, one processor of {} million instructions a second",
            speed.mips()
        ),
    }
}

/// What holds of figures from the guests of a run.
fn guest_limits(run: &Run) -> Option<&'static str> {
    Some(match guest_time(run)? {
        GuestTime::Exact(_) => EXACT_LIMITS,
        GuestTime::Wall => WALL_LIMITS,
    })
}

/// Each guest of a run in a line, by its name among the `kernels`, so that it can be
/// booted again.
pub(super) fn guest_lines(kernels: &[&str], run: &Run) -> Vec<String> {
    let mut told = guests::guests(run);
    let common = guests::take_common(&mut told);
    let names = kernels.iter().map(|name| Some(*name)).chain(std::iter::repeat(None));
    let line = |(guest, name): (&guests::GuestRows, Option<&str>)| match name {
        Some(name) if name != guest.kernel => format!("{name}: {}", guests::in_a_line(guest)),
        _ => guests::in_a_line(guest),
    };
    let lines = told.iter().zip(names).map(line);
    lines.chain((!common.is_empty()).then(|| format!("All: {}", guests::listed(&common)))).collect()
}

/// A claim that kernels were held against.
pub(super) struct ClaimAcross<'a> {
    pub(super) claim: &'a Claim,
    /// What became of it, the same for several kernels told once.
    pub(super) became: Vec<Became>,
}

/// What became of a claim in some kernels, or in some pairs of them.
pub(super) struct Became {
    pub(super) outcome: &'static str,
    pub(super) kernels: String,
    pub(super) grounds: String,
}

/// The claims of a part by kernels.
pub(super) fn claims_across<'a>(across: &Across<'a>) -> Vec<ClaimAcross<'a>> {
    let mut claims: Vec<ClaimAcross<'_>> = Vec::new();
    for found in &across.claims {
        let became = Became {
            outcome: outcome(&found.judged.outcome),
            kernels: found.kernels.join(" against "),
            grounds: grounds(&found.judged),
        };
        let claim = found.judged.claim;
        match claims.last_mut() {
            Some(last) if std::ptr::eq(last.claim, claim) => put(&mut last.became, became),
            _ => claims.push(ClaimAcross { claim, became: vec![became] }),
        }
    }
    claims
}

/// In which kernels something became of a claim, and why.
pub(super) fn became(Became { kernels, grounds, .. }: &Became) -> String {
    match kernels.as_str() {
        "" => grounds.clone(),
        kernels => format!("{kernels}: {grounds}"),
    }
}

fn put(told: &mut Vec<Became>, became: Became) {
    let same =
        |known: &&mut Became| (known.outcome, &known.grounds) == (became.outcome, &became.grounds);
    match told.iter_mut().find(same) {
        Some(known) => {
            known.kernels.push_str(", ");
            known.kernels.push_str(&became.kernels);
        }
        None => told.push(became),
    }
}

/// What a graph in several kernels is called: by its cell, and by the graph where several may
/// show that; by the graph alone where it shows all cells.
pub(super) fn title_across(view: &View<'_>) -> String {
    let cell = view.rows.first().map_or("", |row| row.cell);
    match view.graph.draw {
        Draw::Percentiles { .. } | Draw::Quanta => cell.to_owned(),
        Draw::Players => view.graph.title.clone(),
        Draw::Billing { .. } => {
            let mut title = view.graph.title.chars();
            let first = title.next().map(|first| first.to_lowercase().to_string());
            format!("{cell}: {}{}", first.unwrap_or_default(), title.as_str())
        }
    }
}

/// How a part was measured, what holds of guests, and what recording cost and what was not granted.
pub(super) fn said(measured: &Measured<'_>) -> Vec<String> {
    let mut said = vec![form(measured)];
    said.extend(guest_limits(measured.run).map(str::to_owned));
    said.extend(cost(measured));
    said.extend(not_granted(measured.run));
    said
}

/// How a part was measured.
fn form(measured: &Measured<'_>) -> String {
    let Measured { run, form, .. } = measured;
    let form = match form {
        Form::Quick => "the quick form",
        Form::Full => "the paper's own durations",
        Form::Own => "with settings of its own, neither the quick form's nor the paper's",
    };
    format!("Run {}, {}, {form}.", run.header.id, format::date(run.header.created))
}

/// What recording cost, where the part's samples were recorded.
fn cost(measured: &Measured<'_>) -> Option<String> {
    let recorded = measured.run.measurements.iter().any(|measurement| measurement.traced.is_some());
    recorded.then(|| explanation::cost_in_words(measured.tracing_cost.as_ref()))
}

/// What the machine did not grant, each said once.
fn not_granted(run: &Run) -> Vec<String> {
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
    format!("{}.", capitalised(reason))
}

/// A text that begins with a capital letter.
pub(super) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
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
