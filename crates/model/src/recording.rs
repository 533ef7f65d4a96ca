//! The kernel events of a stretch of time, as every source of them tells them.
//!
//! An [`Event`] is small and of fixed size: names of threads and interrupts,
//! function addresses and call chains stand once in the [`Dictionary`] of the
//! recording, and events refer to them by number. Whoever analyses millions of
//! events compares numbers and asks for a name only when it prints one.

mod account;
mod dictionary;
mod event;
mod interrupt;
mod memory;
mod source;
mod syscall;
mod thread;

pub use account::{
    About, AbsentEvent, EventAccount, EventCount, Lost, Mechanism, ProcessorAccount,
};
pub use dictionary::{ChainId, Dictionary, Function, FunctionId, NameId};
pub use event::{Context, Event, EventKind, PageFault, Wakeup};
pub use interrupt::{InterruptVector, Softirq};
pub use memory::{Recording, RecordingReader};
pub use source::{EventSource, Item, SourceError};
pub use syscall::SleepingCall;
pub use thread::{Priority, PriorityClass, ProcessId, TaskState, ThreadId};
