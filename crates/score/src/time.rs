//! Logical time.

use std::fmt;
use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};
use tactus_delivery::item::Moment;
use tactus_model::time::Nanos;

/// A logical time: nanoseconds since the score began.
///
/// Arithmetic saturates at both ends, 0 and about 584 years.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(Nanos);

impl Time {
    /// The beginning of the score.
    pub const START: Self = Self(Nanos::ZERO);
    /// A time that never comes. A task that awaits it runs until it is cut.
    pub const NEVER: Self = Self(Nanos::MAX);

    /// The time that is so long after the beginning.
    pub const fn after_start(length: Nanos) -> Self {
        Self(length)
    }

    /// How long after the beginning it is.
    pub const fn since_start(self) -> Nanos {
        self.0
    }

    /// The instant of this time in a performance that began at `origin`.
    pub fn moment(self, origin: Moment) -> Moment {
        origin + self.0
    }

    /// The time of an instant in a performance that began at `origin`; [`Self::START`] if it was
    /// before that.
    pub fn of(moment: Moment, origin: Moment) -> Self {
        Self(moment - origin)
    }
}

impl Add<Nanos> for Time {
    type Output = Self;
    fn add(self, length: Nanos) -> Self {
        Self(self.0 + length)
    }
}

impl Sub for Time {
    type Output = Nanos;
    /// The duration from `earlier` to this time, zero if `earlier` is later.
    fn sub(self, earlier: Self) -> Nanos {
        self.0 - earlier.0
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
