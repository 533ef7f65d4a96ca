//! Allocations of a section.

use std::alloc::{GlobalAlloc, Layout, System};

use tactus_model::time::Monotonic;

use super::{Act, Registers, current};
use crate::clock;

/// A global allocator that passes calls on to `A`, and records those that a thread makes inside a
/// section. Outside of a section, a call costs a test of the thread's state more.
///
/// ```
/// use std::alloc::System;
/// use tactus_sys::section::Allocator;
///
/// #[global_allocator]
/// static ALLOCATOR: Allocator<System> = Allocator::new(System);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocator<A = System>(A);

impl<A> Allocator<A> {
    /// Passes calls on to `inner`.
    pub const fn new(inner: A) -> Self {
        Self(inner)
    }
}

// SAFETY: every call is passed on unchanged.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Allocator<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(Act::Allocate { size: layout.size() });
        // SAFETY: the caller's promises are those of the inner call.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        note(Act::Free);
        // SAFETY: the caller's promises are those of the inner call.
        unsafe { self.0.dealloc(memory, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(Act::Allocate { size: layout.size() });
        // SAFETY: the caller's promises are those of the inner call.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(Act::Reallocate { size });
        // SAFETY: the caller's promises are those of the inner call.
        unsafe { self.0.realloc(memory, layout, size) }
    }
}

#[inline]
fn note(act: Act) {
    if current().is_some_and(|thread| thread.allocations && thread.is_inside()) {
        catch(act);
    }
}

#[cold]
#[inline(never)]
fn catch(act: Act) {
    let Some(thread) = current() else { return };
    let now = clock::now::<Monotonic>();
    thread.catch(act, here(), now.as_nanos(), 0);
}

/// The registers of the calling code.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn here() -> Registers {
    let (ip, sp, fp);
    // SAFETY: it reads registers.
    unsafe {
        core::arch::asm!(
            "lea {ip}, [rip]",
            "mov {sp}, rsp",
            "mov {fp}, rbp",
            ip = out(reg) ip,
            sp = out(reg) sp,
            fp = out(reg) fp,
            options(nomem, nostack, preserves_flags)
        );
    }
    Registers { ip, sp, fp, lr: 0 }
}

/// The registers of the calling code.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn here() -> Registers {
    let (ip, sp, fp, lr);
    // SAFETY: it reads registers.
    unsafe {
        core::arch::asm!(
            "adr {ip}, .",
            "mov {sp}, sp",
            "mov {fp}, x29",
            "mov {lr}, x30",
            ip = out(reg) ip,
            sp = out(reg) sp,
            fp = out(reg) fp,
            lr = out(reg) lr,
            options(nomem, nostack, preserves_flags)
        );
    }
    Registers { ip, sp, fp, lr }
}
