//! Protections that a machine does not grant, with their effects.

use tactus_model::result::Shortfall;
use tactus_sys::{Errno, SysError, affinity};

const MORE_LOCKED: &str = "a higher RLIMIT_MEMLOCK";

/// Peers write to ordinary shared memory.
pub(crate) fn no_secret_memory(error: SysError) -> Shortfall {
    shortfall(
        "secret memory for peers".to_owned(),
        "shared memory",
        error,
        "a peer can take away pages, which stalls the real-time side for seconds",
        "Linux 5.14, `secretmem.enable=1` on the kernel's command line, and a higher RLIMIT_MEMLOCK",
    )
}

/// The memory of a channel is not in huge pages.
pub(crate) fn no_huge_pages(channel: &str, error: SysError) -> Shortfall {
    shortfall(
        format!("huge pages for `{channel}`"),
        "small pages",
        error,
        "a peer can cause one stall of milliseconds by collapsing them",
        "start the program while memory is free",
    )
}

/// The memory of a channel is not locked.
pub(crate) fn not_locked(channel: &str, error: SysError) -> Shortfall {
    let asked = format!("locked memory for `{channel}`");
    shortfall(asked, "unlocked memory", error, "its pages can be swapped out", MORE_LOCKED)
}

/// The broker does not have the requested priority or CPUs.
pub(crate) fn ordinary_broker(error: SysError) -> Shortfall {
    if error == NO_SUCH_CPU {
        return no_such_cpu(error);
    }
    shortfall(
        "priority and CPUs of the broker".to_owned(),
        "an ordinary program",
        error,
        "notices can be late",
        "CAP_SYS_NICE or a higher RLIMIT_RTPRIO",
    )
}

/// How [`affinity::set`] refuses CPUs that are absent, offline, or outside the cpuset.
const NO_SUCH_CPU: SysError = SysError::new("sched_setaffinity", Errno::INVAL);

fn no_such_cpu(error: SysError) -> Shortfall {
    let fix = match affinity::get() {
        Ok(cpus) => format!("name CPUs of {cpus}"),
        Err(_) => "name CPUs that are online and in the cpuset of the program".to_owned(),
    };
    shortfall(
        "CPUs of the broker or its relay".to_owned(),
        "the CPUs of the program",
        error,
        "no CPU of the list is online and in the cpuset of the program",
        &fix,
    )
}

fn shortfall(asked: String, granted: &str, error: SysError, effect: &str, fix: &str) -> Shortfall {
    Shortfall {
        asked,
        granted: granted.to_owned(),
        reason: format!("{error}; {effect}"),
        fix: Some(fix.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_cpus_are_no_question_of_permission() {
        let absent = ordinary_broker(affinity::set(&[8191].into_iter().collect()).unwrap_err());
        let own = affinity::get().unwrap();
        assert_eq!(absent.fix, Some(format!("name CPUs of {own}")));
        let forbidden = ordinary_broker(SysError::new("sched_setattr", Errno::PERM));
        assert!(forbidden.fix.unwrap().starts_with("CAP_SYS_NICE"));
    }
}
