//! The loop that watches late wakeups and the budget.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tactus_model::cpus::CpuList;
use tactus_model::policy::Scheduling;
use tactus_model::recording::{EventSource, LateWakeup};
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_record::file::RecordingFile;
use tactus_record::live::Newest;
use tactus_sys::SysError;
use tactus_sys::clock;
use tactus_sys::wait::{Waker, wait};

use crate::budget::{Budget, INTERVAL_MAX, Stage, Used};
use crate::causes::{Causes, Unknown, main_cause, main_causes};
use crate::endpoint::Endpoint;
use crate::event::Event;
use crate::event_recorder::{Begun, EventRecorder};
use crate::explained::{explain_all, worst_of};
use crate::metrics::{Probed, Status, families};
use crate::probe::{Counts, Plan, Probe};
use crate::saver::{Saved, Saver};
use crate::shelf::Shelf;

/// What an agent does.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where metrics are served.
    pub listen: SocketAddr,
    /// From one wakeup to the next.
    pub interval: Nanos,
    /// The policy of the probe.
    pub policy: Scheduling,
    /// The CPUs of the probe; any if `None`.
    pub cpus: Option<CpuList>,
    /// A longer latency is late.
    pub late: Nanos,
    /// The share of one CPU that all of this may use.
    pub share: f64,
    /// Whether kernel events are recorded.
    pub records: bool,
    /// The size of the buffer of each CPU in bytes.
    pub ring_size: usize,
    /// The directory of saved recordings.
    pub recordings: PathBuf,
    /// The size of all saved recordings in bytes.
    pub keep: u64,
    /// How many recordings are saved in an hour at most.
    pub saves_per_hour: u32,
    /// Whether the probe's memory is locked.
    pub locks_memory: bool,
}

/// Why an agent does not start.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    /// The address cannot be listened at.
    #[error("cannot listen at {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The reason.
        error: io::Error,
    },
    /// The directory of recordings cannot be made.
    #[error("cannot make the directory {directory}: {error}")]
    Recordings {
        /// The directory.
        directory: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The probe cannot be started.
    #[error("cannot start the probe: {0}")]
    Probe(#[from] SysError),
}

/// The time between two looks for late wakeups. They are saved after it and [`AFTERMATH`], or after
/// twice this time if each is followed by another, so buffers have to hold more than that.
const LOOK: Nanos = Nanos::from_millis(500);

/// The time between two looks at the budget, for which the kernel counts the events of every CPU.
const ACCOUNT: Nanos = Nanos::from_secs(2);

/// How long after a late wakeup the events are read that explain it: steal time shows only later.
const AFTERMATH: Nanos = Nanos::from_millis(20);

/// The most late wakeups that are explained from one recording.
const EXPLAINED_MAX: usize = 1000;

/// A watcher.
pub struct Agent {
    options: Options,
    probe: Probe,
    endpoint: Endpoint,
    status: Arc<Mutex<Status>>,
    budget: Budget,
    recorder: EventRecorder,
    saver: Saver,
    /// Late wakeups that were not explained yet.
    waiting: Vec<LateWakeup>,
    /// The late wakeups that were taken over from the probe's count.
    taken: u64,
    /// The CPU time of this process when it began to watch, and at the last look.
    own: (Nanos, Nanos),
    looked: Instant<Monotonic>,
    started: Instant<Monotonic>,
    /// CPU time of saves since the last look.
    saving: Nanos,
    end: Arc<Ending>,
}

#[derive(Debug)]
struct Ending {
    waker: Waker,
    ended: AtomicBool,
}

/// Ends an agent.
#[derive(Clone, Debug)]
pub struct Handle(Arc<Ending>);

impl Handle {
    /// Ends the agent, within a second.
    pub fn end(&self) {
        self.0.ended.store(true, Ordering::Relaxed);
        self.0.waker.wake();
    }
}

fn own_time() -> Nanos {
    clock::cpu_time_of_process(std::process::id() as i32)
}

fn now() -> Instant<Monotonic> {
    clock::now()
}

/// Whether a slower probe would make no difference.
fn is_slowest(stage: Stage, full: Nanos) -> bool {
    matches!(stage, Stage::Slow(_)) && stage.interval(full) >= INTERVAL_MAX
        || matches!(stage, Stage::Unrecorded) && full >= INTERVAL_MAX
}

impl Agent {
    /// Starts the probe and the endpoint.
    ///
    /// # Errors
    /// See [`NotStarted`].
    pub fn start(options: Options) -> Result<Self, NotStarted> {
        let started = now();
        let shelf = Shelf::open(options.recordings.clone(), options.keep).map_err(|error| {
            NotStarted::Recordings { directory: options.recordings.clone(), error }
        })?;
        let saver = Saver::new(shelf, options.saves_per_hour, started);
        let probe = Probe::start(Plan {
            interval: options.interval,
            policy: options.policy,
            cpus: options.cpus.clone(),
            late: options.late,
            locks_memory: options.locks_memory,
        })?;
        let budget = Budget::new(options.share);
        let status = Arc::new(Mutex::new(Status {
            causes: Causes::default(),
            saved: 0,
            removed: 0,
            not_saved: 0,
            kept_bytes: saver.kept_bytes(),
            events: 0,
            price: Nanos::ZERO,
            unrecorded: Nanos::ZERO,
            is_recording: false,
            share: options.share,
            stage: budget.stage(),
            reductions: 0,
            starting: Nanos::ZERO,
            own: Nanos::ZERO,
            recording: Nanos::ZERO,
        }));
        let endpoint = listen(options.listen, &status, &probe.counts)?;
        let recorder = EventRecorder::new(options.ring_size, started);
        let ending = Ending { waker: Waker::new()?, ended: AtomicBool::new(false) };
        Ok(Self {
            options,
            probe,
            endpoint,
            status,
            budget,
            recorder,
            saver,
            waiting: Vec::new(),
            taken: 0,
            own: (Nanos::ZERO, Nanos::ZERO),
            looked: started,
            started,
            saving: Nanos::ZERO,
            end: Arc::new(ending),
        })
    }

    /// Where metrics are served.
    pub fn address(&self) -> SocketAddr {
        self.endpoint.address
    }

    /// Ends it from another thread.
    pub fn handle(&self) -> Handle {
        Handle(Arc::clone(&self.end))
    }

    /// Watches until [`Handle::end`], and passes what happens to `on_event`.
    ///
    /// # Errors
    /// The probe has failed, or the system refuses a wait.
    pub fn run(mut self, mut on_event: impl FnMut(&Event)) -> Result<(), SysError> {
        let shortfalls = std::mem::take(&mut self.probe.shortfalls);
        on_event(&Event::Started { listen: self.address(), shortfalls });
        self.record(&mut on_event);
        let starting = own_time();
        self.status().starting = starting;
        self.own = (starting, starting);
        (self.looked, self.started) = (now(), now());
        while !self.end.ended.load(Ordering::Relaxed) {
            wait(&[], &self.end.waker, LOOK)?;
            self.probe.check()?;
            self.look(&mut on_event);
        }
        self.account(&mut on_event);
        let recording = self.status().recording;
        on_event(&Event::Ended {
            starting,
            wakeups: self.probe.counts.latency.snapshot().count,
            late: self.probe.counts.late(),
            own: own_time() - self.own.0,
            recording,
            watched: now() - self.started,
        });
        Ok(())
    }

    fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&mut self, on_event: &mut impl FnMut(&Event)) {
        while let Some(late) = self.probe.next_late() {
            if self.waiting.len() < EXPLAINED_MAX {
                self.waiting.push(late);
            }
        }
        let now = now();
        // If every wakeup is late, the events after the last one are never complete.
        let is_complete = self.waiting.last().is_some_and(|late| late.came + AFTERMATH <= now)
            || self.waiting.first().is_some_and(|late| late.came + LOOK <= now);
        if is_complete {
            let before = own_time();
            self.explain_waiting(on_event);
            self.saving = self.saving + (own_time() - before);
        }
        if now - self.looked >= ACCOUNT {
            self.account(on_event);
        }
        if self.budget.stage().records() && self.recorder.may_begin(now) {
            self.record(on_event);
        }
    }

    /// Starts recording, if it should.
    fn record(&mut self, on_event: &mut impl FnMut(&Event)) {
        if !self.options.records {
            return;
        }
        match self.recorder.begin(now()) {
            Ok(Begun { price, buffers }) => {
                self.status().price = price;
                self.status().is_recording = true;
                on_event(&Event::Recording { price, buffers });
            }
            Err(error) => {
                on_event(&Event::NotRecording { reason: error.to_string(), fix: error.fix() });
            }
        }
    }

    /// Looks at the CPU time that was used, and changes what runs.
    fn account(&mut self, on_event: &mut impl FnMut(&Event)) {
        let now = now();
        let elapsed = now - self.looked;
        self.looked = now;
        let events = self.recorder.new_events();
        let own = own_time();
        let saving = std::mem::take(&mut self.saving);
        let recording = self.status().price.saturating_mul(events);
        let running = (own - self.own.1).saturating_sub(saving) + recording;
        self.own.1 = own;
        let full = self.options.interval;
        let before = self.budget.stage();
        let used = Used { running, saving };
        let changed = self.budget.observe(elapsed, used, |stage| is_slowest(stage, full));
        {
            let mut status = self.status();
            status.events += events;
            status.recording = status.recording + recording;
            status.own = own - self.own.0;
            if !status.is_recording {
                status.unrecorded = status.unrecorded + elapsed;
            }
        }
        if let Some(stage) = changed {
            let share = (running + saving).as_secs_f64() / elapsed.as_secs_f64();
            self.change(before, stage, share, on_event);
        }
    }

    fn change(
        &mut self,
        before: Stage,
        stage: Stage,
        used: f64,
        on_event: &mut impl FnMut(&Event),
    ) {
        let interval = stage.interval(self.options.interval);
        let is_less = !stage.records() && before.records()
            || interval > before.interval(self.options.interval);
        self.probe.set_interval(interval);
        if !stage.records() && self.recorder.end() {
            self.status().is_recording = false;
        }
        let next_trial = self.budget.next_trial();
        {
            let mut status = self.status();
            status.stage = stage;
            status.reductions += u64::from(is_less);
        }
        on_event(&Event::Stage { stage, interval, is_less, used, next_trial });
    }

    /// Explains the late wakeups that wait, and saves the recording.
    fn explain_waiting(&mut self, on_event: &mut impl FnMut(&Event)) {
        let mut waiting = std::mem::take(&mut self.waiting);
        let taken = self.take(&mut waiting);
        // Those that did not fit into the ring, or among the waiting ones, are counted too.
        let late = self.probe.counts.late();
        let (known, pending) = (waiting.len() as u64, self.waiting.len() as u64);
        let count = late.saturating_sub(self.taken + pending).max(known);
        self.taken += count;
        let mut recording = taken.and_then(|newest| RecordingFile::from_bytes(newest.bytes).ok());
        let saved_for = recording.as_ref().and_then(|file| file.about().saved_for);
        let explained = recording.as_mut().and_then(|file| explain_all(file, &waiting));
        // Without a wakeup in their time, the events explain nothing.
        let unknown = match saved_for {
            Some(_) => Unknown::NotExplained,
            None => Unknown::NotRecorded,
        };
        {
            let mut status = self.status();
            let named = explained.as_ref().map(main_causes).unwrap_or_default();
            named.iter().for_each(|(name, count)| status.causes.add(name, *count));
            let known: u64 = named.iter().map(|(_, count)| count).sum();
            if let more @ 1.. = count.saturating_sub(known) {
                status.causes.add(unknown.name(), more);
            }
        }
        let worst = saved_for.or_else(|| worst_of(&waiting, |_| true));
        let Some(worst) = worst.map(|late| late.latency()) else { return };
        let cause = explained.as_ref().filter(|_| saved_for.is_some()).and_then(main_cause);
        let cause = cause.unwrap_or_else(|| unknown.name().to_owned());
        on_event(&Event::Late { count, worst, cause });
        if let (Some(file), Some(late)) = (recording, saved_for) {
            self.save(file, late, on_event);
        }
    }

    /// The newest events, if they are recorded and the budget has room for reading them. Adds the
    /// late wakeups of their time to the `waiting` ones; later ones wait for the next time.
    fn take(&mut self, waiting: &mut Vec<LateWakeup>) -> Option<Newest> {
        if !self.budget.may_save() {
            return None;
        }
        let (probe, later) = (&mut self.probe, &mut self.waiting);
        let (events, newest) = self.recorder.take(|covered| {
            while let Some(late) = probe.next_late() {
                let list = if late.came <= covered.end { &mut *waiting } else { &mut *later };
                if list.len() < EXPLAINED_MAX {
                    list.push(late);
                }
            }
            worst_of(waiting, |late| covered.start <= late.due && late.came <= covered.end)
        })?;
        let mut status = self.status();
        status.events += events;
        status.recording = status.recording + status.price.saturating_mul(events);
        newest
    }

    fn save(&mut self, file: RecordingFile, worst: LateWakeup, on_event: &mut impl FnMut(&Event)) {
        let before = worst.due - file.about().started;
        match self.saver.save(file, now()) {
            None => {}
            Some(Ok(Saved { file, bytes, removed })) => {
                let kept_bytes = self.saver.kept_bytes();
                {
                    let mut status = self.status();
                    status.saved += 1;
                    status.removed += removed.len() as u64;
                    status.kept_bytes = kept_bytes;
                }
                for kept in removed {
                    on_event(&Event::Removed { name: kept.name });
                }
                on_event(&Event::Saved { file, bytes, before });
            }
            Some(Err(error)) => {
                self.status().not_saved += 1;
                on_event(&Event::NotSaved { reason: error.to_string() });
            }
        }
    }
}

/// The endpoint, which gives the counts of the watcher and of the probe.
fn listen(
    address: SocketAddr,
    status: &Arc<Mutex<Status>>,
    counts: &Arc<Counts>,
) -> Result<Endpoint, NotStarted> {
    let (status, counts) = (Arc::clone(status), Arc::clone(counts));
    let source = Arc::new(move |refused| {
        let status = status.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (missed, interval) = (counts.missed(), counts.interval());
        families(&status, Probed { latency: counts.latency.snapshot(), missed, interval }, refused)
    });
    Endpoint::start(address, source).map_err(|error| NotStarted::Listen { address, error })
}
