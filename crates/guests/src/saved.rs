//! Machines that have booted and stopped before their request; each turn restores them.

use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tactus_model::guest::Guest;

use crate::running::Running;

/// The identity of a machine: machines with equal names are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineName {
    /// The kernel, and how time passes.
    pub guest: Guest,
    /// The seed of its boot.
    pub seed: u64,
    /// Its number among the machines that verify each other, from 0.
    pub number: usize,
}

/// A machine that has booted.
#[derive(Debug)]
pub struct BootedMachine {
    /// Its state, in an unnamed file that disappears with this process.
    pub state: File,
    /// The ended machine, with its console.
    pub remains: Option<Running>,
}

impl BootedMachine {
    /// Creates an empty file for the state of a machine.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn new() -> io::Result<Self> {
        Ok(Self { state: tempfile::tempfile()?, remains: None })
    }
}

/// The saved machines. A state takes about 100 MB, so their number is limited.
#[derive(Debug, Default)]
pub struct SavedMachines(Mutex<Vec<(MachineName, Arc<BootedMachine>)>>);

/// The maximum number of saved machines.
const MOST: usize = 16;

impl SavedMachines {
    /// The machine with this name, if it is saved.
    pub fn find(&self, name: &MachineName) -> Option<Arc<BootedMachine>> {
        let saved = self.machines();
        saved.iter().find(|(known, _)| known == name).map(|(_, machine)| Arc::clone(machine))
    }

    /// Adds a machine. Drops the machines of other seeds, whose round is over, and the oldest
    /// machine beyond the maximum.
    pub fn add(&self, name: MachineName, machine: Arc<BootedMachine>) {
        let mut saved = self.machines();
        saved.retain(|(known, _)| known.seed == name.seed && *known != name);
        if saved.len() >= MOST {
            saved.remove(0);
        }
        saved.push((name, machine));
    }

    fn machines(&self) -> MutexGuard<'_, Vec<(MachineName, Arc<BootedMachine>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(kernel: &str, seed: u64, number: usize) -> MachineName {
        let guest = Guest { kernel: kernel.parse().unwrap(), time: "exact".parse().unwrap() };
        MachineName { guest, seed, number }
    }

    fn add(saved: &SavedMachines, name: MachineName) {
        saved.add(name, Arc::new(BootedMachine::new().unwrap()));
    }

    #[test]
    fn machines_stay_saved_during_their_round() {
        let saved = SavedMachines::default();
        for machine in [name("debian", 1, 0), name("debian", 1, 1), name("debian-rt", 1, 0)] {
            assert!(saved.find(&machine).is_none());
            add(&saved, machine.clone());
            assert!(saved.find(&machine).is_some());
        }
        assert!(saved.find(&name("debian", 1, 1)).is_some());
        assert!(saved.find(&name("debian:nosmt", 1, 1)).is_none(), "another command line");
        add(&saved, name("debian", 2, 0));
        assert!(saved.find(&name("debian", 1, 0)).is_none(), "its round is over");
    }

    #[test]
    fn the_oldest_machine_is_dropped() {
        let saved = SavedMachines::default();
        for number in 0..=MOST {
            add(&saved, name("debian", 1, number));
        }
        assert!(saved.find(&name("debian", 1, 0)).is_none());
        assert!(saved.find(&name("debian", 1, MOST)).is_some());
    }
}
