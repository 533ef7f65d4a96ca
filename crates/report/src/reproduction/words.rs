//! How the measuring of a part is told: machine, form, guests, and what was not granted.

use tactus_model::guest::{EXACT_LIMITS, GuestTime, WALL_LIMITS};
use tactus_model::run::Run;
use tactus_reproduce::Form;

use super::Measured;
use crate::explanation;
use crate::format;
use crate::guests;

/// The machine that was measured, in a line.
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
            "guest kernels in exact time, one CPU of {} million instructions a second",
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
