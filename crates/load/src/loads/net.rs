//! UDP and TCP over the loopback interface, with a sender and a receiver for each.
//!
//! A copy has four threads. The TCP stream is bounded by its window. UDP datagrams are sent
//! sixteen at a time; the next sixteen follow when the receiver has requested them, or after
//! 10 ms if some were lost.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use super::Endless;
use crate::error::{During, LoadError};
use crate::site::Site;

/// The bytes that are written to the TCP stream at once.
const CHUNK: usize = 64 << 10;

/// The bytes of a datagram, which fits into an Ethernet frame.
const DATAGRAM: usize = 1400;

/// Datagrams sent before the receiver has to request more.
const BURST: usize = 16;

/// How long the sender waits for a request before it assumes that datagrams were lost.
const PATIENCE: Duration = Duration::from_millis(10);

const LOOPBACK: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

/// Counts one operation per receive, of a piece of the stream or of a datagram.
pub(super) fn run(site: &'static Site) -> Endless {
    let (stream, peer) = streams()?;
    let (sender, receiver) = datagrams()?;
    site.spawn("tcp-sender", move || send_stream(stream))?;
    site.spawn("tcp-reader", move || receive_stream(peer, site))?;
    site.spawn("udp-sender", move || send_datagrams(&sender))?;
    receive_datagrams(&receiver, site)
}

/// Adds the fix to errors of the loopback interface.
fn on_loopback<T>(result: std::io::Result<T>) -> Result<T, LoadError> {
    result
        .during("open a connection over the loopback interface")
        .map_err(|error| error.hint("bring the interface up: sudo ip link set lo up"))
}

/// The longest queue of connections to accept (`net.core.somaxconn`, since Linux 5.4).
const BACKLOG_MAX: usize = 4096;

fn streams() -> Result<(TcpStream, TcpStream), LoadError> {
    let listener = on_loopback(TcpListener::bind(LOOPBACK))?;
    let stream = on_loopback(listener.local_addr().and_then(TcpStream::connect))?;
    let own = on_loopback(stream.local_addr())?;
    // Our connection is in the queue; other processes may have found the port before.
    for _ in 0..=BACKLOG_MAX {
        let (peer, from) = on_loopback(listener.accept())?;
        if from == own {
            return Ok((stream, peer));
        }
    }
    Err(LoadError::new("other processes fill the queue of the load's TCP port"))
}

fn datagrams() -> Result<(UdpSocket, UdpSocket), LoadError> {
    let sender = on_loopback(UdpSocket::bind(LOOPBACK))?;
    let receiver = on_loopback(UdpSocket::bind(LOOPBACK))?;
    on_loopback(receiver.local_addr().and_then(|address| sender.connect(address)))?;
    on_loopback(sender.local_addr().and_then(|address| receiver.connect(address)))?;
    on_loopback(sender.set_read_timeout(Some(PATIENCE)))?;
    Ok((sender, receiver))
}

fn send_stream(mut stream: TcpStream) -> Endless {
    let chunk = vec![b'x'; CHUNK];
    loop {
        stream.write_all(&chunk).during("send over TCP")?;
    }
}

fn receive_stream(mut stream: TcpStream, site: &Site) -> Endless {
    let mut buffer = vec![0; CHUNK];
    loop {
        let received = stream.read(&mut buffer).during("receive over TCP")?;
        site.did(1, received as u64);
    }
}

fn send_datagrams(socket: &UdpSocket) -> Endless {
    let datagram = [b'x'; DATAGRAM];
    loop {
        for _ in 0..BURST {
            socket.send(&datagram).during("send over UDP")?;
        }
        match socket.recv(&mut [0]) {
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(error).during("receive over UDP"),
        }
    }
}

fn receive_datagrams(socket: &UdpSocket, site: &Site) -> Endless {
    let mut buffer = [0; DATAGRAM];
    loop {
        for _ in 0..BURST {
            let received = socket.recv(&mut buffer).during("receive over UDP")?;
            site.did(1, received as u64);
        }
        socket.send(&[0]).during("send over UDP")?;
    }
}
