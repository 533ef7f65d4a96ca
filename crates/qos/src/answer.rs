//! What the manager answers.

use serde::{Deserialize, Serialize};
use tactus_model::time::Nanos;

use crate::Need;

/// The number of a reserve, unique while the manager runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReserveId(pub u64);

/// What limits a grant or a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Constraint {
    /// Nothing but the request: the grant is `cost_max`.
    Request,
    /// The measured use, to which the request asked to adapt.
    MeasuredUse,
    /// The share of the user.
    User,
    /// The share of the machine that may be reserved.
    Machine,
    /// The number of reserves of the user.
    Reserves,
    /// What the kernel accepts or admits.
    Kernel,
}

/// What a thread has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The number of the reserve.
    pub reserve: ReserveId,
    /// The CPU time in each period.
    pub cost: Nanos,
    /// From the start of one period to the next.
    pub period: Nanos,
    /// From the start of a period to the deadline of its CPU time.
    pub deadline: Nanos,
    /// The mechanism that keeps it.
    pub rung: String,
    /// What the mechanism promises.
    pub promise: String,
    /// Why the grant is not larger.
    pub bound_by: Constraint,
    /// The largest `cost_min` that would be admitted beside the others' `cost_min`.
    pub largest_cost: Nanos,
}

/// Why a request is refused: the parameters of the error `Refused`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{reason}")]
pub struct Refusal {
    /// What the request exceeds.
    pub bound_by: Constraint,
    /// The reason, as a sentence.
    pub reason: String,
    /// The largest `cost_min` that would be admitted with the same period and deadline; `None` if
    /// none would, or if only the kernel knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_cost: Option<Nanos>,
    /// The step that would permit it, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// The CPU time that a thread used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The number of the reserve.
    pub reserve: ReserveId,
    /// The duration, a multiple of the period as nearly as the manager woke.
    pub elapsed: Nanos,
    /// The CPU time used in it.
    pub used: Nanos,
    /// The CPU time granted in it.
    pub granted: Nanos,
    /// The time for which the thread waited on a run queue in it, throttled time included.
    pub waited: Nanos,
}

/// Something that happened to a reserve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The thread has another grant, or its first.
    Changed(Grant),
    /// The thread used its grant before the end of a period.
    Overrun(Usage),
    /// The thread's use of CPU time.
    Used(Usage),
    /// The reserve has ended.
    Ended {
        /// The number of the reserve.
        reserve: ReserveId,
        /// Why, as a sentence.
        reason: String,
    },
}

impl Event {
    /// The reserve.
    pub const fn reserve(&self) -> ReserveId {
        match self {
            Self::Changed(grant) => grant.reserve,
            Self::Overrun(usage) | Self::Used(usage) => usage.reserve,
            Self::Ended { reserve, .. } => *reserve,
        }
    }
}

/// A reserve in the answer of `Status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReserveStatus {
    /// The number of the reserve.
    pub reserve: ReserveId,
    /// The thread's ID, as the manager sees it.
    pub thread: i32,
    /// The thread's name.
    pub name: String,
    /// The user's ID.
    pub user: u32,
    /// What was requested.
    pub need: Need,
    /// The weight with which time above `cost_min` is shared: what was requested, and not more than
    /// the policy permits.
    pub importance: u8,
    /// What the thread has; `None` while it waits for time that others return.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<Grant>,
    /// The CPU time in a period that the manager measured, if it adapts to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Nanos>,
    /// How often the kernel had left the thread throttled, and the manager set its policy again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stuck: u32,
}

const fn is_zero(value: &u32) -> bool {
    *value == 0
}

/// The answer of `Status`. Shares are CPUs: 1.0 is one CPU all the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The CPUs of the machine.
    pub cpus: u32,
    /// The share that may be reserved.
    pub capacity: f64,
    /// The share that all minima need.
    pub least: f64,
    /// The share that is granted.
    pub granted: f64,
    /// The share that was taken back, and counts until the end of a period.
    pub returning: f64,
    /// The connections to the manager.
    pub connections: u32,
    /// The reserves, in the order in which they were requested.
    pub reserves: Vec<ReserveStatus>,
}

/// The answer of `Fit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fit {
    /// The largest `cost_min` that would be admitted now; `None` if none would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_cost: Option<Nanos>,
    /// What limits it.
    pub bound_by: Constraint,
}
