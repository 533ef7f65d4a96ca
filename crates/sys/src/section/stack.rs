//! The stack of the calling thread.

use crate::error::{Errno, SysError};

use super::caught::STACK_MAX;

/// How far below the stack pointer handlers may reach: their frames, and the vector registers that
/// the kernel saves for them (up to 11 KiB).
const TOUCHED: usize = 48 << 10;

/// The addresses of a thread's stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    low: usize,
    high: usize,
}

impl Bounds {
    /// Reads them:
    /// [pthread_getattr_np(3)](https://man7.org/linux/man-pages/man3/pthread_getattr_np.3.html).
    pub(super) fn of_this_thread() -> Result<Self, SysError> {
        let failed = |errno| SysError::new("pthread_getattr_np", Errno::from_raw_os_error(errno));
        let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
        let (mut low, mut size) = (std::ptr::null_mut(), 0);
        // SAFETY: the first call fills in the attributes of the calling thread unless it fails;
        // the second reads them into two variables of ours; the third frees them.
        let returned = unsafe {
            let got = libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr());
            if got != 0 {
                return Err(failed(got));
            }
            let got = libc::pthread_attr_getstack(attributes.as_ptr(), &mut low, &mut size);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            got
        };
        match returned {
            0 => Ok(Self { low: low.addr(), high: low.addr().saturating_add(size) }),
            errno => Err(failed(errno)),
        }
    }

    /// Copies the stack from `sp` upwards; returns the number of bytes, which is 0 if `sp` is not in
    /// this stack (e.g. in an alternate signal stack).
    pub(super) fn copy(&self, sp: u64, to: &mut [u8; STACK_MAX]) -> usize {
        let sp = sp as usize;
        if !(self.low..self.high).contains(&sp) {
            return 0;
        }
        let length = (self.high - sp).min(STACK_MAX);
        // SAFETY: the bytes lie in the calling thread's stack at and above a stack pointer that it
        // had, so they are mapped, and no other thread has a reason to write there. The target is
        // memory of the ring.
        unsafe {
            std::ptr::copy_nonoverlapping(sp as *const u8, to.as_mut_ptr(), length);
        }
        length
    }
}

/// Touches the stack that handlers will need, so that they cause no page fault in a section.
#[inline(never)]
pub(super) fn touch() {
    std::hint::black_box(&mut [0_u8; TOUCHED]);
}
