//! What viewers notice.
//!
//! ITU-R BT.1359-1, *Relative timing of sound and vision for broadcasting* (1998): viewers detect
//! sound that is 45 ms early or 125 ms late, and accept it up to 90 ms early or 185 ms late. The
//! recommendation writes early sound as positive (+45 ms and −125 ms); offsets here are
//! sound − picture, so early sound is negative.

use serde::{Deserialize, Serialize};

use crate::signed::SignedNanos;

/// Offsets within it are not noticed, or accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// What the threshold is of.
    pub name: &'static str,
    /// Sound that comes earlier than this is beyond it: a negative offset.
    pub early: SignedNanos,
    /// Sound that comes later than this is beyond it.
    pub late: SignedNanos,
}

/// Most viewers detect offsets beyond it.
pub const DETECTABLE: Threshold = Threshold {
    name: "detectable",
    early: SignedNanos::from_millis(-45),
    late: SignedNanos::from_millis(125),
};

/// Most viewers do not accept offsets beyond it.
pub const ACCEPTABLE: Threshold = Threshold {
    name: "acceptable",
    early: SignedNanos::from_millis(-90),
    late: SignedNanos::from_millis(185),
};

impl Threshold {
    /// Whether an offset is beyond it.
    pub fn is_beyond(&self, offset: SignedNanos) -> bool {
        offset < self.early || offset > self.late
    }
}

/// How many offsets are beyond the thresholds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rating {
    /// Beyond [`DETECTABLE`].
    pub detectable: usize,
    /// Beyond [`ACCEPTABLE`], too.
    pub unacceptable: usize,
}

impl Rating {
    /// Rates offsets.
    pub fn of(offsets: impl IntoIterator<Item = SignedNanos>) -> Self {
        offsets.into_iter().fold(Self::default(), |rating, offset| Self {
            detectable: rating.detectable + usize::from(DETECTABLE.is_beyond(offset)),
            unacceptable: rating.unacceptable + usize::from(ACCEPTABLE.is_beyond(offset)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_sound_is_noticed_later_than_early_sound() {
        let offsets = [-91, -90, -46, -45, 0, 125, 126, 185, 186].map(SignedNanos::from_millis);
        assert_eq!(Rating::of(offsets), Rating { detectable: 6, unacceptable: 2 });
    }
}
