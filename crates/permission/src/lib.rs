//! What a refusal means: the reason, what would fix it, and the best that is permitted instead.
//!
//! The kernel has one word, `EPERM`, for many causes. This crate tells them
//! apart from what is known of the machine. It is pure: it makes no call and
//! reads no file, so each case can be tested on any machine.
//!
//! Sources: [sched(7)], [sched_setattr(2)], [sched_setaffinity(2)], [capabilities(7)],
//! [cpuset(7)], [mlock(2)], [io_uring_setup(2)] and the kernel's
//! `Documentation/scheduler/{sched-deadline,sched-rt-group}.rst`.
//!
//! [sched(7)]: https://man7.org/linux/man-pages/man7/sched.7.html
//! [sched_setattr(2)]: https://man7.org/linux/man-pages/man2/sched_setattr.2.html
//! [sched_setaffinity(2)]: https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html
//! [capabilities(7)]: https://man7.org/linux/man-pages/man7/capabilities.7.html
//! [cpuset(7)]: https://man7.org/linux/man-pages/man7/cpuset.7.html
//! [mlock(2)]: https://man7.org/linux/man-pages/man2/mlock.2.html
//! [io_uring_setup(2)]: https://man7.org/linux/man-pages/man2/io_uring_setup.2.html

#![forbid(unsafe_code)]

mod best;
mod fix;
mod cpus;
mod refusal;
mod resources;
mod scheduling;

use tactus_model::cpus::CpuList;
use tactus_model::facts::MachineFacts;
use tactus_model::policy::Scheduling;
use tactus_model::time::Nanos;

pub use best::best_permitted;
pub use fix::grant_all;
pub use refusal::Refusal;
pub use scheduling::without_group_budget;

/// Something that was asked of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A scheduling class with its parameters, by sched_setattr(2) or setpriority(2).
    Scheduling {
        /// The class and its parameters.
        scheduling: Scheduling,
        /// The CPUs the thread was confined to when it asked; `None` where
        /// it was not confined beyond [`allowed_cpus`].
        ///
        /// [`allowed_cpus`]: tactus_model::facts::PermissionFacts::allowed_cpus
        confined_to: Option<CpuList>,
    },
    /// To run on these CPUs only, by sched_setaffinity(2).
    Cpus(CpuList),
    /// Locked memory, by mlockall(2) or mlock(2).
    LockedMemory {
        /// How much of it, where that is known.
        bytes: Option<u64>,
    },
    /// A limit on the idle-exit latency, by holding `/dev/cpu_dma_latency` open.
    #[doc(alias = "cpu_dma_latency")]
    IdleExitLatency,
    /// A timer slack, by prctl(2).
    #[doc(alias = "PR_SET_TIMERSLACK")]
    TimerSlack(Nanos),
    /// An io_uring instance, by io_uring_setup(2).
    IoUring,
}

/// Why something was refused, and what would grant it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// The reason, in one sentence.
    pub reason: String,
    /// The command or change that would grant it, where there is one.
    pub fix: Option<String>,
}

impl Diagnosis {
    fn new(reason: impl Into<String>, fix: impl Into<Option<String>>) -> Self {
        Self { reason: reason.into(), fix: fix.into() }
    }
}

/// Says why `asked` was answered with `refusal` on a machine of which `facts` are known.
///
/// Where several causes fit, the one that the kernel checks first is named.
/// Where no known cause fits, the reason says so.
pub fn diagnose(asked: &Asked, refusal: Refusal, facts: &MachineFacts) -> Diagnosis {
    if refusal == Refusal::NOSYS {
        return missing_call(asked, facts);
    }
    let diagnosis = match asked {
        Asked::Scheduling { scheduling, confined_to } => {
            scheduling::diagnose(*scheduling, confined_to.as_ref(), refusal, facts)
        }
        Asked::Cpus(cpus) => cpus::diagnose(cpus, refusal, facts),
        Asked::LockedMemory { bytes } => resources::locked_memory(*bytes, refusal, facts),
        Asked::IdleExitLatency => resources::idle_exit_latency(refusal, facts),
        Asked::IoUring => resources::io_uring(refusal, facts),
        Asked::TimerSlack(_) => None,
    };
    diagnosis.or_else(|| filtered(asked, refusal, facts)).unwrap_or_else(|| {
        Diagnosis::new(
            format!("{} was answered with \"{refusal}\", and no known cause fits", asked.call()),
            None,
        )
    })
}

impl Asked {
    /// The system call that asks for it.
    const fn call(&self) -> &'static str {
        match self {
            Self::Scheduling { .. } => "sched_setattr",
            Self::Cpus(_) => "sched_setaffinity",
            Self::LockedMemory { .. } => "mlockall",
            Self::IdleExitLatency => "opening /dev/cpu_dma_latency",
            Self::TimerSlack(_) => "prctl(PR_SET_TIMERSLACK)",
            Self::IoUring => "io_uring_setup",
        }
    }
}

/// Whether we are in a container, as far as it is known.
fn container(facts: &MachineFacts) -> Option<&str> {
    facts.permission.container.as_deref().filter(|name| *name != "none")
}

fn missing_call(asked: &Asked, facts: &MachineFacts) -> Diagnosis {
    if facts.permission.seccomp == Some(true) {
        return Diagnosis::new(
            format!("a seccomp filter answers {} as if the kernel did not have it", asked.call()),
            fix::unfiltered(facts),
        );
    }
    Diagnosis::new(format!("this kernel does not have {}", asked.call()), None)
}

/// A refusal that only a filter explains, because every other cause has been ruled out.
fn filtered(asked: &Asked, refusal: Refusal, facts: &MachineFacts) -> Option<Diagnosis> {
    let refused = matches!(refusal, Refusal::PERM | Refusal::ACCESS);
    (refused && facts.permission.seccomp == Some(true)).then(|| {
        Diagnosis::new(
            format!(
                "a seccomp filter refuses {}; nothing else that is known forbids it",
                asked.call()
            ),
            fix::unfiltered(facts),
        )
    })
}

#[cfg(test)]
mod tests;
