//! A [bpf(2)](https://man7.org/linux/man-pages/man2/bpf.2.html) program that takes the time at
//! which the kernel handles a timer.
//!
//! The program runs at the tracepoint `hrtimer_expire_entry`, in the interrupt, just before the
//! timer's function. Its instructions are written out below, so no compiler is needed.

use std::ffi::CStr;
use std::mem::offset_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags};

use crate::error::{Errno, SysError};

/// The value that the program and this process share.
#[repr(C)]
struct Shared {
    /// The expiry of the awaited timer on the monotonic clock; 0 for none.
    due: AtomicU64,
    /// When it was handled, on the same clock; 0 until then.
    handled: AtomicU64,
}

/// Takes the time at which the kernel handles one timer at a time.
///
/// It ends with this value, or with the process.
#[derive(Debug)]
pub(crate) struct TimerStamp {
    shared: NonNull<Shared>,
    /// Holds the program at its tracepoint.
    _link: OwnedFd,
}

// SAFETY: the mapping belongs to the process, not to a thread, and its content is accessed only
// through atomics.
unsafe impl Send for TimerStamp {}

impl TimerStamp {
    /// Loads the program and attaches it.
    ///
    /// # Errors
    /// - `EPERM`: the process has neither `CAP_SYS_ADMIN` nor `CAP_BPF` with `CAP_PERFMON`.
    /// - `ENOSYS`: the kernel was built without `CONFIG_BPF_SYSCALL`.
    /// - `EINVAL`, `ENOENT`: it is older than Linux 5.5, or has no such tracepoint.
    pub(crate) fn attach() -> Result<Self, SysError> {
        let map = create_map()?;
        let program = load(&timer_stamp(map.as_raw_fd()))?;
        let link = attach(&program, c"hrtimer_expire_entry")?;
        Ok(Self { shared: map_shared(&map)?, _link: link })
    }

    /// Waits for the timer that expires at `due`.
    pub(crate) fn expect(&self, due: u64) {
        let shared = self.shared();
        shared.handled.store(0, Ordering::Relaxed);
        shared.due.store(due, Ordering::Release);
    }

    /// When the expected timer was handled; `None` if it was not.
    pub(crate) fn handled(&self) -> Option<u64> {
        let handled = self.shared().handled.load(Ordering::Acquire);
        (handled != 0).then_some(handled)
    }

    fn shared(&self) -> &Shared {
        // SAFETY: a mapping of at least one `Shared`, page aligned, which lives as long as `self`;
        // any bits are valid atomics.
        unsafe { self.shared.as_ref() }
    }
}

impl Drop for TimerStamp {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `map_shared` with this size, and no borrow of it
        // outlives `self`. A failure cannot be handled.
        let _ = unsafe { rustix::mm::munmap(self.shared.as_ptr().cast(), size_of::<Shared>()) };
    }
}

/// An instruction: `struct bpf_insn`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Instruction {
    code: u8,
    /// The destination in the low half, the source in the high half.
    registers: u8,
    offset: i16,
    value: i32,
}

const fn instruction(code: u8, (to, from): (u8, u8), offset: i16, value: i32) -> Instruction {
    Instruction { code, registers: to | from << 4, offset, value }
}

/// `to = *(u64 *)(from + offset)`.
const fn read(to: u8, from: u8, offset: i16) -> Instruction {
    instruction(0x79, (to, from), offset, 0)
}

/// `*(u64 *)(to + offset) = from`.
const fn write(to: u8, offset: i16, from: u8) -> Instruction {
    instruction(0x7b, (to, from), offset, 0)
}

/// `to = from`.
const fn copy(to: u8, from: u8) -> Instruction {
    instruction(0xbf, (to, from), 0, 0)
}

/// `to = value`.
const fn set(to: u8, value: i32) -> Instruction {
    instruction(0xb7, (to, 0), 0, value)
}

/// `to += value`.
const fn add(to: u8, value: i32) -> Instruction {
    instruction(0x07, (to, 0), 0, value)
}

/// Calls a helper of the kernel.
const fn call(helper: i32) -> Instruction {
    instruction(0x85, (0, 0), 0, helper)
}

/// Skips `by` instructions if `a != b`.
const fn skip_unless_equal(a: u8, b: u8, by: i16) -> Instruction {
    instruction(0x5d, (a, b), by, 0)
}

/// The source with which `BPF_LD_IMM64` loads the address of a map's value.
const MAP_VALUE: u8 = 2;
/// The register that points to the end of the stack.
const STACK: u8 = 10;
/// The helper `bpf_ktime_get_ns`: the monotonic clock.
const KTIME_GET_NS: i32 = 5;
/// The helper `bpf_probe_read_kernel`.
const PROBE_READ_KERNEL: i32 = 113;

/// Where a `struct hrtimer` has `_softexpires`, the requested time: behind its
/// `struct timerqueue_node`. [`KernelHandler`](crate::sleep::KernelHandler) tries it out.
const REQUESTED: i32 = 32;

/// The program: it stores the time if the timer is the expected one.
const fn timer_stamp(map: RawFd) -> [Instruction; 15] {
    [
        // The address of the shared value, in two instructions.
        instruction(0x18, (6, MAP_VALUE), 0, map),
        instruction(0, (0, 0), 0, 0),
        // The first argument of the tracepoint is the timer.
        read(3, 1, 0),
        add(3, REQUESTED),
        copy(1, STACK),
        add(1, -8),
        set(2, 8),
        call(PROBE_READ_KERNEL),
        read(1, STACK, -8),
        read(2, 6, offset_of!(Shared, due) as i16),
        skip_unless_equal(1, 2, 2),
        call(KTIME_GET_NS),
        write(6, offset_of!(Shared, handled) as i16, 0),
        set(0, 0),
        instruction(0x95, (0, 0), 0, 0),
    ]
}

/// Creates a map of one [`Shared`], which can be mapped: `BPF_MAP_CREATE`.
fn create_map() -> Result<OwnedFd, SysError> {
    #[repr(C)]
    struct Attributes {
        kind: u32,
        key_size: u32,
        value_size: u32,
        max_entries: u32,
        flags: u32,
    }
    const ARRAY: u32 = 2;
    const MAPPABLE: u32 = 1 << 10;
    let value_size = size_of::<Shared>() as u32;
    bpf(0, &Attributes { kind: ARRAY, key_size: 4, value_size, max_entries: 1, flags: MAPPABLE })
}

/// Loads a program for raw tracepoints: `BPF_PROG_LOAD`.
fn load(instructions: &[Instruction]) -> Result<OwnedFd, SysError> {
    #[repr(C)]
    struct Attributes {
        kind: u32,
        count: u32,
        instructions: u64,
        license: u64,
    }
    const RAW_TRACEPOINT: u32 = 17;
    // The kernel permits its read helper only to programs whose licence is compatible with the GPL.
    let license = c"Dual MIT/GPL";
    let attributes = Attributes {
        kind: RAW_TRACEPOINT,
        count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        license: license.as_ptr() as u64,
    };
    // The verifier gives up with EAGAIN while a signal is pending (`do_check` in
    // kernel/bpf/verifier.c), so a later attempt succeeds.
    const ATTEMPTS: usize = 5;
    for _ in 1..ATTEMPTS {
        match bpf(5, &attributes) {
            Err(refused) if refused.errno == Errno::AGAIN => {}
            answer => return answer,
        }
    }
    bpf(5, &attributes)
}

/// Attaches a program to a tracepoint until the result is dropped: `BPF_RAW_TRACEPOINT_OPEN`.
fn attach(program: &OwnedFd, tracepoint: &CStr) -> Result<OwnedFd, SysError> {
    #[repr(C)]
    struct Attributes {
        name: u64,
        program: u32,
        padding: u32,
    }
    let (name, program) = (tracepoint.as_ptr() as u64, program.as_raw_fd().cast_unsigned());
    bpf(17, &Attributes { name, program, padding: 0 })
}

fn map_shared(map: &OwnedFd) -> Result<NonNull<Shared>, SysError> {
    // SAFETY: the kernel chooses a free address range; no other memory is touched.
    let start = unsafe {
        rustix::mm::mmap(
            std::ptr::null_mut(),
            size_of::<Shared>(),
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::SHARED,
            map,
            0,
        )
    }
    .map_err(SysError::of("mmap"))?;
    NonNull::new(start.cast()).ok_or(SysError::new("mmap", Errno::FAULT))
}

/// A command that returns a descriptor.
fn bpf<T>(command: i32, attributes: &T) -> Result<OwnedFd, SysError> {
    // SAFETY: `attributes` is the leading part of the command's attributes; its pointers are to
    // memory that outlives the call and that the kernel only reads.
    let returned = unsafe { libc::syscall(libc::SYS_bpf, command, attributes, size_of::<T>()) };
    let descriptor = SysError::check("bpf", returned)?;
    // SAFETY: a successful command returns a new descriptor, which nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as RawFd) })
}
