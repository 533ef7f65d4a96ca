//! A cgroup without a real-time budget.

use super::*;

const NO_BUDGET: &str = "this process's cgroup has a real-time budget of 0 (RT_GROUP_SCHED), so the kernel refuses even root";

#[test]
fn a_cgroup_without_budget_refuses_root() {
    check(
        &scheduling("fifo:90"),
        Refusal::PERM,
        &root(without_budget),
        NO_BUDGET,
        Some("echo 950000 | sudo tee /sys/fs/cgroup/cpu/user.slice/cpu.rt_runtime_us"),
    );
}

#[test]
fn a_cgroup_without_budget_refuses_even_within_the_limit() {
    check(
        &scheduling("fifo:50"),
        Refusal::PERM,
        &machine(|facts| {
            without_budget(facts);
            facts.permission.rtprio_limit = Some(99);
        }),
        NO_BUDGET,
        Some("echo 950000 | sudo tee /sys/fs/cgroup/cpu/user.slice/cpu.rt_runtime_us"),
    );
}

#[test]
fn a_container_without_budget() {
    check(
        &scheduling("fifo:90"),
        Refusal::PERM,
        &root(|facts| {
            without_budget(facts);
            facts.permission.container = Some("docker".to_owned());
        }),
        NO_BUDGET,
        Some(
            "docker run --cpu-rt-runtime=950000 --cap-add=IPC_LOCK --cap-add=PERFMON \
             --cap-add=SYS_ADMIN --cap-add=SYS_NICE --cap-add=SYSLOG -v /sys/kernel/tracing:/sys/kernel/tracing \
             --security-opt seccomp=unconfined … \
             (and the same budget for the daemon: dockerd --cpu-rt-runtime=950000)",
        ),
    );
}

#[test]
fn under_version_2_only_the_root_group_has_a_budget() {
    let facts = |container: &str| {
        let container = container.to_owned();
        root(move |facts| {
            facts.kernel.rt_group_scheduling = Some(true);
            facts.permission.container = Some(container);
        })
    };
    let reason = "the kernel has RT_GROUP_SCHED, which under cgroup v2 leaves every cgroup but the root without a real-time budget";
    let asked = scheduling("fifo:90");
    check(
        &asked,
        Refusal::PERM,
        &facts("none"),
        reason,
        Some("echo $$ | sudo tee /sys/fs/cgroup/cgroup.procs"),
    );
    check(
        &asked,
        Refusal::PERM,
        &facts("docker"),
        reason,
        Some(
            "on the host: sudo sysctl kernel.sched_rt_runtime_us=-1 (turns real-time throttling off)",
        ),
    );
}

#[test]
fn the_root_group_has_the_whole_budget() {
    let facts = |change: fn(&mut MachineFacts)| {
        root(|facts| {
            facts.kernel.rt_group_scheduling = Some(true);
            facts.cgroup.cpu_directory = Some("/sys/fs/cgroup".to_owned());
            change(facts);
        })
    };
    assert!(!without_group_budget(&facts(|_| ())));
    assert!(
        without_group_budget(
            &facts(|facts| facts.permission.container = Some("docker".to_owned()))
        ),
        "a container sees its own group as the root"
    );
    let below: fn(&mut MachineFacts) =
        |facts| facts.cgroup.cpu_directory = Some("/sys/fs/cgroup/user.slice".to_owned());
    assert!(without_group_budget(&facts(below)));
    let reason = diagnose(&scheduling("fifo:90"), Refusal::PERM, &facts(|_| ())).reason;
    assert!(reason.ends_with("no known cause fits"), "the group is not the cause: {reason}");
}

#[test]
fn budgets_count_only_under_a_global_limit_and_if_the_kernel_has_them() {
    let unlimited = |facts: &mut MachineFacts| facts.scheduling.rt_runtime_us = Some(-1);
    let version_2 = |facts: &mut MachineFacts| facts.kernel.rt_group_scheduling = Some(true);
    let both = |first: fn(&mut MachineFacts)| {
        root(|facts| {
            first(facts);
            unlimited(facts);
        })
    };
    assert!(
        without_group_budget(&root(without_budget)) && !without_group_budget(&both(without_budget))
    );
    assert!(without_group_budget(&root(version_2)) && !without_group_budget(&both(version_2)));
    assert!(!without_group_budget(&root(|_| ())), "it is unknown whether the kernel has budgets");
    let given = root(|facts| {
        without_budget(facts);
        facts.cgroup.rt_runtime_us = Some(100_000);
    });
    assert!(!without_group_budget(&given));
}
