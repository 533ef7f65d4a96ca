//! A door, from outside.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::thread::JoinHandle;

use tactus_sys::network::enlarge_receive_buffer;
use tactus_sys::wait::Waker;

use super::service::Service;

/// How a door is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Where it receives. Receipts to other machines need proofs of their addresses, but anybody who
    /// reaches this address can have items delivered.
    pub address: SocketAddr,
    /// The socket of the server.
    pub server: PathBuf,
}

/// What the door has got, and what it has not passed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Datagrams that were read.
    pub datagrams: u64,
    /// Items that the server has taken.
    pub items: u64,
    /// Receipts of these.
    pub receipts: u64,
    /// Messages that were refused, with a reason to those who subscribe.
    pub refused: u64,
    /// Datagrams that were not Open Sound Control.
    pub malformed: u64,
    /// Datagrams beyond the rate of their host.
    pub over_rate: u64,
    /// Datagrams of hosts for which there was no room, or no server.
    pub no_room: u64,
    /// Datagrams that the kernel dropped because the door did not read them in time.
    pub dropped: u64,
    /// Replies that could not be sent.
    pub unsent: u64,
}

impl Counts {
    /// What was lost without an answer.
    pub const fn lost(&self) -> u64 {
        self.over_rate + self.no_room + self.dropped + self.unsent
    }
}

/// What happens at a door.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Somebody has set the real-time clock, by these nanoseconds. Items that the server has keep
    /// their instants; the times of later ones are those of the new clock.
    ClockJumped(i64),
    /// More was lost.
    Losses(Counts),
    /// Messages were refused; their senders learn it only if they subscribe.
    Refused {
        /// Their number since the last event.
        more: u64,
        /// The address of the last one, and why.
        last: String,
    },
    /// The server does not take a client for a host.
    NoClient(String),
}

/// The room for datagrams that wait, with what the kernel keeps for each: [`BURST`](super::account::BURST) short ones.
const WAITING_BYTES: usize = 4 << 20;

/// An open door. Dropping it closes it.
#[derive(Debug)]
pub struct Door {
    address: SocketAddr,
    waker: Waker,
    thread: Option<JoinHandle<Counts>>,
}

impl Door {
    /// Opens a door; `listener` gets its events, in the thread of the door.
    ///
    /// # Errors
    /// The address is in use or not one of this machine.
    pub fn open(
        options: &Options,
        listener: impl FnMut(Event) + Send + 'static,
    ) -> io::Result<Self> {
        let socket = UdpSocket::bind(options.address)?;
        socket.set_nonblocking(true)?;
        // Less room loses more of a burst, which is counted.
        let _ = enlarge_receive_buffer(&socket, WAITING_BYTES);
        let address = socket.local_addr()?;
        let waker = Waker::new().map_err(|error| io::Error::from(error.errno))?;
        let service = Service::new(socket, &waker, options.server.clone(), Box::new(listener))?;
        let thread = std::thread::Builder::new().name("osc".to_owned());
        let thread = thread.spawn(move || service.run())?;
        Ok(Self { address, waker, thread: Some(thread) })
    }

    /// Where it receives.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes it: items that wait are dropped. Returns what it has got.
    pub fn close(mut self) -> Counts {
        self.end().unwrap_or_default()
    }

    fn end(&mut self) -> Option<Counts> {
        self.waker.wake();
        self.thread.take()?.join().ok()
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.end();
    }
}
