//! Periodic threads.

use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_sys::clock;

use crate::job::{Begun, Ended, Flow, Pacer, Shared, run};
use crate::overrun::{Next, Overrun, Schedule};
use crate::refused::{FIRST_MOST, PERIOD_LEAST, PERIOD_MOST, Refused};
use crate::statistics::Recorder;
use crate::supervisor::sleep_unless;
use crate::thread::{Thread, ThreadBuilder};

/// The present job of a periodic thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// The number of its due time, from 0; missed ones are counted too.
    pub index: u64,
    /// When it was due.
    pub due: Instant<Monotonic>,
    /// When the thread woke up for it.
    pub woke: Instant<Monotonic>,
    /// How many due times were missed directly before it.
    pub missed: u64,
    /// How often the thread was restarted.
    pub restarts: u64,
}

impl Tick {
    /// How late the job began.
    pub fn lateness(&self) -> Nanos {
        self.woke - self.due
    }
}

/// A periodic thread that is to be started.
#[derive(Clone, Copy, Debug)]
pub struct Periodic {
    period: Nanos,
    overrun: Overrun,
    first: Option<Instant<Monotonic>>,
}

impl Periodic {
    pub(crate) const fn new(period: Nanos) -> Self {
        Self { period, overrun: Overrun::Skip, first: None }
    }
}

impl ThreadBuilder<Periodic> {
    /// What happens when a job takes too long; [`Overrun::Skip`] unless set.
    #[must_use]
    pub fn overrun(mut self, overrun: Overrun) -> Self {
        self.kind.overrun = overrun;
        self
    }

    /// The first due time, by which threads run in step, at most a year ahead; a period after the
    /// thread is ready unless set. If it has passed when the thread is ready, the first due time is the next on
    /// its grid.
    #[must_use]
    pub fn first_at(mut self, first: Instant<Monotonic>) -> Self {
        self.kind.first = Some(first);
        self
    }

    /// Starts the thread, which calls `body` once for each due time. It returns when the thread is
    /// prepared.
    ///
    /// # Errors
    /// A setting is out of range, or the system starts no thread. What the kernel does not permit
    /// is a [shortfall](Thread::shortfalls).
    pub fn spawn(
        self,
        mut body: impl FnMut(&Tick) -> Flow + Send + 'static,
    ) -> Result<Thread, Refused> {
        let Periodic { period, overrun, first } = self.kind;
        let pacer = PeriodicPacer::new(period, overrun, first, clock::now())?;
        self.options.start(
            move |shared, recovery, mut observed| {
                run(pacer, |job| observed.run(|| body(job)), shared, recovery)
            },
            None,
        )
    }
}

#[derive(Debug)]
pub(crate) struct PeriodicPacer {
    period: Nanos,
    overrun: Overrun,
    has_first: bool,
    grid: Schedule,
}

impl PeriodicPacer {
    /// Checks the period, and at `now` the first due time.
    pub(crate) fn new(
        period: Nanos,
        overrun: Overrun,
        first: Option<Instant<Monotonic>>,
        now: Instant<Monotonic>,
    ) -> Result<Self, Refused> {
        let nearest = period.clamp(PERIOD_LEAST, PERIOD_MOST);
        if nearest != period {
            return Err(Refused::Period { period, nearest });
        }
        if let Some(ahead) = first.map(|first| first - now).filter(|ahead| *ahead > FIRST_MOST) {
            return Err(Refused::First { ahead });
        }
        let grid = Schedule::new(first.unwrap_or(Instant::from_nanos(0)), period, overrun);
        Ok(Self { period, has_first: first.is_some(), grid, overrun })
    }
}

impl Pacer for PeriodicPacer {
    type Job = Tick;

    fn start(&mut self, now: Instant<Monotonic>) {
        self.grid = match self.has_first {
            true => self.grid.clone().starting_at(now),
            false => Schedule::new(now + self.period, self.period, self.overrun),
        };
    }

    #[inline]
    fn wait(&mut self, shared: &Shared) -> Result<Option<Begun<Tick>>, Ended> {
        let due = self.grid.present();
        let woke = sleep_unless(&shared.is_ending, due.at).map_err(Ended::Failed)?;
        if shared.is_ending() {
            return Ok(None);
        }
        let restarts = shared.recorder.restarts();
        let job = Tick { index: due.index, due: due.at, woke, missed: due.missed, restarts };
        let lateness = Some(job.lateness());
        Ok(Some(Begun { job, woke, lateness, missed: due.missed, shifted: due.shifted }))
    }

    #[inline]
    fn finish(&mut self, now: Instant<Monotonic>, recorder: &Recorder) -> Option<Ended> {
        match self.grid.next(now) {
            Next::Run(_) => None,
            Next::Stop { missed } => {
                recorder.miss(missed);
                Some(Ended::Overrun { missed })
            }
        }
    }
}
