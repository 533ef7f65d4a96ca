//! What else had the CPU during an operation.

use serde::Serialize;
use tactus_model::cost::{CostProbe, Family, Operation, Parameter, PartnerCpu};
use tactus_model::result::{Batch, Measurement};
use tactus_model::time::Nanos;

use super::batches;
use crate::modes::{deviation, median_of};

/// The distance from the median, in robust standard deviations, beyond which a batch is an outlier.
const FAR: f64 = 5.0;

/// How many batches were contaminated, and by what. A batch can have several marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Contamination {
    /// All batches.
    pub batches: usize,
    /// Batches with any of the marks that follow.
    pub contaminated: usize,
    /// The hypervisor took the CPU (steal time).
    pub stolen: usize,
    /// Others used more of the CPU than the guard allows.
    pub foreign: usize,
    /// The task waited for the CPU or was preempted.
    pub waited: usize,
    /// Batches whose median is far from the others of their process; not a mark.
    pub outliers: usize,
}

/// What shows that others had the CPU during an operation. The guard must fit the operation: a
/// round trip on one CPU consists of waits and switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// The task is alone on its CPU and never sleeps.
    Alone,
    /// The task and its partner share a CPU that is never idle.
    Shared,
    /// The task sleeps: for a time, while its partner works elsewhere, or between its samples.
    Sleeping,
    /// Others on the CPU are part of the operation: an X server, or a thread that counts.
    Accompanied,
}

impl Guard {
    /// The share of a batch in which the CPU may work for others: interrupts and the tick.
    const FOREIGN_MAX: f64 = 0.02;
    /// The same with a partner, since the CPU time of the switches themselves is not exact.
    const FOREIGN_MAX_SHARED: f64 = 0.1;

    pub(super) fn of(cost: &CostProbe) -> Self {
        if cost.idle_count || matches!(cost.operation.traits().family, Family::Display) {
            return Self::Accompanied;
        }
        let sleeps = cost.operation == Operation::ClockSleep || cost.waits_for_disk();
        if sleeps || cost.sampling.pause > Nanos::ZERO {
            return Self::Sleeping;
        }
        match cost.partner_cpu {
            _ if cost.spins() || !cost.operation.has_partner() => Self::Alone,
            PartnerCpu::Other if cost.operation.takes(Parameter::PartnerCpu.word()) => {
                Self::Sleeping
            }
            _ => Self::Shared,
        }
    }

    fn is_foreign(self, batch: &Batch) -> bool {
        let foreign = batch.elapsed.saturating_sub(batch.ran).as_nanos() as f64;
        let share = foreign / batch.elapsed.as_nanos().max(1) as f64;
        match self {
            Self::Alone => share > Self::FOREIGN_MAX,
            Self::Shared => share > Self::FOREIGN_MAX_SHARED,
            Self::Sleeping | Self::Accompanied => false,
        }
    }

    fn has_waited(self, batch: &Batch) -> bool {
        match self {
            Self::Alone => {
                batch.preempted > 0
                    || batch.waited.is_some_and(|waited| {
                        waited.as_nanos() as f64
                            > Self::FOREIGN_MAX * batch.elapsed.as_nanos() as f64
                    })
            }
            Self::Shared | Self::Accompanied => false,
            Self::Sleeping => batch.preempted > 0,
        }
    }

    pub(super) fn is_contaminated(self, batch: &Batch) -> bool {
        is_stolen(batch) || self.is_foreign(batch) || self.has_waited(batch)
    }
}

fn is_stolen(batch: &Batch) -> bool {
    batch.steal.is_some_and(|steal| steal > Nanos::ZERO)
}

impl Contamination {
    pub(super) fn of(guard: Guard, measurements: &[&Measurement]) -> Self {
        let mut counts = Self::default();
        for measurement in measurements {
            let medians: Vec<f64> =
                batches(measurement).map(|batch| batch.median.as_nanos() as f64).collect();
            let center = median_of(medians.iter().copied()).unwrap_or(0.0);
            // Half a per cent at least: batches of a quiet machine hardly differ.
            let limit = FAR * deviation(&medians, center).max(center * 0.005);
            counts.outliers += medians.iter().filter(|m| (*m - center).abs() > limit).count();
            for batch in batches(measurement) {
                counts.batches += 1;
                counts.contaminated += usize::from(guard.is_contaminated(batch));
                counts.stolen += usize::from(is_stolen(batch));
                counts.foreign += usize::from(guard.is_foreign(batch));
                counts.waited += usize::from(guard.has_waited(batch));
            }
        }
        counts
    }
}
