//! What the kernel counts about a thread and its CPU, read often and without allocation.

use std::fs::File;
use std::os::unix::fs::FileExt;

use tactus_model::time::Nanos;

use crate::counters::USER_TICK;
use crate::thread;

/// Open files of the kernel about the calling thread and one CPU.
///
/// A reading takes some microseconds, and on a machine with many CPUs some tens.
#[derive(Debug)]
pub struct SchedulingRecord {
    thread: Option<File>,
    machine: Option<File>,
    cpu: u32,
    /// For the beginning of `/proc/stat`.
    buffer: Vec<u8>,
}

/// A reading; `None` for what the kernel does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// How long the thread has waited for a CPU:
    /// [sched-stats](https://docs.kernel.org/scheduler/sched-stats.html).
    pub waited: Option<Nanos>,
    /// Steal time of the CPU, in steps of 10 ms:
    /// [proc_stat(5)](https://man7.org/linux/man-pages/man5/proc_stat.5.html).
    pub steal: Option<Nanos>,
}

/// The longest line of a CPU in `/proc/stat`: a name and ten numbers of up to 20 digits.
const LINE: usize = 224;

impl SchedulingRecord {
    /// Opens the files of the calling thread and of `cpu`.
    pub fn open(cpu: u32) -> Self {
        let thread = File::open(format!("/proc/{}/schedstat", thread::current_id().0)).ok();
        let machine = File::open("/proc/stat").ok();
        // The lines of the CPUs are the first, after that of all together.
        let buffer = vec![0; LINE * (cpu as usize).saturating_add(2).min(1 << 16)];
        Self { thread, machine, cpu, buffer }
    }

    /// Reads them.
    pub fn read(&mut self) -> Reading {
        let waited = self.thread.as_ref().and_then(|file| {
            let text = beginning(file, &mut self.buffer)?;
            text.split(|byte| *byte == b' ').nth(1).and_then(number).map(Nanos::from_nanos)
        });
        let steal = self.machine.as_ref().and_then(|file| {
            let ticks = steal_ticks(beginning(file, &mut self.buffer)?, self.cpu)?;
            Some(USER_TICK.saturating_mul(ticks))
        });
        Reading { waited, steal }
    }
}

fn beginning<'b>(file: &File, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let length = file.read_at(buffer, 0).ok()?;
    buffer.get(..length)
}

/// The eighth number of the line `cpuN user nice system idle iowait irq softirq steal …`.
fn steal_ticks(stat: &[u8], cpu: u32) -> Option<u64> {
    let line = stat.split(|byte| *byte == b'\n').find(|line| {
        let name = line.split(|byte| *byte == b' ').next().unwrap_or_default();
        name.strip_prefix(b"cpu").and_then(number) == Some(cpu.into())
    })?;
    line.split(|byte| *byte == b' ').nth(8).and_then(number)
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_time_is_that_of_the_cpu() {
        let stat = b"cpu  9 9 9 9 9 9 9 99 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu1 1 2 3 4 5 6 7 18 0 0\nintr 5";
        assert_eq!(steal_ticks(stat, 0), Some(8));
        assert_eq!(steal_ticks(stat, 1), Some(18));
        assert_eq!(steal_ticks(stat, 10), None);
        assert_eq!(steal_ticks(b"", 0), None);
    }

    #[test]
    fn the_time_that_a_thread_waits_only_grows() {
        let mut record = SchedulingRecord::open(0);
        let first = record.read();
        std::thread::yield_now();
        let second = record.read();
        assert!(second.waited >= first.waited && second.steal >= first.steal);
    }
}
