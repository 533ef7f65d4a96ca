//! Signal handlers that return without the C library.
//!
//! A handler ends by the system call `rt_sigreturn`. The C library's is dispatched like any other
//! call, so handlers of this module return by code of their own, which the dispatch exempts.

use libc::{c_int, c_void, siginfo_t};

use super::Registers;
use crate::error::SysError;

/// A handler of `SA_SIGINFO`.
pub(super) type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

/// The length of the code of [`restore`] in bytes.
#[cfg(target_arch = "x86_64")]
pub(super) const RESTORE_LENGTH: usize = 9;

/// Ends a handler: `rt_sigreturn`, in the form that debuggers recognise.
///
/// # Safety
/// Only the kernel may let a handler return here, or [`return_from`] jump here.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub(super) unsafe extern "C" fn restore() {
    core::arch::naked_asm!("mov rax, 15", "syscall")
}

/// Ends the handler whose frame is at `frame`, instead of the one that runs.
///
/// # Safety
/// `frame` is the stack pointer with which a handler of the calling thread called `rt_sigreturn`.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn return_from(frame: u64) -> ! {
    // SAFETY: as above; nothing of the present stack is used any more.
    unsafe {
        core::arch::asm!(
            "mov rsp, {frame}",
            "jmp {restore}",
            frame = in(reg) frame,
            restore = sym restore,
            options(noreturn)
        )
    }
}

/// `struct kernel_sigaction`, which unlike that of the C library has a restorer that one may set.
#[cfg(target_arch = "x86_64")]
#[repr(C)]
struct KernelAction {
    handler: Handler,
    flags: u64,
    restorer: unsafe extern "C" fn(),
    mask: u64,
}

/// Installs a handler for the process:
/// [rt_sigaction(2)](https://man7.org/linux/man-pages/man2/sigaction.2.html). Unblocks the signal
/// in the calling thread.
///
/// # Errors
/// None known.
#[cfg(target_arch = "x86_64")]
pub(super) fn install(signal: c_int, handler: Handler) -> Result<(), SysError> {
    const SA_RESTORER: u64 = 0x0400_0000;
    let flags = (libc::SA_SIGINFO | libc::SA_RESTART) as u64 | SA_RESTORER;
    let action = KernelAction { handler, flags, restorer: restore, mask: 0 };
    // SAFETY: the kernel reads the action; the handler follows the rules of handlers.
    let returned = unsafe {
        libc::syscall(
            libc::SYS_rt_sigaction,
            signal,
            &raw const action,
            std::ptr::null::<c_void>(),
            size_of::<u64>(),
        )
    };
    SysError::check("rt_sigaction", returned)?;
    unblock(signal)
}

/// Installs a handler for the process, and unblocks the signal in the calling thread:
/// [sigaction(2)](https://man7.org/linux/man-pages/man2/sigaction.2.html).
///
/// # Errors
/// None known.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn install(signal: c_int, handler: Handler) -> Result<(), SysError> {
    // SAFETY: zero is a valid value of each field; the handler follows the rules of handlers.
    let returned = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        libc::sigaction(signal, &action, std::ptr::null_mut())
    };
    SysError::check("sigaction", returned)?;
    unblock(signal)
}

fn unblock(signal: c_int) -> Result<(), SysError> {
    // SAFETY: the set is a local variable that these calls fill in and read.
    let returned = unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::sigprocmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut())
    };
    SysError::check("sigprocmask", returned).map(drop)
}

/// Does what the process would do without our handler about a signal that is not ours: ends it, as
/// is the default of both signals.
pub(super) fn not_ours(signal: c_int) {
    // SAFETY: both calls are permitted in a handler. The signal is blocked here, and ends the
    // process when the handler returns.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// The registers at the point that a signal interrupted.
///
/// # Safety
/// `context` is the third argument of a handler.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn registers(context: *mut c_void) -> Registers {
    // SAFETY: the caller passes what the kernel passed.
    let saved = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let register = |number: c_int| saved[number as usize] as u64;
    Registers {
        ip: register(libc::REG_RIP),
        sp: register(libc::REG_RSP),
        fp: register(libc::REG_RBP),
        lr: 0,
    }
}

/// The registers at the point that a signal interrupted.
///
/// # Safety
/// `context` is the third argument of a handler.
#[cfg(target_arch = "aarch64")]
pub(super) unsafe fn registers(context: *mut c_void) -> Registers {
    // SAFETY: the caller passes what the kernel passed.
    let saved = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
    Registers { ip: saved.pc, sp: saved.sp, fp: saved.regs[29], lr: saved.regs[30] }
}
