//! Watching what a thread does inside a *section* of its code: the system calls, page faults and
//! allocations that real-time code must not make.
//!
//! The thread makes a [`Watcher`] and enters sections; each costs two stores. What it does inside
//! is caught in the thread itself and goes on as if nobody watched:
//!
//! - **System calls** by Syscall User Dispatch: while the selector byte says so, the kernel sends
//!   `SIGSYS` instead of making the call, and the handler makes it. A call that needs the thread's
//!   own registers or signal mask (`clone`, `rt_sigprocmask`) is repeated by the thread, and the
//!   rest of that section is not watched.
//! - **Page faults** by a perf event with `sigtrap`: the kernel sends `SIGTRAP` after each.
//! - **Allocations** by [`Allocator`], if the program uses it as its global allocator.
//!
//! Each is written with registers and a copy of the stack to a [`Ring`] in memory that is
//! allocated and touched before. Another thread reads it and finds out which code it was.
//!
//! The handlers need about 4 KiB of the thread's stack, more with wide vector registers. The
//! program must not block `SIGSYS` in the thread.
//!
//! See the kernel's *Documentation/admin-guide/syscall-user-dispatch.rst* and
//! [perf_event_open(2)](https://man7.org/linux/man-pages/man2/perf_event_open.2.html).

mod allocator;
mod caught;
mod dispatch;
mod faults;
mod handler;
mod stack;

use std::cell::Cell;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, Ordering};

use crate::error::{Errno, SysError};

pub use allocator::Allocator;
pub use caught::{Act, Caught, Reader, Registers, Ring, SLOTS, STACK_MAX};
pub use stack::HANDLER_STACK;

const RELAXED: Ordering = Ordering::Relaxed;

/// `SYSCALL_DISPATCH_FILTER_ALLOW`: outside of a section.
const OUTSIDE: u8 = 0;
/// `SYSCALL_DISPATCH_FILTER_BLOCK`: inside a section.
const INSIDE: u8 = 1;

/// What to watch.
#[derive(Clone, Debug)]
pub struct Options {
    /// System calls, and with them contended locks.
    pub calls: bool,
    /// The numbers of the system calls that are permitted; see
    /// [`system_call::number`](crate::system_call::number).
    pub allowed: Vec<i64>,
    /// Page faults.
    pub faults: bool,
    /// Allocations, if the program uses [`Allocator`].
    pub allocations: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { calls: true, allowed: Vec::new(), faults: true, allocations: true }
    }
}

/// How page faults are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultsSeen {
    /// Those in user mode and within system calls.
    All,
    /// Those in user mode.
    InUserMode,
}

/// Watches the sections of the thread that made it.
#[derive(Debug)]
pub struct Watcher {
    /// Shared with the handlers, by [`CURRENT`].
    thread: Arc<Thread>,
    /// Whether system calls are watched, or why not.
    pub calls: Result<(), SysError>,
    /// How page faults are watched, or why they are not.
    pub faults: Result<FaultsSeen, SysError>,
    _fault_event: Option<OwnedFd>,
    /// It must stay in its thread.
    stays: PhantomData<*const ()>,
}

/// The thread is inside a section until this is dropped.
#[derive(Debug)]
pub struct Inside<'w>(&'w Thread);

/// What the handlers of one thread know of it.
#[derive(Debug)]
struct Thread {
    /// Whether the thread is inside a section. The kernel reads it at each system call.
    selector: AtomicU8,
    /// Whether a record is being written: what that causes is not the program's.
    writes: AtomicBool,
    /// The registers of the system call that the handler makes for the thread, or null.
    in_call: AtomicPtr<Registers>,
    allocations: bool,
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "only x86-64 kernels dispatch system calls")
    )]
    allowed: Allowed,
    stack: stack::Bounds,
    sections: AtomicU64,
    cut: AtomicU64,
    ring: Arc<Ring>,
}

/// System calls by their numbers.
#[derive(Debug, Default)]
struct Allowed([u64; 16]);

impl Allowed {
    fn of(numbers: &[i64]) -> Self {
        let mut words = [0_u64; 16];
        for number in numbers {
            let number = usize::try_from(*number).unwrap_or(usize::MAX);
            if let Some(word) = words.get_mut(number / 64) {
                *word |= 1 << (number % 64);
            }
        }
        Self(words)
    }

    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "only x86-64 kernels dispatch system calls")
    )]
    fn has(&self, number: i64) -> bool {
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }
}

thread_local! {
    /// The calling thread's state while it has a [`Watcher`]. Handlers may read it: it has a
    /// constant initial value and no destructor.
    static CURRENT: Cell<*const Thread> = const { Cell::new(ptr::null()) };
}

/// The calling thread's state, if it has a watcher.
#[inline]
fn current<'t>() -> Option<&'t Thread> {
    // SAFETY: a watcher stores the address of its own state and clears it before the state is
    // freed, in this same thread.
    CURRENT.try_with(Cell::get).ok().and_then(|thread| unsafe { thread.as_ref() })
}

impl Watcher {
    /// Prepares the calling thread. What the kernel does not permit is not watched, as
    /// [`Self::calls`] and [`Self::faults`] say.
    ///
    /// # Errors
    /// - `EBUSY`: the thread has a watcher.
    /// - The bounds of the thread's stack cannot be read.
    #[doc(alias = "PR_SET_SYSCALL_USER_DISPATCH")]
    pub fn new(options: &Options, ring: Arc<Ring>) -> Result<Self, SysError> {
        if current().is_some() {
            return Err(SysError::new("prctl", Errno::BUSY));
        }
        let thread = Arc::new(Thread {
            selector: AtomicU8::new(OUTSIDE),
            writes: AtomicBool::new(false),
            in_call: AtomicPtr::new(ptr::null_mut()),
            allocations: options.allocations,
            allowed: Allowed::of(&options.allowed),
            stack: stack::Bounds::of_this_thread()?,
            sections: AtomicU64::new(0),
            cut: AtomicU64::new(0),
            ring,
        });
        stack::touch();
        CURRENT.set(Arc::as_ptr(&thread));
        let off = Err(SysError::new("prctl", Errno::CANCELED));
        let calls = if options.calls { dispatch::start(&thread.selector) } else { off };
        let (faults, event) = match options.faults.then(faults::start) {
            Some(Ok((seen, event))) => (Ok(seen), Some(event)),
            Some(Err(error)) => (Err(error), None),
            None => (Err(SysError::new("perf_event_open", Errno::CANCELED)), None),
        };
        Ok(Self { thread, calls, faults, _fault_event: event, stays: PhantomData })
    }

    /// Enters a section; the thread leaves it when the value is dropped.
    #[inline]
    pub fn enter(&mut self) -> Inside<'_> {
        // Only this thread writes the number.
        let sections = &self.thread.sections;
        sections.store(sections.load(RELAXED) + 1, RELAXED);
        self.thread.selector.store(INSIDE, Ordering::SeqCst);
        Inside(&self.thread)
    }

    /// Enters a section, which ends by [`end`](Self::end).
    #[inline]
    pub fn begin(&mut self) {
        std::mem::forget(self.enter());
    }

    /// Ends the present section, if there is one.
    #[inline]
    pub fn end(&mut self) {
        drop(Inside(&self.thread));
    }

    /// What it counts, for other threads.
    pub fn counts(&self) -> Counts {
        Counts(self.thread.clone())
    }
}

/// Runs a part of a section that does not belong to it. Outside of sections, it runs `body`.
#[inline]
pub fn outside<T>(body: impl FnOnce() -> T) -> T {
    let left = current().filter(|thread| thread.is_inside()).map(|thread| {
        thread.selector.store(OUTSIDE, Ordering::Release);
        Left(thread)
    });
    let result = body();
    drop(left);
    result
}

/// The thread goes back into its section when this is dropped, after a panic too.
struct Left<'t>(&'t Thread);

impl Drop for Left<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.selector.store(INSIDE, Ordering::SeqCst);
    }
}

/// What a [`Watcher`] counts, readable from any thread.
#[derive(Clone, Debug)]
pub struct Counts(Arc<Thread>);

impl Counts {
    /// The number of sections that the thread has entered.
    pub fn sections(&self) -> u64 {
        self.0.sections.load(RELAXED)
    }

    /// The number of sections of which only the first part was watched.
    pub fn cut(&self) -> u64 {
        self.0.cut.load(RELAXED)
    }
}

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.selector.store(OUTSIDE, Ordering::Release);
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // A section that was forgotten ends too.
        self.thread.selector.store(OUTSIDE, Ordering::SeqCst);
        // The kernel reads the selector until this call returns.
        if self.calls.is_ok() {
            dispatch::stop();
        }
        CURRENT.set(ptr::null());
    }
}

impl Thread {
    fn is_inside(&self) -> bool {
        self.selector.load(RELAXED) == INSIDE
    }

    /// Writes a record with a copy of the stack.
    fn catch(&self, act: Act, registers: Registers, began: u64, took: u64) {
        self.writes.store(true, Ordering::SeqCst);
        self.ring.push(|caught| {
            (caught.act, caught.registers) = (act, registers);
            (caught.began, caught.took) = (began, took);
            caught.length = self.stack.copy(registers.sp, &mut caught.stack);
        });
        self.writes.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests;
