//! Requests that make no sense, before anything is started.

use tactus_lint::LintError;
use tactus_model::format::{quoted, span};
use tactus_model::time::Nanos;
use tactus_sys::SysError;

/// The shortest period: below it, a thread does nothing but wake up.
pub const PERIOD_LEAST: Nanos = Nanos::from_micros(10);

/// The longest period.
pub const PERIOD_MOST: Nanos = Nanos::from_secs(24 * 3600);

/// The shortest limit of a supervisor.
pub const LIMIT_LEAST: Nanos = Nanos::from_micros(100);

/// The farthest first due time, from now: a year. A later one is a mistake in a calculation.
pub const FIRST_MOST: Nanos = Nanos::from_secs(366 * 24 * 3600);

/// The smallest stack that a thread may touch, in bytes.
pub const STACK_LEAST: usize = 4 << 10;

/// The largest stack that a thread may touch, in bytes.
pub const STACK_MOST: usize = 1 << 30;

/// Why a thread was not started. What the kernel refuses is not an error: see
/// [`Thread::shortfalls`](crate::Thread::shortfalls).
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The kernel takes no such name.
    #[error("`{}` is not the name of a thread: write 1 to 15 bytes without NUL, e.g. servo", quoted(.0))]
    Name(String),
    /// The period is out of range.
    #[error("a period of {period} is out of range; the nearest is {nearest}")]
    Period {
        /// The period.
        period: Nanos,
        /// The nearest that is permitted.
        nearest: Nanos,
    },
    /// The first due time is too far ahead.
    #[error("a first due time in {} is out of range; the latest is in {}", span(*ahead), span(FIRST_MOST))]
    First {
        /// From now until the due time.
        ahead: Nanos,
    },
    /// The priority is out of range.
    #[error("priority {priority} is out of range 1 to {most}{}; the nearest is {nearest}", reason(.most))]
    Priority {
        /// The priority.
        priority: u8,
        /// The highest that is permitted.
        most: u8,
        /// The nearest that is permitted.
        nearest: u8,
    },
    /// No CPU was named.
    #[error("the list of CPUs is empty; name at least one, e.g. 1")]
    NoCpu,
    /// The stack is out of range.
    #[error("a stack of {bytes} bytes is out of range; the nearest is {nearest}")]
    Stack {
        /// The size.
        bytes: usize,
        /// The nearest that is permitted.
        nearest: usize,
    },
    /// The limit of the supervisor is out of range.
    #[error("a supervisor's limit of {limit} is out of range; the nearest is {nearest}")]
    Limit {
        /// The limit.
        limit: Nanos,
        /// The nearest that is permitted.
        nearest: Nanos,
    },
    /// What to watch makes no sense, or the kernel permits no watching.
    #[error(transparent)]
    Watch(#[from] LintError),
    /// The system has no more threads or memory.
    #[error("cannot start a thread: {0}")]
    Start(#[from] std::io::Error),
    /// The kernel does not show the settings of the thread.
    #[error(transparent)]
    System(#[from] SysError),
    /// The thread failed before it was ready.
    #[error("the thread failed while it was prepared")]
    Preparing,
}

fn reason(most: &u8) -> &'static str {
    if *most < 99 { ", because the supervisor needs the priority above" } else { "" }
}
