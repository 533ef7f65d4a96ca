//! A recording in progress, as its owner sees it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use tactus_model::recording::About;
use tactus_model::time::{Instant, Monotonic};
use tactus_sys::wait::Waker;
use tactus_sys::{SysError, clock};

use super::copies::Copies;
use super::drainer::{Drainer, Held, Order, Parcel};
use super::error::RecordError;
use super::follow::LiveSource;
use super::keeper::{Keeper, Kept, Save, Store};
use super::mechanism::Opened;
use super::open::open;
use super::options::{Keep, MOST_WAITING, Options};
use super::symbols::Symbols;
use crate::file::RecordingFile;
use crate::summary::RecordingSummary;

/// A recording of the running kernel, in progress. Dropping it ends it.
#[derive(Debug)]
pub struct Recorder {
    drainer: Draining,
    keeper: JoinHandle<Result<Kept, RecordError>>,
    keep: Keep,
}

/// What a recording came to, and the recording itself.
#[derive(Debug)]
pub struct Recorded {
    /// Accounts and costs.
    pub summary: RecordingSummary,
    /// The recording, ready to be read.
    pub recording: RecordingFile,
}

/// The drainer at work.
#[derive(Debug)]
pub(super) struct Draining {
    pub(super) about: About,
    thread: Option<JoinHandle<Result<(), SysError>>>,
    waker: Arc<Waker>,
    orders: Sender<Order>,
}

impl Recorder {
    /// Opens the events, starts the threads, and records from then on.
    ///
    /// # Errors
    /// Recording is not permitted or not possible here, or the file cannot be
    /// made. What is merely less than was asked is told in the summary.
    pub fn start(options: Options) -> Result<Self, RecordError> {
        Self::start_with(options, |_| None)
    }

    /// Does as [`start`](Self::start), and hands the events out to a reader as well.
    ///
    /// A reader that falls behind is told of a loss; the recording misses nothing
    /// by it.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_followed(options: Options) -> Result<(Self, LiveSource), RecordError> {
        let (parcels, followed) = channel();
        let held = Arc::new(Held { bytes: AtomicU64::new(0), limit: MOST_WAITING });
        let recorder = Self::start_with(options, |about| {
            let (held, complete_until) = (held.clone(), about.started);
            Some(Copies { parcels, held, complete_until, missed: Vec::new() })
        })?;
        let source = LiveSource::beside(recorder.about().clone(), followed, held);
        Ok((recorder, source))
    }

    fn start_with(
        options: Options,
        copies: impl FnOnce(&About) -> Option<Copies>,
    ) -> Result<Self, RecordError> {
        let keep = options.keep.clone();
        let limit = match keep {
            Keep::File(_) => MOST_WAITING,
            Keep::Memory { limit } | Keep::Flight { limit, .. } => limit,
        };
        let held = Arc::new(Held { bytes: AtomicU64::new(0), limit });
        let (drainer, parcels) = Draining::start(options, held.clone())?;
        let store = Store::open(&keep, &drainer.about)?;
        let copies = copies(&drainer.about);
        let keeper = Keeper { about: drainer.about.clone(), parcels, held, store, copies };
        let keeper = std::thread::Builder::new()
            .name("tactus-keeper".to_owned())
            .spawn(move || keeper.run())
            .map_err(RecordError::Thread)?;
        Ok(Self { drainer, keeper, keep })
    }

    /// What is being recorded.
    pub fn about(&self) -> &About {
        &self.drainer.about
    }

    /// Writes what a flight recorder holds up to now to a file, and goes on recording.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), RecordError> {
        let (done, answer) = channel();
        self.drainer.order(Order::Save(Save { path: path.to_owned(), done }));
        answer.recv().map_err(|_| RecordError::Ended("keeper"))?
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// Something that was recorded could not be kept.
    pub fn stop(mut self) -> Result<Recorded, RecordError> {
        self.drainer.stop()?;
        let kept = self.keeper.join().map_err(|_| RecordError::Ended("keeper"))??;
        let recording = match (kept.bytes, &self.keep) {
            (Some(bytes), _) => RecordingFile::from_bytes(bytes),
            (None, Keep::File(path)) => RecordingFile::open(path),
            (None, _) => return Err(RecordError::Ended("keeper")),
        };
        let recording = recording.map_err(|error| RecordError::ReadBack(error.to_string()))?;
        Ok(Recorded { summary: kept.summary, recording })
    }
}

impl Draining {
    /// Opens and enables the events and starts the thread; its parcels arrive
    /// at the receiver.
    pub(super) fn start(
        options: Options,
        held: Arc<Held>,
    ) -> Result<(Self, Receiver<Parcel>), RecordError> {
        let opened = open(&options)?;
        let symbols = options.symbols.unwrap_or_else(|| Arc::new(Symbols::read()));
        let waker = Arc::new(Waker::new()?);
        opened.buffers.enable()?;
        let started = tactus_sys::clock::now::<Monotonic>();
        let about = about(&opened, started);
        let (orders, order_receiver) = channel();
        let (parcels, parcel_receiver) = channel();
        let drainer = Drainer {
            opened,
            started,
            symbols,
            options: options.drainer,
            waker: waker.clone(),
            orders: order_receiver,
            parcels,
            held,
        };
        let thread = std::thread::Builder::new()
            .name(tactus_sys::facts::DRAINER.to_owned())
            .spawn(move || drainer.run())
            .map_err(RecordError::Thread)?;
        Ok((Self { about, thread: Some(thread), waker, orders }, parcel_receiver))
    }

    fn order(&self, order: Order) {
        // A drainer that is gone is noticed where its answer is waited for.
        let _ = self.orders.send(order);
        self.waker.wake();
    }

    /// Has the drainer drain a last time, and waits for its end.
    pub(super) fn stop(&mut self) -> Result<(), RecordError> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        self.order(Order::Stop);
        thread.join().map_err(|_| RecordError::Ended("drainer"))??;
        Ok(())
    }
}

impl Drop for Draining {
    fn drop(&mut self) {
        // Nobody is left to be told of an error.
        let _ = self.stop();
    }
}

fn about(opened: &Opened, started: Instant<Monotonic>) -> About {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok();
    let whole = |name: &&String| !opened.absent.iter().any(|absent| absent.event == **name);
    About {
        started,
        cpus: opened.cpus.clone(),
        events: opened.names.iter().filter(whole).cloned().collect(),
        absent: opened.absent.clone(),
        kernel: release.map(|text| text.trim().to_owned()),
        mechanism: Some(opened.buffers.mechanism()),
        timer_tick: clock::timer_tick(),
    }
}
