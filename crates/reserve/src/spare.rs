//! How much the kernel still admits to the deadline class.

use tactus_admission::kernel::{PERIOD_MOST, RUNTIME_LEAST};
use tactus_model::policy::Scheduling;
use tactus_model::time::Nanos;
use tactus_prepare::ThreadRef;
use tactus_sys::SysError;

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

/// How long the kernel may keep the bandwidth of a thread that left the class: until its 0-lag
/// time, a period later at most.
pub fn release_time(period: Nanos) -> Nanos {
    period.min(PERIOD_MOST)
}

#[cfg(test)]
mod tests {
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
}
