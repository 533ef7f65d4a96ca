//! The state of a late sample's thread at every moment of its window.

use tactus_model::time::{Instant, Monotonic};

use crate::machine::Absence;

/// A stretch of a thread's time in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leg {
    pub(crate) from: Instant<Monotonic>,
    pub(crate) to: Instant<Monotonic>,
    pub(crate) standing: Standing,
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It waits for its wakeup.
    Asleep(Absence),
    /// It is runnable and does not run.
    Waiting(Absence),
    /// It runs on this CPU, or interrupts take its time there.
    Running(Option<u32>),
}

/// The legs from `from` to `to` of a thread with these `absences`, in the order of
/// time, without gaps or overlaps.
///
/// `cpu` is the CPU on which the thread ran before the first absence, or throughout if
/// there is no absence.
pub(crate) fn legs(
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
    absences: &[Absence],
    cpu: Option<u32>,
) -> Vec<Leg> {
    let mut legs = Vec::with_capacity(absences.len() * 3 + 1);
    let mut reached = from;
    let mut cpu = absences.first().map(|absence| absence.left_cpu).or(cpu);
    let mut go = |until: Instant<Monotonic>, standing: Standing| {
        let until = until.min(to);
        if until > reached {
            legs.push(Leg { from: reached, to: until, standing });
            reached = until;
        }
    };
    for absence in absences.iter().filter(|absence| absence.back_at > from) {
        go(absence.left_at, Standing::Running(cpu));
        if absence.slept() {
            // A wakeup that was not recorded leaves no time for waiting.
            let woken = absence.waking.map_or(absence.back_at, |waking| waking.at);
            go(woken, Standing::Asleep(*absence));
        }
        go(absence.back_at, Standing::Waiting(*absence));
        cpu = Some(absence.back_cpu);
    }
    go(to, Standing::Running(cpu));
    legs
}
