//! The target that measures each turn in a guest.
//!
//! In wall time a guest is booted for each turn. In exact time several machines prove each
//! other: each boots by itself, stops before it reads its order, and is kept. A turn takes
//! all of them up, and is kept only when they say the same.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ChildStdout;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tactus_model::facts::MachineFacts;
use tactus_model::guest::{Guest, GuestAccount, GuestTime};
use tactus_model::kernel::KernelSource;
use tactus_model::message::{Message, Order};
use tactus_model::time::{Instant as Moment, Nanos};
use tactus_sys::timestamp;

use super::GuestError;
use super::archive::Archive;
use super::emulator::{Emulator, last_words};
use super::kept::{BootedMachine, KeptMachines, MachineName};
use super::machine::{Accelerator, Machine, timestamp_parameter};
use super::monitor::Monitor;
use super::program::GuestProgram;
use super::running::{MachineFiles, Running, Slot};
use super::transcript::{Hearing, end_of, prove, sha256};
use crate::kernels::{Kernel, Kernels};
use crate::target::{Inbox, Input, Measuring, Target};

/// Where a [`Guests`] finds and puts things.
#[derive(Clone, Debug)]
pub struct GuestPlaces {
    /// `tactus` itself.
    pub executable: PathBuf,
    /// The file that `TACTUS_GUEST` names, where it does.
    pub program: Option<std::ffi::OsString>,
    /// The directories in which programs are looked for, as `PATH`.
    pub search_path: std::ffi::OsString,
    /// Where the consoles of guests that failed are kept.
    pub consoles: PathBuf,
}

/// Measures in guests.
#[derive(Debug)]
pub struct Guests {
    emulator: Emulator,
    accelerator: Accelerator,
    program: GuestProgram,
    kernels: HashMap<KernelSource, Kernel>,
    consoles: PathBuf,
    /// How fast this host's time stamp counter counts, where guests are emulated in wall time.
    timestamp_khz: Option<u64>,
    /// How long a guest may take on the host; by its cell when none is given.
    limit: Option<Duration>,
    /// How many machines must say the same in exact time; two at least.
    pub proofs: usize,
    kept: Arc<KeptMachines>,
}

/// How many machines prove each other unless told otherwise.
pub const PROOFS: usize = 2;

impl Guests {
    /// Prepares to measure in the guests of `wanted`: everything that would fail fails now,
    /// before the first is booted.
    ///
    /// # Errors
    /// The emulator, the guests' program or one of the kernels cannot be had.
    pub fn prepare<'g>(
        places: GuestPlaces,
        kernels: &Kernels,
        limit: Option<Duration>,
        wanted: impl IntoIterator<Item = &'g Guest>,
    ) -> Result<Self, GuestError> {
        let emulator = Emulator::find(&places.search_path)?;
        let program = GuestProgram::find(&places.executable, places.program)?;
        let mut found = HashMap::new();
        let mut is_wall = false;
        for guest in wanted {
            is_wall |= guest.time == GuestTime::Wall;
            if !found.contains_key(&guest.kernel.source) {
                let kernel = kernels.find(&guest.kernel.source)?;
                found.insert(guest.kernel.source.clone(), kernel);
            }
        }
        let accelerator = if is_wall { emulator.accelerator() } else { Accelerator::Tcg };
        let is_emulated = is_wall && accelerator == Accelerator::Tcg;
        let timestamp_khz = is_emulated.then(timestamp::frequency_khz).flatten();
        let consoles = places.consoles;
        let (proofs, kept) = (PROOFS, Arc::default());
        Ok(Self {
            emulator,
            accelerator,
            program,
            kernels: found,
            consoles,
            timestamp_khz,
            limit,
            proofs,
            kept,
        })
    }

    /// How long a guest may take on the host to measure a cell of this length. Unless it
    /// was told, that is booting, and then many times the length, since an emulator is slow
    /// and a host may be busy.
    pub fn limit(&self, length: Nanos) -> Duration {
        const BOOT: Duration = Duration::from_secs(300);
        const SLOWNESS: u32 = 120;
        self.limit.unwrap_or(BOOT + Duration::from(length).saturating_mul(SLOWNESS))
    }

    /// The guest with what its kernel has to be told of its clock in wall time.
    ///
    /// A kernel of ours has one timer to measure its time stamp counter by, and on a busy host
    /// an emulated one gives any figure, by which all lengths would be wrong. The emulator
    /// passes the host's counter on, so that its frequency is known.
    fn telling_its_clock(&self, guest: &Guest) -> Guest {
        let mut guest = guest.clone();
        let is_built = matches!(guest.kernel.source, KernelSource::Built(_));
        if let Some(khz) = self.timestamp_khz.filter(|_| is_built && !guest.time.is_exact()) {
            guest.kernel.parameters.insert(0, timestamp_parameter(khz));
        }
        guest
    }

    fn archive(&self, kernel: &Kernel) -> Vec<u8> {
        let directories = ["dev", "proc", "sys", "tmp", "bin", "boot"];
        let archive = directories.into_iter().fold(Archive::new(), Archive::directory);
        let archive = archive
            .device("dev/console", 5, 1)
            // By its file's name a recording tells whose thread it is.
            .program("bin/tactus", &self.program.bytes)
            .link("init", "bin/tactus")
            .link("bin/true", "tactus");
        // The facts of a kernel that was built like this are read from its configuration.
        let archive = match (&kernel.config, &kernel.release) {
            (Some(config), Some(release)) => {
                archive.file(&format!("boot/config-{release}"), config)
            }
            _ => archive,
        };
        archive.finish()
    }
}

impl Target for Guests {
    fn begin(&mut self, order: &Order, inbox: Inbox) -> io::Result<Box<dyn Measuring>> {
        let guest = order.cell.target.guest().ok_or_else(|| unprepared("no guest"))?;
        let kernel =
            self.kernels.get(&guest.kernel.source).ok_or_else(|| unprepared("a kernel"))?;
        let told = self.telling_its_clock(guest);
        let processors = thread::available_parallelism().map_or(1, |count| count.get());
        let seed = if guest.time.is_exact() { order.boot_seed } else { order.seed };
        let machine = Machine {
            guest: &told,
            accelerator: self.accelerator,
            processors: processors as u32,
            // Half of a seed is what the emulator takes.
            seed: seed as u32,
        };
        let archive = self.archive(kernel);
        let is_exact = guest.time.is_exact();
        let arguments = if is_exact { machine.arguments_to_keep() } else { machine.arguments() };
        let arguments_to_take_up = machine.arguments_to_take_up();
        let measured_by = if is_exact { &arguments_to_take_up } else { &arguments };
        let account = GuestAccount {
            kernel_release: kernel.release.clone(),
            kernel_sha256: kernel.sha256.clone(),
            program_sha256: sha256(&self.program.bytes),
            archive_sha256: sha256(&archive),
            emulator: self.emulator.version.clone(),
            accelerator: machine.accelerator().word().to_owned(),
            command_line: measured_by.clone(),
            seed: machine.seed,
            proof: None,
            facts: MachineFacts::unknown(Moment::from_nanos(0)),
        };
        let machines = if is_exact { self.proofs.max(PROOFS) } else { 1 };
        let turn = GuestTurn {
            emulator: self.emulator.clone(),
            guest: guest.clone(),
            kernel: kernel.path.clone(),
            archive,
            order: format!("{}\n", serde_json::to_string(order)?).into_bytes(),
            arguments,
            arguments_to_take_up,
            seed,
            machines,
            next: AtomicUsize::new(0),
            kept: Arc::clone(&self.kept),
        };
        let slots: Vec<Arc<Slot>> = (0..machines.min(processors)).map(|_| Arc::default()).collect();
        let (lines, heard) = channel();
        let turn = Arc::new(turn);
        let mut threads: Vec<JoinHandle<()>> = slots
            .iter()
            .map(|slot| {
                let (turn, slot, lines) = (Arc::clone(&turn), Arc::clone(slot), lines.clone());
                thread::spawn(move || turn.run(&slot, &lines))
            })
            .collect();
        let collector = Collector {
            hearing: Hearing::new(guest.clone(), account),
            is_exact,
            transcripts: vec![Vec::new(); machines],
            stages: vec![Stage::Boot; machines],
            turn,
            slots: slots.clone(),
            limit: self.limit(order.cell.length()),
            keep: self.consoles.join(console_name(order, guest)),
            inbox,
        };
        threads.push(thread::spawn(move || collector.collect(&heard)));
        Ok(Box::new(BootedGuests { slots, threads }))
    }
}

fn unprepared(what: &str) -> io::Error {
    io::Error::other(format!("the turn wants {what} that was not prepared"))
}

/// A name for the console of a turn, by its kernel and seed, of letters that every file may have.
fn console_name(order: &Order, guest: &Guest) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-.@=".contains(c) { c } else { '_' };
    let kernel: String = guest.kernel.to_string().chars().map(plain).collect();
    format!("{kernel}-{:016x}.console", order.seed)
}

/// What the machines of one turn are started with.
struct GuestTurn {
    emulator: Emulator,
    guest: Guest,
    kernel: PathBuf,
    archive: Vec<u8>,
    order: Vec<u8>,
    arguments: Vec<String>,
    arguments_to_take_up: Vec<String>,
    seed: u64,
    machines: usize,
    /// The number of the next machine to be run.
    next: AtomicUsize,
    kept: Arc<KeptMachines>,
}

/// What a guest finds for its order while it boots: the same for every turn, so that what
/// is kept of it knows of none.
const NO_ORDER: &[u8] = b"{}\n";

impl GuestTurn {
    /// Runs machines in `slot` until each of the turn was run somewhere.
    fn run(&self, slot: &Slot, lines: &Sender<Heard>) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.machines {
                return;
            }
            let told = match self.run_machine(number, slot, lines) {
                Ok(()) => Heard::End(number),
                Err(error) => Heard::Fault(error.to_string()),
            };
            // Nobody listens any more when the turn was given up.
            if lines.send(told).is_err() {
                return;
            }
        }
    }

    fn run_machine(&self, number: usize, slot: &Slot, lines: &Sender<Heard>) -> io::Result<()> {
        let output = if self.guest.time.is_exact() {
            let Some(booted) = self.booted(number, slot)? else { return Ok(()) };
            let (output, directory) = self.start(slot, &self.order, &self.arguments_to_take_up)?;
            let mut monitor = Monitor::connect(&directory, || slot.is_running())?;
            monitor.take_up(&booted.state)?;
            output
        } else {
            self.start(slot, &self.order, &self.arguments)?.0
        };
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if lines.send(Heard::Line(number, line)).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Starts a machine in `slot`; gives what it says and its working directory.
    fn start(
        &self,
        slot: &Slot,
        order: &[u8],
        arguments: &[String],
    ) -> io::Result<(ChildStdout, PathBuf)> {
        let files = MachineFiles { kernel: &self.kernel, archive: &self.archive, order };
        let mut machine = Running::start(&self.emulator, &files, arguments)?;
        let output = machine.child.stdout.take();
        let output = output.ok_or_else(|| io::Error::other("the emulator has no output"))?;
        let directory = machine.directory().to_owned();
        slot.hold(machine)?;
        Ok((output, directory))
    }

    /// The machine of this number, booted now where it is not kept already; `None` when it
    /// ended in place of booting, of which its console tells.
    fn booted(&self, number: usize, slot: &Slot) -> io::Result<Option<Arc<BootedMachine>>> {
        let name = self.name(number);
        if let Some(kept) = self.kept.find(&name) {
            return Ok(Some(kept));
        }
        let (output, directory) = self.start(slot, NO_ORDER, &self.arguments)?;
        let mut booted = BootedMachine::new()?;
        let paused = Monitor::connect(&directory, || slot.is_running())
            .and_then(|mut monitor| monitor.wait_for_pause().map(|()| monitor));
        match paused {
            Ok(mut monitor) => monitor.keep(&booted.state)?,
            Err(_) if io::read_to_string(output)?.is_empty() => return Ok(None),
            Err(_) => return Err(io::Error::other(STALE_PROGRAM)),
        }
        booted.remains = slot.take();
        if let Some(machine) = &mut booted.remains {
            machine.child.wait()?;
        }
        let booted = Arc::new(booted);
        self.kept.keep(name, Arc::clone(&booted));
        Ok(Some(booted))
    }

    fn name(&self, number: usize) -> MachineName {
        MachineName { guest: self.guest.clone(), seed: self.seed, number }
    }
}

/// What it means when a guest speaks and ends before it was stopped.
const STALE_PROGRAM: &str = "the program in it did not wait for its order, so it is of another \
    version than this tactus; build it anew";

/// What is heard of the machines of one turn.
enum Heard {
    Line(usize, String),
    /// One of them will say nothing more.
    End(usize),
    /// One of them cannot be run.
    Fault(String),
}

/// Gathers what the machines of one turn say, and tells the engine.
struct Collector {
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
    inbox: Inbox,
}

impl Collector {
    fn collect(mut self, heard: &Receiver<Heard>) {
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

    /// Whether the turn was given up by whoever ordered it: then nothing failed.
    fn is_ended(&self) -> bool {
        self.slots.iter().any(|slot| slot.is_ended())
    }

    fn tell(&mut self, line: &str) {
        if let Some(input) = self.hearing.hear(line) {
            // When the engine listens no more, the turn was given up and we end with it.
            self.inbox.put(input);
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
                self.inbox.put(Input::Message(Message::Failed { reason, hint: Some(hint) }));
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
        self.inbox.put(Input::Message(Message::Failed { reason, hint: Some(hint) }));
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

/// How far a machine of a turn came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It has said nothing.
    Boot,
    /// It has told what machine it is, and starts its load and prepares.
    Preparation,
    /// It has said something of its cell.
    Measurement,
    /// It says nothing more.
    End,
}

impl Stage {
    fn after(self, line: &str) -> Self {
        // What is not granted is told whenever that is known.
        const SHORTFALL: &str = "{\"message\":\"shortfall\"";
        match self {
            Self::Boot => Self::Preparation,
            Self::Preparation if line.starts_with(SHORTFALL) => self,
            Self::Preparation | Self::Measurement | Self::End => Self::Measurement,
        }
    }

    const fn told(self) -> &'static str {
        match self {
            Self::Boot => "had not booted",
            Self::Preparation => "had booted, and its load had not started",
            Self::Measurement => "was measuring",
            Self::End => "had ended",
        }
    }
}

/// Where the machines of a turn were, in words.
fn stages(stages: &[Stage]) -> String {
    match stages {
        [one] => format!("it {}", one.told()),
        several => {
            let told = several.iter().enumerate();
            let told =
                told.map(|(number, stage)| format!("machine {} {}", number + 1, stage.told()));
            told.collect::<Vec<_>>().join(", ")
        }
    }
}

/// What the processors did when they were looked at, by QEMU's `info registers`; `None` when
/// nobody could look.
fn activity(looks: &[String]) -> Option<&'static str> {
    let halted = looks.iter().filter(|look| look.contains("HLT=1")).count();
    match (halted, looks.len()) {
        (_, 0) => None,
        (0, _) => {
            Some("its processor was at work: a longer --guest-limit, or fewer copies of the load")
        }
        (halted, all) if halted == all => {
            Some("its processor was idle, so it waited for something")
        }
        _ => Some("its processor was now at work and now idle"),
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

/// The machines of one turn, and the threads that follow them.
struct BootedGuests {
    slots: Vec<Arc<Slot>>,
    threads: Vec<JoinHandle<()>>,
}

impl Measuring for BootedGuests {
    fn end(self: Box<Self>) -> String {
        // Their ends let the threads end.
        self.slots.iter().for_each(|slot| slot.end());
        for thread in self.threads {
            // It only fails by a defect, which it has told then.
            let _ = thread.join();
        }
        "the guest was ended".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::result::Shortfall;

    use super::*;

    #[test]
    fn a_guest_that_is_given_up_tells_how_far_it_came() {
        assert_eq!(stages(&[Stage::Boot]), "it had not booted");
        let shortfall = Shortfall {
            asked: String::new(),
            granted: String::new(),
            reason: String::new(),
            mend: None,
        };
        let shortfall = serde_json::to_string(&Message::Shortfall(shortfall)).unwrap();
        let opened = serde_json::to_string(&Message::Opened).unwrap();
        let preparing = Stage::Boot.after("{}").after(&shortfall);
        let measuring = preparing.after(&opened).after(&shortfall);
        assert_eq!(
            stages(&[Stage::End, measuring, preparing]),
            "machine 1 had ended, machine 2 was measuring, \
             machine 3 had booted, and its load had not started"
        );
    }

    #[test]
    fn what_a_processor_did_is_told_when_it_was_seen() {
        let look = |halted: u8| format!("RIP=ffffffff9c600080 CPL=0 II=0 A20=1 SMM=0 HLT={halted}");
        assert_eq!(activity(&[]), None);
        assert!(activity(&[look(0), look(0)]).unwrap().contains("at work: a longer"));
        assert!(activity(&[look(1), look(1)]).unwrap().contains("idle, so it waited"));
        assert!(activity(&[look(1), look(0)]).unwrap().contains("now idle"));
    }
}
