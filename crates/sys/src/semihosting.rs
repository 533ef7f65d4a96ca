//! Semihosting: requests of an Arm program to the emulator that runs it. A guest uses them to
//! reach its emulator without a driver in the guest's kernel.
//!
//! The requests are those of Arm's
//! [Semihosting for AArch32 and AArch64](https://github.com/ARM-software/abi-aa/blob/main/semihosting/semihosting.rst).
//! QEMU 7.2 and later serves them to user mode with `-semihosting-config enable=on,userspace=on`.

use std::ffi::CStr;

use crate::error::{Errno, SysError};

/// The permission to make requests. Outside an emulator that serves them, the first request
/// ends the process with SIGILL, so only the first process of a guest makes any.
#[derive(Clone, Copy, Debug)]
pub struct Semihosting(());

/// The numbers of the requests.
const OPEN: u64 = 0x01;
const CLOSE: u64 = 0x02;
const WRITE_TEXT: u64 = 0x04;
const READ: u64 = 0x06;
const LENGTH: u64 = 0x0c;
const EXIT_EXTENDED: u64 = 0x20;

/// The mode `rb` of an opened file, in the order of the specification's table.
const READ_BINARY: u64 = 1;

/// The reason of an exit: the application stopped by itself.
const STOPPED_BY_ITSELF: u64 = 0x20026;

impl Semihosting {
    /// Takes permission to make requests.
    ///
    /// # Errors
    /// `ENOSYS`: the CPU is not an AArch64 CPU.
    pub fn take() -> Result<Self, SysError> {
        match cfg!(target_arch = "aarch64") {
            true => Ok(Self(())),
            false => Err(SysError::new("semihosting", Errno::NOSYS)),
        }
    }

    /// Writes `text` to the emulator's console, by a single instruction.
    #[doc(alias = "SYS_WRITE0")]
    pub fn write(self, text: &CStr) {
        self.request(WRITE_TEXT, text.as_ptr().expose_provenance() as u64);
    }

    /// Reads a file in the emulator's working directory; `None` if it cannot be read.
    #[doc(alias = "SYS_READ")]
    pub fn read(self, name: &CStr) -> Option<Vec<u8>> {
        let name =
            [name.as_ptr().expose_provenance() as u64, READ_BINARY, name.count_bytes() as u64];
        let file = self.request_with(OPEN, &name).cast_signed();
        if file < 0 {
            return None;
        }
        let file = file.cast_unsigned();
        let content = self.content(file);
        self.request_with(CLOSE, &[file]);
        content
    }

    fn content(self, file: u64) -> Option<Vec<u8>> {
        let length = usize::try_from(self.request_with(LENGTH, &[file]).cast_signed()).ok()?;
        // The emulator writes to this memory, so its pages must exist: it does not take faults
        // of the guest.
        let mut content = vec![u8::MAX; length];
        let block = [file, content.as_mut_ptr().expose_provenance() as u64, length as u64];
        // The number of bytes that were not read.
        (self.request_with(READ, &block) == 0).then_some(content)
    }

    /// Ends the emulator with the exit code `status`; returns only if the emulator refuses.
    #[doc(alias = "SYS_EXIT_EXTENDED")]
    pub fn end(self, status: u8) {
        self.request_with(EXIT_EXTENDED, &[STOPPED_BY_ITSELF, u64::from(status)]);
    }

    /// Makes a request whose parameter is the address of a block of words.
    fn request_with(self, number: u64, block: &[u64]) -> u64 {
        self.request(number, block.as_ptr().expose_provenance() as u64)
    }

    #[cfg(target_arch = "aarch64")]
    fn request(self, number: u64, parameter: u64) -> u64 {
        let returned;
        // SAFETY: the requests of this module read blocks and texts that live for the call, and
        // write only to the content of `content`, which lives too. All memory may be accessed.
        unsafe {
            std::arch::asm!(
                "hlt #0xf000",
                inout("x0") number => returned,
                in("x1") parameter,
                options(nostack, preserves_flags),
            );
        }
        returned
    }

    #[cfg(not(target_arch = "aarch64"))]
    fn request(self, _number: u64, _parameter: u64) -> u64 {
        // A `Semihosting` cannot exist on another architecture.
        u64::MAX
    }
}
