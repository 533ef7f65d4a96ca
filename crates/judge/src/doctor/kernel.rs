//! The kernel: its preemption, IRQ threads, watchdogs and debugging options.

use tactus_model::facts::MachineFacts;
use tactus_permission::END_OF_LOCKDOWN;

use super::{boot, on_machine};
use crate::finding::{Check, Finding};

pub(crate) const PREEMPTION: Check = Check {
    name: "preemption model",
    why: "The model decides how long a task in the kernel can delay a more urgent task.",
};

pub(crate) const THREADED: Check = Check {
    name: "interrupt threads",
    why: "A non-threaded IRQ handler runs before every task, whatever its priority.",
};

pub(crate) const WATCHDOGS: Check = Check {
    name: "watchdogs",
    why: "Watchdogs check periodically whether each CPU still makes progress.",
};

pub(crate) const DEBUGGING: Check = Check {
    name: "kernel debugging",
    why: "A kernel built to find bugs checks every lock or memory access.",
};

pub(crate) const LOCKDOWN: Check = Check {
    name: "kernel lockdown",
    why: "Lockdown refuses even root what could change the running kernel, or read its memory.",
};

pub(super) fn examine(facts: &MachineFacts) -> Vec<Finding> {
    vec![preemption(facts), threaded(facts), watchdogs(facts), debugging(facts), lockdown(facts)]
}

/// What lockdown refuses of what Tactus does: debugfs (`LOCKDOWN_DEBUGFS`) from `integrity` on, and
/// tracefs (`LOCKDOWN_TRACEFS`) with `confidentiality`.
fn lockdown(facts: &MachineFacts) -> Finding {
    let effect = match facts.kernel.lockdown.as_deref() {
        None => return LOCKDOWN.unknown("securityfs cannot be read"),
        Some("none") => return LOCKDOWN.fine("none"),
        Some("confidentiality") => {
            "Kernel events cannot be recorded, so causes of lateness are not explained, and settings \
             in debugfs, e.g. the quantum of ordinary tasks, can be neither read nor changed."
        }
        Some(_) => {
            "Settings in debugfs, e.g. the preemption model, the fair server and the quantum of \
             ordinary tasks, can be neither read nor changed."
        }
    };
    let level = facts.kernel.lockdown.clone().unwrap_or_default();
    LOCKDOWN.warning(level, effect).fixed_by(on_machine(facts, END_OF_LOCKDOWN))
}

fn debugging(facts: &MachineFacts) -> Finding {
    match facts.kernel.debugging_options.as_deref() {
        None => DEBUGGING.unknown("the kernel's configuration cannot be read"),
        Some([]) => DEBUGGING.fine("no option that slows the whole kernel"),
        Some(options) => DEBUGGING
            .warning(
                options.join(", "),
                "The whole kernel is slower, in places several times: wakeups are later than \
                 with the same kernel without these options.",
            )
            .fixed_by("run a kernel built without these options".to_owned()),
    }
}

fn preemption(facts: &MachineFacts) -> Finding {
    let effect = match facts.kernel.preemption.as_deref() {
        None => {
            return PREEMPTION
                .unknown(
                    "the kernel's version does not show it, and its configuration cannot be read",
                )
                .fixed_by(on_machine(facts, "sudo cat /sys/kernel/debug/sched/preempt"));
        }
        Some("rt") => {
            return PREEMPTION.fine("rt: everywhere, including IRQ handlers and most locks");
        }
        Some("full") => return PREEMPTION.fine("full: everywhere except under spinlocks"),
        Some("lazy") => {
            return PREEMPTION
                .fine("lazy: at once for real-time tasks, at the next tick for ordinary ones");
        }
        Some("voluntary") => {
            "A system call of another task delays even a real-time task until the next \
             voluntary preemption point."
        }
        Some(_) => {
            "A system call of another task delays even a real-time task until the call returns or sleeps."
        }
    };
    let fact = facts.kernel.preemption.clone().unwrap_or_default();
    let choice = facts.kernel.version.as_deref().is_some_and(|text| text.contains("DYNAMIC"));
    let fix = if choice {
        on_machine(
            facts,
            "echo full | sudo tee /sys/kernel/debug/sched/preempt  # until the next boot; permanently: preempt=full on the kernel's command line",
        )
    } else {
        "run a kernel built with CONFIG_PREEMPT=y, or a PREEMPT_RT one".to_owned()
    };
    PREEMPTION.warning(fact, effect).fixed_by(fix)
}

fn threaded(facts: &MachineFacts) -> Finding {
    if facts.kernel.preemption.as_deref() == Some("rt") {
        return THREADED.fine("all IRQ handlers are threads (PREEMPT_RT)");
    }
    match boot::has(facts, "threadirqs") {
        Some(true) => THREADED.fine("all IRQ handlers are threads (threadirqs)"),
        // This is the default of every kernel, and most handlers are short.
        Some(false) => THREADED.fine("device IRQ handlers run before every task, the default"),
        None => THREADED.unknown("the kernel's command line cannot be read"),
    }
}

fn watchdogs(facts: &MachineFacts) -> Finding {
    match (facts.kernel.nmi_watchdog, facts.kernel.soft_watchdog) {
        (Some(true), _) => WATCHDOGS
            .warning(
                "by non-maskable interrupts (nmi_watchdog)",
                "An NMI interrupts each CPU about every ten seconds, including its real-time \
                 tasks, and the watchdog uses one performance counter.",
            )
            .fixed_by(on_machine(facts, "sudo sysctl kernel.nmi_watchdog=0")),
        (_, Some(true)) => {
            WATCHDOGS.fine("by a task of the highest priority, briefly every four seconds")
        }
        (Some(false), _) | (_, Some(false)) => WATCHDOGS.fine("none"),
        (None, None) => WATCHDOGS.unknown("neither nmi_watchdog nor soft_watchdog is shown"),
    }
}
