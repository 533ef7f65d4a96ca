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
    let meant = meant_for_realtime(facts);
    let on =
        |cpus: &CpuList| -> CpuList { meant.iter().filter(|cpu| cpus.contains(*cpu)).collect() };
    let (now, later) = (on(interrupted), on(&later(facts)));
    let effect = "Device interrupts delay the tasks there and dominate their worst cases.";
    let found = match (now.is_empty(), later.is_empty()) {
        (true, true) => return AFFINITY.fine(fact),
        (false, _) => AFFINITY
            .warning(format!("{fact}, of which {now} is set aside for real-time work"), effect),
        (true, false) => AFFINITY.warning(
            format!("{fact}, but new ones may go to {later}, set aside for real-time work"),
            effect,
        ),
    };
    let others = facts.cpu.online.clone().unwrap_or_default().without(&meant);
    if others.is_empty() {
        return found.fixed_by("leave a CPU for interrupts and other work".to_owned());
    }
    found.fixed_by(on_machine(
        facts,
        &format!(
            "echo {} | sudo tee /proc/irq/default_smp_affinity; for irq in /proc/irq/[0-9]*; do echo \
             {others} | sudo tee $irq/smp_affinity_list; done  # some cannot be moved and report an error",
            mask(&others)
        ),
    ))
}

/// The CPUs that are set aside for real-time work, by the kernel's command line or by cpusets.
fn meant_for_realtime(facts: &MachineFacts) -> CpuList {
    let cpusets = facts.cgroup.exclusive_cpusets.iter().flatten();
    let own = cpusets.filter(|cpuset| cpuset.is_in_effect()).flat_map(|cpuset| cpuset.cpus.iter());
    facts.cpu.kept_free().iter().chain(own).collect()
}

/// The CPUs to which new interrupts may go. Those that the command line isolates from managed
/// interrupts are not known.
fn later(facts: &MachineFacts) -> CpuList {
    facts.cpu.default_interrupt_cpus.clone().unwrap_or_default()
}

/// A mask as the kernel reads it: hexadecimal digits, in groups of eight.
fn mask(cpus: &CpuList) -> String {
    let most = cpus.iter().max().unwrap_or(0);
    let group = |number: u32| {
        let own = cpus.iter().filter(|cpu| cpu / 32 == number);
        own.fold(0_u32, |bits, cpu| bits | 1 << (cpu % 32))
    };
    let groups: Vec<String> = (0..=most / 32)
        .rev()
        .map(|number| match number == most / 32 {
            true => format!("{:x}", group(number)),
            false => format!("{:08x}", group(number)),
        })
        .collect();
    groups.join(",")
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
