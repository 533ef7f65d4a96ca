//! What one turn has its machines do: each boots, or is taken up, and says what it measures.

use std::io::{self, BufReader};
use std::path::PathBuf;
use std::process::ChildStdout;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;

use tactus_model::guest::Guest;
use tactus_wire::{MESSAGE_LIMIT, MessageReader, WireError};

use crate::emulator::Emulator;
use crate::kept::{BootedMachine, KeptMachines, MachineName};
use crate::monitor::Monitor;
use crate::running::{MachineFiles, Running, Slot};

/// What the machines of one turn are started with.
#[derive(Debug)]
pub struct GuestTurn {
    /// What boots them.
    pub emulator: Emulator,
    /// What is booted, and how time passes there.
    pub guest: Guest,
    /// The kernel's file.
    pub kernel: PathBuf,
    /// The content of the archive.
    pub archive: Vec<u8>,
    /// The request, as a line.
    pub request: Vec<u8>,
    /// The emulator's arguments for a machine that boots.
    pub arguments: Vec<String>,
    /// Those for a machine that is taken up.
    pub arguments_to_take_up: Vec<String>,
    /// The seed by which machines boot.
    pub seed: u64,
    /// How many machines there are.
    pub machines: usize,
    /// The number of the next machine to be run.
    pub next: AtomicUsize,
    /// The machines that are kept, of this turn and others.
    pub kept: Arc<KeptMachines>,
}

/// What a guest finds for its request while it boots: the same for every turn, so that what
/// is kept of it knows of none.
const NO_REQUEST: &[u8] = b"{}\n";

impl GuestTurn {
    /// Runs machines in `slot` until each of the turn was run somewhere.
    pub fn run(&self, slot: &Slot, lines: &Sender<Heard>) {
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
            let (output, directory) =
                self.start(slot, &self.request, &self.arguments_to_take_up)?;
            Monitor::connect(&directory, || slot.is_running())
                .and_then(|mut monitor| monitor.take_up(&booted.state))
                .map_err(|error| slot.explain(error))?;
            output
        } else {
            self.start(slot, &self.request, &self.arguments)?.0
        };
        let mut said = said(output);
        loop {
            let line = match said.read_line() {
                Ok(line) => line,
                Err(error) if error.is_end() => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            // Nobody listens any more when the turn was given up.
            if lines.send(Heard::Line(number, line)).is_err() {
                return Ok(());
            }
        }
    }

    /// Starts a machine in `slot`; gives what it says and its working directory.
    fn start(
        &self,
        slot: &Slot,
        request: &[u8],
        arguments: &[String],
    ) -> io::Result<(ChildStdout, PathBuf)> {
        let files = MachineFiles { kernel: &self.kernel, archive: &self.archive, request };
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
        let (output, directory) = self.start(slot, NO_REQUEST, &self.arguments)?;
        let mut booted = BootedMachine::new()?;
        let paused = Monitor::connect(&directory, || slot.is_running())
            .and_then(|mut monitor| monitor.wait_for_pause().map(|()| monitor));
        match paused {
            Ok(mut monitor) => {
                monitor.keep(&booted.state).map_err(|error| slot.explain(error))?;
            }
            Err(_) if matches!(said(output).read_line(), Err(WireError::Closed)) => {
                return Ok(None);
            }
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

    /// By which name the machine of this number is kept.
    pub fn name(&self, number: usize) -> MachineName {
        MachineName { guest: self.guest.clone(), seed: self.seed, number }
    }
}

/// What a machine says, by its emulator's output.
fn said(output: ChildStdout) -> MessageReader<BufReader<ChildStdout>> {
    MessageReader::new(BufReader::new(output), MESSAGE_LIMIT)
}

/// What it means when a guest speaks and ends before it was stopped.
const STALE_PROGRAM: &str = "the program in it did not wait for its request, so it is of another \
    version than this tactus; build it anew";

/// What is heard of the machines of one turn.
#[derive(Debug)]
pub enum Heard {
    /// The machine of this number says a line.
    Line(usize, String),
    /// One of them will say nothing more.
    End(usize),
    /// One of them cannot be run.
    Fault(String),
}
