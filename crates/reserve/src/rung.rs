//! The ladder of mechanisms.

/// A mechanism that keeps a reserve. The best comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rung {
    /// `SCHED_DEADLINE` on all CPUs of the root domain.
    Deadline,
}

impl Rung {
    /// All rungs, the best first.
    pub const ALL: &[Self] = &[Self::Deadline];

    /// What the mechanism promises, as a phrase.
    pub const fn promise(self) -> &'static str {
        match self {
            Self::Deadline => "the CPU time in every period, with bounded tardiness",
        }
    }
}
