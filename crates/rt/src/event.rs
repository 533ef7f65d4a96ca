//! Event threads, and the sources of their events.

use std::fmt;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use tactus_fifo::{Element, Receiver};
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_sys::gpio::{Edge, Edges, GpioLine};
use tactus_sys::uio::UioDevice;
use tactus_sys::wait::{Arrived, Waker, wait_event};
use tactus_sys::{Errno, SysError, clock};

use crate::job::{Begun, Ended, Flow, Pacer, Shared, run};
use crate::refused::Refused;
use crate::statistics::Recorder;
use crate::thread::{Thread, ThreadBuilder};

/// Gives events to one thread.
///
/// Implement it for whatever can be awaited: a descriptor, a ring, a queue. After the first event,
/// `wait` must not allocate or take a lock of an ordinary thread.
pub trait Source: Send + 'static {
    /// What an event gives to the body.
    type Event;

    /// Waits for the next event.
    ///
    /// # Errors
    /// A system call failed; the thread ends.
    fn wait(&mut self) -> Result<Waited<Self::Event>, SysError>;

    /// Ends a wait from another thread.
    fn interrupter(&self) -> Interrupter;
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited<E> {
    /// By an event.
    Event {
        /// The event.
        event: E,
        /// When it happened, if this is known.
        at: Option<Instant<Monotonic>>,
        /// How many events were lost directly before it.
        missed: u64,
    },
    /// By the [`Interrupter`], or for no reason.
    Interrupted,
    /// No event will come: the other end is gone.
    Closed,
}

/// Makes the present wait of a [`Source`], or the next one if there is none, return
/// [`Waited::Interrupted`].
pub struct Interrupter(Box<dyn Fn() + Send + Sync>);

impl Interrupter {
    /// Makes an interrupter of a function.
    pub fn new(interrupt: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Box::new(interrupt))
    }

    /// Interrupts a source that awaits this waker beside its own descriptor.
    pub fn of_waker(waker: &Arc<Waker>) -> Self {
        let waker = Arc::clone(waker);
        Self::new(move || waker.wake())
    }

    /// Ends the wait.
    pub fn interrupt(&self) {
        (self.0)();
    }
}

impl fmt::Debug for Interrupter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupter")
    }
}

/// The present job of an event thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence<E> {
    /// Its number, from 0; lost events are counted too.
    pub index: u64,
    /// The event.
    pub event: E,
    /// When it happened, if the source knows.
    pub at: Option<Instant<Monotonic>>,
    /// When the thread woke up for it.
    pub woke: Instant<Monotonic>,
    /// How many events were lost directly before it.
    pub missed: u64,
    /// How often the thread was restarted.
    pub restarts: u64,
}

impl<E> Occurrence<E> {
    /// How late the job began, if the time of the event is known.
    pub fn lateness(&self) -> Option<Nanos> {
        self.at.map(|at| self.woke - at)
    }
}

/// An event thread that is to be started.
#[derive(Debug)]
pub struct Event<S> {
    source: S,
}

impl<S> Event<S> {
    pub(crate) const fn new(source: S) -> Self {
        Self { source }
    }
}

impl<S: Source> ThreadBuilder<Event<S>> {
    /// Starts the thread, which calls `body` once for each event. It returns when the thread is
    /// prepared.
    ///
    /// # Errors
    /// A setting is out of range, or the system starts no thread. What the kernel does not permit
    /// is a [shortfall](Thread::shortfalls).
    pub fn spawn(
        self,
        mut body: impl FnMut(&Occurrence<S::Event>) -> Flow + Send + 'static,
    ) -> Result<Thread, Refused> {
        let interrupter = self.kind.source.interrupter();
        let pacer = EventPacer { source: self.kind.source, next: 0 };
        self.options.start(
            move |shared, recovery, mut observed| {
                run(pacer, |job| observed.run(|| body(job)), shared, recovery)
            },
            Some(interrupter),
        )
    }
}

struct EventPacer<S> {
    source: S,
    /// The number of the next event.
    next: u64,
}

impl<S: Source> Pacer for EventPacer<S> {
    type Job = Occurrence<S::Event>;

    fn start(&mut self, _: Instant<Monotonic>) {}

    #[inline]
    fn wait(&mut self, shared: &Shared) -> Result<Option<Begun<Self::Job>>, Ended> {
        let (event, at, missed) = match self.source.wait().map_err(Ended::Failed)? {
            Waited::Event { event, at, missed } => (event, at, missed),
            Waited::Interrupted => return Ok(None),
            Waited::Closed => return Err(Ended::Closed),
        };
        let woke = clock::now();
        let index = self.next.saturating_add(missed);
        self.next = index.saturating_add(1);
        let restarts = shared.recorder.restarts();
        let job = Occurrence { index, event, at, woke, missed, restarts };
        let lateness = job.lateness();
        Ok(Some(Begun { job, woke, lateness, missed, shifted: Nanos::ZERO }))
    }

    #[inline]
    fn finish(&mut self, _: Instant<Monotonic>, _: &Recorder) -> Option<Ended> {
        None
    }
}

/// Waits for a descriptor beside a waker, and takes an event from it when it can be read.
#[derive(Debug)]
struct Polled<F> {
    descriptor: F,
    waker: Arc<Waker>,
}

impl<F: AsFd> Polled<F> {
    fn new(descriptor: F) -> Result<Self, SysError> {
        Ok(Self { descriptor, waker: Arc::new(Waker::new()?) })
    }

    /// `take` returns `None` if another reader was faster.
    #[inline]
    fn wait<E>(
        &mut self,
        take: impl FnOnce(&mut F) -> Result<Option<Waited<E>>, SysError>,
    ) -> Result<Waited<E>, SysError> {
        match wait_event(self.descriptor.as_fd(), &self.waker)? {
            Arrived::Event => Ok(take(&mut self.descriptor)?.unwrap_or(Waited::Interrupted)),
            Arrived::Woken => Ok(Waited::Interrupted),
            Arrived::Closed => Ok(Waited::Closed),
        }
    }
}

/// Events of any descriptor: that it can be read. The body must read it, or the next event
/// follows at once.
#[derive(Debug)]
pub struct Readable<F>(Polled<F>);

impl<F: AsFd + Send + 'static> Readable<F> {
    /// Makes a source of a descriptor.
    ///
    /// # Errors
    /// Too many open files.
    pub fn new(descriptor: F) -> Result<Self, SysError> {
        Polled::new(descriptor).map(Self)
    }
}

impl<F: AsFd + Send + 'static> Source for Readable<F> {
    type Event = ();

    #[inline]
    fn wait(&mut self) -> Result<Waited<()>, SysError> {
        self.0.wait(|_| Ok(Some(Waited::Event { event: (), at: None, missed: 0 })))
    }

    fn interrupter(&self) -> Interrupter {
        Interrupter::of_waker(&self.0.waker)
    }
}

/// Items that an ordinary process writes, as they arrive: handlers on arrival.
impl<T: Element> Source for Receiver<T> {
    type Event = T;

    #[inline]
    fn wait(&mut self) -> Result<Waited<T>, SysError> {
        let item = self.pop_or_woken(None)?;
        Ok(item.map_or(Waited::Interrupted, |event| Waited::Event { event, at: None, missed: 0 }))
    }

    fn interrupter(&self) -> Interrupter {
        Interrupter::new(self.waker())
    }
}

/// Edges of a GPIO line, each with the time of its interrupt.
#[derive(Debug)]
pub struct Gpio {
    polled: Polled<GpioLine>,
    /// The number of the last edge.
    last: u32,
}

impl Gpio {
    /// Requests the line with the number `line` of the chip at `path`, e.g. `/dev/gpiochip0`.
    ///
    /// # Errors
    /// Those of [`GpioLine::request`].
    pub fn request(path: &Path, line: u32, edges: Edges) -> Result<Self, SysError> {
        let polled = Polled::new(GpioLine::request(path, line, edges)?)?;
        Ok(Self { polled, last: 0 })
    }
}

impl Source for Gpio {
    type Event = Edge;

    #[inline]
    fn wait(&mut self) -> Result<Waited<Edge>, SysError> {
        let last = &mut self.last;
        self.polled.wait(|line| {
            Ok(line.take()?.map(|edge| {
                let missed = lost_between(*last, edge.number);
                *last = edge.number;
                Waited::Event { event: edge, at: Some(edge.at), missed }
            }))
        })
    }

    fn interrupter(&self) -> Interrupter {
        Interrupter::of_waker(&self.polled.waker)
    }
}

/// Interrupts of a device whose driver is in user space. They are permitted again when the next
/// wait begins, after the body has served the device.
///
/// A driver such as `uio_pci_generic` leaves that to the program: then the body clears the bit
/// *Interrupt Disable* of the device's PCI command register.
#[derive(Debug)]
pub struct Uio {
    polled: Polled<UioDevice>,
    /// The count at the last interrupt, after the first.
    last: Option<u32>,
    /// Whether the driver disables interrupts when they arrive.
    must_enable: bool,
}

impl Uio {
    /// Opens a device, e.g. `/dev/uio0`, and permits its interrupts.
    ///
    /// # Errors
    /// Those of [`UioDevice::open`] and [`UioDevice::enable`].
    pub fn open(path: &Path) -> Result<Self, SysError> {
        let device = UioDevice::open(path)?;
        let must_enable = match device.enable() {
            Ok(()) => true,
            Err(error) if error.errno == Errno::NOSYS => false,
            Err(error) => return Err(error),
        };
        Ok(Self { polled: Polled::new(device)?, last: None, must_enable })
    }
}

impl Source for Uio {
    /// How many interrupts the device has had, modulo 2³².
    type Event = u32;

    #[inline]
    fn wait(&mut self) -> Result<Waited<u32>, SysError> {
        if self.must_enable && self.last.is_some() {
            self.polled.descriptor.enable()?;
        }
        let last = &mut self.last;
        self.polled.wait(|device| {
            Ok(device.take()?.map(|count| {
                let missed = last.map_or(0, |last| lost_between(last, count));
                *last = Some(count);
                Waited::Event { event: count, at: None, missed }
            }))
        })
    }

    fn interrupter(&self) -> Interrupter {
        Interrupter::of_waker(&self.polled.waker)
    }
}

/// How many numbers lie between two, which wrap.
const fn lost_between(last: u32, next: u32) -> u64 {
    next.wrapping_sub(last).saturating_sub(1) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_between_two_events_are_lost_events() {
        assert_eq!(lost_between(0, 1), 0);
        assert_eq!(lost_between(1, 4), 2);
        assert_eq!(lost_between(u32::MAX, 0), 0);
        assert_eq!(lost_between(u32::MAX, 1), 1);
        assert_eq!(lost_between(7, 7), 0);
    }
}
