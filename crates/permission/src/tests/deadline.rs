//! The deadline class.

use super::*;

#[test]
fn the_deadline_class_without_capability() {
    check(
        &scheduling(DEADLINE),
        Refusal::PERM,
        &machine(|facts| facts.permission.rtprio_limit = Some(99)),
        "CAP_SYS_NICE is not held, and no resource limit can replace it for the deadline class",
        SETCAP,
    );
}

#[test]
fn a_pinned_deadline_task() {
    let asked =
        Asked::Scheduling { scheduling: DEADLINE.parse().unwrap(), confined_to: Some(cpus("1")) };
    let reason = "a deadline task must be allowed on all CPUs of its root domain, but it is pinned to 1 (missing: 0,2-3)";
    check(
        &asked,
        Refusal::PERM,
        &root(|_| ()),
        reason,
        Some(
            "leave it unpinned, or run it in a cpuset partition: sudo sh -c 'cd /sys/fs/cgroup && \
             echo +cpuset > cgroup.subtree_control && mkdir -p tactus && \
             echo 1 > tactus/cpuset.cpus && echo root > tactus/cpuset.cpus.partition' && \
             echo $$ | sudo tee /sys/fs/cgroup/tactus/cgroup.procs",
        ),
    );
    check(
        &asked,
        Refusal::PERM,
        &root(|facts| facts.cgroup.version = Some(1)),
        reason,
        Some(
            "leave it unpinned, or run it in an exclusive cpuset (cpuset(7)); \
             sudo sysctl kernel.sched_rt_runtime_us=-1 disables this rule and real-time throttling",
        ),
    );
}

#[test]
fn isolated_cpus_are_not_in_the_root_domain() {
    let asked =
        Asked::Scheduling { scheduling: DEADLINE.parse().unwrap(), confined_to: Some(cpus("0-1")) };
    let facts = root(|facts| facts.cpu.isolated = Some(cpus("2-3")));
    let found = diagnose(&asked, Refusal::PERM, &facts);
    assert!(found.reason.ends_with("no known cause fits"), "{}", found.reason);
}

#[test]
fn a_deadline_task_in_a_cpuset() {
    check(
        &scheduling(DEADLINE),
        Refusal::PERM,
        &root(|facts| {
            facts.permission.allowed_cpus = Some(cpus("0-1"));
            facts.cgroup.cpuset = Some(cpus("0-1"));
        }),
        "a deadline task must be allowed on all CPUs of its root domain, but its cpuset confines it to 0-1 (missing: 2-3)",
        Some(
            "give the cpuset a root domain of its own: echo root into its cpuset.cpus.partition \
             (cgroup v2), or cpuset.cpu_exclusive=1 with cpuset.sched_load_balance=0 above it (v1)",
        ),
    );
}

#[test]
fn no_bandwidth_for_the_deadline_class() {
    check(
        &scheduling(DEADLINE),
        Refusal::PERM,
        &root(|facts| facts.scheduling.rt_runtime_us = Some(0)),
        "sched_rt_runtime_us is 0, so the deadline class has no bandwidth",
        Some("sudo sysctl kernel.sched_rt_runtime_us=950000"),
    );
}

#[test]
fn admission_is_full() {
    check(
        &scheduling(DEADLINE),
        Refusal::BUSY,
        &root(|_| ()),
        "deadline admission is full: another 50.0 % of a CPU would exceed 95 % of each CPU",
        Some("request a shorter runtime, or end deadline tasks: ps -eLo tid,cls,comm | grep DLN"),
    );
}

#[test]
fn deadline_periods_out_of_range() {
    check(
        &scheduling("deadline:10us/50us/50us"),
        Refusal::INVAL,
        &root(|_| ()),
        "the kernel accepts deadline periods of 100us or more",
        Some("sudo sysctl kernel.sched_deadline_period_min_us=50"),
    );
    check(
        &scheduling("deadline:1s/10s/10s"),
        Refusal::INVAL,
        &root(|_| ()),
        "the kernel accepts deadline periods of up to 4194.304ms",
        Some("sudo sysctl kernel.sched_deadline_period_max_us=10000000"),
    );
    check(
        &scheduling(DEADLINE),
        Refusal::INVAL,
        &root(|_| ()),
        "the kernel rejects these deadline parameters, or has no deadline class",
        None,
    );
}

#[test]
fn an_older_kernel_has_a_shorter_structure() {
    check(
        &scheduling(DEADLINE),
        Refusal::TOOBIG,
        &root(|_| ()),
        "this kernel supports only an older, shorter struct sched_attr",
        None,
    );
}

#[test]
fn a_deadline_task_cannot_be_confined() {
    check(
        &Asked::Cpus(cpus("1")),
        Refusal::BUSY,
        &root(|_| ()),
        "a deadline task cannot be confined to 1 within its root domain",
        Some("leave it unpinned, or run it in a cpuset partition of its own"),
    );
}
