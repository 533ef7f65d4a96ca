//! Memory.

use tactus_model::facts::MemoryFacts;

use super::Tree;
use super::kernel::chosen;

pub(super) fn read(tree: &Tree<'_>) -> MemoryFacts {
    let meminfo = tree.text("proc/meminfo").unwrap_or_default();
    MemoryFacts {
        total: kilobytes(&meminfo, "MemTotal"),
        swap: kilobytes(&meminfo, "SwapTotal"),
        transparent_huge_pages: tree
            .text("sys/kernel/mm/transparent_hugepage/enabled")
            .and_then(|text| chosen(&text)),
        compact_unevictable_allowed: tree.flag("proc/sys/vm/compact_unevictable_allowed"),
    }
}

/// The bytes of a line of `/proc/meminfo`, for example `MemTotal:  24684088 kB`.
pub(crate) fn kilobytes(meminfo: &str, name: &str) -> Option<u64> {
    meminfo
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?
        .trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}
