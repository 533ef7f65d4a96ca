//! How the real-time side requests notices for its peers: by a private futex of the broker.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tactus_model::time::{Instant, Monotonic};
use tactus_sys::SysError;
use tactus_sys::private_futex::Signal;

/// The most channels of a broker: one bit each.
pub const CHANNELS_MAX: usize = 64;

/// What wakes the broker.
///
/// To wake a thread of another CPU costs an interrupt there: 9 µs on a virtual machine. A relay on
/// the CPU of the real-time thread pays for it, once that thread sleeps.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    /// The channels whose peers are to be notified.
    pending: AtomicU64,
    notices: Signal,
    relay: Signal,
    has_relay: AtomicBool,
}

impl Bell {
    /// Waits until there are channels, or until `due` if it is given, and takes them. It may return
    /// none.
    pub fn wait(
        &self,
        due: Option<Instant<Monotonic>>,
    ) -> Result<impl Iterator<Item = usize> + use<>, SysError> {
        self.notices.wait(due)?;
        let pending = self.pending.swap(0, Ordering::Acquire);
        Ok((0..CHANNELS_MAX).filter(move |channel| pending >> channel & 1 == 1))
    }

    /// Returns a channel that was taken: the next wait takes it again.
    pub fn postpone(&self, channel: usize) {
        self.pending.fetch_or(1 << channel, Ordering::Release);
    }

    /// Lets signals go through the relay from now on.
    pub fn use_relay(&self) {
        self.has_relay.store(true, Ordering::Release);
    }

    /// Passes one signal on.
    pub fn relay(&self) -> Result<(), SysError> {
        if self.relay.wait(None)? {
            self.notices.send();
        }
        Ok(())
    }

    /// Wakes all threads of the broker, without a channel.
    pub fn wake(&self) {
        self.relay.send();
        self.notices.send();
    }
}

/// The cord of one channel.
#[derive(Clone, Debug)]
pub(crate) struct Cord {
    pub bell: Arc<Bell>,
    pub channel: usize,
}

impl Cord {
    /// Requests a notice for the peer of the channel.
    pub fn pull(&self) {
        self.bell.pending.fetch_or(1 << self.channel, Ordering::Release);
        let has_relay = self.bell.has_relay.load(Ordering::Acquire);
        if has_relay { self.bell.relay.send() } else { self.bell.notices.send() }
    }
}
