//! Whether a machine is fit for measurements: each fact that affects timing, why it
//! matters, its effect on a measurement, and the command that fixes it.
//!
//! Each file below examines a group of facts. An unknown fact yields a finding that
//! says so, never a guess.

mod boot;
pub(crate) mod clock;
pub(crate) mod cpu;
mod deadline;
pub(crate) mod heat;
pub(crate) mod interrupt;
pub(crate) mod kernel;
pub(crate) mod memory;
pub(crate) mod permission;
pub(crate) mod scheduling;

use tactus_model::facts::MachineFacts;
use tactus_model::format;

use crate::finding::share_fixes;
pub use crate::finding::{Finding, State, worst};

/// Examines a machine. The worst findings come first, equal ones in a fixed order.
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
        vec![deadline::account(facts)],
        deadline::throttled(facts).into_iter().collect(),
    ]
    .concat();
    findings.sort_by_key(|finding| finding.state);
    share_fixes(&mut findings);
    findings
}

/// What prevents the recording of kernel events; `None` if nothing is known to.
pub fn against_recording(facts: &MachineFacts) -> Option<Finding> {
    Some(permission::tracing(facts)).filter(|finding| finding.state == State::Warning)
}

/// Examines a machine by two readings of its facts: counters that run since boot are
/// reported for the time between the readings.
pub fn examine_between(before: &MachineFacts, after: &MachineFacts) -> Vec<Finding> {
    let over = after.taken - before.taken;
    let mut findings = examine(after);
    let between = [
        vec![cpu::steal_between(before, after, over)],
        deadline::account_between(before, after, over).into_iter().collect(),
        deadline::throttled_between(before, after, over).into_iter().collect(),
        events_between(before, after),
    ];
    for found in between.concat() {
        findings.retain(|finding| finding.check != found.check);
        findings.push(found);
    }
    findings.sort_by_key(|finding| finding.state);
    findings
}

/// The effects of heat and firmware between two readings of one machine.
pub(crate) fn events_between(before: &MachineFacts, after: &MachineFacts) -> Vec<Finding> {
    heat::events_between(before, after)
}

/// The container around this process, if there is one.
fn container(facts: &MachineFacts) -> Option<&str> {
    facts.permission.container.as_deref().filter(|name| *name != "none")
}

/// The hypervisor below the kernel, if there is one.
fn hypervisor(facts: &MachineFacts) -> Option<&str> {
    facts.cpu.virtualization.as_deref().filter(|name| *name != "none")
}

/// The percentage of a part in a whole that is not 0.
fn percent(part: i64, whole: i64) -> String {
    format::whole_percent(part as f64 / whole as f64)
}

/// A command that changes the machine, which is impossible from inside a container.
fn on_machine(facts: &MachineFacts, command: &str) -> String {
    match container(facts) {
        Some(_) => format!("on the host: {command}"),
        None => command.to_owned(),
    }
}
