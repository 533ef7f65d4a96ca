//! The side that looks.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

use tactus_model::cell::Cell;
use tactus_probe::live::{Follower, RingLayout, RingsPlace, SampleRings};
use tactus_probe::places;
use tactus_probe::schedule::Schedule;

use super::{LiveEvent, LiveMessage, LiveRequest};

/// A cell that is being measured and looked at. Dropping it ends it, with its load.
#[derive(Debug)]
pub struct LiveSamples {
    child: Child,
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
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // An interrupt typed at the terminal is for us; we end the cell in our own way.
            .process_group(0);
        tactus_sys::process::die_with_parent(&mut command);
        rings.set_inheritable(true).map_err(io::Error::other)?;
        let spawned = command.spawn();
        rings.set_inheritable(false).map_err(io::Error::other)?;
        let mut child = spawned?;
        let place = RingsPlace { file: rings.file(), layout };
        let request = LiveRequest { cell: cell.clone(), seed, rings: place };
        // A process that has ended already is heard of below.
        let _ = give(&mut child, &request);
        let (sender, messages) = channel();
        let (lines, words) = (child.stdout.take(), child.stderr.take());
        thread::Builder::new().name("hears-live".to_owned()).spawn(move || {
            if let (Some(lines), Some(words)) = (lines, words) {
                forward(BufReader::new(lines), words, &sender);
            }
        })?;
        let followers = (0..tasks)
            .map(|task| Follower::new(task, Schedule::of_task(cell, task, seed)))
            .collect();
        Ok(Self { child, rings, followers, messages, ended: false })
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
        // A process that has ended already cannot be killed, which is as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn give(child: &mut Child, request: &LiveRequest) -> io::Result<()> {
    let Some(mut stdin) = child.stdin.take() else { return Ok(()) };
    serde_json::to_writer(&mut stdin, request)?;
    stdin.write_all(b"\n")
}

/// The most of a dead process's last words that is told, in bytes.
const LAST_WORDS_LIMIT: u64 = 4096;

/// Passes on every message, and at last why there is no further one.
fn forward(lines: impl BufRead, words: impl Read, messages: &Sender<LiveMessage>) {
    for line in lines.lines().map_while(Result::ok) {
        let message = serde_json::from_str(&line).unwrap_or_else(|_| LiveMessage::Failed {
            reason: format!("the measuring process wrote what is no message: {line}"),
            hint: None,
        });
        if messages.send(message).is_err() {
            return;
        }
    }
    let mut said = String::new();
    // Whatever cannot be read is no reason either.
    let _ = words.take(LAST_WORDS_LIMIT).read_to_string(&mut said);
    let said = if said.is_empty() { said } else { format!("; it said: {}", said.trim()) };
    let reason = format!("the measuring process ended{said}");
    let _ = messages.send(LiveMessage::Failed { reason, hint: None });
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
