//! Messages in files of memory whose descriptors are passed: `SCM_RIGHTS` of
//! [unix(7)](https://man7.org/linux/man-pages/man7/unix.7.html).

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketType,
};
use tactus_model::cost::{Buffers, Wait};

use super::shared_bytes::SharedBytes;
use super::socket::unix_pair;
use super::{Ends, Terms, Transport, retried};
use crate::error::{Errno, SysError};

/// An end of a connection that passes descriptors.
#[derive(Debug)]
pub struct Memfd {
    socket: OwnedFd,
    outgoing: SharedBytes,
    /// The message that was received, until it is released.
    incoming: Option<SharedBytes>,
    terms: Terms,
}

/// Messages in files of memory: the sender writes to its mapping, passes the descriptor, and the
/// receiver maps the file, reads it, and unmaps it. Fresh ones are in a new file each; recycled ones
/// in a file that the sender keeps.
#[doc(alias = "SCM_RIGHTS")]
pub fn memfd(terms: Terms) -> Ends<Memfd> {
    let [first, second] = unix_pair(SocketType::SEQPACKET, Terms { size: 1, ..terms })?;
    let end = |socket| {
        Ok(Memfd { socket, outgoing: SharedBytes::create(terms.size)?, incoming: None, terms })
    };
    Ok([end(first)?, end(second)?])
}

impl Transport for Memfd {
    fn buffer(&mut self) -> Result<&mut [u8], SysError> {
        if self.terms.buffers == Buffers::Fresh {
            self.outgoing = SharedBytes::create(self.terms.size)?;
        }
        Ok(self.outgoing.bytes())
    }

    fn publish(&mut self) -> Result<(), SysError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let files = [self.outgoing.as_fd()];
        control.push(SendAncillaryMessage::ScmRights(&files));
        let flags = SendFlags::NOSIGNAL;
        retried(Wait::Block, || {
            rustix::net::sendmsg(&self.socket, &[IoSlice::new(&[1])], &mut control, flags)
        })
        .map(drop)
        .map_err(SysError::of("sendmsg"))
    }

    fn wait(&mut self) -> Result<&[u8], SysError> {
        let flags = match self.terms.wait {
            Wait::Block => RecvFlags::CMSG_CLOEXEC,
            Wait::Spin => RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT,
        };
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let file = retried(self.terms.wait, || {
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut byte = [0];
            let into = &mut [IoSliceMut::new(&mut byte)];
            rustix::net::recvmsg(&self.socket, into, &mut control, flags)?;
            let rights = control.drain().find_map(|message| match message {
                RecvAncillaryMessage::ScmRights(mut files) => files.next(),
                _ => None,
            });
            // At the end of the connection, nothing comes.
            rights.ok_or(Errno::PIPE)
        });
        let file = file.map_err(SysError::of("recvmsg"))?;
        let message = self.incoming.insert(SharedBytes::map(file, self.terms.size)?);
        Ok(message.bytes())
    }

    fn release(&mut self) -> Result<(), SysError> {
        self.incoming = None;
        Ok(())
    }
}
