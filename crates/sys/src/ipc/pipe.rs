//! Pipes: [pipe(7)](https://man7.org/linux/man-pages/man7/pipe.7.html).

use std::os::fd::OwnedFd;

use rustix::pipe::{IoSliceRaw, PipeFlags, SpliceFlags};
use tactus_model::cost::Wait;

use super::{Channel, Copying, Ends, Terms};
use crate::error::{Errno, SysError};

/// An end of two pipes, one in each direction.
#[derive(Debug)]
pub struct Pipe {
    reader: OwnedFd,
    writer: OwnedFd,
}

/// The same; the kernel does not copy the bytes into the pipe, but refers to their pages.
#[derive(Debug)]
pub struct SplicedPipe {
    pipe: Pipe,
    flags: SpliceFlags,
}

impl Pipe {
    fn pair(wait: Wait) -> Ends<Self> {
        let flags = match wait {
            Wait::Block => PipeFlags::CLOEXEC,
            Wait::Spin => PipeFlags::CLOEXEC | PipeFlags::NONBLOCK,
        };
        let pipe = || rustix::pipe::pipe_with(flags).map_err(SysError::of("pipe2"));
        let ((from_second, to_first), (from_first, to_second)) = (pipe()?, pipe()?);
        Ok([
            Self { reader: from_second, writer: to_second },
            Self { reader: from_first, writer: to_first },
        ])
    }
}

/// Messages that are written to a pipe and read from it. It holds 64 KiB of a longer message at a
/// time.
#[doc(alias = "pipe2")]
pub fn pipe(terms: Terms) -> Ends<Copying<Pipe>> {
    Copying::ends(terms, Pipe::pair(terms.wait)?)
}

/// Messages whose pages are put into a pipe:
/// [vmsplice(2)](https://man7.org/linux/man-pages/man2/vmsplice.2.html). Reading copies them, so
/// their memory may be used again once an answer has come.
pub fn vmsplice(terms: Terms) -> Ends<Copying<SplicedPipe>> {
    let flags = match terms.wait {
        Wait::Block => SpliceFlags::empty(),
        Wait::Spin => SpliceFlags::NONBLOCK,
    };
    let pipes = Pipe::pair(terms.wait)?;
    Copying::ends(terms, pipes.map(|pipe| SplicedPipe { pipe, flags }))
}

impl Channel for Pipe {
    const CALLS: [&'static str; 2] = ["write", "read"];

    fn send(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        rustix::io::write(&self.writer, bytes)
    }

    fn receive(&mut self, bytes: &mut [u8]) -> Result<usize, Errno> {
        rustix::io::read(&self.reader, bytes)
    }
}

impl Channel for SplicedPipe {
    const CALLS: [&'static str; 2] = ["vmsplice", "read"];

    fn send(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        // SAFETY: the pipe keeps the pages themselves, not their addresses. Until the other side has
        // read them, nobody writes to them, since the two send in turn; if somebody did, the bytes
        // of the message would change, and nothing else.
        unsafe {
            rustix::pipe::vmsplice(&self.pipe.writer, &[IoSliceRaw::from_slice(bytes)], self.flags)
        }
    }

    fn receive(&mut self, bytes: &mut [u8]) -> Result<usize, Errno> {
        self.pipe.receive(bytes)
    }
}
