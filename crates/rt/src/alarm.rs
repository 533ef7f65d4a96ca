//! Alarms: messages that arrive at their due times, on a descriptor.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, TryReserveError};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use tactus_model::time::{Clock, Instant, Monotonic};
use tactus_sys::memory::touched_vec;
use tactus_sys::pi_mutex::{PiLockError, PiMutex};
use tactus_sys::sleep::Timerfd;
use tactus_sys::wait::{Arrived, Waker, wait_event};
use tactus_sys::{SysError, clock};

use crate::clock::ClockService;
use crate::event::{Interrupter, Source, Waited};

/// An alarm that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alarm<C: Clock> {
    /// When it was due, rounded.
    pub due: Instant<C>,
    /// What the thread that set it wants to say.
    pub message: u64,
}

/// The most alarms that can be pending at one port.
pub const PENDING_MOST: usize = 1 << 16;

/// An alarm that was set, by its number: no two of a port have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AlarmId(pub u64);

/// Why an alarm was not set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSet {
    /// Too many alarms are pending.
    #[error(
        "{limit} alarms are pending, which is the limit; fix: take those that are due, or raise the limit"
    )]
    Full {
        /// The limit.
        limit: usize,
    },
    /// The limit of a port is out of range.
    #[error("a port for {limit} alarms is out of range; the nearest is {nearest}")]
    Limit {
        /// The limit.
        limit: usize,
        /// The nearest that is permitted.
        nearest: usize,
    },
    /// There is no memory for the pending alarms.
    #[error("no memory for the alarms: {0}")]
    Memory(#[from] TryReserveError),
    /// The alarms could not be locked.
    #[error(transparent)]
    Lock(#[from] PiLockError),
    /// A system call failed, e.g. because timers do not support this clock.
    #[error(transparent)]
    System(#[from] SysError),
}

/// Sets alarms from any thread; copies set alarms of the same [`AlarmPort`].
///
/// Setting one takes a lock with priority inheritance and allocates nothing, so real-time threads
/// may do it.
#[derive(Debug)]
pub struct Alarms<C: Clock>(Arc<Shared<C>>);

impl<C: Clock> Clone for Alarms<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Where alarms arrive. Its descriptor can be read when one is due; take them by
/// [`take`](Self::take), not by read(2). As a [`Source`], it gives them to an event thread.
#[derive(Debug)]
pub struct AlarmPort<C: Clock> {
    shared: Arc<Shared<C>>,
    waker: Arc<Waker>,
}

#[derive(Debug)]
struct Shared<C: Clock> {
    pending: PiMutex<Pending<C>>,
    timer: Timerfd<C>,
    /// Rounds due times.
    service: ClockService<C>,
}

impl<C: Clock> Alarms<C> {
    /// Makes a port for up to `limit` pending alarms, and what sets them.
    pub(crate) fn new(
        service: ClockService<C>,
        limit: usize,
    ) -> Result<(Self, AlarmPort<C>), NotSet> {
        let pending = PiMutex::new(Pending::new(limit)?);
        let shared = Arc::new(Shared { pending, timer: Timerfd::new()?, service });
        let port = AlarmPort { shared: Arc::clone(&shared), waker: Arc::new(Waker::new()?) };
        Ok((Self(shared), port))
    }

    /// Sets an alarm, whose due time is rounded up to the granularity of the service; if that has
    /// passed, it arrives at once.
    ///
    /// # Errors
    /// The limit is reached, or a system call failed.
    pub fn set(&self, due: Instant<C>, message: u64) -> Result<AlarmId, NotSet> {
        let mut pending = self.0.pending.lock()?;
        let before = pending.first();
        let id = pending.add(self.0.service.rounded(due), message)?;
        self.0.rearm(before, &pending)?;
        Ok(id)
    }

    /// Cancels an alarm; `false` if it was taken or cancelled before.
    ///
    /// # Errors
    /// A system call failed.
    pub fn cancel(&self, id: AlarmId) -> Result<bool, NotSet> {
        let mut pending = self.0.pending.lock()?;
        let before = pending.first();
        let was_pending = pending.remove(id);
        self.0.rearm(before, &pending)?;
        Ok(was_pending)
    }
}

impl<C: Clock> Shared<C> {
    /// Sets the timer to the first alarm, if that is not the one `before`.
    fn rearm(&self, before: Option<Instant<C>>, pending: &Pending<C>) -> Result<(), SysError> {
        let first = pending.first();
        if first == before { Ok(()) } else { self.timer.set(first) }
    }
}

impl<C: Clock> AlarmPort<C> {
    /// Takes the earliest alarm that is due; `None` if none is.
    ///
    /// # Errors
    /// A system call failed.
    pub fn take(&mut self) -> Result<Option<Alarm<C>>, NotSet> {
        let mut pending = self.shared.pending.lock()?;
        let alarm = pending.take(clock::now());
        if alarm.is_some() {
            // The next one may be due at the same time, so it is set whether it changed or not.
            self.shared.timer.set(pending.first())?;
        }
        Ok(alarm)
    }

    /// Waits for the next alarm.
    ///
    /// # Errors
    /// A system call failed.
    pub fn wait(&mut self) -> Result<Alarm<C>, NotSet> {
        loop {
            if let Waited::Event { event, .. } = self.wait_once()? {
                return Ok(event);
            }
        }
    }

    fn wait_once(&mut self) -> Result<Waited<Alarm<C>>, NotSet> {
        match wait_event(self.shared.timer.as_fd(), &self.waker)? {
            Arrived::Woken => Ok(Waited::Interrupted),
            Arrived::Event | Arrived::Closed => Ok(match self.take()? {
                Some(event) => Waited::Event { event, at: None, missed: 0 },
                // It was cancelled meanwhile.
                None => Waited::Interrupted,
            }),
        }
    }
}

impl<C: Clock> AsFd for AlarmPort<C> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.timer.as_fd()
    }
}

/// Lateness is counted from the due time of each alarm.
impl Source for AlarmPort<Monotonic> {
    type Event = Alarm<Monotonic>;

    fn wait(&mut self) -> Result<Waited<Self::Event>, SysError> {
        match self.wait_once() {
            Ok(Waited::Event { event, missed, .. }) => {
                Ok(Waited::Event { event, at: Some(event.due), missed })
            }
            Ok(waited) => Ok(waited),
            Err(NotSet::System(error) | NotSet::Lock(PiLockError::System(error))) => Err(error),
            // The port takes one lock, for a moment, and no code of others runs meanwhile.
            Err(_) => Ok(Waited::Closed),
        }
    }

    fn interrupter(&self) -> Interrupter {
        Interrupter::of_waker(&self.waker)
    }
}

/// The alarms that are pending, in memory that never grows. Pure: time is an argument.
#[derive(Debug)]
struct Pending<C: Clock> {
    /// Due time, number, message; the earliest first, and of one time the one set first.
    heap: BinaryHeap<Reverse<(Instant<C>, AlarmId, u64)>>,
    limit: usize,
    next: u64,
}

impl<C: Clock> Pending<C> {
    fn new(limit: usize) -> Result<Self, NotSet> {
        let nearest = limit.clamp(1, PENDING_MOST);
        if nearest != limit {
            return Err(NotSet::Limit { limit, nearest });
        }
        Ok(Self { heap: BinaryHeap::from(touched_vec(limit)?), limit, next: 0 })
    }

    fn first(&self) -> Option<Instant<C>> {
        self.heap.peek().map(|Reverse((due, ..))| *due)
    }

    fn add(&mut self, due: Instant<C>, message: u64) -> Result<AlarmId, NotSet> {
        if self.heap.len() >= self.limit {
            return Err(NotSet::Full { limit: self.limit });
        }
        let id = AlarmId(self.next);
        self.next += 1;
        self.heap.push(Reverse((due, id, message)));
        Ok(id)
    }

    fn remove(&mut self, id: AlarmId) -> bool {
        let before = self.heap.len();
        self.heap.retain(|Reverse((_, found, _))| *found != id);
        self.heap.len() < before
    }

    fn take(&mut self, now: Instant<C>) -> Option<Alarm<C>> {
        self.first().filter(|due| *due <= now)?;
        self.heap.pop().map(|Reverse((due, _, message))| Alarm { due, message })
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::time::{Nanos, Realtime, Tai};

    use super::*;

    fn at(nanos: u64) -> Instant<Monotonic> {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn alarms_are_taken_in_order_when_they_are_due() {
        let mut pending = Pending::new(3).unwrap();
        for (due, message) in [(30, 1), (10, 2), (10, 3)] {
            pending.add(at(due), message).unwrap();
        }
        assert_eq!(pending.add(at(1), 4), Err(NotSet::Full { limit: 3 }));
        assert_eq!(pending.take(at(9)), None);
        let taken: Vec<u64> =
            std::iter::from_fn(|| pending.take(at(30))).map(|alarm| alarm.message).collect();
        assert_eq!(taken, [2, 3, 1]);
        assert_eq!(pending.first(), None);
    }

    #[test]
    fn a_port_has_room_for_an_alarm_and_not_for_any_number() {
        let refused = |limit| ClockService::<Monotonic>::new().alarms(limit).unwrap_err();
        assert_eq!(refused(0), NotSet::Limit { limit: 0, nearest: 1 });
        let many = refused(usize::MAX);
        assert_eq!(many, NotSet::Limit { limit: usize::MAX, nearest: PENDING_MOST });
        let said = refused(0).to_string();
        assert_eq!(said, "a port for 0 alarms is out of range; the nearest is 1");
    }

    #[test]
    fn a_cancelled_alarm_does_not_arrive() {
        let (alarms, mut port) = ClockService::<Monotonic>::new().alarms(8).unwrap();
        let now = clock::now::<Monotonic>();
        let first = alarms.set(now, 1).unwrap();
        alarms.set(now, 2).unwrap();
        assert_eq!(alarms.cancel(first), Ok(true));
        assert_eq!(alarms.cancel(first), Ok(false));
        assert_eq!(port.wait().unwrap().message, 2);
        assert_eq!(port.take(), Ok(None));
    }

    #[test]
    fn alarms_of_other_threads_arrive_on_the_descriptor_not_before_they_are_due() {
        let (alarms, mut port) = ClockService::<Realtime>::new().alarms(8).unwrap();
        let readable = |port: &AlarmPort<Realtime>| {
            tactus_sys::wait::wait_readable(port.as_fd(), std::time::Duration::ZERO).unwrap()
        };
        let start = clock::now::<Realtime>();
        alarms.set(start + Nanos::from_secs(3600), 9).unwrap();
        assert!(!readable(&port));
        let setter = std::thread::spawn(move || {
            for step in [2, 1, 1] {
                alarms.set(start + Nanos::from_millis(step), step).unwrap();
            }
        });
        setter.join().unwrap();
        for expected in [1, 1, 2] {
            let alarm = port.wait().unwrap();
            assert_eq!(alarm.message, expected);
            assert!(clock::now() >= alarm.due);
        }
        assert!(!readable(&port));
    }

    #[test]
    fn an_alarm_is_due_at_a_multiple_of_the_granularity() {
        let step = Nanos::from_millis(1);
        let service = ClockService::<Monotonic>::new().with_granularity(step);
        let (alarms, mut port) = service.alarms(8).unwrap();
        let asked = service.read();
        alarms.set(asked, 1).unwrap();
        assert_eq!(port.wait().unwrap().due, service.rounded(asked));
    }

    #[test]
    fn a_clock_without_timers_is_refused() {
        assert!(matches!(ClockService::<Tai>::new().alarms(8), Err(NotSet::System(_))));
    }
}
