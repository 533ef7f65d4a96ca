//! What perf and tracefs have in common for the drainer.

use std::os::fd::BorrowedFd;

use tactus_model::cpus::CpuList;
use tactus_model::recording::{AbsentEvent, EventAccount, Mechanism, ProcessorAccount};
use tactus_model::result::Shortfall;
use tactus_model::time::{Instant, Monotonic};
use tactus_sys::SysError;

use super::intake::Intake;
use crate::decode::Decoder;

/// Everything opened, nothing enabled.
pub(super) struct Opened {
    pub(super) buffers: Box<dyn Buffers>,
    pub(super) cpus: CpuList,
    pub(super) decoder: Decoder,
    /// The tracepoints by the decoder's index.
    pub(super) names: Vec<String>,
    pub(super) absent: Vec<AbsentEvent>,
    pub(super) shortfalls: Vec<Shortfall>,
}

/// Buffers of the kernel, one a processor, into which it records the events that were enabled.
///
/// A buffer is told by its index among the processors of [`Opened`].
pub(super) trait Buffers: Send {
    /// By which mechanism the kernel records.
    fn mechanism(&self) -> Mechanism;

    /// What to poll: each is readable when its buffer has filled to its watermark.
    fn to_poll(&self) -> Vec<BorrowedFd<'_>>;

    /// The size of each buffer in bytes.
    fn size(&self) -> usize;

    /// Begins to record on all processors.
    fn enable(&self) -> Result<(), SysError>;

    /// Ceases to record on all processors.
    fn disable(&self) -> Result<(), SysError>;

    /// Hands what waits in a buffer to `intake`, which stands at its processor;
    /// gives how many bytes those were.
    ///
    /// Ends after one buffer's worth of bytes, however fast the kernel writes.
    fn drain(&mut self, index: usize, intake: &mut Intake) -> Result<u64, SysError>;

    /// Gives account after the last drain, which was at `ended`; losses that no
    /// drain told of go to `intake`.
    fn account(
        &mut self,
        intake: &mut Intake,
        ended: Instant<Monotonic>,
    ) -> Result<Accounts, SysError>;
}

/// What became of everything that occurred.
pub(super) struct Accounts {
    /// Of each tracepoint, in the order of [`Opened::names`].
    pub(super) events: Vec<EventAccount>,
    /// Of each processor, where the kernel counts so.
    pub(super) processors: Vec<ProcessorAccount>,
}
