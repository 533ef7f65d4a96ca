//! The output of the guest: lines to the debug console, and its end through the exit device.

use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use tactus_model::guest::{EXIT_PORT, ITEM_PORTS, MESSAGE_PORT, PAUSE, PAUSE_PORT, PAUSE_SECONDS};
use tactus_sys::SysError;
use tactus_sys::port::Ports;
use tactus_wire::{MESSAGE_LIMIT, encode};

/// The ports of the emulator's debug devices.
#[derive(Clone, Copy, Debug)]
pub struct Console(Ports);

impl Console {
    /// Gets access to the ports.
    pub(crate) fn open() -> Result<Self, SysError> {
        Ports::take().map(Self)
    }

    /// Sends `message` as a line of JSON.
    ///
    /// # Errors
    /// JSON cannot represent it, or it is too large.
    pub fn send(self, message: &impl Serialize) -> io::Result<()> {
        self.0.write_all(MESSAGE_PORT, &encode(message, MESSAGE_LIMIT)?);
        Ok(())
    }

    /// Sends a line that is already JSON.
    pub(crate) fn send_line(self, line: &str) {
        self.0.write_all(MESSAGE_PORT, format!("{line}\n").as_bytes());
    }

    /// Sleeps, so that the emulator can stop the guest here to save its state.
    pub(crate) fn pause(self) {
        self.0.write_all(PAUSE_PORT, &[PAUSE]);
        thread::sleep(Duration::from_secs(PAUSE_SECONDS));
    }

    /// Reads an item of the emulator's `fw_cfg` device (QEMU's `docs/specs/fw_cfg.rst`); `None`
    /// if there is no item with this name.
    pub(crate) fn item(self, name: &str) -> Option<Vec<u8>> {
        const DIRECTORY: u16 = 0x19;
        const ENTRY: usize = 64;
        const MOST: u32 = 4096;
        let (selector, data) = ITEM_PORTS;
        self.0.write_word(selector, DIRECTORY);
        let mut count = [0; 4];
        self.0.read_all(data, &mut count);
        // Without such a device, every bit is set.
        let count = Some(u32::from_be_bytes(count)).filter(|count| *count <= MOST)?;
        let mut entry = [0; ENTRY];
        for _ in 0..count {
            self.0.read_all(data, &mut entry);
            let (head, found) = entry.split_at(8);
            let found = found.split(|byte| *byte == 0).next()?;
            if found == name.as_bytes() {
                let size = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
                let mut content = vec![0; usize::try_from(size).ok()?];
                self.0.write_word(selector, u16::from_be_bytes([head[4], head[5]]));
                self.0.read_all(data, &mut content);
                return Some(content);
            }
        }
        None
    }

    /// Ends the guest with `status`; returns only if there is no exit device.
    pub(crate) fn end(self, status: u8) {
        // Flush what is not yet written to the console.
        let _ = io::stderr().flush();
        self.0.write_all(EXIT_PORT, &[status]);
    }
}
