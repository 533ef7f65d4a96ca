//! How a part was measured, in words: machine, form, guests, and settings that were not granted.

use tactus_judge::verdict::verdict;
use tactus_model::guest::{EXACT_LIMITS, GuestTime, WALL_LIMITS};
use tactus_model::run::Run;
use tactus_reproduce::Form;

use super::Measured;
use crate::explanation;
use crate::format;
use crate::guests;
use crate::verdict::{against, headline};

/// The measured machine, on one line.
pub(super) fn machine(run: &Run) -> String {
    let facts = &run.header.facts_before;
    let cpus = facts.cpu.online.as_ref();
    let parts = [
        facts.kernel.release.as_ref().map(|release| format!("Linux {release}")),
        facts.kernel.preemption.as_ref().map(|model| format!("preempt={model}")),
        facts.cpu.model.clone(),
        cpus.map(|online| format::counted(online.len() as u64, "CPU")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// The clock of a run's guests; `None` without guests.
pub(super) fn guest_time(run: &Run) -> Option<GuestTime> {
    run.header.plan.cells.iter().find_map(|cell| cell.target.guest()).map(|guest| guest.time)
}

/// What was measured now, on one line: this machine, or guests on it.
pub(super) fn now(run: &Run) -> String {
    match guest_time(run) {
        None => machine(run),
        Some(GuestTime::Wall) => format!("guest kernels in wall time, on {}", machine(run)),
        Some(GuestTime::Exact(speed)) => format!(
            "guest kernels in deterministic (instruction-counted) time, one CPU of {} million instructions \
             per second",
            speed.mips()
        ),
    }
}

/// The limits of figures from a run's guests.
fn guest_limits(run: &Run) -> Option<&'static str> {
    Some(match guest_time(run)? {
        GuestTime::Exact(_) => EXACT_LIMITS,
        GuestTime::Wall => WALL_LIMITS,
    })
}

/// Each guest of a run on one line, by its name among the `kernels`, with all that is needed to
/// boot it again.
pub(super) fn guest_lines(kernels: &[&str], run: &Run) -> Vec<String> {
    let mut rows = guests::guests(run);
    let common = guests::take_common(&mut rows);
    let names = kernels.iter().map(|name| Some(*name)).chain(std::iter::repeat(None));
    let line = |(guest, name): (&guests::GuestRows, Option<&str>)| match name {
        Some(name) if name != guest.kernel => format!("{name}: {}", guests::in_a_line(guest)),
        _ => guests::in_a_line(guest),
    };
    let lines = rows.iter().zip(names).map(line);
    lines.chain((!common.is_empty()).then(|| format!("All: {}", guests::listed(&common)))).collect()
}

/// How a part was measured, the limits of guests, the cost of recording, and the settings that were
/// not granted.
pub(super) fn said(measured: &Measured<'_>) -> Vec<String> {
    let mut said = vec![form(measured)];
    said.extend(guest_limits(measured.run).map(str::to_owned));
    said.extend(cost(measured));
    said.extend(not_granted(measured.run));
    said.extend(warned(measured.run));
    said
}

/// What is held against the run, by name.
fn warned(run: &Run) -> Option<String> {
    let verdict = verdict(run);
    let checks: Vec<&str> = against(&verdict).iter().map(|(finding, _)| finding.check).collect();
    (!checks.is_empty()).then(|| {
        let (headline, names, id) = (headline(&verdict), checks.join(", "), &run.header.id);
        format!("{headline} They concern: {names}. See: tactus show {id}")
    })
}

/// How a part was measured.
fn form(measured: &Measured<'_>) -> String {
    let Measured { run, form, .. } = measured;
    let form = match form {
        Form::Quick => "the quick form of the experiment",
        Form::Full => "with the paper's durations",
        Form::Own => "with other settings than the quick form or the paper",
    };
    format!("Run {}, {}, {form}.", run.header.id, format::date(run.header.created))
}

/// The cost of recording, if the part was recorded.
fn cost(measured: &Measured<'_>) -> Option<String> {
    let recorded = measured.run.measurements.iter().any(|measurement| measurement.traced.is_some());
    recorded.then(|| explanation::cost_in_words(measured.tracing_cost.as_ref()))
}

/// The settings that were not granted, without repetition.
fn not_granted(run: &Run) -> Vec<String> {
    let mut words = Vec::new();
    for shortfall in run.measurements.iter().flat_map(|measurement| &measurement.shortfalls) {
        let text = format!(
            "Requested {}, got {}: {}.",
            shortfall.asked,
            shortfall.granted,
            shortfall.reason.trim_end_matches('.')
        );
        if !words.contains(&text) {
            words.push(text);
        }
    }
    words.extend(
        run.failures
            .iter()
            .map(|failure| format!("1 turn failed: {}.", failure.reason.trim_end_matches('.'))),
    );
    words
}

/// The heading of the table of services.
pub(super) const SERVED: &str =
    "Interrupt or softirq being handled when samples were due, and their interrupt acknowledge";
