//! Moving data within memory, and getting memory.

use std::hint::black_box;

use tactus_model::cost::{CostProbe, Operation, Pages};
use tactus_sys::mapping::Mapping;
use tactus_sys::{SysError, copy, usage};

use super::{Repeatable, Unmeasurable, is_huge};

/// The size of a normal page. Where pages are larger, some are touched twice, which costs no fault.
pub(super) const PAGE: usize = Pages::Normal.size().get() as usize;
/// The size of a huge page, and the alignment that it needs.
const HUGE_PAGE: usize = Pages::Huge.size().get() as usize;

/// Memory of its own, aligned to its pages.
pub(super) struct Block {
    mapping: Mapping,
    /// Where it begins within the mapping.
    offset: usize,
    length: usize,
}

impl Block {
    /// Takes memory and touches all of it.
    pub(super) fn take(length: usize, is_huge: bool) -> Result<Self, Unmeasurable> {
        let mut block = Self::fresh(length, is_huge)?;
        let before = usage::of_this_thread()?.minor_faults;
        touch(block.bytes(), PAGE);
        let faults = usage::of_this_thread()?.minor_faults - before;
        // A huge page takes one fault; the kernel gives normal ones if it has no huge page.
        if is_huge && faults > (length / HUGE_PAGE) as u64 + 8 {
            return Err(Unmeasurable::NoHugePages);
        }
        Ok(block)
    }

    /// Takes memory that is not there yet.
    fn fresh(length: usize, is_huge: bool) -> Result<Self, SysError> {
        let slack = if is_huge { HUGE_PAGE } else { 0 };
        // Whole huge pages, or the end of the block would have normal ones.
        let mut mapping = Mapping::new(length.next_multiple_of(slack.max(PAGE)) + slack)?;
        match is_huge {
            true => mapping.ask_for_huge_pages()?,
            // The kernel may know no huge pages.
            false => drop(mapping.forbid_huge_pages()),
        }
        let offset = match slack {
            0 => 0,
            alignment => mapping.bytes().as_ptr().align_offset(alignment),
        };
        Ok(Self { mapping, offset, length })
    }

    pub(super) const fn page_size(is_huge: bool) -> usize {
        if is_huge { HUGE_PAGE } else { PAGE }
    }

    pub(super) fn discard(&mut self) -> Result<(), SysError> {
        self.mapping.discard()
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        &mut self.mapping.bytes()[self.offset..][..self.length]
    }
}

/// Writes a byte to each page.
fn touch(bytes: &mut [u8], page: usize) {
    bytes.iter_mut().step_by(page).for_each(|byte| *byte = byte.wrapping_add(1));
    black_box(bytes);
}

/// Sets up a memory operation.
pub(super) fn open(cost: &CostProbe) -> Result<Box<dyn Repeatable>, Unmeasurable> {
    let (length, is_huge) = (cost.size.get() as usize, is_huge(cost));
    let block = |more| Block::take(length + more, is_huge);
    Ok(match cost.operation {
        Operation::MemoryRead => over(block(0)?, |block| {
            black_box(copy::read(black_box(block.bytes())));
        }),
        Operation::MemoryWrite => over(block(0)?, |block| black_box(block.bytes()).fill(1)),
        Operation::MemoryCopyUnaligned => over((block(1)?, block(0)?), |(from, to)| {
            let odd = to.length - to.length.is_multiple_of(2) as usize;
            black_box(to.bytes())[..odd].copy_from_slice(&black_box(from.bytes())[1..][..odd]);
        }),
        Operation::MemoryCopyStreaming => {
            let (mut from, mut to) = (block(0)?, block(0)?);
            // Fails here if the architecture has no such stores.
            copy::streaming(to.bytes(), from.bytes())?;
            over((from, to), |(from, to)| {
                let _ = copy::streaming(black_box(to.bytes()), black_box(from.bytes()));
            })
        }
        Operation::FirstTouch => {
            block(0)?;
            Box::new(FirstTouch { length, is_huge })
        }
        Operation::Recycled if is_huge => over(block(0)?, |block| touch(block.bytes(), HUGE_PAGE)),
        Operation::Recycled => over(block(0)?, |block| touch(block.bytes(), PAGE)),
        Operation::MemoryCopy => over((block(0)?, block(0)?), |(from, to)| {
            black_box(to.bytes()).copy_from_slice(black_box(from.bytes()));
        }),
        other => return Err(Unmeasurable::OtherFamily(other)),
    })
}

/// Passes over memory that is already there.
struct Passes<B, P> {
    blocks: B,
    pass: P,
}

fn over<B: 'static>(blocks: B, pass: impl FnMut(&mut B) + 'static) -> Box<dyn Repeatable> {
    Box::new(Passes { blocks, pass })
}

impl<B, P: FnMut(&mut B)> Repeatable for Passes<B, P> {
    fn run(&mut self, times: u32) -> Result<(), SysError> {
        (0..times).for_each(|_| (self.pass)(&mut self.blocks));
        Ok(())
    }
}

/// Gets memory, uses it, and returns it.
struct FirstTouch {
    length: usize,
    is_huge: bool,
}

impl Repeatable for FirstTouch {
    fn run(&mut self, times: u32) -> Result<(), SysError> {
        for _ in 0..times {
            let mut block = Block::fresh(self.length, self.is_huge)?;
            touch(block.bytes(), Block::page_size(self.is_huge));
        }
        Ok(())
    }
}
