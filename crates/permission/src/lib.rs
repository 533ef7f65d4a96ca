//! The meaning of a refusal: the reason, the fix, and the best that is permitted instead.
//!
//! The kernel returns one error, `EPERM`, for many causes. This crate distinguishes
//! them by the facts of the machine. It is pure: it makes no call and reads no file,
//! so each case can be tested on any machine.
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
mod cpus;
mod fix;
mod machine;
mod recording;
mod refusal;
mod resources;
mod scheduling;

use tactus_model::cpus::CpuList;
use tactus_model::facts::MachineFacts;
use tactus_model::policy::Scheduling;
use tactus_model::time::Nanos;

pub use best::best_permitted;
pub use fix::{Activity, grant, widest};
pub use refusal::Refusal;
pub use scheduling::without_group_budget;

/// A request to the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A scheduling class with its parameters, by sched_setattr(2) or setpriority(2).
    Scheduling {
        /// The class and its parameters.
        scheduling: Scheduling,
        /// The CPUs to which the thread was confined at the time; `None` if
        /// it was not confined beyond [`allowed_cpus`].
        ///
        /// [`allowed_cpus`]: tactus_model::facts::PermissionFacts::allowed_cpus
        confined_to: Option<CpuList>,
    },
    /// An affinity to these CPUs, by sched_setaffinity(2).
    Cpus(CpuList),
    /// Locked memory, by mlockall(2) or mlock(2).
    LockedMemory {
        /// The amount, if known.
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
    /// A program in the kernel, by bpf(2).
    #[doc(alias = "CAP_BPF")]
    Bpf,
    /// The descriptions of the kernel's tracepoints in tracefs.
    Tracepoints,
    /// An instance of tracefs.
    TracefsInstance,
    /// Kernel events of a CPU, by perf_event_open(2).
    KernelEvents,
    /// The descriptions of the tracepoints of system calls, to record those of own threads.
    ThreadCalls,
    /// Events of an own thread, by perf_event_open(2).
    ThreadEvents,
    /// Memory for the events of a CPU, by mmap(2) of a perf event.
    EventRings,
    /// A new value of a setting in sysfs, procfs or debugfs.
    Setting,
    /// A PID namespace, by clone(2), with a user namespace if CAP_SYS_ADMIN is not held.
    #[doc(alias = "CLONE_NEWPID")]
    Namespace {
        /// Whether the kernel created the user namespace and refused its map of users.
        maps_users: bool,
        /// The assignment of sysctl(8) that would let ordinary users create user namespaces, if
        /// the machine forbids it.
        switch: Option<&'static str>,
    },
    /// Tracing of child processes, by ptrace(2).
    #[doc(alias = "PTRACE_TRACEME")]
    Tracing,
}

/// The reason for a refusal, and its fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// The reason, in one sentence.
    pub reason: String,
    /// The command or change that would grant the request, if there is one.
    pub fix: Option<String>,
}

impl Diagnosis {
    fn new(reason: impl Into<String>, fix: impl Into<Option<String>>) -> Self {
        Self { reason: reason.into(), fix: fix.into() }
    }
}

/// Explains why `asked` failed with `refusal` on the machine that `facts` describe.
///
/// If several causes fit, the reason names the one that the kernel checks first.
/// If no known cause fits, the reason says so.
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
        Asked::Bpf => resources::bpf(refusal, facts),
        Asked::TimerSlack(_) => None,
        Asked::Tracepoints => recording::tracepoints(Activity::Tracefs, refusal, facts),
        Asked::ThreadCalls => recording::tracepoints(Activity::ThreadCalls, refusal, facts),
        Asked::TracefsInstance => recording::instance(refusal, facts),
        Asked::KernelEvents => recording::events(recording::for_cpus(facts), refusal, facts),
        Asked::ThreadEvents => recording::events(Activity::ThreadEvents, refusal, facts),
        Asked::EventRings => recording::rings(refusal, facts),
        Asked::Setting => machine::setting(refusal, facts),
        Asked::Namespace { maps_users, switch } => {
            machine::namespace(*maps_users, *switch, refusal, facts)
        }
        Asked::Tracing => machine::tracing(refusal, facts),
    };
    diagnosis.or_else(|| filtered(asked, refusal, facts)).unwrap_or_else(|| {
        Diagnosis::new(format!("{} failed: {refusal}; no known cause fits", asked.call()), None)
    })
}

impl Asked {
    /// The system call that makes the request.
    const fn call(&self) -> &'static str {
        match self {
            Self::Scheduling { .. } => "sched_setattr",
            Self::Cpus(_) => "sched_setaffinity",
            Self::LockedMemory { .. } => "mlockall",
            Self::IdleExitLatency => "opening /dev/cpu_dma_latency",
            Self::TimerSlack(_) => "prctl(PR_SET_TIMERSLACK)",
            Self::IoUring => "io_uring_setup",
            Self::Bpf => "bpf",
            Self::Tracepoints | Self::ThreadCalls => "reading tracefs",
            Self::TracefsInstance => "mkdir",
            Self::KernelEvents | Self::ThreadEvents => "perf_event_open",
            Self::EventRings => "mmap",
            Self::Setting => "writing it",
            Self::Namespace { maps_users: true, .. } => "writing the map of users",
            Self::Namespace { .. } => "clone3",
            Self::Tracing => "ptrace",
        }
    }
}

/// The container around this process, if it is known to be in one.
fn container(facts: &MachineFacts) -> Option<&str> {
    facts.permission.container.as_deref().filter(|name| *name != "none")
}

/// Whether this process runs as root, perhaps only root of a container.
fn is_root(facts: &MachineFacts) -> bool {
    facts.permission.user_id == Some(0)
}

/// The advice for what no container may do.
const ON_THE_HOST: &str = "run it on the host, outside the container";

/// Why root is refused although it holds the capabilities.
fn beyond_root(facts: &MachineFacts) -> Diagnosis {
    if container(facts).is_some() {
        Diagnosis::new(
            "the container does not permit it, not even to its root user",
            ON_THE_HOST.to_owned(),
        )
    } else if facts.permission.own_user_namespace == Some(true) {
        Diagnosis::new(
            "root of a user namespace has no rights over the machine",
            "run it as root outside the user namespace".to_owned(),
        )
    } else if let Some(level) = lockdown(facts) {
        Diagnosis::new(
            format!("kernel lockdown ({level}) refuses it even to root"),
            END_OF_LOCKDOWN.to_owned(),
        )
    } else {
        Diagnosis::new(
            "the kernel refuses it even to root, for example by kernel lockdown, SELinux or AppArmor",
            "cat /sys/kernel/security/lockdown /sys/kernel/security/lsm  # shows what is active"
                .to_owned(),
        )
    }
}

/// The lockdown of the kernel, if it is known to be in force.
fn lockdown(facts: &MachineFacts) -> Option<&str> {
    facts.kernel.lockdown.as_deref().filter(|level| *level != "none")
}

/// How lockdown ends: the kernel only ever raises it.
pub const END_OF_LOCKDOWN: &str = "start the kernel without lockdown=, or disable Secure Boot in \
                                   the firmware, which switches it on";

fn missing_call(asked: &Asked, facts: &MachineFacts) -> Diagnosis {
    if facts.permission.seccomp == Some(true) {
        return Diagnosis::new(
            format!("a seccomp filter makes {} fail with ENOSYS", asked.call()),
            fix::unfiltered_calls(facts),
        );
    }
    Diagnosis::new(format!("this kernel does not have {}", asked.call()), None)
}

/// A refusal that only a seccomp filter explains, because all other causes are ruled out.
fn filtered(asked: &Asked, refusal: Refusal, facts: &MachineFacts) -> Option<Diagnosis> {
    let refused = matches!(refusal, Refusal::PERM | Refusal::ACCESS);
    (refused && facts.permission.seccomp == Some(true)).then(|| {
        Diagnosis::new(
            format!("a seccomp filter blocks {}; no other known rule forbids it", asked.call()),
            fix::unfiltered_calls(facts),
        )
    })
}

#[cfg(test)]
mod tests;
