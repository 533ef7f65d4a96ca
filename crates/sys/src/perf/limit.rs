//! File descriptors for the many events of a recording.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit of open files while it exists, and restores it when dropped, so that programs
/// started later see the original limit.
///
/// An event needs a descriptor on every CPU: see `RLIMIT_NOFILE` in
/// [getrlimit(2)](https://man7.org/linux/man-pages/man2/getrlimit.2.html).
#[derive(Debug)]
pub struct OpenFileLimit {
    before: Rlimit,
}

impl OpenFileLimit {
    /// Raises the limit as far as this process is permitted to.
    pub fn raise() -> Self {
        let before = getrlimit(Resource::Nofile);
        // Raising the soft limit to the hard one is always permitted.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: before.maximum, ..before });
        Self { before }
    }

    /// The number of files that this process may have open now.
    pub fn present() -> u64 {
        getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
    }
}

impl Drop for OpenFileLimit {
    fn drop(&mut self) {
        let _ = setrlimit(Resource::Nofile, self.before);
    }
}
