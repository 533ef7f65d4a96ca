//! How much the kernel still admits to the deadline class.

use tactus_admission::kernel::{PERIOD_MOST, RUNTIME_LEAST};
use tactus_model::policy::Scheduling;
use tactus_model::recording::ThreadId;
use tactus_model::reserve::Capacity;
use tactus_model::time::Nanos;
use tactus_prepare::ThreadRef;
use tactus_sys::{SysError, clock, deadline_thread};

/// How exactly the largest cost is found: 1 µs.
const STEP: Nanos = Nanos::from_micros(1);

/// The largest cost that the kernel admits now for a new thread with this period and deadline, to
/// 1 µs; `None` if it admits none for another reason than bandwidth.
///
/// The kernel does not show its account without debugfs, so this asks: a thread of ours requests
/// more and more. The admission of a thread that is in the class already changes at once, and its
/// last cost is the smallest. It takes some 50 µs, in which others may be refused, and a millionth
/// of a CPU for one more period.
pub fn largest_deadline_cost(period: Nanos, deadline: Nanos) -> Option<Nanos> {
    std::thread::Builder::new().spawn(move || search(period, deadline)).ok()?.join().ok()?
}

fn search(period: Nanos, deadline: Nanos) -> Option<Nanos> {
    let admits = |runtime| is_admitted(Scheduling::Deadline { runtime, deadline, period });
    if deadline < RUNTIME_LEAST || !admits(RUNTIME_LEAST).ok()? {
        return None;
    }
    let found = bisect(RUNTIME_LEAST, deadline, |cost| admits(cost).unwrap_or(false));
    let _ = admits(RUNTIME_LEAST);
    let _ = ThreadRef::Calling.schedule_exactly(Scheduling::ORDINARY);
    Some(found)
}

fn is_admitted(scheduling: Scheduling) -> Result<bool, SysError> {
    ThreadRef::Calling.schedule_exactly(scheduling).map(|refused| refused.is_none())
}

/// The largest value that `fits` between `least`, which does, and `most`.
fn bisect(least: Nanos, most: Nanos, fits: impl Fn(Nanos) -> bool) -> Nanos {
    if fits(most) {
        return most;
    }
    let (mut fitting, mut refused) = (least, most);
    while refused - fitting > STEP {
        let middle = fitting + Nanos::from_nanos((refused - fitting).as_nanos() / 2);
        if fits(middle) {
            fitting = middle;
        } else {
            refused = middle;
        }
    }
    fitting
}

/// How long the kernel may remember a thread that leaves the deadline class with a capacity: until
/// its 0-lag time.
///
/// Without [`debt`] that is within the period. A thread in debt has used CPU time of later periods,
/// and repays it at the pace of its capacity. Until then its bandwidth is not free, a change of
/// cpusets can make the kernel's account wrong, and a thread that enters the class again can be
/// left throttled for ever: see [`Reserve::renew`](crate::Reserve::renew).
pub fn release_time(capacity: Capacity, debt: Nanos) -> Nanos {
    capacity.period().min(PERIOD_MOST) + repayment(capacity, debt)
}

/// How long a thread with a capacity waits until it has repaid CPU time, rounded up; it saturates.
///
/// The kernel enforces a runtime at its ticks, so a thread that does not sleep overruns by up to a
/// [`tick`](tactus_sys::clock::tick).
pub fn repayment(capacity: Capacity, debt: Nanos) -> Nanos {
    let (debt, period) = (u128::from(debt.as_nanos()), u128::from(capacity.period().as_nanos()));
    let time = (debt * period).div_ceil(capacity.cost().as_nanos().into());
    Nanos::from_nanos(u64::try_from(time).unwrap_or(u64::MAX))
}

/// The most CPU time that a thread of the deadline class can owe, if it leaves the class now.
pub fn debt(thread: ThreadId) -> Nanos {
    let left = deadline_thread::runtime_left(thread);
    debt_by(left, deadline_thread::is_ready(thread), clock::tick())
}

/// A debt that is shown may follow an earlier one, which put the deadline off by a tick's repayment.
/// Of a thread that runs, the last tick is not yet counted.
fn debt_by(left: Option<i64>, is_ready: bool, tick: Nanos) -> Nanos {
    match left {
        Some(1..) if !is_ready => Nanos::ZERO,
        Some(left) => Nanos::from_nanos(left.min(0).unsigned_abs()) + tick.saturating_mul(2),
        None => debt_most(tick),
    }
}

/// The most CPU time that a thread can owe if the kernel does not show it.
pub fn debt_most(tick: Nanos) -> Nanos {
    tick.saturating_mul(3)
}

#[cfg(test)]
mod tests;
