//! Every cause that the crate distinguishes, on fictional machines.

use tactus_model::time::Instant;

use super::*;

mod budget;
mod deadline;
mod descent;
mod machine;
mod priority;
mod recording;
mod resource;

/// A machine with four CPUs, an ordinary user without privileges, no container, no filter.
fn machine(change: impl FnOnce(&mut MachineFacts)) -> MachineFacts {
    let mut facts = MachineFacts::unknown(Instant::from_nanos(0));
    let all: CpuList = (0..4).collect();
    facts.cpu.present = Some(all.clone());
    facts.cpu.online = Some(all.clone());
    facts.cpu.isolated = Some(CpuList::default());
    facts.scheduling.rt_runtime_us = Some(950_000);
    facts.scheduling.rt_period_us = Some(1_000_000);
    facts.scheduling.deadline_period_min_us = Some(100);
    facts.scheduling.deadline_period_max_us = Some(4_194_304);
    facts.permission.user_id = Some(1000);
    facts.permission.capabilities = Some(Vec::new());
    facts.permission.rtprio_limit = Some(0);
    facts.permission.rtprio_limit_hard = Some(0);
    facts.permission.memlock_limit = Some(8 << 20);
    facts.permission.memlock_limit_hard = Some(8 << 20);
    facts.permission.nice = Some(0);
    facts.permission.nice_limit = Some(20);
    facts.permission.allowed_cpus = Some(all.clone());
    facts.permission.container = Some("none".to_owned());
    facts.permission.own_user_namespace = Some(false);
    facts.permission.seccomp = Some(false);
    facts.permission.no_new_privileges = Some(false);
    facts.permission.io_uring_disabled = Some(0);
    facts.cgroup.version = Some(2);
    facts.cgroup.cpu_directory = Some("/sys/fs/cgroup/user.slice".to_owned());
    facts.cgroup.cpuset_directory = Some("/sys/fs/cgroup/user.slice".to_owned());
    facts.cgroup.cpuset = Some(all);
    change(&mut facts);
    facts
}

/// The same machine, as root with all capabilities that matter.
fn root(change: impl FnOnce(&mut MachineFacts)) -> MachineFacts {
    machine(|facts| {
        facts.permission.user_id = Some(0);
        let held = ["CAP_IPC_LOCK", "CAP_SYS_ADMIN", "CAP_SYS_NICE"];
        facts.permission.capabilities = Some(held.map(str::to_owned).to_vec());
        change(facts);
    })
}

/// A container of the kind `name` with a seccomp filter, whose root has no capabilities.
fn contained(name: &str, change: impl FnOnce(&mut MachineFacts)) -> MachineFacts {
    machine(|facts| {
        facts.permission.user_id = Some(0);
        facts.permission.container = Some(name.to_owned());
        facts.permission.seccomp = Some(true);
        change(facts);
    })
}

fn without_budget(facts: &mut MachineFacts) {
    facts.cgroup.version = Some(1);
    facts.cgroup.cpu_directory = Some("/sys/fs/cgroup/cpu/user.slice".to_owned());
    facts.cgroup.rt_runtime_us = Some(0);
    facts.kernel.rt_group_scheduling = Some(true);
}

fn scheduling(text: &str) -> Asked {
    Asked::Scheduling { scheduling: text.parse().unwrap(), confined_to: None }
}

fn cpus(text: &str) -> CpuList {
    text.parse().unwrap()
}

#[track_caller]
fn check(asked: &Asked, refusal: Refusal, facts: &MachineFacts, reason: &str, fix: Option<&str>) {
    let found = diagnose(asked, refusal, facts);
    assert_eq!(found.reason, reason);
    assert_eq!(found.fix.as_deref(), fix);
}

const SETCAP: Option<&str> =
    Some("sudo setcap cap_ipc_lock,cap_sys_nice+ep \"$(command -v tactus)\"");

/// The command that starts a container with all that `tactus` needs.
const DOCKER: &str = "docker run --cap-add=IPC_LOCK --cap-add=PERFMON --cap-add=SYS_NICE \
                      --cap-add=SYSLOG -v /sys/kernel/tracing:/sys/kernel/tracing …";

/// The same command of `docker` or `podman` with one more option.
fn with(name: &str, option: &str) -> String {
    DOCKER.replace("docker", name).replace('…', &format!("{option} …"))
}

const DEADLINE: &str = "deadline:500us/1ms/1ms";
