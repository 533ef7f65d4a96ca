//! How far the real-time side is separated from its peers.

use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

/// Whether the kernel keeps a peer from acting on the real-time process by other means than the
/// shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Separation {
    /// The peer has another user, who is not root: it can only do what the channels permit.
    OtherUid,
    /// The peer has the same user, or is root: it can stop, demote, move and trace the real-time
    /// process.
    #[default]
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
