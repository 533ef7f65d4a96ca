//! What the deadline class has reserved.
//!
//! The kernel's own account is in `/sys/kernel/debug/sched/debug`
//! (`kernel/sched/debug.c`); where that cannot be read, the tasks of the class tell theirs.

use super::Tree;

/// The kernel counts bandwidth in parts of so many of a processor (`BW_SHIFT`, `kernel/sched/sched.h`).
const BANDWIDTH_UNIT: u64 = 1 << 20;

/// Millionths of a processor that are reserved in the root domain of the first
/// processor, fair servers included; `None` where the kernel's account cannot be read.
pub(super) fn reserved_ppm(tree: &Tree<'_>) -> Option<u64> {
    // The first processor's part comes first and is enough.
    let account = tree.beginning("sys/kernel/debug/sched/debug", FIRST_PART)?;
    let bandwidth: u64 = account
        .lines()
        .find_map(|line| line.trim().strip_prefix(".dl_bw->total_bw")?.trim().strip_prefix(':'))?
        .trim()
        .parse()
        .ok()?;
    bandwidth.checked_mul(1_000_000)?.checked_div(BANDWIDTH_UNIT)
}

/// Bytes of the account that hold the first processor's part, unless it has very many groups.
const FIRST_PART: u64 = 256 << 10;

/// The millionths of a processor that a task has reserved at most, from its `sched` file.
///
/// The file tells runtime and deadline and no period; admission counts runtime over
/// period, which is never more than runtime over deadline.
pub(super) fn task_ppm(tree: &Tree<'_>, directory: &str) -> Option<u64> {
    let text = tree.text(&format!("{directory}/sched"))?;
    let value = |name| -> Option<u64> {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(name))?;
        line.trim().strip_prefix(':')?.trim().parse().ok()
    };
    value("dl.runtime")?.checked_mul(1_000_000)?.checked_div(value("dl.deadline")?)
}
