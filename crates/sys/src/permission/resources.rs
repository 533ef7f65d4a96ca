//! Why locked memory, the idle limit or io_uring was refused.

use tactus_model::facts::MachineFacts;

use super::mend::{Privilege, ulimit};
use super::{Diagnosis, container};
use crate::Errno;

pub(super) fn locked_memory(
    bytes: Option<u64>,
    errno: Errno,
    facts: &MachineFacts,
) -> Option<Diagnosis> {
    let permission = &facts.permission;
    let privileged = permission.holds("CAP_IPC_LOCK") == Some(true);
    let limit = permission.memlock_limit;
    match errno {
        Errno::PERM if !privileged && limit.is_none_or(|limit| limit == 0) => Some(Diagnosis::new(
            "CAP_IPC_LOCK is not held, and RLIMIT_MEMLOCK is 0",
            raise_memlock(bytes, facts),
        )),
        Errno::NOMEM | Errno::AGAIN
            if !privileged
                && limit.is_some_and(|limit| bytes.is_none_or(|bytes| bytes > limit)) =>
        {
            let limit = limit.unwrap_or(0);
            let wanted =
                bytes.map(|bytes| format!(" of the {} asked for", kib(bytes))).unwrap_or_default();
            Some(Diagnosis::new(
                format!(
                    "CAP_IPC_LOCK is not held, and RLIMIT_MEMLOCK allows {} to be locked{wanted}",
                    kib(limit)
                ),
                raise_memlock(bytes, facts),
            ))
        }
        Errno::NOMEM | Errno::AGAIN => Some(Diagnosis::new(
            "there is not enough memory to lock it, in the machine or in this process's cgroup",
            None,
        )),
        _ => None,
    }
}

fn raise_memlock(bytes: Option<u64>, facts: &MachineFacts) -> Option<String> {
    let hard = facts.permission.memlock_limit_hard.unwrap_or(0);
    match bytes {
        _ if hard == u64::MAX => Some(ulimit('l', "unlimited")),
        Some(bytes) if hard >= bytes => Some(ulimit('l', bytes.div_ceil(1024))),
        _ => Privilege::locked_memory().grant(facts),
    }
}

fn kib(bytes: u64) -> String {
    format!("{} KiB", bytes / 1024)
}

pub(super) fn idle_exit_latency(errno: Errno, facts: &MachineFacts) -> Option<Diagnosis> {
    let from_outside = container(facts).map(|name| match name {
        "docker" | "podman" => format!("{name} run --device=/dev/cpu_dma_latency …"),
        _ => "give the container the device /dev/cpu_dma_latency".to_owned(),
    });
    match errno {
        Errno::NOENT | Errno::NXIO | Errno::NODEV if from_outside.is_some() => {
            Some(Diagnosis::new("the container does not have /dev/cpu_dma_latency", from_outside))
        }
        Errno::NOENT | Errno::NXIO | Errno::NODEV => {
            Some(Diagnosis::new("this kernel has no /dev/cpu_dma_latency", None))
        }
        // The permission bits were passed, so it is the container's list of devices.
        Errno::PERM if from_outside.is_some() => Some(Diagnosis::new(
            "the container may not open the device /dev/cpu_dma_latency",
            from_outside,
        )),
        Errno::ACCESS | Errno::PERM => Some(Diagnosis::new(
            "only the owner of /dev/cpu_dma_latency, usually root, may write to it",
            Some("sudo chown $USER /dev/cpu_dma_latency".to_owned()),
        )),
        _ => None,
    }
}

pub(super) fn io_uring(errno: Errno, facts: &MachineFacts) -> Option<Diagnosis> {
    let outside = if container(facts).is_some() { "on the host: " } else { "" };
    let mend = || Some(format!("{outside}sudo sysctl kernel.io_uring_disabled=0"));
    let privileged = facts.permission.holds("CAP_SYS_ADMIN") == Some(true);
    match (errno, facts.permission.io_uring_disabled) {
        (Errno::PERM, Some(2)) => Some(Diagnosis::new(
            "kernel.io_uring_disabled is 2: io_uring is off for everybody",
            mend(),
        )),
        (Errno::PERM, Some(1)) if !privileged => Some(Diagnosis::new(
            "kernel.io_uring_disabled is 1: io_uring needs CAP_SYS_ADMIN or the group kernel.io_uring_group",
            mend(),
        )),
        // Kernels before 5.12 count the rings as locked memory.
        (Errno::NOMEM, _) => locked_memory(None, errno, facts),
        _ => None,
    }
}
