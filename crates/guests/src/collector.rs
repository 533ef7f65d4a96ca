//! Gathers what the machines of one turn say, and tells a listener what may count.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use tactus_model::message::Message;
use tactus_wire::Input;

use crate::emulator::last_words;
use crate::monitor::Monitor;
use crate::running::Slot;
use crate::stage::{Stage, activity, stages};
use crate::transcript::{Hearing, end_of, prove};
use crate::turn::{GuestTurn, Heard};

/// Hears what arrives from the guests of a turn, the last message last.
pub type Listener = Box<dyn FnMut(Input<Message>) + Send>;

/// Gathers what the machines of one turn say, and tells a listener.
pub struct Collector {
    hearing: Hearing,
    is_exact: bool,
    transcripts: Vec<Vec<String>>,
    /// How far each machine came.
    stages: Vec<Stage>,
    turn: Arc<GuestTurn>,
    slots: Vec<Arc<Slot>>,
    limit: Duration,
    /// Where the console is kept if the turn fails.
    keep: PathBuf,
    listener: Listener,
}

impl Collector {
    /// Listens to the machines of `turn`, which run in `slots`, for `limit` at most. If the
    /// turn fails the console is kept as `keep`.
    pub fn new(
        turn: Arc<GuestTurn>,
        slots: Vec<Arc<Slot>>,
        hearing: Hearing,
        limit: Duration,
        keep: PathBuf,
        listener: Listener,
    ) -> Self {
        let machines = turn.machines;
        Self {
            hearing,
            is_exact: turn.guest.time.is_exact(),
            transcripts: vec![Vec::new(); machines],
            stages: vec![Stage::Boot; machines],
            turn,
            slots,
            limit,
            keep,
            listener,
        }
    }

    /// Hears all machines to their ends, and tells the listener what came of the turn.
    pub fn collect(mut self, heard: &Receiver<Heard>) {
        let deadline = Instant::now() + self.limit;
        while self.stages.iter().any(|stage| *stage != Stage::End) {
            match heard.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Heard::Line(number, line)) => {
                    self.stages[number] = self.stages[number].after(&line);
                    if self.is_exact {
                        self.transcripts[number].push(line);
                    } else {
                        self.tell(&line);
                    }
                }
                Ok(Heard::End(number)) => self.stages[number] = Stage::End,
                Ok(Heard::Fault(_)) if self.is_ended() => return,
                Ok(Heard::Fault(error)) => {
                    return self.fail(format!("the guest cannot be run: {error}"));
                }
                Err(RecvTimeoutError::Timeout) => return self.fail_late(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if self.is_ended() {
            return;
        }
        if self.is_exact {
            self.tell_what_repeats();
        }
        if !self.hearing.is_over() {
            let console = self.console();
            let end = end_of(&console).unwrap_or("nothing");
            self.fail(format!("the guest ended before its cell did; its console ends: {end}"));
        }
    }

    /// Whether the turn was given up by whoever asked for it: then nothing failed.
    fn is_ended(&self) -> bool {
        self.slots.iter().any(|slot| slot.is_ended())
    }

    fn tell(&mut self, line: &str) {
        if let Some(mut input) = self.hearing.hear(line) {
            // A kernel may say why it is not as it was asked to be.
            if let Input::Message(Message::Failed { hint, .. }) = &mut input {
                let console = keep(&self.keep, &self.console());
                *hint = Some(match hint.take() {
                    Some(hint) => format!("{hint}; {console}"),
                    None => console,
                });
            }
            (self.listener)(input);
        }
    }

    /// Tells what was said, when every machine said the same.
    fn tell_what_repeats(&mut self) {
        let transcripts = std::mem::take(&mut self.transcripts);
        match prove(&transcripts) {
            Ok(proof) => {
                self.hearing.note_proof(proof);
                transcripts.iter().take(1).flatten().for_each(|line| self.tell(line));
            }
            Err(line) => {
                self.hearing.give_up();
                let reason = format!(
                    "the run did not repeat: what its boots said differs from line {line} on"
                );
                let hint = keep_said(&self.keep, &transcripts);
                (self.listener)(Input::Message(Message::Failed { reason, hint: Some(hint) }));
            }
        }
    }

    /// What the machines wrote: when they booted, where that was kept, and afterwards. What
    /// several wrote alike stands there once.
    fn console(&self) -> String {
        let booted = (0..self.turn.machines).filter_map(|number| {
            let kept = self.turn.kept.find(&self.turn.name(number))?;
            kept.remains.as_ref().map(|machine| last_words(machine.directory()))
        });
        let running = self.slots.iter().filter_map(|slot| slot.directory());
        let running = running.map(|directory| last_words(&directory));
        let mut all: Vec<String> = Vec::new();
        for words in booted.chain(running) {
            if !all.contains(&words) {
                all.push(words);
            }
        }
        all.concat()
    }

    fn fail(&mut self, reason: String) {
        let console = self.console();
        self.fail_with(reason, &console);
    }

    fn fail_with(&mut self, reason: String, console: &str) {
        self.hearing.give_up();
        let hint = keep(&self.keep, console);
        (self.listener)(Input::Message(Message::Failed { reason, hint: Some(hint) }));
    }

    /// Gives the turn up since it took too long, and tells as much as can be seen of why.
    fn fail_late(&mut self) {
        let directories = self.slots.iter().filter_map(|slot| slot.directory());
        // Only machines in exact time have a monitor, and one that boots answers nobody.
        let looks: Vec<String> = directories
            .filter_map(|directory| Monitor::registers(&directory).ok())
            .flatten()
            .collect();
        let stages = stages(&self.stages);
        let activity = activity(&looks).map(|told| format!("; {told}")).unwrap_or_default();
        let reason = format!(
            "the guest had not ended after {} s on the host and was given up: {stages}{activity}",
            self.limit.as_secs()
        );
        let console = std::iter::once(self.console()).chain(looks).collect::<Vec<_>>().join("\n");
        self.fail_with(reason, &console);
    }
}

/// Keeps a console for who wants to know more; tells where.
fn keep(file: &Path, console: &str) -> String {
    let kept = file.parent().map_or(Ok(()), fs::create_dir_all);
    match kept.and_then(|()| fs::write(file, console)) {
        Ok(()) => format!("read its console: {}", file.display()),
        Err(error) => format!("its console cannot be kept in {}: {error}", file.display()),
    }
}

/// Keeps what each machine said beside where the console would be; tells where.
fn keep_said(console: &Path, transcripts: &[Vec<String>]) -> String {
    let mut files = Vec::new();
    for (number, lines) in transcripts.iter().enumerate() {
        let file = console.with_extension(format!("said-{}", number + 1));
        let kept = file.parent().map_or(Ok(()), fs::create_dir_all);
        if let Err(error) = kept.and_then(|()| fs::write(&file, lines.join("\n") + "\n")) {
            return format!("what they said cannot be kept in {}: {error}", file.display());
        }
        files.push(file.display().to_string());
    }
    format!("compare what they said: diff {}", files.join(" "))
}
