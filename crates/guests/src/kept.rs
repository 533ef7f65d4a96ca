//! Machines that have booted and were stopped before their request, to be taken up for
//! each turn.

use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tactus_model::guest::Guest;

use crate::running::Running;

/// Which machine it is: the same twice is the same machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineName {
    /// What is booted, and how time passes there.
    pub guest: Guest,
    /// The seed by which it boots.
    pub seed: u64,
    /// Its number among the machines that prove each other, from 0.
    pub number: usize,
}

/// A machine that has booted.
#[derive(Debug)]
pub struct BootedMachine {
    /// Its state, in a file without a name, which is gone with this process.
    pub state: File,
    /// The machine itself, which has ended, with what it wrote to its console.
    pub remains: Option<Running>,
}

impl BootedMachine {
    /// Room for the state of a machine.
    ///
    /// # Errors
    /// There is no file to be had for it.
    pub fn new() -> io::Result<Self> {
        Ok(Self { state: tempfile::tempfile()?, remains: None })
    }
}

/// The machines that are kept. A state takes about 100 MB, so they are not many.
#[derive(Debug, Default)]
pub struct KeptMachines(Mutex<Vec<(MachineName, Arc<BootedMachine>)>>);

/// How many are kept at most.
const MOST: usize = 16;

impl KeptMachines {
    /// The machine of this name, where it is kept.
    pub fn find(&self, name: &MachineName) -> Option<Arc<BootedMachine>> {
        let kept = self.kept();
        kept.iter().find(|(known, _)| known == name).map(|(_, machine)| Arc::clone(machine))
    }

    /// Keeps a machine, and lets go of those of other seeds, whose round is over, and of
    /// the oldest.
    pub fn keep(&self, name: MachineName, machine: Arc<BootedMachine>) {
        let mut kept = self.kept();
        kept.retain(|(known, _)| known.seed == name.seed && *known != name);
        if kept.len() >= MOST {
            kept.remove(0);
        }
        kept.push((name, machine));
    }

    fn kept(&self) -> MutexGuard<'_, Vec<(MachineName, Arc<BootedMachine>)>> {
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

    fn keep(kept: &KeptMachines, name: MachineName) {
        kept.keep(name, Arc::new(BootedMachine::new().unwrap()));
    }

    #[test]
    fn machines_are_kept_while_their_round_lasts() {
        let kept = KeptMachines::default();
        for machine in [name("debian", 1, 0), name("debian", 1, 1), name("debian-rt", 1, 0)] {
            assert!(kept.find(&machine).is_none());
            keep(&kept, machine.clone());
            assert!(kept.find(&machine).is_some());
        }
        assert!(kept.find(&name("debian", 1, 1)).is_some());
        assert!(kept.find(&name("debian:nosmt", 1, 1)).is_none(), "another command line");
        keep(&kept, name("debian", 2, 0));
        assert!(kept.find(&name("debian", 1, 0)).is_none(), "its round is over");
    }

    #[test]
    fn the_oldest_gives_way() {
        let kept = KeptMachines::default();
        for number in 0..=MOST {
            keep(&kept, name("debian", 1, number));
        }
        assert!(kept.find(&name("debian", 1, 0)).is_none());
        assert!(kept.find(&name("debian", 1, MOST)).is_some());
    }
}
