//! The connection of a guest to its emulator: lines to the debug console, the request, the pause
//! after the boot, and the end.

#[cfg_attr(target_arch = "aarch64", path = "console/semihosting.rs")]
#[cfg_attr(not(target_arch = "aarch64"), path = "console/ports.rs")]
mod link;

use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use tactus_model::guest::PAUSE_SECONDS;
use tactus_sys::SysError;
use tactus_wire::{MESSAGE_LIMIT, encode};

use link::Link;

/// The debug devices of the emulator.
#[derive(Clone, Copy, Debug)]
pub struct Console(Link);

impl Console {
    /// Gets access to the devices.
    pub(crate) fn open() -> Result<Self, SysError> {
        Link::open().map(Self)
    }

    /// Sends `message` as a line of JSON.
    ///
    /// # Errors
    /// JSON cannot represent it, or it is too large.
    pub fn send(self, message: &impl Serialize) -> io::Result<()> {
        self.0.write(&encode(message, MESSAGE_LIMIT)?);
        Ok(())
    }

    /// Sends a line that is already JSON.
    pub(crate) fn send_line(self, line: &str) {
        self.0.write(format!("{line}\n").as_bytes());
    }

    /// Sleeps, so that the emulator can stop the guest here to save its state.
    pub(crate) fn pause(self) {
        if let Err(error) = self.0.request_pause() {
            // In wall time, the machine has no device to stop it, and no state is saved.
            eprintln!("tactus-guest: no pause: {error}");
        }
        thread::sleep(Duration::from_secs(PAUSE_SECONDS));
    }

    /// Reads the request; `None` if the emulator has none.
    pub(crate) fn request(self) -> Option<Vec<u8>> {
        self.0.request()
    }

    /// Ends the guest with `status`; returns only if there is no exit device.
    pub(crate) fn end(self, status: u8) {
        // Flush what is not yet written to the console.
        let _ = io::stderr().flush();
        self.0.end(status);
    }
}
