//! The clock that latencies are read from, and the timers that wake tasks.

use tactus_model::facts::MachineFacts;

use super::{boot, on_machine};
use crate::finding::{Check, Finding};

pub(crate) const SOURCE: Check = Check {
    name: "clock source",
    why: "Every latency is the difference between two readings of this clock.",
};

pub(crate) const TIMERS: Check = Check {
    name: "high-resolution timers",
    why: "Without them, a timer expires at the next tick, not at its own time.",
};

pub(crate) const TICK: Check = Check {
    name: "tick rate",
    why: "At each tick, the scheduler decides whether an ordinary task has used up its slice.",
};

/// Clock sources that user mode reads without a system call, on all architectures of Linux.
const READ_IN_USER_MODE: [&str; 8] = [
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
    "arch_mem_counter",
    "riscv_clocksource",
    "timebase",
    "tod",
];

/// Up to this rate, a tick is long for interactive work.
const SLOW_TICK_HZ: u32 = 100;

pub(super) fn examine(facts: &MachineFacts) -> Vec<Finding> {
    vec![source(facts), timers(facts), tick(facts)]
}

fn source(facts: &MachineFacts) -> Finding {
    let cpu = &facts.cpu;
    let Some(source) = cpu.clock_source.as_deref() else {
        return SOURCE.unknown("the kernel does not show it");
    };
    if READ_IN_USER_MODE.contains(&source) {
        return SOURCE.fine(source);
    }
    let found = match source {
        "jiffies" | "refined-jiffies" => SOURCE.invalidates(
            source,
            "The clock advances only at ticks, so latencies shorter than a tick read as zero.",
        ),
        _ => SOURCE.warning(
            source,
            "Each reading is a system call of a microsecond or more, and every latency includes it.",
        ),
    };
    let trusted = cpu.available_clock_sources.as_deref().unwrap_or_default();
    let better = trusted.iter().find(|name| READ_IN_USER_MODE.contains(&name.as_str()));
    found.fixed_by(Some(match better {
        Some(name) => on_machine(
            facts,
            &format!(
                "echo {name} | sudo tee \
                 /sys/devices/system/clocksource/clocksource0/current_clocksource"
            ),
        ),
        None => on_machine(
            facts,
            "sudo dmesg | grep -iE 'tsc|clocksource'  # shows why the kernel trusts no better clock",
        ),
    }))
}

fn timers(facts: &MachineFacts) -> Finding {
    match facts.kernel.high_resolution_timers {
        Some(true) => TIMERS.fine("active"),
        Some(false) => {
            let found = TIMERS
                .invalidates("off", "Every wakeup is up to a tick late, even on an idle machine.");
            found.fixed_by(Some(match boot::value(facts, "highres") {
                Some("off") => "remove highres=off from the kernel's command line".to_owned(),
                _ => "run a kernel built with CONFIG_HIGH_RES_TIMERS=y".to_owned(),
            }))
        }
        None => TIMERS.unknown("neither the clock nor /proc/timer_list shows it"),
    }
}

fn tick(facts: &MachineFacts) -> Finding {
    let Some(rate) = facts.kernel.tick_rate_hz.filter(|rate| *rate > 0) else {
        return TICK.unknown("the kernel's configuration cannot be read");
    };
    let length = (10_000.0 / f64::from(rate)).round() / 10.0;
    let idle = match boot::value(facts, "nohz") {
        Some("off") => ", also on idle CPUs",
        _ => "",
    };
    let fact = format!("{rate} Hz, a tick every {length} ms{idle}");
    if rate <= SLOW_TICK_HZ {
        TICK.warning(
            fact,
            format!(
                "An ordinary task may wait {length} ms until the scheduler preempts another busy \
                 ordinary task. Real-time tasks do not wait for the tick."
            ),
        )
        .fixed_by("run a kernel built with CONFIG_HZ=1000".to_owned())
    } else {
        TICK.fine(fact)
    }
}
