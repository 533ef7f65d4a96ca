//! Page faults of a section, by a perf event that sends a signal.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use libc::{c_int, c_void, siginfo_t};
use tactus_model::time::Monotonic;

use super::handler::{install, not_ours, registers};
use super::{Act, FaultsSeen, OUTSIDE, current};
use crate::clock;
use crate::error::{Errno, SysError};
use crate::perf::{Attr, open_for_thread};
use crate::thread;

/// `TRAP_PERF`, the code of the signal.
const TRAP_PERF: c_int = 6;

/// Starts to watch the calling thread's page faults.
///
/// # Errors
/// - `EACCES` or `EPERM`: `kernel.perf_event_paranoid` is above 2, and the process does not have
///   CAP_PERFMON.
/// - `EINVAL` or `E2BIG`: the kernel does not have `sigtrap` (before 5.13).
pub(super) fn start() -> Result<(FaultsSeen, OwnedFd), SysError> {
    install(libc::SIGTRAP, on_fault)?;
    let attr = Attr::page_fault_signals();
    match open_for_thread(thread::CALLING, attr) {
        Err(error) if [Errno::ACCESS, Errno::PERM].contains(&error.errno) => {
            let event = open_for_thread(thread::CALLING, attr.of_user_mode())?;
            Ok((FaultsSeen::InUserMode, event))
        }
        opened => opened.map(|event| (FaultsSeen::All, event)),
    }
}

/// The handler: writes a record of a page fault inside a section.
extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the information of the signal.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr().addr() as u64) };
    if code != TRAP_PERF {
        return not_ours(signal);
    }
    let Some(thread) = current() else { return };
    // SAFETY: the system call is that of the handler that this signal interrupts, in this thread.
    let in_call = unsafe { thread.in_call.load(Ordering::SeqCst).as_ref() };
    if thread.writes.load(Ordering::SeqCst) || !(thread.is_inside() || in_call.is_some()) {
        return;
    }
    let before = thread.selector.swap(OUTSIDE, Ordering::SeqCst);
    // SAFETY: the kernel passes the registers of the interrupted thread.
    let at = in_call.copied().unwrap_or_else(|| unsafe { registers(context) });
    let now = clock::now::<Monotonic>();
    thread.catch(Act::Fault { address }, at, now.as_nanos(), 0);
    thread.selector.store(before, Ordering::SeqCst);
}
