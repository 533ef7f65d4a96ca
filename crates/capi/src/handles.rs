//! Handles: numbers for objects that C programs cannot use after their end.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

use tactus_sys::pi_mutex::{PiGuard, PiLockError, PiMutex};

use crate::failure::Failure;

/// What a handle is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Thread = 1,
    Channel,
    Mutex,
    Condition,
    Alarms,
    Client,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Thread => "a thread",
            Self::Channel => "a channel",
            Self::Mutex => "a mutex",
            Self::Condition => "a condition variable",
            Self::Alarms => "an alarm port",
            Self::Client => "a connection",
        })
    }
}

/// Objects of one kind, in memory that never moves.
///
/// A handle has the kind in its highest byte, the generation below, and the slot in its lowest 16
/// bits. Generations are odd while the slot is in use.
pub(crate) struct Slots<T, const N: usize> {
    kind: Kind,
    slots: [Slot<T>; N],
}

/// A place for an object.
pub(crate) struct Slot<T> {
    generation: AtomicU32,
    content: T,
}

impl<T> Slot<T> {
    pub(crate) const fn new(content: T) -> Self {
        Self { generation: AtomicU32::new(0), content }
    }
}

impl<T, const N: usize> Slots<T, N> {
    pub(crate) const fn new(kind: Kind, slots: [Slot<T>; N]) -> Self {
        Self { kind, slots }
    }

    /// Takes a free slot. Returns its handle and its content.
    pub(crate) fn claim(&self) -> Result<(u64, &T), Failure> {
        for (index, slot) in self.slots.iter().enumerate() {
            let free = slot.generation.load(Ordering::Relaxed);
            let used = free.wrapping_add(1);
            let take = || {
                slot.generation.compare_exchange(free, used, Ordering::AcqRel, Ordering::Relaxed)
            };
            if free.is_multiple_of(2) && take().is_ok() {
                let handle = (self.kind as u64) << 56 | u64::from(used) << 16 | index as u64;
                return Ok((handle, &slot.content));
            }
        }
        let kind = self.kind;
        let reason = format_args!("no room for {kind}: {N} are open; fix: close those not in use");
        Err(Failure::because(libc::EMFILE, reason))
    }

    /// The content of an open slot.
    pub(crate) fn get(&self, handle: u64) -> Result<&T, Failure> {
        self.slot(handle).map(|slot| &slot.content)
    }

    /// Frees a slot; its handle is refused from now on.
    pub(crate) fn free(&self, handle: u64) -> Result<(), Failure> {
        let slot = self.slot(handle)?;
        let used = generation(handle);
        let next = used.wrapping_add(1);
        slot.generation
            .compare_exchange(used, next, Ordering::AcqRel, Ordering::Relaxed)
            .map_err(|_| CLOSED)?;
        Ok(())
    }

    /// How many are open.
    pub(crate) fn open(&self) -> usize {
        let is_open = |slot: &&Slot<T>| !slot.generation.load(Ordering::Relaxed).is_multiple_of(2);
        self.slots.iter().filter(is_open).count()
    }

    fn slot(&self, handle: u64) -> Result<&Slot<T>, Failure> {
        let slot = self.slots.get((handle & 0xFFFF) as usize);
        let Some(slot) = slot.filter(|_| handle >> 56 == self.kind as u64) else {
            let reason = format_args!("the handle {handle:#x} is not that of {}", self.kind);
            return Err(Failure::because(libc::EBADF, reason));
        };
        let is_open = generation(handle) == slot.generation.load(Ordering::Acquire)
            && !generation(handle).is_multiple_of(2);
        if is_open { Ok(slot) } else { Err(CLOSED) }
    }
}

const fn generation(handle: u64) -> u32 {
    (handle >> 16) as u32
}

const CLOSED: Failure = Failure::new(libc::EBADF, c"the handle was closed");

const BUSY: Failure = Failure::new(
    libc::EBUSY,
    c"another thread uses this side of the channel; fix: use it from one thread only",
);

/// An object that one thread at a time uses.
pub(crate) type Object<T> = PiMutex<Option<Box<T>>>;

impl<T, const N: usize> Slots<Object<T>, N> {
    /// Keeps an object; returns its handle.
    pub(crate) fn keep(&self, object: T) -> Result<u64, Failure> {
        let (handle, slot) = self.claim()?;
        *slot.lock()? = Some(Box::new(object));
        Ok(handle)
    }

    /// Uses an object; waits for other threads that use it.
    pub(crate) fn with<R>(
        &self,
        handle: u64,
        body: impl FnOnce(&mut T) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let guard = self.get(handle)?.lock()?;
        self.used(handle, guard, body)
    }

    /// Uses an object unless another thread uses it. Never waits.
    pub(crate) fn with_alone<R>(
        &self,
        handle: u64,
        body: impl FnOnce(&mut T) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let guard = self.get(handle)?.try_lock()?.ok_or(BUSY)?;
        self.used(handle, guard, body)
    }

    fn used<R>(
        &self,
        handle: u64,
        mut guard: PiGuard<'_, Option<Box<T>>>,
        body: impl FnOnce(&mut T) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        // Another object may have got the slot meanwhile.
        self.get(handle)?;
        body(guard.as_mut().ok_or(CLOSED)?)
    }

    /// Closes a handle and returns its object, unless another thread uses it.
    pub(crate) fn take(&self, handle: u64) -> Result<T, Failure> {
        let guard = self.get(handle)?.try_lock()?.ok_or(BUSY)?;
        self.taken(handle, guard)
    }

    /// Closes a handle and returns its object; waits for other threads that use it.
    pub(crate) fn take_later(&self, handle: u64) -> Result<T, Failure> {
        let guard = self.get(handle)?.lock()?;
        self.taken(handle, guard)
    }

    fn taken(&self, handle: u64, mut guard: PiGuard<'_, Option<Box<T>>>) -> Result<T, Failure> {
        self.free(handle)?;
        guard.take().map(|object| *object).ok_or(CLOSED)
    }
}

impl From<PiLockError> for Failure {
    fn from(error: PiLockError) -> Self {
        match error {
            PiLockError::AlreadyHeld => {
                Self::new(libc::EDEADLK, c"the calling thread uses it already")
            }
            PiLockError::OwnerEnded => {
                Self::new(libc::EOWNERDEAD, c"the thread that held it has ended")
            }
            PiLockError::System(error) => error.into(),
            other @ (PiLockError::Poisoned | PiLockError::OtherMutex) => {
                Self::because(libc::EINVAL, other)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_refused_after_its_end_and_for_another_kind() {
        let slots = Slots::new(Kind::Mutex, [const { Slot::new(()) }; 2]);
        let (first, ()) = slots.claim().unwrap();
        let (second, ()) = slots.claim().unwrap();
        assert!(slots.claim().is_err(), "no room");
        slots.free(first).unwrap();
        assert!(slots.get(first).is_err() && slots.free(first).is_err());
        let (third, ()) = slots.claim().unwrap();
        assert_eq!(third & 0xFFFF, first & 0xFFFF, "the slot is used again");
        assert!(slots.get(first).is_err() && slots.get(second).is_ok() && slots.get(third).is_ok());
        let others = Slots::new(Kind::Thread, [const { Slot::new(()) }; 2]);
        assert!(others.get(second).is_err());
        for handle in [0, u64::MAX, 1 << 56, third + (1 << 16)] {
            assert!(slots.get(handle).is_err(), "{handle:#x}");
        }
    }
}
