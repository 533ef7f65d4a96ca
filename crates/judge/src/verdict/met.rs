//! The events of a run that affect its figures.

use std::collections::{BTreeMap, BTreeSet};

use tactus_model::format;
use tactus_model::result::Shortfall;
use tactus_model::run::{Run, RunStatus};
use tactus_model::sample_kind::SampleKind;
use tactus_model::time::Nanos;
use tactus_stats::cell::{both_rules, supported};

use super::RefusedPolicy;
use super::cell_record::{CellRecord, named};
use crate::doctor::cpu::STEAL;
use crate::doctor::scheduling::QUOTA;
use crate::finding::{Check, Finding};

pub(crate) const TURNS: Check = Check {
    name: "turns",
    why: "Every cell is measured in every round, so drift or a seed affects all cells equally.",
};

pub(crate) const ACCOUNTING: Check = Check {
    name: "accounting",
    why: "Every due time must be observed, missed or dropped; all others were lost silently.",
};

pub(crate) const GRANTED: Check = Check {
    name: "granted",
    why: "Figures describe the settings that were granted, not those in the plan.",
};

pub(crate) const POLICY: Check = Check {
    name: "policy",
    why: "Figures are for the scheduling that was granted, not for the policy that the plan names.",
};

pub(crate) const LOAD: Check =
    Check { name: "load", why: "A cell's name names the load that competes with the probe." };

pub(crate) const SAMPLES: Check = Check {
    name: "samples kept",
    why: "The memory for samples is allocated before the window opens and holds sample-limit samples.",
};

pub(crate) const MISSED: Check = Check {
    name: "missed due times",
    why: "A wakeup later than the next due time skips that due time.",
};

pub(crate) const CACHES: Check = Check {
    name: "prepared caches",
    why: "A wakeup is counted by its dirt only if the caches were ready when it was due.",
};

pub(crate) const RECEIVER: Check = Check {
    name: "receiver",
    why: "The stamp of a message is as late as the line and the receiver are.",
};

pub(crate) const EARLY: Check =
    Check { name: "early wakeups", why: "A timer must not expire before its time." };

pub(crate) const EVENTS: Check =
    Check { name: "recorded events", why: "Explanations of late wakeups need all kernel events." };

/// From this share of steal time on, even the p90 shows the host.
const STEAL_RULES: f64 = 0.1;

/// From this share of dropped due times on, even the p99 may be among them.
const DROPPED_RULES: f64 = 0.01;

pub(super) fn findings(run: &Run, cells: &[CellRecord<'_>]) -> Vec<Finding> {
    let singly = [
        nothing_measured(run),
        cut_short(run),
        failures(run),
        unbalanced(cells),
        absent_load(cells),
        ended_load(cells),
        dropped(cells),
        missed(cells),
        unprepared(cells),
        receiver(cells),
        throttled(run),
        steal(run, cells),
        lost_events(run),
        early(cells),
    ];
    let refused = shortfalls(run).into_iter().map(not_granted);
    refused.chain(singly.into_iter().flatten()).collect()
}

/// What the samples of these cells are.
fn kind(cells: &[CellRecord<'_>]) -> SampleKind {
    SampleKind::of_all(cells.iter().map(|cell| cell.cell))
}

/// The shortfalls of all turns, each once, in the order of their first occurrence.
pub fn shortfalls(run: &Run) -> Vec<&Shortfall> {
    let mut seen = BTreeSet::new();
    run.measurements
        .iter()
        .flat_map(|measurement| &measurement.shortfalls)
        .filter(|shortfall| seen.insert((&shortfall.asked, &shortfall.granted, &shortfall.reason)))
        .collect()
}

/// The policies that no task of any cell was granted. Those of imported cells are unknown.
pub(super) fn refused_policies(cells: &[CellRecord<'_>]) -> Vec<RefusedPolicy> {
    let mut granted: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for record in cells.iter().filter(|record| record.cell.imported.is_none()) {
        let tasks = record.measurements.iter().flat_map(|measurement| &measurement.tasks);
        granted
            .entry(record.cell.policy.scheduling.to_string())
            .or_default()
            .extend(tasks.map(|task| task.granted.scheduling.to_string()));
    }
    granted
        .into_iter()
        .filter(|(asked, granted)| !granted.is_empty() && !granted.contains(asked))
        .map(|(asked, granted)| RefusedPolicy { asked, granted: granted.into_iter().collect() })
        .collect()
}

/// No turn was taken. If turns were taken and failed, [`failures`] says so.
fn nothing_measured(run: &Run) -> Option<Finding> {
    (run.measurements.is_empty() && run.failures.is_empty()).then(|| {
        TURNS
            .invalidates("no turn has a result", "The run has no figures.")
            .fixed_by(continuation(run))
    })
}

fn cut_short(run: &Run) -> Option<Finding> {
    let plan = &run.header.plan;
    let planned = u64::from(plan.rounds) * plan.cells.len() as u64;
    let taken = (run.measurements.len() + run.failures.len()) as u64;
    (taken > 0 && !run.header.status.has_ended()).then(|| {
        TURNS
            .warning(
                format!(
                    "the run is {}: {} of {} done",
                    run.header.status,
                    format::count(taken),
                    format::counted(planned, "turn")
                ),
                "Cells have fewer rounds than planned, or no result.",
            )
            .fixed_by(continuation(run))
    })
}

/// The command that measures the turns without a result; `None` for a run of another store.
fn continuation(run: &Run) -> Option<String> {
    let header = &run.header;
    let is_ours = header.facts_before.machine_id.is_some();
    let can_continue = is_ours && header.status != RunStatus::Complete;
    can_continue.then(|| format!("tactus measure --continue {}", header.id))
}

fn failures(run: &Run) -> Option<Finding> {
    let (first, rest) = run.failures.split_first()?;
    let labels = run.header.plan.labels();
    let label = labels.get(first.turn.cell).map_or("an unknown cell", String::as_str);
    let more = match rest.len() {
        0 => String::new(),
        more => format!(" (and {} more)", format::count(more as u64)),
    };
    let fact = format!(
        "{} failed: {label}, round {}: {}{more}",
        format::counted(run.failures.len() as u64, "turn"),
        first.turn.round + 1,
        first.reason
    );
    let finding = match run.measurements.is_empty() {
        true => TURNS.invalidates(fact, "The run has no figures."),
        false => TURNS.warning(fact, "Cells have fewer rounds than planned, or no result."),
    };
    Some(finding.fixed_by(first.hint.clone().or_else(|| continuation(run))))
}

fn unbalanced(cells: &[CellRecord<'_>]) -> Option<Finding> {
    let cells = named(cells.iter().filter(|cell| !cell.accounting.balances()))?;
    Some(ACCOUNTING.invalidates(
        format!("intended is not observed + missed + dropped in {cells}"),
        "This is a bug in Tactus. Do not use these figures, and please report the bug.",
    ))
}

fn not_granted(shortfall: &Shortfall) -> Finding {
    let Shortfall { asked, granted, reason, fix } = shortfall;
    if asked.starts_with("policy ") {
        return POLICY
            .warning(
                format!("requested {asked}, got {granted}: {reason}"),
                format!("Figures are for {granted}."),
            )
            .fixed_by(fix.clone());
    }
    let effect = if asked.starts_with("traced") {
        "Latencies are valid; their causes are not recorded.".to_owned()
    } else if asked.contains("events of") {
        "Latencies are valid; their explanations are less exact.".to_owned()
    } else {
        "Figures include the effect of this.".to_owned()
    };
    GRANTED
        .warning(format!("requested {asked}, got {granted}: {reason}"), effect)
        .fixed_by(fix.clone())
}

fn absent_load(cells: &[CellRecord<'_>]) -> Option<Finding> {
    let absent = |cell: &&CellRecord<'_>| {
        !cell.cell.load.load.is_idle()
            && cell.measurements.iter().any(|found| found.load.copies == 0)
    };
    let cells = named(cells.iter().filter(absent))?;
    Some(
        LOAD.invalidates(
            format!("no copy of the load was running when a window opened in {cells}"),
            "These figures are for a machine without this load.",
        )
        .fixed_by("run the load alone to see why it does not start, then measure again".to_owned()),
    )
}

fn ended_load(cells: &[CellRecord<'_>]) -> Option<Finding> {
    let ended = |cell: &&CellRecord<'_>| {
        !cell.cell.load.load.is_idle() && cell.measurements.iter().any(|found| found.load.ended > 0)
    };
    let cells = named(cells.iter().filter(ended))?;
    Some(
        LOAD.warning(
            format!("copies of the load ended before the window closed in {cells}"),
            "Some samples were taken under less load than the cell's name says.",
        )
        .fixed_by("give the load enough work for warmup and duration".to_owned()),
    )
}

fn dropped(cells: &[CellRecord<'_>]) -> Option<Finding> {
    let share = |cell: &CellRecord<'_>| {
        cell.accounting.dropped as f64 / cell.accounting.intended.max(1) as f64
    };
    let worst = cells.iter().max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let dropped: u64 = cells.iter().map(|cell| cell.accounting.dropped).sum();
    if dropped == 0 {
        return None;
    }
    let fact = format!(
        "{} {} dropped, most in {} ({})",
        format::counted(dropped, kind(cells).noun()),
        if dropped == 1 { "was" } else { "were" },
        worst.label,
        format::share(worst.accounting.dropped, worst.accounting.intended),
    );
    let found = if share(worst) >= DROPPED_RULES {
        SAMPLES
            .invalidates(fact, "The end of a window is missing, which can change every quantile.")
    } else {
        SAMPLES.warning(
            fact,
            format!("The worst {} may be among the dropped ones.", kind(cells).noun()),
        )
    };
    Some(
        found.fixed_by(
            "measure with a higher `--sample-limit` or a shorter `--duration`".to_owned(),
        ),
    )
}

/// From this share of missed due times on, an emulated guest is too slow for its cell.
const EMULATION_FAILS: f64 = 0.1;

/// The share of due times that a cell missed.
fn share_missed(cell: &CellRecord<'_>) -> f64 {
    cell.accounting.missed as f64 / cell.accounting.intended.max(1) as f64
}

/// Cells of guests in wall time whose emulator did not keep up.
///
/// A guest that software emulates in wall time is tens of times slower than the machine, so most of its missed due
/// times are the emulator's and not the guest kernel's.
fn emulator_too_slow(cells: &[CellRecord<'_>]) -> Option<Finding> {
    let is_emulated = |cell: &&CellRecord<'_>| {
        let guests = cell.measurements.iter().filter_map(|found| found.guest.as_ref());
        let is_wall = cell.cell.target.guest().is_some_and(|guest| !guest.time.is_exact());
        is_wall && guests.into_iter().any(|guest| guest.accelerator == "tcg")
    };
    let slow = |cell: &&CellRecord<'_>| is_emulated(cell) && share_missed(cell) >= EMULATION_FAILS;
    let worst = cells
        .iter()
        .filter(|cell| cell.cell.probe.frames().is_none())
        .filter(slow)
        .max_by(|a, b| share_missed(a).total_cmp(&share_missed(b)))?;
    let finding = MISSED.invalidates(
        format!(
            "{} of {} ({}) in {}, on CPUs emulated in software",
            format::count(worst.accounting.missed),
            format::count(worst.accounting.intended),
            format::share(worst.accounting.missed, worst.accounting.intended),
            worst.label,
        ),
        "The emulator was too slow for these due times: the figures show the emulator, not the kernel.",
    );
    Some(finding.fixed_by(
        "measure in deterministic time (`--exact`), on a machine with KVM, or with a longer `--interval`"
            .to_owned(),
    ))
}

fn missed(cells: &[CellRecord<'_>]) -> Option<Finding> {
    if let Some(finding) = emulator_too_slow(cells) {
        return Some(finding);
    }
    let share = share_missed;
    let worst = cells
        .iter()
        // Skipped frames of a player are its result, not a problem.
        .filter(|cell| cell.cell.probe.frames().is_none() && cell.accounting.missed > 0)
        .max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let effect = match cells.iter().any(rules_differ) {
        true => {
            "Figures per wakeup do not contain them; for a periodic task, use the figures by schedule."
        }
        false => "The p99 and the p99.9 are the same per wakeup and by schedule.",
    };
    Some(MISSED.warning(
        format!(
            "{} of {} ({}) in {}{}",
            format::count(worst.accounting.missed),
            format::count(worst.accounting.intended),
            format::share(worst.accounting.missed, worst.accounting.intended),
            worst.label,
            match cells {
                [_] => "",
                _ => ", the cell with most",
            },
        ),
        effect,
    ))
}

fn unprepared(cells: &[CellRecord<'_>]) -> Option<Finding> {
    let count = |cell: &CellRecord<'_>| -> u64 {
        let tasks = cell.measurements.iter().flat_map(|measurement| &measurement.tasks);
        tasks.filter_map(|task| Some(task.by_dirt.as_ref()?.unprepared.len() as u64)).sum()
    };
    let share =
        |cell: &&CellRecord<'_>| count(cell) as f64 / cell.accounting.observed.max(1) as f64;
    let worst = cells.iter().max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let (late, observed) = (count(worst), worst.accounting.observed);
    (late > 0).then(|| {
        CACHES
            .warning(
                format!(
                    "they were not ready for {} of {} wakeups ({}) in {}",
                    format::count(late),
                    format::count(observed),
                    format::share(late, observed),
                    worst.label
                ),
                "These wakeups are in no kind of dirt. The most dirt takes longest, so it loses most.",
            )
            .fixed_by("measure on an idle machine, or with a longer `--interval`".to_owned())
    })
}

/// How much of the latency of messages is that of the line and its receiver.
fn receiver(cells: &[CellRecord<'_>]) -> Option<Finding> {
    let longest = |cell: &&CellRecord<'_>| {
        let tasks = cell.measurements.iter().flat_map(|measurement| &measurement.tasks);
        tasks.filter_map(|task| Some(task.messages.as_ref()?.receiver.max)).max()
    };
    let worst = cells.iter().filter(|cell| longest(cell).is_some()).max_by_key(longest)?;
    let error = format::latency(longest(&worst)?);
    let fact =
        format!("line and receiver took up to {error} of a message's latency in {}", worst.label);
    Some(
        RECEIVER
            .warning(fact, "Latencies include that, whatever the policy of the output thread is."),
    )
}

/// Whether the p99 or the p99.9 by schedule differs from that per wakeup, as printed.
fn rules_differ(cell: &CellRecord<'_>) -> bool {
    let both = both_rules(&cell.measurements);
    [0.99, 0.999].into_iter().any(|share| {
        let [per_wakeup, by_schedule] =
            both.each_ref().map(|histogram| supported(histogram, share).map(format::latency));
        per_wakeup != by_schedule
    })
}

fn throttled(run: &Run) -> Option<Finding> {
    let time: Nanos = run.measurements.iter().filter_map(|found| found.rates.throttled).sum();
    (time > Nanos::ZERO).then(|| {
        QUOTA
            .invalidates(
                format!("the quota paused this process's cgroup for {}", format::latency(time)),
                "These pauses count as latency, but the machine does not cause them.",
            )
            .fixed_by("tactus doctor  # shows the quota and how to remove it".to_owned())
    })
}

fn steal(run: &Run, cells: &[CellRecord<'_>]) -> Option<Finding> {
    let cpus = run.header.facts_before.cpu.online.as_ref().map_or(1, |online| online.len().max(1));
    // Steal time, and the time of all CPUs.
    let stolen = |cells: &[CellRecord<'_>]| -> (u64, u64) {
        let rates = || cells.iter().flat_map(|cell| &cell.measurements).map(|found| &found.rates);
        let steal: Nanos = rates().filter_map(|rates| rates.steal).sum();
        let over: Nanos = rates().map(|rates| rates.over).sum();
        (steal.as_nanos(), over.as_nanos().saturating_mul(cpus as u64).max(1))
    };
    let part = |(steal, whole): (u64, u64)| steal as f64 / whole as f64;
    let (steal, whole) = stolen(cells);
    if steal == 0 {
        return None;
    }
    let of_cell = |cell| stolen(std::slice::from_ref(cell));
    let worst = cells.iter().max_by(|a, b| part(of_cell(a)).total_cmp(&part(of_cell(b))))?;
    let (worst_steal, worst_whole) = of_cell(worst);
    let most = match cells {
        [_] => String::new(),
        _ => format!(", most in {} ({})", worst.label, format::share(worst_steal, worst_whole)),
    };
    let fact = format!(
        "{} of CPU time ({}){most}",
        format::latency(Nanos::from_nanos(steal)),
        format::share(steal, whole),
    );
    let samples = kind(cells).noun();
    let found = if part((steal, whole)) >= STEAL_RULES {
        STEAL.invalidates(
            fact,
            format!(
                "The hypervisor paused this VM; about that share of {samples}s was hit. Even the p90 \
                 shows the host, not this machine."
            ),
        )
    } else {
        STEAL.warning(
            fact,
            format!(
                "The hypervisor paused this VM; about that share of {samples}s was hit. Quantiles beyond \
                 {} show the host rather than this machine.",
                format::share(whole.saturating_sub(steal), whole),
            ),
        )
    };
    Some(
        found.fixed_by(
            "measure when the host is quiet, or use dedicated CPUs on the host".to_owned(),
        ),
    )
}

fn lost_events(run: &Run) -> Option<Finding> {
    let recordings = || {
        let traced = run.measurements.iter().filter_map(|found| found.traced.as_ref());
        traced.map(|traced| traced.recording)
    };
    let lost = recordings().map(|recording| recording.lost).fold(0, u64::saturating_add);
    let kept = recordings().map(|recording| recording.events).fold(0, u64::saturating_add);
    (lost > 0).then(|| {
        EVENTS
            .warning(
                format!(
                    "{} of {} were lost",
                    format::count(lost),
                    format::counted(kept.saturating_add(lost), "event")
                ),
                "Explanations near these gaps may miss causes; latencies are not affected.",
            )
            .fixed_by("record a lighter load, or a shorter time with `--traced`".to_owned())
    })
}

fn early(cells: &[CellRecord<'_>]) -> Option<Finding> {
    let early: u64 = cells.iter().map(|cell| cell.accounting.early).sum();
    (early > 0).then(|| {
        EARLY.warning(
            format!("{} before the due time", format::counted(early, kind(cells).noun())),
            "Their latency counts as 0.",
        )
    })
}
