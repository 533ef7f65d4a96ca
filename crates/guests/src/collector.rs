//! Collects the output of the machines of one turn, and passes valid results to a listener.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use tactus_model::guest::Proof;
use tactus_model::message::Message;
use tactus_wire::Input;

use crate::emulator::{complaints, console, last_words};
use crate::monitor::Monitor;
use crate::running::Slot;
use crate::stage::{Stage, activity, stages};
use crate::transcript::{Decoder, cut_short, decide, how_it_ended, panic_of, prove};
use crate::turn::{GuestTurn, MachineEvent};

/// How often consoles are searched for the panic of a kernel.
const LOOK: Duration = Duration::from_secs(1);

/// Receives the messages of the guests of a turn.
pub type Listener = Box<dyn FnMut(Input<Message>) + Send>;

/// Runs one more machine, which decides between two whose outputs differ, and sends its events.
pub type DecisiveBoot = Box<dyn FnOnce(&SyncSender<MachineEvent>) + Send>;

/// How many events of that machine wait for the collector.
const QUEUE: usize = 4;

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
    /// What decides if the outputs of two machines differ.
    decisive: Option<DecisiveBoot>,
    has_panicked: bool,
    listener: Listener,
}

impl Collector {
    /// Collects the output of the machines of `turn`, which run in `slots`, within `limits`. If the turn fails, the console is written to `console_file`.
    /// If the outputs of two machines differ, `decisive` runs a third in one of the slots.
    pub fn new(
        turn: Arc<GuestTurn>,
        slots: Vec<Arc<Slot>>,
        decoder: Decoder,
        limits: Limits,
        console_file: PathBuf,
        decisive: Option<DecisiveBoot>,
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
            decisive,
            has_panicked: false,
            listener,
        }
    }

    /// Waits for the end of all machines, and passes the outcome of the turn to the listener.
    pub fn collect(mut self, events: &Receiver<MachineEvent>) {
        if !self.follow(events) {
            return;
        }
        match cut_short(&self.transcripts) {
            Some(number) if self.is_exact && !self.has_panicked => {
                self.fail_ended(number, self.stage_of(number));
            }
            _ if self.is_exact => self.forward_if_repeatable(),
            _ => {}
        }
        if !self.decoder.is_over() && !self.is_ended() {
            self.fail_ended(0, self.reached);
        }
    }

    /// Receives what the machines send until all have ended; false if the turn has failed or was
    /// ended.
    ///
    /// A panic ends the turn even if the emulator goes on: a panicked kernel resets its machine
    /// only if its other CPUs let it.
    fn follow(&mut self, events: &Receiver<MachineEvent>) -> bool {
        while self.stages.iter().any(|stage| *stage != Stage::End) {
            let deadline = self.deadlines.iter().flatten().min();
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            match events.recv_timeout(left.unwrap_or(LOOK).min(LOOK)) {
                Ok(MachineEvent::Begin(number)) => {
                    self.stages[number] = Stage::Boot;
                    self.transcripts[number].clear();
                    self.sent[number] = 0;
                    self.deadlines[number] = Some(Instant::now() + self.limits.time);
                }
                Ok(MachineEvent::Line(number, line)) => {
                    self.sent[number] += line.len() as u64 + 1;
                    if self.sent[number] > self.limits.output {
                        let limit = self.limits.output;
                        let who = self.name_of(number);
                        self.fail(format!("{who} sent more than {limit} bytes"));
                        return false;
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
                Ok(MachineEvent::Fault(..)) if self.is_ended() => return false,
                Ok(MachineEvent::Fault(number, error)) => {
                    let how_far = stages(&self.stages);
                    let who = self.name_of(number);
                    self.fail_by_host(format!("{who} cannot run: {error}; {how_far}"));
                    return false;
                }
                Err(RecvTimeoutError::Timeout) if left.is_some_and(|left| left <= LOOK) => {
                    self.fail_late();
                    return false;
                }
                // The second look sees the rest of what the kernel prints.
                Err(RecvTimeoutError::Timeout) if self.has_panicked => break,
                Err(RecvTimeoutError::Timeout) => {
                    self.has_panicked = panic_of(&self.console()).is_some();
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        !self.is_ended()
    }

    /// How far the machine with this number came, by its output.
    fn stage_of(&self, number: usize) -> Stage {
        self.transcripts[number].iter().fold(Stage::Boot, |stage, line| stage.after(line))
    }

    /// Fails the turn because a machine ended before its cell did.
    fn fail_ended(&mut self, number: usize, stage: Stage) {
        let who = self.name_of(number);
        let end = how_it_ended(&self.texts(console), &self.texts(complaints), stage == Stage::Boot);
        let reason = format!("{who} ended before its cell did: {}; {end}", stages(&[stage]));
        self.fail(reason);
    }

    /// A machine in words; they have numbers if there are several.
    fn name_of(&self, number: usize) -> String {
        match self.stages.len() {
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
        match prove(&self.transcripts) {
            Ok(proof) => self.forward_output(0, proof),
            // Another clock source than the counted one is itself a reason for different outputs.
            Err(_) if self.decoder.refuses(&self.transcripts) => {
                let refused = std::mem::take(&mut self.transcripts[0]);
                refused.iter().for_each(|line| self.forward(line));
            }
            Err(line) => match self.decisive.take().filter(|_| !self.has_panicked) {
                Some(decisive) => self.forward_if_decided(decisive),
                None => self.fail_unrepeatable(line),
            },
        }
    }

    /// Forwards the output that two of three machines have. The third runs now: two boots of a
    /// machine sometimes differ by an instruction (see [`MainLoop`](crate::machine)).
    fn forward_if_decided(&mut self, decisive: DecisiveBoot) {
        let number = self.stages.len();
        self.stages.push(Stage::Wait);
        self.deadlines.push(None);
        self.sent.push(0);
        self.transcripts.push(Vec::new());
        let has_ended = thread::scope(|scope| {
            let (sender, events) = sync_channel(QUEUE);
            scope.spawn(move || decisive(&sender));
            // If the turn fails, the requester ends the machine, and its thread with it.
            self.follow(&events)
        });
        if !has_ended {
            return;
        }
        match decide(&self.transcripts) {
            Ok((number, proof)) => self.forward_output(number, proof),
            Err(_) if self.is_cut_short(number) => self.fail_ended(number, self.stage_of(number)),
            Err(line) => self.fail_unrepeatable(line),
        }
    }

    /// Whether the machine with this number sent the beginning of another's output only.
    fn is_cut_short(&self, number: usize) -> bool {
        let sent = &self.transcripts[number];
        let is_beginning_of = |all: &Vec<String>| all.len() > sent.len() && all.starts_with(sent);
        self.transcripts.iter().any(is_beginning_of)
    }

    fn forward_output(&mut self, number: usize, proof: Proof) {
        self.decoder.note_proof(proof);
        let output = std::mem::take(&mut self.transcripts[number]);
        output.iter().for_each(|line| self.forward(line));
    }

    fn fail_unrepeatable(&mut self, line: usize) {
        self.decoder.give_up();
        let reason = format!(
            "the run is not repeatable: the outputs of its boots differ from line {line} on"
        );
        let hint = keep_transcripts(&self.console_file, &self.transcripts);
        (self.listener)(Input::Message(Message::Failed { reason, hint: Some(hint) }));
    }

    /// The consoles of the machines: of their boots, if these were saved, and of the time
    /// after, with what their emulators wrote. Identical consoles appear once.
    fn console(&self) -> String {
        self.texts(last_words)
    }

    /// What `read` reads in the directory of each machine; identical texts appear once.
    fn texts(&self, read: impl Fn(&Path) -> String) -> String {
        let booted = (0..self.stages.len()).filter_map(|number| {
            let machine = self.turn.saved.find(&self.turn.name(number))?;
            machine.remains.as_ref().map(|machine| read(machine.directory()))
        });
        let running = self.slots.iter().filter_map(|slot| slot.directory());
        let running = running.map(|directory| read(&directory));
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

    /// Fails the turn for a reason that is not the guest's.
    fn fail_by_host(&mut self, reason: String) {
        self.decoder.give_up();
        let hint = Some(keep_console(&self.console_file, &self.console()));
        (self.listener)(Input::Message(Message::HostFault { reason, hint }));
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

    /// The last message of a turn of so many machines with these events, and those of the machine
    /// that decides.
    fn outcome_of(
        time: &str,
        machines: usize,
        events_of_turn: impl IntoIterator<Item = MachineEvent> + Send + 'static,
        decisive: Vec<MachineEvent>,
    ) -> Message {
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
        let send = |events: &SyncSender<MachineEvent>, all: &mut dyn Iterator<Item = _>| {
            // The collector is gone after a failure.
            all.map_while(|event| events.send(event).ok()).for_each(drop);
        };
        let decisive = (!decisive.is_empty()).then(|| -> DecisiveBoot {
            Box::new(move |events| send(events, &mut decisive.into_iter()))
        });
        let account = planted_account(MachineFacts::unknown(Moment::from_nanos(0)));
        let (sender, inputs) = channel();
        let collector = Collector::new(
            Arc::new(turn),
            vec![Arc::default()],
            Decoder::new(guest, account),
            Limits { time: Duration::from_secs(600), output: 100_000 },
            places.path().join("console"),
            decisive,
            Box::new(move |input| sender.send(input).unwrap()),
        );
        let (machine, events) = sync_channel(1);
        let machine = thread::spawn(move || send(&machine, &mut events_of_turn.into_iter()));
        collector.collect(&events);
        drop(events);
        machine.join().unwrap();
        match inputs.iter().last() {
            Some(Input::Message(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    /// The failure of a turn of so many machines with these events.
    fn failure_of(
        time: &str,
        machines: usize,
        events_of_turn: impl IntoIterator<Item = MachineEvent> + Send + 'static,
    ) -> String {
        reason(outcome_of(time, machines, events_of_turn, Vec::new()))
    }

    fn reason(outcome: Message) -> String {
        match outcome {
            Message::Failed { reason, .. } => reason,
            Message::HostFault { reason, .. } => format!("host: {reason}"),
            other => panic!("{other:?}"),
        }
    }

    /// The events of a machine that sends its facts and these lines.
    fn sends(number: usize, lines: &[&str]) -> Vec<MachineEvent> {
        let mut facts = MachineFacts::unknown(Moment::from_nanos(0));
        facts.cpu.clock_source = Some("tsc".to_owned());
        let facts = serde_json::to_string(&facts).unwrap();
        let lines = std::iter::once(facts.as_str()).chain(lines.iter().copied());
        let lines = lines.map(|sent| line(number, sent));
        let begin = std::iter::once(MachineEvent::Begin(number));
        begin.chain(lines).chain([MachineEvent::End(number)]).collect()
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
            "host: machine 2 of 2 cannot run: No space left on device; machine 1 had booted, but its load \
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

    /// A shortfall with this text, and the last message of a cell.
    fn cell(text: &str) -> [String; 2] {
        let shortfall = format!(
            r#"{{"message":"shortfall","asked":"{text}","granted":"","reason":"","fix":null}}"#
        );
        [shortfall, r#"{"message":"failed","reason":"the end","hint":null}"#.to_owned()]
    }

    /// The outcome of a turn of two machines that send these texts, and of a third.
    fn decided(texts: [&str; 2], third: Vec<MachineEvent>) -> Message {
        let [one, other] = [0, 1].map(|number| {
            let [first, last] = cell(texts[number]);
            sends(number, &[&first, &last])
        });
        outcome_of("exact", 2, one.into_iter().chain(other), third)
    }

    #[test]
    fn a_third_boot_decides_between_two() {
        let third = |text| {
            let [first, last] = cell(text);
            sends(2, &[&first, &last])
        };
        for texts in [["a", "b"], ["b", "a"]] {
            // The counted output is forwarded to its end.
            assert_eq!(reason(decided(texts, third("a"))), "the end");
        }
        let differ = "the run is not repeatable: the outputs of its boots differ from line 2 on";
        assert_eq!(reason(decided(["a", "b"], third("c"))), differ);
        // Without a third boot, two that differ fail the turn.
        assert_eq!(reason(decided(["a", "b"], Vec::new())), differ);
        // Equal ones need none.
        assert_eq!(
            reason(decided(["a", "a"], vec![MachineEvent::Fault(2, String::new())])),
            "the end"
        );
    }

    #[test]
    fn what_a_machine_sent_before_it_began_again_does_not_count() {
        let [first, last] = cell("a");
        let aborted = [MachineEvent::Begin(1), line(1, "{}"), line(1, "other")];
        let events = sends(0, &[&first, &last]).into_iter().chain(aborted);
        let events = events.chain(sends(1, &[&first, &last]));
        assert_eq!(failure_of("exact", 2, events), "the end");
    }

    #[test]
    fn a_third_boot_that_ends_early_or_cannot_run_decides_nothing() {
        let [first, _] = cell("a");
        let reason_of = |third| reason(decided(["a", "b"], third));
        let ended = reason_of(sends(2, &[&first]));
        assert!(ended.starts_with("machine 3 of 3 ended before its cell did"), "{ended}");
        let fault = reason_of(vec![MachineEvent::Fault(2, "no room".to_owned())]);
        assert!(
            fault.starts_with("host: machine 3 of 3 cannot run: no room; machine 1 had"),
            "{fault}"
        );
    }
}
