//! A lock with priority inheritance, and its condition variable: the futex operations
//! [FUTEX_LOCK_PI(2const)](https://man7.org/linux/man-pages/man2/FUTEX_LOCK_PI.2const.html) and
//! [FUTEX_WAIT_REQUEUE_PI(2const)](https://man7.org/linux/man-pages/man2/FUTEX_WAIT_REQUEUE_PI.2const.html).
//!
//! While a thread waits for the lock, its owner has at least the waiter's priority, so no thread
//! of a priority between the two can delay the waiter. An uncontended lock and unlock make no
//! system call.

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rustix::thread::futex;
use tactus_model::time::{Instant, Monotonic, Nanos};

use crate::error::{Errno, SysError};
use crate::thread;
use crate::timespec::rustix_timespec;

/// Why a [`PiMutex`] was not locked, or a [`PiCondvar`] not awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PiLockError {
    /// Waiting would last forever.
    #[error("the calling thread holds this lock already; fix: drop its guard first")]
    AlreadyHeld,
    /// The value may be half changed.
    #[error(
        "a thread panicked while it held the lock, so its value may be half changed; \
         fix: repair what it protects and call clear_poison"
    )]
    Poisoned,
    /// Its guard was leaked.
    #[error("a thread ended without releasing the lock; fix: do not leak its guard")]
    OwnerEnded,
    /// Its waiters wait with another lock.
    #[error(
        "the condition variable has waiters with another lock; fix: use one lock with each condition variable"
    )]
    OtherMutex,
    /// The kernel refused it, e.g. without memory for its bookkeeping.
    #[error(transparent)]
    System(#[from] SysError),
}

/// A value behind a lock with priority inheritance, for the threads of one process.
///
/// A guard that is leaked leaves the lock held by a thread that may end. The kernel then finds no
/// owner, and the next thread gets [`PiLockError::OwnerEnded`].
#[doc(alias = "FUTEX_LOCK_PI")]
#[doc(alias = "PTHREAD_PRIO_INHERIT")]
pub struct PiMutex<T: ?Sized> {
    /// 0, or the ID of the owner with the kernel's flag for waiters.
    word: AtomicU32,
    is_poisoned: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the lock gives the value to one thread at a time, as a reference or by moving the lock.
unsafe impl<T: ?Sized + Send> Send for PiMutex<T> {}
// SAFETY: as above; a shared lock gives exclusive references only.
unsafe impl<T: ?Sized + Send> Sync for PiMutex<T> {}

/// Gives access to the value of a [`PiMutex`], and releases it when dropped.
///
/// It stays in the thread that locked, because only that thread can release the lock.
#[derive(Debug)]
pub struct PiGuard<'a, T: ?Sized> {
    mutex: &'a PiMutex<T>,
    /// A panic that began before the lock was taken poisons nothing.
    was_panicking: bool,
    stays_in_thread: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives shared references to the value only.
unsafe impl<T: ?Sized + Sync> Sync for PiGuard<'_, T> {}

impl<T> PiMutex<T> {
    /// Makes an unlocked lock.
    pub const fn new(value: T) -> Self {
        Self {
            word: AtomicU32::new(0),
            is_poisoned: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }
}

impl<T: ?Sized> PiMutex<T> {
    /// Waits until no other thread has the lock, and takes it.
    ///
    /// # Errors
    /// See [`PiLockError`]; the lock is not taken.
    #[inline]
    pub fn lock(&self) -> Result<PiGuard<'_, T>, PiLockError> {
        self.acquire()?;
        self.guard()
    }

    /// Takes the lock unless another thread has it; `None` if it has.
    ///
    /// # Errors
    /// See [`PiLockError`]; the lock is not taken.
    #[inline]
    pub fn try_lock(&self) -> Result<Option<PiGuard<'_, T>>, PiLockError> {
        let caller = caller();
        match self.word.compare_exchange(0, caller, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => self.guard().map(Some),
            Err(owner) if owner & OWNER == caller => Err(PiLockError::AlreadyHeld),
            Err(_) => Ok(None),
        }
    }

    /// Declares the value good again after a panic.
    pub fn clear_poison(&self) {
        self.is_poisoned.store(false, Ordering::Relaxed);
    }

    /// The guard of the lock, which the caller has just taken.
    fn guard(&self) -> Result<PiGuard<'_, T>, PiLockError> {
        // The lock orders this load: a poisoner stored before it released.
        if self.is_poisoned.load(Ordering::Relaxed) {
            self.release();
            return Err(PiLockError::Poisoned);
        }
        let was_panicking = std::thread::panicking();
        Ok(PiGuard { mutex: self, was_panicking, stays_in_thread: PhantomData })
    }

    #[inline]
    fn acquire(&self) -> Result<(), PiLockError> {
        let free = self.word.compare_exchange(0, caller(), Ordering::Acquire, Ordering::Relaxed);
        if free.is_ok() { Ok(()) } else { self.acquire_contended() }
    }

    #[cold]
    fn acquire_contended(&self) -> Result<(), PiLockError> {
        loop {
            return match futex::lock_pi(&self.word, futex::Flags::PRIVATE, None) {
                Ok(()) => Ok(()),
                // The owner is about to end, and the kernel has not yet noticed.
                Err(Errno::INTR | Errno::AGAIN) => continue,
                Err(Errno::DEADLK) => Err(PiLockError::AlreadyHeld),
                Err(Errno::SRCH) => Err(PiLockError::OwnerEnded),
                Err(errno) => Err(SysError::new("futex", errno).into()),
            };
        }
    }

    /// Releases the lock, which the caller holds.
    #[inline]
    fn release(&self) {
        let alone =
            self.word.compare_exchange(caller(), 0, Ordering::Release, Ordering::Relaxed).is_ok();
        if !alone {
            // The kernel refuses it only if another thread has the lock, which cannot be.
            let _ = futex::unlock_pi(&self.word, futex::Flags::PRIVATE);
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for PiMutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("PiMutex");
        match self.try_lock() {
            Ok(Some(guard)) => shown.field("value", &&*guard),
            _ => shown.field("value", &format_args!("<locked>")),
        };
        shown.finish()
    }
}

impl<T: ?Sized> Deref for PiGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this thread holds the lock while the guard lives.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for PiGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread holds the lock while the guard lives, and the guard is borrowed
        // exclusively.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized> Drop for PiGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if std::thread::panicking() && !self.was_panicking {
            self.mutex.is_poisoned.store(true, Ordering::Relaxed);
        }
        self.mutex.release();
    }
}

/// A condition that threads await together with a [`PiMutex`].
///
/// A notified thread waits for the lock in the kernel, by priority and with inheritance; threads
/// do not wake up only to wait again. As with every condition variable, a wait may end
/// without a notification: check the condition in a loop.
#[doc(alias = "FUTEX_WAIT_REQUEUE_PI")]
#[derive(Debug, Default)]
pub struct PiCondvar {
    /// How often it was notified, modulo 2³².
    sequence: AtomicU32,
}

/// How a wait of [`PiCondvar::wait_until`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PiWait {
    /// By a notification, or for no reason.
    Notified,
    /// The time was over.
    TimedOut,
}

impl PiCondvar {
    /// Makes a condition variable without waiters.
    pub const fn new() -> Self {
        Self { sequence: AtomicU32::new(0) }
    }

    /// Releases the lock, waits for a notification, and takes the lock again.
    ///
    /// # Errors
    /// See [`PiLockError`]; the lock is not held then.
    pub fn wait<'a, T: ?Sized>(
        &self,
        guard: PiGuard<'a, T>,
    ) -> Result<PiGuard<'a, T>, PiLockError> {
        self.wait_at_most(guard, None).map(|(guard, _)| guard)
    }

    /// Like [`wait`](Self::wait), until `end` at the latest.
    ///
    /// # Errors
    /// See [`PiLockError`]; the lock is not held then.
    pub fn wait_until<'a, T: ?Sized>(
        &self,
        guard: PiGuard<'a, T>,
        end: Instant<Monotonic>,
    ) -> Result<(PiGuard<'a, T>, PiWait), PiLockError> {
        self.wait_at_most(guard, Some(end))
    }

    fn wait_at_most<'a, T: ?Sized>(
        &self,
        guard: PiGuard<'a, T>,
        end: Option<Instant<Monotonic>>,
    ) -> Result<(PiGuard<'a, T>, PiWait), PiLockError> {
        let mutex = guard.mutex;
        let seen = self.sequence.load(Ordering::Relaxed);
        drop(guard);
        let end = end.map(|end| rustix_timespec(Nanos::from_nanos(end.as_nanos())));
        let flags = futex::Flags::PRIVATE;
        let waited = futex::wait_requeue_pi(&self.sequence, flags, seen, end.as_ref(), &mutex.word);
        let how = match waited {
            // The kernel has given this thread the lock.
            Ok(()) => return Ok((mutex.guard()?, PiWait::Notified)),
            // A notification came before the thread slept, or a signal.
            Err(Errno::AGAIN | Errno::INTR) => PiWait::Notified,
            Err(Errno::TIMEDOUT) => PiWait::TimedOut,
            Err(errno) => return Err(SysError::new("futex", errno).into()),
        };
        Ok((mutex.lock()?, how))
    }

    /// Wakes the waiter of the highest priority. The lock whose guard the caller holds is that of
    /// the waiters.
    ///
    /// # Errors
    /// [`PiLockError::OtherMutex`]: the waiters wait with another lock.
    pub fn notify_one<T: ?Sized>(&self, guard: &PiGuard<'_, T>) -> Result<(), PiLockError> {
        self.notify(guard, 0)
    }

    /// Wakes all waiters, which get the lock one after another by priority. The lock whose guard
    /// the caller holds is that of the waiters.
    ///
    /// # Errors
    /// [`PiLockError::OtherMutex`]: the waiters wait with another lock.
    pub fn notify_all<T: ?Sized>(&self, guard: &PiGuard<'_, T>) -> Result<(), PiLockError> {
        self.notify(guard, i32::MAX as u32)
    }

    /// Moves one waiter and `others` more to the lock.
    fn notify<T: ?Sized>(&self, guard: &PiGuard<'_, T>, others: u32) -> Result<(), PiLockError> {
        self.sequence.fetch_add(1, Ordering::Relaxed);
        loop {
            // Another notifier, with another lock, may change it: then the kernel says EAGAIN.
            let present = self.sequence.load(Ordering::Relaxed);
            let word = &guard.mutex.word;
            let flags = futex::Flags::PRIVATE;
            return match futex::cmp_requeue_pi(&self.sequence, flags, others, word, present) {
                Ok(_) => Ok(()),
                Err(Errno::AGAIN | Errno::INTR) => continue,
                Err(Errno::INVAL) => Err(PiLockError::OtherMutex),
                Err(errno) => Err(SysError::new("futex", errno).into()),
            };
        }
    }
}

/// The bits of a lock's word that hold the ID of its owner: `FUTEX_TID_MASK`.
const OWNER: u32 = 0x3fff_ffff;

/// The ID of the calling thread, as the kernel writes it into a lock's word.
#[inline]
fn caller() -> u32 {
    thread_local! {
        /// Asked once: a system call at each lock would cost more than the lock. A forked child
        /// runs another program before it could lock anything.
        static ID: Cell<u32> = const { Cell::new(0) };
    }
    ID.with(|id| {
        if id.get() == 0 {
            id.set(thread::current_id().0.unsigned_abs());
        }
        id.get()
    })
}

#[cfg(test)]
mod tests;
