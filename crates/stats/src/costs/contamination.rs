//! What else had the CPUs during an operation.

use serde::Serialize;
use tactus_model::cost::{CostProbe, Family, Operation, Parameter, PartnerCpu};
use tactus_model::result::{Batch, CpuUse, Measurement, TaskResult};
use tactus_model::time::Nanos;

use super::batches;
use crate::median::{deviation, median_of};

/// The distance from the median, in robust standard deviations, beyond which a batch is an outlier.
const FAR: f64 = 5.0;

/// How many batches were contaminated, and by what. A batch can have several marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Contamination {
    /// All batches.
    pub batches: usize,
    /// Whether what others did on the CPUs could be judged. Not where others are part of the
    /// operation, as an X server is: there, only steal time marks a batch.
    pub is_judged: bool,
    /// Batches with any of the marks that follow.
    pub contaminated: usize,
    /// The hypervisor took the CPU (steal time).
    pub stolen: usize,
    /// Others used more of the CPU than the guard allows.
    pub foreign: usize,
    /// The task waited for the CPU or was preempted.
    pub waited: usize,
    /// Any of these on the partner's CPU, if it has one of its own.
    pub at_partner: usize,
    /// Batches whose median is far from the others of their process; not a mark.
    pub outliers: usize,
}

/// What shows that others had a CPU during an operation. The guard must fit the operation: a
/// round trip on one CPU consists of waits and switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// The task is alone on its CPU and never sleeps; so is its partner, if it has one.
    Alone,
    /// The task and its partner share a CPU that is never idle.
    Shared,
    /// The task sleeps while its partner works on another CPU, and the partner while the task does.
    InTurn,
    /// The task sleeps: for a time, for a disk, or between its samples.
    Sleeping,
    /// Others on the CPU are part of the operation: an X server, or a thread that counts.
    Accompanied,
}

/// What shows that others had a CPU during a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    stolen: bool,
    foreign: bool,
    waited: bool,
    at_partner: bool,
}

impl Marks {
    pub(super) fn is_any(self) -> bool {
        self.stolen || self.foreign || self.waited || self.at_partner
    }
}

impl Guard {
    /// The share of a batch in which the CPU may work for others: interrupts and the tick.
    const FOREIGN_MAX: f64 = 0.02;
    /// The same with a partner, since the CPU time of the switches themselves is not exact.
    const FOREIGN_MAX_SHARED: f64 = 0.1;
    /// The same of a CPU that is idle in between: interrupts, and waking up.
    const FOREIGN_MAX_IN_TURN: f64 = 0.1;
    /// The share of a batch that a side which sleeps may wait for its CPU: waking up takes a part of a
    /// short round trip.
    const WAITED_MAX_SLEEPING: f64 = 0.25;
    /// The steps in which the kernel counts idle time. A stretch of batches has fewer idle time by
    /// less than a step.
    const IDLE_STEP: Nanos = Nanos::from_millis(10);
    /// The shortest stretch of batches whose idle time is judged.
    const STRETCH: Nanos = Nanos::from_millis(50);

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
            PartnerCpu::Other if cost.operation.takes(Parameter::PartnerCpu) => Self::InTurn,
            _ => Self::Shared,
        }
    }

    /// The batches of a task, each with its marks.
    pub(super) fn judge(self, task: &TaskResult) -> Vec<(&Batch, Marks)> {
        let batches: Vec<&Batch> = task.batches.iter().collect();
        let mut judged: Vec<(&Batch, Marks)> =
            batches.iter().map(|batch| (*batch, self.marks(batch))).collect();
        if self == Self::InTurn {
            for stretch in stretches(&batches) {
                let [task, partner] = [0, 1].map(|side| is_busy(&batches[stretch.clone()], side));
                for (_, marks) in &mut judged[stretch] {
                    marks.foreign |= task;
                    marks.at_partner |= partner;
                }
            }
        }
        judged.retain(|(batch, _)| batch.count > 0);
        judged
    }

    /// What the batch itself shows.
    fn marks(self, batch: &Batch) -> Marks {
        let partner = batch.sides.map(|[_, partner]| partner);
        let has_others = |partner: &CpuUse| match self {
            Self::Alone => is_shared(partner),
            Self::InTurn => self.waits_long(partner.waited, partner.elapsed),
            Self::Shared | Self::Sleeping | Self::Accompanied => false,
        };
        let at_partner =
            partner.is_some_and(|partner| is_stolen(partner.steal) || has_others(&partner));
        Marks {
            stolen: is_stolen(batch.steal),
            foreign: self.is_foreign(batch),
            waited: self.has_waited(batch),
            at_partner,
        }
    }

    fn is_foreign(self, batch: &Batch) -> bool {
        // The CPU time of the task alone, if its partner is elsewhere.
        let (elapsed, ran) = match batch.sides {
            Some([task, _]) => (task.elapsed, task.ran),
            None => (batch.elapsed, batch.ran),
        };
        let share = share(elapsed.saturating_sub(ran), elapsed);
        match self {
            Self::Alone => share > Self::FOREIGN_MAX,
            Self::Shared => share > Self::FOREIGN_MAX_SHARED,
            Self::InTurn | Self::Sleeping | Self::Accompanied => false,
        }
    }

    fn has_waited(self, batch: &Batch) -> bool {
        match self {
            Self::Shared | Self::Accompanied => false,
            Self::Alone | Self::InTurn | Self::Sleeping => {
                batch.preempted > 0 || self.waits_long(batch.waited, batch.elapsed)
            }
        }
    }

    /// Whether a side waited for its CPU for longer than waking up explains.
    fn waits_long(self, waited: Option<Nanos>, elapsed: Nanos) -> bool {
        let most = match self {
            Self::Alone => Self::FOREIGN_MAX,
            _ => Self::WAITED_MAX_SLEEPING,
        };
        waited.is_some_and(|waited| share(waited, elapsed) > most)
    }
}

fn share(part: Nanos, whole: Nanos) -> f64 {
    part.as_nanos() as f64 / whole.as_nanos().max(1) as f64
}

fn is_stolen(steal: Option<Nanos>) -> bool {
    steal.is_some_and(|steal| steal > Nanos::ZERO)
}

/// Whether a side that never sleeps was not alone on its CPU.
fn is_shared(side: &CpuUse) -> bool {
    let elsewhere = side.elapsed.saturating_sub(side.ran).max(side.waited.unwrap_or_default());
    share(elsewhere, side.elapsed) > Guard::FOREIGN_MAX
}

/// Successive batches, in stretches that are long enough for the steps of the kernel's idle time. A
/// rest belongs to the stretch before it.
fn stretches(batches: &[&Batch]) -> Vec<std::ops::Range<usize>> {
    let elapsed = |batch: &Batch| batch.sides.map_or(Nanos::ZERO, |[task, _]| task.elapsed);
    let (mut ends, mut sum) = (Vec::new(), Nanos::ZERO);
    for (number, batch) in batches.iter().enumerate() {
        sum = sum + elapsed(batch);
        if sum >= Guard::STRETCH {
            ends.push(number + 1);
            sum = Nanos::ZERO;
        }
    }
    match ends.last_mut() {
        Some(last) => *last = batches.len(),
        None => ends.push(batches.len()),
    }
    let begins = std::iter::once(0).chain(ends.clone());
    begins.zip(ends).map(|(begin, end)| begin..end).collect()
}

/// Whether a CPU that a side leaves idle while it sleeps worked for others in this stretch: for more
/// than the guard allows, and for more than the error of the kernel's idle time.
fn is_busy(stretch: &[&Batch], side: usize) -> bool {
    let uses = || stretch.iter().filter_map(|batch| Some(batch.sides?[side]));
    let sum = |of: fn(CpuUse) -> Nanos| uses().map(of).sum::<Nanos>();
    let idle: Option<Nanos> = uses().map(|side| side.idle).sum();
    let Some(idle) = idle else { return false };
    let elapsed = sum(|side| side.elapsed);
    let foreign = elapsed.saturating_sub(idle).saturating_sub(sum(|side| side.ran));
    share(foreign.saturating_sub(Guard::IDLE_STEP), elapsed) > Guard::FOREIGN_MAX_IN_TURN
}

impl Contamination {
    /// Whether others had a CPU in most of the batches.
    pub const fn is_most(&self) -> bool {
        2 * self.contaminated > self.batches
    }

    pub(super) fn of(guard: Guard, measurements: &[&Measurement]) -> Self {
        let mut counts = Self { is_judged: guard != Guard::Accompanied, ..Self::default() };
        for measurement in measurements {
            let medians: Vec<f64> =
                batches(measurement).map(|batch| batch.median.as_nanos() as f64).collect();
            let center = median_of(medians.iter().copied()).unwrap_or(0.0);
            // Half a per cent at least: batches of a quiet machine hardly differ.
            let limit = FAR * deviation(&medians, center).max(center * 0.005);
            counts.outliers += medians.iter().filter(|m| (*m - center).abs() > limit).count();
            for (_, marks) in measurement.tasks.iter().flat_map(|task| guard.judge(task)) {
                counts.batches += 1;
                counts.contaminated += usize::from(marks.is_any());
                counts.stolen += usize::from(marks.stolen);
                counts.foreign += usize::from(marks.foreign);
                counts.waited += usize::from(marks.waited);
                counts.at_partner += usize::from(marks.at_partner);
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Batches of a millisecond whose partner ran for 300 µs of each, on a CPU with this idle time.
    fn task(idle: impl Fn(u64) -> Nanos) -> TaskResult {
        let elapsed = Nanos::from_millis(1);
        let batch = |number: u64| {
            let side = CpuUse { elapsed, ran: Nanos::from_micros(300), ..CpuUse::default() };
            let of = |idle| CpuUse { idle: Some(idle), ..side };
            let sides = Some([of(Nanos::from_micros(650)), of(idle(number))]);
            Batch { count: 10, elapsed, ran: Nanos::from_micros(600), sides, ..Batch::default() }
        };
        let mut task = crate::cell::tests::task(0, &[], &[]);
        task.batches = (0..170).map(batch).collect();
        task
    }

    fn at_partner(task: &TaskResult) -> usize {
        let judged = Guard::InTurn.judge(task);
        assert!(judged.iter().all(|(_, marks)| !marks.foreign), "the task's CPU is idle enough");
        judged.iter().filter(|(_, marks)| marks.at_partner).count()
    }

    #[test]
    fn others_on_the_partners_cpu_leave_it_no_idle_time() {
        let step = |number: u64, every: u64| match number % every {
            0 => Nanos::from_millis(10),
            _ => Nanos::ZERO,
        };
        // The kernel counts 65 % of the time in steps.
        assert_eq!(at_partner(&task(|number| step(number, 15))), 0);
        assert_eq!(at_partner(&task(|_| Nanos::ZERO)), 170);
        let later = task(|number| if number < 100 { step(number, 15) } else { Nanos::ZERO });
        assert_eq!(at_partner(&later), 70, "the stretches in which they were there");
    }

    #[test]
    fn a_partner_that_spins_is_alone_or_it_is_not() {
        let elapsed = Nanos::from_millis(1);
        let marked = |ran: u64, waited: u64| {
            let alone = CpuUse { elapsed, ran: elapsed, ..CpuUse::default() };
            let (ran, waited) = (Nanos::from_micros(ran), Some(Nanos::from_micros(waited)));
            let sides = Some([alone, CpuUse { ran, waited, ..alone }]);
            let batch = Batch { count: 1, elapsed, ran: elapsed, sides, ..Batch::default() };
            Guard::Alone.marks(&batch)
        };
        assert_eq!(marked(995, 0), Marks::default());
        assert_eq!(marked(500, 0), Marks { at_partner: true, ..Marks::default() });
        assert_eq!(marked(990, 100), Marks { at_partner: true, ..Marks::default() });
    }

    #[test]
    fn a_side_that_sleeps_may_wait_while_it_wakes_up() {
        let elapsed = Nanos::from_millis(1);
        let marked = |waited: [u64; 2]| {
            let [own, partner] = waited.map(|waited| Some(Nanos::from_micros(waited)));
            let side = CpuUse { elapsed, waited: partner, ..CpuUse::default() };
            let sides = Some([side; 2]);
            let batch = Batch { count: 1, elapsed, waited: own, sides, ..Batch::default() };
            Guard::InTurn.marks(&batch)
        };
        assert_eq!(marked([100, 100]), Marks::default());
        assert_eq!(marked([400, 100]), Marks { waited: true, ..Marks::default() });
        assert_eq!(marked([100, 400]), Marks { at_partner: true, ..Marks::default() });
    }

    #[test]
    fn a_short_window_is_one_stretch() {
        let mut short = task(|_| Nanos::ZERO);
        short.batches.truncate(30);
        assert_eq!(at_partner(&short), 30);
        assert_eq!(stretches(&[]).len(), 1);
    }
}
