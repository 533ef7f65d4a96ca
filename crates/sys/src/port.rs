//! I/O ports of x86 CPUs. A guest uses them to reach its emulator without a driver in
//! the guest's kernel.

use crate::error::SysError;

/// The permission of this thread to use the ports; threads and processes that it starts
/// inherit it.
#[derive(Clone, Copy, Debug)]
pub struct Ports(());

impl Ports {
    /// Takes permission for all ports:
    /// [iopl(2)](https://man7.org/linux/man-pages/man2/iopl.2.html).
    ///
    /// # Errors
    /// - `EPERM`: the process does not have `CAP_SYS_RAWIO`, or the kernel is locked
    ///   down.
    /// - `ENOSYS`: the kernel was built without `CONFIG_X86_IOPL_IOPERM`, or the CPU
    ///   has no ports.
    #[doc(alias = "iopl")]
    pub fn take() -> Result<Self, SysError> {
        take().map(|()| Self(()))
    }

    /// Writes `bytes` to a port one after another, by a single instruction.
    #[doc(alias = "outsb")]
    pub fn write_all(self, port: u16, bytes: &[u8]) {
        write_all(port, bytes);
    }

    /// Writes a two-byte word to a port.
    #[doc(alias = "outw")]
    pub fn write_word(self, port: u16, word: u16) {
        write_word(port, word);
    }

    /// Fills `bytes` from a port one after another, by a single instruction.
    #[doc(alias = "insb")]
    pub fn read_all(self, port: u16, bytes: &mut [u8]) {
        read_all(port, bytes);
    }
}

#[cfg(target_arch = "x86_64")]
fn take() -> Result<(), SysError> {
    // SAFETY: iopl takes a number and accesses no memory.
    let returned = unsafe { libc::syscall(libc::SYS_iopl, 3) };
    SysError::check("iopl", returned).map(drop)
}

#[cfg(target_arch = "x86_64")]
fn write_all(port: u16, bytes: &[u8]) {
    // SAFETY: a `Ports` exists, so the instruction is permitted; it reads exactly the
    // bytes of the slice, in ascending order, since the ABI keeps the direction flag
    // clear.
    unsafe {
        std::arch::asm!(
            "rep outsb",
            in("dx") port,
            inout("rsi") bytes.as_ptr() => _,
            inout("rcx") bytes.len() => _,
            options(nostack, preserves_flags, readonly),
        );
    }
}

#[cfg(target_arch = "x86_64")]
fn write_word(port: u16, word: u16) {
    // SAFETY: a `Ports` exists, so the instruction is permitted; it accesses no memory.
    unsafe {
        std::arch::asm!(
            "out dx, ax",
            in("dx") port,
            in("ax") word,
            options(nostack, preserves_flags, nomem),
        );
    }
}

#[cfg(target_arch = "x86_64")]
fn read_all(port: u16, bytes: &mut [u8]) {
    // SAFETY: a `Ports` exists, so the instruction is permitted; it writes exactly the
    // bytes of the slice, in ascending order, since the ABI keeps the direction flag
    // clear.
    unsafe {
        std::arch::asm!(
            "rep insb",
            in("dx") port,
            inout("rdi") bytes.as_mut_ptr() => _,
            inout("rcx") bytes.len() => _,
            options(nostack, preserves_flags),
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn take() -> Result<(), SysError> {
    Err(SysError::new("iopl", crate::error::Errno::NOSYS))
}

#[cfg(not(target_arch = "x86_64"))]
fn write_all(_port: u16, _bytes: &[u8]) {
    // A `Ports` cannot exist on an architecture without ports.
}

#[cfg(not(target_arch = "x86_64"))]
fn write_word(_port: u16, _word: u16) {
    // As above.
}

#[cfg(not(target_arch = "x86_64"))]
fn read_all(_port: u16, _bytes: &mut [u8]) {
    // As above.
}
