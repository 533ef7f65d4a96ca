//! Why the kernel refused a scheduling class.

use tactus_model::cpus::CpuList;
use tactus_model::facts::{MachineFacts, PermissionFacts};
use tactus_model::policy::Scheduling;
use tactus_model::time::Nanos;

use crate::fix::{Activity, Missing, Privilege, container_options, ulimit};
use crate::{Diagnosis, Refusal, container};

/// The kernel's default real-time budget, in µs per second.
const USUAL_RT_RUNTIME_US: i64 = 950_000;

pub(crate) fn diagnose(
    scheduling: Scheduling,
    confined_to: Option<&CpuList>,
    refusal: Refusal,
    facts: &MachineFacts,
) -> Option<Diagnosis> {
    if refusal == Refusal::TOOBIG {
        return Some(Diagnosis::new(
            "this kernel supports only an older, shorter struct sched_attr",
            None,
        ));
    }
    match scheduling {
        Scheduling::Deadline { runtime, period, .. } => match refusal {
            Refusal::PERM => deadline_not_permitted(confined_to, facts),
            Refusal::BUSY => Some(admission_full(runtime, period, facts)),
            Refusal::INVAL => Some(period_out_of_range(period, facts)),
            _ => None,
        },
        Scheduling::Fifo(priority) | Scheduling::RoundRobin(priority) => match refusal {
            Refusal::PERM => fixed_priority_not_permitted(priority.get(), facts),
            _ => None,
        },
        Scheduling::Other { nice } | Scheduling::Batch { nice } => match refusal {
            Refusal::PERM | Refusal::ACCESS => nice_not_permitted(nice, facts),
            _ => None,
        },
        Scheduling::Idle => None,
    }
}

/// Why the capability does not help; the start of a reason.
fn no_capability(capability: &str, permission: &PermissionFacts) -> String {
    let held_in_vain = permission.own_user_namespace == Some(true)
        && permission.capabilities.iter().flatten().any(|name| name == capability);
    if held_in_vain {
        format!("{capability} is held in a user namespace only, where it has no effect")
    } else {
        format!("{capability} is not held")
    }
}

fn fixed_priority_not_permitted(priority: u8, facts: &MachineFacts) -> Option<Diagnosis> {
    let permission = &facts.permission;
    let limit = permission.rtprio_limit;
    let privileged = permission.holds("CAP_SYS_NICE");
    let within_limit = limit.is_some_and(|limit| u64::from(priority) <= limit);
    if privileged == Some(false) && !within_limit {
        return Some(limit_too_low(priority, limit, facts));
    }
    no_group_budget(facts).or_else(|| {
        (privileged.is_none() && !within_limit).then(|| limit_too_low(priority, limit, facts))
    })
}

fn limit_too_low(priority: u8, limit: Option<u64>, facts: &MachineFacts) -> Diagnosis {
    let capability = no_capability("CAP_SYS_NICE", &facts.permission);
    let reason = match limit {
        Some(0) => format!("{capability}, and RLIMIT_RTPRIO is 0"),
        Some(limit) => {
            format!("{capability}, and RLIMIT_RTPRIO allows priorities up to {limit} only")
        }
        None => capability,
    };
    let hard = facts.permission.rtprio_limit_hard.unwrap_or(0);
    let fix = if hard >= u64::from(priority) {
        Some(ulimit('r', priority))
    } else if limit.is_some_and(|limit| limit > 0) && container(facts).is_none() {
        // A limit is already configured on this machine, so raising it fits best.
        Some(Privilege::realtime().raise_limit())
    } else {
        Privilege::realtime().grant(facts)
    };
    Diagnosis::new(reason, fix)
}

/// Whether RT_GROUP_SCHED leaves this process's cgroup without a real-time budget, so the
/// kernel refuses fixed priorities even to root; false if too little is known.
///
/// By default the kernel gives the whole bandwidth to the root group and 0 to every new one
/// ([sched-rt-group](https://docs.kernel.org/scheduler/sched-rt-group.html), section 2.2).
/// Version 1 has a file for the budget; version 2 has no such file, so groups below the root
/// cannot get a budget. If `sched_rt_runtime_us` is −1, the kernel ignores group budgets
/// (`rt_bandwidth_enabled()` in `__sched_setscheduler()`).
pub fn without_group_budget(facts: &MachineFacts) -> bool {
    let cgroup = &facts.cgroup;
    if facts.scheduling.rt_runtime_us == Some(-1) {
        return false;
    }
    match cgroup.version {
        Some(2) => facts.kernel.rt_group_scheduling == Some(true) && !in_root_group(facts),
        _ => cgroup.rt_runtime_us == Some(0),
    }
}

/// Whether this process is in the root group of version 2. The root that a container shows
/// is a group below the real root.
fn in_root_group(facts: &MachineFacts) -> bool {
    facts.cgroup.cpu_directory.as_deref() == Some("/sys/fs/cgroup") && container(facts).is_none()
}

/// The diagnosis for a cgroup without a real-time budget, where the kernel refuses even root.
fn no_group_budget(facts: &MachineFacts) -> Option<Diagnosis> {
    if !without_group_budget(facts) {
        return None;
    }
    Some(match facts.cgroup.version {
        Some(2) => Diagnosis::new(
            "the kernel has RT_GROUP_SCHED, which under cgroup v2 leaves every cgroup but the root without a real-time budget",
            Some(if container(facts).is_some() {
                "on the host: sudo sysctl kernel.sched_rt_runtime_us=-1 (turns real-time throttling off)"
                    .to_owned()
            } else {
                "echo $$ | sudo tee /sys/fs/cgroup/cgroup.procs".to_owned()
            }),
        ),
        _ => Diagnosis::new(
            "this process's cgroup has a real-time budget of 0 (RT_GROUP_SCHED), so the kernel refuses even root",
            Some(give_group_budget(facts)),
        ),
    })
}

fn give_group_budget(facts: &MachineFacts) -> String {
    let budget = facts.scheduling.rt_runtime_us.filter(|us| *us > 0).unwrap_or(USUAL_RT_RUNTIME_US);
    match (container(facts), &facts.cgroup.cpu_directory) {
        (Some("docker"), _) => format!(
            "docker run --cpu-rt-runtime={budget} {} … \
             (and the same budget for the daemon: dockerd --cpu-rt-runtime={budget})",
            container_options(Missing::Capabilities(Activity::RealTime), facts)
        ),
        (Some(_), _) => {
            format!(
                "on the host: echo {budget} into cpu.rt_runtime_us of the container's cgroup, from the root of the hierarchy downwards"
            )
        }
        (None, Some(directory)) => {
            format!("echo {budget} | sudo tee {directory}/cpu.rt_runtime_us")
        }
        (None, None) => "echo $$ | sudo tee /sys/fs/cgroup/cpu/cgroup.procs".to_owned(),
    }
}

fn deadline_not_permitted(
    confined_to: Option<&CpuList>,
    facts: &MachineFacts,
) -> Option<Diagnosis> {
    let permission = &facts.permission;
    if permission.holds("CAP_SYS_NICE") == Some(false) {
        let capability = no_capability("CAP_SYS_NICE", permission);
        return Some(Diagnosis::new(
            format!("{capability}, and no resource limit can replace it for the deadline class"),
            Privilege::realtime().grant(facts),
        ));
    }
    if facts.scheduling.rt_runtime_us == Some(0) {
        return Some(Diagnosis::new(
            "sched_rt_runtime_us is 0, so the deadline class has no bandwidth",
            Some(format!("sudo sysctl kernel.sched_rt_runtime_us={USUAL_RT_RUNTIME_US}")),
        ));
    }
    if facts.scheduling.rt_runtime_us == Some(-1) {
        // Without a global limit there is no admission control and no rule about CPUs.
        return None;
    }
    let confined_to = confined_to.or(permission.allowed_cpus.as_ref())?;
    let missing = root_domain(facts)?.without(confined_to);
    (!missing.is_empty()).then(|| confined_deadline(confined_to, &missing, facts))
}

/// The CPUs among which the kernel moves deadline tasks, as far as user space can
/// see: all online CPUs that are not isolated.
fn root_domain(facts: &MachineFacts) -> Option<CpuList> {
    let online = facts.cpu.online.as_ref()?;
    let isolated = facts.cpu.isolated.clone().unwrap_or_default();
    Some(online.without(&isolated))
}

fn confined_deadline(confined_to: &CpuList, missing: &CpuList, facts: &MachineFacts) -> Diagnosis {
    let in_cpuset = facts.cgroup.cpuset.as_ref().is_some_and(|cpuset| {
        let outside = missing.without(cpuset);
        outside == *missing
    });
    let (how, fix) = if in_cpuset {
        (
            "its cpuset confines it",
            "give the cpuset a root domain of its own: echo root into its cpuset.cpus.partition \
             (cgroup v2), or cpuset.cpu_exclusive=1 with cpuset.sched_load_balance=0 above it (v1)"
                .to_owned(),
        )
    } else if facts.cgroup.version == Some(2) {
        (
            "it is pinned",
            format!(
                "leave it unpinned, or run it in a cpuset partition: sudo sh -c 'cd /sys/fs/cgroup && \
                 echo +cpuset > cgroup.subtree_control && mkdir -p tactus && \
                 echo {confined_to} > tactus/cpuset.cpus && echo root > tactus/cpuset.cpus.partition' && \
                 echo $$ | sudo tee /sys/fs/cgroup/tactus/cgroup.procs"
            ),
        )
    } else {
        (
            "it is pinned",
            "leave it unpinned, or run it in an exclusive cpuset (cpuset(7)); \
             sudo sysctl kernel.sched_rt_runtime_us=-1 disables this rule and real-time throttling"
                .to_owned(),
        )
    };
    Diagnosis::new(
        format!(
            "a deadline task must be allowed on all CPUs of its root domain, but {how} to {confined_to} (missing: {missing})"
        ),
        fix,
    )
}

fn admission_full(runtime: Nanos, period: Nanos, facts: &MachineFacts) -> Diagnosis {
    let percent = |part: f64, whole: f64| 100.0 * part / whole.max(1.0);
    let asked = percent(runtime.as_nanos() as f64, period.as_nanos() as f64);
    let limit = match (facts.scheduling.rt_runtime_us, facts.scheduling.rt_period_us) {
        (Some(runtime), Some(period)) if runtime >= 0 && period > 0 => {
            format!("{:.0} % of each CPU", percent(runtime as f64, period as f64))
        }
        _ => "the limit of sched_rt_runtime_us".to_owned(),
    };
    Diagnosis::new(
        format!("deadline admission is full: another {asked:.1} % of a CPU would exceed {limit}"),
        Some(
            "request a shorter runtime, or end deadline tasks: ps -eLo tid,cls,comm | grep DLN"
                .to_owned(),
        ),
    )
}

fn period_out_of_range(period: Nanos, facts: &MachineFacts) -> Diagnosis {
    let scheduling = &facts.scheduling;
    match (scheduling.deadline_period_min_us, scheduling.deadline_period_max_us) {
        (Some(min), _) if period < Nanos::from_micros(min) => Diagnosis::new(
            format!("the kernel accepts deadline periods of {} or more", Nanos::from_micros(min)),
            Some(format!(
                "sudo sysctl kernel.sched_deadline_period_min_us={}",
                period.as_nanos() / 1000
            )),
        ),
        (_, Some(max)) if period > Nanos::from_micros(max) => Diagnosis::new(
            format!("the kernel accepts deadline periods of up to {}", Nanos::from_micros(max)),
            Some(format!(
                "sudo sysctl kernel.sched_deadline_period_max_us={}",
                period.as_nanos().div_ceil(1000)
            )),
        ),
        _ => Diagnosis::new(
            "the kernel rejects these deadline parameters, or has no deadline class",
            None,
        ),
    }
}

fn nice_not_permitted(nice: i8, facts: &MachineFacts) -> Option<Diagnosis> {
    let permission = &facts.permission;
    if permission.holds("CAP_SYS_NICE") == Some(true) {
        return None;
    }
    let current = permission.nice.unwrap_or(0);
    let limit = permission.nice_limit.unwrap_or(20);
    if nice >= limit || nice >= current {
        return None;
    }
    let capability = no_capability("CAP_SYS_NICE", permission);
    let allowed = if limit >= current {
        format!("allows nothing below the current {current}")
    } else {
        format!("allows {limit} at best")
    };
    let privilege = Privilege::nice(nice);
    let fix = if limit < 20 && container(facts).is_none() {
        Some(privilege.raise_limit())
    } else {
        privilege.grant(facts)
    };
    Some(Diagnosis::new(format!("{capability}, and RLIMIT_NICE {allowed}"), fix))
}
