//! The scheduler's settings.

use tactus_model::facts::SchedulingFacts;
use tactus_model::time::Nanos;

use super::Tree;
use super::process::Programs;

pub(super) fn read(tree: &Tree<'_>, programs: Programs) -> SchedulingFacts {
    let rt_runtime_us = tree.value("proc/sys/kernel/sched_rt_runtime_us");
    SchedulingFacts {
        rt_period_us: tree.value("proc/sys/kernel/sched_rt_period_us"),
        rr_timeslice_ms: tree.value("proc/sys/kernel/sched_rr_timeslice_ms"),
        deadline_period_min_us: tree.value("proc/sys/kernel/sched_deadline_period_min_us"),
        deadline_period_max_us: tree.value("proc/sys/kernel/sched_deadline_period_max_us"),
        autogroup: tree
            .flag("proc/sys/kernel/sched_autogroup_enabled")
            // Where its neighbour is and it is not, the kernel was built without.
            .or_else(|| rt_runtime_us.map(|_: i64| false)),
        rt_runtime_us,
        timer_slack: tree.value("proc/self/timerslack_ns").map(Nanos::from_nanos),
        irqbalance: programs.irqbalance,
        realtime_tasks: programs.realtime_tasks,
        recordings: programs.recordings,
    }
}
