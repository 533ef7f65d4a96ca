//! The emulator's debug devices on x86: I/O ports.

use std::io;

use tactus_model::guest::{EXIT_PORT, ITEM_PORTS, MESSAGE_PORT, PAUSE, PAUSE_PORT, REQUEST_ITEM};
use tactus_sys::SysError;
use tactus_sys::port::Ports;

#[derive(Clone, Copy, Debug)]
pub(super) struct Link(Ports);

impl Link {
    pub(super) fn open() -> Result<Self, SysError> {
        Ports::take().map(Self)
    }

    pub(super) fn write(self, bytes: &[u8]) {
        self.0.write_all(MESSAGE_PORT, bytes);
    }

    #[expect(clippy::unnecessary_wraps, reason = "another architecture can fail")]
    pub(super) fn request_pause(self) -> io::Result<()> {
        self.0.write_all(PAUSE_PORT, &[PAUSE]);
        Ok(())
    }

    /// Reads the request from the emulator's `fw_cfg` device (QEMU's `docs/specs/fw_cfg.rst`).
    pub(super) fn request(self) -> Option<Vec<u8>> {
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
            if found == REQUEST_ITEM.as_bytes() {
                let size = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
                let mut content = vec![0; usize::try_from(size).ok()?];
                self.0.write_word(selector, u16::from_be_bytes([head[4], head[5]]));
                self.0.read_all(data, &mut content);
                return Some(content);
            }
        }
        None
    }

    pub(super) fn end(self, status: u8) {
        self.0.write_all(EXIT_PORT, &[status]);
    }
}
