//! FIFOs and shared blocks, for both sides.

use std::ffi::{c_char, c_int, c_void};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use tactus_fifo::message::Refusal;
use tactus_fifo::{
    BlockReader, BlockWriter, Ended, FifoReader, FifoWriter, Full, Items, NotWritten, OfferError,
    OpenError, Receiver, Sender, SharedReader, SharedWriter,
};
use tactus_lint::outside;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_sys::clock;

use crate::failure::{Failure, call};
use crate::handles::{Kind, Object, Slot, Slots};
use crate::own;
use crate::program;
use crate::text::{optional, put, text};

/// The handle of one side of a FIFO or a block.
pub type trt_channel = u64;

/// The caller writes.
pub const TRT_WRITE: u32 = 0;

/// The caller reads.
pub const TRT_READ: u32 = 1;

/// A FIFO.
pub const TRT_FIFO: u32 = 0;

/// A block, which has the latest value.
pub const TRT_BLOCK: u32 = 2;

/// No limit for a wait.
pub const TRT_FOREVER: i64 = i64::MAX;

/// What became of the items of one side: offered = pushed + refused, and pushed = taken + in
/// flight. All are 0 for blocks.
#[repr(C)]
#[derive(Default)]
pub struct trt_counts {
    /// Items written by this side.
    pub pushed: u64,
    /// Items that found the FIFO full.
    pub refused: u64,
    /// Items written that the reader has not taken.
    pub in_flight: u64,
    /// Items taken by this side.
    pub popped: u64,
    /// Items overwritten because somebody misled the writer.
    pub lost: u64,
    /// Items that waited for this side at its last look.
    pub available: u64,
}

/// One side of a channel.
struct Side {
    bytes: usize,
    end: End,
}

enum End {
    Sender(Sender<[u8]>),
    Receiver(Receiver<[u8]>),
    BlockWriter(BlockWriter<[u8]>),
    BlockReader(BlockReader<[u8]>),
    FifoReader(FifoReader<[u8]>),
    FifoWriter(FifoWriter<[u8]>),
    SharedReader(SharedReader<[u8]>),
    SharedWriter(SharedWriter<[u8]>),
}

static CHANNELS: Slots<Object<Side>, 256> =
    Slots::new(Kind::Channel, [const { Slot::new(Object::new(None)) }; 256]);

/// The longest wait after which a thread looks again, e.g. whether it shall end.
pub(crate) const SLICE: Nanos = Nanos::from_millis(100);

pub(crate) const CANCELED: Failure =
    Failure::new(libc::ECANCELED, c"the thread was asked to end; fix: return from it");
const FULL: Failure = Failure::new(
    libc::EAGAIN,
    c"the FIFO is full, because the other side reads slowly or is absent; the item is counted as refused",
);
const ENDED: Failure = Failure::new(libc::EPIPE, c"the other side has ended");
const NOT_READ: Failure =
    Failure::new(libc::EBADF, c"this side writes the channel; fix: use the handle that reads");
const NOT_WRITTEN: Failure =
    Failure::new(libc::EBADF, c"this side reads the channel; fix: use the handle that writes");

impl From<Ended> for Failure {
    fn from(_: Ended) -> Self {
        ENDED
    }
}

impl From<Full> for Failure {
    fn from(_: Full) -> Self {
        FULL
    }
}

impl From<NotWritten> for Failure {
    fn from(error: NotWritten) -> Self {
        match error {
            NotWritten::Full(full) => full.into(),
            NotWritten::Ended(ended) => ended.into(),
        }
    }
}

impl From<OfferError> for Failure {
    fn from(error: OfferError) -> Self {
        let errno = match &error {
            OfferError::NameTaken(_) => libc::EEXIST,
            OfferError::TooMany => libc::EMFILE,
            OfferError::Memory { .. } => libc::ENOMEM,
            _ => libc::EINVAL,
        };
        Self::because(errno, error)
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let errno = match &error {
            OpenError::Socket { error, .. } => error.raw_os_error().unwrap_or(libc::ECONNREFUSED),
            OpenError::Refused(Refusal::UnknownName { .. }) => libc::ENOENT,
            OpenError::Refused(Refusal::NotPermitted { .. } | Refusal::Nominal { .. }) => {
                libc::EACCES
            }
            OpenError::Refused(Refusal::InUse { .. } | Refusal::Busy { .. }) => libc::EBUSY,
            OpenError::Refused(Refusal::Element { .. }) => libc::EMSGSIZE,
            OpenError::Refused(_) | OpenError::Protocol(_) => libc::EPROTO,
            OpenError::Memory(error) => error.errno.raw_os_error(),
        };
        Self::because(errno, error)
    }
}

impl Side {
    fn write(&mut self, item: &[u8]) -> Result<(), Failure> {
        match &mut self.end {
            End::Sender(sender) => sender.try_push_bytes(item)?,
            End::FifoWriter(writer) => writer.write_bytes(item)?,
            End::BlockWriter(writer) => writer.write_bytes(item),
            End::SharedWriter(writer) => writer.write_bytes(item)?,
            _ => return Err(NOT_WRITTEN),
        }
        Ok(())
    }

    /// Takes an item, or reads the value of a block. Never waits.
    fn read(&mut self, item: &mut [u8]) -> Result<bool, Failure> {
        let value = match &mut self.end {
            End::Receiver(receiver) => return Ok(receiver.try_pop_bytes(item)),
            End::FifoReader(reader) => return Ok(reader.try_read_bytes(item)?),
            End::BlockReader(reader) => reader.read_bytes(),
            End::SharedReader(reader) => reader.read_bytes()?,
            _ => return Err(NOT_READ),
        };
        if let Some(value) = value {
            item.copy_from_slice(value);
        }
        Ok(value.is_some())
    }

    /// Waits until items may have arrived, or until `due`. Blocks have no arrivals.
    fn wait(&mut self, due: Instant<Monotonic>) -> Result<bool, Failure> {
        Ok(match &mut self.end {
            End::Receiver(receiver) => receiver.wait_until(Some(due))?,
            End::FifoReader(reader) => {
                let rest = due - clock::now();
                reader.wait(Some(Duration::from_nanos(rest.as_nanos())))?
            }
            End::BlockReader(_) | End::SharedReader(_) => {
                return Err(Failure::new(
                    libc::EINVAL,
                    c"a block has a value, not arrivals; fix: do not wait for it",
                ));
            }
            _ => return Err(NOT_READ),
        })
    }

    fn check(&self, bytes: usize) -> Result<(), Failure> {
        if bytes == self.bytes {
            return Ok(());
        }
        let own = self.bytes;
        let reason = format_args!(
            "an item of this channel has {own} bytes, not {bytes}; fix: pass the size of the creation"
        );
        Err(Failure::because(libc::EMSGSIZE, reason))
    }
}

/// Creates a channel on the real-time side, before `trt_serve`: a FIFO with room for `capacity`
/// items of `bytes` bytes each (`TRT_FIFO`), or a block with one (`TRT_BLOCK`), which this side
/// writes (`TRT_WRITE`) or reads (`TRT_READ`): `TRT_FIFO | TRT_WRITE`. `layout` is a text that both sides must agree on, e.g.
/// `State 1: position f64`; NULL: `bytes`.
///
/// # Safety
/// `channel` may be written; `name` and `layout` are NULL or texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trt_create(
    channel: *mut trt_channel,
    name: *const c_char,
    kind: u32,
    layout: *const c_char,
    bytes: usize,
    capacity: usize,
) -> c_int {
    call(|| {
        // SAFETY: the caller says so.
        let (name, items) = unsafe {
            put(channel, 0)?;
            (text(name, "the name")?, items(layout, bytes)?)
        };
        let end = program::with(|program| {
            let offers = program.offers()?;
            Ok(match kind {
                k if k == TRT_FIFO | TRT_WRITE => {
                    End::Sender(offers.fifo_out_of(name, &items, capacity)?)
                }
                k if k == TRT_FIFO | TRT_READ => {
                    End::Receiver(offers.fifo_in_of(name, &items, capacity)?)
                }
                k if k == TRT_BLOCK | TRT_WRITE => {
                    End::BlockWriter(offers.block_out_of(name, &items)?)
                }
                k if k == TRT_BLOCK | TRT_READ => {
                    End::BlockReader(offers.block_in_of(name, &items)?)
                }
                _ => return Err(UNKNOWN_KIND),
            })
        })?;
        let handle = CHANNELS.keep(Side { bytes, end })?;
        // SAFETY: the caller says so.
        unsafe { put(channel, handle) }?;
        Ok(0)
    })
}

const UNKNOWN_KIND: Failure = Failure::new(
    libc::EINVAL,
    c"the kind is not TRT_FIFO or TRT_BLOCK, combined with TRT_READ or TRT_WRITE",
);

/// # Safety
/// `layout` is NULL or a text.
unsafe fn items(layout: *const c_char, bytes: usize) -> Result<Items, Failure> {
    // SAFETY: the caller says so.
    let layout = unsafe { optional(layout, "the layout") }?.unwrap_or("bytes").to_owned();
    Ok(Items { layout, bytes })
}

/// Creates a FIFO on the real-time side that this side writes (`TRT_WRITE`) or reads (`TRT_READ`):
/// `trt_create` without a layout.
///
/// # Safety
/// `channel` may be written; `name` is NULL or a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trt_fifo_create(
    channel: *mut trt_channel,
    name: *const c_char,
    direction: u32,
    bytes: usize,
    capacity: usize,
) -> c_int {
    if !matches!(direction, TRT_READ | TRT_WRITE) {
        return call(|| {
            Err(Failure::new(
                libc::EINVAL,
                c"the direction of a FIFO is neither TRT_READ nor TRT_WRITE; fix: trt_create for a block",
            ))
        });
    }
    // SAFETY: the caller says so.
    unsafe { trt_create(channel, name, TRT_FIFO | direction, std::ptr::null(), bytes, capacity) }
}

/// Opens a channel of the broker at `socket`, in an ordinary process, which needs no `trt_init`.
/// `kind` is what this side does: `TRT_FIFO | TRT_READ` for a FIFO that the real-time side writes.
///
/// # Safety
/// `channel` may be written; `socket`, `name` and `layout` are NULL or texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trt_open(
    channel: *mut trt_channel,
    socket: *const c_char,
    name: *const c_char,
    kind: u32,
    layout: *const c_char,
    bytes: usize,
) -> c_int {
    call(|| {
        // SAFETY: the caller says so.
        let (socket, name, items) = unsafe {
            put(channel, 0)?;
            (text(socket, "the socket")?, text(name, "the name")?, items(layout, bytes)?)
        };
        let end = match kind {
            k if k == TRT_FIFO | TRT_READ => {
                End::FifoReader(FifoReader::open_of(socket, name, &items)?)
            }
            k if k == TRT_FIFO | TRT_WRITE => {
                End::FifoWriter(FifoWriter::open_of(socket, name, &items)?)
            }
            k if k == TRT_BLOCK | TRT_READ => {
                End::SharedReader(SharedReader::open_of(socket, name, &items)?)
            }
            k if k == TRT_BLOCK | TRT_WRITE => {
                End::SharedWriter(SharedWriter::open_of(socket, name, &items)?)
            }
            _ => return Err(UNKNOWN_KIND),
        };
        let handle = CHANNELS.keep(Side { bytes, end })?;
        // SAFETY: the caller says so.
        unsafe { put(channel, handle) }?;
        Ok(0)
    })
}

/// Writes an item to a FIFO, or the value of a block. Never waits. Returns 0, or: `-EAGAIN`, the
/// FIFO is full, and the item is counted as refused; `-EPIPE`, the other side has ended.
///
/// # Safety
/// `item` may be read for `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trt_put(channel: trt_channel, item: *const c_void, bytes: usize) -> c_int {
    call(|| {
        outside(|| {
            CHANNELS.with_alone(channel, |side| {
                side.check(bytes)?;
                if item.is_null() {
                    return Err(NO_ITEM);
                }
                // SAFETY: the caller says so; the size is within the limit of an item.
                side.write(unsafe { std::slice::from_raw_parts(item.cast(), bytes) })?;
                Ok(0)
            })
        })
    })
}

const NO_ITEM: Failure = Failure::new(libc::EFAULT, c"the item is NULL; fix: pass its address");

/// Takes the next item of a FIFO, and waits for it until `until_ns` of the monotonic clock; 0: not
/// at all; `TRT_FOREVER`: without a limit. Of a block, it reads the latest value, and never waits.
///
/// Returns 1 with an item, 0 without, or: `-EPIPE`, the other side has ended, and everything was
/// read; `-ECANCELED`, the thread was asked to end.
///
/// # Safety
/// `item` may be written for `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trt_get(
    channel: trt_channel,
    item: *mut c_void,
    bytes: usize,
    until_ns: i64,
) -> c_int {
    call(|| {
        let until = Instant::from_nanos(u64::try_from(until_ns).unwrap_or(0));
        outside(|| {
            CHANNELS.with_alone(channel, |side| {
                side.check(bytes)?;
                if item.is_null() {
                    return Err(NO_ITEM);
                }
                // SAFETY: the caller says so; the bytes get a value before they are read.
                let item = unsafe {
                    item.cast::<u8>().write_bytes(0, bytes);
                    std::slice::from_raw_parts_mut(item.cast(), bytes)
                };
                loop {
                    if side.read(item)? {
                        return Ok(1);
                    }
                    let now = clock::now::<Monotonic>();
                    let is_block = matches!(side.end, End::BlockReader(_) | End::SharedReader(_));
                    if is_block || now >= until {
                        return Ok(0);
                    }
                    if own::is_ending() {
                        return Err(CANCELED);
                    }
                    side.wait(until.min(now + SLICE))?;
                }
            })
        })
    })
}

/// Takes the next item of a FIFO as read(2) does of a non-blocking descriptor: returns its size, 0
/// if the other side has ended, or `-EAGAIN` if nothing has arrived.
///
/// # Safety
/// `item` may be written for `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trt_read(channel: trt_channel, item: *mut c_void, bytes: usize) -> i64 {
    // SAFETY: the caller says so.
    match unsafe { trt_get(channel, item, bytes, 0) } {
        0 => call(|| Err(Failure::new(libc::EAGAIN, c"nothing has arrived"))),
        1 => bytes as i64,
        ended if ended == -libc::EPIPE => 0,
        failed => failed.into(),
    }
}

/// Returns the descriptor of a FIFO that an ordinary process reads: poll(2) it for POLLIN, then take
/// items by `trt_get` until that returns 0. It belongs to the channel.
#[unsafe(no_mangle)]
pub extern "C" fn trt_pollfd(channel: trt_channel) -> c_int {
    call(|| {
        CHANNELS.with_alone(channel, |side| match &side.end {
            End::FifoReader(reader) => Ok(reader.as_fd().as_raw_fd()),
            _ => Err(Failure::new(
                libc::EINVAL,
                c"only a FIFO that an ordinary process reads has a descriptor; fix: trt_get with a time, or trt_create_handler",
            )),
        })
    })
}

/// Writes what became of the items of this side.
///
/// # Safety
/// `counts` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trt_count(channel: trt_channel, counts: *mut trt_counts) -> c_int {
    call(|| {
        let found = CHANNELS.with_alone(channel, |side| {
            let sent = match &side.end {
                End::Sender(sender) => Some(sender.counts()),
                End::FifoWriter(writer) => Some(writer.counts()),
                _ => None,
            };
            let received = match &side.end {
                End::Receiver(receiver) => Some(receiver.counts()),
                End::FifoReader(reader) => Some(reader.counts()),
                _ => None,
            };
            let (sent, received) = (sent.unwrap_or_default(), received.unwrap_or_default());
            Ok(trt_counts {
                pushed: sent.pushed,
                refused: sent.refused,
                in_flight: sent.in_flight,
                popped: received.popped,
                lost: received.lost,
                available: received.available,
            })
        })?;
        // SAFETY: the caller says so.
        unsafe { put(counts, found) }?;
        Ok(0)
    })
}

/// Closes this side of a channel.
#[unsafe(no_mangle)]
pub extern "C" fn trt_close(channel: trt_channel) -> c_int {
    call(|| {
        CHANNELS.take(channel)?;
        Ok(0)
    })
}

/// Checks that this side reads a FIFO.
pub(crate) fn check_readable(channel: trt_channel) -> Result<(), Failure> {
    CHANNELS.with_alone(channel, |side| match side.end {
        End::Receiver(_) | End::FifoReader(_) => Ok(()),
        _ => Err(NOT_READ),
    })
}

/// Waits for an arrival, for 100 ms at most.
pub(crate) fn await_arrival(channel: trt_channel) -> Result<bool, Failure> {
    CHANNELS.with_alone(channel, |side| side.wait(clock::now::<Monotonic>() + SLICE))
}
