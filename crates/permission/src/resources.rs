//! Why the kernel refused locked memory, the idle-exit limit, io_uring or bpf.

use tactus_model::facts::MachineFacts;

use crate::fix::{Missing, Privilege, as_root, container_run, run_as_root, ulimit};
use crate::{Diagnosis, Refusal, beyond_root, is_root};

pub(crate) fn locked_memory(
    bytes: Option<u64>,
    refusal: Refusal,
    facts: &MachineFacts,
) -> Option<Diagnosis> {
    let permission = &facts.permission;
    let privileged = permission.holds("CAP_IPC_LOCK") == Some(true);
    let limit = permission.memlock_limit;
    match refusal {
        Refusal::PERM if !privileged && limit.is_none_or(|limit| limit == 0) => {
            Some(Diagnosis::new(
                "CAP_IPC_LOCK is not held, and RLIMIT_MEMLOCK is 0",
                raise_memlock(bytes, facts),
            ))
        }
        Refusal::NOMEM | Refusal::AGAIN
            if !privileged
                && limit.is_some_and(|limit| bytes.is_none_or(|bytes| bytes > limit)) =>
        {
            let limit = size(limit.unwrap_or(0));
            let wanted = bytes.map_or_else(String::new, |bytes| {
                format!(", less than the requested {}", size(bytes))
            });
            Some(Diagnosis::new(
                format!("CAP_IPC_LOCK is not held, and RLIMIT_MEMLOCK is {limit}{wanted}"),
                raise_memlock(bytes, facts),
            ))
        }
        Refusal::NOMEM | Refusal::AGAIN => Some(Diagnosis::new(
            "the machine or this process's cgroup does not have enough memory to lock",
            None,
        )),
        _ => None,
    }
}

pub(crate) fn raise_memlock(bytes: Option<u64>, facts: &MachineFacts) -> Option<String> {
    let hard = facts.permission.memlock_limit_hard.unwrap_or(0);
    match bytes {
        _ if hard == u64::MAX => Some(ulimit('l', "unlimited")),
        Some(bytes) if hard >= bytes => Some(ulimit('l', bytes.div_ceil(1024))),
        _ => Privilege::locked_memory().grant(facts),
    }
}

fn size(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 20) {
        format!("{} MiB", bytes >> 20)
    } else {
        format!("{} KiB", bytes >> 10)
    }
}

pub(crate) fn idle_exit_latency(refusal: Refusal, facts: &MachineFacts) -> Option<Diagnosis> {
    let from_outside = container_run(Missing::IdleExitDevice, facts);
    match refusal {
        Refusal::NOENT | Refusal::NXIO | Refusal::NODEV if from_outside.is_some() => {
            Some(Diagnosis::new("the container does not have /dev/cpu_dma_latency", from_outside))
        }
        Refusal::NOENT | Refusal::NXIO | Refusal::NODEV => {
            Some(Diagnosis::new("this kernel has no /dev/cpu_dma_latency", None))
        }
        // The permission bits allow it, so the container's device list refuses it.
        Refusal::PERM if from_outside.is_some() => Some(Diagnosis::new(
            "the container may not open the device /dev/cpu_dma_latency",
            from_outside,
        )),
        Refusal::ACCESS | Refusal::PERM if is_root(facts) => Some(beyond_root(facts)),
        Refusal::ACCESS | Refusal::PERM => Some(Diagnosis::new(
            "only the owner of /dev/cpu_dma_latency, usually root, may write to it",
            Some("sudo chown $USER /dev/cpu_dma_latency".to_owned()),
        )),
        _ => None,
    }
}

pub(crate) fn bpf(refusal: Refusal, facts: &MachineFacts) -> Option<Diagnosis> {
    let holds = |name| facts.permission.holds(name) == Some(true);
    let privileged = holds("CAP_SYS_ADMIN") || (holds("CAP_BPF") && holds("CAP_PERFMON"));
    match refusal {
        Refusal::PERM if is_root(facts) => Some(beyond_root(facts)),
        Refusal::PERM if !privileged => {
            Some(Diagnosis::new("CAP_BPF and CAP_PERFMON are not held", run_as_root(facts)))
        }
        _ => None,
    }
}

pub(crate) fn io_uring(refusal: Refusal, facts: &MachineFacts) -> Option<Diagnosis> {
    let fix = || as_root("sysctl kernel.io_uring_disabled=0", facts);
    let privileged = facts.permission.holds("CAP_SYS_ADMIN") == Some(true);
    match (refusal, facts.permission.io_uring_disabled) {
        (Refusal::PERM, Some(2)) => Some(Diagnosis::new(
            "kernel.io_uring_disabled is 2: io_uring is disabled for all users",
            fix(),
        )),
        (Refusal::PERM, Some(1)) if !privileged => Some(Diagnosis::new(
            "kernel.io_uring_disabled is 1: io_uring needs CAP_SYS_ADMIN or the group kernel.io_uring_group",
            fix(),
        )),
        // Kernels before 5.12 count the rings as locked memory.
        (Refusal::NOMEM, _) => locked_memory(None, refusal, facts),
        _ => None,
    }
}
