//! Copying from another process:
//! [process_vm_readv(2)](https://man7.org/linux/man-pages/man2/process_vm_readv.2.html).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::process::{PTracer, Pid};

use super::shared_memory::Bell;
use super::{Alarm, Buffer, Ends, Terms, Transport};
use crate::doorbell::Signal;
use crate::error::{Errno, SysError};
use crate::shared_memory::SharedWords;

/// An end whose messages stay in the memory of their sender.
pub struct ProcessMemory {
    bell: Bell,
    /// For each side, its process and the address of its message.
    places: Arc<SharedWords>,
    /// Where this side's place begins.
    own: usize,
    /// The process of this side, once it is known: the end may have moved to a copy.
    process: Option<u64>,
    outgoing: Buffer,
    incoming: Buffer,
}

/// A process and an address.
const PLACE_WORDS: usize = 2;

/// Messages that the receiver copies from the memory of the sender. They are announced like those
/// in [`shared_memory`](super::shared_memory()).
///
/// # Errors
/// Waiting fails by `EPERM` if Yama or a seccomp filter forbids reading the memory of others, and by
/// `ENOSYS` if the kernel was built without it.
pub fn process_vm_readv(terms: Terms) -> Ends<ProcessMemory> {
    // Yama lets a process read the memory of its descendants, and of those that permit it: a copy
    // of this process is a descendant of it. Without Yama, there is nothing to permit.
    let _ = rustix::process::set_ptracer(PTracer::ProcessID(rustix::process::getpid()));
    let places = Arc::new(SharedWords::create(2 * PLACE_WORDS)?);
    let [first, second] = Bell::by_word(terms.wait)?;
    let end = |bell, own| {
        let [outgoing, incoming] = [Buffer::take(terms)?, Buffer::take(terms)?];
        let places = places.clone();
        Ok(ProcessMemory { bell, places, own, process: None, outgoing, incoming })
    };
    Ok([end(first, 0)?, end(second, PLACE_WORDS)?])
}

impl Transport for ProcessMemory {
    fn buffer(&mut self) -> Result<&mut [u8], SysError> {
        self.outgoing.renew()?;
        Ok(self.outgoing.bytes())
    }

    fn publish(&mut self) -> Result<(), SysError> {
        let this = || rustix::process::getpid().as_raw_nonzero().get() as u64;
        let process = *self.process.get_or_insert_with(this);
        let place = &self.places.words()[self.own..];
        place[0].store(process, Ordering::Relaxed);
        place[1].store(self.outgoing.bytes().as_ptr().addr() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn notify(&mut self) -> Result<(), SysError> {
        self.bell.ring(Signal::Go)
    }

    fn wait(&mut self) -> Result<&[u8], SysError> {
        self.bell.wait()?;
        let place = &self.places.words()[PLACE_WORDS - self.own..];
        let [process, address] = [0, 1].map(|word| place[word].load(Ordering::Relaxed));
        let bytes = self.incoming.bytes();
        copy_from(process, address, bytes)?;
        Ok(bytes)
    }

    fn release(&mut self) -> Result<(), SysError> {
        self.incoming.renew()
    }

    fn hang_up(&mut self) {
        let _ = self.bell.ring(Signal::Stop);
    }

    fn alarm(&self) -> Option<Alarm> {
        Some(self.bell.alarm())
    }
}

/// Copies bytes from an address in another process.
fn copy_from(process: u64, address: u64, bytes: &mut [u8]) -> Result<(), SysError> {
    let call = "process_vm_readv";
    let process = Pid::from_raw(process as i32).ok_or(SysError::new(call, Errno::SRCH))?;
    let here = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // The address belongs to the other process; only the kernel uses it, and checks it.
    let there = libc::iovec {
        iov_base: std::ptr::without_provenance_mut(address as usize),
        iov_len: bytes.len(),
    };
    let process = process.as_raw_nonzero().get();
    // SAFETY: the kernel writes as many bytes as the slice has, and reads the two structures.
    let copied =
        unsafe { libc::process_vm_readv(process, &raw const here, 1, &raw const there, 1, 0) };
    match SysError::check(call, copied)? as usize == bytes.len() {
        true => Ok(()),
        false => Err(SysError::new(call, Errno::FAULT)),
    }
}
