//! Follows the chain of threads that had to act before a thread was woken.
//!
//! One follower serves two ends: blame adds up its steps as causes, and
//! [`chain`](crate::thread_time) puts them into words.

use tactus_model::recording::ThreadId;
use tactus_model::time::{Instant, Monotonic};

use super::case::{Case, Scene};
use super::{interrupts, late_interrupt, waiting};
use crate::cause::Cause;
use crate::explanation::Part;
use crate::machine::{Absence, Activity, Waker};

/// The maximum number of wakers to follow; time of earlier ones counts as work of the
/// last.
pub(crate) const CHAIN_MAX: usize = 16;

/// The maximum number of absences to follow in one sleep. Beyond it, time of earlier absences
/// of a thread counts as its work.
const ABSENCES_MAX: usize = 1024;

/// What a thread did in a stretch of time before it woke the next one.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) thread: ThreadId,
    pub(crate) from: Instant<Monotonic>,
    pub(crate) to: Instant<Monotonic>,
    pub(crate) doing: Doing,
}

/// What a thread does.
#[derive(Clone, Debug)]
pub(crate) enum Doing {
    /// It runs on this CPU.
    Running { cpu: u32 },
    /// It waits for a CPU at the end of this absence.
    Waiting(Absence),
    /// It sleeps.
    Asleep {
        absence: Absence,
        /// What the thread that woke it did meanwhile, in the order of time without gaps;
        /// empty if no thread woke it.
        waker: Vec<Step>,
    },
}

/// What the waker of `absence` did from `from` to the wakeup at `to`, in the order of time
/// without gaps; empty if no thread woke it.
pub(crate) fn before_wakeup(
    scene: &Scene<'_>,
    absence: &Absence,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
) -> Vec<Step> {
    Follower { scene, absences: ABSENCES_MAX }.waker_of(absence, from, to, 0)
}

struct Follower<'a> {
    scene: &'a Scene<'a>,
    /// How many more absences to follow.
    absences: usize,
}

impl Follower<'_> {
    fn waker_of(
        &mut self,
        absence: &Absence,
        from: Instant<Monotonic>,
        to: Instant<Monotonic>,
        depth: usize,
    ) -> Vec<Step> {
        match absence.waking {
            Some(waking) if !absence.left_state.is_stopped() => match waking.by {
                Waker::Thread(waker) => self.follow(waker, waking.cpu, from, to, depth),
                Waker::Timer(_) | Waker::Interrupt(_) => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// Divides the time up to `to`, when `thread` on `cpu` woke the thread that waited for
    /// it, into what `thread` did.
    fn follow(
        &mut self,
        thread: ThreadId,
        cpu: u32,
        from: Instant<Monotonic>,
        to: Instant<Monotonic>,
        depth: usize,
    ) -> Vec<Step> {
        let absences = match depth {
            CHAIN_MAX.. => &[],
            // The idle threads of all CPUs share a number.
            _ if thread.is_idle() => &[],
            _ => self.scene.log.between(from, to).absences(thread),
        };
        let absences = &absences[absences.len().saturating_sub(self.absences)..];
        self.absences -= absences.len();
        let mut steps = Vec::with_capacity(3 * absences.len() + 1);
        let mut reached = from;
        let mut go = |until: Instant<Monotonic>, doing: Doing| {
            if until > reached {
                steps.push(Step { thread, from: reached, to: until, doing });
                reached = until;
            }
        };
        for &absence in absences {
            let woken = match absence.waking {
                Some(waking) if absence.slept() => waking.at,
                None if absence.slept() => absence.back_at,
                _ => absence.left_at,
            };
            let woken = woken.clamp(from, absence.back_at);
            let left = absence.left_at.clamp(from, woken);
            go(left, Doing::Running { cpu: absence.left_cpu });
            let waker = self.waker_of(&absence, left, woken, depth + 1);
            go(woken, Doing::Asleep { absence, waker });
            go(absence.back_at, Doing::Waiting(absence));
        }
        go(to, Doing::Running { cpu });
        steps
    }
}

/// Divides the time from `from` to the wakeup at `to` in which a thread slept.
pub(crate) fn asleep(
    case: &mut Case<'_>,
    absence: &Absence,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
) {
    let waker = before_wakeup(case.scene, absence, from, to);
    asleep_until(case, absence, &waker, from, to, from);
}

/// Divides the time of a sleep; up to `own_time`, a thread that waits for its own timer is not
/// late.
fn asleep_until(
    case: &mut Case<'_>,
    absence: &Absence,
    waker: &[Step],
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
    own_time: Instant<Monotonic>,
) {
    if absence.left_state.is_stopped() {
        let thread = case.scene.culprit_by_number(absence.thread);
        return case.add(Cause::Stopped { thread }, to - from);
    }
    match absence.waking.map(|waking| waking.by) {
        None => case.add(Cause::UnexplainedGap, to - from),
        Some(Waker::Timer(fire)) => {
            let thread = case.scene.culprit_by_number(absence.thread);
            case.add(Cause::Asleep { thread }, own_time - from);
            late_interrupt::asleep_until_timer(case, &fire, own_time, to);
        }
        Some(Waker::Interrupt(activity)) => {
            let name = interrupts::name(activity, case.scene.names);
            case.add(Cause::AwaitedInterrupt { name }, to - from);
        }
        Some(Waker::Thread(_)) => waker.iter().for_each(|step| add(case, step)),
    }
}

/// Divides the time of a step of a waker.
fn add(case: &mut Case<'_>, step: &Step) {
    let &Step { from, to, ref doing, .. } = step;
    match doing {
        Doing::Asleep { absence, waker } => {
            // A relay that waits for its own timer is not late before that timer expires.
            let own_time = match absence.waking.map(|waking| waking.by) {
                Some(Waker::Timer(fire)) => fire.soft_expires(),
                _ => None,
            };
            let own_time = own_time.map_or(from, |expires| expires.clamp(from, to));
            asleep_until(case, absence, waker, from, to, own_time);
        }
        Doing::Waiting(absence) => waiting::wait(case, absence, from, to),
        Doing::Running { cpu } => running(case, *cpu, from, to),
    }
}

/// The causes of the time in which a waker ran.
pub(crate) fn running_parts(
    scene: &Scene<'_>,
    cpu: u32,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
) -> Vec<Part> {
    let mut case = Case::new(scene, from, to);
    running(&mut case, cpu, from, to);
    case.into_parts()
}

/// Divides the time in which a waker ran.
fn running(case: &mut Case<'_>, cpu: u32, from: Instant<Monotonic>, to: Instant<Monotonic>) {
    case.spread(cpu, from, to, |_, slice| match slice.activity {
        Activity::Idle { state } => Some(Cause::IdleExit { cpu: slice.cpu, state }),
        // Interrupt handling is already excluded from the divided time.
        Activity::Thread
        | Activity::Reclaim
        | Activity::Vector(_)
        | Activity::Irq { .. }
        | Activity::Softirq(_)
        | Activity::Timer { .. }
        | Activity::JiffyTimer { .. } => None,
    });
}
