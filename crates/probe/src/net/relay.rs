//! The relay: one process that sends the packets of all senders, in the order of one queue.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, Stdio};

use tactus_model::recording::ThreadId;
use tactus_sys::process::die_with_parent;
use tactus_transport::Pair;

use super::outgoing::{NetError, PACKET_BYTES, PORT_BYTES};

/// A running relay; it ends with this value.
#[derive(Debug)]
pub(super) struct Relay {
    process: Child,
    queue: UnixDatagram,
}

impl Relay {
    /// Starts a relay that sends by `socket`. It dies with the calling thread.
    pub(super) fn start(socket: UdpSocket) -> Result<Self, NetError> {
        start(socket).map_err(NetError::Relay)
    }

    /// Its only thread.
    pub(super) fn thread(&self) -> ThreadId {
        ThreadId(self.process.id().cast_signed())
    }

    /// The sending end of its queue, which all senders share.
    pub(super) fn queue(&self) -> Result<UnixDatagram, NetError> {
        self.queue.try_clone().map_err(NetError::Relay)
    }
}

fn start(socket: UdpSocket) -> io::Result<Relay> {
    let (queue, receiver) = UnixDatagram::pair()?;
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["internal", "relay"])
        .stdin(Stdio::from(OwnedFd::from(receiver)))
        .stdout(Stdio::from(OwnedFd::from(socket)));
    die_with_parent(&mut command);
    Ok(Relay { process: command.spawn()?, queue })
}

impl Drop for Relay {
    fn drop(&mut self) {
        // It may have ended, and has nothing to put back.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The main function of the relay. Its standard input is a Unix socket with one queue for all
/// senders, its standard output the UDP socket by which it sends.
///
/// # Errors
/// One of the two is not such a socket.
pub fn relay_main() -> io::Result<()> {
    let queue = UnixDatagram::from(io::stdin().as_fd().try_clone_to_owned()?);
    let socket = UdpSocket::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut message = [0; PORT_BYTES + PACKET_BYTES];
    loop {
        let length = queue.recv(&mut message)?;
        let Some((port, packet)) = message[..length].split_first_chunk() else { return Ok(()) };
        socket.send_to(packet, Pair::peer(u16::from_be_bytes(*port)))?;
    }
}
