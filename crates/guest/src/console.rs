//! The way out of the guest: lines to the debug console, and the end by the exit device.

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
    /// Takes permission to use the ports.
    pub(crate) fn open() -> Result<Self, SysError> {
        Ports::take().map(Self)
    }

    /// Says `message` as a line of JSON.
    ///
    /// # Errors
    /// It cannot be written as JSON, or is too large.
    pub fn say(self, message: &impl Serialize) -> io::Result<()> {
        self.0.write_all(MESSAGE_PORT, &encode(message, MESSAGE_LIMIT)?);
        Ok(())
    }

    /// Says a line that is written already.
    pub(crate) fn pass_on(self, line: &str) {
        self.0.write_all(MESSAGE_PORT, format!("{line}\n").as_bytes());
    }

    /// Lets the emulator stop the guest while it sleeps here, if it wants to keep its state.
    pub(crate) fn pause(self) {
        self.0.write_all(PAUSE_PORT, &[PAUSE]);
        thread::sleep(Duration::from_secs(PAUSE_SECONDS));
    }

    /// Reads one of the emulator's items, as its `docs/specs/fw_cfg.rst` describes them;
    /// none of this name is there when it answers nothing.
    pub(crate) fn item(self, name: &str) -> Option<Vec<u8>> {
        const DIRECTORY: u16 = 0x19;
        const ENTRY: usize = 64;
        const MOST: u32 = 4096;
        let (selector, data) = ITEM_PORTS;
        self.0.write_word(selector, DIRECTORY);
        let mut count = [0; 4];
        self.0.read_all(data, &mut count);
        // Where there is no such device every bit is set.
        let count = Some(u32::from_be_bytes(count)).filter(|count| *count <= MOST)?;
        let mut entry = [0; ENTRY];
        for _ in 0..count {
            self.0.read_all(data, &mut entry);
            let (head, called) = entry.split_at(8);
            let called = called.split(|byte| *byte == 0).next()?;
            if called == name.as_bytes() {
                let size = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
                let mut content = vec![0; usize::try_from(size).ok()?];
                self.0.write_word(selector, u16::from_be_bytes([head[4], head[5]]));
                self.0.read_all(data, &mut content);
                return Some(content);
            }
        }
        None
    }

    /// Ends the guest, as one that did what it was asked; comes back only where there is
    /// no exit device.
    pub(crate) fn end(self, status: u8) {
        // What still waits to be written to the console comes first.
        let _ = io::stderr().flush();
        self.0.write_all(EXIT_PORT, &[status]);
    }
}
