//! The peers of a broker, known to both of its threads.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tactus_model::time::{Instant, Monotonic};
use tactus_sys::clock;

use crate::Separation;
use crate::ration::Ration;

/// A peer that was introduced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerReport {
    /// The channel.
    pub name: String,
    /// The process that opened it; 0 if it is outside of our PID namespace.
    pub process: i32,
    /// Its effective user.
    pub user: u32,
    /// How far it is separated.
    pub separation: Separation,
}

/// A peer with its connection.
#[derive(Debug)]
pub(crate) struct Guest {
    /// The key of the connection.
    pub key: u64,
    pub channel: usize,
    pub stream: Arc<UnixStream>,
    pub ration: Arc<Ration>,
    pub report: PeerReport,
}

impl Guest {
    /// Sends a notice, or returns when it may.
    fn notify(&self) -> Option<Instant<Monotonic>> {
        let due = self.ration.due(clock::now());
        if due.is_none() {
            // It fails if earlier notices were not read, or the peer is gone.
            self.ration.send(|| drop((&*self.stream).write(&[1])));
        }
        due
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Guests {
    all: Mutex<Vec<Guest>>,
    /// The broker ends.
    are_leaving: AtomicBool,
}

impl Guests {
    pub fn lock(&self) -> MutexGuard<'_, Vec<Guest>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the threads of the broker when they next wake up.
    pub fn leave(&self) {
        self.are_leaving.store(true, Ordering::Release);
    }

    pub fn are_leaving(&self) -> bool {
        self.are_leaving.load(Ordering::Acquire)
    }

    /// Sends a notice to the peers of a channel: one byte on the connection. A peer cannot make
    /// this wait: our end of the connection never waits, and the peer cannot change that. If the
    /// ration of a user is used up, it returns when to try again.
    pub fn notify(&self, channel: usize) -> Option<Instant<Monotonic>> {
        let guests = self.lock();
        let of_channel = guests.iter().filter(|guest| guest.channel == channel);
        of_channel.filter_map(Guest::notify).min()
    }
}
