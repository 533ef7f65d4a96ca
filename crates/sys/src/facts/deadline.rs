//! The bandwidth that the deadline class has reserved.
//!
//! The kernel's own account is in `/sys/kernel/debug/sched/debug` (`kernel/sched/debug.c`);
//! if it cannot be read, the `sched` files of deadline tasks show their parameters.

use super::Tree;

/// The unit in which the kernel counts bandwidth: this fraction of a CPU (`BW_SHIFT`,
/// `kernel/sched/sched.h`).
const BANDWIDTH_UNIT: u64 = 1 << 20;

/// Millionths of a CPU that are reserved in the root domain of the first CPU, including
/// fair servers; `None` if the kernel's account cannot be read.
pub(super) fn reserved_ppm(tree: &Tree<'_>) -> Option<u64> {
    // The first CPU's part comes first, and one CPU is enough.
    let account = tree.beginning("sys/kernel/debug/sched/debug", FIRST_PART)?;
    let bandwidth: u64 = account
        .lines()
        .find_map(|line| line.trim().strip_prefix(".dl_bw->total_bw")?.trim().strip_prefix(':'))?
        .trim()
        .parse()
        .ok()?;
    bandwidth.checked_mul(1_000_000)?.checked_div(BANDWIDTH_UNIT)
}

/// How many bytes of the account hold the first CPU's part, unless there are very many
/// groups.
const FIRST_PART: u64 = 256 << 10;

/// The maximum bandwidth that a task may have reserved, in millionths of a CPU, from
/// its `sched` file.
///
/// The file has the runtime and the deadline but not the period. Admission counts
/// runtime over period, which is never more than runtime over deadline.
pub(super) fn task_ppm(tree: &Tree<'_>, directory: &str) -> Option<u64> {
    let text = tree.text(&format!("{directory}/sched"))?;
    let value = |name| -> Option<u64> {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(name))?;
        line.trim().strip_prefix(':')?.trim().parse().ok()
    };
    value("dl.runtime")?.checked_mul(1_000_000)?.checked_div(value("dl.deadline")?)
}
