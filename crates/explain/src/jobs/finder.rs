//! Which threads are periodic, and by what.

use tactus_model::recording::{About, Dictionary, Event, Lost, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::JobOptions;
use super::period::{NoPeriod, Period};
use super::turn::{Heard, Source, Turn};
use crate::machine::Machine;
use crate::number_map::NumberMap;

/// How many sources of wakeups a thread may have; later ones are not considered.
const SOURCES_MAX: usize = 4;

/// How many spacings of a source are kept; newer ones replace the oldest.
const SPACINGS_MAX: usize = 512;

/// How many threads have their spacings kept; later ones are not considered.
const THREADS_MAX: usize = 1 << 16;

/// What a thread's due times follow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    pub(super) source: Source,
    pub(super) period: Period,
}

/// Finds the periods of threads while events come in.
///
/// The caller passes events and losses in the order of time and then calls
/// [`Self::finish`].
#[derive(Debug)]
pub struct JobFinder {
    machine: Machine,
    rhythms: Rhythms,
}

/// The periods that a [`JobFinder`] found.
#[derive(Debug, Default)]
pub struct Schedules {
    pub(super) of: NumberMap<i32, Schedule>,
    pub(super) without: Vec<(ThreadId, NoPeriod)>,
}

impl JobFinder {
    /// Makes a finder for a recording described by `about`.
    pub fn new(about: &About) -> Self {
        Self { machine: Machine::new(about), rhythms: Rhythms::default() }
    }

    /// Takes the next event.
    pub fn event(&mut self, event: &Event, names: &Dictionary) {
        let mut heard = Heard::default();
        self.machine.step(event, &mut heard);
        if let Some(turn) = heard.turn(event, &self.machine, names) {
            self.rhythms.take(&turn);
        }
    }

    /// Takes a loss of events.
    pub fn lost(&mut self, lost: &Lost) {
        self.machine.lose(lost, &mut Heard::default());
        self.rhythms.lose();
    }

    /// The periods of all threads that have one; `given` is the period to use instead.
    pub fn finish(self, given: Option<Nanos>) -> Schedules {
        let mut found = Schedules::default();
        for (thread, rhythm) in self.rhythms.of {
            match rhythm.schedule(given) {
                Ok(schedule) => drop(found.of.insert(thread, schedule)),
                Err(reason) => found.without.push((ThreadId(thread), reason)),
            }
        }
        found
    }
}

/// The spacings of the due times of threads.
#[derive(Debug, Default)]
pub(super) struct Rhythms {
    of: NumberMap<i32, Rhythm>,
}

impl Rhythms {
    /// Takes a turn; returns the spacings of its thread.
    pub(super) fn take(&mut self, turn: &Turn) -> Option<&Rhythm> {
        if self.of.len() >= THREADS_MAX && !self.of.contains_key(&turn.thread.0) {
            return None;
        }
        let rhythm = self.of.entry(turn.thread.0).or_default();
        rhythm.take(turn);
        Some(rhythm)
    }

    /// The threads whose spacings give no period, and why.
    pub(super) fn without(
        &self,
        options: JobOptions,
    ) -> impl Iterator<Item = (ThreadId, NoPeriod)> + '_ {
        self.of.iter().filter_map(move |(thread, rhythm)| {
            Some((ThreadId(*thread), rhythm.schedule(options.period).err()?))
        })
    }

    /// Forgets the spacings of a thread.
    pub(super) fn forget(&mut self, thread: ThreadId) {
        self.of.remove(&thread.0);
    }

    /// No spacing reaches across a loss of events.
    pub(super) fn lose(&mut self) {
        for dues in self.of.values_mut().flat_map(|rhythm| &mut rhythm.sources) {
            dues.last = None;
        }
    }
}

/// The spacings of one thread's due times.
#[derive(Debug, Default)]
pub(super) struct Rhythm {
    sources: Vec<Dues>,
}

/// The due times that one source gives to a thread.
#[derive(Debug)]
struct Dues {
    source: Source,
    last: Option<Instant<Monotonic>>,
    spacings: Vec<Nanos>,
    /// The number of spacings, including those that were replaced.
    count: usize,
}

impl Rhythm {
    fn take(&mut self, turn: &Turn) {
        let Some(dues) = self.sources.iter_mut().find(|dues| dues.source == turn.source) else {
            if self.sources.len() < SOURCES_MAX {
                let (source, last) = (turn.source, Some(turn.due));
                self.sources.push(Dues { source, last, spacings: Vec::new(), count: 0 });
            }
            return;
        };
        match dues.last {
            // The timer of a thread that was still leaving may show twice.
            Some(last) if turn.due <= last => return,
            Some(last) => dues.push(turn.due - last),
            None => {}
        }
        dues.last = Some(turn.due);
    }

    /// The number of spacings of its source with most of them.
    pub(super) fn most_spacings(&self) -> usize {
        self.sources.iter().map(|dues| dues.count).max().unwrap_or(0)
    }

    /// The schedule: by its timers if they are regular, otherwise by its own marks, or by the
    /// regular waker that woke it most often. With the period `given`, by the source that fits it
    /// best; only then may it be sleeps for a duration.
    pub(super) fn schedule(&self, given: Option<Nanos>) -> Result<Schedule, NoPeriod> {
        if let Some(length) = given {
            return self.with_given(length);
        }
        let mut sources: Vec<&Dues> = self.sources.iter().collect();
        sources.sort_by_key(|dues| {
            let rank = match dues.source {
                Source::Timer => 0,
                Source::Mark => 1,
                Source::Thread(_) | Source::Interrupt(_) => 2,
                Source::RelativeTimer => 3,
                Source::Report => 4,
            };
            (rank, usize::MAX - dues.count)
        });
        let mut why = None;
        for dues in sources {
            match Period::find(&dues.spacings) {
                // Load stretches the time between sleeps for a duration; they stay that.
                Ok(period) | Err(NoPeriod::Irregular(period))
                    if dues.source == Source::RelativeTimer =>
                {
                    why = why.or(Some(NoPeriod::Relative(period)));
                }
                Ok(period) => return Ok(Schedule { source: dues.source, period }),
                Err(NoPeriod::TooFew { .. }) => {}
                Err(reason) => why = why.or(Some(reason)),
            }
        }
        Err(why.unwrap_or(NoPeriod::TooFew { spacings: self.most_spacings() }))
    }

    fn with_given(&self, length: Nanos) -> Result<Schedule, NoPeriod> {
        let known = self.sources.iter().filter(|dues| !dues.spacings.is_empty());
        let fitting = known.map(|dues| {
            let period = Period::of_length(length, &dues.spacings);
            Schedule { source: dues.source, period }
        });
        let best = fitting.max_by(|a, b| {
            let times = |found: &Schedule| found.period.fit * found.period.spacings as f64;
            times(a).total_cmp(&times(b))
        });
        best.ok_or(NoPeriod::TooFew { spacings: 0 })
    }
}

impl Dues {
    fn push(&mut self, spacing: Nanos) {
        match self.spacings.get_mut(self.count % SPACINGS_MAX) {
            Some(oldest) => *oldest = spacing,
            None => self.spacings.push(spacing),
        }
        self.count += 1;
    }
}
