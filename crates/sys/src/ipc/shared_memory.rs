//! Messages in shared memory, which nothing copies.

use std::sync::Arc;

use tactus_model::cost::{Buffers, Wait};

use super::shared_bytes::SharedBytes;
use super::{Alarm, Ends, Terms, Transport};
use crate::doorbell::{Doorbell, EventfdPair, FutexPair, Side, Signal, SpinPair};
use crate::error::{Errno, SysError};

/// An end of two stretches of shared memory, one in each direction.
pub struct Shared {
    bell: Bell,
    outgoing: SharedBytes,
    incoming: SharedBytes,
    buffers: Buffers,
}

/// Messages that are announced by a word in shared memory: to a side that sleeps by futex(2), to one
/// that spins without a system call.
#[doc(alias = "FUTEX_WAKE")]
pub fn shared_memory(terms: Terms) -> Ends<Shared> {
    Shared::ends(terms, Bell::by_word(terms.wait)?)
}

/// Messages that are announced by an eventfd(2).
#[doc(alias = "eventfd")]
pub fn shared_eventfd(terms: Terms) -> Ends<Shared> {
    Shared::ends(terms, Bell::pair(Arc::new(EventfdPair::waiting(terms.wait)?)))
}

/// How an end announces messages.
pub(super) struct Bell {
    doorbell: Arc<dyn Doorbell>,
    /// The side of this end.
    own: Side,
}

impl Bell {
    fn pair(doorbell: Arc<dyn Doorbell>) -> [Self; 2] {
        [Side::First, Side::Second].map(|own| Self { doorbell: doorbell.clone(), own })
    }

    /// Both ends of a word in shared memory.
    pub(super) fn by_word(wait: Wait) -> Ends<Self> {
        Ok(Self::pair(match wait {
            Wait::Block => Arc::new(FutexPair::new()?),
            Wait::Spin => Arc::new(SpinPair::new()?),
        }))
    }

    pub(super) fn ring(&self, signal: Signal) -> Result<(), SysError> {
        self.doorbell.ring(self.own.other(), signal)
    }

    /// What ends the waiting of this end.
    pub(super) fn alarm(&self) -> Alarm {
        let (doorbell, own) = (self.doorbell.clone(), self.own);
        // It fails only if the other end has rung already.
        Box::new(move || {
            let _ = doorbell.ring(own, Signal::Stop);
        })
    }

    /// Waits for the other end.
    ///
    /// # Errors
    /// `EPIPE`: it has hung up.
    pub(super) fn wait(&self) -> Result<(), SysError> {
        match self.doorbell.wait(self.own)? {
            Signal::Go => Ok(()),
            Signal::Stop => Err(SysError::new("futex", Errno::PIPE)),
        }
    }
}

impl Shared {
    fn ends(terms: Terms, bells: [Bell; 2]) -> Ends<Self> {
        let [there, back] = [SharedBytes::create(terms.size)?, SharedBytes::create(terms.size)?];
        let [first, second] = bells;
        let buffers = terms.buffers;
        let theirs =
            Self { bell: second, outgoing: back.again()?, incoming: there.again()?, buffers };
        Ok([Self { bell: first, outgoing: there, incoming: back, buffers }, theirs])
    }
}

impl Transport for Shared {
    fn buffer(&mut self) -> Result<&mut [u8], SysError> {
        if self.buffers == Buffers::Fresh {
            self.outgoing.discard()?;
        }
        Ok(self.outgoing.bytes())
    }

    fn publish(&mut self) -> Result<(), SysError> {
        Ok(())
    }

    fn notify(&mut self) -> Result<(), SysError> {
        self.bell.ring(Signal::Go)
    }

    fn wait(&mut self) -> Result<&[u8], SysError> {
        self.bell.wait()?;
        Ok(self.incoming.bytes())
    }

    fn hang_up(&mut self) {
        let _ = self.bell.ring(Signal::Stop);
    }

    fn alarm(&self) -> Option<Alarm> {
        Some(self.bell.alarm())
    }
}
