//! What watched threads did between two waits that they must not.

use std::collections::VecDeque;
use std::ffi::{c_char, c_int};

use tactus_lint::{Violation, ViolationKind};
use tactus_sys::pi_mutex::PiMutex;

use crate::failure::call;
use crate::program;
use crate::text::{NULL, copy, put};
use crate::thread::signed;

/// A system call.
pub const TRT_SYSTEM_CALL: u32 = 0;

/// A page fault.
pub const TRT_PAGE_FAULT: u32 = 1;

/// A call of the memory allocator. The C library does not see those; they show as system calls and
/// page faults.
pub const TRT_ALLOCATION: u32 = 2;

/// A lock that another thread held.
pub const TRT_CONTENDED_LOCK: u32 = 3;

/// Violations of one kind at one place.
#[repr(C)]
pub struct trt_violation {
    /// `TRT_SYSTEM_CALL`, `TRT_PAGE_FAULT`, `TRT_ALLOCATION`, `TRT_CONTENDED_LOCK`.
    pub kind: u32,
    /// 0.
    pub reserved: u32,
    /// How often.
    pub count: u64,
    /// The longest time it took; -1: unknown.
    pub worst_ns: i64,
    /// The name of the thread.
    pub thread: [c_char; 16],
    /// What was done, e.g. `openat`.
    pub what: [c_char; 48],
    /// The file and line, e.g. `servo.c:42`, or the offset in the program.
    pub place: [c_char; 256],
    /// The function; empty: unknown.
    pub function: [c_char; 128],
}

/// What was reported and not yet handed out.
static PENDING: PiMutex<Option<VecDeque<Violation>>> = PiMutex::new(None);

/// Writes the next violation of the threads with `watch`, the most frequent first. Returns 1, or 0
/// after the last; the call after that begins again, with what was found meanwhile. Not for
/// real-time threads.
///
/// # Safety
/// `violation` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trt_violation_next(violation: *mut trt_violation) -> c_int {
    call(|| {
        if violation.is_null() {
            return Err(NULL);
        }
        let mut pending = PENDING.lock()?;
        if pending.is_none() {
            let lint = program::with(|program| Ok(program.running_lint()))?;
            *pending = Some(lint.map(|lint| lint.report().violations.into()).unwrap_or_default());
        }
        let Some(next) = pending.as_mut().and_then(VecDeque::pop_front) else {
            *pending = None;
            return Ok(0);
        };
        // SAFETY: the caller says so.
        unsafe { put(violation, in_c(&next)) }?;
        Ok(1)
    })
}

fn in_c(violation: &Violation) -> trt_violation {
    let mut row = trt_violation {
        kind: match violation.kind {
            ViolationKind::SystemCall => TRT_SYSTEM_CALL,
            ViolationKind::PageFault => TRT_PAGE_FAULT,
            ViolationKind::Allocation => TRT_ALLOCATION,
            ViolationKind::ContendedLock => TRT_CONTENDED_LOCK,
        },
        reserved: 0,
        count: violation.count,
        worst_ns: violation.worst.map_or(-1, |worst| signed(worst.as_nanos())),
        thread: [0; 16],
        what: [0; 48],
        place: [0; 256],
        function: [0; 128],
    };
    copy(&violation.thread, &mut row.thread);
    copy(&violation.what, &mut row.what);
    copy(&violation.at.to_string(), &mut row.place);
    copy(violation.at.function.as_deref().unwrap_or_default(), &mut row.function);
    row
}
