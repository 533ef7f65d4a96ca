//! Measures each turn in guests of its own.
//!
//! In wall time a guest is booted for each turn. In exact time several machines prove each
//! other: each boots by itself, stops before it reads its request, and is kept. A turn takes
//! all of them up, and is kept only when they say the same.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tactus_kernels::{Kernel, Kernels};
use tactus_model::digest::sha256;
use tactus_model::facts::MachineFacts;
use tactus_model::guest::{Guest, GuestAccount, GuestTime};
use tactus_model::kernel::KernelSource;
use tactus_model::message::{CellRequest, Message};
use tactus_model::time::{Instant as Moment, Nanos};
use tactus_sys::timestamp;
use tactus_wire::{Input, MESSAGE_LIMIT, encode};

use crate::GuestError;
use crate::archive::Archive;
use crate::collector::Collector;
use crate::emulator::Emulator;
use crate::kept::KeptMachines;
use crate::machine::{Accelerator, Machine, timestamp_parameter};
use crate::program::GuestProgram;
use crate::running::Slot;
use crate::transcript::Hearing;
use crate::turn::GuestTurn;

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
const PROOFS: usize = 2;

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

    /// Starts measuring what `request` asks for; `listener` hears everything that follows.
    ///
    /// # Errors
    /// The cell is not for a guest, or for a guest that was not prepared.
    pub fn start(
        &self,
        request: &CellRequest,
        listener: impl FnMut(Input<Message>) + Send + 'static,
    ) -> io::Result<BootedGuests> {
        let guest = request.cell.target.guest().ok_or_else(|| unprepared("no guest"))?;
        let kernel =
            self.kernels.get(&guest.kernel.source).ok_or_else(|| unprepared("a kernel"))?;
        let told = self.telling_its_clock(guest);
        let cpus = thread::available_parallelism().map_or(1, |count| count.get());
        let seed = if guest.time.is_exact() { request.boot_seed } else { request.seed };
        let machine = Machine {
            guest: &told,
            accelerator: self.accelerator,
            cpus: cpus as u32,
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
            program_sha256: sha256([&self.program.bytes]),
            archive_sha256: sha256([&archive]),
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
            request: encode(request, MESSAGE_LIMIT)?,
            arguments,
            arguments_to_take_up,
            seed,
            machines,
            next: AtomicUsize::new(0),
            kept: Arc::clone(&self.kept),
        };
        let slots: Vec<Arc<Slot>> = (0..machines.min(cpus)).map(|_| Arc::default()).collect();
        let (lines, heard) = channel();
        let turn = Arc::new(turn);
        let mut threads: Vec<JoinHandle<()>> = slots
            .iter()
            .map(|slot| {
                let (turn, slot, lines) = (Arc::clone(&turn), Arc::clone(slot), lines.clone());
                thread::spawn(move || turn.run(&slot, &lines))
            })
            .collect();
        let collector = Collector::new(
            turn,
            slots.clone(),
            Hearing::new(guest.clone(), account),
            self.limit(request.cell.length()),
            self.consoles.join(console_name(request, guest)),
            Box::new(listener),
        );
        threads.push(thread::spawn(move || collector.collect(&heard)));
        Ok(BootedGuests { slots, threads })
    }
}

fn unprepared(what: &str) -> io::Error {
    io::Error::other(format!("the turn wants {what} that was not prepared"))
}

/// A name for the console of a turn, by its kernel and seed, of letters that every file may have.
fn console_name(request: &CellRequest, guest: &Guest) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-.@=".contains(c) { c } else { '_' };
    let kernel: String = guest.kernel.to_string().chars().map(plain).collect();
    format!("{kernel}-{:016x}.console", request.seed)
}

/// The machines of one turn, and the threads that follow them.
#[derive(Debug)]
pub struct BootedGuests {
    slots: Vec<Arc<Slot>>,
    threads: Vec<JoinHandle<()>>,
}

impl BootedGuests {
    /// Ends them at once, and waits until they are gone.
    pub fn end(self) {
        // Their ends let the threads end.
        self.slots.iter().for_each(|slot| slot.end());
        for thread in self.threads {
            // It only fails by a defect, which it has told then.
            let _ = thread.join();
        }
    }
}
