//! Where interrupts of devices go.

use tactus_model::cpus::CpuList;
use tactus_model::facts::MachineFacts;

use super::on_machine;
use crate::finding::{Check, Finding};

pub(crate) const AFFINITY: Check = Check {
    name: "interrupt affinity",
    why: "An interrupt delays whatever runs on the CPU to which it goes.",
};

pub(crate) const BALANCE: Check = Check {
    name: "irqbalance",
    why: "It moves interrupts between CPUs, while a measurement goes on too.",
};

pub(super) fn examine(facts: &MachineFacts) -> Vec<Finding> {
    vec![affinity(facts), balance(facts)]
}

fn affinity(facts: &MachineFacts) -> Finding {
    let Some(interrupted) = &facts.cpu.interrupt_cpus else {
        return AFFINITY.unknown("/proc/irq shows no interrupt that has a handler");
    };
    let fact = format!("interrupts of devices go to {interrupted}");
    let isolated = facts.cpu.isolated.clone().unwrap_or_default();
    let both: CpuList = isolated.iter().filter(|cpu| interrupted.contains(*cpu)).collect();
    if both.is_empty() {
        return AFFINITY.fine(fact);
    }
    let others = facts.cpu.online.clone().unwrap_or_default().without(&isolated);
    AFFINITY
        .warning(
            format!("{fact}, of which {both} is isolated"),
            "The isolated CPUs are interrupted by devices, so that their worst cases are not their own.",
        )
        .fixed_by(on_machine(
            facts,
            &format!(
                "for irq in /proc/irq/[0-9]*; do echo {others} | sudo tee $irq/smp_affinity_list; done  \
                 # some cannot be moved and say so"
            ),
        ))
}

fn balance(facts: &MachineFacts) -> Finding {
    match facts.scheduling.irqbalance {
        Some(true) => BALANCE
            .warning(
                "runs",
                "Interrupts that were on one CPU come to another in mid-run: rounds of the \
                 same cell then differ.",
            )
            .fixed_by(on_machine(facts, "sudo systemctl stop irqbalance")),
        Some(false) => BALANCE.fine("does not run"),
        None => BALANCE.unknown("not all processes can be seen from here"),
    }
}
