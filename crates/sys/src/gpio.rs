//! Edges of a GPIO line, stamped in the interrupt: the second version of the
//! [character device](https://docs.kernel.org/userspace-api/gpio/gpio-v2-get-line-ioctl.html) of
//! Linux 5.10.

use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::ioctl::{Updater, ioctl, opcode};
use tactus_model::time::{Instant, Monotonic};

use crate::error::{Errno, SysError};

/// The edges that are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edges {
    /// From inactive to active.
    Rising,
    /// From active to inactive.
    Falling,
    /// Both.
    Both,
}

/// An edge of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// When the interrupt handler ran.
    pub at: Instant<Monotonic>,
    /// Whether the line became active.
    pub is_rising: bool,
    /// Its number among the edges of this line, from 1; a gap counts the edges that the kernel
    /// dropped because its buffer was full. It wraps at 2³².
    pub number: u32,
}

/// An input line whose edges are awaited. Other users cannot request the line meanwhile.
#[doc(alias = "GPIO_V2_GET_LINE_IOCTL")]
#[derive(Debug)]
pub struct GpioLine(OwnedFd);

/// `GPIO_V2_LINES_MAX`
const LINES_MAX: usize = 64;
/// `GPIO_MAX_NAME_SIZE`
const NAME_SIZE: usize = 32;
/// `GPIO_V2_LINE_NUM_ATTRS_MAX`
const ATTRIBUTES_MAX: usize = 10;

/// `GPIO_V2_LINE_FLAG_INPUT`
const INPUT: u64 = 1 << 2;
/// `GPIO_V2_LINE_FLAG_EDGE_RISING`
const EDGE_RISING: u64 = 1 << 4;
/// `GPIO_V2_LINE_FLAG_EDGE_FALLING`
const EDGE_FALLING: u64 = 1 << 5;

/// `struct gpio_v2_line_request`
#[repr(C)]
struct LineRequest {
    offsets: [u32; LINES_MAX],
    consumer: [u8; NAME_SIZE],
    flags: u64,
    attribute_count: u32,
    config_padding: [u32; 5],
    /// Attribute and mask of each.
    attributes: [[u64; 3]; ATTRIBUTES_MAX],
    line_count: u32,
    event_buffer_size: u32,
    padding: [u32; 5],
    fd: i32,
}

const _: () = assert!(size_of::<LineRequest>() == 592);

/// The bytes of `struct gpio_v2_line_event`.
const EVENT_SIZE: usize = 48;

/// The number of edges that the kernel keeps until they are read.
const EDGES_KEPT: u32 = 64;

impl GpioLine {
    /// Requests the line with the number `line` of the chip at `path`, e.g. `/dev/gpiochip0`.
    ///
    /// # Errors
    /// - `EBUSY`: another program or driver uses the line.
    /// - `EINVAL`: the chip has no such line.
    /// - `ENXIO`: the line has no interrupt.
    /// - `ENOTTY`: `path` is no GPIO chip, or the kernel is older than 5.10.
    /// - Those of open(2).
    pub fn request(path: &Path, line: u32, edges: Edges) -> Result<Self, SysError> {
        let chip = rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .map_err(SysError::of("open"))?;
        let mut request = LineRequest {
            offsets: [0; LINES_MAX],
            consumer: [0; NAME_SIZE],
            flags: INPUT | flags(edges),
            attribute_count: 0,
            config_padding: [0; 5],
            attributes: [[0; 3]; ATTRIBUTES_MAX],
            line_count: 1,
            event_buffer_size: EDGES_KEPT,
            padding: [0; 5],
            fd: -1,
        };
        request.offsets[0] = line;
        request.consumer[..6].copy_from_slice(b"tactus");
        const GET_LINE: rustix::ioctl::Opcode = opcode::read_write::<LineRequest>(0xB4, 0x07);
        // SAFETY: the opcode is that of GPIO_V2_GET_LINE_IOCTL, whose argument is this structure.
        let call = unsafe { Updater::<GET_LINE, LineRequest>::new(&mut request) };
        // SAFETY: as above; the kernel writes within the structure only.
        unsafe { ioctl(&chip, call) }.map_err(SysError::of("ioctl"))?;
        // SAFETY: the kernel has just created this descriptor, close-on-exec, and nothing else
        // uses it.
        let line = unsafe { OwnedFd::from_raw_fd(request.fd) };
        let flags = rustix::fs::fcntl_getfl(&line).map_err(SysError::of("fcntl"))?;
        rustix::fs::fcntl_setfl(&line, flags | OFlags::NONBLOCK).map_err(SysError::of("fcntl"))?;
        Ok(Self(line))
    }

    /// Takes the oldest edge; `None` if there is none at present.
    ///
    /// # Errors
    /// `ENODEV`: the chip was removed.
    pub fn take(&self) -> Result<Option<Edge>, SysError> {
        let mut event = [0; EVENT_SIZE];
        match rustix::io::read(&self.0, &mut event) {
            Ok(EVENT_SIZE) => Ok(Some(edge(&event))),
            Ok(_) => Err(SysError::new("read", Errno::IO)),
            Err(Errno::AGAIN) => Ok(None),
            Err(errno) => Err(SysError::new("read", errno)),
        }
    }
}

/// It can be read when there is an edge.
impl AsFd for GpioLine {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

const fn flags(edges: Edges) -> u64 {
    match edges {
        Edges::Rising => EDGE_RISING,
        Edges::Falling => EDGE_FALLING,
        Edges::Both => EDGE_RISING | EDGE_FALLING,
    }
}

/// Reads `struct gpio_v2_line_event`: stamp, kind, line, number among all lines, number of the
/// line.
fn edge(event: &[u8; EVENT_SIZE]) -> Edge {
    let word = |at: usize| {
        let bytes = [event[at], event[at + 1], event[at + 2], event[at + 3]];
        u32::from_ne_bytes(bytes)
    };
    let stamp = event.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
    Edge { at: Instant::from_nanos(stamp), is_rising: word(8) == 1, number: word(20) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_the_kernel_is_an_edge() {
        let mut event = [0; EVENT_SIZE];
        event[..8].copy_from_slice(&1_234_567_890_u64.to_ne_bytes());
        event[8..12].copy_from_slice(&2_u32.to_ne_bytes());
        event[20..24].copy_from_slice(&9_u32.to_ne_bytes());
        let at = Instant::from_nanos(1_234_567_890);
        assert_eq!(edge(&event), Edge { at, is_rising: false, number: 9 });
        event[8] = 1;
        assert!(edge(&event).is_rising);
    }

    #[test]
    fn what_is_no_chip_is_refused() {
        let request = |path: &str| GpioLine::request(Path::new(path), 0, Edges::Both);
        assert_eq!(request("/dev/null").unwrap_err().errno, Errno::NOTTY);
        assert_eq!(request("/nonexistent").unwrap_err().errno, Errno::NOENT);
    }
}
