//! Room for the many descriptors that a recording opens.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Holds the limit of open files at what it may be raised to, and puts it back
/// when dropped, so that programs started later find what they know.
///
/// An event on every processor is a descriptor each:
/// see `RLIMIT_NOFILE` in [getrlimit(2)](https://man7.org/linux/man-pages/man2/getrlimit.2.html).
#[derive(Debug)]
pub struct OpenFileLimit {
    before: Rlimit,
}

impl OpenFileLimit {
    /// Raises the limit as far as this process may.
    pub fn raise() -> Self {
        let before = getrlimit(Resource::Nofile);
        // Raising the soft limit to the hard one is always permitted.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: before.maximum, ..before });
        Self { before }
    }
}

impl Drop for OpenFileLimit {
    fn drop(&mut self) {
        let _ = setrlimit(Resource::Nofile, self.before);
    }
}
