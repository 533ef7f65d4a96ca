//! Dirties more cache lines than the last-level cache holds, and more pages than the TLB
//! holds.
//!
//! A copy's memory is twice the last-level cache (read from sysfs; 32 MiB if unknown) and at
//! least 64 MiB, in pages of the smallest size: 16 384 pages, while the largest second-level
//! TLBs have about 4 000 entries. All copies together take at most half of the memory that is
//! available when they start.

use std::path::Path;

use tactus_model::result::Shortfall;
use tactus_sys::facts;
use tactus_sys::mapping::Mapping;

use super::Endless;
use crate::error::{During, LoadError};
use crate::site::Site;

/// The size assumed for a last-level cache that cannot be read, in bytes.
const CACHE_ASSUMED: u64 = 32 << 20;

/// The least memory of a copy, in bytes.
const LEAST: u64 = 64 << 20;

/// The smallest page size of Linux.
const PAGE: usize = 4096;

/// The shortest cache line of CPUs that run Linux; longer lines are dirtied twice.
const LINE: usize = 64;

/// Counts one operation per page whose lines were all dirtied.
pub(super) fn run(site: &'static Site) -> Endless {
    let wanted = facts::read(Path::new("/")).cpu.last_level_cache.unwrap_or(CACHE_ASSUMED);
    let wanted = wanted.saturating_mul(2).max(LEAST);
    let size = bounded(wanted, site)?;
    let mut memory = Mapping::new(size).during("take the load's memory")?;
    // A kernel without huge pages refuses, which has no effect here.
    let _ = memory.forbid_huge_pages();
    let pages = size / PAGE;
    let stride = coprime_stride(pages);
    let (mut page, mut value) = (0, 0_u64);
    loop {
        value = value.wrapping_add(1);
        let start = page * PAGE;
        for line in memory.bytes()[start..start + PAGE].chunks_exact_mut(LINE) {
            line[..8].copy_from_slice(&value.to_ne_bytes());
        }
        site.did(1, PAGE as u64);
        // Far jumps that visit each page once per round; neither prefetcher nor TLB foresees them.
        page = (page + stride) % pages;
    }
}

/// The memory to take, in bytes: whole pages.
fn bounded(wanted: u64, site: &Site) -> Result<usize, LoadError> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").during("read /proc/meminfo")?;
    let available = available(&meminfo).unwrap_or(wanted.saturating_mul(4));
    let share = available / 2 / u64::from(site.copies());
    let size = wanted.min(share);
    if size < wanted {
        site.shortfall(Shortfall {
            asked: format!("load memory of {} MiB a copy", wanted >> 20),
            granted: format!("load memory of {} MiB a copy", size >> 20),
            reason: "all copies together take at most half of the available memory".to_owned(),
            fix: Some("use fewer copies, or free memory".to_owned()),
        });
    }
    let pages = usize::try_from(size).unwrap_or(usize::MAX) / PAGE;
    Ok(pages.max(1) * PAGE)
}

/// `MemAvailable` of proc_meminfo(5), in bytes.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? << 10)
}

/// A step by which a walk over `pages` pages visits each page once before it returns to the
/// first: about the golden section, and coprime to `pages`.
fn coprime_stride(pages: usize) -> usize {
    let golden = (pages as f64 * 0.618) as usize;
    (golden.max(1)..).find(|&stride| divisor(stride, pages) == 1).unwrap_or(1)
}

fn divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_visits_every_page_once() {
        for pages in [1, 2, 7, 4096, 16_384, 10_000] {
            let stride = coprime_stride(pages);
            let mut seen: Vec<usize> = (0..pages).map(|step| step * stride % pages).collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..pages), "{pages} pages by {stride}");
        }
    }

    #[test]
    fn available_memory_is_read() {
        let meminfo = "MemTotal:  24684084 kB\nMemAvailable:   1024 kB\n";
        assert_eq!(available(meminfo), Some(1 << 20));
        assert_eq!(available("MemTotal: 5 kB\n"), None);
    }
}
