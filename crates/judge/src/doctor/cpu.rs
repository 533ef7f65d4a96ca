//! What slows or stops CPUs: frequencies, idle states, siblings, the hypervisor.

use tactus_model::cpus::CpuList;
use tactus_model::facts::MachineFacts;
use tactus_model::format;
use tactus_model::time::Nanos;

use super::{boot, hypervisor, on_machine};
use crate::finding::{Check, Finding};

pub(crate) const HYPERVISOR: Check = Check {
    name: "hypervisor",
    why: "Below a guest's kernel another one decides when its CPUs run.",
};

pub(crate) const STEAL: Check = Check {
    name: "steal",
    why: "Time that the hypervisor gave to others is time in which nothing here could run.",
};

pub(crate) const FREQUENCY: Check = Check {
    name: "frequency governor",
    why: "It decides how fast a CPU runs after it was idle.",
};

pub(crate) const IDLE: Check = Check {
    name: "idle states",
    why: "The deeper a CPU sleeps, the longer it takes to wake up.",
};

pub(crate) const SIBLINGS: Check = Check {
    name: "SMT siblings",
    why: "Two logical CPUs of one core share what executes instructions.",
};

pub(crate) const ISOLATION: Check = Check {
    name: "isolated CPUs",
    why: "Nothing disturbs a task that is alone on its CPU but the kernel's own tick and callbacks.",
};

/// Up to here leaving an idle state is hidden among the other costs of a wakeup.
const QUICK_EXIT_US: u64 = 10;

pub(super) fn examine(facts: &MachineFacts) -> Vec<Finding> {
    vec![
        virtualization(facts),
        steal(facts),
        frequency(facts),
        idle(facts),
        siblings(facts),
        isolation(facts),
    ]
}

fn virtualization(facts: &MachineFacts) -> Finding {
    match facts.cpu.virtualization.as_deref() {
        None => HYPERVISOR.unknown("these CPUs do not show one"),
        Some("none") => HYPERVISOR.fine("none"),
        Some(name) => HYPERVISOR
            .warning(
                name,
                "What the host does counts as latency here: its pauses look like those of the kernel \
                 that is measured, and timers and interrupts take detours through it.",
            )
            .fixed_by(
                "measure on the machine itself, or pin its virtual CPUs on the host \
                 (virsh vcpupin DOMAIN VCPU CPU)"
                    .to_owned(),
            ),
    }
}

fn steal(facts: &MachineFacts) -> Finding {
    match (hypervisor(facts), facts.steal) {
        (_, None) => STEAL.unknown("/proc/stat cannot be read"),
        (_, Some(Nanos::ZERO)) => STEAL.fine("none counted since boot"),
        (_, Some(steal)) => {
            let seconds = steal.as_nanos() as f64 / 1e9;
            STEAL
                .warning(
                    format!("{seconds:.2} s since boot, all CPUs together"),
                    "The machine shares its CPUs. Runs say how much was taken while they lasted, \
                     and tactus doctor --look 10s how much is taken now.",
                )
                .fixed_by(
                    "ask for dedicated CPUs on the host; a guest cannot fix it".to_owned(),
                )
        }
    }
}

/// How much the hypervisor gave to others between two looks.
pub(super) fn steal_between(before: &MachineFacts, after: &MachineFacts, over: Nanos) -> Finding {
    let (Some(earlier), Some(later)) = (before.steal, after.steal) else { return steal(after) };
    let taken = later.saturating_sub(earlier);
    let seconds = format::span(over);
    if taken == Nanos::ZERO {
        return STEAL.fine(format!("none in {seconds}"));
    }
    let cpus = after.cpu.online.as_ref().map_or(1, |online| online.len().max(1));
    let whole = over.as_nanos().saturating_mul(cpus as u64);
    STEAL
        .warning(
            format!(
                "{} in {seconds}, {} of all CPU time",
                format::latency(taken),
                format::share(taken.as_nanos(), whole)
            ),
            "About as large a share of wakeups falls into such pauses now, and what is later than \
             the others is the host's.",
        )
        .fixed_by(
            "measure when the host is quiet, or ask for dedicated CPUs there".to_owned(),
        )
}

fn frequency(facts: &MachineFacts) -> Finding {
    let Some(governors) = &facts.cpu.governors else {
        return FREQUENCY.unknown("the kernel shows none");
    };
    let drivers = facts.cpu.frequency_drivers.clone().unwrap_or_default().join(", ");
    let driver = if drivers.is_empty() { drivers } else { format!(" ({drivers})") };
    let fact = format!("{}{driver}", governors.join(", "));
    if governors.is_empty() {
        return FREQUENCY.unknown(match hypervisor(facts) {
            Some(_) => "the kernel drives no frequencies; its host does",
            None => "the kernel drives no frequencies; the firmware may",
        });
    }
    if governors.iter().all(|governor| governor == "performance") {
        return FREQUENCY.fine(fact);
    }
    FREQUENCY
        .warning(
            fact,
            "An idle machine is slow and a busy one fast, so that a load can make latencies shorter, \
             and a probe's figures depend on what ran before it.",
        )
        .fixed_by(on_machine(
            facts,
            "echo performance | sudo tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
        ))
}

fn idle(facts: &MachineFacts) -> Finding {
    let cpu = &facts.cpu;
    let Some(states) = &cpu.idle_states else {
        return IDLE.unknown("the kernel shows none");
    };
    if states.is_empty() {
        return IDLE.unknown(match hypervisor(facts) {
            Some(_) => "the kernel has no driver for them; an idle CPU is left to the host",
            None => "the kernel has no driver for them; the firmware may",
        });
    }
    let names = states.join(", ");
    let limit = cpu.idle_exit_latency_limit_us;
    if let Some((exit, limit)) = cpu.idle_exit_latency_us_max.zip(limit)
        && limit < exit
        && limit <= QUICK_EXIT_US
    {
        return IDLE.fine(format!("{names}; a program keeps them to exits of {limit} µs"));
    }
    match cpu.idle_exit_latency_us_max {
        None => IDLE.unknown(format!("{names}; how long it takes to leave them is not shown")),
        Some(exit) if exit <= QUICK_EXIT_US => {
            IDLE.fine(format!("{names}; {exit} µs to leave the deepest that is enabled"))
        }
        Some(exit) => IDLE
            .warning(
                format!("{names}; {exit} µs to leave the deepest"),
                format!(
                    "A wakeup on an idle CPU comes up to {exit} µs late, and a load that keeps \
                     CPUs awake makes latencies shorter."
                ),
            )
            .fixed_by(
                "tactus measure --cpu-dma-latency 0ns  # keeps all CPUs awake while it measures"
                    .to_owned(),
            ),
    }
}

fn siblings(facts: &MachineFacts) -> Finding {
    match facts.cpu.smt {
        None => SIBLINGS.unknown("the kernel does not show which CPUs share a core"),
        Some(false) => SIBLINGS.fine("each CPU has a core of its own"),
        Some(true) => SIBLINGS
            .warning(
                "several CPUs share a core",
                "What the sibling runs slows the measured code and can double the time it takes, \
                 with no trace in the scheduler.",
            )
            .fixed_by(on_machine(facts, "echo off | sudo tee /sys/devices/system/cpu/smt/control")),
    }
}

fn isolation(facts: &MachineFacts) -> Finding {
    let Some(isolated) = &facts.cpu.isolated else {
        return ISOLATION.unknown("the kernel does not show them");
    };
    if isolated.is_empty() {
        return ISOLATION.fine("none: measured tasks share CPUs with everything else");
    }
    let tickless = facts.cpu.nohz_full.clone().unwrap_or_default();
    let offloaded = without_callbacks(facts, &tickless);
    let with_tick = isolated.without(&tickless);
    let with_callbacks = isolated.without(&offloaded);
    let mut lacking = Vec::new();
    let mut parameters = Vec::new();
    if !with_tick.is_empty() {
        lacking.push(format!("the tick stays on {with_tick}"));
        parameters.push(format!("nohz_full={isolated}"));
    }
    if !with_callbacks.is_empty() {
        lacking.push(format!("RCU callbacks run on {with_callbacks}"));
        parameters.push(format!("rcu_nocbs={isolated}"));
    }
    if lacking.is_empty() {
        return ISOLATION.fine(format!("{isolated}, without tick and RCU callbacks"));
    }
    ISOLATION
        .warning(
            format!("{isolated}, but {}", lacking.join(" and ")),
            "A task that is alone on such a CPU is still interrupted, for microseconds each time.",
        )
        .fixed_by(boot::fix(facts, &parameters.join(" ")))
}

/// The CPUs whose RCU callbacks run elsewhere: those of `rcu_nocbs`, and
/// every one without a tick (`Documentation/admin-guide/kernel-parameters.txt`).
fn without_callbacks(facts: &MachineFacts, tickless: &CpuList) -> CpuList {
    let all = facts.cpu.present.as_ref().or(facts.cpu.online.as_ref());
    let named = match boot::value(facts, "rcu_nocbs") {
        Some("all") => all.cloned(),
        Some(list) => list.parse().ok(),
        None => None,
    };
    named.unwrap_or_default().iter().chain(tickless.iter()).collect()
}
