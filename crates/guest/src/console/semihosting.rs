//! The emulator's debug devices on Arm: semihosting, and a watchdog on the PCI bus.

use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use tactus_model::guest::REQUEST_FILE;
use tactus_sys::SysError;
use tactus_sys::semihosting::Semihosting;

#[derive(Clone, Copy, Debug)]
pub(super) struct Link(Semihosting);

impl Link {
    pub(super) fn open() -> Result<Self, SysError> {
        Semihosting::take().map(Self)
    }

    pub(super) fn write(self, bytes: &[u8]) {
        // JSON escapes zeros; without them every byte arrives.
        let text: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
        if let Ok(text) = CString::new(text) {
            self.0.write(&text);
        }
    }

    /// Starts the watchdog `i6300esb` by its configuration space (Intel's *6300ESB I/O Controller
    /// Hub* datasheet, 4.2). With its reset values it has two stages of 2²⁰ − 1 µs, and then
    /// stops the machine.
    pub(super) fn request_pause(self) -> io::Result<()> {
        /// The configuration register: count microseconds, raise no interrupt between the stages.
        const CONFIGURATION: (u64, [u8; 2]) = (0x60, [0x07, 0x00]);
        /// The lock register: count.
        const LOCK: (u64, [u8; 1]) = (0x68, [0x02]);
        let watchdog = OpenOptions::new().write(true).open(watchdog()?.join("config"))?;
        watchdog.write_all_at(&CONFIGURATION.1, CONFIGURATION.0)?;
        watchdog.write_all_at(&LOCK.1, LOCK.0)
    }

    pub(super) fn request(self) -> Option<Vec<u8>> {
        self.0.read(&CString::new(REQUEST_FILE).ok()?)
    }

    pub(super) fn end(self, status: u8) {
        self.0.end(status);
    }
}

/// The directory of the watchdog.
fn watchdog() -> io::Result<PathBuf> {
    const VENDOR: &str = "0x8086";
    const DEVICE: &str = "0x25ab";
    let is = |directory: &PathBuf, file: &str, expected: &str| {
        fs::read_to_string(directory.join(file)).is_ok_and(|found| found.trim() == expected)
    };
    fs::read_dir("/sys/bus/pci/devices")?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|device| is(device, "vendor", VENDOR) && is(device, "device", DEVICE))
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no watchdog"))
}
