//! Handing messages over to another process and back: the transports whose cost is measured.
//!
//! A transport is a file here, with a function that opens both [ends](Transport) of it. The two ends
//! send in turn, so at most one message is on its way. Most transports copy: for those, a file here
//! has only a `Channel`, and `Copying` does the rest.

mod io_uring;
mod memfd;
mod message_queue;
mod pipe;
mod process_memory;
mod shared_bytes;
mod shared_memory;
mod socket;

use tactus_model::cost::{Buffers, Wait};

pub use self::io_uring::io_uring;
pub use self::memfd::memfd;
pub use self::message_queue::message_queue;
pub use self::pipe::{pipe, vmsplice};
pub use self::process_memory::process_vm_readv;
pub use self::shared_memory::{Shared, shared_eventfd, shared_memory};
pub use self::socket::{tcp, udp, unix_datagram, unix_seqpacket, unix_stream};
use crate::doorbell::spun;
use crate::error::{Errno, SysError};
use crate::mapping::Mapping;

/// What both sides have agreed on.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The bytes of every message, at least one.
    pub size: usize,
    /// The memory of messages.
    pub buffers: Buffers,
    /// How a side waits.
    pub wait: Wait,
}

/// One end of a transport. The other may be used by another thread, or by a copy of this process
/// ([`Fork`](crate::fork::Fork)).
///
/// Its calls allocate nothing, except that fresh memory is mapped if that was agreed on.
pub trait Transport {
    /// The memory for the next message, as long as a message.
    fn buffer(&mut self) -> Result<&mut [u8], SysError>;

    /// Hands over what is in the buffer.
    fn publish(&mut self) -> Result<(), SysError>;

    /// Wakes the other side, if publishing does not do that.
    fn notify(&mut self) -> Result<(), SysError> {
        Ok(())
    }

    /// Waits for the message of the other side.
    ///
    /// # Errors
    /// `EPIPE`: the other side has hung up. `ETIMEDOUT`: it spins, and nothing came for seconds.
    fn wait(&mut self) -> Result<&[u8], SysError>;

    /// Returns the memory of the message.
    fn release(&mut self) -> Result<(), SysError> {
        Ok(())
    }

    /// Ends the waiting of the other side, if closing does not do that.
    fn hang_up(&mut self) {}

    /// Ends the waiting of this side, called by another thread; `None` if the end of the other side
    /// does that.
    fn alarm(&self) -> Option<Alarm> {
        None
    }
}

/// What ends the waiting of a side.
pub type Alarm = Box<dyn FnOnce() + Send>;

/// Both ends of a transport.
pub type Ends<T> = Result<[T; 2], SysError>;

/// Repeats a call that signals interrupt, and that without `Block` returns at once.
fn retried<T>(wait: Wait, mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        let done = match wait {
            Wait::Block => call(),
            Wait::Spin => spun(|| match call() {
                Err(Errno::AGAIN) => None,
                done => Some(done),
            })?,
        };
        if !matches!(done, Err(Errno::INTR)) {
            return done;
        }
    }
}

/// Something that copies the bytes of messages, in one direction through each end's own memory.
trait Channel {
    /// The names of the calls that send and receive.
    const CALLS: [&'static str; 2];

    /// Sends bytes; returns how many. If it spins, it does not wait.
    fn send(&mut self, bytes: &[u8]) -> Result<usize, Errno>;

    /// Receives bytes; returns how many, and zero if the other side has hung up. If it spins, it
    /// does not wait.
    fn receive(&mut self, bytes: &mut [u8]) -> Result<usize, Errno>;

    /// See [`Transport::hang_up`].
    fn hang_up(&mut self) {}

    /// See [`Transport::alarm`].
    fn alarm(&self) -> Option<Alarm> {
        None
    }
}

/// An end of a transport that copies from private memory to private memory.
pub struct Copying<C> {
    channel: C,
    outgoing: Buffer,
    incoming: Buffer,
    wait: Wait,
}

impl<C> Copying<C> {
    fn ends(terms: Terms, channels: [C; 2]) -> Ends<Self> {
        let [first, second] = channels;
        let end = |channel| {
            let [outgoing, incoming] = [Buffer::take(terms)?, Buffer::take(terms)?];
            Ok(Self { channel, outgoing, incoming, wait: terms.wait })
        };
        Ok([end(first)?, end(second)?])
    }
}

impl<C: Channel> Transport for Copying<C> {
    fn buffer(&mut self) -> Result<&mut [u8], SysError> {
        self.outgoing.renew()?;
        Ok(self.outgoing.bytes())
    }

    fn publish(&mut self) -> Result<(), SysError> {
        let Self { channel, outgoing, wait, .. } = self;
        let mut rest: &[u8] = outgoing.bytes();
        while !rest.is_empty() {
            let sent = retried(*wait, || channel.send(rest)).map_err(SysError::of(C::CALLS[0]))?;
            rest = &rest[sent..];
        }
        Ok(())
    }

    fn wait(&mut self) -> Result<&[u8], SysError> {
        let Self { channel, incoming, wait, .. } = self;
        let mut rest = incoming.bytes();
        while !rest.is_empty() {
            let received = retried(*wait, || channel.receive(rest));
            match received.map_err(SysError::of(C::CALLS[1]))? {
                0 => return Err(SysError::new(C::CALLS[1], Errno::PIPE)),
                count => rest = &mut rest[count..],
            }
        }
        Ok(incoming.bytes())
    }

    fn release(&mut self) -> Result<(), SysError> {
        self.incoming.renew()
    }

    fn hang_up(&mut self) {
        self.channel.hang_up();
    }

    fn alarm(&self) -> Option<Alarm> {
        self.channel.alarm()
    }
}

/// Private memory for a message.
struct Buffer {
    mapping: Mapping,
    size: usize,
    buffers: Buffers,
}

impl Buffer {
    fn take(terms: Terms) -> Result<Self, SysError> {
        let mut mapping = Mapping::new(terms.size)?;
        // The kernel may know no huge pages.
        let _ = mapping.forbid_huge_pages();
        mapping.bytes().fill(0);
        Ok(Self { mapping, size: terms.size, buffers: terms.buffers })
    }

    /// Replaces the pages by fresh ones, if messages have such.
    fn renew(&mut self) -> Result<(), SysError> {
        match self.buffers {
            Buffers::Recycled => Ok(()),
            Buffers::Fresh => self.mapping.discard(),
        }
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.mapping.bytes()[..self.size]
    }
}
