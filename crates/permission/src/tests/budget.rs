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
fn a_cgroup_without_budget_refuses_who_is_within_the_limit() {
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
            "docker run --cpu-rt-runtime=950000 --cap-add=SYS_NICE --ulimit rtprio=99 … \
             (and the same budget for the daemon: dockerd --cpu-rt-runtime=950000)",
        ),
    );
}

#[test]
fn budgets_under_version_2_cannot_be_given() {
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
