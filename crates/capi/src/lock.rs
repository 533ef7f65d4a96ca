//! Locks and condition variables with priority inheritance.

use std::cell::RefCell;
use std::ffi::c_int;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};

use tactus_model::time::Instant;
use tactus_sys::pi_mutex::{PiCondvar, PiGuard, PiLockError, PiMutex, PiWait};

use crate::failure::{Failure, call};
use crate::handles::{Kind, Slot, Slots};
use crate::text::put;

/// The handle of a lock.
pub type trt_mutex = u64;

/// The handle of a condition variable.
pub type trt_cond = u64;

static MUTEXES: Slots<Awaited<PiMutex<()>>, 256> =
    Slots::new(Kind::Mutex, [const { Slot::new(Awaited::new(PiMutex::new(()))) }; 256]);

static CONDITIONS: Slots<Awaited<PiCondvar>, 256> =
    Slots::new(Kind::Condition, [const { Slot::new(Awaited::new(PiCondvar::new())) }; 256]);

/// What threads use while they wait for a condition: it is not destroyed then.
struct Awaited<T> {
    object: T,
    /// How many wait, or [`DESTROYED`].
    waiters: AtomicU32,
}

/// No thread begins to wait.
const DESTROYED: u32 = u32::MAX;

/// A thread that waits, until it is dropped.
struct Waiter<'a>(&'a AtomicU32);

impl<T> Awaited<T> {
    const fn new(object: T) -> Self {
        Self { object, waiters: AtomicU32::new(0) }
    }
}

impl<T> Deref for Awaited<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.object
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

impl<T, const N: usize> Slots<Awaited<T>, N> {
    /// An object that is not destroyed until the waiter is dropped.
    fn wait_with(&self, handle: u64) -> Result<(&T, Waiter<'_>), Failure> {
        let Awaited { object, waiters } = self.get(handle)?;
        let more = |count: u32| (count != DESTROYED).then_some(count + 1);
        // If it is being destroyed, its handle is refused next.
        if waiters.fetch_update(Ordering::AcqRel, Ordering::Relaxed, more).is_err() {
            return Err(DESTROYING);
        }
        let waiter = Waiter(waiters);
        // Another object may have got the slot meanwhile.
        self.get(handle)?;
        Ok((object, waiter))
    }

    /// Frees a slot if no thread waits.
    fn destroy(&self, handle: u64) -> Result<(), Failure> {
        let waiters = &self.get(handle)?.waiters;
        waiters
            .compare_exchange(0, DESTROYED, Ordering::AcqRel, Ordering::Relaxed)
            .map_err(|_| WAITED_FOR)?;
        let freed = self.free(handle);
        waiters.store(0, Ordering::Release);
        freed
    }
}

const WAITED_FOR: Failure = Failure::new(
    libc::EBUSY,
    c"a thread waits in trt_cond_wait; fix: trt_cond_broadcast, and join it before you destroy",
);

const DESTROYING: Failure = Failure::new(libc::EBADF, c"another thread destroys it");

const HELD_STILL: Failure =
    Failure::new(libc::EBUSY, c"a thread holds the lock; fix: trt_mutex_unlock in that thread");

/// The most locks that a thread holds at once.
const HELD_MOST: usize = 16;

/// The locks that a thread holds. Those that it still holds at its end are released.
type Held = [Option<(trt_mutex, PiGuard<'static, ()>)>; HELD_MOST];

thread_local! {
    static HELD: RefCell<Held> = const { RefCell::new([const { None }; HELD_MOST]) };
}

/// Remembers a lock that the calling thread has taken.
fn keep(mutex: trt_mutex, guard: PiGuard<'static, ()>) -> Result<(), Failure> {
    HELD.with_borrow_mut(|held| {
        let free = held.iter_mut().find(|place| place.is_none());
        let free =
            free.ok_or(Failure::new(libc::ENOLCK, c"a thread holds at most 16 locks at once"))?;
        *free = Some((mutex, guard));
        Ok(())
    })
}

/// Forgets a lock of the calling thread, and returns what releases it.
fn held(mutex: trt_mutex) -> Result<PiGuard<'static, ()>, Failure> {
    MUTEXES.get(mutex)?;
    HELD.with_borrow_mut(|held| {
        let place =
            held.iter_mut().find(|place| place.as_ref().is_some_and(|(own, _)| *own == mutex));
        place.and_then(Option::take).map(|(_, guard)| guard)
    })
    .ok_or(Failure::new(libc::EPERM, c"the calling thread does not hold the lock"))
}

/// Creates a lock with priority inheritance.
///
/// # Safety
/// `mutex` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trt_mutex_create(mutex: *mut trt_mutex) -> c_int {
    call(|| {
        // SAFETY: the caller says so.
        unsafe {
            put(mutex, 0)?;
            put(mutex, MUTEXES.claim()?.0)?;
        }
        Ok(0)
    })
}

/// Takes a lock, and waits for it. Without contention it makes no system call. Returns 0, or
/// `-EDEADLK` if the calling thread holds it.
#[unsafe(no_mangle)]
pub extern "C" fn trt_mutex_lock(mutex: trt_mutex) -> c_int {
    call(|| {
        let guard = MUTEXES.get(mutex)?.lock()?;
        MUTEXES.get(mutex)?;
        keep(mutex, guard)?;
        Ok(0)
    })
}

/// Takes a lock unless another thread holds it: then it returns `-EBUSY`.
#[unsafe(no_mangle)]
pub extern "C" fn trt_mutex_trylock(mutex: trt_mutex) -> c_int {
    call(|| {
        let guard = MUTEXES.get(mutex)?.try_lock()?;
        let guard = guard.ok_or(Failure::new(libc::EBUSY, c"another thread holds the lock"))?;
        MUTEXES.get(mutex)?;
        keep(mutex, guard)?;
        Ok(0)
    })
}

/// Releases a lock that the calling thread holds.
#[unsafe(no_mangle)]
pub extern "C" fn trt_mutex_unlock(mutex: trt_mutex) -> c_int {
    call(|| {
        drop(held(mutex)?);
        Ok(0)
    })
}

/// Destroys a lock that nobody holds, and with which nobody waits for a condition: otherwise it
/// returns `-EBUSY`.
#[unsafe(no_mangle)]
pub extern "C" fn trt_mutex_destroy(mutex: trt_mutex) -> c_int {
    call(|| {
        let _guard = match MUTEXES.get(mutex)?.try_lock() {
            Ok(Some(guard)) => guard,
            Ok(None) | Err(PiLockError::AlreadyHeld) => return Err(HELD_STILL),
            Err(error) => return Err(error.into()),
        };
        MUTEXES.destroy(mutex)?;
        Ok(0)
    })
}

/// Creates a condition variable.
///
/// # Safety
/// `cond` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trt_cond_create(cond: *mut trt_cond) -> c_int {
    call(|| {
        // SAFETY: the caller says so.
        unsafe {
            put(cond, 0)?;
            put(cond, CONDITIONS.claim()?.0)?;
        }
        Ok(0)
    })
}

/// Releases the lock, waits for a notification until `until_ns` of the monotonic clock, and takes
/// the lock again; `TRT_FOREVER`: without a limit. A wait may end without a notification: check the
/// condition in a loop. Returns 0, or `-ETIMEDOUT`; the lock is held in both cases.
#[unsafe(no_mangle)]
pub extern "C" fn trt_cond_wait(cond: trt_cond, mutex: trt_mutex, until_ns: i64) -> c_int {
    call(|| {
        let (condition, _waiter) = CONDITIONS.wait_with(cond)?;
        let (_, _with) = MUTEXES.wait_with(mutex)?;
        let guard = held(mutex)?;
        let (guard, end) = match u64::try_from(until_ns) {
            Ok(until) if until_ns != i64::MAX => {
                condition.wait_until(guard, Instant::from_nanos(until))?
            }
            Ok(_) => (condition.wait(guard)?, PiWait::Notified),
            Err(_) => (guard, PiWait::TimedOut),
        };
        keep(mutex, guard)?;
        match end {
            PiWait::Notified => Ok(0),
            PiWait::TimedOut => Err(Failure::new(libc::ETIMEDOUT, c"the time was over")),
        }
    })
}

/// Notifies one waiting thread. The calling thread holds the lock.
#[unsafe(no_mangle)]
pub extern "C" fn trt_cond_signal(cond: trt_cond, mutex: trt_mutex) -> c_int {
    notify(cond, mutex, PiCondvar::notify_one)
}

/// Notifies all waiting threads. The calling thread holds the lock.
#[unsafe(no_mangle)]
pub extern "C" fn trt_cond_broadcast(cond: trt_cond, mutex: trt_mutex) -> c_int {
    notify(cond, mutex, PiCondvar::notify_all)
}

fn notify(
    cond: trt_cond,
    mutex: trt_mutex,
    notify: fn(&PiCondvar, &PiGuard<'_, ()>) -> Result<(), PiLockError>,
) -> c_int {
    call(|| {
        let condition = CONDITIONS.get(cond)?;
        let guard = held(mutex)?;
        let notified = notify(condition, &guard);
        keep(mutex, guard)?;
        notified?;
        Ok(0)
    })
}

/// Destroys a condition variable for which nobody waits: otherwise it returns `-EBUSY`.
#[unsafe(no_mangle)]
pub extern "C" fn trt_cond_destroy(cond: trt_cond) -> c_int {
    call(|| {
        CONDITIONS.destroy(cond)?;
        Ok(0)
    })
}
