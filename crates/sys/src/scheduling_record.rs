//! What the kernel counts about a thread and its CPU, read often and without allocation.

use std::fs::File;
use std::os::unix::fs::FileExt;

use tactus_model::recording::ThreadId;
use tactus_model::time::Nanos;

use crate::counters::USER_TICK;
use crate::thread;

/// A thread and the CPU on which it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// The thread.
    pub thread: ThreadId,
    /// Its CPU.
    pub cpu: u32,
}

/// Open files of the kernel about one or two threads and their CPUs.
///
/// A reading takes some microseconds, and on a machine with many CPUs some tens.
#[derive(Debug)]
pub struct SchedulingRecord {
    seats: [Option<OpenSeat>; 2],
    machine: Option<File>,
    /// For the beginning of `/proc/stat`.
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct OpenSeat {
    thread: Option<File>,
    cpu: u32,
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
    /// Idle time of the CPU, likewise. A kernel that stops its tick (`CONFIG_NO_HZ_IDLE`) measures
    /// it; others count the ticks that found the CPU idle.
    pub idle: Option<Nanos>,
}

/// The longest line of a CPU in `/proc/stat`: a name and ten numbers of up to 20 digits.
const LINE: usize = 224;

impl SchedulingRecord {
    /// Opens the files of the calling thread and of `cpu`.
    pub fn open(cpu: u32) -> Self {
        Self::of(Seat { thread: thread::current_id(), cpu }, None)
    }

    /// Opens the files of a thread and its CPU, and of a second thread and its CPU.
    pub fn of(first: Seat, second: Option<Seat>) -> Self {
        let machine = File::open("/proc/stat").ok();
        let last = second.map_or(first.cpu, |second| second.cpu.max(first.cpu));
        // The lines of the CPUs are the first, after that of all together.
        let buffer = vec![0; LINE * (last as usize).saturating_add(2).min(1 << 16)];
        let open = |Seat { thread, cpu }| {
            let thread = File::open(format!("/proc/{}/schedstat", thread.0)).ok();
            OpenSeat { thread, cpu }
        };
        Self { seats: [Some(open(first)), second.map(open)], machine, buffer }
    }

    /// Reads what the kernel counts for the first thread and the second.
    pub fn read(&mut self) -> [Reading; 2] {
        let mut readings = [Reading::default(); 2];
        for (reading, seat) in readings.iter_mut().zip(self.seats.iter().flatten()) {
            reading.waited = seat.thread.as_ref().and_then(|file| {
                let text = beginning(file, &mut self.buffer)?;
                text.split(|byte| *byte == b' ').nth(1).and_then(number).map(Nanos::from_nanos)
            });
        }
        let stat = self.machine.as_ref().and_then(|file| beginning(file, &mut self.buffer));
        let Some(stat) = stat else { return readings };
        for (reading, seat) in readings.iter_mut().zip(self.seats.iter().flatten()) {
            let line = line_of(stat, seat.cpu);
            reading.steal = line.and_then(|line| ticks(line, &[8]));
            reading.idle = line.and_then(|line| ticks(line, &[4, 5]));
        }
        readings
    }
}

fn beginning<'b>(file: &File, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let length = file.read_at(buffer, 0).ok()?;
    buffer.get(..length)
}

/// The line `cpuN user nice system idle iowait irq softirq steal …` of a CPU.
fn line_of(stat: &[u8], cpu: u32) -> Option<&[u8]> {
    stat.split(|byte| *byte == b'\n').find(|line| {
        let name = line.split(|byte| *byte == b' ').next().unwrap_or_default();
        name.strip_prefix(b"cpu").and_then(number) == Some(cpu.into())
    })
}

/// The sum of these fields of a line, counted from zero.
fn ticks(line: &[u8], fields: &[usize]) -> Option<Nanos> {
    let field = |place: &usize| line.split(|byte| *byte == b' ').nth(*place).and_then(number);
    let ticks: u64 = fields.iter().map(field).sum::<Option<u64>>()?;
    Some(USER_TICK.saturating_mul(ticks))
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_and_idle_time_are_those_of_the_cpu() {
        let stat = b"cpu  9 9 9 9 9 9 9 99 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu1 1 2 3 4 5 6 7 18 0 0\nintr 5";
        let of = |cpu| line_of(stat, cpu).map(|line| [ticks(line, &[8]), ticks(line, &[4, 5])]);
        let ticks = |number| Some(USER_TICK.saturating_mul(number));
        assert_eq!(of(0), Some([ticks(8), ticks(9)]));
        assert_eq!(of(1), Some([ticks(18), ticks(9)]));
        assert_eq!(of(10), None);
        assert_eq!(line_of(b"", 0), None);
    }

    #[test]
    fn the_time_that_threads_wait_only_grows() {
        let seat = Seat { thread: thread::current_id(), cpu: 0 };
        let mut record = SchedulingRecord::of(seat, Some(seat));
        let first = record.read();
        std::thread::yield_now();
        let second = record.read();
        for (first, second) in first.iter().zip(&second) {
            assert!(second.waited >= first.waited && second.steal >= first.steal);
            assert!(second.idle.is_some());
        }
        assert_eq!(SchedulingRecord::open(0).read()[1], Reading::default());
    }
}
