//! The permissions of this process.

use tactus_model::facts::PermissionFacts;

use super::{Tree, container};
use crate::capability;

/// The capabilities that matter to measurements.
const RELEVANT: [&str; 11] = [
    "CAP_DAC_OVERRIDE",
    "CAP_DAC_READ_SEARCH",
    "CAP_IPC_LOCK",
    "CAP_SYS_RAWIO",
    "CAP_SYS_PTRACE",
    "CAP_SYS_ADMIN",
    "CAP_SYS_NICE",
    "CAP_SYS_RESOURCE",
    "CAP_SYSLOG",
    "CAP_PERFMON",
    "CAP_BPF",
];

pub(super) fn read(tree: &Tree<'_>) -> PermissionFacts {
    let status = tree.text("proc/self/status").unwrap_or_default();
    let limits = tree.text("proc/self/limits").unwrap_or_default();
    let (rtprio_limit, rtprio_limit_hard) = limit(&limits, "Max realtime priority").unzip();
    let (rttime_limit_us, rttime_limit_hard_us) = limit(&limits, "Max realtime timeout").unzip();
    let (memlock_limit, memlock_limit_hard) = limit(&limits, "Max locked memory").unzip();
    // The kernel marks a program file that was replaced after the program started this way.
    let program = tree
        .link("proc/self/exe")
        .map(|path| path.strip_suffix(" (deleted)").unwrap_or(&path).to_owned());
    PermissionFacts {
        program_capabilities: program.as_deref().and_then(|path| tree.capabilities_of(path)),
        program,
        user_id: field(&status, "Uid").and_then(|ids| ids.split_whitespace().nth(1)?.parse().ok()),
        capabilities: field(&status, "CapEff").and_then(capabilities),
        rtprio_limit,
        rtprio_limit_hard,
        memlock_limit,
        memlock_limit_hard,
        rttime_limit_us,
        rttime_limit_hard_us,
        nice: tree.text("proc/self/stat").and_then(|stat| nice(&stat)),
        nice_limit: limit(&limits, "Max nice priority").map(|(soft, _)| 20 - soft.min(40) as i8),
        allowed_cpus: field(&status, "Cpus_allowed_list").and_then(|list| list.parse().ok()),
        container: container::read(tree),
        own_user_namespace: container::own_user_namespace(tree),
        seccomp: field(&status, "Seccomp").map(|mode| mode != "0"),
        no_new_privileges: field(&status, "NoNewPrivs").map(|flag| flag != "0"),
        io_uring_disabled: tree.value("proc/sys/kernel/io_uring_disabled"),
        perf_event_paranoid: tree.value("proc/sys/kernel/perf_event_paranoid"),
        tracefs_readable: tracefs_readable(tree),
    }
}

/// Whether the format of an event that every recording needs can be read.
fn tracefs_readable(tree: &Tree<'_>) -> Option<bool> {
    let places = ["sys/kernel/tracing", "sys/kernel/debug/tracing"];
    // The kernel creates the first directory, mounted or not, if it has tracepoints.
    places.iter().any(|place| tree.has(place)).then(|| {
        let readable =
            |place: &&str| tree.words(&format!("{place}/events/sched/sched_switch/format"));
        places.iter().any(|place| readable(place).is_some())
    })
}

/// A line of `/proc/self/status`.
fn field<'t>(status: &'t str, name: &str) -> Option<&'t str> {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

fn capabilities(mask: &str) -> Option<Vec<String>> {
    let mask = u64::from_str_radix(mask, 16).ok()?;
    let held = capability::names(mask).filter(|name| RELEVANT.contains(name));
    Some(held.map(str::to_owned).collect())
}

/// The soft and the hard limit of a line of `/proc/self/limits`.
fn limit(limits: &str, name: &str) -> Option<(u64, u64)> {
    let mut values = limits
        .lines()
        .find_map(|line| line.strip_prefix(name))?
        .split_whitespace()
        .map(|word| if word == "unlimited" { Some(u64::MAX) } else { word.parse().ok() });
    Some((values.next()??, values.next()??))
}

/// The nice value, field 19 of `/proc/self/stat`. Field 2 is the program's name in
/// parentheses and may contain any character.
fn nice(stat: &str) -> Option<i8> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19 - 3)?.parse().ok()
}
