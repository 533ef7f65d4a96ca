//! The traced workload: two threads that wake each other, one that sleeps, and one that touches
//! new pages.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use tactus_model::cpus::CpuList;
use tactus_model::policy::{RealtimePriority, Scheduling};

/// The CPU of the workload; the tracers' own threads stay off it.
pub(crate) const MEASURED: u32 = 1;

/// Scheduler events per round of [`ping_pong`]: waking, wakeup and switch, twice each.
pub(crate) const EVENTS_A_ROUND: f64 = 6.0;

/// Pins the calling thread first, then makes it real-time.
fn prepare() {
    let cpu: CpuList = [MEASURED].into_iter().collect();
    tactus_sys::affinity::set(&cpu).expect("there are two CPUs");
    let priority = RealtimePriority::new(10).expect("10 is a priority");
    tactus_sys::sched::set(Scheduling::Fifo(priority)).expect("needs root");
}

/// Passes a byte to and fro; returns the nanoseconds per round.
pub(crate) fn ping_pong(rounds: u32) -> f64 {
    real_time(move || {
        let (mut near, mut far) = UnixStream::pair().expect("sockets");
        let partner = std::thread::spawn(move || {
            let mut byte = [0];
            for _ in 0..rounds {
                far.read_exact(&mut byte).expect("near end is open");
                far.write_all(&byte).expect("near end is open");
            }
        });
        let begin = Instant::now();
        let mut byte = [0];
        for _ in 0..rounds {
            near.write_all(&byte).expect("far end is open");
            near.read_exact(&mut byte).expect("far end is open");
        }
        let took = begin.elapsed().as_nanos() as f64 / f64::from(rounds);
        partner.join().expect("partner ends");
        took
    })
}

/// Sleeps a millisecond at a time; returns the median lateness in nanoseconds.
pub(crate) fn sleeper(sleeps: u32) -> f64 {
    const PERIOD: Duration = Duration::from_millis(1);
    real_time(move || {
        let mut late: Vec<f64> = Vec::with_capacity(sleeps as usize);
        for _ in 0..sleeps {
            let begin = Instant::now();
            std::thread::sleep(PERIOD);
            late.push((begin.elapsed() - PERIOD).as_nanos() as f64);
        }
        late.sort_by(f64::total_cmp);
        late[late.len() / 2]
    })
}

/// Touches new pages; returns the nanoseconds per page.
pub(crate) fn faults(pages: u32) -> f64 {
    const PAGE: usize = 4096;
    real_time(move || {
        // So large that the allocator takes it from the kernel, untouched.
        let mut memory = vec![0_u8; pages as usize * PAGE];
        let begin = Instant::now();
        for page in memory.chunks_mut(PAGE) {
            std::hint::black_box(page)[0] = 1;
        }
        begin.elapsed().as_nanos() as f64 / f64::from(pages)
    })
}

/// Runs `work` in a new real-time thread; threads that it starts inherit the class.
fn real_time(work: impl FnOnce() -> f64 + Send + 'static) -> f64 {
    let prepared = move || {
        prepare();
        work()
    };
    std::thread::spawn(prepared).join().expect("ends by itself")
}
