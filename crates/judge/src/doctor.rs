//! Whether a machine is fit to be measured: each fact that decides timing, why
//! it matters, what it does to a measurement, and the command that mends it.
//!
//! Each file below examines a group of facts. A fact that is not known yields a
//! finding that says so, never one that guesses.

mod boot;
pub(crate) mod clock;
pub(crate) mod heat;
pub(crate) mod interrupt;
pub(crate) mod kernel;
pub(crate) mod memory;
pub(crate) mod permission;
pub(crate) mod cpu;
pub(crate) mod scheduling;
mod text;

use tactus_model::facts::MachineFacts;
use tactus_model::format::THIN_SPACE;
use tactus_model::time::Nanos;

pub use crate::finding::{Finding, State, worst};
pub use text::findings_text;

/// Examines a machine. The worst findings come first, equals in a fixed order.
pub fn examine(facts: &MachineFacts) -> Vec<Finding> {
    let mut findings: Vec<Finding> = [
        permission::examine(facts),
        scheduling::examine(facts),
        kernel::examine(facts),
        clock::examine(facts),
        cpu::examine(facts),
        interrupt::examine(facts),
        memory::examine(facts),
        heat::examine(facts),
    ]
    .concat();
    findings.sort_by_key(|finding| finding.state);
    findings
}

/// Examines a machine that was looked at twice: what is counted since boot is told
/// for the time between, which is when it counts.
pub fn examine_between(before: &MachineFacts, after: &MachineFacts) -> Vec<Finding> {
    let over = Nanos::from_nanos(after.taken.as_nanos().saturating_sub(before.taken.as_nanos()));
    let mut findings = examine(after);
    let between = [vec![cpu::steal_between(before, after, over)], meanwhile(before, after)];
    for found in between.concat() {
        findings.retain(|finding| finding.check != found.check);
        findings.push(found);
    }
    findings.sort_by_key(|finding| finding.state);
    findings
}

/// What heat and the firmware did between two looks at one machine.
pub(crate) fn meanwhile(before: &MachineFacts, after: &MachineFacts) -> Vec<Finding> {
    heat::meanwhile(before, after)
}

/// The container around this process, where there is one.
fn container(facts: &MachineFacts) -> Option<&str> {
    facts.permission.container.as_deref().filter(|name| *name != "none")
}

/// The hypervisor below the kernel, where there is one.
fn hypervisor(facts: &MachineFacts) -> Option<&str> {
    facts.cpu.virtualization.as_deref().filter(|name| *name != "none")
}

/// A part of a whole, both of them settings of the kernel; the whole is not 0.
fn percent(part: i64, whole: i64) -> String {
    format!("{:.0}{THIN_SPACE}%", 100.0 * part as f64 / whole as f64)
}

/// A command that changes the machine, which no container may do from within.
fn on_machine(facts: &MachineFacts, command: &str) -> String {
    match container(facts) {
        Some(_) => format!("on the host: {command}"),
        None => command.to_owned(),
    }
}
