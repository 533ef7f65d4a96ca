//! The side that receives the samples.

use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

use tactus_model::cell::Cell;
use tactus_probe::live::{Follower, RingLayout, RingsPlace, SampleRings};
use tactus_probe::places;
use tactus_probe::schedule::Schedule;
use tactus_wire::{LastWords, Peer, Start, WireError};

use super::{LiveEvent, LiveRequest};

/// A watched cell. Dropping it ends the measurement, with its load.
#[derive(Debug)]
pub struct LiveSamples {
    peer: Peer,
    rings: SampleRings,
    /// The CPU of each task.
    cpus: Vec<u32>,
    followers: Vec<Follower>,
    messages: Receiver<LiveEvent>,
    ended: bool,
}

impl LiveSamples {
    /// Starts measuring `cell` with `executable`, which must run [`main`](super::main) with
    /// `arguments`.
    ///
    /// The measuring process ends with the thread that calls this.
    ///
    /// # Errors
    /// Memory for samples cannot be allocated, or the process cannot be started.
    pub fn start(
        executable: &Path,
        arguments: &[&str],
        cell: &Cell,
        seed: u64,
    ) -> io::Result<Self> {
        let probe = cell.probe.timer();
        let cpus = places(cell).map_err(io::Error::other)?;
        let tasks = cpus.len() as u32;
        let layout = RingLayout::new(tasks, probe.interval.mean());
        let rings = SampleRings::create(layout).map_err(io::Error::other)?;
        let mut command = Command::new(executable);
        command.args(arguments);
        let start = Start::new(command).in_own_group().dies_with_this_thread();
        rings.set_inheritable(true).map_err(io::Error::other)?;
        let started = start.keeps_last_words().start();
        rings.set_inheritable(false).map_err(io::Error::other)?;
        let (mut peer, reader) = started?;
        let place = RingsPlace { file: rings.file(), layout };
        let request = LiveRequest { cell: cell.clone(), seed, rings: place };
        // If the process has ended already, the reader reports it.
        let _ = peer.send(&request);
        let (sender, messages) = channel();
        let mut words = peer.take_last_words();
        reader.listen("live-reader", move |read| {
            sender.send(read.unwrap_or_else(|error| failed(&error, words.take()))).is_ok()
        })?;
        let followers = (0..tasks)
            .map(|task| Follower::new(task, Schedule::of_task(cell, task, seed)))
            .collect();
        Ok(Self { peer, rings, cpus, followers, messages, ended: false })
    }

    /// The CPU of each task.
    pub fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    /// Returns the events since the last call; never waits.
    ///
    /// No event follows [`LiveEvent::Ended`] or [`LiveEvent::Failed`].
    pub fn events(&mut self) -> Vec<LiveEvent> {
        let mut events = Vec::new();
        // Messages before samples: after the end message, all samples are in the rings.
        let mut last = None;
        while !self.ended {
            match self.messages.try_recv() {
                Ok(end @ (LiveEvent::Ended | LiveEvent::Failed { .. })) => {
                    self.ended = true;
                    last = Some(end);
                }
                Ok(event) => events.push(event),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => self.ended = true,
            }
        }
        let taken = self.followers.iter_mut().map(|follower| follower.take(&self.rings));
        events.extend(taken.filter(|batch| batch.intended() > 0).map(LiveEvent::Batch));
        events.extend(last);
        events
    }
}

impl Drop for LiveSamples {
    fn drop(&mut self) {
        // Its exit status does not matter.
        let _ = self.peer.wait_or_kill(Duration::ZERO);
        tactus_cell::machine::clean_up();
    }
}

/// The longest wait for the standard error of a process that has closed its output.
const LAST_WORDS_PATIENCE: Duration = Duration::from_secs(1);

/// Why there is no further message.
fn failed(error: &WireError, words: Option<LastWords>) -> LiveEvent {
    let reason = if error.is_end() {
        let words = words.map(|words| words.take(LAST_WORDS_PATIENCE)).unwrap_or_default();
        let stderr = if words.is_empty() { words } else { format!("; stderr: {words}") };
        format!("the measuring process ended{stderr}")
    } else {
        format!("invalid output of the measuring process: {error}")
    };
    LiveEvent::Failed { reason, hint: None }
}
