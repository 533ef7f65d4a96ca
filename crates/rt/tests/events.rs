//! Event threads and their sources.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;

use tactus_model::time::{Monotonic, Nanos};
use tactus_rt::{
    ClockService, Ended, Finished, Flow, Interrupter, Process, Readable, Source, Uio, Waited,
};
use tactus_sys::pty::Pty;
use tactus_sys::{SysError, clock};

fn process() -> Process {
    Process::builder().start().unwrap()
}

#[test]
fn an_event_thread_serves_a_descriptor_until_its_other_end_is_gone() {
    let (near, mut far) = UnixStream::pair().unwrap();
    let reader = near.try_clone().unwrap();
    let (report, read) = channel();
    let thread = process()
        .event("reader", Readable::new(near).unwrap())
        .spawn(move |occurrence| {
            let mut bytes = [0; 16];
            let count = std::io::Read::read(&mut &reader, &mut bytes).unwrap();
            report.send((occurrence.index, count)).unwrap();
            if count == 0 { Flow::Stop } else { Flow::Continue }
        })
        .unwrap();
    far.write_all(b"abc").unwrap();
    assert_eq!(read.recv(), Ok((0, 3)));
    drop(far);
    assert_eq!(read.recv(), Ok((1, 0)));
    assert_eq!(thread.join().ended, Ended::Stopped);
}

#[test]
fn an_event_thread_that_waits_stops_when_it_is_asked_and_ends_with_its_source() {
    let (near, far) = std::io::pipe().unwrap();
    let thread = process().event("waits", Readable::new(near).unwrap());
    assert_eq!(thread.spawn(|_| Flow::Continue).unwrap().stop().ended, Ended::Requested);
    drop(far);
    let (near, far) = std::io::pipe().unwrap();
    let thread = process().event("ends", Readable::new(near).unwrap());
    let thread = thread.spawn(|_| Flow::Continue).unwrap();
    drop(far);
    assert_eq!(thread.join().ended, Ended::Closed);
}

/// A terminal transports the bytes of interrupt counts, as a UIO device would.
#[test]
fn a_uio_device_counts_interrupts_and_those_that_were_lost() {
    let mut pty = Pty::open().unwrap();
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&pty.terminal));
    let source = Uio::open(path.as_ref()).unwrap();
    let (report, seen) = channel();
    let thread = process()
        .event("irq", source)
        .spawn(move |occurrence| {
            report.send((occurrence.event, occurrence.missed, occurrence.index)).unwrap();
            if occurrence.index == 0 { Flow::Continue } else { Flow::Stop }
        })
        .unwrap();
    // The terminal passes whole lines on. The second count is two interrupts later.
    let counts = [(*b"   \n", 0, 0), (*b"\"  \n", 1, 2)];
    for (line, missed, index) in counts {
        pty.line.write_all(&line).unwrap();
        assert_eq!(seen.recv(), Ok((u32::from_ne_bytes(line), missed, index)));
    }
    let Finished { ended, stats, .. } = thread.join();
    assert_eq!(ended, Ended::Stopped);
    assert_eq!((stats.missed, stats.lateness.count()), (1, 0), "the device has no clock");
}

#[test]
fn alarms_of_another_thread_are_served_by_an_event_thread() {
    let (alarms, port) = ClockService::<Monotonic>::new().alarms(4).unwrap();
    let (report, seen) = channel();
    let thread = process()
        .event("alarms", port)
        .spawn(move |occurrence| {
            assert!(occurrence.woke >= occurrence.event.due);
            report.send(occurrence.event.message).unwrap();
            Flow::Continue
        })
        .unwrap();
    let now = clock::now::<Monotonic>();
    for (after, message) in [(300, 30), (100, 10), (200, 20)] {
        alarms.set(now + Nanos::from_millis(after), message).unwrap();
    }
    assert_eq!(seen.iter().take(3).collect::<Vec<_>>(), [10, 20, 30]);
    assert_eq!(thread.stats().lateness.count(), 3);
    assert_eq!(thread.stop().ended, Ended::Requested);
}

/// A source of one's own: numbers without a descriptor.
struct Numbers(u64);

impl Source for Numbers {
    type Event = u64;

    fn wait(&mut self) -> Result<Waited<u64>, SysError> {
        self.0 += 1;
        let at = Some(clock::now());
        match self.0 {
            1..4 => Ok(Waited::Event { event: self.0, at, missed: self.0 - 1 }),
            _ => Ok(Waited::Closed),
        }
    }

    fn interrupter(&self) -> Interrupter {
        Interrupter::new(|| ())
    }
}

#[test]
fn a_source_may_be_anything_and_its_lost_events_are_counted() {
    let sum = Arc::new(AtomicU64::new(0));
    let ours = Arc::clone(&sum);
    let thread = process()
        .event("numbers", Numbers(0))
        .spawn(move |occurrence| {
            ours.fetch_add(occurrence.event, Ordering::Relaxed);
            Flow::Continue
        })
        .unwrap();
    let Finished { ended, stats, .. } = thread.join();
    assert_eq!(ended, Ended::Closed);
    assert_eq!((stats.run, stats.missed, stats.intended()), (3, 3, 6));
    assert_eq!(sum.load(Ordering::Relaxed), 6);
}
