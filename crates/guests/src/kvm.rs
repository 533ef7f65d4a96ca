//! Whether KVM runs a kernel here: a trial boot, whose result is kept.
//!
//! KVM may run a few instructions of firmware and hang in a kernel, e.g. nested in a hypervisor
//! that emulates parts of a CPU only. Each turn would then wait for its limit.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tactus_model::result::Shortfall;

use crate::emulator::Emulator;
use crate::running::{MachineFiles, Running};

/// The longest trial boot. A kernel of Debian boots in some seconds where KVM works.
pub const TRIAL_LIMIT: Duration = Duration::from_secs(30);

/// The results of trial boots, by the digest of the kernel.
#[derive(Debug, Default)]
pub struct KvmTrials(Mutex<BTreeMap<String, bool>>);

impl KvmTrials {
    /// Whether KVM boots the kernel with this digest, by an earlier trial or by `boots`.
    pub fn is_booted(&self, kernel_sha256: &str, boots: impl FnOnce() -> bool) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(kernel_sha256.to_owned()).or_insert_with(boots)
    }
}

/// Whether a machine with these arguments sends a line within `limit`, which it does after its
/// kernel has booted.
///
/// # Errors
/// It cannot be started.
pub fn boots(
    emulator: &Emulator,
    files: &MachineFiles<'_>,
    arguments: &[String],
    limit: Duration,
) -> io::Result<bool> {
    let mut machine = Running::start(emulator, files, arguments)?;
    let output = machine.child.stdout.take();
    let output = output.ok_or_else(|| io::Error::other("the emulator has no output"))?;
    let (sender, lines) = sync_channel(1);
    let reader = thread::spawn(move || {
        let mut line = Vec::new();
        let sent = BufReader::new(output).read_until(b'\n', &mut line);
        // The trial is over if nobody listens.
        let _ = sender.send(sent.is_ok() && line.ends_with(b"\n"));
    });
    let has_booted = lines.recv_timeout(limit).unwrap_or(false);
    drop(machine);
    // It ends with the machine's output; it fails only by a panic, which has been printed.
    let _ = reader.join();
    Ok(has_booted)
}

/// What a guest lacks if KVM does not boot its kernel.
pub fn shortfall(kernel: &str, limit: Duration) -> Shortfall {
    Shortfall {
        asked: "KVM".to_owned(),
        granted: "emulation".to_owned(),
        reason: format!("KVM did not boot {kernel} on this host within {} s", limit.as_secs()),
        fix: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulator::planted_script;

    #[test]
    fn a_kernel_is_tried_once() {
        let (trials, mut tried) = (KvmTrials::default(), 0);
        for (kernel, boots) in [("a", false), ("a", true), ("b", true), ("b", false)] {
            let found = trials.is_booted(kernel, || {
                tried += 1;
                boots
            });
            assert_eq!(found, kernel == "b");
        }
        assert_eq!(tried, 2);
    }

    #[test]
    fn a_machine_that_sends_no_line_does_not_boot() {
        let kernel = tempfile::NamedTempFile::new().unwrap();
        let files = MachineFiles { kernel: kernel.path(), archive: b"", request: b"{}" };
        let folder = tempfile::tempdir().unwrap();
        let boots = |script: &str, limit: Duration| {
            let emulator = planted_script(folder.path(), script);
            super::boots(&emulator, &files, &[], limit).unwrap()
        };
        let (long, short) = (Duration::from_secs(60), Duration::from_millis(200));
        assert!(boots("echo facts; exec sleep 60", long));
        assert!(!boots("exec sleep 60", short), "it hangs");
        assert!(!boots("exit 1", long), "it ends");
        assert!(!boots("printf half; exec sleep 60", short), "the line has no end");
    }
}
