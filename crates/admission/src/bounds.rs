//! Bounds on the utilisation under fixed priorities: fast, sufficient, and easy to check by hand.

use crate::task::utilisation;
use crate::{Ratio, Task};

/// Why the bounds say nothing about some tasks; `None` if they apply.
///
/// They assume deadlines at the end of the period or later, no jitter, no blocking, and a higher
/// priority for each shorter period.
pub fn inapplicable(tasks: &[Task], ranks: &[usize]) -> Option<String> {
    let none = tactus_model::time::Nanos::ZERO;
    let of = |name: &str, what: &str| Some(format!("task `{name}` has {what}"));
    for task in tasks {
        if task.deadline() < task.period() {
            return of(task.name(), "a deadline before the end of its period");
        }
        if task.jitter() > none {
            return of(task.name(), "jitter");
        }
        if task.blocking() > none {
            return of(task.name(), "blocking");
        }
    }
    let mut ranked: Vec<usize> = (0..tasks.len()).collect();
    ranked.sort_by_key(|index| (ranks[*index], tasks[*index].period()));
    let inverted = ranked.windows(2).find(|pair| tasks[pair[0]].period() > tasks[pair[1]].period());
    inverted.map(|pair| {
        let (above, below) = (tasks[pair[0]].name(), tasks[pair[1]].name());
        format!("task `{above}` has priority over `{below}`, whose period is shorter")
    })
}

/// Whether the utilisation is at most n(2^(1/n) − 1), computed as (1 + U/n)^n ≤ 2.
///
/// C. L. Liu and J. W. Layland, *Scheduling algorithms for multiprogramming in a hard-real-time
/// environment*, JACM 20(1), 1973, Theorem 5.
pub fn liu_layland(tasks: &[Task]) -> bool {
    let count = tasks.len() as u64;
    let factor = Ratio::ONE.plus(utilisation(tasks).divided_by(count));
    (0..count).fold(Ratio::ONE, |product, _| product.times(factor)).is_at_most(2)
}

/// The bound of Liu and Layland for a number of tasks: 1 for one task, about 0.693 for many.
pub fn liu_layland_bound(count: usize) -> f64 {
    let count = count.max(1) as f64;
    count * (2_f64.powf(1.0 / count) - 1.0)
}

/// The product of 1 + U over all tasks, which the hyperbolic bound limits to 2.
///
/// E. Bini, G. Buttazzo and G. Buttazzo, *Rate monotonic analysis: the hyperbolic bound*, IEEE
/// Transactions on Computers 52(7), 2003, Theorem 1.
pub fn hyperbolic(tasks: &[Task]) -> Ratio {
    tasks
        .iter()
        .fold(Ratio::ONE, |product, task| product.times(Ratio::ONE.plus(task.utilisation())))
}

/// The average utilisation at which random tasks begin to miss deadlines, in per cent.
///
/// J. Lehoczky, L. Sha and Y. Ding, *The rate monotonic scheduling algorithm: exact
/// characterization and average case behavior*, RTSS 1989, Section 5. It is an average over random
/// sets and guarantees nothing.
pub const AVERAGE_BREAKDOWN_PERCENT: u64 = 88;

/// Whether the utilisation is at most [`AVERAGE_BREAKDOWN_PERCENT`].
pub fn is_below_average_breakdown(utilisation: Ratio) -> bool {
    utilisation.times(Ratio::whole(100)).is_at_most(AVERAGE_BREAKDOWN_PERCENT)
}

#[cfg(test)]
mod tests {
    use tactus_model::time::Nanos;

    use super::*;

    fn tasks(shapes: &[(u64, u64)]) -> Vec<Task> {
        let task = |&(cost, period): &(u64, u64)| {
            Task::new(
                format!("{cost}/{period}"),
                Nanos::from_millis(cost),
                Nanos::from_millis(period),
            )
        };
        shapes.iter().map(task).collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn the_bounds_agree_with_the_figures_of_the_papers() {
        assert!((liu_layland_bound(2) - 0.8284).abs() < 1e-4);
        assert!((liu_layland_bound(3) - 0.7798).abs() < 1e-4);
        assert!((liu_layland_bound(100_000) - std::f64::consts::LN_2).abs() < 1e-4);
        // Liu and Layland: one task may use the whole CPU, two 82.8 %.
        assert!(liu_layland(&tasks(&[(10, 10)])));
        assert!(liu_layland(&tasks(&[(41, 100), (41, 100)])));
        assert!(!liu_layland(&tasks(&[(42, 100), (42, 100)])));
    }

    #[test]
    fn the_hyperbolic_bound_admits_more() {
        // 1/2 and 1/3: 83.3 % is above 82.8 %, and (3/2)(4/3) is exactly 2.
        let two = tasks(&[(1, 2), (1, 3)]);
        assert!(!liu_layland(&two));
        assert!(hyperbolic(&two).is_at_most(2));
        assert!(!hyperbolic(&tasks(&[(1, 2), (1, 2)])).is_at_most(2));
    }

    #[test]
    fn the_bounds_name_the_assumption_that_does_not_hold() {
        let two = tasks(&[(1, 2), (1, 3)]);
        assert_eq!(inapplicable(&two, &[0, 1]), None);
        let reason = inapplicable(&two, &[1, 0]).unwrap();
        assert_eq!(reason, "task `1/3` has priority over `1/2`, whose period is shorter");
        let early = two[0].clone().with_deadline(Nanos::from_millis(1)).unwrap();
        assert!(inapplicable(&[early], &[0]).unwrap().contains("a deadline before"));
    }
}
