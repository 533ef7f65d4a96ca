//! The target that boots a guest for each turn.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tactus_model::facts::MachineFacts;
use tactus_model::guest::{Guest, GuestAccount, GuestTime, ORDER_PATH};
use tactus_model::kernel::KernelSource;
use tactus_model::message::{Message, Order};
use tactus_model::time::{Instant as Moment, Nanos};
use tempfile::TempDir;

use super::GuestError;
use super::archive::Archive;
use super::emulator::{Emulator, last_words};
use super::machine::{ARCHIVE_FILE, Accelerator, KERNEL_FILE, Machine};
use super::program::GuestProgram;
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
    /// How long a guest may take on the host; by its cell when none is given.
    limit: Option<Duration>,
}

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
        let consoles = places.consoles;
        Ok(Self { emulator, accelerator, program, kernels: found, consoles, limit })
    }

    /// How long a guest may take on the host to measure a cell of this length. Unless it
    /// was told, that is booting, and then many times the length, since an emulator is slow
    /// and a host may be busy.
    pub fn limit(&self, length: Nanos) -> Duration {
        const BOOT: Duration = Duration::from_secs(300);
        const SLOWNESS: u32 = 120;
        self.limit.unwrap_or(BOOT + Duration::from(length).saturating_mul(SLOWNESS))
    }

    fn archive(&self, order: &Order, kernel: &Kernel) -> io::Result<Vec<u8>> {
        let directories = ["dev", "proc", "sys", "tmp", "bin", "boot"];
        let archive = directories.into_iter().fold(Archive::new(), Archive::directory);
        let archive = archive
            .device("dev/console", 5, 1)
            .program("init", &self.program.bytes)
            .link("bin/true", "../init")
            .file(ORDER_PATH, format!("{}\n", serde_json::to_string(order)?).as_bytes());
        // The facts of a kernel that was built like this are read from its configuration.
        let archive = match (&kernel.config, &kernel.release) {
            (Some(config), Some(release)) => {
                archive.file(&format!("boot/config-{release}"), config)
            }
            _ => archive,
        };
        Ok(archive.finish())
    }
}

impl Target for Guests {
    fn begin(&mut self, order: &Order, inbox: Inbox) -> io::Result<Box<dyn Measuring>> {
        let guest = order.cell.target.guest().ok_or_else(|| unprepared("no guest"))?;
        let kernel =
            self.kernels.get(&guest.kernel.source).ok_or_else(|| unprepared("a kernel"))?;
        let machine = Machine {
            guest,
            accelerator: self.accelerator,
            processors: thread::available_parallelism().map_or(1, |count| count.get() as u32),
            // The whole seed is in the archive; the emulator takes half of it.
            seed: order.seed as u32,
        };
        let (archive, arguments) = (self.archive(order, kernel)?, machine.arguments());
        let account = GuestAccount {
            kernel_release: kernel.release.clone(),
            kernel_sha256: kernel.sha256.clone(),
            program_sha256: sha256(&self.program.bytes),
            archive_sha256: sha256(&archive),
            emulator: self.emulator.version.clone(),
            accelerator: machine.accelerator().word().to_owned(),
            command_line: arguments.clone(),
            seed: machine.seed,
            proof: None,
            facts: MachineFacts::unknown(Moment::from_nanos(0)),
        };
        let boots = if guest.time.is_exact() { 2 } else { 1 };
        let (lines, heard) = channel();
        let mut booted = BootedGuests { boots: Vec::new(), collector: None };
        let mut directories = Vec::new();
        for number in 0..boots {
            let boot = Boot::start(&self.emulator, kernel, &archive, &arguments)?;
            directories.push(boot.directory.path().to_owned());
            booted.boots.push(boot.listen(number, lines.clone())?);
        }
        let collector = Collector {
            hearing: Hearing::new(guest.clone(), account),
            is_exact: guest.time.is_exact(),
            transcripts: vec![Vec::new(); boots],
            open: boots,
            directories,
            limit: self.limit(order.cell.length()),
            keep: self.consoles.join(console_name(order, guest)),
            inbox,
        };
        booted.collector = Some(thread::spawn(move || collector.collect(&heard)));
        Ok(Box::new(booted))
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

/// One machine that runs.
struct Boot {
    child: Child,
    directory: TempDir,
}

impl Boot {
    fn start(
        emulator: &Emulator,
        kernel: &Kernel,
        archive: &[u8],
        arguments: &[String],
    ) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("tactus-guest-").tempdir()?;
        fs::write(directory.path().join(ARCHIVE_FILE), archive)?;
        symlink(fs::canonicalize(&kernel.path)?, directory.path().join(KERNEL_FILE))?;
        let child = emulator.start(directory.path(), arguments)?;
        Ok(Self { child, directory })
    }

    /// Has a thread pass on what the guest says.
    fn listen(mut self, number: usize, lines: Sender<Heard>) -> io::Result<Self> {
        let stdout = self.child.stdout.take();
        let stdout = stdout.ok_or_else(|| io::Error::other("the emulator has no output"))?;
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if lines.send(Heard::Line(number, line)).is_err() {
                    return;
                }
            }
            // Nobody listens any more when the turn was given up.
            let _ = lines.send(Heard::End);
        });
        Ok(self)
    }
}

impl Drop for Boot {
    fn drop(&mut self) {
        // One that has ended already cannot be killed, which is as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What is heard of the machines of one turn.
enum Heard {
    Line(usize, String),
    /// One of them will say nothing more.
    End,
}

/// Gathers what the machines of one turn say, and tells the engine.
struct Collector {
    hearing: Hearing,
    is_exact: bool,
    transcripts: Vec<Vec<String>>,
    /// Machines that still may say something.
    open: usize,
    directories: Vec<PathBuf>,
    limit: Duration,
    /// Where the console is kept if the turn fails.
    keep: PathBuf,
    inbox: Inbox,
}

impl Collector {
    fn collect(mut self, heard: &Receiver<Heard>) {
        let deadline = Instant::now() + self.limit;
        while self.open > 0 {
            match heard.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Heard::Line(number, line)) if self.is_exact => {
                    self.transcripts[number].push(line);
                }
                Ok(Heard::Line(_, line)) => self.tell(&line),
                Ok(Heard::End) => self.open -= 1,
                Err(RecvTimeoutError::Timeout) => {
                    let reason = format!(
                        "the guest had not ended after {} s on the host and was given up",
                        self.limit.as_secs()
                    );
                    return self.fail(reason);
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
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

    fn tell(&mut self, line: &str) {
        if let Some(input) = self.hearing.hear(line) {
            // When the engine listens no more, the turn was given up and we end with it.
            self.inbox.put(input);
        }
    }

    /// Tells what was said, when every machine said the same.
    fn tell_what_repeats(&mut self) {
        let transcripts = std::mem::take(&mut self.transcripts);
        let [first, second] = transcripts.as_slice() else { return };
        match prove(first, second) {
            Ok(proof) => {
                self.hearing.note_proof(proof);
                first.iter().for_each(|line| self.tell(line));
            }
            Err(line) => self.fail(format!(
                "the run did not repeat: what its two boots said differs from line {line} on"
            )),
        }
    }

    /// The console of the first machine that wrote to its.
    fn console(&self) -> String {
        let words = self.directories.iter().map(|directory| last_words(directory));
        words.into_iter().find(|words| !words.is_empty()).unwrap_or_default()
    }

    fn fail(&mut self, reason: String) {
        self.hearing.give_up();
        let hint = keep(&self.keep, &self.console());
        self.inbox.put(Input::Message(Message::Failed { reason, hint: Some(hint) }));
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

/// The machines of one turn.
struct BootedGuests {
    boots: Vec<Boot>,
    collector: Option<JoinHandle<()>>,
}

impl Measuring for BootedGuests {
    fn end(mut self: Box<Self>) -> String {
        // Their ends let the collector end.
        for boot in &mut self.boots {
            let _ = boot.child.kill();
        }
        if let Some(collector) = self.collector.take() {
            // It only fails by a defect, which it has told then.
            let _ = collector.join();
        }
        "the guest was ended".to_owned()
    }
}
