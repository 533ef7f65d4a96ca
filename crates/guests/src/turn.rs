//! One turn of its machines: each boots, or is restored, and sends its results.

use std::io::{self, BufReader};
use std::path::PathBuf;
use std::process::ChildStdout;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;

use tactus_model::format;
use tactus_model::guest::Guest;
use tactus_wire::{MESSAGE_LIMIT, MessageReader, WireError};

use crate::emulator::Emulator;
use crate::monitor::Monitor;
use crate::permits::Permits;
use crate::running::{Aborted, MachineFiles, Running, Slot, in_temporary};
use crate::saved::{BootedMachine, Booting, Claim, MachineName, SavedMachines};

/// The inputs of the machines of one turn.
#[derive(Debug)]
pub struct GuestTurn {
    /// The emulator.
    pub emulator: Emulator,
    /// The kernel, and how time passes.
    pub guest: Guest,
    /// The kernel's file.
    pub kernel: PathBuf,
    /// The content of the archive.
    pub archive: Arc<Vec<u8>>,
    /// The request, as a line.
    pub request: Vec<u8>,
    /// The emulator's arguments for a machine that boots.
    pub arguments: Vec<String>,
    /// The emulator's arguments for a machine that is restored.
    pub arguments_to_restore: Vec<String>,
    /// The seed of the boots.
    pub seed: u64,
    /// The number of machines.
    pub machines: usize,
    /// The number of the next machine to run.
    pub next: AtomicUsize,
    /// The saved machines, of this turn and others.
    pub saved: Arc<SavedMachines>,
    /// The number of this turn; its machines run before those of later turns.
    pub order: u64,
    /// The permits of the machines of all turns.
    pub permits: Arc<Permits>,
}

/// How often a machine in deterministic time begins before an emulator that aborts fails its turn.
const ATTEMPTS: usize = 3;

/// The request during a boot: the same for every turn, so that the saved state contains none.
const NO_REQUEST: &[u8] = b"{}\n";

impl GuestTurn {
    /// Runs machines in `slot` until every machine of the turn has run in some slot.
    pub fn run(&self, slot: &Slot, events: &SyncSender<MachineEvent>) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.machines || !self.run_one(number, slot, events) {
                return;
            }
        }
    }

    /// Runs the machine with this number in `slot`, which may be one more than the turn has; false
    /// if the turn was ended. An emulator that aborts by an assertion of its own is tried again: it
    /// says nothing about the kernel.
    pub fn run_one(&self, number: usize, slot: &Slot, events: &SyncSender<MachineEvent>) -> bool {
        // In wall time, the output is counted as it arrives.
        let most = if self.guest.time.is_exact() { ATTEMPTS } else { 1 };
        let mut attempt = 1;
        let event = loop {
            match self.run_machine(number, slot, events) {
                Ok(()) => break MachineEvent::End(number),
                Err(error) if Aborted::is_reason_of(&error) && !slot.is_ended() => {
                    if attempt == most {
                        let times = format::counted(attempt as u64, "attempt");
                        break MachineEvent::Fault(number, format!("{error} (in {times})"));
                    }
                    attempt += 1;
                }
                Err(error) => break MachineEvent::Fault(number, error.to_string()),
            }
        };
        // The collector is gone if the turn was ended.
        events.send(event).is_ok()
    }

    fn run_machine(
        &self,
        number: usize,
        slot: &Slot,
        events: &SyncSender<MachineEvent>,
    ) -> io::Result<()> {
        let is_exact = self.guest.time.is_exact();
        let name = self.name(number);
        let is_ended = || slot.is_ended();
        // A machine that waits for another turn to boot it needs no permit meanwhile.
        let claim = is_exact.then(|| self.saved.claim(&name, is_ended)).transpose()?;
        let _permit = self.permits.wait((self.order, number), is_ended)?;
        // The collector is gone if the turn was ended.
        if events.send(MachineEvent::Begin(number)).is_err() {
            return Ok(());
        }
        let output = if let Some(claim) = claim {
            let booted = match claim {
                Claim::Saved(booted) => booted,
                Claim::Boot(booting) => match self.boot(slot, booting)? {
                    Some(booted) => booted,
                    None => return Ok(()),
                },
            };
            let (output, directory) =
                self.start(slot, &self.request, &self.arguments_to_restore)?;
            Monitor::connect(&directory, || slot.is_running())
                .and_then(|mut monitor| monitor.restore(&booted.state))
                .map_err(|error| slot.explain("restore its state", &error))?;
            output
        } else {
            self.start(slot, &self.request, &self.arguments)?.0
        };
        let mut lines = lines_of(output);
        loop {
            let line = match lines.read_line() {
                Ok(line) => line,
                Err(error) if error.is_end() => return slot.check_alive_or_exited(),
                Err(error) => return Err(error.into()),
            };
            // The collector is gone if the turn was ended.
            if events.send(MachineEvent::Line(number, line)).is_err() {
                return Ok(());
            }
        }
    }

    /// Starts a machine in `slot`; returns its output and its working directory.
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

    /// Boots a machine and saves it; `None` if it ended during the boot, which its console
    /// explains.
    fn boot(&self, slot: &Slot, booting: Booting<'_>) -> io::Result<Option<Arc<BootedMachine>>> {
        let (output, directory) = self.start(slot, NO_REQUEST, &self.arguments)?;
        let mut booted =
            BootedMachine::new().map_err(|error| in_temporary("save its state", &error))?;
        let paused = Monitor::connect(&directory, || slot.is_running())
            .and_then(|mut monitor| monitor.wait_for_pause().map(|()| monitor));
        match paused {
            Ok(mut monitor) => {
                monitor
                    .save(&booted.state)
                    .map_err(|error| slot.explain_write("save its state", &error))?;
            }
            Err(_) if matches!(lines_of(output).read_line(), Err(WireError::Closed)) => {
                return slot.check_alive_or_exited().map(|()| None);
            }
            Err(_) => return Err(io::Error::other(STALE_PROGRAM)),
        }
        booted.remains = slot.take();
        if let Some(machine) = &mut booted.remains {
            machine.child.wait()?;
        }
        Ok(Some(booting.save(booted)))
    }

    /// The name under which the machine with this number is saved.
    pub fn name(&self, number: usize) -> MachineName {
        MachineName { guest: self.guest.clone(), seed: self.seed, number }
    }
}

/// The lines that a machine sends, from its emulator's output.
fn lines_of(output: ChildStdout) -> MessageReader<BufReader<ChildStdout>> {
    MessageReader::new(BufReader::new(output), MESSAGE_LIMIT)
}

/// The reason if a guest sends messages before it was stopped.
const STALE_PROGRAM: &str = "the program in it did not wait for its request: its version is not \
    that of this tactus. Rebuild tactus-guest";

/// An event of the machines of one turn.
#[derive(Debug)]
pub enum MachineEvent {
    /// The machine with this number begins to boot, or to be restored; again if its emulator
    /// aborted, and what it sent before counts no more.
    Begin(usize),
    /// The machine with this number sent a line.
    Line(usize, String),
    /// The machine with this number sends nothing more.
    End(usize),
    /// The machine with this number cannot run; the reason.
    Fault(usize, String),
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc::sync_channel;

    use super::*;
    use crate::emulator::planted_script;

    #[test]
    fn an_emulator_that_aborts_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let (kernel, log) = (folder.path().join("kernel"), folder.path().join("log"));
        fs::write(&kernel, "").unwrap();
        let script = format!(
            "echo begun >> {}; echo \"qemu: f: Assertion \\`diff >= 0' failed.\" >&2; kill -ABRT $$",
            log.display()
        );
        for (time, attempts) in [("exact", ATTEMPTS), ("wall", 1)] {
            fs::write(&log, "").unwrap();
            let guest = Guest { kernel: "debian".parse().unwrap(), time: time.parse().unwrap() };
            let turn = GuestTurn {
                emulator: planted_script(folder.path(), &script),
                guest,
                kernel: kernel.clone(),
                archive: Arc::default(),
                request: Vec::new(),
                arguments: Vec::new(),
                arguments_to_restore: Vec::new(),
                seed: 1,
                machines: 1,
                next: AtomicUsize::new(0),
                saved: Arc::default(),
                order: 0,
                permits: Arc::new(Permits::new(1)),
            };
            let (sender, events) = sync_channel(2 * ATTEMPTS);
            assert!(turn.run_one(0, &Slot::default(), &sender));
            drop(sender);
            let events: Vec<MachineEvent> = events.iter().collect();
            assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), attempts);
            let (last, begun) = events.split_last().unwrap();
            assert!(begun.iter().all(|event| matches!(event, MachineEvent::Begin(0))));
            assert_eq!(begun.len(), attempts);
            let MachineEvent::Fault(0, reason) = last else { panic!("{last:?}") };
            let times = format::counted(attempts as u64, "attempt");
            let expected = format!("qemu: f: Assertion `diff >= 0' failed. (in {times})");
            assert!(reason.ends_with(&expected), "{reason}");
        }
    }
}
