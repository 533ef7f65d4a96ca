//! Causes of slow or stopped CPUs: frequencies, idle states, siblings, the hypervisor.

use tactus_model::cpus::CpuList;
use tactus_model::facts::MachineFacts;
use tactus_model::format;
use tactus_model::time::Nanos;

use super::{boot, hypervisor, on_machine};
use crate::finding::{Check, Finding};

pub(crate) const HYPERVISOR: Check = Check {
    name: "hypervisor",
    why: "In a virtual machine, the host's kernel decides when the CPUs run.",
};

pub(crate) const STEAL: Check = Check {
    name: "steal time",
    why: "During steal time, the hypervisor runs something else and nothing runs here.",
};

pub(crate) const FREQUENCY: Check = Check {
    name: "frequency governor",
    why: "The governor decides how fast a CPU runs after it was idle.",
};

pub(crate) const IDLE: Check = Check {
    name: "idle states",
    why: "The deeper the idle state (C-state), the longer a CPU takes to leave it.",
};

pub(crate) const SIBLINGS: Check =
    Check { name: "SMT siblings", why: "Two logical CPUs of one core share its execution units." };

pub(crate) const ISOLATION: Check = Check {
    name: "isolated CPUs",
    why: "On an isolated CPU, only the kernel's own tick and callbacks disturb a task.",
};

/// Up to this duration, leaving an idle state is short compared with the other costs of a wakeup.
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
        None => HYPERVISOR.unknown("these CPUs do not show whether there is one"),
        Some("none") => HYPERVISOR.fine("none"),
        Some(name) => HYPERVISOR
            .warning(
                name,
                "Pauses by the host count as latency and look like pauses of the measured kernel. \
                 Timers and interrupts take detours through the host.",
            )
            .fixed_by(
                "measure on the host itself, or pin the virtual CPUs on the host \
                 (virsh vcpupin DOMAIN VCPU CPU)"
                    .to_owned(),
            ),
    }
}

fn steal(facts: &MachineFacts) -> Finding {
    match (hypervisor(facts), facts.steal) {
        (_, None) => STEAL.unknown("/proc/stat cannot be read"),
        (_, Some(Nanos::ZERO)) => STEAL.fine("none since boot"),
        (_, Some(steal)) => {
            let seconds = steal.as_nanos() as f64 / 1e9;
            STEAL
                .warning(
                    format!("{seconds:.2} s since boot, all CPUs together"),
                    "This VM shares its CPUs, and wakeups during steal time are late. Each run \
                     reports its own steal time; `tactus doctor --look 10s` shows the current rate.",
                )
                .fixed_by("use dedicated CPUs on the host; a guest cannot fix it".to_owned())
        }
    }
}

/// The steal time between two readings.
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
            "The hypervisor pauses this VM; about that share of wakeups is late because of it.",
        )
        .fixed_by("measure when the host is quiet, or use dedicated CPUs on the host".to_owned())
}

fn frequency(facts: &MachineFacts) -> Finding {
    let Some(governors) = &facts.cpu.governors else {
        return FREQUENCY.unknown("the kernel does not show it");
    };
    let drivers = facts.cpu.frequency_drivers.clone().unwrap_or_default().join(", ");
    let driver = if drivers.is_empty() { drivers } else { format!(" ({drivers})") };
    let fact = format!("{}{driver}", governors.join(", "));
    if governors.is_empty() {
        return FREQUENCY.unknown(match hypervisor(facts) {
            Some(_) => "the host controls the frequency, not this kernel",
            None => "this kernel does not control the frequency; the firmware may",
        });
    }
    if governors.iter().all(|governor| governor == "performance") {
        return FREQUENCY.fine(fact);
    }
    FREQUENCY
        .warning(
            fact,
            "CPUs are slow when idle and fast when busy, so a load can shorten latencies, and \
             figures depend on what ran before the probe.",
        )
        .fixed_by(on_machine(
            facts,
            "echo performance | sudo tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
        ))
}

fn idle(facts: &MachineFacts) -> Finding {
    let cpu = &facts.cpu;
    let Some(states) = &cpu.idle_states else {
        return IDLE.unknown("the kernel does not show them");
    };
    if states.is_empty() {
        return IDLE.unknown(match hypervisor(facts) {
            Some(_) => "the kernel has no driver for them; the host decides",
            None => "the kernel has no driver for them; the firmware may use them",
        });
    }
    let names = states.join(", ");
    let limit = cpu.idle_exit_latency_limit_us;
    if let Some((exit, limit)) = cpu.idle_exit_latency_us_max.zip(limit)
        && limit < exit
        && limit <= QUICK_EXIT_US
    {
        return IDLE.fine(format!("{names}; a program limits their exit latency to {limit} µs"));
    }
    match cpu.idle_exit_latency_us_max {
        None => IDLE.unknown(format!("{names}; their exit latencies are not shown")),
        Some(exit) if exit <= QUICK_EXIT_US => {
            IDLE.fine(format!("{names}; {exit} µs to leave the deepest enabled state"))
        }
        Some(exit) => IDLE
            .warning(
                format!("{names}; {exit} µs to leave the deepest"),
                format!(
                    "A wakeup on an idle CPU is up to {exit} µs late, and a load that keeps CPUs \
                     awake shortens latencies."
                ),
            )
            .fixed_by(
                "tactus measure --cpu-dma-latency 0ns  # keeps all CPUs awake during the measurement"
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
                "A busy sibling can double the run time of the measured code, and the scheduler \
                 does not see it.",
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
            "The kernel still interrupts a task on such a CPU, for microseconds each time.",
        )
        .fixed_by(boot::fix(facts, &parameters.join(" ")))
}

/// The CPUs whose RCU callbacks run on other CPUs: those of `rcu_nocbs`, and all
/// CPUs without a tick (`Documentation/admin-guide/kernel-parameters.txt`).
fn without_callbacks(facts: &MachineFacts, tickless: &CpuList) -> CpuList {
    let all = facts.cpu.present.as_ref().or(facts.cpu.online.as_ref());
    let named = match boot::value(facts, "rcu_nocbs") {
        Some("all") => all.cloned(),
        Some(list) => list.parse().ok(),
        None => None,
    };
    named.unwrap_or_default().iter().chain(tickless.iter()).collect()
}
