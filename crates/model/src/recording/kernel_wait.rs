//! What a thread waits for in the kernel: contended locks, memory.

use std::fmt;

use serde::{Deserialize, Serialize};

crate::text::keywords! {
    /// Which limit makes a thread reclaim memory, as in the kernel's `vmscan` events.
    pub enum Reclaim: "kind of reclaim" {
        /// The machine has too little free memory.
        Direct = "direct",
        /// The memory cgroup of the thread has reached its limit.
        Memcg = "memcg",
    }
}

/// The kind of a contended lock of the kernel (`LCB_F_*` in `include/trace/events/lock.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LockKind(pub u8);

impl LockKind {
    const SPIN: u8 = 0x01;
    const READ: u8 = 0x02;
    const WRITE: u8 = 0x04;
    const RT: u8 = 0x08;
    const PERCPU: u8 = 0x10;
    const MUTEX: u8 = 0x20;

    /// Whether the thread spins, and so does not sleep for the lock.
    pub const fn spins(self) -> bool {
        self.0 & Self::SPIN != 0
    }

    /// The kernel's word for such a lock.
    pub fn word(self) -> &'static str {
        let has = |flags| self.0 & flags != 0;
        match has(Self::READ | Self::WRITE) {
            _ if has(Self::MUTEX) => "mutex",
            _ if has(Self::PERCPU) => "percpu-rwsem",
            true if self.spins() => "rwlock",
            true => "rwsem",
            false if self.spins() => "spinlock",
            false if has(Self::RT) => "rt-mutex",
            false => "semaphore",
        }
    }
}

impl fmt::Display for LockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_has_the_kernels_word() {
        let check = |flags, word, spins| {
            assert_eq!((LockKind(flags).word(), LockKind(flags).spins()), (word, spins), "{flags}");
        };
        check(0x20, "mutex", false);
        check(0x21, "mutex", true);
        check(0x02, "rwsem", false);
        check(0x04, "rwsem", false);
        check(0x12, "percpu-rwsem", false);
        check(0x05, "rwlock", true);
        check(0x01, "spinlock", true);
        check(0x08, "rt-mutex", false);
        check(0x00, "semaphore", false);
    }
}
