//! Measures each turn in its own guests.
//!
//! In wall time, each turn boots a guest. In deterministic (instruction-counted) time, several
//! machines verify each other: each boots separately, stops before it reads its request, and its
//! state is saved. A turn restores all of them, and its result counts only if their outputs are
//! identical. Sometimes two boots of one machine differ by an instruction; then a third machine
//! decides between two (decision 9).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tactus_kernels::{Kernel, Kernels};
use tactus_model::cell::{Cell, Target};
use tactus_model::cpus::CpuChoice;
use tactus_model::digest::sha256;
use tactus_model::experiment::Turn;
use tactus_model::facts::MachineFacts;
use tactus_model::guest::{Guest, GuestAccount, GuestTime};
use tactus_model::kernel::{Architecture, GuestKernel, KernelSource};
use tactus_model::message::{CellRequest, Message};
use tactus_model::result::Shortfall;
use tactus_model::time::{Instant as Moment, Nanos};
use tactus_model::traced::TracedData;
use tactus_sys::timestamp;
use tactus_wire::{Input, MESSAGE_LIMIT, encode};

use crate::GuestError;
use crate::archive::Archive;
use crate::collector::{Collector, DecisiveBoot, Limits};
use crate::emulator::Emulator;
use crate::kvm::{self, KvmTrials};
use crate::machine::{Accelerator, Machine, timestamp_parameter};
use crate::permits::Permits;
use crate::program::GuestProgram;
use crate::running::{MachineFiles, Slot};
use crate::saved::SavedMachines;
use crate::transcript::Decoder;
use crate::turn::GuestTurn;

/// The files and directories of a [`Guests`].
#[derive(Clone, Debug)]
pub struct GuestPlaces {
    /// The program `tactus`.
    pub executable: PathBuf,
    /// The value of `TACTUS_GUEST`, if set.
    pub program: Option<std::ffi::OsString>,
    /// The directories that are searched for programs, in the form of `PATH`.
    pub search_path: std::ffi::OsString,
    /// The directory for the consoles of failed guests.
    pub consoles: PathBuf,
    /// Which kernels KVM boots here.
    pub kvm_trials: Arc<KvmTrials>,
}

/// Measures in guests.
#[derive(Debug)]
pub struct Guests {
    platforms: BTreeMap<Architecture, Platform>,
    kernels: HashMap<KernelSource, Bootable>,
    consoles: PathBuf,
    /// The frequency of this host's time stamp counter, if guests are emulated in wall time.
    timestamp_khz: Option<u64>,
    /// The time limit of a guest on the host; if `None`, it depends on the cell.
    limit: Option<Duration>,
    /// How many machines must have identical outputs in deterministic time; at least two.
    pub proofs: usize,
    /// How many machines run at a time.
    jobs: usize,
    permits: Arc<Permits>,
    saved: Arc<SavedMachines>,
    /// How many turns were started.
    started: AtomicU64,
}

/// A kernel, and the archive of its guests.
#[derive(Debug)]
struct Bootable {
    kernel: Kernel,
    archive: Arc<Vec<u8>>,
    archive_sha256: String,
    /// What executes its guests in wall time.
    accelerator: Accelerator,
    /// Why KVM, which works here, does not execute them.
    shortfall: Option<Shortfall>,
}

impl Bootable {
    fn new(kernel: Kernel, platform: &Platform) -> Self {
        let archive = archive(&kernel, &platform.program);
        let archive_sha256 = sha256([&archive]);
        let (archive, accelerator) = (Arc::new(archive), platform.accelerator);
        Self { kernel, archive, archive_sha256, accelerator, shortfall: None }
    }

    /// Boots the kernel of `guest` by KVM, if that is to execute it, and has it emulated if it does not
    /// boot.
    fn try_kvm(&mut self, guest: &Guest, emulator: &Emulator, trials: &KvmTrials) {
        let is_tried = self.accelerator == Accelerator::Kvm && guest.time == GuestTime::Wall;
        if !is_tried || self.shortfall.is_some() {
            return;
        }
        let machine = Machine {
            guest,
            architecture: self.kernel.architecture,
            accelerator: Accelerator::Kvm,
            cpus: cpus() as u32,
            seed: 1,
        };
        let files =
            MachineFiles { kernel: &self.kernel.path, archive: &self.archive, request: b"{}\n" };
        // What prevents the trial prevents the measurement too, which reports it.
        let boots = || kvm::boots(emulator, &files, &machine.arguments(), kvm::TRIAL_LIMIT);
        if !trials.is_booted(&self.kernel.sha256, || boots().unwrap_or(true)) {
            self.accelerator = Accelerator::Tcg;
            self.shortfall = Some(kvm::shortfall(&guest.kernel.to_string(), kvm::TRIAL_LIMIT));
        }
    }
}

/// What guests of one architecture need.
#[derive(Debug)]
struct Platform {
    emulator: Emulator,
    /// What executes guests in wall time, if the kernel boots by it.
    accelerator: Accelerator,
    program: GuestProgram,
    program_sha256: String,
}

impl Platform {
    fn find(
        places: &GuestPlaces,
        architecture: Architecture,
        is_wall: bool,
    ) -> Result<Self, GuestError> {
        let emulator = Emulator::find(&places.search_path, architecture)?;
        let program = GuestProgram::find(&places.executable, places.program.clone(), architecture)?;
        let accelerator = if is_wall { emulator.accelerator() } else { Accelerator::Tcg };
        let program_sha256 = sha256([&program.bytes]);
        Ok(Self { emulator, accelerator, program, program_sha256 })
    }
}

/// What measures the cells of a kernel: equal parts give equal bytes in deterministic time.
#[derive(Clone, Copy, Debug)]
pub struct GuestParts<'a> {
    /// The name of the kernel.
    pub source: &'a KernelSource,
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The program in the guest.
    pub program: &'a [u8],
    /// Its digest.
    pub program_sha256: &'a str,
    /// The digest of the guest's files.
    pub archive_sha256: &'a str,
    /// The version that the emulator reports.
    pub emulator: &'a str,
}

/// The default number of machines that verify each other.
const PROOFS: usize = 2;

impl Guests {
    /// Prepares to measure in the guests of `wanted`. Whatever is missing is detected now, before
    /// the first guest boots.
    ///
    /// # Errors
    /// The emulator, the guests' program or a kernel is missing.
    pub fn prepare<'g>(
        places: GuestPlaces,
        kernels: &Kernels,
        limit: Option<Duration>,
        wanted: impl IntoIterator<Item = &'g Guest>,
    ) -> Result<Self, GuestError> {
        let wanted: Vec<&Guest> = wanted.into_iter().collect();
        let is_wall = wanted.iter().any(|guest| guest.time == GuestTime::Wall);
        let (mut platforms, mut found) = (BTreeMap::new(), HashMap::new());
        for guest in wanted {
            let source = &guest.kernel.source;
            // A missing emulator is detected before a kernel is fetched or built, and named before
            // a missing file.
            let mut need = |architecture| match platforms.entry(architecture) {
                Entry::Occupied(_) => Ok(()),
                Entry::Vacant(place) => {
                    Platform::find(&places, architecture, is_wall).map(|platform| {
                        place.insert(platform);
                    })
                }
            };
            need(kernels.architecture(source).unwrap_or(Architecture::Amd64))?;
            if !found.contains_key(source) {
                let kernel = kernels.find(source)?;
                need(kernel.architecture)?;
                let platform = &platforms[&kernel.architecture];
                found.insert(source.clone(), Bootable::new(kernel, platform));
            }
            if let Some(bootable) = found.get_mut(source) {
                let platform = &platforms[&bootable.kernel.architecture];
                bootable.try_kvm(guest, &platform.emulator, &places.kvm_trials);
            }
        }
        let is_emulated = |bootable: &Bootable| {
            let is_amd64 = bootable.kernel.architecture == Architecture::Amd64;
            is_amd64 && bootable.accelerator == Accelerator::Tcg
        };
        let is_emulated = is_wall && found.values().any(is_emulated);
        let timestamp_khz = is_emulated.then(timestamp::frequency_khz).flatten();
        let consoles = places.consoles;
        let jobs = cpus();
        Ok(Self {
            platforms,
            kernels: found,
            consoles,
            timestamp_khz,
            limit,
            proofs: PROOFS,
            jobs,
            permits: Arc::new(Permits::new(jobs)),
            saved: Arc::default(),
            started: AtomicU64::new(0),
        })
    }

    /// Runs at most this many machines at a time, of one turn or of several; by default one for each CPU.
    #[must_use]
    pub fn with_jobs(self, jobs: usize) -> Self {
        let jobs = jobs.max(1);
        Self { jobs, permits: Arc::new(Permits::new(jobs)), ..self }
    }

    /// What the guests lack on this host, known before the first of them boots.
    pub fn shortfalls(&self) -> impl Iterator<Item = &Shortfall> {
        self.kernels.values().filter_map(|bootable| bootable.shortfall.as_ref())
    }

    /// What measures the cells of each kernel.
    pub fn parts(&self) -> impl Iterator<Item = GuestParts<'_>> {
        self.kernels.iter().filter_map(|(source, bootable)| {
            let platform = self.platforms.get(&bootable.kernel.architecture)?;
            Some(GuestParts {
                source,
                kernel: &bootable.kernel,
                program: &platform.program.bytes,
                program_sha256: &platform.program_sha256,
                archive_sha256: &bootable.archive_sha256,
                emulator: &platform.emulator.version,
            })
        })
    }

    /// How long a guest may take on the host to measure a cell of this length. By default, that
    /// is the time for a boot and a large multiple of the length, since an emulator is slow and
    /// a host may be busy.
    pub fn limit(&self, length: Nanos) -> Duration {
        const BOOT: Duration = Duration::from_secs(300);
        const SLOWNESS: u32 = 120;
        self.limit.unwrap_or(BOOT + Duration::from(length).saturating_mul(SLOWNESS))
    }

    /// The maximum number of machines of a turn in deterministic time, with the one that decides
    /// between two.
    pub const fn machines_max(&self) -> usize {
        match self.proofs {
            ..=PROOFS => PROOFS + 1,
            proofs => proofs,
        }
    }

    /// The guest with the kernel parameter that it needs for its clock in wall time.
    ///
    /// A kernel of ours calibrates its time stamp counter against a single timer. On a busy host
    /// an emulated timer gives an arbitrary frequency, which would falsify all durations. The
    /// emulator passes the host's counter through, so its frequency is known.
    fn with_clock_parameter(&self, guest: &Guest, accelerator: Accelerator) -> Guest {
        let mut guest = guest.clone();
        let is_built = matches!(guest.kernel.source, KernelSource::Built(_));
        let is_emulated = accelerator == Accelerator::Tcg && !guest.time.is_exact();
        if let Some(khz) = self.timestamp_khz.filter(|_| is_built && is_emulated) {
            guest.kernel.parameters.insert(0, timestamp_parameter(khz));
        }
        guest
    }

    /// Starts the measurement that `request` describes; `listener` receives everything that
    /// follows.
    ///
    /// # Errors
    /// The cell is not for a guest, or its kernel was not prepared.
    pub fn start(
        &self,
        request: &CellRequest,
        listener: impl FnMut(Input<Message>) + Send + 'static,
    ) -> io::Result<BootedGuests> {
        let guest = request
            .cell
            .target
            .guest()
            .ok_or_else(|| io::Error::other("the cell is not for a guest"))?;
        let bootable = self.kernels.get(&guest.kernel.source).ok_or_else(|| unprepared(guest))?;
        let Bootable { kernel, accelerator, shortfall, .. } = bootable;
        let Platform { emulator, program_sha256, .. } =
            self.platforms.get(&kernel.architecture).ok_or_else(|| unprepared(guest))?;
        let parametrized = self.with_clock_parameter(guest, *accelerator);
        let cpus = cpus();
        let seed = if guest.time.is_exact() { request.boot_seed } else { request.seed };
        let machine = Machine {
            guest: &parametrized,
            architecture: kernel.architecture,
            accelerator: *accelerator,
            cpus: cpus as u32,
            // The emulator accepts 32 bits.
            seed: seed as u32,
        };
        let is_exact = guest.time.is_exact();
        let arguments = if is_exact { machine.arguments_to_save() } else { machine.arguments() };
        let arguments_to_restore = machine.arguments_to_restore();
        let measured_by = if is_exact { &arguments_to_restore } else { &arguments };
        let account = GuestAccount {
            kernel_release: kernel.release.clone(),
            kernel_sha256: kernel.sha256.clone(),
            program_sha256: program_sha256.clone(),
            archive_sha256: bootable.archive_sha256.clone(),
            emulator: emulator.version.clone(),
            accelerator: machine.accelerator().word().to_owned(),
            command_line: measured_by.clone(),
            seed: machine.seed,
            proof: None,
            facts: MachineFacts::unknown(Moment::from_nanos(0)),
        };
        let machines = if is_exact { self.proofs.max(PROOFS) } else { 1 };
        let turn = GuestTurn {
            emulator: emulator.clone(),
            guest: guest.clone(),
            kernel: kernel.path.clone(),
            archive: Arc::clone(&bootable.archive),
            request: encode(&without_names(request, guest), MESSAGE_LIMIT)?,
            arguments,
            arguments_to_restore,
            seed,
            machines,
            next: AtomicUsize::new(0),
            saved: Arc::clone(&self.saved),
            order: self.started.fetch_add(1, Ordering::Relaxed),
            permits: Arc::clone(&self.permits),
        };
        let slots: Vec<Arc<Slot>> = (0..machines.min(self.jobs)).map(|_| Arc::default()).collect();
        let (sender, events) = sync_channel(QUEUE);
        let turn = Arc::new(turn);
        // The machine that decides runs after all others, so their slots are free.
        let decisive = (is_exact && machines == PROOFS).then(|| -> DecisiveBoot {
            let (turn, slot) = (Arc::clone(&turn), Arc::clone(&slots[0]));
            Box::new(move |events| {
                // Whether the turn was ended meanwhile, its collector knows.
                turn.run_one(machines, &slot, events);
            })
        });
        let mut threads: Vec<JoinHandle<()>> = slots
            .iter()
            .map(|slot| {
                let (turn, slot, sender) = (Arc::clone(&turn), Arc::clone(slot), sender.clone());
                thread::spawn(move || turn.run(&slot, &sender))
            })
            .collect();
        let collector = Collector::new(
            turn,
            slots.clone(),
            Decoder::new(guest.clone(), account)
                .with_shortfall(shortfall.clone().filter(|_| !is_exact)),
            Limits {
                time: self.limit(request.cell.length()),
                output: output_limit(&request.cell, cpus),
            },
            self.consoles.join(console_name(request, guest)),
            decisive,
            Box::new(of_turn(request.turn, listener)),
        );
        threads.push(thread::spawn(move || collector.collect(&events)));
        Ok(BootedGuests { slots, threads })
    }
}

/// The files of a guest.
fn archive(kernel: &Kernel, program: &GuestProgram) -> Vec<u8> {
    let directories = ["dev", "proc", "sys", "tmp", "bin", "boot"];
    let archive = directories.into_iter().fold(Archive::new(), Archive::directory);
    let archive = archive
        .device("dev/console", 5, 1)
        // Recordings identify our threads by this file name.
        .program("bin/tactus", &program.bytes)
        .link("init", "bin/tactus")
        .link("bin/true", "tactus");
    // The facts of a kernel are read from its configuration.
    let archive = match (&kernel.config, &kernel.release) {
        (Some(config), Some(release)) => archive.file(&format!("boot/config-{release}"), config),
        _ => archive,
    };
    archive.finish()
}

/// The CPUs of this machine that this process may use.
fn cpus() -> usize {
    thread::available_parallelism().map_or(1, |count| count.get())
}

/// The maximum number of events that wait for the collector; a machine that sends more has to
/// wait. A line has at most [`MESSAGE_LIMIT`] bytes.
const QUEUE: usize = 4;

/// The maximum size of the output of one machine with `cpus` CPUs, in bytes. A task sends the
/// samples of both windows, at most 28 bytes each in base64, and its result. The recording is
/// sent in base64; everything else is smaller than one message.
pub fn output_limit(cell: &Cell, cpus: usize) -> u64 {
    let cpus = match &cell.policy.cpus {
        CpuChoice::All => cpus,
        CpuChoice::These(list) => list.len(),
    } as u64;
    let tasks = cpus.saturating_mul(u64::from(cell.probe.timer().tasks_per_cpu));
    let of_task = cell.sample_limit.saturating_mul(2 * 28).saturating_add(MESSAGE_LIMIT as u64);
    let recording = 2 * TracedData::RECORDING_LIMIT;
    tasks.saturating_mul(of_task).saturating_add(recording + MESSAGE_LIMIT as u64)
}

fn unprepared(guest: &Guest) -> io::Error {
    io::Error::other(format!("the kernel {} was not prepared", guest.kernel))
}

/// What a guest gets of a request: no place in a plan, and no name of a kernel. It would spend instructions
/// on them before the window opens, so that its figures would depend on other cells and on names.
fn without_names(request: &CellRequest, guest: &Guest) -> CellRequest {
    let kernel =
        GuestKernel { source: KernelSource::File("/kernel".to_owned()), parameters: Vec::new() };
    let target = Target::Guest(Guest { kernel, ..guest.clone() });
    let turn = Turn { cell: 0, ..request.turn };
    CellRequest { turn, cell: Cell { target, ..request.cell.clone() }, ..request.clone() }
}

/// Passes on what a guest sends, with its turn.
fn of_turn(
    turn: Turn,
    mut listener: impl FnMut(Input<Message>) + Send + 'static,
) -> impl FnMut(Input<Message>) + Send + 'static {
    move |mut input| {
        if let Input::Message(Message::Finished(measurement)) = &mut input {
            measurement.turn = turn;
        }
        listener(input);
    }
}

/// A file name for the console of a turn: its kernel and seed, in portable characters.
fn console_name(request: &CellRequest, guest: &Guest) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-.@=".contains(c) { c } else { '_' };
    let kernel: String = guest.kernel.to_string().chars().map(plain).collect();
    format!("{kernel}-{:016x}.console", request.seed)
}

/// The machines of one turn, and the threads that read their output.
#[derive(Debug)]
pub struct BootedGuests {
    slots: Vec<Arc<Slot>>,
    threads: Vec<JoinHandle<()>>,
}

impl BootedGuests {
    /// Kills the machines, and waits for their end.
    pub fn end(self) {
        // The threads end with the machines.
        self.slots.iter().for_each(|slot| slot.end());
        for thread in self.threads {
            // A thread fails only by a panic, which has been printed.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::experiment::{Experiment, Overrides};

    use super::*;

    #[test]
    fn a_guest_learns_neither_the_place_of_a_cell_nor_the_name_of_its_kernel() {
        let text = "guest-time = \"exact:125\"\n[settings]\nkernel = [\"./one\", \"debian-cloud\"]";
        let plan = Experiment::parse(text).unwrap().plan(&Overrides::default()).unwrap();
        let sent: Vec<Vec<u8>> = plan
            .turns_of_round(0)
            .into_iter()
            .map(|turn| {
                let cell = plan.cells[turn.cell].clone();
                let guest = cell.target.guest().unwrap().clone();
                let request = CellRequest { turn, cell, seed: 1, boot_seed: 2 };
                encode(&without_names(&request, &guest), MESSAGE_LIMIT).unwrap()
            })
            .collect();
        assert_eq!(sent.len(), 2);
        assert_eq!(sent[0], sent[1]);
    }
}
