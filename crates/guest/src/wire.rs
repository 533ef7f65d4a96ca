//! The way out of the guest: lines to the debug console, and the end by the exit device.

use std::io::{self, Write};

use serde::Serialize;
use tactus_model::guest::{EXIT_PORT, MESSAGE_PORT};
use tactus_sys::SysError;
use tactus_sys::port::Ports;

/// The ports of the emulator's debug devices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire(Ports);

impl Wire {
    /// Takes permission to use the ports.
    pub(crate) fn open() -> Result<Self, SysError> {
        Ports::take().map(Self)
    }

    /// Says `message` as a line of JSON.
    pub(crate) fn say(self, message: &impl Serialize) -> io::Result<()> {
        self.pass_on(&serde_json::to_string(message)?);
        Ok(())
    }

    /// Says a line that is written already.
    pub(crate) fn pass_on(self, line: &str) {
        self.0.write_all(MESSAGE_PORT, format!("{line}\n").as_bytes());
    }

    /// Ends the guest, as one that did what it was asked; comes back only where there is
    /// no exit device.
    pub(crate) fn end(self, status: u8) {
        // What still waits to be written to the console comes first.
        let _ = io::stderr().flush();
        self.0.write_all(EXIT_PORT, &[status]);
    }
}
