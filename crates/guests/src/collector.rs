//! Collects the output of the machines of one turn, and passes valid results to a listener.

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
use crate::transcript::{Decoder, cut_short, end_of, panic_of, prove};
use crate::turn::{GuestTurn, MachineEvent};

/// How often consoles are searched for the panic of a kernel.
const LOOK: Duration = Duration::from_secs(1);

/// Receives the messages of the guests of a turn.
pub type Listener = Box<dyn FnMut(Input<Message>) + Send>;

/// The limits of one turn.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long each of its machines may take on the host.
    pub time: Duration,
    /// How many bytes each machine may send.
    pub output: u64,
}

/// Collects the output of the machines of one turn.
pub struct Collector {
    decoder: Decoder,
    is_exact: bool,
    transcripts: Vec<Vec<String>>,
    /// The progress of each machine.
    stages: Vec<Stage>,
    /// The progress of the machine that sent the last line.
    reached: Stage,
    /// The end of the time of each machine that runs.
    deadlines: Vec<Option<Instant>>,
    turn: Arc<GuestTurn>,
    slots: Vec<Arc<Slot>>,
    limits: Limits,
    /// How many bytes each machine has sent.
    sent: Vec<u64>,
    /// The file for the console if the turn fails.
    console_file: PathBuf,
    listener: Listener,
}

impl Collector {
    /// Collects the output of the machines of `turn`, which run in `slots`, within `limits`. If the turn fails, the console is written to `console_file`.
    pub fn new(
        turn: Arc<GuestTurn>,
        slots: Vec<Arc<Slot>>,
        decoder: Decoder,
        limits: Limits,
        console_file: PathBuf,
        listener: Listener,
    ) -> Self {
        let machines = turn.machines;
        Self {
            decoder,
            is_exact: turn.guest.time.is_exact(),
            transcripts: vec![Vec::new(); machines],
            stages: vec![Stage::Wait; machines],
            reached: Stage::Boot,
            deadlines: vec![None; machines],
            turn,
            slots,
            limits,
            sent: vec![0; machines],
            console_file,
            listener,
        }
    }

    /// Waits for the end of all machines, and passes the outcome of the turn to the listener.
    ///
    /// A panic ends the turn even if the emulator goes on: a panicked kernel resets its machine
    /// only if its other CPUs let it.
    pub fn collect(mut self, events: &Receiver<MachineEvent>) {
        let mut has_panicked = false;
        while self.stages.iter().any(|stage| *stage != Stage::End) {
            let deadline = self.deadlines.iter().flatten().min();
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            match events.recv_timeout(left.unwrap_or(LOOK).min(LOOK)) {
                Ok(MachineEvent::Begin(number)) => {
                    self.stages[number] = Stage::Boot;
                    self.deadlines[number] = Some(Instant::now() + self.limits.time);
                }
                Ok(MachineEvent::Line(number, line)) => {
                    self.sent[number] += line.len() as u64 + 1;
                    if self.sent[number] > self.limits.output {
                        let limit = self.limits.output;
                        let who = self.name_of(number);
                        return self.fail(format!("{who} sent more than {limit} bytes"));
                    }
                    self.stages[number] = self.stages[number].after(&line);
                    self.reached = self.stages[number];
                    if self.is_exact {
                        self.transcripts[number].push(line);
                    } else {
                        self.forward(&line);
                    }
                }
                Ok(MachineEvent::End(number)) => {
                    self.stages[number] = Stage::End;
                    self.deadlines[number] = None;
                }
                Ok(MachineEvent::Fault(..)) if self.is_ended() => return,
                Ok(MachineEvent::Fault(number, error)) => {
                    let how_far = stages(&self.stages);
                    let who = self.name_of(number);
                    return self.fail(format!("{who} cannot run: {error}; {how_far}"));
                }
                Err(RecvTimeoutError::Timeout) if left.is_some_and(|left| left <= LOOK) => {
                    return self.fail_late();
                }
                // The second look sees the rest of what the kernel prints.
                Err(RecvTimeoutError::Timeout) if has_panicked => break,
                Err(RecvTimeoutError::Timeout) => {
                    has_panicked = panic_of(&self.console()).is_some()
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if self.is_ended() {
            return;
        }
        match cut_short(&self.transcripts) {
            Some(number) if self.is_exact && !has_panicked => {
                let lines = self.transcripts[number].iter();
                let stage = lines.fold(Stage::Boot, |stage, line| stage.after(line));
                self.fail_ended(number, stage);
            }
            _ if self.is_exact => self.forward_if_repeatable(),
            _ => {}
        }
        if !self.decoder.is_over() {
            self.fail_ended(0, self.reached);
        }
    }

    /// Fails the turn because a machine ended before its cell did.
    fn fail_ended(&mut self, number: usize, stage: Stage) {
        let (who, console) = (self.name_of(number), self.console());
        let end = end_of(&console).unwrap_or("(empty)");
        let reason = format!(
            "{who} ended before its cell did: {}; last line of its console: {end}",
            stages(&[stage])
        );
        self.fail_with(reason, &console);
    }

    /// A machine in words; they have numbers if there are several.
    fn name_of(&self, number: usize) -> String {
        match self.turn.machines {
            1 => "the guest".to_owned(),
            all => format!("machine {} of {all}", number + 1),
        }
    }

    /// Whether the requester ended the turn, which is not a failure.
    fn is_ended(&self) -> bool {
        self.slots.iter().any(|slot| slot.is_ended())
    }

    fn forward(&mut self, line: &str) {
        if let Some(mut input) = self.decoder.decode(line) {
            // The console may explain why the kernel does not match the request.
            if let Input::Message(Message::Failed { hint, .. }) = &mut input {
                let console = keep_console(&self.console_file, &self.console());
                *hint = Some(match hint.take() {
                    Some(hint) => format!("{hint}; {console}"),
                    None => console,
                });
            }
            (self.listener)(input);
        }
    }

    /// Forwards the output if it is the same for every machine.
    fn forward_if_repeatable(&mut self) {
        let transcripts = std::mem::take(&mut self.transcripts);
        match prove(&transcripts) {
            Ok(proof) => {
                self.decoder.note_proof(proof);
                transcripts.iter().take(1).flatten().for_each(|line| self.forward(line));
            }
            // Another clock source than the counted one is itself a reason for different outputs.
            Err(_) if self.decoder.refuses(&transcripts) => {
                transcripts.iter().take(1).flatten().for_each(|line| self.forward(line));
            }
            Err(line) => {
                self.decoder.give_up();
                let reason = format!(
                    "the run is not repeatable: the outputs of its boots differ from line {line} on"
                );
                let hint = keep_transcripts(&self.console_file, &transcripts);
                (self.listener)(Input::Message(Message::Failed { reason, hint: Some(hint) }));
            }
        }
    }

    /// The consoles of the machines: of their boots, if these were saved, and of the time
    /// after. Identical consoles appear once.
    fn console(&self) -> String {
        let booted = (0..self.turn.machines).filter_map(|number| {
            let machine = self.turn.saved.find(&self.turn.name(number))?;
            machine.remains.as_ref().map(|machine| last_words(machine.directory()))
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
        self.decoder.give_up();
        let hint = keep_console(&self.console_file, console);
        (self.listener)(Input::Message(Message::Failed { reason, hint: Some(hint) }));
    }

    /// Fails the turn because it took too long, with the visible signs of the reason.
    fn fail_late(&mut self) {
        let directories = self.slots.iter().filter_map(|slot| slot.directory());
        // Only machines in deterministic time have a monitor, and it does not respond during boot.
        let looks: Vec<String> = directories
            .filter_map(|directory| Monitor::registers(&directory).ok())
            .flatten()
            .collect();
        let stages = stages(&self.stages);
        let activity = activity(&looks).map(|words| format!("; {words}")).unwrap_or_default();
        let reason = format!(
            "the guest did not end within {} s on the host and was stopped: {stages}{activity}",
            self.limits.time.as_secs()
        );
        let console = std::iter::once(self.console()).chain(looks).collect::<Vec<_>>().join("\n");
        self.fail_with(reason, &console);
    }
}

/// Writes a console to a file for diagnosis; returns a hint that names the file.
fn keep_console(file: &Path, console: &str) -> String {
    let kept = file.parent().map_or(Ok(()), fs::create_dir_all);
    match kept.and_then(|()| fs::write(file, console)) {
        Ok(()) => format!("read its console: {}", file.display()),
        Err(error) => format!("cannot write its console to {}: {error}", file.display()),
    }
}

/// Writes the output of each machine beside the console's file; returns a hint that names the
/// files.
fn keep_transcripts(console: &Path, transcripts: &[Vec<String>]) -> String {
    let mut files = Vec::new();
    for (number, lines) in transcripts.iter().enumerate() {
        let file = console.with_extension(format!("output-{}", number + 1));
        let kept = file.parent().map_or(Ok(()), fs::create_dir_all);
        if let Err(error) = kept.and_then(|()| fs::write(&file, lines.join("\n") + "\n")) {
            return format!("cannot write the outputs to {}: {error}", file.display());
        }
        files.push(file.display().to_string());
    }
    format!("compare the outputs: diff {}", files.join(" "))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::mpsc::{channel, sync_channel};
    use std::thread;

    use tactus_model::facts::MachineFacts;
    use tactus_model::guest::Guest;
    use tactus_model::time::Instant as Moment;

    use super::*;
    use crate::emulator::Emulator;
    use crate::permits::Permits;
    use crate::transcript::planted_account;

    /// The failure of a turn of so many machines with these events.
    fn failure_of(
        time: &str,
        machines: usize,
        events_of_turn: impl IntoIterator<Item = MachineEvent> + Send + 'static,
    ) -> String {
        let places = tempfile::tempdir().unwrap();
        let guest = Guest { kernel: "debian".parse().unwrap(), time: time.parse().unwrap() };
        let turn = GuestTurn {
            emulator: Emulator::planted(),
            guest: guest.clone(),
            kernel: PathBuf::new(),
            archive: Arc::default(),
            request: Vec::new(),
            arguments: Vec::new(),
            arguments_to_restore: Vec::new(),
            seed: 1,
            machines,
            next: AtomicUsize::new(0),
            saved: Arc::default(),
            order: 0,
            permits: Arc::new(Permits::new(1)),
        };
        let account = planted_account(MachineFacts::unknown(Moment::from_nanos(0)));
        let (sender, inputs) = channel();
        let collector = Collector::new(
            Arc::new(turn),
            vec![Arc::default()],
            Decoder::new(guest, account),
            Limits { time: Duration::from_secs(600), output: 100_000 },
            places.path().join("console"),
            Box::new(move |input| sender.send(input).unwrap()),
        );
        let (machine, events) = sync_channel(1);
        let machine = thread::spawn(move || {
            for event in events_of_turn {
                if machine.send(event).is_err() {
                    return;
                }
            }
        });
        collector.collect(&events);
        drop(events);
        machine.join().unwrap();
        match inputs.iter().last() {
            Some(Input::Message(Message::Failed { reason, .. })) => reason,
            other => panic!("{other:?}"),
        }
    }

    fn line(number: usize, line: &str) -> MachineEvent {
        MachineEvent::Line(number, line.to_owned())
    }

    #[test]
    fn a_guest_that_sends_without_end_fails_its_turn() {
        for sent in ["{}", ""] {
            let without_end = std::iter::repeat_with(move || line(0, sent));
            let reason = failure_of("exact", 1, without_end);
            assert_eq!(reason, "the guest sent more than 100000 bytes");
        }
    }

    #[test]
    fn a_failed_machine_is_named_with_its_progress() {
        let events = [
            MachineEvent::Begin(0),
            line(0, "{}"),
            MachineEvent::Begin(1),
            MachineEvent::Fault(1, "No space left on device".to_owned()),
        ];
        assert_eq!(
            failure_of("exact", 2, events),
            "machine 2 of 2 cannot run: No space left on device; machine 1 had booted, but its load \
             had not started, machine 2 had not booted"
        );
    }

    #[test]
    fn a_machine_that_ended_before_the_other_is_named() {
        let events = [
            MachineEvent::Begin(0),
            line(0, "{}"),
            line(0, "{\"message\":\"opened\"}"),
            MachineEvent::End(0),
            MachineEvent::Begin(1),
            line(1, "{}"),
            MachineEvent::End(1),
        ];
        assert_eq!(
            failure_of("exact", 2, events),
            "machine 2 of 2 ended before its cell did: it had booted, but its load had not started; \
             last line of its console: (empty)"
        );
    }
}
