//! The scheduler: what it holds back, and what else it has to run.

use tactus_model::facts::MachineFacts;
use tactus_model::time::Nanos;

use super::{container, on_machine, percent};
use crate::finding::{Check, Finding};

pub(crate) const QUOTA: Check = Check {
    name: "cgroup quota",
    why: "A group that has used up its quota stops until the next period, ordinary tasks in it included.",
};

pub(crate) const THROTTLING: Check = Check {
    name: "real-time throttling",
    why: "It keeps a part of each CPU from real-time tasks, so that one that never sleeps cannot take the machine away.",
};

pub(crate) const FAIR_SERVER: Check = Check {
    name: "fair server",
    why: "Newer kernels (6.12) give ordinary tasks that starve a part of each CPU, real-time tasks or not.",
};

pub(crate) const OTHERS: Check = Check {
    name: "other real-time tasks",
    why: "They go before all ordinary tasks, and before measured ones of lower priority.",
};

pub(crate) const RECORDINGS: Check = Check {
    name: "other recordings",
    why: "While Tactus records what the kernel does, every event costs time where it happens.",
};

pub(crate) const SLACK: Check = Check {
    name: "timer slack",
    why: "The kernel delays timers of ordinary tasks by so much, to let several expire together.",
};

pub(crate) const AUTOGROUP: Check = Check {
    name: "autogroup",
    why: "The scheduler shares CPUs among sessions before it looks at nice values.",
};

pub(crate) const LOAD: Check = Check { name: "load now", why: "What else runs is measured too." };

pub(crate) const CPUS: Check =
    Check { name: "allowed CPUs", why: "Only on these can anything be measured from here." };

/// The slack that the kernel gives to every task.
const USUAL_SLACK: Nanos = Nanos::from_micros(50);

/// From here on a CPU's worth of other work has run in the last minute.
const BUSY: f64 = 1.0;

pub(super) fn examine(facts: &MachineFacts) -> Vec<Finding> {
    vec![
        quota(facts),
        throttling(facts),
        fair_server(facts),
        others(facts),
        recordings(facts),
        cpus(facts),
        load(facts),
        slack(facts),
        autogroup(facts),
    ]
}

fn quota(facts: &MachineFacts) -> Finding {
    let cgroup = &facts.cgroup;
    let (quota, period) = match (cgroup.quota_us, cgroup.quota_period_us) {
        (None, _) => return QUOTA.unknown("this process's cgroup cannot be found"),
        (Some(-1), _) => return QUOTA.fine("none"),
        (Some(quota), Some(period)) if period > 0 => (quota as f64, period as f64),
        _ => return QUOTA.unknown("the quota's period cannot be read"),
    };
    let (share, period_ms) = (quota / period, period / 1000.0);
    let fact = format!("{share:.2} CPUs ({} ms of each {period_ms} ms)", quota / 1000.0);
    let found = if share < 1.0 {
        QUOTA.invalidates(
            fact,
            format!(
                "A single busy task is stopped for {:.1} ms of each {period_ms} ms; such pauses \
                 are the quota's and not the machine's.",
                (1.0 - share) * period_ms
            ),
        )
    } else {
        QUOTA.warning(
            fact,
            format!(
                "When loads use more, everything here stops until the next {period_ms} ms begin; \
                 such pauses are the quota's and not the machine's."
            ),
        )
    };
    let fix = match (container(facts), &cgroup.cpu_directory, cgroup.version) {
        (Some(name @ ("docker" | "podman")), ..) => {
            format!("{name} run without --cpus and --cpu-quota")
        }
        (Some("kubernetes"), ..) => {
            "take resources.limits.cpu out of the pod's container".to_owned()
        }
        (Some(_), ..) => "start the container without a quota of CPU time".to_owned(),
        (None, Some(directory), Some(1)) => {
            format!("echo -1 | sudo tee {directory}/cpu.cfs_quota_us  # or in a group above it")
        }
        (None, Some(directory), _) => {
            format!("echo max | sudo tee {directory}/cpu.max  # or in a group above it")
        }
        (None, None, _) => return found,
    };
    found.fixed_by(fix)
}

fn throttling(facts: &MachineFacts) -> Finding {
    let scheduling = &facts.scheduling;
    match (scheduling.rt_runtime_us, scheduling.rt_period_us) {
        (Some(-1), _) => THROTTLING
            .warning(
                "off",
                "Figures are not affected, but a real-time task that never sleeps freezes its CPU for good.",
            )
            .fixed_by(on_machine(facts, "sudo sysctl kernel.sched_rt_runtime_us=950000")),
        (Some(runtime), Some(period)) if period > 0 => THROTTLING.fine(format!(
            "{} for real-time tasks; only those that never sleep meet the limit",
            percent(runtime, period)
        )),
        _ => THROTTLING.unknown("sched_rt_runtime_us cannot be read"),
    }
}

fn fair_server(facts: &MachineFacts) -> Finding {
    let scheduling = &facts.scheduling;
    match (scheduling.fair_server_runtime, scheduling.fair_server_period) {
        (Some(Nanos::ZERO), _) => FAIR_SERVER
            .warning(
                "off",
                "Figures are not affected, but a real-time task that never sleeps starves the ordinary \
                 tasks of its CPU, those of the kernel included.",
            )
            .fixed_by(on_machine(
                facts,
                "for cpu in /sys/kernel/debug/sched/fair_server/cpu*; do echo 50000000 | sudo tee $cpu/runtime; done",
            )),
        (Some(runtime), Some(period)) => FAIR_SERVER.fine(format!(
            "{runtime} of each {period}; only real-time tasks that never sleep meet it"
        )),
        _ => FAIR_SERVER.unknown(
            "/sys/kernel/debug/sched/fair_server is not there (before Linux 6.12) or cannot be read",
        ),
    }
}

fn others(facts: &MachineFacts) -> Finding {
    match facts.scheduling.realtime_tasks.as_deref() {
        None => OTHERS.unknown("not all processes can be seen from here"),
        Some([]) => OTHERS.fine("none"),
        Some(tasks) => OTHERS
            .warning(
                tasks.join(", "),
                "When they run, measured tasks of lower priority wait for them.",
            )
            .fixed_by(
                "end them, or make them ordinary: sudo chrt --other --all-tasks --pid 0 PID"
                    .to_owned(),
            ),
    }
}

fn recordings(facts: &MachineFacts) -> Finding {
    match facts.scheduling.recordings {
        None => RECORDINGS.unknown("not all processes can be seen from here"),
        Some(0) => RECORDINGS.fine("none"),
        Some(count) => RECORDINGS
            .warning(
                format!("{count} under way, by other processes of Tactus"),
                "Each wakeup takes some microseconds longer, real-time tasks' included.",
            )
            .fixed_by("wait for tactus record or tactus measure to end elsewhere".to_owned()),
    }
}

fn cpus(facts: &MachineFacts) -> Finding {
    let (Some(allowed), Some(online)) = (&facts.permission.allowed_cpus, &facts.cpu.online)
    else {
        return CPUS.unknown("this process's CPUs cannot be read");
    };
    let isolated = facts.cpu.isolated.clone().unwrap_or_default();
    let missing = online.without(allowed).without(&isolated);
    if missing.is_empty() {
        return CPUS.fine(allowed.to_string());
    }
    CPUS
        .warning(
            format!("{allowed} of {online}"),
            format!("Nothing is measured on {missing}, and loads do not run there."),
        )
        .fixed_by(match container(facts) {
            Some(name @ ("docker" | "podman")) => format!("{name} run without --cpuset-cpus"),
            Some(_) => "start the container without a cpuset".to_owned(),
            None => format!("taskset --cpu-list {online} tactus …  # as far as the cpuset allows"),
        })
}

fn load(facts: &MachineFacts) -> Finding {
    let Some([minute, ..]) = facts.load_average else {
        return LOAD.unknown("/proc/loadavg cannot be read");
    };
    let fact = format!("{minute:.2} tasks ran or waited for a disk in the last minute, on average");
    if minute < BUSY {
        return LOAD.fine(fact);
    }
    LOAD.warning(
        fact,
        "Something else is busy, so that even the idle load is none. Runs say what they found.",
    )
    .fixed_by("wait until the machine is quiet; top shows who is busy".to_owned())
}

fn slack(facts: &MachineFacts) -> Finding {
    let Some(slack) = facts.scheduling.timer_slack else {
        return SLACK.unknown("/proc/self/timerslack_ns cannot be read");
    };
    let fact = format!("{slack}; measuring sets its own (timer-slack)");
    if slack <= USUAL_SLACK {
        return SLACK.fine(fact);
    }
    SLACK
        .warning(
            fact,
            format!("Programs that set none of their own are woken up to {slack} late on purpose."),
        )
        .fixed_by("echo 0 > /proc/self/timerslack_ns  # in the shell that starts it".to_owned())
}

fn autogroup(facts: &MachineFacts) -> Finding {
    match facts.scheduling.autogroup {
        None => AUTOGROUP.unknown("sched_autogroup_enabled cannot be read"),
        Some(false) => AUTOGROUP.fine("off"),
        Some(true) => AUTOGROUP
            .warning(
                "on",
                "A nice value acts within a session only: an ordinary task of nice -20 gains \
                 nothing over a load in another session.",
            )
            .fixed_by(on_machine(facts, "sudo sysctl kernel.sched_autogroup_enabled=0")),
    }
}
