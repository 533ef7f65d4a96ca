//! What a thread has asked of the kernel.

use tactus_model::recording::{EventKind, FunctionId, LockKind, NameId, SleepingCall};

/// What a thread does in the kernel, as far as events show it without a call chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Errand {
    /// The system call that it entered and has not left.
    pub call: Option<Call>,
    /// Whether it had a page fault since it entered or left a system call. The kernel
    /// records no end of a fault.
    pub faulted: bool,
    /// Whether it reclaims memory.
    pub reclaims: bool,
    /// Whether it compacts memory.
    pub compacts: bool,
    /// The kernel's lock that it found taken.
    pub contends: Option<LockKind>,
    /// Where it slept, from the event at its wakeup.
    pub blocked: Option<Blocked>,
}

/// A system call, with what of its arguments says what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// One of the calls with events of their own.
    Sleeping(SleepingCall),
    /// Any call, by the kernel's name, and its second argument: the operation of futex(2).
    Named(NameId, u64),
}

/// Where a thread slept that only the kernel could wake (`sched_blocked_reason`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Blocked {
    /// The function.
    pub place: FunctionId,
    /// Whether the thread waited for I/O.
    pub io: bool,
}

impl Errand {
    /// Nothing that is known.
    pub const NONE: Self = Self {
        call: None,
        faulted: false,
        reclaims: false,
        compacts: false,
        contends: None,
        blocked: None,
    };

    /// Follows an event of the thread itself.
    pub(super) fn follow(&mut self, kind: &EventKind) {
        match *kind {
            EventKind::CallEnter(call) => *self = Self::within(Call::Sleeping(call)),
            EventKind::SystemCallEnter { call, arguments } => {
                *self = Self::within(Call::Named(call, arguments[1]));
            }
            EventKind::CallExit { .. } | EventKind::SystemCallExit { .. } => *self = Self::NONE,
            EventKind::PageFaultUser(_) => *self = Self { faulted: true, ..Self::NONE },
            EventKind::PageFaultKernel(_) => self.faulted = true,
            EventKind::ReclaimBegin { .. } => self.reclaims = true,
            EventKind::ReclaimEnd { .. } => self.reclaims = false,
            EventKind::CompactionBegin { .. } => self.compacts = true,
            EventKind::CompactionEnd { .. } => self.compacts = false,
            EventKind::ContentionBegin { kind, .. } if !kind.spins() => self.contends = Some(kind),
            EventKind::ContentionEnd { .. } => self.contends = None,
            _ => {}
        }
    }

    const fn within(call: Call) -> Self {
        Self { call: Some(call), ..Self::NONE }
    }
}
