//! The common interface of perf and tracefs for the drainer.

use std::os::fd::BorrowedFd;

use tactus_model::cpus::CpuList;
use tactus_model::recording::{AbsentEvent, CpuAccount, EventAccount, Mechanism};
use tactus_model::result::Shortfall;
use tactus_model::time::{Instant, Monotonic};
use tactus_sys::SysError;

use super::intake::Intake;
use super::pace::Pace;
use crate::decode::Decoder;

/// Everything opened, but nothing enabled.
pub(super) struct Opened<B: ?Sized = dyn Buffers> {
    pub(super) buffers: Box<B>,
    pub(super) cpus: CpuList,
    pub(super) decoder: Decoder,
    /// The names of the tracepoints, by the decoder's index.
    pub(super) names: Vec<String>,
    pub(super) absent: Vec<AbsentEvent>,
    pub(super) shortfalls: Vec<Shortfall>,
}

impl<B: Buffers + 'static> Opened<B> {
    /// The same for those who do not care about the mechanism.
    pub(super) fn of_any_mechanism(self) -> Opened {
        let Self { buffers, cpus, decoder, names, absent, shortfalls } = self;
        Opened { buffers, cpus, decoder, names, absent, shortfalls }
    }
}

/// Buffers of the kernel, one for each CPU, into which it records the enabled events.
///
/// A buffer is identified by its CPU's index in [`Opened`].
pub(super) trait Buffers: Send {
    /// The mechanism by which the kernel records.
    fn mechanism(&self) -> Mechanism;

    /// The descriptors to poll: each is readable when its buffer has filled to its
    /// watermark.
    fn to_poll(&self) -> Vec<BorrowedFd<'_>>;

    /// The size of each buffer in bytes.
    fn size(&self) -> usize;

    /// Starts recording on all CPUs.
    fn enable(&self) -> Result<(), SysError>;

    /// Stops recording on all CPUs.
    fn disable(&self) -> Result<(), SysError>;

    /// Passes the records in a buffer to `intake`, which must be at the buffer's CPU;
    /// returns the number of bytes.
    ///
    /// Stops after the bytes of one buffer, however fast the kernel writes.
    fn drain(
        &mut self,
        index: usize,
        intake: &mut Intake,
        pace: &mut Pace,
    ) -> Result<u64, SysError>;

    /// Returns the accounts after the last drain, which was at `ended`; passes losses
    /// that no drain reported to `intake`.
    fn account(
        &mut self,
        intake: &mut Intake,
        ended: Instant<Monotonic>,
    ) -> Result<Accounts, SysError>;
}

/// The accounts of all occurrences.
pub(super) struct Accounts {
    /// For each tracepoint, in the order of [`Opened::names`].
    pub(super) events: Vec<EventAccount>,
    /// For each CPU, if the kernel counts by CPU.
    pub(super) cpus: Vec<CpuAccount>,
}
