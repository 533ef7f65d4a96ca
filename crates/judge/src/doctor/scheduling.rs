//! The scheduler: its limits, and the other tasks it runs.

use tactus_model::facts::{ExclusiveCpuset, MachineFacts};
use tactus_model::format;
use tactus_model::time::Nanos;

use super::{container, on_machine, percent};
use crate::finding::{Check, Finding};

pub(crate) const QUOTA: Check = Check {
    name: "cgroup quota",
    why: "A cgroup that has used up its CPU quota stops until the next period.",
};

pub(crate) const THROTTLING: Check = Check {
    name: "real-time throttling",
    why: "Throttling limits real-time tasks to a part of each CPU, so a runaway task cannot freeze it.",
};

pub(crate) const FAIR_SERVER: Check = Check {
    name: "fair server",
    why: "Since Linux 6.12, starving ordinary tasks get a part of each CPU in spite of real-time tasks.",
};

pub(crate) const OTHERS: Check = Check {
    name: "other real-time tasks",
    why: "These tasks run before all ordinary tasks and before measured tasks of lower priority.",
};

pub(crate) const RECORDINGS: Check = Check {
    name: "other recordings",
    why: "While Tactus records kernel events, each event takes CPU time where it occurs.",
};

pub(crate) const LEFT: Check = Check {
    name: "left by killed runs",
    why: "A killed run may leave settings changed, or tracepoints enabled for the whole machine.",
};

pub(crate) const SLACK: Check = Check {
    name: "timer slack",
    why: "The kernel delays timers of ordinary tasks by up to the slack, so several expire together.",
};

pub(crate) const AUTOGROUP: Check = Check {
    name: "autogroup",
    why: "Autogroup divides CPU time among sessions before nice values apply.",
};

pub(crate) const LOAD: Check =
    Check { name: "load", why: "Other work on the machine delays measured tasks." };

pub(crate) const CPUS: Check =
    Check { name: "allowed CPUs", why: "This process can measure only on these CPUs." };

pub(crate) const CPUSETS: Check = Check {
    name: "cpusets",
    why: "A cpuset with CPUs of its own keeps the threads of other programs off them.",
};

/// The kernel's default timer slack.
const USUAL_SLACK: Nanos = Nanos::from_micros(50);

/// From this load average on, other work kept at least one CPU busy in the last minute.
const BUSY: f64 = 1.0;

pub(super) fn examine(facts: &MachineFacts) -> Vec<Finding> {
    vec![
        quota(facts),
        throttling(facts),
        fair_server(facts),
        others(facts),
        recordings(facts),
        left(facts),
        cpus(facts),
        cpusets(facts),
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
        _ => return QUOTA.unknown("the period of the quota cannot be read"),
    };
    let (share, period_ms) = (quota / period, period / 1000.0);
    let fact = format!("{share:.2} CPUs ({} ms of each {period_ms} ms)", quota / 1000.0);
    let found = if share < 1.0 {
        QUOTA.invalidates(
            fact,
            format!(
                "The quota stops a busy task for {:.1} ms of each {period_ms} ms. These pauses \
                 count as latency, but the machine does not cause them.",
                (1.0 - share) * period_ms
            ),
        )
    } else {
        QUOTA.warning(
            fact,
            format!(
                "If loads use more, the quota stops all tasks until the next period of \
                 {period_ms} ms. These pauses count as latency, but the machine does not cause them."
            ),
        )
    };
    let fix = match (container(facts), &cgroup.cpu_directory, cgroup.version) {
        (Some(name @ ("docker" | "podman")), ..) => {
            format!("{name} run without --cpus and --cpu-quota")
        }
        (Some("kubernetes"), ..) => {
            "remove resources.limits.cpu from the pod's container".to_owned()
        }
        (Some(_), ..) => "start the container without a CPU quota".to_owned(),
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
                "Figures are not affected, but a real-time task that never sleeps freezes its CPU.",
            )
            .fixed_by(on_machine(facts, "sudo sysctl kernel.sched_rt_runtime_us=950000")),
        (Some(runtime), Some(period)) if period > 0 => THROTTLING.fine(format!(
            "{} for real-time tasks; only tasks that never sleep reach the limit",
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
                "Figures are not affected, but a real-time task that never sleeps starves the \
                 ordinary tasks of its CPU, including kernel threads.",
            )
            .fixed_by(on_machine(
                facts,
                "for cpu in /sys/kernel/debug/sched/fair_server/cpu*; do echo 50000000 | sudo tee $cpu/runtime; done",
            )),
        (Some(runtime), Some(period)) => FAIR_SERVER.fine(format!(
            "{} of each {}; it delays only real-time tasks that never sleep",
            format::axis_length(runtime),
            format::axis_length(period)
        )),
        _ => FAIR_SERVER.unknown(
            "/sys/kernel/debug/sched/fair_server is missing (before Linux 6.12) or cannot be read",
        ),
    }
}

fn others(facts: &MachineFacts) -> Finding {
    match facts.scheduling.realtime_tasks.as_deref() {
        None => OTHERS.unknown("this process cannot see all processes"),
        Some([]) => OTHERS.fine("none"),
        Some(tasks) => OTHERS
            .warning(
                tasks.join(", "),
                "Measured tasks of lower priority wait while these tasks run.",
            )
            .fixed_by(
                "end them, or make each ordinary: sudo chrt --other --pid 0 NUMBER; to list the numbers: \
                 ps -eLo tid,class,rtprio,comm"
                    .to_owned(),
            ),
    }
}

fn recordings(facts: &MachineFacts) -> Finding {
    match facts.scheduling.recordings {
        None => RECORDINGS.unknown("this process cannot see all processes"),
        Some(0) => RECORDINGS.fine("none"),
        Some(count) => RECORDINGS
            .warning(
                format!("{count} by other Tactus processes"),
                "Each wakeup takes a few microseconds longer, also for real-time tasks.",
            )
            .fixed_by("wait until the other tactus record or tactus measure ends".to_owned()),
    }
}

fn left(facts: &MachineFacts) -> Finding {
    match &facts.scheduling.left_behind {
        None => LEFT.unknown("only root can see it"),
        Some(left) if left.is_empty() => LEFT.fine("nothing"),
        Some(left) => LEFT
            .warning(
                left.join(", "),
                "These settings wait for their old values, and the tracepoints of these instances \
                 slow every program. The next measurement restores the settings and removes the \
                 instances.",
            )
            .fixed_by("sudo tactus measure --load idle --duration 1s".to_owned()),
    }
}

fn cpus(facts: &MachineFacts) -> Finding {
    let (Some(allowed), Some(online)) = (&facts.permission.allowed_cpus, &facts.cpu.online) else {
        return CPUS.unknown("this process's CPUs cannot be read");
    };
    let isolated = facts.cpu.isolated.clone().unwrap_or_default();
    let missing = online.without(allowed).without(&isolated);
    if missing.is_empty() {
        return CPUS.fine(allowed.to_string());
    }
    CPUS.warning(
        format!("{allowed} of {online}"),
        format!("Probes and loads do not run on {missing}."),
    )
    .fixed_by(match container(facts) {
        Some(name @ ("docker" | "podman")) => format!("{name} run without --cpuset-cpus"),
        Some(_) => "start the container without a cpuset".to_owned(),
        None => format!("taskset --cpu-list {online} tactus …  # if the cpuset allows it"),
    })
}

fn cpusets(facts: &MachineFacts) -> Finding {
    let Some(cpusets) = facts.cgroup.exclusive_cpusets.as_deref() else {
        return CPUSETS.unknown("no control groups with the controller `cpuset` can be seen");
    };
    let in_words = |one: &ExclusiveCpuset| format!("{} has CPUs {}", one.directory, one.cpus);
    let Some(void) = cpusets.iter().find(|one| !one.is_in_effect()) else {
        let all: Vec<String> = cpusets.iter().map(in_words).collect();
        return CPUSETS.fine(match &all[..] {
            [] => "no cpuset has CPUs of its own".to_owned(),
            all => all.join(", "),
        });
    };
    let cpus = &void.cpus;
    let found = CPUSETS.warning(
        format!("{}, but is not in effect: {}", in_words(void), void.state),
        format!(
            "The kernel runs other programs on {cpus} too, and refuses deadline threads there."
        ),
    );
    found.fixed_by(match (&*void.state, void.directory.rsplit_once('/')) {
        ("balanced", Some((above, _))) => {
            on_machine(facts, &format!("echo 0 | sudo tee {above}/cpuset.sched_load_balance"))
        }
        _ => on_machine(
            facts,
            &format!(
                "echo root | sudo tee {}/cpuset.cpus.partition  # when no other cpuset has its CPUs",
                void.directory
            ),
        ),
    })
}

fn load(facts: &MachineFacts) -> Finding {
    let Some([minute, ..]) = facts.load_average else {
        return LOAD.unknown("/proc/loadavg cannot be read");
    };
    let fact = format!("{minute:.2} tasks on average ran or waited for I/O in the minute before");
    if minute < BUSY {
        return LOAD.fine(fact);
    }
    LOAD.warning(fact, "Other programs compete with the measured tasks for the CPUs.")
        .fixed_by("wait until the machine is quiet; `top` shows the busy programs".to_owned())
}

fn slack(facts: &MachineFacts) -> Finding {
    let Some(slack) = facts.scheduling.timer_slack else {
        return SLACK.unknown("/proc/self/timerslack_ns cannot be read");
    };
    let slack_in_words = format::axis_length(slack);
    let fact = format!("{slack_in_words}; probes set their own (`--timer-slack`)");
    if slack <= USUAL_SLACK {
        return SLACK.fine(fact);
    }
    SLACK
        .warning(
            fact,
            format!(
                "The kernel wakes programs that set no slack of their own up to {slack_in_words} late."
            ),
        )
        .fixed_by(
            "echo 0 > /proc/self/timerslack_ns  # in the shell that starts the program".to_owned(),
        )
}

pub(crate) fn autogroup(facts: &MachineFacts) -> Finding {
    match facts.scheduling.autogroup {
        None => AUTOGROUP.unknown("sched_autogroup_enabled cannot be read"),
        Some(false) => AUTOGROUP.fine("off"),
        Some(true) => AUTOGROUP
            .warning(
                "on",
                "Nice values apply only within a session: a task of nice -20 has no advantage over \
                 a load in another session.",
            )
            .fixed_by(on_machine(facts, "sudo sysctl kernel.sched_autogroup_enabled=0")),
    }
}
