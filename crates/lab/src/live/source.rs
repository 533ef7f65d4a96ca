//! The side that looks.

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

use super::{LiveEvent, LiveMessage, LiveRequest};

/// A cell that is being measured and looked at. Dropping it ends it, with its load.
#[derive(Debug)]
pub struct LiveSamples {
    peer: Peer,
    rings: SampleRings,
    followers: Vec<Follower>,
    messages: Receiver<LiveMessage>,
    ended: bool,
}

impl LiveSamples {
    /// Starts measuring `cell` by `executable`, which must run [`main`](super::main) when
    /// it is given `arguments`.
    ///
    /// The measuring process ends with the thread that calls this.
    ///
    /// # Errors
    /// There is no memory for samples, or the process cannot be started.
    pub fn start(
        executable: &Path,
        arguments: &[&str],
        cell: &Cell,
        seed: u64,
    ) -> io::Result<Self> {
        let probe = cell.probe.timer();
        let tasks = places(cell).map_err(io::Error::other)?.len() as u32;
        let layout = RingLayout::new(tasks, probe.interval.mean());
        let rings = SampleRings::create(layout).map_err(io::Error::other)?;
        let mut command = Command::new(executable);
        command.args(arguments);
        let start = Start::new(command).in_own_group().dies_with_this_thread();
        rings.set_inheritable(true).map_err(io::Error::other)?;
        let started = start.keeps_last_words().start();
        rings.set_inheritable(false).map_err(io::Error::other)?;
        let (mut peer, answers) = started?;
        let place = RingsPlace { file: rings.file(), layout };
        let request = LiveRequest { cell: cell.clone(), seed, rings: place };
        // A process that has ended already is heard of below.
        let _ = peer.send(&request);
        let (sender, messages) = channel();
        let mut words = peer.take_last_words();
        answers.listen("hears-live", move |read| {
            sender.send(read.unwrap_or_else(|error| failed(&error, words.take()))).is_ok()
        })?;
        let followers = (0..tasks)
            .map(|task| Follower::new(task, Schedule::of_task(cell, task, seed)))
            .collect();
        Ok(Self { peer, rings, followers, messages, ended: false })
    }

    /// Tells what has happened since it was last asked; never waits.
    ///
    /// Nothing happens any more after [`LiveEvent::Ended`] or [`LiveEvent::Failed`].
    pub fn events(&mut self) -> Vec<LiveEvent> {
        let mut events = Vec::new();
        // Before the samples: what is told as ended has written its last one.
        let mut last = None;
        while !self.ended {
            match self.messages.try_recv() {
                Ok(message) => match LiveEvent::from(message) {
                    end @ (LiveEvent::Ended | LiveEvent::Failed { .. }) => {
                        self.ended = true;
                        last = Some(end);
                    }
                    event => events.push(event),
                },
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
        // However it ended, nothing more is to be done about it.
        let _ = self.peer.wait_or_kill(Duration::ZERO);
    }
}

/// How long the last words of a process that has closed its output are waited for.
const LAST_WORDS_PATIENCE: Duration = Duration::from_secs(1);

/// Why there is no further message.
fn failed(error: &WireError, words: Option<LastWords>) -> LiveMessage {
    let reason = if error.is_end() {
        let words = words.map(|words| words.take(LAST_WORDS_PATIENCE)).unwrap_or_default();
        let said = if words.is_empty() { words } else { format!("; it said: {words}") };
        format!("the measuring process ended{said}")
    } else {
        format!("the measuring process cannot be understood: {error}")
    };
    LiveMessage::Failed { reason, hint: None }
}

impl From<LiveMessage> for LiveEvent {
    fn from(message: LiveMessage) -> Self {
        match message {
            LiveMessage::Shortfall(shortfall) => Self::Shortfall(shortfall),
            LiveMessage::Opened { opened, threads } => Self::Opened { opened, threads },
            LiveMessage::Ended => Self::Ended,
            LiveMessage::Failed { reason, hint } => Self::Failed { reason, hint },
        }
    }
}
