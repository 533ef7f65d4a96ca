//! The CPUs that handle device interrupts.

use tactus_model::cpus::CpuList;
use tactus_model::facts::MachineFacts;

use super::on_machine;
use crate::finding::{Check, Finding};

pub(crate) const AFFINITY: Check = Check {
    name: "interrupt affinity",
    why: "An interrupt delays the task on the CPU that handles it.",
};

pub(crate) const BALANCE: Check = Check {
    name: "irqbalance",
    why: "irqbalance moves interrupts between CPUs, also during a measurement.",
};

pub(super) fn examine(facts: &MachineFacts) -> Vec<Finding> {
    vec![affinity(facts), balance(facts)]
}

fn affinity(facts: &MachineFacts) -> Finding {
    let Some(interrupted) = &facts.cpu.interrupt_cpus else {
        return AFFINITY.unknown("/proc/irq shows no interrupt with a handler");
    };
    let fact = format!("device interrupts go to {interrupted}");
    let isolated = facts.cpu.isolated.clone().unwrap_or_default();
    let both: CpuList = isolated.iter().filter(|cpu| interrupted.contains(*cpu)).collect();
    if both.is_empty() {
        return AFFINITY.fine(fact);
    }
    let others = facts.cpu.online.clone().unwrap_or_default().without(&isolated);
    AFFINITY
        .warning(
            format!("{fact}, of which {both} is isolated"),
            "Device interrupts delay tasks on the isolated CPUs and dominate their worst cases.",
        )
        .fixed_by(on_machine(
            facts,
            &format!(
                "for irq in /proc/irq/[0-9]*; do echo {others} | sudo tee $irq/smp_affinity_list; done  \
                 # some cannot be moved and report an error"
            ),
        ))
}

fn balance(facts: &MachineFacts) -> Finding {
    match facts.scheduling.irqbalance {
        Some(true) => BALANCE
            .warning(
                "running",
                "Interrupts move to other CPUs during a run, so rounds of the same cell differ.",
            )
            .fixed_by(on_machine(facts, "sudo systemctl stop irqbalance")),
        Some(false) => BALANCE.fine("not running"),
        None => BALANCE.unknown("not all processes can be seen from here"),
    }
}
