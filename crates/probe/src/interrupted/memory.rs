//! Memory whose walks fill caches with dirty lines and replace the TLB's entries.

use std::path::Path;

use tactus_model::interrupted::Dirt;
use tactus_sys::SysError;
use tactus_sys::facts;
use tactus_sys::mapping::Mapping;

/// The smallest page size of Linux.
const PAGE: usize = 4096;
/// The shortest cache line of CPUs that run Linux; longer lines are dirtied twice.
const LINE: usize = 64;

/// The memory whose lines fill a second-level cache: twice the largest one of common CPUs (2 MiB).
const L2_PAGES: usize = (4 << 20) / PAGE;
/// The pages that replace the TLB's entries: the largest second-level TLBs have about 4 000.
const TLB_PAGES: usize = 8192;
/// The size that is assumed for a last-level cache that cannot be read, in bytes.
const L3_ASSUMED: u64 = 32 << 20;
/// The most memory, in bytes: a larger last-level cache is dirtied in part.
const MOST: u64 = 256 << 20;

/// The memory of a program that dirties caches.
#[derive(Debug)]
pub(super) struct DirtyingMemory {
    memory: Mapping,
    pages: usize,
    value: u64,
}

impl DirtyingMemory {
    /// Takes as much memory as `dirt` needs, in small pages, and touches it.
    pub(super) fn take(dirt: Dirt) -> Result<Self, SysError> {
        let pages = match dirt {
            Dirt::Clean => 1,
            Dirt::L2 => L2_PAGES,
            Dirt::Tlb => TLB_PAGES,
            Dirt::L3 | Dirt::Random => l3_pages(),
        };
        let mut memory = Mapping::new(pages * PAGE)?;
        // A kernel without huge pages refuses, which has no effect here.
        let _ = memory.forbid_huge_pages();
        let mut taken = Self { memory, pages, value: 0 };
        taken.walk(pages, LINE);
        Ok(taken)
    }

    /// Makes the caches as dirty as `dirt` says.
    pub(super) fn dirty(&mut self, dirt: Dirt) {
        match dirt {
            Dirt::Clean | Dirt::Random => {}
            Dirt::L2 => self.walk(L2_PAGES, LINE),
            Dirt::Tlb => {
                self.walk(L2_PAGES, LINE);
                self.walk(TLB_PAGES, PAGE);
            }
            Dirt::L3 => self.walk(self.pages, LINE),
        }
    }

    /// Writes to every `step`th byte of the first `pages` pages, each page once, in large jumps that
    /// neither prefetcher nor TLB foresees.
    fn walk(&mut self, pages: usize, step: usize) {
        let pages = pages.min(self.pages);
        self.value = self.value.wrapping_add(1);
        let value = self.value.to_ne_bytes();
        // Odd, and the number of pages is a power of two, so every page is visited.
        let stride = (pages as f64 * 0.618) as usize | 1;
        let mut page = 0;
        for _ in 0..pages {
            let start = page * PAGE;
            for line in self.memory.bytes()[start..start + PAGE].chunks_exact_mut(step) {
                line[..8].copy_from_slice(&value);
            }
            page = (page + stride) % pages;
        }
    }
}

/// The pages of twice the last-level cache, a power of two.
fn l3_pages() -> usize {
    let cache = facts::read(Path::new("/")).cpu.last_level_cache.unwrap_or(L3_ASSUMED);
    let bytes = cache.saturating_mul(2).min(MOST).next_power_of_two();
    (bytes as usize / PAGE).max(TLB_PAGES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_writes_to_every_line_of_every_page() {
        let mut memory = DirtyingMemory::take(Dirt::L2).unwrap();
        memory.walk(L2_PAGES, LINE);
        let value = memory.value;
        let lines = memory.memory.bytes().chunks_exact(LINE);
        assert!(lines.into_iter().all(|line| line[..8] == value.to_ne_bytes()));
    }
}
