//! What lists and histories need of every run, in memory.
//!
//! A thread reads it from the store again and again: the list at once, then each run that is new or
//! has changed, the last added first. Conclusions are thus computed, never stored.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tactus_judge::history::{Figure, MeasuredOn, Point, RunFigures, Series, history};
use tactus_judge::verdict::Validity;
use tactus_model::run::{RunId, RunSummary};
use tactus_report::site::{FigureCell, FigureGroup, Machine};
use tactus_store::{Store, StoreError};

use crate::site::Site;

/// The most runs that are shown: the last added.
pub(crate) const RUNS_MAX: usize = 100_000;

/// The shortest pause between two readings of the list.
const PAUSE_MIN: Duration = Duration::from_secs(2);

/// The pause is this many times as long as reading the list took, so it takes at most 5 % of a CPU.
const PAUSE_TIMES: u32 = 20;

/// A run that could not be read is tried again after this time, or as soon as the list changes.
const TRY_AGAIN: Duration = Duration::from_secs(60);

/// How often what was read appears on pages while much is read.
const PUBLISH: Duration = Duration::from_secs(1);

/// The histories that are kept per state of the store.
const HISTORIES_MAX: usize = 256;

/// A run with what was read of it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) summary: Arc<RunSummary>,
    /// `None` until it is read.
    pub(crate) figures: Option<Arc<RunFigures>>,
    /// When it could not be read.
    failed: Option<Instant>,
}

impl Entry {
    /// Whether this is a run of that machine; `unknown` is the word for no machine.
    fn is_of_machine(&self, machine: &str) -> bool {
        self.figures
            .as_ref()
            .is_some_and(|figures| figures.place.machine.as_deref().unwrap_or("unknown") == machine)
    }

    /// Whether nothing is to be read of it now.
    fn is_settled(&self) -> bool {
        self.figures.is_some() || self.failed.is_some_and(|failed| failed.elapsed() < TRY_AGAIN)
    }
}

/// The criteria of a list of runs; a missing one matches every run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Criteria<'q> {
    pub(crate) experiment: Option<&'q str>,
    pub(crate) machine: Option<&'q str>,
    pub(crate) kernel: Option<&'q str>,
}

impl Criteria<'_> {
    fn hold(&self, entry: &Entry) -> bool {
        let kernel = |kernel: &str| {
            let place = entry.figures.as_ref().map(|figures| &figures.place);
            place.is_some_and(|place| place.kernel.as_deref() == Some(kernel))
        };
        self.experiment.is_none_or(|experiment| entry.summary.name == experiment)
            && self.machine.is_none_or(|machine| entry.is_of_machine(machine))
            && self.kernel.is_none_or(kernel)
    }
}

/// One state of the store.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    /// The runs, the last added first.
    entries: Vec<Entry>,
    by_id: HashMap<RunId, usize>,
    /// For each run, the run before it of the same experiment on the same machine.
    previous: Vec<Option<usize>>,
    /// The number of runs beyond [`RUNS_MAX`].
    left_out: usize,
    /// Whether the store could not be read since.
    is_stale: AtomicBool,
    histories: Mutex<HashMap<(String, String, Figure), Arc<History>>>,
}

/// A history with the number of invalid runs that it leaves out.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) series: Vec<Series>,
    pub(crate) invalid: usize,
}

impl Snapshot {
    fn of(entries: Vec<Entry>, left_out: usize) -> Self {
        let ids = entries.iter().enumerate();
        let by_id = ids.map(|(index, entry)| (entry.summary.id.clone(), index)).collect();
        let mut last: HashMap<(&str, Option<&str>), usize> = HashMap::new();
        let mut previous = vec![None; entries.len()];
        for (index, entry) in entries.iter().enumerate().rev() {
            if let Some(figures) = &entry.figures {
                let key = (entry.summary.name.as_str(), figures.place.machine.as_deref());
                previous[index] = last.insert(key, index);
            }
        }
        Self { by_id, previous, left_out, entries, ..Self::default() }
    }

    /// The runs that meet the criteria, with their indices.
    pub(crate) fn select<'s>(
        &'s self,
        criteria: Criteria<'s>,
    ) -> impl Iterator<Item = (usize, &'s Entry)> {
        self.entries.iter().enumerate().filter(move |(_, entry)| criteria.hold(entry))
    }

    /// The run before the one with this index, of the same experiment on the same machine.
    pub(crate) fn previous(&self, index: usize) -> Option<&RunId> {
        self.previous[index].map(|previous| &self.entries[previous].summary.id)
    }

    /// The name of a run, if it is shown.
    pub(crate) fn find(&self, name: &str) -> Option<&RunId> {
        let index = self.by_id.get(&RunId::new(name))?;
        Some(&self.entries[*index].summary.id)
    }

    pub(crate) const fn has_runs(&self) -> bool {
        !self.entries.is_empty()
    }

    /// The number of runs that have not been read.
    pub(crate) fn unread(&self) -> usize {
        self.entries.iter().filter(|entry| entry.figures.is_none()).count()
    }

    /// The number of runs that could not be read, which are among the [unread](Self::unread).
    pub(crate) fn unreadable(&self) -> usize {
        let is_unreadable = |entry: &&Entry| entry.figures.is_none() && entry.failed.is_some();
        self.entries.iter().filter(is_unreadable).count()
    }

    pub(crate) const fn left_out(&self) -> usize {
        self.left_out
    }

    /// Whether the store could not be read since: runs may be missing, or deleted.
    pub(crate) fn is_stale(&self) -> bool {
        self.is_stale.load(Ordering::Relaxed)
    }

    /// The machines, that of the last run first.
    pub(crate) fn machines(&self) -> Vec<Machine> {
        let mut machines: Vec<Machine> = Vec::new();
        let mut known: HashMap<Option<&str>, usize> = HashMap::new();
        for entry in &self.entries {
            let Some(RunFigures { place, cpu, .. }) = entry.figures.as_deref() else { continue };
            let index = *known.entry(place.machine.as_deref()).or_insert_with(|| {
                machines.push(Machine {
                    machine: place.machine.clone(),
                    cpus: Vec::new(),
                    kernels: Vec::new(),
                    runs: 0,
                    last: entry.summary.created,
                });
                machines.len() - 1
            });
            let machine = &mut machines[index];
            machine.runs += 1;
            machine.last = machine.last.max(entry.summary.created);
            add(&mut machine.cpus, cpu.as_ref());
            add(&mut machine.kernels, place.kernel.as_ref());
        }
        machines
    }

    /// At most `most` cells with results, by experiment, and the number of further ones.
    pub(crate) fn figures(&self, most: usize) -> (Vec<FigureGroup>, usize) {
        let mut groups: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
        for entry in &self.entries {
            let cells = entry.figures.iter().flat_map(|figures| &figures.cells);
            for (label, _) in cells {
                let group = groups.entry(&entry.summary.name).or_default();
                *group.entry(label).or_default() += 1;
            }
        }
        let all: usize = groups.values().map(BTreeMap::len).sum();
        let mut room = most;
        let groups = groups.into_iter().map_while(|(experiment, cells)| {
            let cell = |(cell, runs): (&str, usize)| FigureCell { cell: cell.to_owned(), runs };
            let cells: Vec<FigureCell> = cells.into_iter().take(room).map(cell).collect();
            room -= cells.len();
            let experiment = experiment.to_owned();
            (!cells.is_empty()).then_some(FigureGroup { experiment, cells })
        });
        (groups.collect(), all.saturating_sub(most))
    }

    /// The history of a figure in all valid runs.
    pub(crate) fn history(&self, experiment: &str, cell: &str, figure: Figure) -> Arc<History> {
        let key = (experiment.to_owned(), cell.to_owned(), figure);
        let kept = || self.histories.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = kept().get(&key) {
            return Arc::clone(found);
        }
        let found = Arc::new(self.computed(experiment, cell, figure));
        let mut kept = kept();
        // Made-up names take no room.
        let is_empty = found.series.is_empty() && found.invalid == 0;
        if !is_empty && kept.len() < HISTORIES_MAX {
            kept.insert(key, Arc::clone(&found));
        }
        found
    }

    fn computed(&self, experiment: &str, cell: &str, figure: Figure) -> History {
        let mut invalid = 0;
        let of_experiment = Criteria { experiment: Some(experiment), ..Criteria::default() };
        let points = self.select(of_experiment).filter_map(|(_, entry)| {
            let figures = entry.figures.as_ref()?;
            let value = figures.figure(cell, figure)?;
            if figures.validity == Validity::Invalid {
                invalid += 1;
                return None;
            }
            let RunSummary { id, created, .. } = &*entry.summary;
            let place: MeasuredOn = figures.place.clone();
            Some((place, Point { run: id.clone(), created: *created, value }))
        });
        let points: Vec<_> = points.collect();
        History { series: history(points), invalid }
    }
}

fn add(list: &mut Vec<String>, item: Option<&String>) {
    if let Some(item) = item.filter(|item| !list.contains(item)) {
        list.push(item.clone());
    }
}

/// The latest state that was read.
#[derive(Debug, Default)]
pub(crate) struct Index(RwLock<Arc<Snapshot>>);

/// A reading of the list, and of the runs that were new in it.
pub(crate) struct Reading {
    /// How long reading the list took.
    took: Duration,
    /// Why a run could not be read; the others were.
    unreadable: Option<StoreError>,
}

impl Index {
    pub(crate) fn now(&self) -> Arc<Snapshot> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn publish(&self, snapshot: Snapshot) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(snapshot);
    }

    /// Reads the list, then the runs that are new or have changed, until `ended`.
    pub(crate) fn refresh(
        &self,
        store: &Store,
        ended: impl Fn() -> bool,
    ) -> tactus_app::Result<Reading> {
        let began = Instant::now();
        let mut summaries = store.list()?;
        let took = began.elapsed();
        let left_out = summaries.len().saturating_sub(RUNS_MAX);
        summaries.truncate(RUNS_MAX);
        let before = self.now();
        before.is_stale.store(false, Ordering::Relaxed);
        let kept = |summary: &RunSummary| {
            let entry = &before.entries[*before.by_id.get(&summary.id)?];
            (*entry.summary == *summary).then(|| entry.clone())
        };
        let new = |summary| Entry { summary: Arc::new(summary), figures: None, failed: None };
        let mut entries: Vec<Entry> = summaries
            .into_iter()
            .map(|summary| kept(&summary).unwrap_or_else(|| new(summary)))
            .collect();
        let same = entries.len() == before.entries.len()
            && entries
                .iter()
                .zip(&before.entries)
                .all(|(now, before)| now.is_settled() && now.summary == before.summary);
        if same {
            return Ok(Reading { took, unreadable: None });
        }
        self.publish(Snapshot::of(entries.clone(), left_out));
        let (mut published, mut unreadable) = (Instant::now(), None);
        for index in 0..entries.len() {
            if ended() {
                break;
            }
            if entries[index].figures.is_some() {
                continue;
            }
            match store.load(&entries[index].summary.id) {
                Ok(run) => entries[index].figures = Some(Arc::new(RunFigures::of(&run))),
                // It was deleted meanwhile, and is not in the next list.
                Err(StoreError::UnknownRun { .. } | StoreError::NoRuns) => {}
                // The others are read nevertheless.
                Err(error) => {
                    entries[index].failed = Some(Instant::now());
                    unreadable = unreadable.or(Some(error));
                }
            }
            if published.elapsed() >= PUBLISH {
                self.publish(Snapshot::of(entries.clone(), left_out));
                published = Instant::now();
            }
        }
        self.publish(Snapshot::of(entries, left_out));
        Ok(Reading { took, unreadable })
    }
}

/// The thread that reads the store.
pub(crate) struct Reader {
    end: Arc<(Mutex<bool>, Condvar)>,
    thread: JoinHandle<()>,
}

impl Reader {
    pub(crate) fn start(site: Arc<Site>) -> std::io::Result<Self> {
        let end = Arc::new((Mutex::new(false), Condvar::new()));
        let for_thread = Arc::clone(&end);
        let thread = std::thread::Builder::new()
            .name("index".to_owned())
            .spawn(move || read_until(&site, &for_thread))?;
        Ok(Self { end, thread })
    }

    /// Ends the thread after the run that it reads.
    pub(crate) fn end(self) {
        *self.end.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.end.1.notify_all();
        // A panic of it was printed by itself.
        let _ = self.thread.join();
    }
}

fn read_until(site: &Site, (end, changed): &(Mutex<bool>, Condvar)) {
    let ended = || *end.lock().unwrap_or_else(PoisonError::into_inner);
    let mut failed = None;
    while !ended() {
        // Opened again each time: the server of a store may have been restarted, and a file
        // replaced.
        let read = site.open().and_then(|store| site.index().refresh(&store, ended));
        let (pause, error) = match read {
            Ok(Reading { took, unreadable }) => {
                failed = failed.filter(|_| site.index().now().unreadable() > 0);
                let error = unreadable.map(|error| tactus_app::Error::from(error).to_string());
                ((took * PAUSE_TIMES).max(PAUSE_MIN), error)
            }
            Err(error) => {
                site.index().now().is_stale.store(true, Ordering::Relaxed);
                (PAUSE_MIN, Some(error.to_string()))
            }
        };
        // Once, not at each reading.
        if let Some(error) = error.filter(|error| failed.as_ref() != Some(error)) {
            site.report(&error);
            failed = Some(error);
        }
        let end = end.lock().unwrap_or_else(PoisonError::into_inner);
        drop(changed.wait_timeout_while(end, pause, |end| !*end));
    }
}
