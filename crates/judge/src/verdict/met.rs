//! What a run met on its way.

use std::collections::BTreeSet;

use tactus_model::format;
use tactus_model::result::Shortfall;
use tactus_model::run::{Run, RunStatus};
use tactus_model::time::Nanos;

use super::evidence::{Evidence, named};
use crate::doctor::cpu::STEAL;
use crate::doctor::scheduling::QUOTA;
use crate::finding::{Check, Finding};

pub(crate) const TURNS: Check = Check {
    name: "turns",
    why: "Every cell is measured in every round, so that drift of the machine, or a seed, meets all of them alike.",
};

pub(crate) const ACCOUNTING: Check = Check {
    name: "accounting",
    why: "Every due time is observed, missed or dropped; what is none of these was lost silently.",
};

pub(crate) const GRANTED: Check = Check {
    name: "granted",
    why: "A cell tells of the settings under which it was really measured.",
};

pub(crate) const LOAD: Check =
    Check { name: "load", why: "A cell is named after the work that competed with its probe." };

pub(crate) const SAMPLES: Check = Check {
    name: "samples kept",
    why: "The memory for samples is taken before the window opens and holds no more than sample-limit.",
};

pub(crate) const MISSED: Check = Check {
    name: "missed due times",
    why: "A wakeup that comes later than the next is due takes that one's place.",
};

pub(crate) const EARLY: Check =
    Check { name: "early wakeups", why: "A timer is not to expire before its time." };

pub(crate) const EVENTS: Check = Check {
    name: "recorded events",
    why: "Who delayed a wakeup is told from the kernel's events, which have to be all there.",
};

/// From this share of the CPU time on even the p90 is the host's.
const STEAL_RULES: f64 = 0.1;

/// From this share of a cell's due times on even its p99 may be among those not kept.
const DROPPED_RULES: f64 = 0.01;

pub(super) fn findings(run: &Run, cells: &[Evidence<'_>]) -> Vec<Finding> {
    let singly = [
        nothing_measured(run),
        cut_short(run),
        failures(run),
        unbalanced(cells),
        absent_load(cells),
        ended_load(cells),
        dropped(cells),
        missed(cells),
        throttled(run),
        steal(run, cells),
        lost_events(run),
        early(cells),
    ];
    let refused = shortfalls(run).into_iter().map(not_granted);
    singly.into_iter().flatten().chain(refused).collect()
}

/// The shortfalls of all turns, each once, in the order in which they came up.
pub fn shortfalls(run: &Run) -> Vec<&Shortfall> {
    let mut seen = BTreeSet::new();
    run.measurements
        .iter()
        .flat_map(|measurement| &measurement.shortfalls)
        .filter(|shortfall| seen.insert((&shortfall.asked, &shortfall.granted, &shortfall.reason)))
        .collect()
}

fn nothing_measured(run: &Run) -> Option<Finding> {
    run.measurements.is_empty().then(|| {
        TURNS.invalidates("none gave a result", "There are no figures that could be relied on.")
    })
}

fn cut_short(run: &Run) -> Option<Finding> {
    let plan = &run.header.plan;
    let planned = u64::from(plan.rounds) * plan.cells.len() as u64;
    let taken = (run.measurements.len() + run.failures.len()) as u64;
    (run.header.status != RunStatus::Complete).then(|| {
        TURNS
            .warning(
                format!(
                    "the run is {}: {} of {} were taken",
                    run.header.status,
                    format::count(taken),
                    format::counted(planned, "turn")
                ),
                "Cells have fewer rounds than planned, or none.",
            )
            .fixed_by(format!("tactus measure --continue {}", run.header.id))
    })
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
        "{} gave no result: {label}, round {}: {}{more}",
        format::counted(run.failures.len() as u64, "turn"),
        first.turn.round + 1,
        first.reason
    );
    let effect = "Cells have fewer rounds than planned, or none.";
    Some(TURNS.warning(fact, effect).fixed_by(first.hint.clone()))
}

fn unbalanced(cells: &[Evidence<'_>]) -> Option<Finding> {
    let cells = named(cells.iter().filter(|cell| !cell.accounting.balances()))?;
    Some(ACCOUNTING.invalidates(
        format!("intended is not observed + missed + dropped in {cells}"),
        "This is a defect of Tactus; trust none of these figures, and please report it.",
    ))
}

fn not_granted(shortfall: &Shortfall) -> Finding {
    let Shortfall { asked, granted, reason, fix } = shortfall;
    GRANTED
        .warning(
            format!("asked for {asked}, got {granted}: {reason}"),
            "The cells that asked for it ran so; their figures speak of what was granted.",
        )
        .fixed_by(fix.clone())
}

fn absent_load(cells: &[Evidence<'_>]) -> Option<Finding> {
    let absent = |cell: &&Evidence<'_>| {
        !cell.cell.load.load.is_idle()
            && cell.measurements.iter().any(|found| found.load.copies == 0)
    };
    let cells = named(cells.iter().filter(absent))?;
    Some(
        LOAD.invalidates(
            format!("no copy of it ran when a window opened in {cells}"),
            "These figures are of a machine without this load.",
        )
        .fixed_by(
            "run the load by itself to see why it does not start, and measure again".to_owned(),
        ),
    )
}

fn ended_load(cells: &[Evidence<'_>]) -> Option<Finding> {
    let ended = |cell: &&Evidence<'_>| {
        !cell.cell.load.load.is_idle() && cell.measurements.iter().any(|found| found.load.ended > 0)
    };
    let cells = named(cells.iter().filter(ended))?;
    Some(
        LOAD.warning(
            format!("copies of it ended by themselves before the window closed in {cells}"),
            "A part of these samples was taken under less load than the cell's name says.",
        )
        .fixed_by("give the load work for longer than warmup and duration together".to_owned()),
    )
}

fn dropped(cells: &[Evidence<'_>]) -> Option<Finding> {
    let share = |cell: &Evidence<'_>| {
        cell.accounting.dropped as f64 / cell.accounting.intended.max(1) as f64
    };
    let worst = cells.iter().max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let dropped: u64 = cells.iter().map(|cell| cell.accounting.dropped).sum();
    if dropped == 0 {
        return None;
    }
    let fact = format!(
        "{} took place and {} not kept, at most {} ({})",
        format::counted(dropped, "wakeup"),
        if dropped == 1 { "was" } else { "were" },
        format::share(worst.accounting.dropped, worst.accounting.intended),
        worst.label,
    );
    let found = if share(worst) >= DROPPED_RULES {
        SAMPLES.invalidates(fact, "The end of a window is missing, and any quantile may lie there.")
    } else {
        SAMPLES.warning(fact, "The worst wakeup may be among them.")
    };
    Some(found.fixed_by("raise --sample-limit, or measure with a shorter --duration".to_owned()))
}

fn missed(cells: &[Evidence<'_>]) -> Option<Finding> {
    let share = |cell: &Evidence<'_>| {
        cell.accounting.missed as f64 / cell.accounting.intended.max(1) as f64
    };
    let worst = cells
        .iter()
        // What players skip is their result, not a flaw of it.
        .filter(|cell| cell.cell.probe.frames().is_none() && cell.accounting.missed > 0)
        .max_by(|a, b| share(a).total_cmp(&share(b)))?;
    Some(MISSED.warning(
        format!(
            "at most {} ({} under {})",
            format::share(worst.accounting.missed, worst.accounting.intended),
            format::count(worst.accounting.missed),
            worst.label
        ),
        "Judge a periodic task by the intended schedule, not by the figures per wakeup.",
    ))
}

fn throttled(run: &Run) -> Option<Finding> {
    let time: Nanos = run.measurements.iter().filter_map(|found| found.rates.throttled).sum();
    (time > Nanos::ZERO).then(|| {
        QUOTA
            .invalidates(
                format!(
                    "it held this process's cgroup back for {} meanwhile",
                    format::latency(time)
                ),
                "Such pauses count as latency here and are the quota's, not the machine's.",
            )
            .fixed_by("tactus doctor  # tells whose quota it is, and how to lift it".to_owned())
    })
}

fn steal(run: &Run, cells: &[Evidence<'_>]) -> Option<Finding> {
    let cpus =
        run.header.facts_before.cpu.online.as_ref().map_or(1, |online| online.len().max(1));
    // CPU time given to others, and CPU time in all.
    let stolen = |cells: &[Evidence<'_>]| -> (u64, u64) {
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
        _ => format!(", at most {} ({})", format::share(worst_steal, worst_whole), worst.label),
    };
    let fact = format!(
        "the hypervisor gave {} of CPU time to others meanwhile, {} of it{most}",
        format::latency(Nanos::from_nanos(steal)),
        format::share(steal, whole),
    );
    let found = if part((steal, whole)) >= STEAL_RULES {
        STEAL.invalidates(
            fact,
            "About as large a share of the wakeups fell into such pauses, so that even the p90 is \
             the host's and not this machine's.",
        )
    } else {
        STEAL.warning(
            fact,
            format!(
                "About as large a share of the wakeups fell into such pauses: quantiles beyond \
                 {} are the host's rather than this machine's.",
                format::share(whole.saturating_sub(steal), whole),
            ),
        )
    };
    Some(found.fixed_by(
        "measure when the host is quiet, or ask for dedicated CPUs there".to_owned(),
    ))
}

fn lost_events(run: &Run) -> Option<Finding> {
    let recordings = || {
        let traced = run.measurements.iter().filter_map(|found| found.traced.as_ref());
        traced.map(|traced| traced.recording)
    };
    let lost: u64 = recordings().map(|recording| recording.lost).sum();
    let kept: u64 = recordings().map(|recording| recording.events).sum();
    (lost > 0).then(|| {
        EVENTS
            .warning(
                format!(
                    "{} of {} were lost",
                    format::count(lost),
                    format::counted(kept.saturating_add(lost), "event")
                ),
                "Explanations near such a gap blame what can be seen only; latencies are not affected.",
            )
            .fixed_by("record a calmer load, or for a shorter time with --traced".to_owned())
    })
}

fn early(cells: &[Evidence<'_>]) -> Option<Finding> {
    let early: u64 = cells.iter().map(|cell| cell.accounting.early).sum();
    (early > 0).then(|| {
        EARLY.warning(
            format!("{} came before their time", format::counted(early, "wakeup")),
            "They count as not late at all.",
        )
    })
}
