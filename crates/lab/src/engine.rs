//! Runs the turns of a plan and stores their results in the order of the plan.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvError, channel};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use tactus_model::cell::{self, Cell};
use tactus_model::digest::sha256;
use tactus_model::experiment::{Plan, Turn};
use tactus_model::facts::MachineFacts;
use tactus_model::message::CellRequest;
use tactus_model::random::SplitMix64;
use tactus_model::run::{RunId, RunStatus};
use tactus_model::time::Nanos;
use tactus_model::until::Until;
use tactus_stats::narrow::{self, Narrowness, Next};
use tactus_store::{Store, StoreError};

use crate::event::Event;
use crate::target::{Inbox, Stopper, Target};
use crate::turn::{Begun, Outcome};

/// A run in progress: its store, its target, and the way to stop it.
pub struct Engine<'a> {
    /// The store of the results.
    pub store: &'a mut Store,
    /// The target that measures cells.
    pub target: &'a mut dyn Target,
    /// Reads the machine's facts after the last turn.
    pub read_facts: &'a dyn Fn() -> MachineFacts,
    /// How long to wait for a silent measuring process beyond the length of its cell.
    pub patience: Duration,
    /// How many turns may be measured at a time: one, unless they cannot affect each other.
    pub turns_at_a_time: usize,
    stopper: Stopper,
}

/// The progress of a sitting: from the start or the continuation of a run to its end or
/// interruption.
struct Sitting {
    began: Instant,
    /// The estimated duration of the turns of earlier sittings.
    before: Nanos,
    /// The number of its finished turns.
    done: usize,
    /// The estimated duration of its turns before an added round.
    expected: Nanos,
}

/// The estimate `expected`, scaled by the pace of the earlier turns: the duration of a guest
/// depends on the host more than on the plan.
fn at_pace(expected: Nanos, before: Nanos, taken: Duration) -> Nanos {
    if before == Nanos::ZERO {
        return expected;
    }
    let pace = taken.as_secs_f64() / before.as_secs_f64();
    Duration::try_from_secs_f64(expected.as_secs_f64() * pace).map_or(expected, Nanos::from)
}

/// What the engine hears of a turn.
enum Step {
    Event(Event<'static>),
    Outcome(Box<Outcome>),
}

impl<'a> Engine<'a> {
    /// The default patience with a silent measuring process: long enough for a machine under
    /// heavy load to start a few programs.
    pub const PATIENCE: Duration = Duration::from_secs(60);

    /// Prepares to carry out runs on `target` and to keep them in `store`.
    pub fn new(
        store: &'a mut Store,
        target: &'a mut dyn Target,
        read_facts: &'a dyn Fn() -> MachineFacts,
    ) -> Self {
        Self {
            store,
            target,
            read_facts,
            patience: Self::PATIENCE,
            turns_at_a_time: 1,
            stopper: Stopper::default(),
        }
    }

    /// Stops by `stopper`, which may have been used already.
    #[must_use]
    pub fn with_stopper(self, stopper: Stopper) -> Self {
        Self { stopper, ..self }
    }

    /// Returns a handle that stops the run from another thread.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Runs every turn that has no result yet, those that failed before included, and adds
    /// rounds while the plan requests them.
    ///
    /// # Errors
    /// The store cannot be read or written. A failed turn is not an error: it is stored and
    /// reported to the listener.
    pub fn carry_out(
        &mut self,
        run: &RunId,
        listener: &mut dyn FnMut(Event<'_>),
    ) -> Result<RunStatus, StoreError> {
        let mut plan = self.store.header(run)?.plan;
        let labels = plan.labels();
        let finished = self.store.finished_turns(run)?;
        let mut turns: Vec<Turn> =
            plan.turns().into_iter().filter(|turn| !finished.contains(turn)).collect();
        let mut sitting = Sitting {
            began: Instant::now(),
            before: plan.estimate(&finished),
            done: 0,
            expected: Nanos::ZERO,
        };
        listener(Event::RunStarted {
            run,
            plan: &plan,
            labels: &labels,
            turns: turns.len(),
            estimate: plan.estimate(&turns),
        });
        let status = loop {
            if self.take_all(run, &plan, &turns, &mut sitting, listener)?.is_break() {
                break RunStatus::Interrupted;
            }
            if !self.another_round(run, &plan, &sitting, listener)? {
                let all = self.store.finished_turns(run)?.len() == plan.turns().len();
                break if all { RunStatus::Complete } else { RunStatus::Partial };
            }
            plan = self.store.add_round(run)?;
            turns = plan.turns_of_round(plan.rounds - 1);
        };
        self.store.finish_run(run, status, &(self.read_facts)())?;
        listener(Event::RunEnded { run, status });
        Ok(status)
    }

    /// Runs `turns`, and stores their results in the order of the turns. Breaks when it is
    /// stopped.
    fn take_all(
        &mut self,
        run: &RunId,
        plan: &Plan,
        turns: &[Turn],
        sitting: &mut Sitting,
        listener: &mut dyn FnMut(Event<'_>),
    ) -> Result<ControlFlow<()>, StoreError> {
        let stopper = self.stopper.clone();
        let done = thread::scope(|scope| {
            let done = self.take_in_order(scope, run, plan, turns, sitting, listener);
            if !matches!(done, Ok(ControlFlow::Continue(()))) {
                // The turns that began early are not needed any more.
                stopper.stop();
            }
            done
        });
        if !matches!(done, Ok(ControlFlow::Continue(()))) {
            stopper.take_request();
        }
        done
    }

    fn take_in_order<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, '_>,
        run: &RunId,
        plan: &'scope Plan,
        turns: &[Turn],
        sitting: &mut Sitting,
        listener: &mut dyn FnMut(Event<'_>),
    ) -> Result<ControlFlow<()>, StoreError> {
        let labels = plan.labels();
        let of = sitting.done + turns.len();
        let expected = plan.estimate(turns);
        let mut ahead: VecDeque<Receiver<Step>> = VecDeque::new();
        for (taken, &turn) in turns.iter().enumerate() {
            if self.stopper.is_requested() {
                return Ok(ControlFlow::Break(()));
            }
            let label = &labels[turn.cell];
            let before = plan.estimate(&turns[..taken]);
            let remaining = at_pace(
                expected.saturating_sub(before),
                sitting.expected + before,
                sitting.began.elapsed(),
            );
            listener(Event::TurnStarted { turn, label, done: sitting.done, of, remaining });
            for &next in turns[taken..].iter().take(self.turns_at_a_time.max(1)).skip(ahead.len()) {
                let begun = self.begin(plan, next);
                ahead.push_back(follow(scope, begun));
            }
            let outcome = ahead.pop_front().map(|steps| outcome_of(&steps, listener));
            sitting.done += 1;
            match outcome.unwrap_or(Outcome::Stopped) {
                Outcome::Finished(measurement, samples, traced_data) => {
                    self.store.save_traced(run, &measurement, &samples, &traced_data)?;
                    listener(Event::TurnFinished { label, measurement: &measurement });
                }
                Outcome::Failed(failure) => {
                    self.store.save_failure(run, &failure)?;
                    listener(Event::TurnFailed { label, failure: &failure });
                }
                Outcome::Stopped => return Ok(ControlFlow::Break(())),
            }
        }
        sitting.expected = sitting.expected + expected;
        Ok(ControlFlow::Continue(()))
    }

    /// Whether the plan requests another round.
    fn another_round(
        &self,
        run: &RunId,
        plan: &Plan,
        sitting: &Sitting,
        listener: &mut dyn FnMut(Event<'_>),
    ) -> Result<bool, StoreError> {
        let Some(until) = plan.until else { return Ok(false) };
        let cells = self.narrowness(run, plan, until)?;
        let spent = sitting.before + Nanos::from(sitting.began.elapsed());
        let next = narrow::next(plan, until, &cells, spent);
        listener(Event::RoundsTaken {
            until,
            rounds: plan.rounds,
            labels: &plan.labels(),
            cells: &cells,
            next,
            left: until.limit.saturating_sub(spent),
        });
        Ok(next == Next::AnotherRound)
    }

    fn narrowness(
        &self,
        run: &RunId,
        plan: &Plan,
        until: Until,
    ) -> Result<Vec<Narrowness>, StoreError> {
        let taken = self.store.load(run)?;
        Ok((0..plan.cells.len())
            .map(|cell| Narrowness::of(&taken.of_cell(cell).collect::<Vec<_>>(), until.aim))
            .collect())
    }

    /// Begins to measure one cell once.
    fn begin<'p>(&mut self, plan: &'p Plan, turn: Turn) -> Begun<'p> {
        let cell = &plan.cells[turn.cell];
        let request = request(plan, turn);
        let (inbox, signals) = Inbox::new();
        let watching = self.stopper.watch(inbox.clone());
        let measuring = self.target.begin(&request, inbox);
        Begun { cell, turn, measuring, signals, watching, patience: self.patience }
    }
}

/// Passes the events of a turn on until its end.
fn outcome_of(steps: &Receiver<Step>, listener: &mut dyn FnMut(Event<'_>)) -> Outcome {
    loop {
        match steps.recv() {
            Ok(Step::Event(event)) => listener(event),
            Ok(Step::Outcome(outcome)) => return *outcome,
            // Its thread has panicked, and the scope of the threads passes that on.
            Err(RecvError) => return Outcome::Stopped,
        }
    }
}

/// The steps of a turn that has begun.
fn follow<'scope>(scope: &'scope Scope<'scope, '_>, begun: Begun<'scope>) -> Receiver<Step> {
    // A turn reports a limited number of steps.
    let (sender, steps) = channel();
    scope.spawn(move || {
        let outcome = begun.outcome(&mut |event| {
            // The engine no longer listens if it has failed.
            let _ = sender.send(Step::Event(event));
        });
        let _ = sender.send(Step::Outcome(Box::new(outcome)));
    });
    steps
}

/// What a turn measures, with its seeds: the same on any machine.
///
/// # Panics
/// The plan has no such cell.
pub fn request(plan: &Plan, turn: Turn) -> CellRequest {
    let (seed, boot_seed) = (seed_of(plan, turn), boot_seed_of(plan, turn.round));
    CellRequest { turn, cell: plan.cells[turn.cell].clone(), seed, boot_seed }
}

/// The seed of a turn: determined by the plan's seed, the round, and the cell itself.
///
/// Neither other cells of the plan nor the kernel affect it, so that a cell has the same figures in
/// every plan, and a kernel the same under every name of its file. Equal cells of a plan differ by
/// their order.
fn seed_of(plan: &Plan, turn: Turn) -> u64 {
    let (before, cell) = (&plan.cells[..turn.cell], &plan.cells[turn.cell]);
    let equal_before = before.iter().filter(|other| *other == cell).count() as u64;
    let mut seed = plan.seed;
    for part in [identity(cell), equal_before, u64::from(turn.round)] {
        seed = SplitMix64::new(seed ^ part).next_u64();
    }
    seed
}

/// A number for everything that a cell measures, without the place where it does.
fn identity(cell: &Cell) -> u64 {
    let anywhere = Cell { target: cell::Target::Host, ..cell.clone() };
    // A cell is plain values, which JSON can hold: plans are stored so.
    let text = serde_json::to_vec(&anywhere).unwrap_or_default();
    u64::from_str_radix(&sha256([text])[..16], 16).unwrap_or_default()
}

/// The boot seed of guests in a round; from the complement, so that it differs from turns' seeds.
fn boot_seed_of(plan: &Plan, round: u32) -> u64 {
    SplitMix64::new(!plan.seed ^ u64::from(round).wrapping_mul(0xD6E8_FEB8_6659_FD93)).next_u64()
}

#[cfg(test)]
mod tests {
    use tactus_model::experiment::{Experiment, Overrides};

    use super::*;

    fn plan(settings: &str) -> Plan {
        let text = format!("seed = 7\nrounds = 2\nguest-time = \"exact\"\n[settings]\n{settings}");
        Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap()
    }

    #[test]
    fn the_seed_of_a_turn_depends_on_its_cell_and_round_only() {
        let alone = plan("kernel = \"debian\"\nload = \"syscall\"");
        let beside = plan("kernel = [\"debian-rt\", \"debian\"]\nload = [\"idle\", \"syscall\"]");
        let seed = |cell, round| seed_of(&beside, Turn { round, cell });
        let expected = [0, 1].map(|round| seed_of(&alone, Turn { round, cell: 0 }));
        let of_load = |load: &str| -> Vec<usize> {
            let has = |cell: &usize| beside.cells[*cell].load.load.to_string().starts_with(load);
            (0..beside.cells.len()).filter(has).collect()
        };
        assert_eq!(of_load("syscall").len(), 2);
        for cell in of_load("syscall") {
            assert_eq!([seed(cell, 0), seed(cell, 1)], expected, "under either kernel");
        }
        assert!(of_load("idle").iter().all(|cell| !expected.contains(&seed(*cell, 0))));
        assert_ne!(expected[0], expected[1]);
        // A kernel beside itself tests a gate; its cells differ by their seeds.
        let mut twice = alone.clone();
        twice.cells.extend(alone.cells.clone());
        let seeds = [0, 1].map(|cell| seed_of(&twice, Turn { round: 0, cell }));
        assert!(seeds[0] == expected[0] && seeds[1] != expected[0], "{seeds:?}");
    }

    #[test]
    fn the_remaining_time_is_estimated_at_the_pace_of_finished_turns() {
        let left = Nanos::from_secs(60);
        assert_eq!(at_pace(left, Nanos::ZERO, Duration::from_secs(3)), left, "no turn is finished");
        let slower = at_pace(left, Nanos::from_secs(10), Duration::from_secs(20));
        assert_eq!(slower, Nanos::from_secs(120));
    }
}
