//! One turn: follows the measuring process of a cell until its end.

use std::io;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use tactus_model::cell::Cell;
use tactus_model::experiment::Turn;
use tactus_model::message::Message;
use tactus_model::result::{Failure, Measurement};
use tactus_model::sample::SampleBlock;
use tactus_model::traced::TracedData;
use tactus_wire::Input;

use crate::event::Event;
use crate::taken::Taken;
use crate::target::{Measuring, Signal, Watching};

/// A turn whose measuring process was started.
pub(crate) struct Begun<'p> {
    pub(crate) cell: &'p Cell,
    pub(crate) turn: Turn,
    pub(crate) measuring: io::Result<Box<dyn Measuring>>,
    pub(crate) signals: Receiver<Signal>,
    pub(crate) watching: Watching,
    /// How long to wait for a silent measuring process beyond the length of its cell.
    pub(crate) patience: Duration,
}

/// The outcome of a turn.
pub(crate) enum Outcome {
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

impl Begun<'_> {
    /// Follows the measuring process until it ends, or is ended.
    pub(crate) fn outcome(self, listener: &mut dyn FnMut(Event<'static>)) -> Outcome {
        let Begun { cell, turn, measuring, signals, watching, patience } = self;
        let measuring = match measuring {
            Ok(measuring) => measuring,
            Err(error) => {
                return failed(turn, format!("cannot start the measuring process: {error}"));
            }
        };
        let last = Listening { cell, turn, signals, watching, patience }.last(listener);
        let end = measuring.end();
        match last {
            Last::Outcome(outcome) => outcome,
            Last::Closed => failed(turn, format!("the measuring process died: {end}")),
        }
    }
}

struct Listening<'p> {
    cell: &'p Cell,
    turn: Turn,
    signals: Receiver<Signal>,
    watching: Watching,
    patience: Duration,
}

impl Listening<'_> {
    /// Listens until the last message, or the end of the measuring process. The inbox is closed on
    /// return, which releases the threads that wait for space.
    fn last(self, listener: &mut dyn FnMut(Event<'static>)) -> Last {
        let Self { cell, turn, .. } = self;
        let mut taken = match Taken::within(cell) {
            Ok(taken) => taken,
            Err(error) => return Last::Outcome(failed(turn, error.to_string())),
        };
        // Both windows may pass before the next message.
        let patience = Duration::from(cell.length()).saturating_add(self.patience);
        let mut deadline = Instant::now() + patience;
        loop {
            if self.watching.is_stopped() {
                return Last::Outcome(Outcome::Stopped);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let message = match self.signals.recv_timeout(left) {
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
                    let failure = Failure { turn, reason, hint, by_host: false };
                    return Last::Outcome(Outcome::Failed(failure));
                }
                Message::HostFault { reason, hint } => {
                    let failure = Failure { turn, reason, hint, by_host: true };
                    return Last::Outcome(Outcome::Failed(failure));
                }
            }
        }
    }
}

fn failed(turn: Turn, reason: String) -> Outcome {
    Outcome::Failed(Failure { turn, reason, hint: None, by_host: false })
}

fn hung(cell: &Cell) -> String {
    format!(
        "the measuring process did not respond long after its window of {}, and was killed",
        cell.duration
    )
}
