//! What keeps a grant.

use tactus_model::reserve::Capacity;
use tactus_model::time::Nanos;
use tactus_reserve::{Refused, Reserve, Rung};

/// A grant that is kept, by this manager or by another part of its program.
#[derive(Debug)]
pub(crate) enum Kept {
    /// By a reserve of this manager.
    Here(Box<Reserve>),
    /// By who asked for it: see [`Manager::allot`](crate::Manager::allot).
    Elsewhere(Capacity),
}

impl Kept {
    pub(crate) fn change(&mut self, capacity: Capacity) -> Result<(), Refused> {
        match self {
            Self::Here(reserve) => reserve.change(capacity),
            Self::Elsewhere(kept) => {
                *kept = capacity;
                Ok(())
            }
        }
    }

    /// Ends the grant, and returns how long the kernel remembers it.
    pub(crate) fn release(self) -> Nanos {
        match self {
            Self::Here(reserve) => reserve.release(),
            Self::Elsewhere(capacity) => capacity.period(),
        }
    }

    pub(crate) fn capacity(&self) -> Capacity {
        match self {
            Self::Here(reserve) => reserve.capacity(),
            Self::Elsewhere(capacity) => *capacity,
        }
    }

    pub(crate) fn rung(&self) -> Rung {
        match self {
            Self::Here(reserve) => reserve.rung(),
            Self::Elsewhere(_) => Rung::Priority,
        }
    }
}
