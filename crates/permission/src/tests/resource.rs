//! Nice values, CPUs, locked memory, the idle-exit limit, io_uring.

use super::*;

#[test]
fn a_nice_value_below_the_limit() {
    check(
        &scheduling("other:-5"),
        Refusal::ACCESS,
        &machine(|_| ()),
        "CAP_SYS_NICE is not held, and RLIMIT_NICE allows nothing below the current 0",
        SETCAP,
    );
    check(
        &scheduling("batch:-15"),
        Refusal::PERM,
        &machine(|facts| facts.permission.nice_limit = Some(-10)),
        "CAP_SYS_NICE is not held, and RLIMIT_NICE allows -10 at best",
        Some(
            "echo '@realtime - nice -15' | sudo tee -a /etc/security/limits.d/realtime.conf && \
             sudo groupadd -f realtime && sudo usermod -aG realtime $USER, then log in again",
        ),
    );
    check(
        &scheduling("other"),
        Refusal::PERM,
        &machine(|facts| facts.permission.nice = Some(10)),
        "CAP_SYS_NICE is not held, and RLIMIT_NICE allows nothing below the current 10",
        SETCAP,
    );
    check(
        &scheduling("other:-20"),
        Refusal::ACCESS,
        &contained("docker", |_| ()),
        "CAP_SYS_NICE is not held, and RLIMIT_NICE allows nothing below the current 0",
        Some(DOCKER),
    );
}

#[test]
fn cpus_that_cannot_be_used() {
    let confined = root(|facts| {
        facts.cpu.present = Some(cpus("0-7"));
        facts.cpu.online = Some(cpus("0-5"));
        facts.cgroup.cpuset = Some(cpus("0-3"));
    });
    let asked = |text| Asked::Cpus(cpus(text));
    check(
        &asked("4"),
        Refusal::INVAL,
        &confined,
        "CPU 4 is outside this process's cpuset",
        Some("echo 0-4 | sudo tee /sys/fs/cgroup/user.slice/cpuset.cpus"),
    );
    check(
        &asked("6-7"),
        Refusal::INVAL,
        &confined,
        "CPUs 6-7 are offline",
        Some(
            "echo 1 | sudo tee /sys/devices/system/cpu/cpu6/online && \
             echo 1 | sudo tee /sys/devices/system/cpu/cpu7/online",
        ),
    );
    check(
        &asked("9"),
        Refusal::INVAL,
        &confined,
        "CPU 9 is not present in this machine",
        Some("choose among CPUs 0-5"),
    );
    check(
        &asked("5-8"),
        Refusal::INVAL,
        &confined,
        "CPU 8 is not present in this machine, and CPUs 6-7 are offline, \
         and CPU 5 is outside this process's cpuset",
        Some("echo 0-3,5 | sudo tee /sys/fs/cgroup/user.slice/cpuset.cpus"),
    );
    check(&asked(""), Refusal::INVAL, &confined, "no CPU was given", None);
    check(
        &asked("3"),
        Refusal::INVAL,
        &contained("docker", |facts| facts.cgroup.cpuset = Some(cpus("0-1"))),
        "CPU 3 is outside this process's cpuset",
        Some(&with("docker", "--cpuset-cpus=0-1,3")),
    );
}

#[test]
fn locked_memory_above_the_limit() {
    let asked = Asked::LockedMemory { bytes: Some(64 << 20) };
    check(
        &asked,
        Refusal::NOMEM,
        &machine(|_| ()),
        "CAP_IPC_LOCK is not held, and RLIMIT_MEMLOCK is 8 MiB, less than the requested 64 MiB",
        SETCAP,
    );
    check(
        &asked,
        Refusal::NOMEM,
        &machine(|facts| facts.permission.memlock_limit_hard = Some(100 << 20)),
        "CAP_IPC_LOCK is not held, and RLIMIT_MEMLOCK is 8 MiB, less than the requested 64 MiB",
        Some("ulimit -S -l 65536"),
    );
    check(
        &Asked::LockedMemory { bytes: None },
        Refusal::NOMEM,
        &machine(|facts| facts.permission.memlock_limit_hard = Some(u64::MAX)),
        "CAP_IPC_LOCK is not held, and RLIMIT_MEMLOCK is 8 MiB",
        Some("ulimit -S -l unlimited"),
    );
    check(
        &asked,
        Refusal::PERM,
        &contained("docker", |facts| facts.permission.memlock_limit = Some(0)),
        "CAP_IPC_LOCK is not held, and RLIMIT_MEMLOCK is 0",
        Some(DOCKER),
    );
    check(
        &asked,
        Refusal::NOMEM,
        &root(|_| ()),
        "the machine or this process's cgroup does not have enough memory to lock",
        None,
    );
}

#[test]
fn the_idle_exit_limit() {
    check(
        &Asked::IdleExitLatency,
        Refusal::ACCESS,
        &machine(|_| ()),
        "only the owner of /dev/cpu_dma_latency, usually root, may write to it",
        Some("sudo chown $USER /dev/cpu_dma_latency"),
    );
    check(
        &Asked::IdleExitLatency,
        Refusal::NOENT,
        &contained("docker", |_| ()),
        "the container does not have /dev/cpu_dma_latency",
        Some(&with("docker", "--device=/dev/cpu_dma_latency")),
    );
    check(
        &Asked::IdleExitLatency,
        Refusal::PERM,
        &contained("podman", |_| ()),
        "the container may not open the device /dev/cpu_dma_latency",
        Some(&with("podman", "--device=/dev/cpu_dma_latency")),
    );
    check(
        &Asked::IdleExitLatency,
        Refusal::NOENT,
        &root(|_| ()),
        "this kernel has no /dev/cpu_dma_latency",
        None,
    );
}

#[test]
fn io_uring() {
    let disabled = |value| machine(move |facts| facts.permission.io_uring_disabled = Some(value));
    let fix = Some("sudo sysctl kernel.io_uring_disabled=0");
    check(
        &Asked::IoUring,
        Refusal::PERM,
        &disabled(1),
        "kernel.io_uring_disabled is 1: io_uring needs CAP_SYS_ADMIN or the group kernel.io_uring_group",
        fix,
    );
    check(
        &Asked::IoUring,
        Refusal::PERM,
        &disabled(2),
        "kernel.io_uring_disabled is 2: io_uring is disabled for all users",
        fix,
    );
    check(
        &Asked::IoUring,
        Refusal::PERM,
        &contained("docker", |_| ()),
        "a seccomp filter blocks io_uring_setup; no other known rule forbids it",
        Some(&with("docker", "--security-opt seccomp=unconfined")),
    );
}

#[test]
fn a_container_command_does_not_undo_another() {
    let started = contained("docker", |facts| {
        facts.permission.seccomp = Some(false);
        facts.permission.capabilities = Some(vec!["CAP_SYS_ADMIN".to_owned()]);
        facts.cgroup.cpuset = Some(cpus("0-1"));
        facts.cpu.idle_exit_latency_limit_us = Some(10);
    });
    let everything = "docker run --cap-add=IPC_LOCK --cap-add=PERFMON --cap-add=SYS_ADMIN \
         --cap-add=SYS_NICE --cap-add=SYSLOG -v /sys/kernel/tracing:/sys/kernel/tracing \
         --security-opt seccomp=unconfined --device=/dev/cpu_dma_latency --cpuset-cpus=0-1 …";
    for activity in [Activity::RealTime, Activity::Perf, Activity::Tracefs] {
        assert_eq!(grant(activity, &started), everything);
    }
    assert_eq!(
        diagnose(&Asked::IdleExitLatency, Refusal::PERM, &started).fix.as_deref(),
        Some(everything)
    );
    let own = contained("docker", |facts| facts.permission.program = Some("/bin/robot".to_owned()));
    assert_eq!(
        grant(Activity::RealTime, &own),
        "docker run --cap-add=IPC_LOCK --cap-add=SYS_NICE …"
    );
}
