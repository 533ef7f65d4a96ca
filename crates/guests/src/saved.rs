//! Machines that have booted and stopped before their request; each turn restores them.

use std::fs::File;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tactus_model::guest::Guest;

use crate::running::{Ended, LOOK_FOR_END, Running};

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
pub struct SavedMachines {
    known: Mutex<Known>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Known {
    /// In the order in which they were saved.
    saved: Vec<(MachineName, Arc<BootedMachine>)>,
    /// The machines that some turn boots now.
    booting: Vec<MachineName>,
}

/// The maximum number of saved machines.
const MOST: usize = 16;

/// The machines of so many boot seeds stay saved: while the last turns of a round run, the first
/// of the next round may begin.
const SEEDS: usize = 2;

/// What a turn does for a machine.
#[derive(Debug)]
pub enum Claim<'s> {
    /// Restore it.
    Saved(Arc<BootedMachine>),
    /// Boot it; other turns wait for it.
    Boot(Booting<'s>),
}

/// The right to boot a machine. Dropping it without [`Booting::save`] passes it to another turn.
#[derive(Debug)]
pub struct Booting<'s> {
    machines: &'s SavedMachines,
    name: MachineName,
}

impl SavedMachines {
    /// The machine with this name, if it is saved.
    pub fn find(&self, name: &MachineName) -> Option<Arc<BootedMachine>> {
        self.known().find(name)
    }

    /// The machine with this name, or the right to boot it. Waits while another turn boots it.
    ///
    /// # Errors
    /// The turn was ended meanwhile.
    pub fn claim(
        &self,
        name: &MachineName,
        is_ended: impl Fn() -> bool,
    ) -> Result<Claim<'_>, Ended> {
        let mut known = self.known();
        loop {
            if let Some(machine) = known.find(name) {
                return Ok(Claim::Saved(machine));
            }
            if is_ended() {
                return Err(Ended);
            }
            if !known.booting.contains(name) {
                known.booting.push(name.clone());
                return Ok(Claim::Boot(Booting { machines: self, name: name.clone() }));
            }
            let waited = self.changed.wait_timeout(known, LOOK_FOR_END);
            known = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn find(&self, name: &MachineName) -> Option<Arc<BootedMachine>> {
        let found = self.saved.iter().find(|(known, _)| known == name);
        found.map(|(_, machine)| Arc::clone(machine))
    }

    /// Adds a machine. Drops the machines of earlier seeds, whose rounds are over, and the oldest
    /// machine beyond the maximum.
    fn add(&mut self, name: MachineName, machine: Arc<BootedMachine>) {
        self.saved.push((name, machine));
        let mut seeds: Vec<u64> = Vec::new();
        for (known, _) in self.saved.iter().rev() {
            if !seeds.contains(&known.seed) {
                seeds.push(known.seed);
            }
        }
        seeds.truncate(SEEDS);
        self.saved.retain(|(known, _)| seeds.contains(&known.seed));
        if self.saved.len() > MOST {
            self.saved.remove(0);
        }
    }
}

impl Booting<'_> {
    /// Keeps the booted machine for all turns.
    pub fn save(self, machine: BootedMachine) -> Arc<BootedMachine> {
        let machine = Arc::new(machine);
        self.machines.known().add(self.name.clone(), Arc::clone(&machine));
        machine
    }
}

impl Drop for Booting<'_> {
    fn drop(&mut self) {
        self.machines.known().booting.retain(|booting| *booting != self.name);
        self.machines.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    fn name(kernel: &str, seed: u64, number: usize) -> MachineName {
        let guest = Guest { kernel: kernel.parse().unwrap(), time: "exact".parse().unwrap() };
        MachineName { guest, seed, number }
    }

    fn add(saved: &SavedMachines, name: &MachineName) {
        let Ok(Claim::Boot(booting)) = saved.claim(name, || false) else { panic!("{name:?}") };
        booting.save(BootedMachine::new().unwrap());
    }

    #[test]
    fn machines_stay_saved_until_the_round_after_theirs_is_over() {
        let saved = SavedMachines::default();
        for machine in [name("debian", 1, 0), name("debian", 1, 1), name("debian-rt", 1, 0)] {
            assert!(saved.find(&machine).is_none());
            add(&saved, &machine);
            assert!(saved.find(&machine).is_some());
        }
        assert!(saved.find(&name("debian:nosmt", 1, 1)).is_none(), "another command line");
        add(&saved, &name("debian", 2, 0));
        assert!(saved.find(&name("debian", 1, 0)).is_some(), "a turn of its round may still run");
        add(&saved, &name("debian", 3, 0));
        assert!(saved.find(&name("debian", 1, 0)).is_none());
        assert!(saved.find(&name("debian", 2, 0)).is_some());
    }

    #[test]
    fn the_oldest_machine_is_dropped() {
        let saved = SavedMachines::default();
        (0..=MOST).for_each(|number| add(&saved, &name("debian", 1, number)));
        assert!(saved.find(&name("debian", 1, 0)).is_none());
        assert!(saved.find(&name("debian", 1, MOST)).is_some());
    }

    #[test]
    fn a_machine_is_booted_once_for_all_turns_that_wait_for_it() {
        let (saved, boots) = (SavedMachines::default(), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| match saved.claim(&name("debian", 1, 0), || false).unwrap() {
                    Claim::Saved(_) => {}
                    Claim::Boot(booting) => {
                        boots.fetch_add(1, Ordering::SeqCst);
                        booting.save(BootedMachine::new().unwrap());
                    }
                });
            }
        });
        assert_eq!(boots.into_inner(), 1);
    }

    #[test]
    fn another_turn_boots_a_machine_whose_boot_failed() {
        let saved = SavedMachines::default();
        let name = name("debian", 1, 0);
        let first = saved.claim(&name, || false).unwrap();
        assert!(matches!(saved.claim(&name, || true), Err(Ended)), "it is being booted");
        drop(first);
        assert!(matches!(saved.claim(&name, || false), Ok(Claim::Boot(_))));
    }
}
