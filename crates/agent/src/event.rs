//! What happens while an agent watches.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Serialize;
use tactus_model::result::Shortfall;
use tactus_model::time::Nanos;

use crate::budget::Stage;

/// What happens.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// It watches.
    Started {
        /// Where metrics are served.
        listen: SocketAddr,
        /// What the machine did not grant.
        shortfalls: Vec<Shortfall>,
    },
    /// Kernel events are recorded from now on.
    Recording {
        /// What recording an event costs.
        price: Nanos,
        /// The size of all buffers in bytes.
        buffers: u64,
    },
    /// Kernel events cannot be recorded.
    NotRecording {
        /// Why.
        reason: String,
        /// What fixes it, if known.
        fix: Option<String>,
    },
    /// Wakeups were late.
    Late {
        /// How many.
        count: u64,
        /// The latency of the worst of them.
        worst: Nanos,
        /// The main cause of the worst of them, or why it is not known.
        cause: String,
    },
    /// The seconds before late wakeups were saved.
    Saved {
        /// The file.
        file: PathBuf,
        /// Its size.
        bytes: u64,
        /// How long before the late wakeup it begins.
        before: Nanos,
    },
    /// A recording was removed, to make room.
    Removed {
        /// The name of its file.
        name: String,
    },
    /// A recording could not be saved; the agent goes on.
    NotSaved {
        /// Why.
        reason: String,
    },
    /// The budget was exceeded, and less runs from now on; or more is tried again.
    Stage {
        /// What runs.
        stage: Stage,
        /// The interval of the probe.
        interval: Nanos,
        /// Whether it is less than before.
        is_less: bool,
        /// What was used since the last look, as a share of one CPU.
        used: f64,
        /// How long until more is tried at the earliest.
        next_trial: Nanos,
    },
    /// It ended.
    Ended {
        /// The wakeups of the probe.
        wakeups: u64,
        /// How many of them were late.
        late: u64,
        /// The CPU time of its process until it watched.
        starting: Nanos,
        /// The CPU time of its threads since then.
        own: Nanos,
        /// The CPU time of the kernel for recording, estimated.
        recording: Nanos,
        /// How long it watched.
        watched: Nanos,
    },
}
