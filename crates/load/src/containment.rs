//! What keeps a load's processes together.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tactus_model::result::Shortfall;
use tactus_permission::{Asked, Diagnosis};
use tactus_prepare::diagnose_here;
use tactus_sys::{SysError, namespace};

/// The mechanism that leaves no process of a load behind.
///
/// In every kind, the host holds the read end of a pipe, and only the measuring process
/// holds the write end. When the measuring process ends, for whatever reason, the host reads
/// the end of the pipe and ends the load. (The death signal of `PR_SET_PDEATHSIG` does not
/// work here: it follows the *thread* that started the host, and a measuring process may
/// start its load from a thread that ends.) The supervisor has the same kind of pipe to the
/// host. Each copy, and each program that a copy starts, has the death signal of its parent,
/// set by a thread that lives as long as the parent.
///
/// This does not cover processes that a copy's programs start. Those of a compiler end by
/// themselves when a compile is done; those of a command may do anything. The kinds differ
/// in how they handle them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Containment {
    /// A privileged PID namespace. The supervisor is its first process and has the death
    /// signal of the host; when it ends, the kernel kills all other processes in the
    /// namespace, however they were started.
    #[doc(alias = "CLONE_NEWPID")]
    Namespace,
    /// The same within a user namespace, which an ordinary user may create. Set-user-ID
    /// programs (`sudo`) have no effect in it.
    #[doc(alias = "CLONE_NEWUSER")]
    UserNamespace,
    /// No namespace is permitted. Host and supervisor are both child subreapers. When either
    /// ends, the other kills all descendants, until none is left. Commands and stress-ng are
    /// traced with `PTRACE_O_EXITKILL`, so the kernel kills them and their descendants when
    /// the copy ends, even when every process of Tactus is killed at once.
    ///
    /// A binary with file capabilities gets this kind when an ordinary user runs it, because
    /// the kernel does not let it create a user namespace.
    #[doc(alias = "PR_SET_CHILD_SUBREAPER")]
    Watched,
}

impl Containment {
    /// The order of attempts; the last kind is always permitted.
    pub const ALL: [Self; 3] = [Self::Namespace, Self::UserNamespace, Self::Watched];

    /// The shortfall of a load that is only watched.
    pub(crate) fn shortfall(refused: &SysError) -> Shortfall {
        let asked = Asked::Namespace {
            maps_users: refused.call == namespace::USER_MAP,
            switch: SWITCHES
                .into_iter()
                .find(|(file, _)| Path::new(file).exists())
                .map(|(_, assignment)| assignment),
        };
        let Diagnosis { reason, fix } = diagnose_here(&asked, refused.errno);
        Shortfall {
            asked: "load in a PID namespace".to_owned(),
            granted: "load watched by its host, which slows its forks and signals slightly"
                .to_owned(),
            reason,
            fix,
        }
    }
}

/// The switches of Ubuntu (only programs with an AppArmor profile may use a user namespace) and
/// Debian, and the assignments of sysctl(8) that permit user namespaces to everyone.
const SWITCHES: [(&str, &str); 2] = [
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    ("/proc/sys/kernel/unprivileged_userns_clone", "kernel.unprivileged_userns_clone=1"),
];

impl fmt::Display for Containment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Namespace => "namespace",
            Self::UserNamespace => "user namespace",
            Self::Watched => "watched",
        })
    }
}
