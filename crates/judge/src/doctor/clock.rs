//! The clock that latencies are read from, and the timers that wake.

use tactus_model::facts::MachineFacts;

use super::{boot, on_machine};
use crate::finding::{Check, Finding};

pub(crate) const SOURCE: Check = Check {
    name: "clock source",
    why: "Every latency is the difference of two readings of this clock.",
};

pub(crate) const TIMERS: Check = Check {
    name: "high-resolution timers",
    why: "Without them a timer expires with the next tick, not at its time.",
};

pub(crate) const TICK: Check = Check {
    name: "tick rate",
    why: "With each tick the scheduler considers whether an ordinary task has run for long enough.",
};

/// Clock sources that user mode reads without a system call, on the architectures Linux has.
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

/// From here on a tick is long against what interactive work bears.
const SLOW_TICK_HZ: u32 = 100;

pub(super) fn examine(facts: &MachineFacts) -> Vec<Finding> {
    vec![source(facts), timers(facts), tick(facts)]
}

fn source(facts: &MachineFacts) -> Finding {
    let cpu = &facts.cpu;
    let Some(source) = cpu.clock_source.as_deref() else {
        return SOURCE.unknown("the kernel shows none");
    };
    if READ_IN_USER_MODE.contains(&source) {
        return SOURCE.fine(source);
    }
    let found = match source {
        "jiffies" | "refined-jiffies" => SOURCE.invalidates(
            source,
            "The clock moves on with the tick, so that latencies shorter than a tick read as zero.",
        ),
        _ => SOURCE.warning(
            source,
            "A reading is a system call and takes about a microsecond and more, which every latency contains.",
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
            "sudo dmesg | grep -iE 'tsc|clocksource'  # tells why no better one is trusted",
        ),
    }))
}

fn timers(facts: &MachineFacts) -> Finding {
    match facts.kernel.high_resolution_timers {
        Some(true) => TIMERS.fine("active"),
        Some(false) => {
            let found = TIMERS.invalidates(
                "off",
                "Every wakeup comes up to a tick late, whatever else the machine does.",
            );
            found.fixed_by(Some(match boot::value(facts, "highres") {
                Some("off") => "remove highres=off from the kernel's command line".to_owned(),
                _ => "run a kernel built with CONFIG_HIGH_RES_TIMERS=y".to_owned(),
            }))
        }
        None => TIMERS.unknown("neither the clock nor /proc/timer_list tells"),
    }
}

fn tick(facts: &MachineFacts) -> Finding {
    let Some(rate) = facts.kernel.tick_rate_hz.filter(|rate| *rate > 0) else {
        return TICK.unknown("the kernel's configuration cannot be read");
    };
    let length = (10_000.0 / f64::from(rate)).round() / 10.0;
    let idle = match boot::value(facts, "nohz") {
        Some("off") => ", on idle CPUs too",
        _ => "",
    };
    let fact = format!("{rate} Hz, a tick each {length} ms{idle}");
    if rate <= SLOW_TICK_HZ {
        TICK.warning(
            fact,
            format!(
                "An ordinary task may wait {length} ms until one that computes is taken off its \
                 CPU. Real-time tasks do not wait for the tick."
            ),
        )
        .fixed_by("run a kernel built with CONFIG_HZ=1000".to_owned())
    } else {
        TICK.fine(fact)
    }
}
