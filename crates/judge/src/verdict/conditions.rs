//! The doctor's findings about the machine that affect the figures of a run.

use tactus_model::cpus::CpuList;
use tactus_model::policy::Scheduling;
use tactus_model::run::Run;
use tactus_model::time::Nanos;

use super::cell_record::CellRecord;
use crate::doctor::{clock, cpu, events_between, examine, heat, interrupt, memory, scheduling};
use crate::finding::{Check, Finding, State};

/// The input of a rule.
type Subject<'s> = (&'s Run, &'s [CellRecord<'s>]);

/// Whether a check affects a run.
type Rule = fn(Subject<'_>) -> bool;

/// The doctor's checks that affect figures, each with its condition.
///
/// The other checks are properties that the run measures, or permissions of this process,
/// whose lack the run reports itself.
pub(super) const RELEVANT: [(&Check, Rule); 19] = [
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

pub(super) fn findings(run: &Run, cells: &[CellRecord<'_>]) -> Vec<Finding> {
    let before = examine(&run.header.facts_before);
    let after = run.header.facts_after.as_ref().map(examine).unwrap_or_default();
    let between = match &run.header.facts_after {
        Some(after) => events_between(&run.header.facts_before, after),
        None => Vec::new(),
    };
    let found = |findings: &[Finding], check: &Check| {
        findings.iter().find(|finding| finding.check == check.name).cloned()
    };
    RELEVANT
        .iter()
        .filter(|(_, is_relevant)| is_relevant((run, cells)))
        .filter_map(|(check, _)| {
            // At the end, our own loads have caused the load average.
            let after = found(&after, check).filter(|_| check.name != scheduling::LOAD.name);
            found(&between, check).or_else(|| worse(found(&before, check), after))
        })
        .collect()
}

/// The worse of two findings of one check. The fact says if it arose during the run.
fn worse(before: Option<Finding>, after: Option<Finding>) -> Option<Finding> {
    match (before, after) {
        (Some(before), Some(mut after)) if after.state < before.state => {
            // A fact that cannot be read at the end was known at the start.
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

/// Whether idle states are unlimited in at least one cell.
fn leaves_idle_states((run, _): Subject<'_>) -> bool {
    run.header.plan.cells.iter().any(|cell| cell.policy.cpu_dma_latency_us.is_none())
}

/// Whether a measured task could run on an isolated CPU.
fn runs_isolated((run, cells): Subject<'_>) -> bool {
    let isolated: CpuList = run.header.facts_before.cpu.isolated.clone().unwrap_or_default();
    let tasks = || cells.iter().flat_map(|cell| &cell.measurements).flat_map(|found| &found.tasks);
    isolated.iter().any(|cpu| tasks().any(|task| task.granted.cpus.contains(cpu)))
}

/// Whether a quota paused the run, or the pauses were not counted.
fn quota_may_have_acted((run, _): Subject<'_>) -> bool {
    run.measurements.is_empty()
        || run.measurements.iter().any(|found| found.rates.throttled != Some(Nanos::ZERO))
}

/// Whether a real-time task of another program runs before the tasks of a cell.
fn yields_to_others((run, _): Subject<'_>) -> bool {
    let tasks = run.header.facts_before.scheduling.realtime_tasks.iter().flatten();
    let others: Vec<u8> = tasks.map(|task| rank_of(task)).collect();
    let highest = others.into_iter().max().unwrap_or(0);
    run.header.plan.cells.iter().any(|cell| rank(cell.policy.scheduling) <= highest)
        || run.header.facts_before.scheduling.realtime_tasks.is_none()
}

/// The rank of a task in the form of the facts: `pipewire fifo:88`.
fn rank_of(task: &str) -> u8 {
    match task.rsplit_once(' ') {
        Some((_, "deadline")) => DEADLINE_RANK,
        Some((_, class)) => class.parse().map_or(DEADLINE_RANK, rank),
        None => DEADLINE_RANK,
    }
}

/// The rank of deadline tasks, which run before every priority.
const DEADLINE_RANK: u8 = 100;

/// The rank of a policy: tasks of a higher rank run first; 0 for ordinary tasks.
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

/// Whether the memory of a measured task could be swapped out or migrated.
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

    /// The doctor's checks that do not affect a run's figures, and why.
    const IRRELEVANT: [(&str, &str); 20] = [
        ("fair server", "no measured task runs for so long"),
        ("kernel debugging", "the run measures it"),
        ("real-time classes", "the run reports refusals"),
        ("deadline class", "the run reports refusals"),
        ("memory locking", "the run reports refusals"),
        ("tracing", "the run reports refusals"),
        ("deadline account", "the run reports a refused deadline policy"),
        ("container", "its limits have checks of their own"),
        ("real-time throttling", "no measured task runs for so long"),
        ("timer slack", "probes set their own"),
        ("preemption model", "the run measures it"),
        ("interrupt threads", "the run measures them"),
        ("watchdogs", "the run measures them"),
        ("left by killed runs", "the run removes it first"),
        ("tick rate", "the run measures it"),
        ("steal time", "the run counts its own"),
        ("compaction of locked memory", "the run measures it"),
        ("real-time run limit", "no measured task runs for so long"),
        ("kernel lockdown", "the run reports refusals"),
        ("cpusets", "the run reports its CPUs and refusals"),
    ];

    #[test]
    fn every_check_of_the_doctor_is_relevant_or_has_a_reason_not_to_be() {
        let facts = MachineFacts::unknown(Instant::from_nanos(0));
        let checks: BTreeSet<&str> = examine(&facts).iter().map(|found| found.check).collect();
        let relevant: BTreeSet<&str> = RELEVANT.iter().map(|(check, _)| check.name).collect();
        let not: BTreeSet<&str> = IRRELEVANT.iter().map(|(check, _)| *check).collect();
        assert!(relevant.is_disjoint(&not));
        assert_eq!(relevant.union(&not).copied().collect::<BTreeSet<_>>(), checks);
    }
}
