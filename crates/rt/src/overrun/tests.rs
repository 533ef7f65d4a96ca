use proptest::prelude::*;

use super::*;

const PERIOD: u64 = 100;

fn at(nanos: u64) -> Instant<Monotonic> {
    Instant::from_nanos(nanos)
}

/// A thread in virtual time, whose first due time is at 1000: for each job, its due time's number,
/// its due time, when it began and when it ended.
fn simulate(overrun: Overrun, delays: &[(u64, u64)]) -> (Vec<(Due, u64, u64)>, Option<u64>) {
    let mut schedule = Schedule::new(at(1000), Nanos::from_nanos(PERIOD), overrun);
    let mut jobs = Vec::new();
    let mut now = 0;
    for (wake_delay, duration) in delays {
        let due = schedule.present();
        let began = now.max(due.at.as_nanos()) + wake_delay;
        now = began + duration;
        jobs.push((due, began, now));
        if let Next::Stop { missed } = schedule.next(at(now)) {
            return (jobs, Some(missed));
        }
    }
    (jobs, None)
}

/// Checks the numbers of the due times that are served, and `missed` before each.
#[track_caller]
fn check(overrun: Overrun, durations: &[u64], expected: &[(u64, u64)]) {
    let delays: Vec<_> = durations.iter().map(|duration| (0, *duration)).collect();
    let (jobs, _) = simulate(overrun, &delays);
    let served: Vec<_> = jobs.iter().map(|(due, ..)| (due.index, due.missed)).collect();
    assert_eq!(served, expected, "{overrun:?}");
}

#[test]
fn jobs_in_time_are_served_alike_by_all_policies() {
    for overrun in [Overrun::Skip, Overrun::CatchUp(3), Overrun::Shift, Overrun::Stop] {
        // A job that ends exactly when the next is due is in time.
        check(overrun, &[10, 100, 99, 0], &[(0, 0), (1, 0), (2, 0), (3, 0)]);
    }
}

#[test]
fn skip_continues_at_the_first_due_time_that_has_not_passed() {
    check(Overrun::Skip, &[101, 0, 0], &[(0, 0), (2, 1), (3, 0)]);
    check(Overrun::Skip, &[200, 0, 0], &[(0, 0), (2, 1), (3, 0)]);
    check(Overrun::Skip, &[350, 0, 0], &[(0, 0), (4, 3), (5, 0)]);
}

#[test]
fn catch_up_serves_the_last_that_passed_and_misses_those_before() {
    check(Overrun::CatchUp(2), &[350, 0, 0, 0], &[(0, 0), (2, 1), (3, 0), (4, 0)]);
    check(Overrun::CatchUp(u32::MAX), &[350, 0, 0, 0], &[(0, 0), (1, 0), (2, 0), (3, 0)]);
    check(Overrun::CatchUp(0), &[350, 0], &[(0, 0), (4, 3)]);
}

#[test]
fn shift_moves_the_grid_and_misses_nothing() {
    let (jobs, _) = simulate(Overrun::Shift, &[(0, 350), (0, 10), (0, 10)]);
    let due: Vec<_> = jobs.iter().map(|(due, ..)| due.at.as_nanos()).collect();
    assert_eq!(due, [1000, 1350, 1450]);
    assert_eq!(jobs[1].0.shifted, Nanos::from_nanos(250));
    assert_eq!(jobs[2].0.shifted, Nanos::ZERO);
}

#[test]
fn stop_ends_at_the_first_overrun_and_counts_what_passed() {
    let (jobs, missed) = simulate(Overrun::Stop, &[(0, 10), (0, 350), (0, 10)]);
    assert_eq!((jobs.len(), missed), (2, Some(3)));
}

#[test]
fn due_times_before_the_start_do_not_exist() {
    let first = |now: u64| {
        let grid = Schedule::new(at(1000), Nanos::from_nanos(PERIOD), Overrun::Skip);
        let due = grid.starting_at(at(now)).present();
        (due.index, due.at.as_nanos())
    };
    assert_eq!([0, 1000, 1001, 1100].map(first), [(0, 1000), (0, 1000), (0, 1100), (0, 1100)]);
}

#[test]
fn the_end_of_the_clock_is_no_panic() {
    for overrun in [Overrun::Skip, Overrun::CatchUp(1), Overrun::Shift] {
        let mut schedule = Schedule::new(at(0), Nanos::from_nanos(1), overrun);
        for _ in 0..3 {
            assert!(matches!(schedule.next(at(u64::MAX)), Next::Run(_)));
        }
    }
}

fn any_policy() -> impl Strategy<Value = Overrun> {
    prop_oneof![
        Just(Overrun::Skip),
        (0..5_u32).prop_map(Overrun::CatchUp),
        Just(Overrun::CatchUp(u32::MAX)),
        Just(Overrun::Shift),
        Just(Overrun::Stop),
    ]
}

proptest! {
    /// Compares each policy with its definition, due time by due time.
    #[test]
    fn every_due_time_is_served_or_missed_exactly_once(
        overrun in any_policy(),
        delays in prop::collection::vec((0..150_u64, 0..450_u64), 1..60),
    ) {
        let (jobs, stopped) = simulate(overrun, &delays);
        let missed: u64 = jobs.iter().map(|(due, ..)| due.missed).sum();
        let run = jobs.len() as u64;
        let last = jobs.last().unwrap().0.index;
        // intended = run + missed, counted on the grid.
        prop_assert_eq!(last + 1, run + missed);
        let mut shifted = 0;
        for pair in jobs.windows(2) {
            let [(before, _, ended), (due, began, _)] = pair else { unreachable!() };
            let ended = *ended;
            prop_assert_eq!(due.index, before.index + 1 + due.missed);
            prop_assert!(*began >= due.at.as_nanos(), "a job never begins before it is due");
            // The due times that passed, one by one.
            let passed = (1..)
                .map(|step| before.at.as_nanos() + step * PERIOD)
                .take_while(|due| *due < ended)
                .count() as u64;
            shifted += due.shifted.as_nanos();
            let on_grid = 1000 + due.index * PERIOD + shifted;
            prop_assert_eq!(due.at.as_nanos(), on_grid);
            match overrun {
                Overrun::Skip => {
                    prop_assert_eq!(due.missed, passed);
                    prop_assert!(due.at.as_nanos() >= ended);
                }
                Overrun::CatchUp(limit) => {
                    prop_assert_eq!(due.missed, passed.saturating_sub(limit.into()));
                }
                Overrun::Shift => {
                    prop_assert_eq!(due.missed, 0);
                    prop_assert!(due.at - before.at >= Nanos::from_nanos(PERIOD));
                    prop_assert_eq!(due.shifted > Nanos::ZERO, passed > 0);
                }
                Overrun::Stop => prop_assert_eq!(passed, 0),
            }
            if overrun != Overrun::Shift {
                prop_assert_eq!(due.shifted, Nanos::ZERO);
            }
        }
        if let Some(missed) = stopped {
            prop_assert_eq!(overrun, Overrun::Stop);
            prop_assert!(missed > 0);
        }
    }
}
