//! What the kernel admits to `SCHED_DEADLINE`: a sum of bandwidths, and no test of deadlines.
//!
//! Documentation/scheduler/sched-deadline.rst; `to_ratio` in kernel/sched/core.c and
//! `__checkparam_dl` in kernel/sched/deadline.c.

use tactus_model::time::Nanos;

use crate::Task;

/// The shortest runtime: `1 << DL_SCALE` in kernel/sched/sched.h.
pub const RUNTIME_LEAST: Nanos = Nanos::from_nanos(1024);
/// The shortest period, `kernel.sched_deadline_period_min_us`.
pub const PERIOD_LEAST: Nanos = Nanos::from_micros(100);
/// The longest period, `kernel.sched_deadline_period_max_us`.
pub const PERIOD_MOST: Nanos = Nanos::from_micros(1 << 22);

/// The kernel's unit of bandwidth: `BW_UNIT`.
const UNIT: u64 = 1 << 20;

/// The capacity of each CPU in the kernel's units, for a percentage.
pub fn capacity(percent: u8) -> u64 {
    UNIT * u64::from(percent) / 100
}

/// The bandwidth of a task in the kernel's units, rounded down as the kernel does.
pub fn bandwidth(task: &Task) -> u64 {
    let scaled = u128::from(task.cost().as_nanos()) * u128::from(UNIT);
    (scaled / u128::from(task.period().as_nanos())) as u64
}

/// A bandwidth as a share of one CPU, for display.
pub fn share(bandwidth: u64) -> f64 {
    bandwidth as f64 / UNIT as f64
}

/// Why the kernel refuses the parameters of a task with `EINVAL`, with the nearest value it
/// accepts; `None` if it accepts them.
pub fn refused(task: &Task) -> Option<String> {
    let name = task.name();
    if task.cost() < RUNTIME_LEAST {
        return Some(format!(
            "the runtime of `{name}` is {}; the least is {RUNTIME_LEAST}",
            task.cost()
        ));
    }
    if !(PERIOD_LEAST..=PERIOD_MOST).contains(&task.period()) {
        let nearest = task.period().clamp(PERIOD_LEAST, PERIOD_MOST);
        return Some(format!(
            "the period of `{name}` is {}; the nearest accepted is {nearest}",
            task.period()
        ));
    }
    (task.deadline() > task.period()).then(|| {
        format!(
            "the deadline of `{name}` is {}, after the end of its period; the nearest accepted is {}",
            task.deadline(),
            task.period()
        )
    })
}

/// Whether the kernel admits a total bandwidth on `cpus` CPUs of a capacity.
pub const fn admits(total: u64, cpus: u64, capacity: u64) -> bool {
    total <= capacity * cpus
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_counts_bandwidth_only() {
        let ms = Nanos::from_millis;
        let whole = Task::new("whole", ms(100), ms(100)).unwrap();
        assert!(!admits(bandwidth(&whole), 1, capacity(90)), "100 % of one CPU");
        assert!(admits(bandwidth(&whole), 2, capacity(90)), "100 % of the 180 % of two CPUs");
        // As measured: an exclusive CPU of 90 % admits 90 % and refuses 90.1 %.
        let most = Task::new("most", ms(90), ms(100)).unwrap();
        assert!(admits(bandwidth(&most), 1, capacity(90)));
        let above = Task::new("above", Nanos::from_micros(90_100), ms(100)).unwrap();
        assert!(!admits(bandwidth(&above), 1, capacity(90)));
    }

    #[test]
    fn parameters_out_of_range_name_the_nearest_value() {
        let ms = Nanos::from_millis;
        let slow = Task::new("slow", ms(1), ms(5000)).unwrap();
        assert_eq!(
            refused(&slow).unwrap(),
            "the period of `slow` is 5s; the nearest accepted is 4194.304ms"
        );
        let short = Task::new("short", Nanos::from_nanos(900), ms(1)).unwrap();
        assert!(refused(&short).unwrap().ends_with("the least is 1.024us"));
        let late = Task::new("late", ms(1), ms(5)).unwrap().with_deadline(ms(8)).unwrap();
        assert!(refused(&late).unwrap().ends_with("the nearest accepted is 5ms"));
        assert_eq!(refused(&Task::new("good", ms(1), ms(5)).unwrap()), None);
    }
}
