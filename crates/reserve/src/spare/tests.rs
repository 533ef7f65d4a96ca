use proptest::prelude::*;
use tactus_testing::{Need, skip};

use super::*;

#[test]
fn the_largest_value_is_found_to_a_microsecond() {
    let ms = Nanos::from_millis;
    let limit = Nanos::from_nanos(3_141_592);
    let found = bisect(Nanos::from_nanos(1024), ms(10), |cost| cost <= limit);
    assert!(found <= limit && limit - found <= STEP, "{found}");
    assert_eq!(bisect(Nanos::from_nanos(1024), ms(10), |_| true), ms(10));
    assert_eq!(bisect(STEP, ms(10), |cost| cost == STEP), STEP);
}

#[test]
fn needs_root_the_kernel_admits_the_largest_cost_and_never_the_whole_period() {
    let period = Nanos::from_secs(1);
    match largest_deadline_cost(period, period) {
        // Of one CPU alone it admits less than all; of several, all of one.
        Some(found) => assert!(found > Nanos::ZERO && found <= period, "{found}"),
        None => skip(Need::Root, "the deadline class is refused"),
    }
}

#[test]
fn a_debt_is_repaid_at_the_pace_of_the_capacity() {
    let capacity: Capacity = "20us/10ms".parse().unwrap();
    let ms = Nanos::from_millis;
    assert_eq!(release_time(capacity, Nanos::ZERO), ms(10));
    assert_eq!(release_time(capacity, ms(4)), ms(2010));
    assert_eq!(repayment(capacity, Nanos::from_nanos(u64::MAX)), Nanos::from_nanos(u64::MAX));
    assert_eq!(debt_by(Some(5), false, ms(4)), Nanos::ZERO);
    assert_eq!(debt_by(Some(5), true, ms(4)), ms(8));
    assert_eq!(debt_by(Some(0), false, ms(4)), ms(8));
    assert_eq!(debt_by(Some(-1_000_000), false, ms(4)), ms(9));
    assert_eq!(debt_by(None, false, ms(4)), ms(12));
}

const TICK: i64 = 4_000_000;

/// A thread that computes all the time, as the kernel keeps it in the deadline class (Linux 6.18,
/// kernel/sched/deadline.c), with the defect that [`Reserve::renew`](crate::Reserve::renew)
/// describes. Times are in nanoseconds.
#[derive(Debug)]
struct Thread {
    now: i64,
    is_deadline: bool,
    cost: i64,
    period: i64,
    runtime: i64,
    deadline: i64,
    is_throttled: bool,
    /// `dl_timer`: the replenishment.
    timer: Option<i64>,
    /// `inactive_timer`: the 0-lag time of a thread that has left.
    forgotten: Option<i64>,
}

impl Thread {
    fn new() -> Self {
        Self {
            now: 1,
            is_deadline: false,
            cost: 1,
            period: 1,
            runtime: 0,
            deadline: 0,
            is_throttled: false,
            timer: None,
            forgotten: None,
        }
    }

    fn enter(&mut self, cost: i64, period: i64) {
        (self.is_deadline, self.cost, self.period, self.forgotten) = (true, cost, period, None);
        if !self.is_throttled && self.deadline < self.now {
            (self.runtime, self.deadline) = (cost, self.now + period);
        }
    }

    fn leave(&mut self) {
        self.is_deadline = false;
        let time_left = i128::from(self.runtime) * i128::from(self.period) / i128::from(self.cost);
        let lag = self.deadline - i64::try_from(time_left).unwrap();
        self.forgotten = Some(lag);
        self.pass(0, 0);
    }

    /// Lets time pass; a thread that can run overruns by `overrun`, at most a tick.
    fn pass(&mut self, time: i64, overrun: i64) {
        let until = self.now + time;
        loop {
            let runs = self.is_deadline && !self.is_throttled;
            let spent = self.now + self.runtime.max(0) + overrun;
            let events = [self.timer, self.forgotten, Some(spent).filter(|_| runs)];
            let next = events.into_iter().flatten().min().unwrap_or(i64::MAX).max(self.now);
            if next > until {
                self.runtime -= if runs { until - self.now } else { 0 };
                self.now = until;
                return;
            }
            self.now = next;
            if self.timer.is_some_and(|timer| timer <= next) {
                self.timer = None;
                // The defect: the timer does nothing for a thread of another class.
                if self.is_deadline && self.is_throttled {
                    while self.runtime <= 0 {
                        (self.runtime, self.deadline) =
                            (self.runtime + self.cost, self.deadline + self.period);
                    }
                    self.is_throttled = false;
                }
            } else if self.forgotten.is_some_and(|lag| lag <= next) {
                (self.forgotten, self.is_throttled) = (None, false);
                (self.runtime, self.deadline) = (0, 0);
            } else {
                self.runtime = -overrun;
                (self.is_throttled, self.timer) = (true, Some(self.deadline.max(next)));
            }
        }
    }

    const fn is_stuck(&self) -> bool {
        self.is_deadline && self.is_throttled && self.timer.is_none()
    }

    /// What the kernel shows: a running thread's runtime may be a tick old.
    fn debt(&self, unseen: i64) -> Nanos {
        let runs = !self.is_throttled;
        let left = self.runtime + if runs { unseen.min(self.cost - self.runtime) } else { 0 };
        debt_by(Some(left), true, Nanos::from_nanos(TICK as u64))
    }
}

fn capacity(cost: i64, period: i64) -> Capacity {
    let [cost, period] = [cost, period].map(|time| Nanos::from_nanos(time as u64));
    Capacity::new(cost, period, period).unwrap()
}

fn nanos(time: Nanos) -> i64 {
    i64::try_from(time.as_nanos()).unwrap()
}

/// A cost and a period.
fn any_terms() -> impl Strategy<Value = (i64, i64)> {
    (1_i64..=1000, 100_000_i64..100_000_000)
        .prop_map(|(per_mille, period)| ((period / 1000 * per_mille).max(1024), period))
}

proptest! {
    #[test]
    fn a_thread_that_the_kernel_has_forgotten_is_never_stuck(
        (cost, period) in any_terms(),
        (other_cost, other_period) in any_terms(),
        passed in prop::collection::vec((0_i64..50_000_000, 0..=TICK), 1..20),
        unseen in 0..=TICK,
    ) {
        let mut thread = Thread::new();
        thread.enter(cost, period);
        for (time, overrun) in passed {
            thread.pass(time, overrun);
        }
        let release = nanos(release_time(capacity(cost, period), thread.debt(unseen)));
        thread.leave();
        thread.pass(release, 0);
        prop_assert_eq!(thread.forgotten, None, "{:?}", thread);
        thread.enter(other_cost, other_period);
        prop_assert!(!thread.is_stuck());
    }

    #[test]
    fn a_stuck_thread_is_freed_once_the_debt_is_over(
        (cost, period) in any_terms(),
        (other_cost, other_period) in any_terms(),
        passed in prop::collection::vec((0_i64..50_000_000, 0..=TICK), 1..20),
        away in 0_i64..200_000_000,
    ) {
        let mut thread = Thread::new();
        thread.enter(cost, period);
        for (time, overrun) in passed {
            thread.pass(time, overrun);
        }
        thread.leave();
        thread.pass(away, 0);
        thread.enter(other_cost, other_period);
        let was_stuck = thread.is_stuck();
        let tick = Nanos::from_nanos(TICK as u64);
        thread.pass(nanos(release_time(capacity(other_cost, other_period), debt_most(tick))), 0);
        prop_assert_eq!(thread.is_stuck(), was_stuck, "it stays");
        if was_stuck {
            thread.leave();
            thread.enter(other_cost, other_period);
            prop_assert!(!thread.is_stuck(), "{:?}", thread);
        }
    }
}

#[test]
fn a_thread_that_returns_before_it_is_forgotten_is_stuck() {
    let ms = |time: i64| time * 1_000_000;
    let mut thread = Thread::new();
    thread.enter(ms(1), ms(10));
    thread.pass(ms(5), TICK);
    thread.leave();
    thread.pass(ms(12), 0);
    thread.enter(ms(1), ms(10));
    assert!(thread.is_stuck());
}
