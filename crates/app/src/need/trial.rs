//! The trial of reserves: the program with and without them under competing loads, in turns.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use tactus_judge::need::{Arm, ThreadNeed, Trial, TrialWindow};
use tactus_load::{HostOptions, RunningLoad};
use tactus_model::format;
use tactus_model::load::{Load, LoadPlan};
use tactus_model::random::SplitMix64;
use tactus_model::reserve::Capacity;
use tactus_model::result::LoadResult;
use tactus_model::time::Nanos;
use tactus_prepare::ThreadRef;
use tactus_record::live::{Control, Keep, RecordEvent, Recorder, Source, record_with};
use tactus_reserve::{Refused, Reserve, Rung, kept, release_time};
use tactus_settings::Guardian;
use tactus_sys::counters::MachineCounters;
use tactus_sys::pidfd::PidFd;
use tactus_sys::{Errno, SysError};

use super::{MEMORY, jobs, recorder_options};
use crate::error::OrError;
use crate::record::guardian;
use crate::target::Target;
use crate::{Error, ErrorKind, Result};

/// How a trial is done.
#[derive(Clone, Debug)]
pub struct TrialPlan {
    /// The competing loads.
    pub loads: Vec<Load>,
    /// How often each load has a pair of windows.
    pub rounds: u32,
    /// The duration of a window.
    pub window: Nanos,
    /// The seed of the order.
    pub seed: u64,
    /// The mechanism that records.
    pub source: Source,
}

/// The time from a change to the window that shows its effect.
const SETTLING: Duration = Duration::from_millis(300);

/// How long a refused reserve is tried again: what other programs return counts until the kernel
/// releases it, a period later at most.
const PATIENCE: Duration = Duration::from_secs(5);

/// The shares of a CPU that the threads together get between windows, the first that is granted.
const RECOVERY: [f64; 2] = [0.6, 0.3];

impl TrialPlan {
    /// How long the threads have a larger reserve before a window. Jobs that one window delayed
    /// must not delay those of the next: programs that catch up would be late in both.
    fn recovery(&self) -> Duration {
        Duration::from(self.window) / 2
    }
}

/// What happens during a trial.
#[derive(Debug)]
pub enum TrialNews<'a> {
    /// A window begins.
    Window {
        /// Its number, from 1.
        number: usize,
        /// The number of windows.
        of: usize,
        /// The load.
        load: &'a Load,
        /// Whether the threads have their reserves.
        arm: Arm,
        /// The time left, at least.
        left: Nanos,
    },
    /// An event of the recording.
    Recording(RecordEvent),
}

/// What went on during a window besides the program.
#[derive(Clone, Debug, Serialize)]
pub struct WindowFacts {
    /// The load.
    pub load: Load,
    /// The number of the pair.
    pub pair: usize,
    /// Whether the threads had their reserves.
    pub arm: Arm,
    /// What the load achieved.
    pub achieved: LoadResult,
    /// Steal time of all CPUs.
    pub steal: Option<Nanos>,
    /// The number of events lost; jobs across a loss are not counted.
    pub lost: u64,
}

/// The result of a trial.
#[derive(Debug, Serialize)]
pub struct TrialAnswer {
    /// The seed of the order.
    pub seed: u64,
    /// The promise of the mechanism that kept the reserves; `None` without a window with them.
    pub kept_by: Option<String>,
    /// Each thread.
    pub trials: Vec<Trial>,
    /// Each window.
    pub windows: Vec<WindowFacts>,
    /// Why the trial ended before its last window.
    pub cut: Option<String>,
    /// The duration of a window.
    pub window: Nanos,
}

impl TrialAnswer {
    /// How it was done, in sentences.
    pub fn conditions(&self) -> String {
        let steal: Nanos = self.windows.iter().filter_map(|window| window.steal).sum();
        let lost: u64 = self.windows.iter().map(|window| window.lost).sum();
        let cut = self.cut.as_ref().map(|reason| format!(" The trial ended early: {reason}."));
        format!(
            "{} of windows of {} in random order (seed {}). Steal time: {}. Lost events: {}. The \
             reserves promised {}.{}",
            format::counted(self.windows.len() as u64 / 2, "pair"),
            format::span(self.window),
            self.seed,
            format::latency(steal),
            format::count(lost),
            self.kept_by.as_deref().unwrap_or("nothing"),
            cut.unwrap_or_default()
        )
    }
}

/// Tries the reserves of these threads.
///
/// # Errors
/// No thread has a reserve, a reserve is refused, a load cannot run, or recording cannot be
/// started.
pub fn trial(
    threads: &[ThreadNeed],
    plan: &TrialPlan,
    control: &Control,
    mut on_news: impl FnMut(TrialNews<'_>),
) -> Result<TrialAnswer> {
    let reserved: Vec<Reserved> = threads.iter().filter_map(Reserved::of).collect();
    if reserved.is_empty() {
        return Err(Error::new(ErrorKind::Unavailable, "no thread has a reserve to try"));
    }
    let mut random = SplitMix64::new(plan.seed);
    let mut pairs: Vec<&Load> = (0..plan.rounds).flat_map(|_| plan.loads.iter()).collect();
    random.shuffle(&mut pairs);
    let mut conductor = Conductor {
        plan,
        control,
        reserved,
        held: Vec::new(),
        windows: Vec::new(),
        kept_by: None,
        guardian: guardian(),
    };
    let (mut facts, mut cut) = (Vec::new(), None);
    'pairs: for (pair, load) in pairs.iter().enumerate() {
        let mut running = start(load)?;
        let mut arms = Arm::BOTH;
        random.shuffle(&mut arms);
        for (turn, arm) in arms.into_iter().enumerate() {
            let (number, of) = (pair * 2 + turn + 1, pairs.len() * 2);
            let length = plan.window + Nanos::from(plan.recovery() + SETTLING);
            let left = length.saturating_mul((of + 1 - number) as u64);
            on_news(TrialNews::Window { number, of, load, arm, left });
            let alive = conductor.is_alive();
            match alive.then(|| conductor.window(load, pair, arm, &mut running, &mut on_news)) {
                Some(Err(error)) if facts.is_empty() => return Err(error),
                // What was measured is not lost.
                Some(Err(error)) => {
                    cut = Some(error.to_string());
                    break 'pairs;
                }
                Some(Ok(Some(found))) => facts.push(found),
                Some(Ok(None)) | None => {
                    cut = Some("the program ended or was interrupted".to_owned());
                    break 'pairs;
                }
            }
        }
    }
    conductor.release();
    let Conductor { windows, kept_by, .. } = conductor;
    let kept_by = kept_by.map(|rung| rung.promise().to_owned());
    let (seed, window, trials) = (plan.seed, plan.window, Trial::of(&windows));
    Ok(TrialAnswer { seed, kept_by, trials, windows: facts, cut, window })
}

fn start(load: &Load) -> Result<RunningLoad> {
    let executable = std::env::current_exe().or_internal()?;
    let plan = LoadPlan { load: load.clone(), ..LoadPlan::IDLE };
    RunningLoad::start(&plan, &HostOptions::new(executable))
        .or_error(ErrorKind::Unavailable, || format!("cannot start load `{load}`"))
}

/// A granted reserve, which is small when it ends.
///
/// On Linux 6.18, new reserves were refused as if the kernel still counted bandwidth that a thread
/// returned, at most until the next change of cpusets. So a thread returns little.
struct Held(Reserve);

impl Held {
    /// The cost that is left at the end.
    const LEAST: Nanos = Nanos::from_micros(10);
}

impl Drop for Held {
    fn drop(&mut self) {
        let period = self.0.capacity().period();
        // The thread may have ended.
        let least = Capacity::new(Self::LEAST.min(period), period, period);
        let _ = least.map(|least| self.0.change(least));
    }
}

/// A thread with its reserve.
struct Reserved {
    need: ThreadNeed,
    capacity: Capacity,
}

impl Reserved {
    fn of(need: &ThreadNeed) -> Option<Self> {
        Some(Self { need: need.clone(), capacity: need.demand.reserve.ok()? })
    }

    /// Grants the reserve by one of the rungs; if this program is killed, the guardian returns the
    /// thread to what it was.
    fn grant(&self, rungs: &[Rung], guardian: &mut Option<Guardian>) -> Result<Held> {
        patiently(self.capacity, || {
            let thread = self.thread()?;
            if let Some(guardian) = guardian {
                let kept = kept(&thread, self.capacity);
                // If the guardian was killed, nobody returns the thread after us.
                let _ = kept.map(|kept| guardian.keep(kept));
            }
            Ok(Reserve::grant(thread, self.capacity, rungs).map(Held))
        })?
        .map_err(|refused| self.refusal(refused))
    }

    fn thread(&self) -> Result<ThreadRef> {
        let ended = || format!("thread `{}` ended before the trial", self.need.name);
        match PidFd::of_thread(self.need.thread) {
            Ok(descriptor) => Ok(ThreadRef::PidFd(descriptor)),
            // Before Linux 6.9 there are no descriptors of threads.
            Err(error) if error.errno == Errno::INVAL => Ok(ThreadRef::Id(self.need.thread)),
            Err(error) => Err(error).or_error(ErrorKind::Unavailable, ended),
        }
    }

    /// The capacity with this share of a CPU, if it is larger.
    fn larger(&self, share: f64) -> Option<Capacity> {
        let period = self.capacity.period();
        let cost = Nanos::from_nanos((period.as_nanos() as f64 * share) as u64);
        Capacity::new(cost, period, period).ok().filter(|_| cost > self.capacity.cost())
    }

    fn refusal(&self, refused: Refused) -> Error {
        let fix = match &refused {
            Refused::Rungs { rungs, .. } => rungs.iter().find_map(|rung| rung.fix.clone()),
            Refused::Thread(_) => None,
        };
        let what = format!("cannot try {} for `{}`", self.capacity, self.need.name);
        let error = Error::new(ErrorKind::Unavailable, refused);
        error.within(ErrorKind::Unavailable, what).with_hint_if_any(fix)
    }
}

/// Attempts something until it is not refused, or for [`PATIENCE`].
fn patiently<T>(
    capacity: Capacity,
    mut attempt: impl FnMut() -> Result<std::result::Result<T, Refused>>,
) -> Result<std::result::Result<T, Refused>> {
    let until = Instant::now() + PATIENCE;
    loop {
        match attempt()? {
            Err(Refused::Rungs { .. }) if Instant::now() < until => {
                std::thread::sleep(release_time(capacity, Nanos::ZERO).into());
            }
            other => return Ok(other),
        }
    }
}

/// Carries out the windows.
struct Conductor<'p> {
    plan: &'p TrialPlan,
    control: &'p Control,
    reserved: Vec<Reserved>,
    held: Vec<Held>,
    windows: Vec<TrialWindow>,
    /// The rung of all reserves: windows with different ones could not be compared.
    kept_by: Option<Rung>,
    guardian: Option<Guardian>,
}

impl Conductor<'_> {
    /// Whether all threads live.
    fn is_alive(&self) -> bool {
        let gone = |error: SysError| error.errno == Errno::SRCH;
        self.reserved
            .iter()
            .all(|reserved| !PidFd::of_thread(reserved.need.thread).is_err_and(gone))
    }

    /// Gives every thread a reserve, larger than its own where the machine has room.
    fn recover(&mut self) -> Result<()> {
        if self.held.is_empty() {
            let rung = self.kept_by.map(|rung| [rung]);
            let rungs = rung.as_ref().map_or(Rung::KEEPING, |rung| &rung[..]);
            let guardian = &mut self.guardian;
            let granted = self.reserved.iter().map(|reserved| reserved.grant(rungs, guardian));
            self.held = granted.collect::<Result<_>>()?;
        }
        let count = self.reserved.len() as f64;
        for (Held(reserve), reserved) in self.held.iter_mut().zip(&self.reserved) {
            let larger = RECOVERY.iter().filter_map(|share| reserved.larger(share / count));
            // A refusal leaves what it has.
            let _ = larger.into_iter().find(|capacity| reserve.change(*capacity).is_ok());
        }
        Ok(())
    }

    /// Gives every thread its own reserve.
    fn shrink(&mut self) -> Result<()> {
        for (Held(reserve), reserved) in self.held.iter_mut().zip(&self.reserved) {
            let changed = patiently(reserved.capacity, || Ok(reserve.change(reserved.capacity)))?;
            changed.map_err(|refused| reserved.refusal(refused))?;
            self.kept_by = self.kept_by.max(Some(reserve.rung()));
        }
        Ok(())
    }

    /// Takes all reserves away.
    fn release(&mut self) {
        self.held.clear();
        for reserved in &self.reserved {
            // If the guardian was killed, it keeps nothing.
            let _ = self.guardian.as_mut().map(|guardian| guardian.release(reserved.need.thread));
        }
    }

    /// One window; `None` if it was cut short.
    fn window(
        &mut self,
        load: &Load,
        pair: usize,
        arm: Arm,
        running: &mut RunningLoad,
        on_news: &mut impl FnMut(TrialNews<'_>),
    ) -> Result<Option<WindowFacts>> {
        self.recover()?;
        std::thread::sleep(self.plan.recovery());
        match arm {
            Arm::Without => self.release(),
            Arm::With => self.shrink()?,
        }
        std::thread::sleep(SETTLING);
        let keep = Keep::Memory { limit: MEMORY };
        let recorder = Recorder::start(recorder_options(self.plan.source, keep))?;
        let (opened, counters, began) =
            (running.snapshot(), MachineCounters::read(Path::new("/")), Instant::now());
        let recorded = record_with(
            recorder,
            &[],
            Some(self.plan.window),
            self.control,
            |event| on_news(TrialNews::Recording(event)),
            |_| Ok(ControlFlow::Continue(())),
        )?;
        let whole = began.elapsed() >= Duration::from(self.plan.window);
        let achieved = running.snapshot().since(&opened);
        let steal = MachineCounters::read(Path::new("/")).since(&counters).steal;
        if !whole {
            return Ok(None);
        }
        // Reading the recording takes a while, in which the threads recover already. A refusal is
        // one of the next window, which tries again.
        let _ = self.recover();
        let mut recording = recorded.recording;
        for reserved in &self.reserved {
            recording.rewind();
            let need = &reserved.need;
            let target = Target { threads: vec![need.thread], ..Target::default() };
            let mut watched = target.watched(&[], std::sync::Arc::default())?;
            let (_, mut done) = jobs(&mut recording, &mut watched, Some(need.demand.period))?;
            self.windows.push(TrialWindow {
                thread: need.thread,
                load: load.clone(),
                pair,
                arm,
                deadline: reserved.capacity.deadline(),
                jobs: done.remove(&need.thread).unwrap_or_default(),
            });
        }
        let lost = recorded.summary.lost();
        Ok(Some(WindowFacts { load: load.clone(), pair, arm, achieved, steal, lost }))
    }
}
