//! Holds copies back until all have been started.
//!
//! Otherwise the first copies would take the CPUs from the copies that are still to be
//! started, and starting a thousand copies would take minutes.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::error::{During, LoadError};

/// A closed gate: a file that its owner has locked (flock(2)).
///
/// It opens when this value is dropped, and when its owner ends.
#[derive(Debug)]
pub(crate) struct ClosedGate(File);

const ACTION: &str = "hold the copies back until all are started";

impl ClosedGate {
    /// Creates a gate in the load's directory.
    pub(crate) fn create(directory: &Path) -> Result<Self, LoadError> {
        let file = File::create(path(directory)).during(ACTION)?;
        file.lock().during(ACTION)?;
        Ok(Self(file))
    }
}

impl Drop for ClosedGate {
    fn drop(&mut self) {
        // Closing the file releases the lock anyway.
        let _ = self.0.unlock();
    }
}

/// Waits until the gate in the load's directory is open.
pub(crate) fn pass(directory: &Path) -> Result<(), LoadError> {
    File::open(path(directory)).and_then(|gate| gate.lock_shared()).during(ACTION)
}

fn path(directory: &Path) -> PathBuf {
    directory.join("gate")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn nobody_passes_a_closed_gate() {
        let directory = tempfile::tempdir().unwrap();
        let gate = ClosedGate::create(directory.path()).unwrap();
        let opened = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let passing = scope.spawn(|| {
                pass(directory.path()).unwrap();
                assert!(opened.load(Ordering::SeqCst));
            });
            opened.store(true, Ordering::SeqCst);
            drop(gate);
            passing.join().unwrap();
        });
        pass(directory.path()).unwrap();
    }
}
