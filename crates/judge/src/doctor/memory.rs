//! Memory: causes of waiting for a page.

use tactus_model::facts::MachineFacts;

use super::{on_machine, permission};
use crate::finding::{Check, Finding};

pub(crate) const SWAP: Check =
    Check { name: "swap", why: "A task waits until its swapped-out page has been read back." };

pub(crate) const HUGE_PAGES: Check = Check {
    name: "transparent huge pages",
    why: "The kernel merges small pages into huge ones while programs run.",
};

pub(crate) const COMPACTION: Check = Check {
    name: "compaction of locked memory",
    why: "The kernel moves pages to make room for large ones; a task that touches one meanwhile waits.",
};

pub(super) fn examine(facts: &MachineFacts) -> Vec<Finding> {
    vec![swap(facts), huge_pages(facts), compaction(facts)]
}

fn compaction(facts: &MachineFacts) -> Finding {
    match facts.memory.compact_unevictable_allowed {
        None => COMPACTION.unknown("vm.compact_unevictable_allowed cannot be read"),
        Some(false) => COMPACTION.fine("not permitted"),
        Some(true) => COMPACTION
            .warning(
                "permitted",
                "A task with locked memory may still wait for a page that the kernel moves.",
            )
            .fixed_by(on_machine(facts, "sudo sysctl vm.compact_unevictable_allowed=0")),
    }
}

fn swap(facts: &MachineFacts) -> Finding {
    let size = match facts.memory.swap {
        None => return SWAP.unknown("/proc/meminfo cannot be read"),
        Some(0) => return SWAP.fine("none"),
        Some(bytes) => format!("{} MiB", bytes >> 20),
    };
    match permission::may_lock_memory(facts) {
        Some(true) => SWAP.fine(format!("{size}; Tactus locks its memory during measurements")),
        _ => SWAP
            .warning(
                format!("{size}, and memory cannot be locked"),
                "Under memory pressure, a wakeup may wait milliseconds for the disk.",
            )
            .fixed_by(on_machine(facts, "sudo swapoff -a")),
    }
}

fn huge_pages(facts: &MachineFacts) -> Finding {
    match facts.memory.transparent_huge_pages.as_deref() {
        None => HUGE_PAGES.unknown("the kernel does not show the setting"),
        Some("always") => HUGE_PAGES
            .warning(
                "always",
                "A page fault may clear or compact 2 MiB instead of 4 KiB, and khugepaged locks the \
                 address spaces that it merges.",
            )
            .fixed_by(on_machine(
                facts,
                "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
            )),
        Some(other) => HUGE_PAGES.fine(other),
    }
}
