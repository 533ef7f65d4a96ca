//! Interrupts of a device whose driver is in user space:
//! [UIO](https://docs.kernel.org/driver-api/uio-howto.html).

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};

use crate::error::{Errno, SysError};

/// A UIO device, whose interrupts are awaited.
#[derive(Debug)]
pub struct UioDevice(OwnedFd);

impl UioDevice {
    /// Opens a device, e.g. `/dev/uio0`.
    ///
    /// # Errors
    /// `ENODEV`: `path` is no character device. Those of open(2).
    pub fn open(path: &Path) -> Result<Self, SysError> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let device = rustix::fs::open(path, flags, Mode::empty()).map_err(SysError::of("open"))?;
        let kind = rustix::fs::fstat(&device).map_err(SysError::of("fstat"))?.st_mode;
        match FileType::from_raw_mode(kind) {
            FileType::CharacterDevice => Ok(Self(device)),
            _ => Err(SysError::new("open", Errno::NODEV)),
        }
    }

    /// Permits the next interrupt. Drivers such as `uio_pdrv_genirq` disable the interrupt when it
    /// arrives.
    ///
    /// # Errors
    /// `ENOSYS`: the driver has no such control. `uio_pci_generic` disables the interrupt all the
    /// same, and the program permits it in the device's PCI command register.
    pub fn enable(&self) -> Result<(), SysError> {
        match rustix::io::write(&self.0, &1_i32.to_ne_bytes()) {
            Ok(4) => Ok(()),
            Ok(_) => Err(SysError::new("write", Errno::IO)),
            Err(errno) => Err(SysError::new("write", errno)),
        }
    }

    /// How many interrupts the device has had, modulo 2³²; `None` if there was none since the last
    /// call.
    ///
    /// # Errors
    /// `EIO`: the device was removed, or has no interrupt.
    pub fn take(&self) -> Result<Option<u32>, SysError> {
        let mut count = [0; 4];
        match rustix::io::read(&self.0, &mut count) {
            Ok(4) => Ok(Some(u32::from_ne_bytes(count))),
            Ok(_) => Err(SysError::new("read", Errno::IO)),
            Err(Errno::AGAIN) => Ok(None),
            Err(errno) => Err(SysError::new("read", errno)),
        }
    }
}

/// It can be read when there was an interrupt.
impl AsFd for UioDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;

    use super::*;
    use crate::pty::Pty;

    /// A terminal transports the bytes of a count, as a device would.
    #[test]
    fn a_count_is_read_and_a_permission_written() {
        let mut pty = Pty::open().unwrap();
        let path = format!("/proc/self/fd/{}", pty.terminal.as_raw_fd());
        let device = UioDevice::open(Path::new(&path)).unwrap();
        assert_eq!(device.take(), Ok(None));
        // The terminal passes whole lines on.
        pty.line.write_all(b"abc\n").unwrap();
        assert_eq!(device.take(), Ok(Some(u32::from_ne_bytes(*b"abc\n"))));
        device.enable().unwrap();
        let mut written = Vec::new();
        while !written.ends_with(&1_i32.to_ne_bytes()) {
            let mut bytes = [0; 64];
            let count = pty.line.read(&mut bytes).unwrap();
            written.extend(&bytes[..count]);
        }
    }

    #[test]
    fn what_is_no_device_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let refused = UioDevice::open(file.path()).unwrap_err();
        assert_eq!(refused, SysError::new("open", Errno::NODEV));
        let missing = UioDevice::open(Path::new("/dev/uio-none")).unwrap_err();
        assert_eq!(missing.errno, Errno::NOENT);
    }
}
