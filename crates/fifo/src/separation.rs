//! How far the real-time side is separated from its peers.

use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};
use tactus_sys::SysError;

/// Whether the kernel keeps a peer from acting on the real-time process by other means than the
/// shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Separation {
    /// The peer has another user, who is not root: it can only do what the channels permit.
    OtherUid,
    /// The peer has the same user, or is root: it can stop, demote, move and trace the real-time
    /// process.
    Nominal,
}

impl Separation {
    /// Between the real-time process of user `own` and a peer of user `peer`.
    pub const fn between(own: u32, peer: u32) -> Self {
        if peer == 0 || peer == own { Self::Nominal } else { Self::OtherUid }
    }
}

impl Display for Separation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherUid => "separated by the user",
            Self::Nominal => {
                "nominal separation: a peer of the same user, or root, can stop the \
                              real-time process"
            }
        })
    }
}

/// A protection that this machine does not grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Weakness {
    /// Peers write to ordinary shared memory.
    NoSecretMemory(SysError),
    /// The memory of a channel is not in huge pages.
    NoHugePages {
        /// The channel.
        name: String,
        /// The refused call.
        error: SysError,
    },
    /// The memory of a channel is not locked.
    NotLocked {
        /// The channel.
        name: String,
        /// The refused call.
        error: SysError,
    },
    /// The broker does not have the requested priority or CPUs.
    OrdinaryBroker(SysError),
}

impl Display for Weakness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSecretMemory(error) => write!(
                f,
                "no secret memory ({error}). A peer can take away pages, which stalls the \
                 real-time side for seconds. fix: Linux 5.14, `secretmem.enable=1` on the \
                 kernel's command line, and a higher RLIMIT_MEMLOCK"
            ),
            Self::NoHugePages { name, error } => write!(
                f,
                "`{name}` is not in huge pages ({error}). A peer can cause one stall of \
                 milliseconds by collapsing its pages. fix: start the program while memory is free"
            ),
            Self::NotLocked { name, error } => write!(
                f,
                "`{name}` is not locked ({error}). Its pages can be swapped out. fix: a higher \
                 RLIMIT_MEMLOCK"
            ),
            Self::OrdinaryBroker(error) => write!(
                f,
                "the broker has neither its priority nor its CPUs ({error}). Notices can be late. \
                 fix: CAP_SYS_NICE or a higher RLIMIT_RTPRIO"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_user_that_is_not_root_is_separated() {
        assert_eq!(Separation::between(1000, 1001), Separation::OtherUid);
        assert_eq!(Separation::between(0, 1001), Separation::OtherUid);
        for (own, peer) in [(1000, 1000), (0, 0), (1000, 0)] {
            assert_eq!(Separation::between(own, peer), Separation::Nominal);
        }
    }
}
