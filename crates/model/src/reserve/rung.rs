//! The ladder of mechanisms that keep a reserve.

use serde::{Deserialize, Serialize};

crate::text::keywords! {
    /// A mechanism that keeps a reserve. The best comes first.
    pub enum Rung: "rung" {
        /// SCHED_DEADLINE on a CPU of its own (an exclusive cpuset), with an exact admission test.
        #[doc(alias = "cpuset")]
        Partitioned = "partitioned",
        /// SCHED_DEADLINE on all CPUs.
        #[doc(alias = "SCHED_DEADLINE")]
        Deadline = "deadline",
        /// SCHED_FIFO in a control group with a real-time budget (RT_GROUP_SCHED).
        #[doc(alias = "RT_GROUP_SCHED")]
        Group = "group",
        /// SCHED_FIFO with a priority by the period; Tactus takes the priority away when the budget of a period is used up.
        #[doc(alias = "SCHED_FIFO")]
        Priority = "priority",
        /// A weight among ordinary threads, by a control group.
        #[doc(alias = "cpu.weight")]
        Weight = "weight",
        /// No reserve: the use is measured.
        Measured = "measured",
    }
}

impl Rung {
    /// The rungs that keep a capacity and change nothing but the thread and groups made for it.
    pub const KEEPING: &[Self] = &[Self::Deadline, Self::Group, Self::Priority, Self::Weight];

    /// What the mechanism promises, as a phrase.
    pub const fn promise(self) -> &'static str {
        match self {
            Self::Partitioned => "the CPU time in every period, by every deadline",
            Self::Deadline => "the CPU time in every period, with bounded tardiness",
            Self::Group => {
                "the CPU time in every period before all ordinary threads, and no more than that"
            }
            Self::Priority => {
                "the CPU time in every period before all ordinary threads; the rest of a period is unreserved"
            }
            Self::Weight => "a share of the CPU time on average; no deadline",
            Self::Measured => "nothing",
        }
    }
}

/// The refusal of one rung.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedRung {
    /// The rung.
    pub rung: Rung,
    /// The reason, as a sentence without its end.
    pub reason: String,
    /// The command or step that would permit it, if known.
    pub fix: Option<String>,
}
