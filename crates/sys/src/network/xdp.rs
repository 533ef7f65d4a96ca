//! Sending Ethernet frames through rings in shared memory:
//! [AF_XDP](https://www.kernel.org/doc/html/latest/networking/af_xdp.html).

use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mm::{MapFlags, ProtFlags};
use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, XDP_PGOFF_TX_RING, XDP_UMEM_PGOFF_COMPLETION_RING, XdpDesc,
    XdpDescOptions, XdpRingOffset, XdpUmemReg, XdpUmemRegFlags,
};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, sockopt};

use crate::error::{Errno, SysError};
use crate::mapping::Mapping;

/// The frames of a transmitter that can be on their way at once; a power of two.
const FRAMES: u32 = 64;
/// The bytes of a frame; a power of two, as the kernel requires.
const FRAME_BYTES: u32 = 2048;

/// A socket that sends Ethernet frames from memory that it shares with the kernel, in copy mode,
/// which needs nothing of the driver. It receives nothing, so it needs no program in the kernel.
///
/// In copy mode the call that [sends](Self::send) carries the frame to the driver, in the calling
/// thread.
#[doc(alias = "AF_XDP")]
#[derive(Debug)]
pub struct XdpTransmitter {
    // Unmapped before the socket and its memory go.
    transmit: Ring<XdpDesc>,
    completed: Ring<u64>,
    socket: OwnedFd,
    memory: Mapping,
    /// The numbers of the frames that the kernel does not use.
    free: Vec<u64>,
}

impl XdpTransmitter {
    /// The longest frame.
    pub const FRAME_MAX: usize = FRAME_BYTES as usize;

    /// Opens a socket for a queue of an interface of the calling thread's namespace.
    ///
    /// # Errors
    /// `EAFNOSUPPORT`: the kernel was built without `CONFIG_XDP_SOCKETS`. `EPERM`: the process
    /// does not have `CAP_NET_RAW`. `EBUSY`: another socket has the queue. `ENODEV`, `EINVAL`:
    /// there is no such interface or queue.
    #[doc(alias = "XDP_UMEM_REG")]
    pub fn open(interface: u32, queue: u32) -> Result<Self, SysError> {
        let of = SysError::of("setsockopt");
        let socket = rustix::net::socket_with(
            AddressFamily::XDP,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(SysError::of("socket"))?;
        let mut memory = Mapping::new((FRAMES * FRAME_BYTES) as usize)?;
        let umem = XdpUmemReg {
            addr: memory.bytes().as_mut_ptr() as u64,
            len: u64::from(FRAMES * FRAME_BYTES),
            chunk_size: FRAME_BYTES,
            headroom: 0,
            flags: XdpUmemRegFlags::empty(),
            tx_metadata_len: 0,
        };
        sockopt::set_xdp_umem_reg(&socket, umem).map_err(&of)?;
        // The kernel requires a fill ring, although nothing is received.
        sockopt::set_xdp_umem_fill_ring_size(&socket, 2).map_err(&of)?;
        sockopt::set_xdp_umem_completion_ring_size(&socket, FRAMES).map_err(&of)?;
        sockopt::set_xdp_tx_ring_size(&socket, FRAMES).map_err(&of)?;
        let offsets = sockopt::xdp_mmap_offsets(&socket).map_err(SysError::of("getsockopt"))?;
        let transmit = Ring::map(&socket, XDP_PGOFF_TX_RING, offsets.tx)?;
        let completed = Ring::map(&socket, XDP_UMEM_PGOFF_COMPLETION_RING, offsets.cr)?;
        let address = SocketAddrXdp::new(SocketAddrXdpFlags::XDP_COPY, interface, queue);
        rustix::net::bind(&socket, &address).map_err(SysError::of("bind"))?;
        let free = (0..u64::from(FRAMES)).collect();
        Ok(Self { transmit, completed, socket, memory, free })
    }

    /// Sends a frame; `false` if there is no room for it now.
    ///
    /// # Errors
    /// `EMSGSIZE`: it is longer than [`Self::FRAME_MAX`]. Others are those of
    /// [sendto(2)](https://man7.org/linux/man-pages/man2/sendto.2.html).
    pub fn send(&mut self, frame: &[u8]) -> Result<bool, SysError> {
        if frame.len() > Self::FRAME_MAX {
            return Err(SysError::new("sendto", Errno::MSGSIZE));
        }
        while let Some(place) = self.completed.consume() {
            // Only frames of ours, and no more than there are, whatever the ring says.
            let place = place / u64::from(FRAME_BYTES) % u64::from(FRAMES);
            if self.free.len() < FRAMES as usize {
                self.free.push(place);
            }
        }
        let Some(place) = self.free.pop() else { return Ok(false) };
        let start = place as usize * Self::FRAME_MAX;
        self.memory.bytes()[start..start + frame.len()].copy_from_slice(frame);
        let (addr, len) = (start as u64, frame.len() as u32);
        // The ring has as many places as there are frames.
        self.transmit.produce(XdpDesc { addr, len, options: XdpDescOptions::empty() });
        match rustix::net::send(&self.socket, &[], SendFlags::DONTWAIT) {
            // After a refusal the frame stays in the ring, and the next call sends it.
            Ok(_) | Err(Errno::AGAIN | Errno::BUSY | Errno::NOBUFS) => Ok(true),
            Err(errno) => Err(SysError::new("sendto", errno)),
        }
    }
}

/// A ring of `FRAMES` entries in memory shared with the kernel, of which the program is the only
/// producer or the only consumer.
#[derive(Debug)]
struct Ring<T> {
    start: NonNull<u8>,
    length: usize,
    produced: NonNull<AtomicU32>,
    consumed: NonNull<AtomicU32>,
    entries: NonNull<T>,
}

// SAFETY: the mapping belongs to the process, and `Ring` owns this end of it.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T: Copy> Ring<T> {
    fn map(socket: &OwnedFd, place: u64, offsets: XdpRingOffset) -> Result<Self, SysError> {
        let length = offsets.desc as usize + FRAMES as usize * size_of::<T>();
        // SAFETY: the kernel chooses a free address range, in which it maps the ring.
        let start = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::POPULATE,
                socket.as_fd(),
                place,
            )
        }
        .map_err(SysError::of("mmap"))?;
        let start = NonNull::new(start.cast::<u8>()).ok_or(SysError::new("mmap", Errno::FAULT))?;
        // SAFETY: the kernel says that these offsets lie in the mapping, and aligns them.
        let [produced, consumed, entries] = [offsets.producer, offsets.consumer, offsets.desc]
            .map(|offset| unsafe { start.add(offset as usize) });
        Ok(Self {
            start,
            length,
            produced: produced.cast(),
            consumed: consumed.cast(),
            entries: entries.cast(),
        })
    }

    fn produced(&self) -> &AtomicU32 {
        // SAFETY: the place lives as long as the mapping, and both sides use it atomically.
        unsafe { self.produced.as_ref() }
    }

    fn consumed(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { self.consumed.as_ref() }
    }

    fn entry(&self, number: u32) -> *mut T {
        // SAFETY: the ring has this many entries.
        unsafe { self.entries.as_ptr().add((number % FRAMES) as usize) }
    }

    /// Adds an entry. The caller knows that there is room.
    fn produce(&self, entry: T) {
        let number = self.produced().load(Ordering::Relaxed);
        // SAFETY: the kernel reads the entry only after it sees the new count of entries.
        unsafe { self.entry(number).write(entry) };
        self.produced().store(number.wrapping_add(1), Ordering::Release);
    }

    /// Takes the next entry, if there is one.
    fn consume(&self) -> Option<T> {
        let number = self.consumed().load(Ordering::Relaxed);
        if self.produced().load(Ordering::Acquire) == number {
            return None;
        }
        // SAFETY: the kernel has written the entry, and writes it again only after it sees the
        // new count of entries that were taken.
        let entry = unsafe { self.entry(number).read() };
        self.consumed().store(number.wrapping_add(1), Ordering::Release);
        Some(entry)
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length, and nothing refers to it any more. A
        // failure cannot be handled.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
