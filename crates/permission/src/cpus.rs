//! Why the kernel refused an affinity.

use tactus_model::cpus::CpuList;
use tactus_model::facts::MachineFacts;

use crate::fix::{Missing, container_run};
use crate::{Diagnosis, Refusal};

pub(crate) fn diagnose(
    asked: &CpuList,
    refusal: Refusal,
    facts: &MachineFacts,
) -> Option<Diagnosis> {
    match refusal {
        Refusal::INVAL => unusable(asked, facts),
        // Bandwidth is granted for a whole root domain; the kernel does not confine
        // it to a part of the domain.
        Refusal::BUSY => Some(Diagnosis::new(
            format!("a deadline task cannot be confined to {asked} within its root domain"),
            Some("leave it unpinned, or run it in a cpuset partition of its own".to_owned()),
        )),
        _ => None,
    }
}

/// The CPUs that cannot be used, with the reason: missing, offline, or outside the
/// cpuset. The kernel refuses an affinity only if none of its CPUs can be used.
fn unusable(asked: &CpuList, facts: &MachineFacts) -> Option<Diagnosis> {
    if asked.is_empty() {
        return Some(Diagnosis::new("no CPU was given", None));
    }
    let absent = missing(asked, facts.cpu.present.as_ref());
    let there = asked.without(&absent);
    let offline = missing(&there, facts.cpu.online.as_ref());
    let running = there.without(&offline);
    let confined = facts.cgroup.cpuset.as_ref().or(facts.permission.allowed_cpus.as_ref());
    let outside = missing(&running, confined);
    let reasons: Vec<String> = [
        (&absent, "not present in this machine"),
        (&offline, "offline"),
        (&outside, "outside this process's cpuset"),
    ]
    .into_iter()
    .filter(|(cpus, _)| !cpus.is_empty())
    .map(|(cpus, what)| format!("{} {what}", counted(cpus)))
    .collect();
    if reasons.is_empty() {
        return None;
    }
    let fix = if !outside.is_empty() {
        Some(widen(&running, confined, facts))
    } else if !offline.is_empty() {
        Some(bring_online(&offline))
    } else {
        facts.cpu.online.as_ref().map(|online| format!("choose among CPUs {online}"))
    };
    Some(Diagnosis::new(reasons.join(", and "), fix))
}

/// The CPUs of `asked` that are known not to be in `there`.
fn missing(asked: &CpuList, there: Option<&CpuList>) -> CpuList {
    there.map(|there| asked.without(there)).unwrap_or_default()
}

fn counted(cpus: &CpuList) -> String {
    if cpus.len() == 1 { format!("CPU {cpus} is") } else { format!("CPUs {cpus} are") }
}

fn bring_online(cpus: &CpuList) -> String {
    let commands: Vec<String> = cpus
        .iter()
        .map(|cpu| format!("echo 1 | sudo tee /sys/devices/system/cpu/cpu{cpu}/online"))
        .collect();
    commands.join(" && ")
}

/// The command that adds `wanted` to the cpuset.
fn widen(wanted: &CpuList, confined: Option<&CpuList>, facts: &MachineFacts) -> String {
    let all: CpuList = wanted.iter().chain(confined.into_iter().flat_map(CpuList::iter)).collect();
    if let Some(command) = container_run(Missing::Cpus(&all), facts) {
        return command;
    }
    match &facts.cgroup.cpuset_directory {
        Some(directory) => format!("echo {all} | sudo tee {directory}/cpuset.cpus"),
        None => format!("start from a shell that may use CPUs {all}"),
    }
}
