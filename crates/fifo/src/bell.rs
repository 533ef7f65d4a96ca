//! How the real-time side requests notices for its peers: by a private futex of the broker.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tactus_sys::SysError;
use tactus_sys::private_futex::Signal;

/// The most channels of a broker: one bit each.
pub const CHANNELS_MAX: usize = 64;

/// What wakes the broker.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    /// The channels whose peers are to be notified.
    pending: AtomicU64,
    signal: Signal,
}

impl Bell {
    /// Waits until there are channels, and takes them. It may return none.
    pub fn wait(&self) -> Result<impl Iterator<Item = usize> + use<>, SysError> {
        self.signal.wait(None)?;
        let pending = self.pending.swap(0, Ordering::Acquire);
        Ok((0..CHANNELS_MAX).filter(move |channel| pending >> channel & 1 == 1))
    }

    /// Wakes the broker without a channel.
    pub fn wake(&self) {
        self.signal.send();
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
        self.bell.signal.send();
    }
}
