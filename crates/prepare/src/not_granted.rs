//! A request of a thread that the kernel refused.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tactus_model::cpus::CpuList;
use tactus_model::facts::MachineFacts;
use tactus_model::policy::Scheduling;
use tactus_model::result::Shortfall;
use tactus_model::time::Nanos;
use tactus_permission::{Asked, Diagnosis, Refusal, diagnose};
use tactus_sys::Errno;

/// A request of a thread that the kernel refused, and what the thread has instead.
///
/// It can be sent to another process, which then explains it: a process in namespaces that we
/// created would blame these namespaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotGranted {
    /// A scheduling class.
    Scheduling {
        /// The class.
        asked: Scheduling,
        /// The class it has instead.
        granted: Scheduling,
        /// The CPUs to which the thread is confined.
        confined_to: CpuList,
        /// The kernel's error, as an errno(3) number.
        errno: i32,
    },
    /// Running on these CPUs only.
    Cpus {
        /// The CPUs.
        asked: CpuList,
        /// The CPUs on which it may run instead.
        granted: CpuList,
        /// The kernel's error.
        errno: i32,
    },
    /// Being pinned with `SCHED_DEADLINE`, which the kernel grants to no thread.
    PinnedDeadline,
    /// A timer slack.
    TimerSlack {
        /// The slack.
        asked: Nanos,
        /// The slack it has instead.
        granted: Nanos,
        /// The kernel's error.
        errno: i32,
    },
    /// Locked memory.
    LockedMemory {
        /// The kernel's error.
        errno: i32,
    },
    /// A limit on the exit latency of idle states.
    IdleStates {
        /// The limit.
        microseconds: u32,
        /// The kernel's error.
        errno: i32,
    },
}

impl NotGranted {
    /// Describes what was requested, what the thread has instead, and why, on a machine with
    /// these `facts`.
    pub fn explain(&self, facts: &MachineFacts) -> Shortfall {
        let (asked, granted) = self.words();
        let Diagnosis { reason, fix } = self.diagnose(facts);
        Shortfall { asked, granted, reason, fix }
    }

    /// [Explains](Self::explain) the refusal on this machine.
    pub fn explain_here(&self) -> Shortfall {
        self.explain(&tactus_sys::facts::read(Path::new("/")))
    }

    /// Finds the reason and the fix on a machine with these `facts`.
    pub fn diagnose(&self, facts: &MachineFacts) -> Diagnosis {
        let (asked, errno) = match self {
            Self::Scheduling { asked, confined_to, errno, .. } => {
                let confined_to = Some(confined_to.clone());
                (Asked::Scheduling { scheduling: *asked, confined_to }, *errno)
            }
            Self::Cpus { asked, errno, .. } => (Asked::Cpus(asked.clone()), *errno),
            Self::PinnedDeadline => return no_pinned_deadline(),
            Self::TimerSlack { asked, errno, .. } => (Asked::TimerSlack(*asked), *errno),
            Self::LockedMemory { errno } => (Asked::LockedMemory { bytes: None }, *errno),
            Self::IdleStates { errno, .. } => (Asked::IdleExitLatency, *errno),
        };
        diagnose(&asked, Refusal::from_raw_os_error(errno), facts)
    }

    /// What was requested, and what the thread has instead.
    fn words(&self) -> (String, String) {
        match self {
            Self::Scheduling { asked, granted, .. } => {
                (format!("policy {asked}"), format!("policy {granted}"))
            }
            Self::Cpus { asked, granted, .. } => (counted(asked), format!("any of CPUs {granted}")),
            Self::PinnedDeadline => {
                ("each task pinned to its CPU".to_owned(), "tasks placed by the kernel".to_owned())
            }
            Self::TimerSlack { asked, granted, .. } => {
                (format!("timer-slack {asked}"), format!("timer-slack {granted}"))
            }
            Self::LockedMemory { .. } => {
                ("lock-memory".to_owned(), "memory touched in advance, not locked".to_owned())
            }
            Self::IdleStates { microseconds, .. } => {
                (format!("cpu-dma-latency {microseconds}us"), "idle states untouched".to_owned())
            }
        }
    }
}

/// Explains why the kernel of this machine refused `asked` with `errno`.
pub fn diagnose_here(asked: &Asked, errno: Errno) -> Diagnosis {
    let refusal = Refusal::from_raw_os_error(errno.raw_os_error());
    diagnose(asked, refusal, &tactus_sys::facts::read(Path::new("/")))
}

fn counted(cpus: &CpuList) -> String {
    if cpus.len() == 1 { format!("CPU {cpus}") } else { format!("CPUs {cpus}") }
}

/// The rule of sched(7).
fn no_pinned_deadline() -> Diagnosis {
    Diagnosis {
        reason:
            "the kernel admits a deadline task only when it may run on every CPU of its root domain"
                .to_owned(),
        fix: Some("policy fifo:99, which can be pinned".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::time::Instant;
    use tactus_permission::{Activity, grant};

    use super::*;

    #[test]
    fn another_process_explains_a_refusal() {
        let mut facts = MachineFacts::unknown(Instant::from_nanos(0));
        facts.permission.user_id = Some(1000);
        facts.permission.capabilities = Some(Vec::new());
        facts.permission.rtprio_limit = Some(0);
        let errno = Errno::PERM.raw_os_error();
        let refused = NotGranted::Scheduling {
            asked: "fifo:80".parse().unwrap(),
            granted: Scheduling::ORDINARY,
            confined_to: "0".parse().unwrap(),
            errno,
        };
        let sent = serde_json::to_string(&refused).unwrap();
        let received: NotGranted = serde_json::from_str(&sent).unwrap();
        assert_eq!(received, refused);
        let Shortfall { asked, granted, reason, fix } = received.explain(&facts);
        assert_eq!((&*asked, &*granted), ("policy fifo:80", "policy other"));
        assert_eq!(reason, "CAP_SYS_NICE is not held, and RLIMIT_RTPRIO is 0");
        assert_eq!(fix, Some(grant(Activity::RealTime, &facts)));
    }

    #[test]
    fn one_cpu_is_singular_and_several_are_plural() {
        let words = |asked: &str| {
            let asked = asked.parse().unwrap();
            let refused = NotGranted::Cpus { asked, granted: "0-1".parse().unwrap(), errno: 22 };
            refused.words()
        };
        assert_eq!(words("7"), ("CPU 7".to_owned(), "any of CPUs 0-1".to_owned()));
        assert_eq!(words("7-8").0, "CPUs 7-8");
    }
}
