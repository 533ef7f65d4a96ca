//! The kernel: where it lets itself be preempted, and what it runs of its own accord.

use tactus_model::facts::MachineFacts;

use super::{boot, on_machine};
use crate::finding::{Check, Finding};

pub(crate) const PREEMPTION: Check = Check {
    name: "preemption model",
    why: "It decides how long a task in the kernel can keep an urgent one waiting.",
};

pub(crate) const THREADED: Check = Check {
    name: "interrupt threads",
    why: "A handler that is no thread runs before every task, whatever the task's priority.",
};

pub(crate) const WATCHDOGS: Check = Check {
    name: "watchdogs",
    why: "They look at each CPU from time to time whether it still makes progress.",
};

pub(crate) const DEBUGGING: Check = Check {
    name: "kernel debugging",
    why: "A kernel that was built to find defects checks itself on every lock or access.",
};

pub(super) fn examine(facts: &MachineFacts) -> Vec<Finding> {
    vec![preemption(facts), threaded(facts), watchdogs(facts), debugging(facts)]
}

fn debugging(facts: &MachineFacts) -> Finding {
    match facts.kernel.debugging_options.as_deref() {
        None => DEBUGGING.unknown("the kernel's configuration cannot be read"),
        Some([]) => DEBUGGING.fine("no option that slows all of it"),
        Some(options) => DEBUGGING
            .warning(
                options.join(", "),
                "Everything the kernel does takes longer, several times as long in places: wakeups \
                 are later than those of the same kernel without.",
            )
            .fixed_by("run a kernel built without these options".to_owned()),
    }
}

fn preemption(facts: &MachineFacts) -> Finding {
    let effect = match facts.kernel.preemption.as_deref() {
        None => {
            return PREEMPTION
                .unknown("the kernel's version does not tell, and its configuration cannot be read")
                .fixed_by(on_machine(facts, "sudo cat /sys/kernel/debug/sched/preempt"));
        }
        Some("rt") => return PREEMPTION.fine("rt: everywhere, handlers and most locks included"),
        Some("full") => return PREEMPTION.fine("full: everywhere but under spinlocks"),
        Some("lazy") => {
            return PREEMPTION
                .fine("lazy: at once for real-time tasks, at the next tick for ordinary ones");
        }
        Some("voluntary") => {
            "A system call of another task delays even a real-time task until it comes to a \
             place where the kernel offers to let go."
        }
        Some(_) => {
            "A system call of another task delays even a real-time task until it ends or sleeps."
        }
    };
    let fact = facts.kernel.preemption.clone().unwrap_or_default();
    let choice = facts.kernel.version.as_deref().is_some_and(|text| text.contains("DYNAMIC"));
    let fix = if choice {
        on_machine(
            facts,
            "echo full | sudo tee /sys/kernel/debug/sched/preempt  # until the next boot; for good: preempt=full on the kernel's command line",
        )
    } else {
        "run a kernel built with CONFIG_PREEMPT=y, or a PREEMPT_RT one".to_owned()
    };
    PREEMPTION.warning(fact, effect).fixed_by(fix)
}

fn threaded(facts: &MachineFacts) -> Finding {
    if facts.kernel.preemption.as_deref() == Some("rt") {
        return THREADED.fine("all handlers are threads (PREEMPT_RT)");
    }
    match boot::has(facts, "threadirqs") {
        Some(true) => THREADED.fine("all handlers are threads (threadirqs)"),
        // So it is on every kernel that nobody changed, and most handlers are short.
        Some(false) => THREADED.fine("handlers of devices run before every task, as usual"),
        None => THREADED.unknown("the kernel's command line cannot be read"),
    }
}

fn watchdogs(facts: &MachineFacts) -> Finding {
    match (facts.kernel.nmi_watchdog, facts.kernel.soft_watchdog) {
        (Some(true), _) => WATCHDOGS
            .warning(
                "by unmaskable interrupts (nmi_watchdog)",
                "Each CPU is interrupted about once in ten seconds, real-time tasks included, \
                 and one of its performance counters is taken.",
            )
            .fixed_by(on_machine(facts, "sudo sysctl kernel.nmi_watchdog=0")),
        (_, Some(true)) => {
            WATCHDOGS.fine("by a task of the highest priority, for moments each four seconds")
        }
        (Some(false), _) | (_, Some(false)) => WATCHDOGS.fine("none"),
        (None, None) => WATCHDOGS.unknown("neither nmi_watchdog nor soft_watchdog is shown"),
    }
}
