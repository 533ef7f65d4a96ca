//! What a thread has asked of the kernel.

use tactus_model::recording::{EventKind, SleepingCall};

/// What a thread does in the kernel, as far as events show it without a call chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Errand {
    /// The system call that it entered and has not left.
    pub call: Option<SleepingCall>,
    /// Whether it had a page fault since it entered or left a system call. The kernel
    /// records no end of a fault.
    pub faulted: bool,
}

impl Errand {
    /// Nothing that is known.
    pub const NONE: Self = Self { call: None, faulted: false };

    /// Follows an event of the thread itself.
    pub(super) fn follow(&mut self, kind: &EventKind) {
        match *kind {
            EventKind::CallEnter(call) => *self = Self { call: Some(call), faulted: false },
            EventKind::CallExit { .. } => *self = Self::NONE,
            EventKind::PageFaultUser(_) => *self = Self { call: None, faulted: true },
            EventKind::PageFaultKernel(_) => self.faulted = true,
            _ => {}
        }
    }
}
