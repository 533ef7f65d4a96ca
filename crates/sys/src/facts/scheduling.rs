//! The scheduler's settings.

use std::path::Path;
use std::sync::OnceLock;

use tactus_model::facts::SchedulingFacts;
use tactus_model::time::Nanos;

use super::process::Programs;
use super::{Tree, deadline};

pub(super) fn read(tree: &Tree<'_>, programs: Programs) -> SchedulingFacts {
    let accounts = deadline::accounts(tree);
    let [rt_runtime_us, rt_period_us] = realtime_limit(tree);
    SchedulingFacts {
        rt_period_us,
        rr_timeslice_ms: tree.value("proc/sys/kernel/sched_rr_timeslice_ms"),
        deadline_period_min_us: tree.value("proc/sys/kernel/sched_deadline_period_min_us"),
        deadline_period_max_us: tree.value("proc/sys/kernel/sched_deadline_period_max_us"),
        autogroup: tree
            .flag("proc/sys/kernel/sched_autogroup_enabled")
            // If the neighbouring file exists and this one does not, the kernel was
            // built without it.
            .or_else(|| rt_runtime_us.map(|_| false)),
        rt_runtime_us,
        timer_slack: tree.value("proc/self/timerslack_ns").map(Nanos::from_nanos),
        irqbalance: programs.irqbalance,
        realtime_tasks: programs.realtime_tasks,
        recordings: programs.recordings,
        fair_server_runtime: fair_server(tree, "runtime"),
        fair_server_period: fair_server(tree, "period"),
        deadline_tasks: programs.deadline_tasks,
        deadline_reserved_ppm: deadline::reserved_ppm(accounts.as_deref())
            .or(programs.deadline_ppm),
        deadline_threads_ppm: programs.deadline_threads_ppm,
        throttled_threads: programs.throttled_threads,
        deadline_accounts: accounts,
        left_behind: None,
    }
}

/// `sched_rt_runtime_us` and `sched_rt_period_us` in microseconds, as this process read them first.
///
/// Linux since 6.17 (6.18 still) rebuilds all scheduling domains at each read of these files, not
/// only at a write (`sched_rt_handler` in kernel/sched/rt.c). That disturbs all CPUs, and takes the
/// bandwidth of each thread that left the deadline class less than a period ago from the account
/// twice. So a process reads them once.
fn realtime_limit(tree: &Tree<'_>) -> [Option<i64>; 2] {
    static OF_THIS_MACHINE: OnceLock<[Option<i64>; 2]> = OnceLock::new();
    let read = || {
        ["proc/sys/kernel/sched_rt_runtime_us", "proc/sys/kernel/sched_rt_period_us"]
            .map(|path| tree.value(path))
    };
    if tree.root() == Path::new("/") { *OF_THIS_MACHINE.get_or_init(read) } else { read() }
}

/// A parameter of the fair server, the minimum over all CPUs: ordinary threads starve
/// first on the CPU with the least runtime.
fn fair_server(tree: &Tree<'_>, file: &str) -> Option<Nanos> {
    let servers = tree.numbered("sys/kernel/debug/sched/fair_server", "cpu")?;
    servers
        .iter()
        .filter_map(|server| tree.value(&format!("{server}/{file}")))
        .min()
        .map(Nanos::from_nanos)
}
