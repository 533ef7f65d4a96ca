//! Gives the drainer its real-time priority when a buffer is filling faster than it is emptied.
//!
//! The drainer is an ordinary thread: the scheduler runs it on an idle CPU or in its turn. With a
//! real-time priority it ran on the CPU where it had last run, before the thread whose lateness
//! the recording explains, while another CPU was idle. But on a busy machine an ordinary thread may
//! wait longer than a buffer takes to fill. So another thread, with the real-time priority and next
//! to no work, waits until a buffer reaches its watermark. It wakes the drainer, and raises the
//! drainer's priority if that did not empty the buffers soon.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use tactus_model::policy::Scheduling;
use tactus_model::recording::ThreadId;
use tactus_model::result::Shortfall;
use tactus_model::time::Nanos;
use tactus_prepare::{NotGranted, ThreadRef};
use tactus_sys::SysError;
use tactus_sys::facts::LEVEL_WATCHER;
use tactus_sys::perf::OpenFileLimit;
use tactus_sys::wait::{Waker, wait};

use super::error::RecordError;
use super::mechanism::Buffers;
use super::options::DrainerOptions;
use super::recorder::spawn;

/// How long the drainer may take to empty the buffers, once one has reached its watermark, before
/// its priority is raised. The rest of a buffer of 8 MiB takes longer to fill at a million events
/// a second.
const PATIENCE: Nanos = Nanos::from_millis(20);

/// The longest sleep; only a buffer or the end ends it earlier.
const LONG: Nanos = Nanos::from_secs(3600);

/// What the drainer and the watching thread share.
#[derive(Debug)]
pub(super) struct Level {
    /// Wakes the watching thread.
    waker: Waker,
    /// A buffer has reached its watermark, and has not been emptied since.
    high: AtomicBool,
    ended: AtomicBool,
}

impl Level {
    /// Whether a buffer has reached its watermark since the last [`fell`](Self::fell).
    pub(super) fn is_high(&self) -> bool {
        self.high.load(Ordering::Acquire)
    }

    /// Reports that the buffers were emptied after they were [high](Self::is_high).
    pub(super) fn fell(&self) {
        self.high.store(false, Ordering::Release);
        self.waker.wake();
    }
}

/// The thread that watches the level. Its drop ends it.
#[derive(Debug)]
pub(super) struct LevelWatch {
    pub(super) level: Arc<Level>,
    pub(super) id: ThreadId,
    /// Receives the drainer's number.
    drainer: Sender<ThreadId>,
    thread: Option<JoinHandle<Result<(), SysError>>>,
}

impl LevelWatch {
    /// Starts to watch `buffers`, in which `waker` wakes the drainer; returns what was refused.
    ///
    /// # Errors
    /// A descriptor or the thread cannot be made.
    pub(super) fn start(
        buffers: &dyn Buffers,
        waker: Arc<Waker>,
        options: DrainerOptions,
    ) -> Result<(Self, Vec<Shortfall>), RecordError> {
        let (high, ended) = (AtomicBool::new(false), AtomicBool::new(false));
        let level = Arc::new(Level { waker: Waker::new()?, high, ended });
        let _limit = OpenFileLimit::raise();
        let buffers = buffers.to_poll().into_iter().map(|buffer| buffer.try_clone_to_owned());
        let buffers = buffers.collect::<Result<_, _>>().map_err(RecordError::Thread)?;
        let (drainer, number) = channel();
        let (refused, shortfalls) = channel();
        let watcher = Watcher { buffers, level: level.clone(), waker, options };
        let (thread, id) = spawn(LEVEL_WATCHER, move || watcher.run(&refused, &number))?;
        let watch = Self { level, id, drainer, thread: Some(thread) };
        // If the thread failed, only the drainer's priority is missing, and its end says why.
        let shortfalls = shortfalls.recv().unwrap_or_default();
        Ok((watch, shortfalls))
    }

    /// Names the thread whose priority is raised.
    pub(super) fn of_drainer(&self, drainer: ThreadId) {
        // A thread that has failed returns its error at its end.
        let _ = self.drainer.send(drainer);
    }

    /// Ends the thread, which closes its descriptors of the buffers.
    ///
    /// # Errors
    /// A system call failed that should never fail.
    pub(super) fn end(&mut self) -> Result<(), RecordError> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        self.level.ended.store(true, Ordering::Release);
        self.level.waker.wake();
        Ok(thread.join().map_err(|_| RecordError::Ended("level"))??)
    }
}

impl Drop for LevelWatch {
    fn drop(&mut self) {
        // It also waits for the drainer's number, if that was never sent.
        self.drainer = channel().0;
        // Nothing can handle an error here.
        let _ = self.end();
    }
}

struct Watcher {
    buffers: Vec<OwnedFd>,
    level: Arc<Level>,
    /// Wakes the drainer.
    waker: Arc<Waker>,
    options: DrainerOptions,
}

impl Watcher {
    fn run(
        self,
        refused: &Sender<Vec<Shortfall>>,
        drainer: &Receiver<ThreadId>,
    ) -> Result<(), SysError> {
        // The starter waits for them.
        let _ = refused.send(prepare(&self.options)?);
        let Ok(drainer) = drainer.recv() else { return Ok(()) };
        let buffers: Vec<_> = self.buffers.iter().map(AsFd::as_fd).collect();
        while !self.level.ended.load(Ordering::Acquire) {
            if wait(&buffers, &self.level.waker, LONG)?.buffer {
                self.level.high.store(true, Ordering::Release);
                self.waker.wake();
                self.await_fall(drainer)?;
            }
        }
        Ok(())
    }

    /// Waits until the drainer has emptied the buffers, and raises its priority when that takes
    /// long.
    fn await_fall(&self, drainer: ThreadId) -> Result<(), SysError> {
        wait(&[], &self.level.waker, PATIENCE)?;
        while self.level.is_high() && !self.level.ended.load(Ordering::Acquire) {
            // Repeated: the drainer may give the priority back in the same moment. What is refused
            // here was refused to this thread too.
            let _ = tactus_sys::sched::set_of(drainer, self.options.urgent());
            wait(&[], &self.level.waker, PATIENCE)?;
        }
        Ok(())
    }
}

impl DrainerOptions {
    fn urgent(&self) -> Scheduling {
        Scheduling::Fifo(self.priority)
    }
}

/// Gives the calling thread its CPUs, then its priority; returns what was refused.
fn prepare(options: &DrainerOptions) -> Result<Vec<Shortfall>, SysError> {
    let scheduled = ThreadRef::Calling.schedule(options.urgent())?;
    let refused = pin(options)?.into_iter().chain(scheduled);
    Ok(refused.map(of_the_recorder).collect())
}

/// Confines the calling thread to the drainer's CPUs.
pub(super) fn pin(options: &DrainerOptions) -> Result<Option<NotGranted>, SysError> {
    match &options.cpus {
        Some(cpus) => ThreadRef::Calling.pin(cpus),
        None => Ok(None),
    }
}

fn of_the_recorder(refused: NotGranted) -> Shortfall {
    let Shortfall { asked, granted, reason, fix } = refused.explain_here();
    let asked = format!("{asked} for the recorder's thread");
    let granted = format!("{granted}: on a busy machine events may be lost");
    Shortfall { asked, granted, reason, fix }
}
