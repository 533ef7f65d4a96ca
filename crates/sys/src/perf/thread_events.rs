//! What one thread does, with its registers and copies of its stack.

use std::os::fd::{AsRawFd, OwnedFd};

use tactus_model::recording::ThreadId;

use super::attr::Attr;
use super::open_for_thread;
use super::ring::{RawRecord, Ring};
use crate::error::{Errno, SysError};
use crate::section::Registers;
use crate::thread;

const IOC_ENABLE: libc::c_ulong = 0x2400;
const IOC_SET_OUTPUT: libc::c_ulong = 0x2405;
/// `_IOR('$', 7, __u64 *)`
const IOC_ID: libc::c_ulong = 0x8008_2407;

/// The most bytes of the stack in a record, as in [`crate::section::STACK_MAX`].
const STACK: u16 = crate::section::STACK_MAX as u16;

/// The numbers of the tracepoints `raw_syscalls/sys_enter` and `raw_syscalls/sys_exit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallIds {
    /// That of `sys_enter`.
    pub enter: u32,
    /// That of `sys_exit`.
    pub exit: u32,
}

/// Records the system calls, page faults and switches of one thread, also those of programs that
/// it executes. It costs other threads nothing.
#[derive(Debug)]
pub struct ThreadEvents {
    ring: Ring,
    owner: OwnedFd,
    _events: Vec<OwnedFd>,
    ids: Ids,
    in_kernel: bool,
}

/// The numbers by which records name their events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ids {
    enter: Option<u64>,
    exit: Option<u64>,
    fault: u64,
}

/// A record of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadRecord<'r> {
    /// It began a system call.
    Enter {
        /// The tracepoint's own record.
        raw: &'r [u8],
        /// The registers.
        registers: Registers,
        /// The stack from the stack pointer upwards.
        stack: &'r [u8],
    },
    /// A system call ended.
    Exit,
    /// It had a page fault.
    Fault {
        /// The address that it accessed.
        address: u64,
        /// The registers.
        registers: Registers,
        /// The stack from the stack pointer upwards.
        stack: &'r [u8],
    },
    /// It left its CPU.
    Out {
        /// Whether it could have run on.
        preempted: bool,
    },
    /// It came to a CPU.
    In,
    /// Records were lost because the ring was full.
    Lost {
        /// The number of records.
        count: u64,
    },
}

impl ThreadEvents {
    /// Starts to record a thread. Without `calls`, no system calls are recorded. `ring` is the size
    /// of the ring in bytes, a power of two of pages.
    ///
    /// # Errors
    /// - `EACCES` or `EPERM`: the thread belongs to another user, tracepoints need CAP_PERFMON, or
    ///   `kernel.perf_event_paranoid` is above 2. With `call` = `mmap`, the ring would lock more
    ///   memory than allowed.
    /// - `ESRCH`: the thread does not exist.
    /// - `EMFILE`: too many open files.
    pub fn start(thread: ThreadId, calls: Option<CallIds>, ring: usize) -> Result<Self, SysError> {
        let thread = thread::number("perf_event_open", thread)?;
        let open = |attr: Attr| match open_for_thread(thread, attr) {
            Err(error) if error.errno == Errno::INVAL => {
                open_for_thread(thread, attr.without_lost_count())
            }
            opened => opened,
        };
        let permitted = |attr: Attr| match open(attr) {
            Err(error) if [Errno::ACCESS, Errno::PERM].contains(&error.errno) => {
                open(attr.of_user_mode()).map(|event| (event, false))
            }
            opened => opened.map(|event| (event, true)),
        };
        let (owner, _) = permitted(Attr::switches())?;
        let ring = Ring::map(&owner, ring)?;
        let (fault, in_kernel) = permitted(Attr::page_faults().with_stack(USER_MASK, STACK))?;
        let mut ids = Ids { fault: id(&fault)?, ..Ids::default() };
        let mut events = vec![fault];
        if let Some(CallIds { enter, exit }) = calls {
            let enter = Attr::identified_tracepoint(enter).with_content();
            let enter = open(enter.with_stack(USER_MASK, STACK))?;
            let exit = open(Attr::identified_tracepoint(exit))?;
            (ids.enter, ids.exit) = (Some(id(&enter)?), Some(id(&exit)?));
            events.extend([enter, exit]);
        }
        for event in &events {
            ioctl(event, IOC_SET_OUTPUT, owner.as_raw_fd() as libc::c_ulong)?;
            ioctl(event, IOC_ENABLE, 0)?;
        }
        ioctl(&owner, IOC_ENABLE, 0)?;
        Ok(Self { ring, owner, _events: events, ids, in_kernel })
    }

    /// Whether page faults within system calls are recorded too.
    pub fn has_faults_in_kernel(&self) -> bool {
        self.in_kernel
    }

    /// Passes every record, with its time on `CLOCK_MONOTONIC` in nanoseconds, to `take`.
    pub fn drain(&mut self, mut take: impl FnMut(u64, ThreadRecord<'_>)) {
        let ids = self.ids;
        self.ring.drain(|raw| {
            if let Some((time, record)) = parse(raw, ids) {
                take(time, record);
            }
        });
    }
}

impl std::os::fd::AsFd for ThreadEvents {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.owner.as_fd()
    }
}

/// The bits of the registers that a record contains, in the order in which it does.
#[cfg(target_arch = "x86_64")]
const USER_REGISTERS: [u32; 3] = [6, 7, 8]; // BP, SP, IP

/// The bits of the registers that a record contains, in the order in which it does.
#[cfg(target_arch = "aarch64")]
const USER_REGISTERS: [u32; 4] = [29, 30, 31, 32]; // X29, LR, SP, PC

const USER_MASK: u64 = {
    let (mut mask, mut at) = (0, 0);
    while at < USER_REGISTERS.len() {
        mask |= 1 << USER_REGISTERS[at];
        at += 1;
    }
    mask
};

#[cfg(target_arch = "x86_64")]
fn registers([fp, sp, ip]: [u64; USER_REGISTERS.len()]) -> Registers {
    Registers { ip, sp, fp, lr: 0 }
}

#[cfg(target_arch = "aarch64")]
fn registers([fp, lr, sp, ip]: [u64; USER_REGISTERS.len()]) -> Registers {
    Registers { ip, sp, fp, lr }
}

const RECORD_LOST: u32 = 2;
const RECORD_SAMPLE: u32 = 9;
const RECORD_SWITCH: u32 = 14;
const SWITCH_OUT: u16 = 1 << 13;
const SWITCH_OUT_PREEMPT: u16 = 1 << 14;

/// Reads a record with its time; `None` if it is of no interest or too short.
fn parse(record: RawRecord<'_>, ids: Ids) -> Option<(u64, ThreadRecord<'_>)> {
    let mut rest = Rest(record.body);
    match record.kind {
        RECORD_SAMPLE => {
            let (id, time) = (rest.word()?, rest.word()?);
            Some((time, sample(id, rest, ids)?))
        }
        RECORD_SWITCH => {
            let time = rest.word()?;
            let out = ThreadRecord::Out { preempted: record.flags & SWITCH_OUT_PREEMPT != 0 };
            let is_out = record.flags & SWITCH_OUT != 0;
            Some((time, if is_out { out } else { ThreadRecord::In }))
        }
        RECORD_LOST => {
            let (_id, count, time) = (rest.word()?, rest.word()?, rest.word()?);
            Some((time, ThreadRecord::Lost { count }))
        }
        _ => None,
    }
}

fn sample(id: u64, mut rest: Rest<'_>, ids: Ids) -> Option<ThreadRecord<'_>> {
    if ids.exit == Some(id) {
        return Some(ThreadRecord::Exit);
    }
    if ids.enter == Some(id) {
        let raw = rest.raw()?;
        let (registers, stack) = rest.user()?;
        return Some(ThreadRecord::Enter { raw, registers, stack });
    }
    if ids.fault != id {
        return None;
    }
    let address = rest.word()?;
    let (registers, stack) = rest.user()?;
    Some(ThreadRecord::Fault { address, registers, stack })
}

/// The rest of a record, in the layout of perf_event_open(2).
struct Rest<'r>(&'r [u8]);

impl<'r> Rest<'r> {
    fn word(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_ne_bytes(*word))
    }

    fn bytes(&mut self, length: usize) -> Option<&'r [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn raw(&mut self) -> Option<&'r [u8]> {
        let length = u32::from_ne_bytes(*self.bytes(4)?.first_chunk()?);
        self.bytes(usize::try_from(length).ok()?)
    }

    /// The registers and the stack. Both are absent for a thread of the kernel.
    fn user(&mut self) -> Option<(Registers, &'r [u8])> {
        const NO_REGISTERS: u64 = 0;
        let mut words = [0; USER_REGISTERS.len()];
        if self.word()? != NO_REGISTERS {
            for word in &mut words {
                *word = self.word()?;
            }
        }
        let length = usize::try_from(self.word()?).ok()?;
        if length == 0 {
            return Some((registers(words), &[]));
        }
        let stack = self.bytes(length)?;
        let copied = usize::try_from(self.word()?).ok()?;
        Some((registers(words), stack.get(..copied)?))
    }
}

fn id(event: &OwnedFd) -> Result<u64, SysError> {
    let mut id = 0_u64;
    // SAFETY: the request writes one 64-bit number, which lives through the call.
    let returned = unsafe { libc::ioctl(event.as_raw_fd(), IOC_ID as libc::Ioctl, &raw mut id) };
    SysError::check("ioctl", returned).map(|_| id)
}

fn ioctl(event: &OwnedFd, request: libc::c_ulong, argument: libc::c_ulong) -> Result<(), SysError> {
    // SAFETY: the requests of this module that come here take a number or a descriptor.
    let returned = unsafe { libc::ioctl(event.as_raw_fd(), request as libc::Ioctl, argument) };
    SysError::check("ioctl", returned).map(drop)
}

#[cfg(test)]
mod tests {
    use tactus_testing::{Need, require};

    use super::*;
    use crate::mapping::Mapping;

    const IDS: Ids = Ids { enter: Some(1), exit: Some(2), fault: 3 };

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn check(kind: u32, flags: u16, body: &[u64], expected: Option<(u64, ThreadRecord<'_>)>) {
        let body = words(body);
        assert_eq!(parse(RawRecord { kind, flags, body: &body }, IDS), expected);
        for end in 0..body.len() {
            // Never a panic, however short.
            let _ = parse(RawRecord { kind, flags, body: &body[..end] }, IDS);
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn records_are_read_as_the_kernel_writes_them() {
        let registers = Registers { ip: 0x40, sp: 0x70, fp: 0x60, lr: 0 };
        let stack = words(&[5]);
        let fault = ThreadRecord::Fault { address: 0x99, registers, stack: &stack };
        check(9, 0, &[3, 7, 0x99, 2, 0x60, 0x70, 0x40, 16, 5, 6, 8], Some((7, fault)));
        // The length of the raw record, 12, and the record itself, padded to whole words.
        let raw: Vec<u8> = (1..=12).collect();
        let head = 12_u64 | 0x0403_0201 << 32;
        let enter = ThreadRecord::Enter { raw: &raw, registers, stack: &[] };
        let body = [1, 8, head, 0x0c0b_0a09_0807_0605, 2, 0x60, 0x70, 0x40, 0];
        check(9, 0, &body, Some((8, enter)));
        check(9, 0, &[2, 8], Some((8, ThreadRecord::Exit)));
        check(9, 0, &[77, 8], None);
        check(14, 0, &[9, 1], Some((9, ThreadRecord::In)));
        check(14, 1 << 13, &[9, 1], Some((9, ThreadRecord::Out { preempted: false })));
        check(14, 3 << 13, &[9, 1], Some((9, ThreadRecord::Out { preempted: true })));
        check(2, 0, &[1, 44, 9, 1], Some((9, ThreadRecord::Lost { count: 44 })));
        check(1, 0, &[1], None);
        // A copy that is longer than its record.
        check(9, 0, &[3, 7, 0x99, 2, 0x60, 0x70, 0x40, 1 << 40, 5], None);
    }

    #[test]
    fn page_faults_of_a_thread_are_recorded_with_its_stack() {
        let started = ThreadEvents::start(thread::current_id(), None, 1 << 18);
        let Some(mut events) = require(Need::Perf, started) else { return };
        let mut memory = Mapping::new(1 << 16).unwrap();
        let start = memory.bytes().as_ptr().addr() as u64;
        memory.bytes()[0x3000] = 1;
        let mut found = false;
        events.drain(|_, record| {
            if let ThreadRecord::Fault { address, registers, stack } = record {
                let here = (&raw const found).addr() as u64;
                let above = here.saturating_sub(registers.sp);
                found |= address == start + 0x3000 && above < stack.len() as u64;
            }
        });
        assert!(found);
    }
}
