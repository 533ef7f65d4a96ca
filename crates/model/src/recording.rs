//! Kernel events over a period of time, in a form common to all sources.
//!
//! An [`Event`] is small and of fixed size: names of threads and interrupts, function addresses
//! and call chains are stored once in the [`Dictionary`] of the recording, and events refer to
//! them by number. An analysis of millions of events compares numbers and looks up a name only
//! to print it.

mod account;
mod dictionary;
mod event;
mod interrupt;
mod kernel_wait;
mod memory;
mod source;
mod syscall;
mod thread;

pub use account::{
    About, AbsentEvent, CallChains, CpuAccount, EventAccount, EventCount, LateWakeup, Lost,
    Mechanism, Observers, QuotaGroup,
};
pub use dictionary::{ChainId, Dictionary, Function, FunctionId, NameId};
pub use event::{Context, Event, EventKind, PageFault, Wakeup};
pub use interrupt::{InterruptVector, Softirq};
pub use kernel_wait::{LockKind, Reclaim};
pub use memory::{Recording, RecordingReader};
pub use source::{EventSource, Item, SourceError};
pub use syscall::SleepingCall;
pub use thread::{
    Priority, PriorityClass, ProcessId, THREAD_NAME_MAX, TaskState, ThreadId, is_thread_name,
};
