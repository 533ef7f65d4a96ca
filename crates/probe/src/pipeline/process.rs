//! A process of a pipeline: a copy of the calling one that does its stages.

use std::sync::atomic::Ordering;

use tactus_model::cost::CostProbe;
use tactus_model::cpus::CpuList;
use tactus_model::policy::Policy;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_pipeline::Stage;
use tactus_prepare::{Preparation, touch_stack};
use tactus_sys::doorbell::{Side, Signal};
use tactus_sys::memory::Lock;
use tactus_sys::scheduling_record::SchedulingRecord;
use tactus_sys::sleep::{Nanosleep, Sleeper};
use tactus_sys::{Errno, SysError, clock};

use super::shared::{HandOver, RAN, SharedState, State, WAITED};
use super::{BEHIND_MAX, LOOK};
use crate::operations::{self, Repeatable, Site, Unmeasurable};
use crate::task::STACK_DEPTH;

/// One of the processes.
pub(super) struct StageProcess<'s> {
    pub(super) shared: &'s SharedState<'s>,
    pub(super) number: usize,
    pub(super) cpu: u32,
    pub(super) policy: &'s Policy,
}

/// A stage with what it needs.
struct ReadyStage {
    number: usize,
    /// The operations, and how often each is done.
    steps: Vec<(Box<dyn Repeatable>, u32)>,
    /// The hand-overs to it, and those from it.
    from: Vec<usize>,
    to: Vec<usize>,
    begins_frame: bool,
}

impl StageProcess<'_> {
    /// Does its stages, frame after frame, and notes its state.
    pub(super) fn work_through(&self) {
        let end = match self.try_to_work() {
            Ok(end) => end,
            Err(error) => State::Failed(error.errno),
        };
        self.note(end);
    }

    fn note(&self, state: State) {
        self.shared.state(self.number).store(state.number(), Ordering::Release);
    }

    fn try_to_work(&self) -> Result<State, SysError> {
        let mut preparation = Preparation::new();
        if let Some(slack) = self.policy.timer_slack {
            preparation.set_timer_slack(slack)?;
        }
        // Servers and threads of a site must not have the stage's CPU and policy. They live as long
        // as the stage.
        let mut sites = self.sites()?;
        preparation.place(&std::iter::once(self.cpu).collect(), self.policy.scheduling)?;
        let mut stages = self.ready_stages(&mut sites)?;
        touch_stack(STACK_DEPTH);
        if self.policy.lock_memory {
            preparation.lock_memory(Lock::Present);
        }
        // What is refused was refused to the measured operations too, and reported there.
        preparation.finish()?;
        let mut record = SchedulingRecord::open(self.cpu);
        self.note(State::Ready);
        let start = self.wait_for_start()?;
        let before = (clock::thread_cpu_time(), record.read()[0].waited);
        for frame in 0..self.shared.frames {
            let due = start + self.shared.graph.period.saturating_mul(frame as u64);
            for stage in &mut stages {
                if !self.begin(stage, frame, due)? {
                    return Ok(State::Behind);
                }
                self.work(stage, frame)?;
            }
            for (operation, _) in stages.iter_mut().flat_map(|stage| &mut stage.steps) {
                prepare(operation.as_mut())?;
            }
        }
        let ran = clock::thread_cpu_time().saturating_sub(before.0);
        let waited = record.read()[0].waited.zip(before.1);
        let waited = waited.map_or(Nanos::ZERO, |(after, before)| after.saturating_sub(before));
        for (of, time) in [(RAN, ran), (WAITED, waited)] {
            self.shared.used(self.number, of).store(time.as_nanos(), Ordering::Release);
        }
        Ok(State::Done)
    }

    fn stages(&self) -> impl Iterator<Item = (usize, &Stage)> {
        let stages = self.shared.graph.stages.iter().enumerate();
        stages.filter(|(_, stage)| stage.process == self.number)
    }

    fn operations(&self, stage: &Stage) -> impl Iterator<Item = &CostProbe> {
        stage.steps.iter().filter_map(|cell| self.shared.graph.operation(*cell))
    }

    /// What the operations of all its stages need, in order.
    fn sites(&self) -> Result<Vec<Site>, SysError> {
        let costs = self.stages().flat_map(|(_, stage)| self.operations(stage));
        costs.map(|cost| Site::prepare(cost, self.cpu).map_err(errno_of)).collect()
    }

    fn ready_stages(&self, sites: &mut [Site]) -> Result<Vec<ReadyStage>, SysError> {
        let mut sites = sites.iter_mut();
        self.stages().map(|(number, stage)| self.ready_stage(number, stage, &mut sites)).collect()
    }

    fn ready_stage<'a>(
        &self,
        number: usize,
        stage: &Stage,
        sites: &mut impl Iterator<Item = &'a mut Site>,
    ) -> Result<ReadyStage, SysError> {
        let cpus: CpuList = std::iter::once(self.cpu).collect();
        let steps = self.operations(stage).zip(sites).map(|(cost, site)| {
            let opened = operations::open(cost, site, self.cpu, &cpus);
            let mut operation = opened.map_err(errno_of)?;
            prepare(operation.as_mut())?;
            Ok((operation, cost.per_sample()))
        });
        let hand_overs = |of: fn(&HandOver) -> usize| {
            let all = self.shared.hand_overs.iter().enumerate();
            all.filter(|(_, one)| of(one) == number).map(|(index, _)| index).collect()
        };
        Ok(ReadyStage {
            number,
            steps: steps.collect::<Result<_, SysError>>()?,
            from: hand_overs(|one| one.to),
            to: hand_overs(|one| one.from),
            begins_frame: stage.after.is_empty(),
        })
    }

    fn wait_for_start(&self) -> Result<Instant<Monotonic>, SysError> {
        loop {
            match self.shared.start().load(Ordering::Acquire) {
                0 => drop(Nanosleep.sleep_until(clock::now::<Monotonic>() + LOOK)?),
                start => return Ok(Instant::from_nanos(start)),
            }
        }
    }

    /// Waits until the stage can begin; false if that is much too late.
    fn begin(
        &self,
        stage: &ReadyStage,
        frame: usize,
        due: Instant<Monotonic>,
    ) -> Result<bool, SysError> {
        if stage.begins_frame {
            let now = clock::now::<Monotonic>();
            if now < due {
                Nanosleep.sleep_until(due)?;
            }
            return Ok(now < due + BEHIND_MAX);
        }
        for hand_over in &stage.from {
            let handed = self.shared.handed(*hand_over);
            // A doorbell that rang twice may wake once, so the count decides.
            while handed.load(Ordering::Acquire) <= frame as u64 {
                self.shared.hand_overs[*hand_over].doorbell.wait(Side::Second)?;
            }
        }
        Ok(true)
    }

    fn work(&self, stage: &mut ReadyStage, frame: usize) -> Result<(), SysError> {
        let span = self.shared.span(frame, stage.number);
        let note = |word: usize| {
            let now = clock::now::<Monotonic>().as_nanos();
            self.shared.word(word).store(now, Ordering::Release);
        };
        note(span);
        for (operation, times) in &mut stage.steps {
            operation.run(*times)?;
        }
        note(span + 1);
        for hand_over in &stage.to {
            self.shared.handed(*hand_over).store(frame as u64 + 1, Ordering::Release);
            self.shared.hand_overs[*hand_over].doorbell.ring(Side::Second, Signal::Go)?;
        }
        Ok(())
    }
}

/// Prepares an operation for the next frame.
fn prepare(operation: &mut dyn Repeatable) -> Result<(), SysError> {
    // A pass over a cold file has ended.
    if operation.left() == Some(0) {
        operation.prepare_batch().map_err(errno_of)?;
    }
    operation.prepare()
}

/// The error number of what cannot be measured: only numbers pass between the processes.
fn errno_of(error: Unmeasurable) -> SysError {
    match error {
        Unmeasurable::System(error) => error,
        Unmeasurable::NoMemory { .. } => SysError::new("mmap", Errno::NOMEM),
        _ => SysError::new("pipeline", Errno::OPNOTSUPP),
    }
}
