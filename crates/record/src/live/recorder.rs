//! A recording in progress, from its owner's view.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use tactus_model::recording::{About, Observers, ThreadId};
use tactus_model::time::{Instant, Monotonic};
use tactus_sys::clock;
use tactus_sys::wait::Waker;

use super::background::Background;
use super::copies::Copies;
use super::drainer::{Drain, DrainRequest, Drainer, Ended, Held, Parcel};
use super::error::RecordError;
use super::follow::LiveSource;
use super::level::LevelWatch;
use super::mechanism::{Buffers, Opened};
use super::open::{Prepared, open};
use super::options::{Keep, MOST_WAITING, Options};
use super::quota::QuotaWatch;
use super::symbols::Symbols;
use super::writer::{Kept, Save, Store, Writer};
use crate::file::RecordingFile;
use crate::summary::RecordingSummary;

/// A recording of the running kernel in progress. Dropping it ends the recording.
#[derive(Debug)]
pub struct Recorder {
    drainer: Draining,
    writer: JoinHandle<Result<Kept, RecordError>>,
    unwanted: Arc<AtomicBool>,
    keep: Keep,
}

/// The result of a recording, and the recording itself.
#[derive(Debug)]
pub struct Recorded {
    /// The accounts and costs.
    pub summary: RecordingSummary,
    /// The recording, ready to be read.
    pub recording: RecordingFile,
}

/// The running drainer.
#[derive(Debug)]
pub(super) struct Draining {
    pub(super) about: About,
    thread: Option<JoinHandle<Ended>>,
    level: LevelWatch,
    waker: Arc<Waker>,
    requests: Sender<DrainRequest>,
}

impl Recorder {
    /// Opens the events, starts the threads, and records from then on.
    ///
    /// # Errors
    /// Recording is not permitted or not possible on this machine, or the file cannot
    /// be created. Smaller shortfalls are in the summary.
    pub fn start(options: Options) -> Result<Self, RecordError> {
        let prepared = Prepared::new(&options)?;
        Self::start_prepared(options, prepared)
    }

    /// Like [`start`](Self::start), with what was prepared before: a measured process does not wait
    /// for it.
    ///
    /// # Errors
    /// Those of [`start`](Self::start).
    pub fn start_prepared(options: Options, prepared: Prepared) -> Result<Self, RecordError> {
        Self::start_with(options, prepared, |_| None)
    }

    /// Like [`start`](Self::start), and passes the events to a reader as well.
    ///
    /// A reader that falls behind gets a loss; the recording itself misses nothing.
    ///
    /// # Errors
    /// Those of [`start`](Self::start).
    pub fn start_followed(options: Options) -> Result<(Self, LiveSource), RecordError> {
        let prepared = Prepared::new(&options)?;
        let (parcels, followed) = channel();
        let background = Arc::new(Background::default());
        let held = Arc::new(Held { bytes: AtomicU64::new(0), limit: MOST_WAITING });
        let recorder = Self::start_with(options, prepared, |about| {
            let (held, background) = (held.clone(), background.clone());
            let (complete_until, missed) = (about.started, Vec::new());
            Some(Copies { parcels, held, background, complete_until, missed })
        })?;
        let source = LiveSource::beside(recorder.about().clone(), followed, held, background);
        Ok((recorder, source))
    }

    fn start_with(
        options: Options,
        prepared: Prepared,
        copies: impl FnOnce(&About) -> Option<Copies>,
    ) -> Result<Self, RecordError> {
        let keep = options.keep.clone();
        let limit = match keep {
            Keep::File(_) => MOST_WAITING,
            Keep::Memory { limit } | Keep::Flight { limit, .. } => limit,
        };
        let held = Arc::new(Held { bytes: AtomicU64::new(0), limit });
        let (mut drainer, parcels) = Draining::start(options, prepared, held.clone())?;
        // The writer waits for its work: what it writes first names it as an observer.
        let (begin, work) = channel::<Writer>();
        let (writer, id) = spawn("tactus-writer", move || match work.recv() {
            Ok(writer) => writer.run(),
            Err(_) => Err(RecordError::Ended("owner")),
        })?;
        drainer.about.observers.threads.push(id);
        let about = drainer.about.clone();
        let store = Store::open(&keep, &about)?;
        let copies = copies(&about);
        // A writer that has ended returns its error when it is joined.
        let unwanted = Arc::new(AtomicBool::new(false));
        let _ =
            begin.send(Writer { about, parcels, held, store, copies, unwanted: unwanted.clone() });
        Ok(Self { drainer, writer, unwanted, keep })
    }

    /// What the recording covers.
    pub fn about(&self) -> &About {
        &self.drainer.about
    }

    /// Writes the present content of a flight recorder to a file, and continues
    /// recording.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), RecordError> {
        let (done, result) = channel();
        self.drainer.request(DrainRequest::Save(Save { path: path.to_owned(), done }));
        result.recv().map_err(|_| RecordError::Ended("writer"))?
    }

    /// Ends the recording and leaves no file of it.
    pub(super) fn discard(mut self) {
        self.unwanted.store(true, Ordering::Relaxed);
        // The reason why nobody wants it is the error to report.
        let _ = self.drainer.stop();
        let _ = self.writer.join();
    }

    /// Whether storing has failed; [`stop`](Self::stop) returns the error.
    pub(super) fn has_failed(&self) -> bool {
        self.writer.is_finished()
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// Part of the recording could not be stored.
    pub fn stop(mut self) -> Result<Recorded, RecordError> {
        self.drainer.stop()?;
        let kept = self.writer.join().map_err(|_| RecordError::Ended("writer"))??;
        let recording = match (kept.bytes, &self.keep) {
            (Some(bytes), _) => RecordingFile::from_bytes(bytes),
            (None, Keep::File(path)) => RecordingFile::open(path),
            (None, _) => return Err(RecordError::Ended("writer")),
        };
        let recording = recording.map_err(|error| RecordError::ReadBack(error.to_string()))?;
        Ok(Recorded { summary: kept.summary, recording })
    }
}

impl Draining {
    /// Opens and enables the events and starts the thread; its parcels arrive at the
    /// receiver.
    pub(super) fn start(
        options: Options,
        prepared: Prepared,
        held: Arc<Held>,
    ) -> Result<(Self, Receiver<Parcel>), RecordError> {
        let mut opened = open(&options, prepared)?;
        let symbols = options.symbols.unwrap_or_else(|| Arc::new(Symbols::read()));
        let waker = Arc::new(Waker::new()?);
        let (level, refused) =
            LevelWatch::start(&*opened.buffers, waker.clone(), options.drainer.clone())?;
        opened.shortfalls.extend(refused);
        opened.buffers.enable()?;
        let started = tactus_sys::clock::now::<Monotonic>();
        // In the calling thread: this takes long, and the caller waits for it.
        let drain = Drain::new(&mut opened, started, symbols);
        let mut about = about(&opened, started, options.observers);
        let quotas = QuotaWatch::start();
        about.quotas = quotas.groups();
        let (requests, request_receiver) = channel();
        let (parcels, parcel_receiver) = channel();
        let drainer = Drainer {
            opened,
            started,
            drain,
            options: options.drainer,
            waker: waker.clone(),
            level: level.level.clone(),
            requests: request_receiver,
            parcels,
            held,
            quotas,
        };
        let (thread, id) = spawn(tactus_sys::facts::DRAINER, move || drainer.run())?;
        level.of_drainer(id);
        about.observers.threads.extend([id, level.id]);
        Ok((Self { about, thread: Some(thread), level, waker, requests }, parcel_receiver))
    }

    fn request(&self, request: DrainRequest) {
        // If the drainer has ended, waiting for its result shows it.
        let _ = self.requests.send(request);
        self.waker.wake();
    }

    /// Makes the drainer drain a last time, and waits for its end.
    pub(super) fn stop(&mut self) -> Result<(), RecordError> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        self.request(DrainRequest::Stop);
        let Ended { result, buffers } = thread.join().map_err(|_| RecordError::Ended("drainer"))?;
        // An instance of tracefs cannot be removed while its buffers are open.
        let ended = self.level.end();
        drop(buffers);
        result?;
        ended
    }
}

impl Drop for Draining {
    fn drop(&mut self) {
        // Nothing can handle an error here.
        let _ = self.stop();
    }
}

/// Starts a thread of the recorder; returns its number once it runs.
pub(super) fn spawn<T: Send + 'static>(
    name: &'static str,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<(JoinHandle<T>, ThreadId), RecordError> {
    let (id, running) = channel();
    let thread = std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            // The caller waits for it.
            let _ = id.send(tactus_sys::thread::current_id());
            body()
        })
        .map_err(RecordError::Thread)?;
    let id = running.recv().map_err(|_| RecordError::Ended(name))?;
    Ok((thread, id))
}

pub(super) fn about<B: Buffers + ?Sized>(
    opened: &Opened<B>,
    started: Instant<Monotonic>,
    observers: Observers,
) -> About {
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
        observers,
        quotas: None,
        saved_for: None,
    }
}
