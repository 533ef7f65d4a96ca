//! What the doctor says of the machine, as far as it bears on the figures of a run.

use tactus_model::cpus::CpuList;
use tactus_model::policy::Scheduling;
use tactus_model::run::Run;
use tactus_model::time::Nanos;

use super::evidence::Evidence;
use crate::doctor::{clock, examine, heat, interrupt, meanwhile, memory, cpu, scheduling};
use crate::finding::{Check, Finding, State};

/// What a rule looks at.
type Subject<'s> = (&'s Run, &'s [Evidence<'s>]);

/// Whether a check bears on a run.
type Rule = fn(Subject<'_>) -> bool;

/// The doctor's checks that bear on figures, and when.
///
/// Of the others some are properties of the machine that are measured along; and what
/// this process may not do is told by what it was refused.
pub(super) const BEARING: [(&Check, Rule); 19] = [
    (&clock::SOURCE, always),
    (&clock::TIMERS, always),
    (&cpu::HYPERVISOR, always),
    (&cpu::FREQUENCY, always),
    (&cpu::IDLE, leaves_idle_states),
    (&cpu::SIBLINGS, always),
    (&cpu::ISOLATION, runs_isolated),
    (&interrupt::AFFINITY, runs_isolated),
    (&interrupt::BALANCE, always),
    (&scheduling::QUOTA, quota_may_have_acted),
    (&scheduling::OTHERS, yields_to_others),
    (&scheduling::RECORDINGS, always),
    (&scheduling::CPUS, always),
    (&scheduling::LOAD, always),
    (&scheduling::AUTOGROUP, is_favoured),
    (&heat::HEAT, always),
    (&heat::FIRMWARE, always),
    (&memory::SWAP, has_unlocked_memory),
    (&memory::HUGE_PAGES, has_unlocked_memory),
];

pub(super) fn findings(run: &Run, cells: &[Evidence<'_>]) -> Vec<Finding> {
    let before = examine(&run.header.facts_before);
    let after = run.header.facts_after.as_ref().map(examine).unwrap_or_default();
    let between = match &run.header.facts_after {
        Some(after) => meanwhile(&run.header.facts_before, after),
        None => Vec::new(),
    };
    let found = |findings: &[Finding], check: &Check| {
        findings.iter().find(|finding| finding.check == check.name).cloned()
    };
    BEARING
        .iter()
        .filter(|(_, bears)| bears((run, cells)))
        .filter_map(|(check, _)| {
            // Our own loads are what is busy at the end.
            let after = found(&after, check).filter(|_| check.name != scheduling::LOAD.name);
            found(&between, check).or_else(|| worse(found(&before, check), after))
        })
        .collect()
}

/// The worse of two findings of one check. What came up during the run says so.
fn worse(before: Option<Finding>, after: Option<Finding>) -> Option<Finding> {
    match (before, after) {
        (Some(before), Some(mut after)) if after.state < before.state => {
            // What is no longer known at the end was known when it began.
            if after.state == State::Unknown {
                return Some(before);
            }
            after.fact = format!("{}, after the run", after.fact);
            Some(after)
        }
        (before, after) => before.or(after),
    }
}

fn always(_: Subject<'_>) -> bool {
    true
}

/// Whether idle CPUs may sleep as deeply as they like in some cell.
fn leaves_idle_states((run, _): Subject<'_>) -> bool {
    run.header.plan.cells.iter().any(|cell| cell.policy.cpu_dma_latency_us.is_none())
}

/// Whether a measured task could run on a CPU that is isolated.
fn runs_isolated((run, cells): Subject<'_>) -> bool {
    let isolated: CpuList = run.header.facts_before.cpu.isolated.clone().unwrap_or_default();
    let tasks = || cells.iter().flat_map(|cell| &cell.measurements).flat_map(|found| &found.tasks);
    isolated.iter().any(|cpu| tasks().any(|task| task.granted.cpus.contains(cpu)))
}

/// Whether it was not counted how long a quota held us back, or it did so.
fn quota_may_have_acted((run, _): Subject<'_>) -> bool {
    run.measurements.is_empty()
        || run.measurements.iter().any(|found| found.rates.throttled != Some(Nanos::ZERO))
}

/// Whether a real-time task of another program goes before some cell's tasks.
fn yields_to_others((run, _): Subject<'_>) -> bool {
    let tasks = run.header.facts_before.scheduling.realtime_tasks.iter().flatten();
    let others: Vec<u8> = tasks.map(|task| rank_of(task)).collect();
    let highest = others.into_iter().max().unwrap_or(0);
    run.header.plan.cells.iter().any(|cell| rank(cell.policy.scheduling) <= highest)
        || run.header.facts_before.scheduling.realtime_tasks.is_none()
}

/// The rank of a task as facts name it: `pipewire fifo:88`.
fn rank_of(task: &str) -> u8 {
    match task.rsplit_once(' ') {
        Some((_, "deadline")) => DEADLINE_RANK,
        Some((_, class)) => class.parse().map_or(DEADLINE_RANK, rank),
        None => DEADLINE_RANK,
    }
}

/// Deadline tasks go before every priority.
const DEADLINE_RANK: u8 = 100;

/// The order in which the kernel's classes go before each other; 0 for ordinary tasks.
fn rank(scheduling: Scheduling) -> u8 {
    match scheduling {
        Scheduling::Deadline { .. } => DEADLINE_RANK,
        Scheduling::Fifo(priority) | Scheduling::RoundRobin(priority) => priority.get(),
        Scheduling::Other { .. } | Scheduling::Batch { .. } | Scheduling::Idle => 0,
    }
}

/// Whether a cell relies on a nice value.
fn is_favoured((run, _): Subject<'_>) -> bool {
    run.header.plan.cells.iter().any(|cell| {
        matches!(
            cell.policy.scheduling,
            Scheduling::Other { nice } | Scheduling::Batch { nice } if nice != 0
        )
    })
}

/// Whether the memory of a measured task could be swapped out or moved.
fn has_unlocked_memory((_, cells): Subject<'_>) -> bool {
    let mut tasks = cells.iter().flat_map(|cell| &cell.measurements).flat_map(|found| &found.tasks);
    tasks.any(|task| !task.granted.memory_locked)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tactus_model::facts::MachineFacts;
    use tactus_model::time::Instant;

    use super::*;

    /// The doctor's checks that do not bear on a run's figures, and why.
    const NOT_BEARING: [(&str, &str); 14] = [
        ("fair server", "no measured task computes for so long"),
        ("kernel debugging", "it is measured along"),
        ("real-time classes", "what was refused is told by the run"),
        ("deadline class", "what was refused is told by the run"),
        ("memory locking", "what was refused is told by the run"),
        ("tracing", "what was refused is told by the run"),
        ("container", "its limits are checks of their own"),
        ("real-time throttling", "no measured task computes for so long"),
        ("timer slack", "measuring sets its own"),
        ("preemption model", "it is measured along"),
        ("interrupt threads", "they are measured along"),
        ("watchdogs", "they are measured along"),
        ("tick rate", "it is measured along"),
        ("steal", "the run counts its own"),
    ];

    #[test]
    fn every_check_of_the_doctor_bears_on_figures_or_has_a_reason_not_to() {
        let facts = MachineFacts::unknown(Instant::from_nanos(0));
        let checks: BTreeSet<&str> = examine(&facts).iter().map(|found| found.check).collect();
        let bearing: BTreeSet<&str> = BEARING.iter().map(|(check, _)| check.name).collect();
        let not: BTreeSet<&str> = NOT_BEARING.iter().map(|(check, _)| *check).collect();
        assert!(bearing.is_disjoint(&not));
        assert_eq!(bearing.union(&not).copied().collect::<BTreeSet<_>>(), checks);
    }
}
