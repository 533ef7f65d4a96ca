//! Runs the turns of a plan one after another and stores their results.

use std::ops::ControlFlow;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use tactus_model::cell::Cell;
use tactus_model::experiment::{Plan, Turn};
use tactus_model::facts::MachineFacts;
use tactus_model::message::{CellRequest, Message};
use tactus_model::random::SplitMix64;
use tactus_model::result::{Failure, Measurement};
use tactus_model::run::{RunId, RunStatus};
use tactus_model::sample::SampleBlock;
use tactus_model::time::Nanos;
use tactus_model::traced::TracedData;
use tactus_model::until::Until;
use tactus_stats::narrow::{self, Narrowness, Next};
use tactus_store::{Store, StoreError};
use tactus_wire::Input;

use crate::event::Event;
use crate::taken::Taken;
use crate::target::{Inbox, Signal, Stopper, Target};

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

/// The outcome of a turn.
enum Outcome {
    Finished(Box<Measurement>, Vec<(u32, SampleBlock)>, TracedData),
    Failed(Failure),
    Stopped,
}

/// The last input from a measuring process.
enum Last {
    Outcome(Outcome),
    /// It closed its output without a last message.
    Closed,
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
        Self { store, target, read_facts, patience: Self::PATIENCE, stopper: Stopper::default() }
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

    /// Runs `turns` one after another, and stores their results. Breaks when it is stopped.
    fn take_all(
        &mut self,
        run: &RunId,
        plan: &Plan,
        turns: &[Turn],
        sitting: &mut Sitting,
        listener: &mut dyn FnMut(Event<'_>),
    ) -> Result<ControlFlow<()>, StoreError> {
        let labels = plan.labels();
        let of = sitting.done + turns.len();
        let expected = plan.estimate(turns);
        for (taken, &turn) in turns.iter().enumerate() {
            let label = &labels[turn.cell];
            let before = plan.estimate(&turns[..taken]);
            let remaining = at_pace(
                expected.saturating_sub(before),
                sitting.expected + before,
                sitting.began.elapsed(),
            );
            listener(Event::TurnStarted { turn, label, done: sitting.done, of, remaining });
            let outcome = self.take(plan, turn, listener);
            sitting.done += 1;
            match outcome {
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

    /// Measures one cell once.
    fn take(&mut self, plan: &Plan, turn: Turn, listener: &mut dyn FnMut(Event<'_>)) -> Outcome {
        let cell = &plan.cells[turn.cell];
        let (seed, boot_seed) = (seed_of(plan, turn), boot_seed_of(plan, turn.round));
        let request = CellRequest { turn, cell: cell.clone(), seed, boot_seed };
        let (inbox, signals) = Inbox::new();
        self.stopper.watch(inbox.clone());
        let measuring = match self.target.begin(&request, inbox) {
            Ok(measuring) => measuring,
            Err(error) => {
                return failed(turn, format!("cannot start the measuring process: {error}"));
            }
        };
        let last = self.listen(cell, turn, signals, listener);
        let end = measuring.end();
        match last {
            Last::Outcome(outcome) => outcome,
            Last::Closed => failed(turn, format!("the measuring process died: {end}")),
        }
    }

    /// Follows a measuring process until its last message, its end, or ours. Dropping `signals`
    /// on return releases the threads that wait for space.
    fn listen(
        &self,
        cell: &Cell,
        turn: Turn,
        signals: Receiver<Signal>,
        listener: &mut dyn FnMut(Event<'_>),
    ) -> Last {
        let mut taken = match Taken::within(cell) {
            Ok(taken) => taken,
            Err(error) => return Last::Outcome(failed(turn, error.to_string())),
        };
        // Both windows may pass before the next message.
        let patience = Duration::from(cell.length()) + self.patience;
        let mut deadline = Instant::now() + patience;
        loop {
            if self.stopper.take_request() {
                return Last::Outcome(Outcome::Stopped);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let message = match signals.recv_timeout(left) {
                Ok(Signal::Input(Input::Message(message))) => message,
                Ok(Signal::Input(Input::Garbled(line))) => {
                    let reason = format!("invalid output of the measuring process: {line:.200}");
                    return Last::Outcome(failed(turn, reason));
                }
                Ok(Signal::Input(Input::Closed)) => return Last::Closed,
                Ok(Signal::Stop) => continue,
                // The stopper holds an inbox, so this is always a timeout.
                Err(_) => return Last::Outcome(failed(turn, hung(cell))),
            };
            if let Err(excess) = taken.count(&message) {
                return Last::Outcome(failed(turn, format!("the measuring process sent {excess}")));
            }
            match message {
                Message::Opened => {
                    deadline = Instant::now() + patience;
                    listener(Event::WindowOpened { turn });
                }
                // Evaluation takes longer the more samples there are.
                Message::Closed => deadline = Instant::now() + patience,
                Message::Samples { task, block } => taken.samples.push((task, block)),
                Message::TracedSamples { task, block } => {
                    taken.traced_data.samples.push((task, block));
                }
                Message::Recording { bytes } => {
                    taken.traced_data.recording.extend_from_slice(&bytes);
                }
                Message::Shortfall(shortfall) => listener(Event::Shortfall { turn, shortfall }),
                Message::Task(result) => taken.tasks.push(*result),
                Message::Finished(mut measurement) => {
                    let Taken { samples, traced_data, mut tasks, .. } = taken;
                    measurement.tasks.append(&mut tasks);
                    return Last::Outcome(Outcome::Finished(measurement, samples, traced_data));
                }
                Message::Failed { reason, hint } => {
                    return Last::Outcome(Outcome::Failed(Failure { turn, reason, hint }));
                }
            }
        }
    }
}

fn failed(turn: Turn, reason: String) -> Outcome {
    Outcome::Failed(Failure { turn, reason, hint: None })
}

fn hung(cell: &Cell) -> String {
    format!(
        "the measuring process did not respond long after its window of {}, and was killed",
        cell.duration
    )
}

/// The seed of a turn: different for each turn, and determined by the plan's seed.
fn seed_of(plan: &Plan, turn: Turn) -> u64 {
    let place = u64::from(turn.round) * plan.cells.len() as u64 + turn.cell as u64;
    SplitMix64::new(plan.seed ^ place.wrapping_mul(0xD6E8_FEB8_6659_FD93)).next_u64()
}

/// The boot seed of guests in a round; from the complement, so that it differs from turns' seeds.
fn boot_seed_of(plan: &Plan, round: u32) -> u64 {
    SplitMix64::new(!plan.seed ^ u64::from(round).wrapping_mul(0xD6E8_FEB8_6659_FD93)).next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remaining_time_is_estimated_at_the_pace_of_finished_turns() {
        let left = Nanos::from_secs(60);
        assert_eq!(at_pace(left, Nanos::ZERO, Duration::from_secs(3)), left, "no turn is finished");
        let slower = at_pace(left, Nanos::from_secs(10), Duration::from_secs(20));
        assert_eq!(slower, Nanos::from_secs(120));
    }
}
