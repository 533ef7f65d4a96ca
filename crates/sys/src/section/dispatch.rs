//! System calls of a section, by Syscall User Dispatch.

use std::sync::atomic::AtomicU8;

use crate::error::SysError;

/// `PR_SET_SYSCALL_USER_DISPATCH`.
const SET_DISPATCH: libc::c_int = 59;

/// Stops the dispatch of the calling thread.
pub(super) fn stop() {
    // SAFETY: the kernel forgets the selector; no memory is touched. It cannot fail.
    unsafe { libc::prctl(SET_DISPATCH, 0_u64, 0_u64, 0_u64, 0_u64) };
}

/// Starts the dispatch of the calling thread's system calls while `selector` says so.
///
/// # Errors
/// - `EINVAL`: the kernel does not have it (before 5.11, or not x86-64).
/// - `ENOSYS`: this program was not compiled for x86-64.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn start(_selector: &AtomicU8) -> Result<(), SysError> {
    Err(SysError::new("prctl", crate::error::Errno::NOSYS))
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::start;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::sync::atomic::Ordering;

    use libc::{c_int, c_void, siginfo_t};
    use tactus_model::time::Monotonic;

    use super::super::handler::{self, RESTORE_LENGTH, install, not_ours, registers, restore};
    use super::super::{Act, INSIDE, OUTSIDE, RELAXED, Registers, current};
    use super::{AtomicU8, SET_DISPATCH, SysError};
    use crate::clock;

    const DISPATCH_ON: u64 = 1;

    /// `SYS_USER_DISPATCH`, the code of the signal.
    const USER_DISPATCH: c_int = 2;

    /// The length of the instruction `syscall`.
    const INSTRUCTION: i64 = 2;

    /// Starts the dispatch of the calling thread's system calls while `selector` says so.
    ///
    /// # Errors
    /// `EINVAL`: the kernel does not have it (before 5.11).
    pub(in super::super) fn start(selector: &AtomicU8) -> Result<(), SysError> {
        install(libc::SIGSYS, on_call)?;
        let exempt = (restore as unsafe extern "C" fn()) as usize;
        // SAFETY: the kernel reads the selector, which its owner keeps until after `stop`; the
        // handler is installed.
        let returned = unsafe {
            libc::prctl(SET_DISPATCH, DISPATCH_ON, exempt, RESTORE_LENGTH + 1, selector.as_ptr())
        };
        SysError::check("prctl", returned).map(drop)
    }

    /// Whether a call works only with the thread's own stack pointer or changes what the end of a
    /// handler restores. The thread repeats it.
    fn must_repeat(number: i64) -> bool {
        matches!(
            number,
            libc::SYS_clone
                | libc::SYS_clone3
                | libc::SYS_fork
                | libc::SYS_vfork
                | libc::SYS_rt_sigprocmask
                | libc::SYS_rt_sigsuspend
                | libc::SYS_sigaltstack
        )
    }

    /// The handler: makes the call for the thread and writes a record of it.
    extern "C" fn on_call(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        // SAFETY: the kernel passes the information of the signal.
        let code = unsafe { (*info).si_code };
        let Some(thread) = current().filter(|_| code == USER_DISPATCH) else {
            return not_ours(signal);
        };
        thread.selector.store(OUTSIDE, Ordering::SeqCst);
        // SAFETY: the kernel passes the registers of the interrupted thread.
        let (at, saved) = unsafe {
            (registers(context), &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs)
        };
        let register = |number: c_int| saved[number as usize];
        let number = register(libc::REG_RAX);
        if number == libc::SYS_rt_sigreturn {
            thread.selector.store(INSIDE, Ordering::SeqCst);
            // SAFETY: a handler of the program called it with this stack pointer.
            unsafe { handler::return_from(at.sp) }
        }
        let act = Act::Call { number, argument: register(libc::REG_RSI) as u64 };
        let began = clock::now::<Monotonic>();
        if must_repeat(number) {
            if !thread.allowed.has(number) {
                thread.catch(act, at, began.as_nanos(), 0);
            }
            thread.cut.store(thread.cut.load(RELAXED) + 1, RELAXED);
            saved[libc::REG_RIP as usize] -= INSTRUCTION;
            return;
        }
        let arguments = [
            libc::REG_RDI,
            libc::REG_RSI,
            libc::REG_RDX,
            libc::REG_R10,
            libc::REG_R8,
            libc::REG_R9,
        ]
        .map(register);
        // Page faults within the call are those of the thread's own code.
        thread.in_call.store((&raw const at).cast_mut(), Ordering::SeqCst);
        // SAFETY: the thread makes this call with these arguments.
        let returned = unsafe { call(number, arguments) };
        thread.in_call.store(std::ptr::null_mut::<Registers>(), Ordering::SeqCst);
        saved[libc::REG_RAX as usize] = returned;
        if !thread.allowed.has(number) {
            let took = clock::now::<Monotonic>() - began;
            thread.catch(act, at, began.as_nanos(), took.as_nanos());
        }
        thread.selector.store(INSIDE, Ordering::SeqCst);
    }

    /// Makes a system call.
    ///
    /// # Safety
    /// That of the call.
    unsafe fn call(number: i64, [a, b, c, d, e, f]: [i64; 6]) -> i64 {
        let returned;
        // SAFETY: the caller answers for the call; the kernel changes these registers only.
        unsafe {
            core::arch::asm!(
                "syscall",
                inlateout("rax") number => returned,
                in("rdi") a,
                in("rsi") b,
                in("rdx") c,
                in("r10") d,
                in("r8") e,
                in("r9") f,
                lateout("rcx") _,
                lateout("r11") _,
                options(nostack)
            );
        }
        returned
    }
}
