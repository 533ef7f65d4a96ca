//! How the broker hands the memory of a new peer to a real-time thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tactus_sys::peer_memory::ReadableWords;

use crate::Received;

/// The memory that a peer writes.
#[derive(Debug)]
pub(crate) struct Peer {
    pub words: ReadableWords,
    /// The number of its introduction.
    pub session: u64,
    /// What became of the items of the writers that were withdrawn before it.
    pub missed: Received,
}

/// A place for one peer. The real-time thread never waits here, and never frees memory.
#[derive(Debug, Default)]
pub(crate) struct Handover {
    is_offered: AtomicBool,
    place: Mutex<Place>,
}

#[derive(Debug, Default)]
struct Place {
    offered: Option<Peer>,
    /// Of the peer before, to be freed by the broker.
    retired: Option<Peer>,
}

impl Handover {
    /// Offers a peer to the real-time thread, and frees the one that it has returned.
    pub fn offer(&self, peer: Peer) {
        let place = Place { offered: Some(peer), retired: None };
        let mut locked = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        let freed = std::mem::replace(&mut *locked, place);
        drop(locked);
        self.is_offered.store(true, Ordering::Release);
        drop(freed);
    }

    /// Takes back the peer that is offered, unless the real-time thread has taken it.
    pub fn withdraw(&self) -> Option<Peer> {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        place.offered.take()
    }

    /// Whether a peer is offered.
    pub fn is_offered(&self) -> bool {
        self.is_offered.load(Ordering::Acquire)
    }

    /// Replaces `current` by the peer that is offered. Returns whether it did; while the broker
    /// uses the place, it does not.
    pub fn take(&self, current: &mut Option<Peer>) -> bool {
        // A private lock that is only tried; the broker never waits while it has it.
        let Ok(mut place) = self.place.try_lock() else { return false };
        self.is_offered.store(false, Ordering::Relaxed);
        let Some(offered) = place.offered.take() else { return false };
        place.retired = current.replace(offered);
        true
    }
}
