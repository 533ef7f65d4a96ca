//! The memory that a handler reads: few lines in many pages.

use std::hint::black_box;

use tactus_model::random::SplitMix64;
use tactus_sys::SysError;
use tactus_sys::mapping::Mapping;

const PAGE: usize = 4096;
const LINE: usize = 64;
/// The pages that are read: each needs an entry of the TLB.
const PAGES: usize = 32;
/// The lines that are read: 8 KiB.
const LINES: usize = 128;

/// Lines that lead to each other in a random order, so that a pass waits for each of them and no
/// prefetcher helps.
#[derive(Debug)]
pub(super) struct WorkingSet {
    memory: Mapping,
}

impl WorkingSet {
    /// Takes the memory.
    pub(super) fn new() -> Result<Self, SysError> {
        let mut memory = Mapping::new(PAGES * PAGE)?;
        // A kernel without huge pages refuses, which has no effect here.
        let _ = memory.forbid_huge_pages();
        // The lines of a page are spread over it, and differ from page to page.
        let place = |line: usize| {
            let (page, number) = (line % PAGES, line / PAGES);
            page * PAGE + (page * 7 + number * 17) * LINE % PAGE
        };
        let mut places: Vec<usize> = (0..LINES).map(place).collect();
        SplitMix64::new(0).shuffle(&mut places);
        let next = places.iter().cycle().skip(1);
        for (place, next) in places.iter().zip(next) {
            memory.bytes()[*place..*place + 8].copy_from_slice(&(*next as u64).to_ne_bytes());
        }
        Ok(Self { memory })
    }

    /// Reads every line once.
    pub(super) fn read(&mut self) {
        let memory = self.memory.bytes();
        let mut place = 0;
        for _ in 0..LINES {
            let mut next = [0; 8];
            next.copy_from_slice(&memory[place..place + 8]);
            place = u64::from_ne_bytes(next) as usize;
        }
        black_box(place);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_pass_visits_every_line_and_returns() {
        let mut set = WorkingSet::new().unwrap();
        let memory = set.memory.bytes();
        let (mut place, mut seen) = (0_usize, BTreeSet::new());
        while seen.insert(place) {
            place = u64::from_ne_bytes(memory[place..place + 8].try_into().unwrap()) as usize;
        }
        assert_eq!((seen.len(), place), (LINES, 0));
        let pages: BTreeSet<usize> = seen.iter().map(|place| place / PAGE).collect();
        assert_eq!(pages.len(), PAGES);
    }
}
