//! The permissions of this process: scheduling classes, locked memory, tracing.

use tactus_model::facts::{MachineFacts, PermissionFacts};
use tactus_model::format;
use tactus_model::policy::{RealtimePriority, Scheduling};
use tactus_model::time::Nanos;
use tactus_permission::{Asked, Diagnosis, Refusal, diagnose, without_group_budget};

use super::percent;
use crate::finding::{Check, Finding};

pub(crate) const REALTIME: Check = Check {
    name: "real-time classes",
    why: "Only tasks of a real-time class run before all ordinary tasks.",
};

pub(crate) const DEADLINE: Check = Check {
    name: "deadline class",
    why: "The deadline class guarantees CPU time in each period, after an admission test.",
};

pub(crate) const MEMORY_LOCK: Check =
    Check { name: "memory locking", why: "A task with locked memory never waits for a page." };

pub(crate) const TRACING: Check =
    Check { name: "tracing", why: "The kernel's tracepoints show what delayed a late wakeup." };

pub(crate) const RUN_LIMIT: Check = Check {
    name: "real-time run limit",
    why: "RLIMIT_RTTIME limits how long a real-time task runs without sleeping.",
};

pub(crate) const CONTAINER: Check = Check {
    name: "container",
    why: "A container has its own limits and sees only a part of the machine.",
};

/// The priority that the shipped experiments use.
const USUAL_PRIORITY: u8 = 90;

pub(super) fn examine(facts: &MachineFacts) -> Vec<Finding> {
    vec![
        realtime(facts),
        run_limit(facts),
        deadline(facts),
        memory_lock(facts),
        tracing(facts),
        around(facts),
    ]
}

/// Whether memory can be locked without a limit.
pub(super) fn may_lock_memory(facts: &MachineFacts) -> Option<bool> {
    match (facts.permission.holds("CAP_IPC_LOCK"), facts.permission.memlock_limit) {
        (Some(true), _) | (_, Some(u64::MAX)) => Some(true),
        (Some(false), Some(_)) => Some(false),
        _ => None,
    }
}

fn realtime(facts: &MachineFacts) -> Finding {
    let permission = &facts.permission;
    let privileged = permission.holds("CAP_SYS_NICE");
    let limit = permission.rtprio_limit.unwrap_or(0);
    let permitted = match (privileged, permission.rtprio_limit) {
        (Some(true), _) | (_, Some(1..)) => true,
        (Some(false), Some(0)) => false,
        _ => {
            return REALTIME.unknown("neither capabilities nor limits of this process can be read");
        }
    };
    if permitted && !without_group_budget(facts) {
        return REALTIME.fine(match privileged {
            Some(true) => "permitted, every priority (CAP_SYS_NICE)".to_owned(),
            _ => format!("permitted up to priority {limit} (RLIMIT_RTPRIO)"),
        });
    }
    let priority = RealtimePriority::new(if limit > 0 && privileged != Some(true) {
        limit.min(99) as u8
    } else {
        USUAL_PRIORITY
    });
    let refused = priority.map(|priority| {
        let asked = Asked::Scheduling { scheduling: Scheduling::Fifo(priority), confined_to: None };
        diagnose(&asked, Refusal::PERM, facts)
    });
    refusal(
        &REALTIME,
        refused,
        "Cells with policy fifo or rr run as ordinary tasks instead, and their results say so.",
    )
}

fn run_limit(facts: &MachineFacts) -> Finding {
    let PermissionFacts { rttime_limit_us, rttime_limit_hard_us, .. } = facts.permission;
    let (Some(limit), Some(hard)) = (rttime_limit_us, rttime_limit_hard_us) else {
        return RUN_LIMIT.unknown("the limits of this process cannot be read");
    };
    let in_words = |micros| format::axis_length(Nanos::from_micros(micros));
    if limit == u64::MAX {
        return RUN_LIMIT.fine("none");
    }
    let killed = match hard {
        u64::MAX => String::new(),
        hard => format!(", and the kernel kills it after {}", in_words(hard)),
    };
    RUN_LIMIT
        .warning(
            in_words(limit),
            format!(
                "A real-time task that computes for {} without sleeping gets SIGXCPU{killed}.",
                in_words(limit)
            ),
        )
        .fixed_by(
            "sudo prlimit --pid $$ --rttime=unlimited:unlimited  # in the shell that starts the program"
                .to_owned(),
        )
}

fn deadline(facts: &MachineFacts) -> Finding {
    let permission = &facts.permission;
    let scheduling = &facts.scheduling;
    let capacity = match (scheduling.rt_runtime_us, scheduling.rt_period_us) {
        (Some(-1), _) => "no limit and no admission test".to_owned(),
        (Some(runtime), Some(period)) if period > 0 => {
            let share = percent(runtime, period);
            format!("{share} of each CPU can be reserved{}", admitted(facts, runtime, period))
        }
        _ => return DEADLINE.unknown("sched_rt_runtime_us cannot be read"),
    };
    let online = facts.cpu.online.clone().unwrap_or_default();
    let isolated = facts.cpu.isolated.clone().unwrap_or_default();
    let allowed = permission.allowed_cpus.clone().unwrap_or_default();
    let confined = !online.without(&isolated).without(&allowed).is_empty();
    let limited = scheduling.rt_runtime_us != Some(-1);
    let refused = match permission.holds("CAP_SYS_NICE") {
        None => return DEADLINE.unknown("this process's capabilities cannot be read"),
        Some(held) => !held || scheduling.rt_runtime_us == Some(0) || (limited && confined),
    };
    if !refused {
        return DEADLINE.fine(capacity);
    }
    let millis = Nanos::from_millis;
    let asked = Asked::Scheduling {
        scheduling: Scheduling::Deadline {
            runtime: millis(1),
            deadline: millis(10),
            period: millis(10),
        },
        confined_to: None,
    };
    refusal(
        &DEADLINE,
        Some(diagnose(&asked, Refusal::PERM, facts)),
        "Cells with policy deadline run with the best permitted policy, and their results say so.",
    )
}

/// The reserved capacity and the capacity that is left, if known.
fn admitted(facts: &MachineFacts, runtime: i64, period: i64) -> String {
    let scheduling = &facts.scheduling;
    let (Some(ppm), Some(online)) = (scheduling.deadline_reserved_ppm, &facts.cpu.online) else {
        return "; the reserved part is unknown".to_owned();
    };
    let tasks = match scheduling.deadline_tasks {
        None => String::new(),
        Some(1) => " (1 task)".to_owned(),
        Some(count) => format!(" ({count} tasks)"),
    };
    // Isolated CPUs are not in the root domain of the others.
    let isolated = facts.cpu.isolated.clone().unwrap_or_default();
    let cpus = online.without(&isolated).len() as f64;
    let reserved = ppm as f64 / 1e6;
    let left = (cpus * runtime as f64 / period as f64 - reserved).max(0.0);
    format!("; {reserved:.2} CPUs are reserved{tasks}, {left:.2} of {cpus} are left")
}

fn memory_lock(facts: &MachineFacts) -> Finding {
    match may_lock_memory(facts) {
        None => MEMORY_LOCK.unknown("neither capabilities nor limits of this process can be read"),
        Some(true) => MEMORY_LOCK.fine("permitted, no limit"),
        Some(false) => {
            let refused_with = match facts.permission.memlock_limit {
                Some(0) => Refusal::PERM,
                _ => Refusal::NOMEM,
            };
            refusal(
                &MEMORY_LOCK,
                Some(diagnose(&Asked::LockedMemory { bytes: None }, refused_with, facts)),
                "A wakeup may wait for a page of the probe; results show which memory was not locked.",
            )
        }
    }
}

fn refusal(check: &Check, diagnosis: Option<Diagnosis>, effect: &str) -> Finding {
    match diagnosis {
        Some(Diagnosis { reason, fix }) => {
            check.warning(format!("refused: {reason}"), effect).fixed_by(fix)
        }
        None => check.warning("refused", effect),
    }
}

pub(super) fn tracing(facts: &MachineFacts) -> Finding {
    let permission = &facts.permission;
    let privileged = match (permission.holds("CAP_PERFMON"), permission.holds("CAP_SYS_ADMIN")) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => permission.perf_event_paranoid.map(|level| level < 0),
        _ => None,
    };
    let (asked, refused_with) = match (permission.tracefs_readable, privileged) {
        (Some(true), Some(true)) => return TRACING.fine("permitted"),
        (_, Some(false)) => (Asked::KernelEvents, Refusal::ACCESS),
        // To root, tracefs is unreadable only if it is not mounted.
        (Some(false), _) if permission.user_id == Some(0) => (Asked::Tracepoints, Refusal::NOENT),
        (Some(false), _) => (Asked::Tracepoints, Refusal::ACCESS),
        (None, Some(true)) => return TRACING.unknown("the kernel shows no tracepoints"),
        (_, None) => {
            return TRACING.unknown("neither capabilities nor perf_event_paranoid can be read");
        }
    };
    let Diagnosis { reason, fix } = diagnose(&asked, refused_with, facts);
    TRACING
        .warning(reason, "Latencies are measured, but their causes cannot be explained.")
        .fixed_by(fix)
}

fn around(facts: &MachineFacts) -> Finding {
    match facts.permission.container.as_deref() {
        None => CONTAINER.unknown("this process's namespaces cannot be read"),
        Some(name) => CONTAINER.fine(name),
    }
}
