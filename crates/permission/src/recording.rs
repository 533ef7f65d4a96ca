//! Why the kernel refused to record events.

use tactus_model::facts::MachineFacts;

use crate::fix::{Activity, Missing, as_root, container_run, grant, run_as_root};
use crate::resources::raise_memlock;
use crate::{Diagnosis, Refusal, beyond_root, container, is_root};

/// The place where tracefs is mounted.
const TRACEFS: &str = "/sys/kernel/tracing";

/// Why tracefs cannot be read, which `activity` needs.
pub(crate) fn tracepoints(
    activity: Activity,
    refusal: Refusal,
    facts: &MachineFacts,
) -> Option<Diagnosis> {
    match refusal {
        Refusal::NOENT if container(facts).is_some() => Some(Diagnosis::new(
            "the container does not have tracefs",
            container_run(Missing::Capabilities(activity), facts),
        )),
        Refusal::NOENT => Some(Diagnosis::new(
            "tracefs is not mounted, or this kernel has no tracepoints",
            as_root(&format!("mount -t tracefs tracefs {TRACEFS}"), facts),
        )),
        Refusal::PERM | Refusal::ACCESS if is_root(facts) => Some(beyond_root(facts)),
        Refusal::PERM | Refusal::ACCESS => Some(Diagnosis::new(
            "tracefs needs root or CAP_DAC_READ_SEARCH",
            grant(activity, facts),
        )),
        _ => None,
    }
}

pub(crate) fn instance(refusal: Refusal, facts: &MachineFacts) -> Option<Diagnosis> {
    match refusal {
        Refusal::NOENT => Some(Diagnosis::new("this kernel has no instances of tracefs", None)),
        Refusal::ROFS => Some(Diagnosis::new(
            "tracefs is mounted read-only",
            container_run(Missing::Capabilities(Activity::Tracefs), facts)
                .unwrap_or_else(|| as_root(&format!("mount -o remount,rw {TRACEFS}"), facts)),
        )),
        Refusal::PERM | Refusal::ACCESS if is_root(facts) => Some(beyond_root(facts)),
        Refusal::PERM | Refusal::ACCESS => {
            Some(Diagnosis::new("only root may create one", run_as_root(facts)))
        }
        _ => None,
    }
}

/// The rights to record events of a CPU; they depend on who may read tracefs.
pub(crate) fn for_cpus(facts: &MachineFacts) -> Activity {
    let readable = facts.permission.tracefs_readable != Some(false);
    if readable { Activity::Perf } else { Activity::Tracefs }
}

/// Why perf refuses the events of `activity`.
pub(crate) fn events(
    activity: Activity,
    refusal: Refusal,
    facts: &MachineFacts,
) -> Option<Diagnosis> {
    let permission = &facts.permission;
    let holds = |name| permission.holds(name) == Some(true);
    if !matches!(refusal, Refusal::PERM | Refusal::ACCESS) {
        return None;
    }
    if permission.own_user_namespace == Some(true) {
        return Some(beyond_root(facts));
    }
    if holds("CAP_PERFMON") || holds("CAP_SYS_ADMIN") {
        let filtered = permission.seccomp == Some(true);
        return (is_root(facts) && !filtered).then(|| beyond_root(facts));
    }
    let reason = match permission.perf_event_paranoid {
        Some(level) => format!("CAP_PERFMON is not held, and perf_event_paranoid is {level}"),
        None => "CAP_PERFMON is not held".to_owned(),
    };
    Some(Diagnosis::new(reason, grant(activity, facts)))
}

pub(crate) fn rings(refusal: Refusal, facts: &MachineFacts) -> Option<Diagnosis> {
    match refusal {
        Refusal::PERM => Some(Diagnosis::new(
            "they exceed the limit on locked memory (RLIMIT_MEMLOCK)",
            raise_memlock(None, facts),
        )),
        Refusal::NOMEM => Some(Diagnosis::new("the machine does not have enough memory", None)),
        _ => None,
    }
}
