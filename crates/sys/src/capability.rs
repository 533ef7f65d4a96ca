//! Capabilities that the program's file gives to everyone who runs it.
//!
//! An administrator may permit measuring to every user by file capabilities
//! ([capabilities(7)](https://man7.org/linux/man-pages/man7/capabilities.7.html)). Two of them
//! open files that the user may not read. A process therefore [confines](confine) itself before
//! it opens anything: it keeps these two out of its effective set, and raises one of them only
//! [while it reads](with) a file of the kernel whose path the user cannot choose. All other files
//! are opened with the user's own rights.
//!
//! Capabilities belong to a thread, and new threads and processes inherit them from the thread
//! that creates them. Confine a process while it has one thread.

use std::ffi::CString;
use std::path::Path;

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use crate::error::SysError;

/// The names of all capabilities; the position is the bit (`linux/capability.h`).
pub(crate) const NAMES: [&str; 41] = [
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_DAC_READ_SEARCH",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_SETGID",
    "CAP_SETUID",
    "CAP_SETPCAP",
    "CAP_LINUX_IMMUTABLE",
    "CAP_NET_BIND_SERVICE",
    "CAP_NET_BROADCAST",
    "CAP_NET_ADMIN",
    "CAP_NET_RAW",
    "CAP_IPC_LOCK",
    "CAP_IPC_OWNER",
    "CAP_SYS_MODULE",
    "CAP_SYS_RAWIO",
    "CAP_SYS_CHROOT",
    "CAP_SYS_PTRACE",
    "CAP_SYS_PACCT",
    "CAP_SYS_ADMIN",
    "CAP_SYS_BOOT",
    "CAP_SYS_NICE",
    "CAP_SYS_RESOURCE",
    "CAP_SYS_TIME",
    "CAP_SYS_TTY_CONFIG",
    "CAP_MKNOD",
    "CAP_LEASE",
    "CAP_AUDIT_WRITE",
    "CAP_AUDIT_CONTROL",
    "CAP_SETFCAP",
    "CAP_MAC_OVERRIDE",
    "CAP_MAC_ADMIN",
    "CAP_SYSLOG",
    "CAP_WAKE_ALARM",
    "CAP_BLOCK_SUSPEND",
    "CAP_AUDIT_READ",
    "CAP_PERFMON",
    "CAP_BPF",
    "CAP_CHECKPOINT_RESTORE",
];

/// The capabilities that stay effective: they open no file.
const LASTING: CapabilitySet =
    CapabilitySet::IPC_LOCK.union(CapabilitySet::PERFMON).union(CapabilitySet::SYS_NICE);

/// The capabilities that are raised only [while a file is read](with).
const RAISED: CapabilitySet = CapabilitySet::DAC_READ_SEARCH.union(CapabilitySet::SYSLOG);

/// A capability that opens files for which the user has no right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Directories and files of the kernel that only root may read: tracefs and debugfs.
    #[doc(alias = "CAP_DAC_READ_SEARCH")]
    KernelFiles,
    /// The kernel's addresses in `/proc/kallsyms`.
    #[doc(alias = "CAP_SYSLOG")]
    KernelAddresses,
}

impl Reading {
    const fn capability(self) -> CapabilitySet {
        match self {
            Self::KernelFiles => CapabilitySet::DAC_READ_SEARCH,
            Self::KernelAddresses => CapabilitySet::SYSLOG,
        }
    }
}

/// Takes from this process what its program file gave to the user, except what measuring needs.
///
/// The capabilities for locked memory, scheduling and perf stay. Those of [`Reading`] become
/// ineffective until [`with`] raises one. All others are dropped for good, and no program that
/// this process executes inherits any. If the file has the set-user-ID or set-group-ID bit, the
/// process goes back to the user and group who started it.
///
/// Does nothing if the file gave nothing: then all rights are the user's own, such as those of
/// root.
///
/// # Errors
/// A seccomp filter may refuse the calls. The process must not go on then.
pub fn confine() -> Result<(), SysError> {
    if !is_privileged_by_its_file() {
        return Ok(());
    }
    return_to_real_user()?;
    let CapabilitySets { permitted, .. } = held()?;
    set(CapabilitySets {
        effective: permitted & LASTING,
        permitted: permitted & (LASTING | RAISED),
        inheritable: CapabilitySet::empty(),
    })
}

/// Drops for good what [`with`] could raise, in a process that never will.
///
/// Does nothing if the program file gave nothing.
///
/// # Errors
/// Those of [`confine`].
pub fn give_up_reading() -> Result<(), SysError> {
    if !is_privileged_by_its_file() {
        return Ok(());
    }
    let CapabilitySets { effective, permitted, inheritable } = held()?;
    set(CapabilitySets {
        effective: effective - RAISED,
        permitted: permitted - RAISED,
        inheritable,
    })
}

/// Calls `read` with the capability for `reading` raised on this thread, if the process has it.
///
/// Every path that `read` opens must be fixed: none may come from a user.
pub fn with<T>(reading: Reading, read: impl FnOnce() -> T) -> T {
    let _raised = Raised::new(reading.capability());
    read()
}

/// A raised capability, lowered when this is dropped, also by a panic.
struct Raised {
    /// What was held before; `None` if nothing was raised.
    before: Option<CapabilitySets>,
}

impl Raised {
    fn new(capability: CapabilitySet) -> Self {
        // Without the capability, the kernel's error says what is missing.
        let before = held().ok().filter(|held| {
            let effective = held.effective | capability;
            held.permitted.contains(capability)
                && effective != held.effective
                && set(CapabilitySets { effective, ..*held }).is_ok()
        });
        Self { before }
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        // The kernel always permits a smaller set. Nothing may run with the larger one.
        if self.before.is_some_and(|before| set(before).is_err()) {
            std::process::abort();
        }
    }
}

/// The capabilities that the file `program` gives to every user, as names; `None` if it cannot
/// be found out.
///
/// They are in the attribute `security.capability`, in the form of `struct vfs_cap_data`
/// (`linux/capability.h`).
pub(crate) fn of_file(program: &Path) -> Option<Vec<String>> {
    let path = CString::new(program.as_os_str().as_encoded_bytes()).ok()?;
    let mut data = [0; 24];
    match rustix::fs::getxattr(path, "security.capability", &mut data) {
        Ok(length) => parse(&data[..length]),
        Err(rustix::io::Errno::NODATA) => Some(Vec::new()),
        Err(_) => None,
    }
}

/// A magic number, then the permitted and the inheritable capabilities: two times 32 bits each,
/// of which the lower bits come first.
fn parse(data: &[u8]) -> Option<Vec<String>> {
    let word = |at: usize| data.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    let permitted = u64::from(word(4)?) | u64::from(word(12)?) << 32;
    Some(names(permitted).map(str::to_owned).collect())
}

/// The names of the capabilities in `mask`.
pub(crate) fn names(mask: u64) -> impl Iterator<Item = &'static str> {
    (0u32..).zip(NAMES).filter(move |(bit, _)| mask >> bit & 1 == 1).map(|(_, name)| name)
}

/// Whether the kernel gave this process rights that the user does not have: `AT_SECURE` of
/// [getauxval(3)](https://man7.org/linux/man-pages/man3/getauxval.3.html).
fn is_privileged_by_its_file() -> bool {
    // SAFETY: the function reads a value that the kernel left for this process.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

fn return_to_real_user() -> Result<(), SysError> {
    // SAFETY: both functions change only the ids of this process.
    let (group, user) = unsafe {
        let (group, user) = (libc::getgid(), libc::getuid());
        // The group first: without the user's privilege it could not be changed.
        (libc::setresgid(group, group, group), libc::setresuid(user, user, user))
    };
    SysError::check("setresgid", group)?;
    SysError::check("setresuid", user).map(drop)
}

fn held() -> Result<CapabilitySets, SysError> {
    capabilities(None).map_err(SysError::of("capget"))
}

fn set(sets: CapabilitySets) -> Result<(), SysError> {
    set_capabilities(None, sets).map_err(SysError::of("capset"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_capability_has_its_bit() {
        for (name, capability) in [
            ("CAP_DAC_READ_SEARCH", CapabilitySet::DAC_READ_SEARCH),
            ("CAP_IPC_LOCK", CapabilitySet::IPC_LOCK),
            ("CAP_SYS_NICE", CapabilitySet::SYS_NICE),
            ("CAP_SYSLOG", CapabilitySet::SYSLOG),
            ("CAP_PERFMON", CapabilitySet::PERFMON),
            ("CAP_CHECKPOINT_RESTORE", CapabilitySet::CHECKPOINT_RESTORE),
        ] {
            assert_eq!(names(capability.bits()).collect::<Vec<_>>(), [name]);
        }
    }

    #[test]
    fn the_attribute_of_a_file_lists_its_capabilities() {
        let magic = 0x0200_0001_u32.to_le_bytes();
        let (low, high) = ((1_u32 << 14 | 1 << 23).to_le_bytes(), (1_u32 << 6).to_le_bytes());
        let data = [magic, low, [0; 4], high, [0; 4]].concat();
        let expected = ["CAP_IPC_LOCK", "CAP_SYS_NICE", "CAP_PERFMON"].map(str::to_owned);
        assert_eq!(parse(&data), Some(expected.to_vec()));
        assert_eq!(parse(&data[..7]), None);
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(of_file(file.path()), Some(Vec::new()));
    }

    #[test]
    fn a_capability_is_raised_for_one_call() {
        let before = held().unwrap();
        if !before.permitted.contains(RAISED) {
            tactus_testing::skip(tactus_testing::Need::Root, "the capabilities are not held");
            return;
        }
        set(CapabilitySets { effective: before.effective - RAISED, ..before }).unwrap();
        let effective = || held().unwrap().effective & RAISED;
        let raised = with(Reading::KernelFiles, effective);
        assert_eq!((raised, effective()), (CapabilitySet::DAC_READ_SEARCH, CapabilitySet::empty()));
        let panicked = std::panic::catch_unwind(|| with(Reading::KernelAddresses, || panic!()));
        assert!(panicked.is_err() && effective().is_empty());
        set(before).unwrap();
    }
}
