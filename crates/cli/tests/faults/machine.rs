//! What must be as before: settings, tracing instances, processes, temporary files, the store.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use tactus_sys::setting::left_changed;

use crate::STEP;
use crate::support::Tactus;

/// The setting that the plans change.
const QUANTUM: &str = "/proc/sys/kernel/sched_rr_timeslice_ms";

/// The state of the machine before the first fault.
pub struct Before {
    quantum: String,
}

impl Before {
    pub fn read() -> Self {
        Self { quantum: fs::read_to_string(QUANTUM).unwrap() }
    }

    /// Waits until everything is as before: cleaning up takes a moment. The processes `owners`
    /// lived when the fault happened.
    ///
    /// # Errors
    /// What is not as before after `patience`.
    pub fn check(
        &self,
        tactus: &Tactus,
        owners: &[u32],
        temporary: &Path,
        patience: Duration,
    ) -> Result<(), String> {
        let deadline = Instant::now() + patience;
        loop {
            let left = [processes(tactus), self.settings(), instances(owners), files(temporary)];
            let left: Vec<String> = left.into_iter().flatten().collect();
            if left.is_empty() {
                return store(tactus);
            }
            if Instant::now() >= deadline {
                return Err(left.join("; "));
            }
            thread::sleep(STEP);
        }
    }

    fn settings(&self) -> Option<String> {
        let quantum = fs::read_to_string(QUANTUM).unwrap();
        let left = left_changed(Path::new("/"));
        let is_before = quantum == self.quantum && left.is_empty();
        (!is_before).then(|| format!("rr quantum {}, notes of {left:?}", quantum.trim()))
    }
}

fn processes(tactus: &Tactus) -> Option<String> {
    let processes = tactus.processes();
    (!processes.is_empty()).then(|| format!("processes {processes:?}"))
}

/// The instances of these processes; other programs may record at the same time.
fn instances(owners: &[u32]) -> Option<String> {
    let entries = fs::read_dir("/sys/kernel/tracing/instances").into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_ours =
        |name: &String| owners.iter().any(|owner| name.starts_with(&format!("tactus-{owner}-")));
    let left: Vec<String> = names.filter(is_ours).collect();
    (!left.is_empty()).then(|| format!("tracing instances {left:?}"))
}

fn files(temporary: &Path) -> Option<String> {
    let entries = fs::read_dir(temporary).unwrap().flatten();
    let left: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    (!left.is_empty()).then(|| format!("temporary files {left:?}"))
}

/// Requires that the store, if there is one, can be read.
fn store(tactus: &Tactus) -> Result<(), String> {
    if !tactus.store().exists() {
        return Ok(());
    }
    let listed = tactus.run(&["list", "--json"]);
    let complaint = String::from_utf8_lossy(&listed.stderr);
    listed.status.success().then_some(()).ok_or_else(|| format!("the store: {complaint}"))
}
