//! Entering the kernel: system calls, clock readings, page faults.

use std::fs::File;
use std::hint::black_box;
use std::io::Read;

use tactus_model::cost::CostProbe;
use tactus_model::time::Monotonic;
use tactus_sys::{SysError, clock, process};

use super::memory::Block;
use super::{Repeatable, Unmeasurable, is_huge};

/// getppid(2).
pub(super) struct Getppid;

impl Repeatable for Getppid {
    fn run(&mut self, times: u32) -> Result<(), SysError> {
        for _ in 0..times {
            black_box(process::parent_id());
        }
        Ok(())
    }
}

/// read(2) of a byte.
pub(super) struct ReadByte(File);

impl ReadByte {
    pub(super) fn open() -> Result<Self, SysError> {
        let file = File::open("/dev/zero");
        let refused = |error: std::io::Error| SysError::from_io("open", &error);
        file.map(Self).map_err(refused)
    }
}

impl Repeatable for ReadByte {
    fn run(&mut self, times: u32) -> Result<(), SysError> {
        let mut byte = [0];
        for _ in 0..times {
            self.0.read_exact(black_box(&mut byte)).map_err(|_| SysError::last("read"))?;
        }
        Ok(())
    }
}

/// clock_gettime(2) by the vDSO.
pub(super) struct Gettime;

impl Repeatable for Gettime {
    fn run(&mut self, times: u32) -> Result<(), SysError> {
        for _ in 0..times {
            black_box(clock::now::<Monotonic>());
        }
        Ok(())
    }
}

/// clock_gettime(2) as a system call.
pub(super) struct GettimeSyscall;

impl Repeatable for GettimeSyscall {
    fn run(&mut self, times: u32) -> Result<(), SysError> {
        for _ in 0..times {
            black_box(clock::now_by_syscall::<Monotonic>());
        }
        Ok(())
    }
}

/// The first write to a page.
pub(super) struct Fault {
    block: Block,
    page: usize,
}

impl Fault {
    pub(super) fn open(cost: &CostProbe) -> Result<Self, Unmeasurable> {
        let page = Block::page_size(is_huge(cost));
        let block = Block::take(cost.per_sample() as usize * page, is_huge(cost))?;
        Ok(Self { block, page })
    }
}

impl Repeatable for Fault {
    fn prepare(&mut self) -> Result<(), SysError> {
        self.block.discard()
    }

    fn run(&mut self, times: u32) -> Result<(), SysError> {
        let bytes = self.block.bytes();
        bytes.iter_mut().step_by(self.page).take(times as usize).for_each(|byte| *byte = 1);
        black_box(bytes);
        Ok(())
    }
}
