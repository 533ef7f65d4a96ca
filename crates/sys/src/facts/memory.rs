//! Memory.

use tactus_model::facts::MemoryFacts;

use super::Tree;

pub(super) fn read(tree: &Tree<'_>) -> MemoryFacts {
    let meminfo = tree.text("proc/meminfo").unwrap_or_default();
    MemoryFacts {
        total: kilobytes(&meminfo, "MemTotal"),
        swap: kilobytes(&meminfo, "SwapTotal"),
        transparent_huge_pages: tree
            .text("sys/kernel/mm/transparent_hugepage/enabled")
            .and_then(|text| chosen(&text)),
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

/// The word in brackets of `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}
