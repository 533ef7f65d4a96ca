//! What holds a load's processes together.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tactus_model::result::Shortfall;
use tactus_sys::{Errno, SysError, namespace, process};

/// What makes sure that no process of a load is left behind.
///
/// Whatever the containment, the host holds the reading end of a pipe whose writing
/// end only the measuring process has. When that process ends, in whatever way, the
/// host reads the end of the pipe and ends the load. (The death signal of
/// `PR_SET_PDEATHSIG` would not do here: it follows the *thread* that started the
/// host, and a measuring process may start its load from a thread that ends.) The
/// keeper has such a pipe to the host. Each copy, and each program that a copy starts,
/// has the death signal of the one above it, given by a thread that lives as long.
///
/// What remains are processes that a copy's programs start in turn. Those of a compiler
/// end by themselves when a compile is done; those of a command may do anything. They are
/// what the kinds differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Containment {
    /// A PID namespace, made by privilege. The keeper is its first process and has the
    /// death signal of the host; when it ends, the kernel kills all others, however they
    /// were started.
    #[doc(alias = "CLONE_NEWPID")]
    Namespace,
    /// The same within a user namespace, as an ordinary user may make one. Programs
    /// with set-user-ID (`sudo`) have no effect in it.
    #[doc(alias = "CLONE_NEWUSER")]
    UserNamespace,
    /// No namespace is permitted. Host and keeper are each a child subreaper, and
    /// whichever is left when the other ends kills every descendant, until none is
    /// there. Commands and stress-ng are traced with `PTRACE_O_EXITKILL`, so the kernel
    /// kills them and their descendants when the copy ends, even when every process of
    /// ours is killed at once.
    ///
    /// This is what a binary with file capabilities gets from an ordinary user, since the
    /// kernel lets it make no user namespace.
    #[doc(alias = "PR_SET_CHILD_SUBREAPER")]
    Watched,
}

impl Containment {
    /// From the one to be tried first to the one that is always granted.
    pub const ALL: [Self; 3] = [Self::Namespace, Self::UserNamespace, Self::Watched];

    /// What a result says when only watching was granted.
    pub(crate) fn shortfall(refused: &SysError) -> Shortfall {
        Shortfall {
            asked: "load in a PID namespace".to_owned(),
            granted: "load watched by its host".to_owned(),
            reason: format!(
                "the kernel did not let us make namespaces ({refused}); the command is traced instead, which slows each of its forks and signals a little"
            ),
            fix: Some(fix(refused).to_owned()),
        }
    }
}

/// What would grant a namespace.
fn fix(refused: &SysError) -> &'static str {
    match (refused.call, refused.errno) {
        ("clone3", Errno::NOSPC) => "sudo sysctl user.max_user_namespaces=15000",
        // A filter of a container answers for clone3 as if it did not exist.
        ("clone3", Errno::NOSYS) => {
            "start the container without its filter of system calls: docker run --security-opt seccomp=unconfined …"
        }
        _ if process::effective_user() == 0 => {
            "give the container CAP_SYS_ADMIN: docker run --cap-add SYS_ADMIN --security-opt seccomp=unconfined …"
        }
        (namespace::USER_MAP, _) => {
            "run as root: the binary has file capabilities, with which an ordinary user cannot make a user namespace"
        }
        _ if Path::new(APPARMOR).exists() => {
            "run as root, or: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
        }
        _ if Path::new(DEBIAN).exists() => {
            "run as root, or: sudo sysctl kernel.unprivileged_userns_clone=1"
        }
        _ => "run as root",
    }
}

/// Ubuntu's switch: only profiled programs may use what a user namespace gives.
const APPARMOR: &str = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";

/// Debian's switch.
const DEBIAN: &str = "/proc/sys/kernel/unprivileged_userns_clone";

impl fmt::Display for Containment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Namespace => "namespace",
            Self::UserNamespace => "user namespace",
            Self::Watched => "watched",
        })
    }
}
