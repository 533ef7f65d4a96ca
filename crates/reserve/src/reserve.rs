//! One reserve: a thread, its capacity, and the rung that keeps it.

use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;

use tactus_admission::kernel::{PERIOD_LEAST, PERIOD_MOST, RUNTIME_LEAST};
use tactus_model::policy::Scheduling;
use tactus_model::recording::ThreadId;
use tactus_model::reserve::{Capacity, Precision, RefusedRung, Rung};
use tactus_model::time::Nanos;
use tactus_prepare::{NotGranted, ThreadRef};
use tactus_settings::KeptThread;
use tactus_sys::cgroup::Hierarchy;
use tactus_sys::perf::ThreadClock;
use tactus_sys::usage::{ScheduledTime, scheduled_time};
use tactus_sys::{Errno, SysError, clock};

use crate::Refused;
use crate::enforcer::Enforcer;
use crate::groups::{self, Membership};
use crate::partition::{Partition, Place};
use crate::refused::NotKept;
use crate::spare::{debt, debt_most, largest_deadline_cost, release_time};

/// A capacity that a thread has while this value exists.
///
/// Dropping it returns the thread to the policy and the control groups that it had before, unless
/// somebody else has taken the thread out of the deadline class meanwhile. If the program is killed,
/// that does not happen; a program that must be sure starts a
/// [`Guardian`](tactus_settings::Guardian) and lets it
/// [keep](tactus_settings::Guardian::keep) the thread first. The threads and processes that the
/// thread creates get the ordinary class and have no reserve.
#[derive(Debug)]
pub struct Reserve {
    keeper: Keeper,
    thread: Arc<ThreadRef>,
    id: ThreadId,
    before: Scheduling,
    capacity: Capacity,
    refused: Vec<RefusedRung>,
    largest_cost: Option<Nanos>,
    meter: Meter,
    if_full: IfFull,
}

/// What happens if the deadline class is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfFull {
    /// The request is repeated after a period.
    Wait,
    /// The request is refused.
    Refuse,
}

/// What a thread has used since its reserve was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Its CPU time.
    pub used: Nanos,
    /// How exactly the CPU time is known.
    pub precision: Precision,
    /// How long it was ready and not running, because it was preempted or throttled; `None` after
    /// its end, or if the kernel does not count this.
    pub waited: Option<Nanos>,
    /// In how many periods its priority was taken away; `None` for other rungs than
    /// [`Rung::Priority`].
    pub demotions: Option<u64>,
}

impl Usage {
    /// Nothing yet.
    pub(crate) const NONE: Self =
        Self { used: Nanos::ZERO, precision: Precision::Ticks, waited: None, demotions: None };
}

/// How a reserve is sought.
#[derive(Debug)]
pub(crate) struct Ladder<'l> {
    /// The rungs to try, in their order.
    pub(crate) rungs: &'l [Rung],
    /// Where [`Rung::Partitioned`] is granted.
    pub(crate) partition: Option<&'l Arc<Partition>>,
    /// Whether to wait a period if the deadline class is full.
    pub(crate) if_full: IfFull,
}

/// What a rung holds.
#[derive(Debug)]
enum Keeper {
    Partitioned(Place),
    Deadline,
    Group(Membership),
    Priority(Enforcer),
    Weight(Membership),
    Measured,
}

impl Reserve {
    /// Grants `capacity` to `thread` by the first of `rungs` that the machine permits, for example
    /// [`Rung::KEEPING`]. [`Rung::Partitioned`] is refused here; see [`grant_on`](Self::grant_on).
    ///
    /// It waits for one period if the deadline class is full: the kernel releases the bandwidth of
    /// a thread that ended up to a period later.
    ///
    /// # Errors
    /// No rung granted it, or the thread has ended. The thread keeps its policy.
    pub fn grant(thread: ThreadRef, capacity: Capacity, rungs: &[Rung]) -> Result<Self, Refused> {
        Self::grant_by(thread, capacity, &Ladder { rungs, partition: None, if_full: IfFull::Wait })
    }

    /// Like [`grant`](Self::grant), for a caller that must not wait, neither now nor at a
    /// [change](Self::change): a full class refuses at once.
    ///
    /// # Errors
    /// Those of [`grant`](Self::grant). `largest_cost` is known if the class is full.
    pub fn grant_at_once(
        thread: ThreadRef,
        capacity: Capacity,
        rungs: &[Rung],
    ) -> Result<Self, Refused> {
        Self::grant_by(
            thread,
            capacity,
            &Ladder { rungs, partition: None, if_full: IfFull::Refuse },
        )
    }

    /// Like [`grant`](Self::grant); [`Rung::Partitioned`] gives the thread a place on the CPU of
    /// `partition`.
    ///
    /// # Errors
    /// Those of [`grant`](Self::grant).
    pub fn grant_on(
        partition: &Arc<Partition>,
        thread: ThreadRef,
        capacity: Capacity,
        rungs: &[Rung],
    ) -> Result<Self, Refused> {
        let partition = Some(partition);
        Self::grant_by(thread, capacity, &Ladder { rungs, partition, if_full: IfFull::Wait })
    }

    pub(crate) fn grant_by(
        thread: ThreadRef,
        capacity: Capacity,
        ladder: &Ladder<'_>,
    ) -> Result<Self, Refused> {
        let id = thread.id()?;
        // The enforcer and the drop may run in another thread.
        let thread = match thread {
            ThreadRef::Calling => ThreadRef::Id(id),
            other => other,
        };
        let thread = Arc::new(thread);
        let before = thread.scheduling()?;
        let meter = Meter::start(id);
        let mut refused = Vec::new();
        let mut largest_cost = None;
        for &rung in ladder.rungs {
            let kept = keep(rung, &thread, capacity, before, ladder);
            match kept {
                Ok(keeper) => {
                    return Ok(Self {
                        keeper,
                        thread,
                        id,
                        before,
                        capacity,
                        refused,
                        largest_cost,
                        meter,
                        if_full: ladder.if_full,
                    });
                }
                Err(not_kept) => {
                    let _ = thread.put_back(before);
                    let (reason, cost) = not_kept.explain(rung)?;
                    refused.push(reason);
                    largest_cost = largest_cost.max(cost);
                }
            }
        }
        Err(Refused::Rungs { rungs: refused, largest_cost })
    }

    /// Changes the capacity; after a refusal the thread keeps what it has.
    ///
    /// # Errors
    /// The rung refuses the capacity, or the thread has ended.
    pub fn change(&mut self, capacity: Capacity) -> Result<(), Refused> {
        let rung = self.rung();
        let changed = match &mut self.keeper {
            Keeper::Partitioned(place) => place.change(&self.thread, capacity),
            Keeper::Deadline => {
                let held =
                    (self.capacity.utilisation() * capacity.period().as_nanos() as f64) as u64;
                set_deadline(&self.thread, capacity, Nanos::from_nanos(held), self.if_full)
            }
            Keeper::Group(member) => groups::change_budget(member, capacity),
            Keeper::Priority(_) => self.change_enforcer(capacity),
            Keeper::Weight(member) => groups::set_weight(member, capacity),
            Keeper::Measured => Ok(()),
        };
        match changed {
            Ok(()) => self.capacity = capacity,
            Err(not_kept) => return Err(Refused::of(not_kept, rung)),
        }
        Ok(())
    }

    /// Ends the enforcer and starts another; after a refusal, one with the present capacity.
    fn change_enforcer(&mut self, capacity: Capacity) -> Result<(), NotKept> {
        let start = |capacity| Enforcer::start(Arc::clone(&self.thread), capacity, self.before);
        self.keeper = Keeper::Measured;
        let (enforcer, refused) = match start(capacity) {
            Ok(enforcer) => (Some(enforcer), None),
            Err(refused) => (start(self.capacity).ok(), Some(refused)),
        };
        self.keeper = enforcer.map_or(Keeper::Measured, Keeper::Priority);
        refused.map_or(Ok(()), Err)
    }

    /// Takes the deadline class from the thread and gives it back: a throttled thread that the
    /// kernel has forgotten runs again.
    ///
    /// Linux (6.18 at least) replenishes a throttled thread by a timer. If the timer finds the
    /// thread in another class, it does nothing, and the thread stays marked as throttled until its
    /// 0-lag time, which a debt puts off ([`release_time`]). If the thread enters the class again
    /// in between, nobody replenishes it: it never runs, and no signal ends it. Once the time is
    /// over, leaving the class removes the mark.
    ///
    /// # Errors
    /// The class is full now, or the thread has ended. The thread is in its class from before then.
    pub fn renew(&self) -> Result<(), Refused> {
        let Keeper::Deadline = self.keeper else { return Ok(()) };
        let _ = self.thread.put_back(self.before)?;
        set_deadline(&self.thread, self.capacity, Nanos::ZERO, self.if_full)
            .map_err(|not_kept| Refused::of(not_kept, Rung::Deadline))
    }

    /// Ends the reserve, as dropping it does, and returns how long the kernel remembers the thread
    /// in the deadline class: until then, it must not enter the class again, and its bandwidth
    /// counts.
    pub fn release(self) -> Nanos {
        match self.keeper {
            Keeper::Deadline | Keeper::Partitioned(_) => release_time(self.capacity, debt(self.id)),
            _ => Nanos::ZERO,
        }
    }

    /// Whether the thread still has the class that keeps it; somebody with permission can set
    /// another. It is true for rungs other than [`Rung::Deadline`], and after the thread's end.
    pub fn is_in_force(&self) -> bool {
        match (&self.keeper, self.thread.scheduling()) {
            (Keeper::Deadline, Ok(class)) => class == deadline(self.capacity),
            _ => true,
        }
    }

    /// The rung that keeps it.
    pub const fn rung(&self) -> Rung {
        match self.keeper {
            Keeper::Partitioned(_) => Rung::Partitioned,
            Keeper::Deadline => Rung::Deadline,
            Keeper::Group(_) => Rung::Group,
            Keeper::Priority(_) => Rung::Priority,
            Keeper::Weight(_) => Rung::Weight,
            Keeper::Measured => Rung::Measured,
        }
    }

    /// Its capacity.
    pub const fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// The thread.
    pub const fn thread(&self) -> ThreadId {
        self.id
    }

    /// The better rungs that were tried, and why they were refused.
    pub fn refused(&self) -> &[RefusedRung] {
        &self.refused
    }

    /// The largest cost that one of the [refused](Self::refused) rungs would have granted, if this
    /// is known.
    pub const fn largest_cost(&self) -> Option<Nanos> {
        self.largest_cost
    }

    /// What the thread has used since the grant.
    ///
    /// # Errors
    /// `ESRCH`: the thread has ended, and the kernel did not permit an exact meter.
    pub fn usage(&self) -> Result<Usage, SysError> {
        let demotions = match &self.keeper {
            Keeper::Priority(enforcer) => Some(enforcer.demotions()),
            _ => None,
        };
        self.meter.read(self.id, demotions)
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        // The enforcer ends before the policy is restored, and groups after it: without their
        // budget, the kernel refuses a thread with a real-time policy.
        if let Keeper::Priority(_) = self.keeper {
            self.keeper = Keeper::Measured;
        }
        if let Keeper::Partitioned(place) = &mut self.keeper {
            place.leave(release_time(self.capacity, debt(self.id)));
        }
        // Another policy is somebody else's decision. The thread may have ended.
        if self.is_in_force() {
            let _ = self.thread.put_back(self.before);
        }
    }
}

/// What a [`Guardian`](tactus_settings::Guardian) returns a thread to, if this program is killed
/// while the thread has `capacity`.
///
/// # Errors
/// The thread has ended.
pub fn kept(thread: &ThreadRef, capacity: Capacity) -> Result<KeptThread, SysError> {
    let id = thread.id()?;
    let groups = ["cpu", "cpuset"]
        .into_iter()
        .filter_map(|controller| Hierarchy::find(Path::new("/"), controller)?.group_of(id));
    let was = thread.scheduling().unwrap_or(Scheduling::ORDINARY);
    // The thread may be killed with any debt.
    let settle = release_time(capacity, debt_most(clock::tick()));
    Ok(KeptThread { thread: id, was, groups: groups.collect(), settle })
}

/// The class of a capacity.
pub(crate) fn deadline(capacity: Capacity) -> Scheduling {
    Scheduling::Deadline {
        runtime: capacity.cost(),
        deadline: capacity.deadline(),
        period: capacity.period(),
    }
}

/// Tries one rung.
fn keep(
    rung: Rung,
    thread: &Arc<ThreadRef>,
    capacity: Capacity,
    before: Scheduling,
    ladder: &Ladder<'_>,
) -> Result<Keeper, NotKept> {
    match rung {
        Rung::Partitioned => match ladder.partition {
            Some(partition) => partition.keep(thread, capacity).map(Keeper::Partitioned),
            None => Err(NotKept::needs("no CPU was set aside", Some("--exclusive CPU"))),
        },
        Rung::Deadline => {
            set_deadline(thread, capacity, Nanos::ZERO, ladder.if_full).map(|()| Keeper::Deadline)
        }
        Rung::Group => groups::with_budget(thread, capacity).map(Keeper::Group),
        Rung::Priority => {
            Enforcer::start(Arc::clone(thread), capacity, before).map(Keeper::Priority)
        }
        Rung::Weight => groups::with_weight(thread.id()?, capacity).map(Keeper::Weight),
        Rung::Measured => Ok(Keeper::Measured),
    }
}

/// Requests the deadline class. `held` is what the thread has already of the largest cost.
fn set_deadline(
    thread: &ThreadRef,
    capacity: Capacity,
    held: Nanos,
    if_full: IfFull,
) -> Result<(), NotKept> {
    check_range(capacity)?;
    let class = deadline(capacity);
    let is_full = |refused: &NotGranted| matches!(refused, NotGranted::Scheduling { errno, .. } if *errno == Errno::BUSY.raw_os_error());
    let Some(mut refused) = thread.schedule_alone(class)? else { return Ok(()) };
    if if_full == IfFull::Wait && is_full(&refused) {
        sleep(release_time(capacity, Nanos::ZERO).into());
        match thread.schedule_alone(class)? {
            Some(again) => refused = again,
            None => return Ok(()),
        }
    }
    let spare = largest_deadline_cost(capacity.period(), capacity.deadline());
    let largest_cost = spare.map(|spare| (spare + held).min(capacity.deadline()));
    let reason = refused.explain_here().reason;
    let fix = largest_cost.map(|cost| {
        format!(
            "ask for a cost of at most {cost} in {}, or end another deadline task",
            capacity.period()
        )
    });
    Err(NotKept::Needs { reason, fix, largest_cost })
}

/// Checks what the kernel refuses with a bare `EINVAL`; the limits of the period are its defaults,
/// and it decides itself if they were changed.
fn check_range(capacity: Capacity) -> Result<(), NotKept> {
    let facts = || tactus_sys::facts::read(Path::new("/")).scheduling;
    let (cost, period) = (capacity.cost(), capacity.period());
    if cost < RUNTIME_LEAST {
        let reason =
            format!("the kernel accepts no cost below {RUNTIME_LEAST}, and this is {cost}");
        let fix = format!("ask for a cost of {RUNTIME_LEAST}");
        return Err(NotKept::needs(reason, Some(&fix)));
    }
    if (PERIOD_LEAST..=PERIOD_MOST).contains(&period) {
        return Ok(());
    }
    let limits = facts();
    let least = limits.deadline_period_min_us.map_or(PERIOD_LEAST, Nanos::from_micros);
    let most = limits.deadline_period_max_us.map_or(PERIOD_MOST, Nanos::from_micros);
    if (least..=most).contains(&period) {
        return Ok(());
    }
    let nearest = period.clamp(least, most);
    let reason = format!("the kernel accepts periods from {least} to {most}, and this is {period}");
    let fix = format!("ask for a period of {nearest}");
    Err(NotKept::needs(reason, Some(&fix)))
}

/// Counts the CPU time of a thread.
#[derive(Debug)]
struct Meter {
    /// `None` without permission.
    clock: Option<ThreadClock>,
    before: Option<ScheduledTime>,
}

impl Meter {
    fn start(thread: ThreadId) -> Self {
        Self { clock: ThreadClock::start(thread).ok(), before: scheduled_time(thread).ok() }
    }

    fn read(&self, thread: ThreadId, demotions: Option<u64>) -> Result<Usage, SysError> {
        let counted = scheduled_time(thread);
        let since = |of: fn(&ScheduledTime) -> Nanos| {
            Some(of(counted.as_ref().ok()?).saturating_sub(of(&self.before?)))
        };
        let waited = since(|time| time.waited);
        let (used, precision) = match &self.clock {
            Some(clock) => (clock.read()?, Precision::Exact),
            None => {
                let ran = since(|time| time.ran).ok_or(SysError::new("schedstat", Errno::SRCH))?;
                (ran, Precision::Ticks)
            }
        };
        Ok(Usage { used, precision, waited, demotions })
    }
}

#[cfg(test)]
mod tests;
