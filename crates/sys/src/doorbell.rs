//! Waking another thread or process, and waiting until it wakes this one: the mechanisms whose
//! round trips are measured.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::event::EventfdFlags;
use rustix::pipe::PipeFlags;
use rustix::thread::futex;

use tactus_model::cost::Wait;

use crate::error::{Errno, SysError};
use crate::shared_memory::SharedWords;

/// One of the two that wake each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one that begins.
    First,
    /// The one that answers.
    Second,
}

impl Side {
    const fn index(self) -> usize {
        self as usize
    }

    /// The other one.
    pub const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// What a side is woken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// To answer.
    Go,
    /// To end.
    Stop,
}

impl Signal {
    const fn number(self) -> u32 {
        match self {
            Self::Go => 1,
            Self::Stop => 2,
        }
    }

    const fn of(number: u32) -> Self {
        match number {
            1 => Self::Go,
            // Nobody writes another number. If one came, both sides would end.
            _ => Self::Stop,
        }
    }
}

/// A way to wake the other side. At most one signal to each side is on its way at a time.
pub trait Doorbell: Send + Sync {
    /// Wakes `side`.
    fn ring(&self, side: Side, signal: Signal) -> Result<(), SysError>;

    /// Sleeps until somebody rings for `side`, which is the caller's own.
    fn wait(&self, side: Side) -> Result<Signal, SysError>;
}

/// A byte through a pipe: [pipe(7)](https://man7.org/linux/man-pages/man7/pipe.7.html).
#[doc(alias = "pipe2")]
#[derive(Debug)]
pub struct PipePair([(OwnedFd, OwnedFd); 2]);

impl PipePair {
    /// Opens a pipe to each side.
    pub fn new() -> Result<Self, SysError> {
        let pipe = || rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(SysError::of("pipe2"));
        Ok(Self([pipe()?, pipe()?]))
    }
}

impl Doorbell for PipePair {
    #[inline]
    fn ring(&self, side: Side, signal: Signal) -> Result<(), SysError> {
        let byte = [signal.number() as u8];
        retried(|| rustix::io::write(&self.0[side.index()].1, &byte))
            .map(drop)
            .map_err(SysError::of("write"))
    }

    #[inline]
    fn wait(&self, side: Side) -> Result<Signal, SysError> {
        let mut byte = [0_u8];
        retried(|| rustix::io::read(&self.0[side.index()].0, &mut byte))
            .map_err(SysError::of("read"))?;
        Ok(Signal::of(byte[0].into()))
    }
}

/// A counter that is added to and read:
/// [eventfd(2)](https://man7.org/linux/man-pages/man2/eventfd.2.html).
#[doc(alias = "eventfd")]
#[derive(Debug)]
pub struct EventfdPair {
    counters: [OwnedFd; 2],
    wait: Wait,
}

impl EventfdPair {
    /// Opens a counter for each side.
    pub fn new() -> Result<Self, SysError> {
        Self::waiting(Wait::Block)
    }

    /// Opens a counter for each side, which sleeps, or reads its counter again and again.
    pub fn waiting(wait: Wait) -> Result<Self, SysError> {
        let flags = match wait {
            Wait::Block => EventfdFlags::CLOEXEC,
            Wait::Spin => EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK,
        };
        let counter = || rustix::event::eventfd(0, flags).map_err(SysError::of("eventfd"));
        Ok(Self { counters: [counter()?, counter()?], wait })
    }
}

impl Doorbell for EventfdPair {
    #[inline]
    fn ring(&self, side: Side, signal: Signal) -> Result<(), SysError> {
        let added = u64::from(signal.number()).to_ne_bytes();
        retried(|| rustix::io::write(&self.counters[side.index()], &added))
            .map(drop)
            .map_err(SysError::of("write"))
    }

    #[inline]
    fn wait(&self, side: Side) -> Result<Signal, SysError> {
        let mut count = [0_u8; 8];
        let mut read = || retried(|| rustix::io::read(&self.counters[side.index()], &mut count));
        let done = match self.wait {
            Wait::Block => read(),
            Wait::Spin => spun(|| match read() {
                Err(Errno::AGAIN) => None,
                done => Some(done),
            })
            .flatten(),
        };
        done.map_err(SysError::of("read"))?;
        Ok(Signal::of(u64::from_ne_bytes(count) as u32))
    }
}

fn retried<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}

/// The longest that a side spins.
const SPIN_MAX: Duration = Duration::from_secs(5);

/// Calls until there is an answer.
///
/// # Errors
/// `ETIMEDOUT`: there was none for [`SPIN_MAX`], so the other side is gone.
pub(crate) fn spun<T>(mut call: impl FnMut() -> Option<T>) -> Result<T, Errno> {
    /// Between two readings of the clock.
    const TURNS: u32 = 1 << 16;
    let begin = Instant::now();
    loop {
        for _ in 0..TURNS {
            if let Some(answer) = call() {
                return Ok(answer);
            }
            std::hint::spin_loop();
        }
        if begin.elapsed() > SPIN_MAX {
            return Err(Errno::TIMEDOUT);
        }
    }
}

/// A word for each side in memory that both share, each in a cache line of its own: zero, or the
/// signal.
#[derive(Debug)]
struct Flags(SharedWords);

/// Words of eight bytes in two cache lines, since CPUs fetch lines in pairs.
const APART: usize = 16;

impl Flags {
    fn new() -> Result<Self, SysError> {
        Ok(Self(SharedWords::create(2 * APART)?))
    }

    fn of(&self, side: Side) -> &AtomicU32 {
        &self.0.halves()[side.index() * APART * 2]
    }

    fn set(&self, side: Side, signal: Signal) {
        self.of(side).store(signal.number(), Ordering::Release);
    }

    /// Takes the signal, if there is one.
    fn take(&self, side: Side) -> Option<Signal> {
        let flag = self.of(side);
        match flag.load(Ordering::Acquire) {
            0 => None,
            number => {
                flag.store(0, Ordering::Relaxed);
                Some(Signal::of(number))
            }
        }
    }
}

/// A word in shared memory and [futex(2)](https://man7.org/linux/man-pages/man2/futex.2.html).
#[doc(alias = "FUTEX_WAKE")]
#[derive(Debug)]
pub struct FutexPair(Flags);

impl FutexPair {
    /// Allocates the words.
    pub fn new() -> Result<Self, SysError> {
        Flags::new().map(Self)
    }
}

impl Doorbell for FutexPair {
    #[inline]
    fn ring(&self, side: Side, signal: Signal) -> Result<(), SysError> {
        self.0.set(side, signal);
        futex::wake(self.0.of(side), futex::Flags::empty(), 1)
            .map(drop)
            .map_err(SysError::of("futex"))
    }

    #[inline]
    fn wait(&self, side: Side) -> Result<Signal, SysError> {
        loop {
            if let Some(signal) = self.0.take(side) {
                return Ok(signal);
            }
            match futex::wait(self.0.of(side), futex::Flags::empty(), 0, None) {
                // The word has changed already, or nothing has happened: look again.
                Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(errno) => return Err(SysError::new("futex", errno)),
            }
        }
    }
}

/// A word in shared memory and
/// [sched_yield(2)](https://man7.org/linux/man-pages/man2/sched_yield.2.html) until it changes:
/// for two sides on one CPU.
#[doc(alias = "sched_yield")]
#[derive(Debug)]
pub struct YieldPair(Flags);

impl YieldPair {
    /// The most calls in a wait. The other side is gone if it has not run by then.
    const CALLS_MAX: u32 = 5_000_000;

    /// Allocates the words.
    pub fn new() -> Result<Self, SysError> {
        Flags::new().map(Self)
    }
}

impl Doorbell for YieldPair {
    #[inline]
    fn ring(&self, side: Side, signal: Signal) -> Result<(), SysError> {
        self.0.set(side, signal);
        Ok(())
    }

    #[inline]
    fn wait(&self, side: Side) -> Result<Signal, SysError> {
        for _ in 0..Self::CALLS_MAX {
            if let Some(signal) = self.0.take(side) {
                return Ok(signal);
            }
            rustix::thread::sched_yield();
        }
        Err(SysError::new("sched_yield", Errno::TIMEDOUT))
    }
}

/// A word in shared memory that each side looks at again and again: for two sides on two CPUs.
#[derive(Debug)]
pub struct SpinPair(Flags);

impl SpinPair {
    /// Allocates the words.
    pub fn new() -> Result<Self, SysError> {
        Flags::new().map(Self)
    }
}

impl Doorbell for SpinPair {
    #[inline]
    fn ring(&self, side: Side, signal: Signal) -> Result<(), SysError> {
        self.0.set(side, signal);
        Ok(())
    }

    #[inline]
    fn wait(&self, side: Side) -> Result<Signal, SysError> {
        spun(|| self.0.take(side)).map_err(SysError::of("wait"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(doorbell: &impl Doorbell) {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while doorbell.wait(Side::Second).unwrap() == Signal::Go {
                    doorbell.ring(Side::First, Signal::Go).unwrap();
                }
            });
            for _ in 0..100 {
                doorbell.ring(Side::Second, Signal::Go).unwrap();
                assert_eq!(doorbell.wait(Side::First), Ok(Signal::Go));
            }
            doorbell.ring(Side::Second, Signal::Stop).unwrap();
        });
    }

    #[test]
    fn every_doorbell_wakes_the_other_side_and_ends_it() {
        check(&PipePair::new().unwrap());
        check(&EventfdPair::new().unwrap());
        check(&FutexPair::new().unwrap());
        check(&YieldPair::new().unwrap());
        check(&EventfdPair::waiting(Wait::Spin).unwrap());
        check(&SpinPair::new().unwrap());
    }
}
