//! Serial ports: see [ttyS(4)](https://man7.org/linux/man-pages/man4/ttyS.4.html).

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::termios::{LocalModes, OutputModes};

use crate::error::SysError;

/// The device files of the serial ports that have a UART and are not the kernel's console, in the
/// order of their numbers.
///
/// `root` is `/`, or the root of a simulated tree in a test. See
/// [sysfs-tty](https://docs.kernel.org/admin-guide/abi-testing.html#abi-sys-class-tty-ttys-x-type):
/// a port without a UART has the type 0.
pub fn free(root: &Path) -> Vec<PathBuf> {
    let class = root.join("sys/class/tty");
    let active = fs::read_to_string(class.join("console/active")).unwrap_or_default();
    let consoles: Vec<&str> = active.split_whitespace().collect();
    let entries = fs::read_dir(&class).into_iter().flatten().flatten();
    let mut numbers: Vec<u32> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let number = name.strip_prefix("ttyS")?.parse().ok()?;
            let kind = fs::read_to_string(entry.path().join("type")).ok()?;
            (kind.trim() != "0" && !consoles.contains(&name.as_str())).then_some(number)
        })
        .collect();
    numbers.sort_unstable();
    numbers.iter().map(|number| root.join(format!("dev/ttyS{number}"))).collect()
}

/// Opens a port for writing, without making it our controlling terminal:
/// [open(2)](https://man7.org/linux/man-pages/man2/open.2.html) with `O_NOCTTY`.
///
/// # Errors
/// - `ENOENT`: the file does not exist.
/// - `EIO`: the port has no UART.
/// - `EACCES`: it belongs to others, usually to the group `dialout`.
#[doc(alias = "O_NOCTTY")]
pub fn open(port: &Path) -> Result<File, SysError> {
    open_with(port, OFlags::WRONLY)
}

/// Like [`open`], for a port or another character device whose writes return at once if they would
/// wait.
///
/// # Errors
/// As above; `EAGAIN` or `EBUSY`: another program uses the device.
#[doc(alias = "O_NONBLOCK")]
pub fn open_without_waiting(device: &Path) -> Result<File, SysError> {
    open_with(device, OFlags::WRONLY | OFlags::NONBLOCK)
}

/// Like [`open_without_waiting`], for reading.
///
/// # Errors
/// As above.
pub fn open_input(device: &Path) -> Result<File, SysError> {
    open_with(device, OFlags::RDONLY | OFlags::NONBLOCK)
}

/// Whether a device is a terminal that echoes bytes, changes them, or keeps them until the end of
/// a line: [termios(3)](https://man7.org/linux/man-pages/man3/termios.3.html).
#[doc(alias = "cfmakeraw")]
pub fn changes_bytes(device: &File) -> bool {
    let Ok(settings) = rustix::termios::tcgetattr(device) else { return false };
    let mut raw = settings.clone();
    raw.make_raw();
    let local = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
    let is_changed = (settings.local_modes & local) != (raw.local_modes & local);
    is_changed || settings.input_modes != raw.input_modes
}

/// Whether a device is a terminal that changes bytes that are written to it, such as a line feed:
/// [termios(3)](https://man7.org/linux/man-pages/man3/termios.3.html).
#[doc(alias = "OPOST")]
pub fn changes_output(device: &File) -> bool {
    let settings = rustix::termios::tcgetattr(device);
    settings.is_ok_and(|settings| settings.output_modes.contains(OutputModes::OPOST))
}

fn open_with(port: &Path, flags: OFlags) -> Result<File, SysError> {
    let flags = flags | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::open(port, flags, Mode::empty()).map(File::from).map_err(SysError::of("open"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_ports_have_a_uart_and_are_not_the_console() {
        let root = tempfile::tempdir().unwrap();
        let class = root.path().join("sys/class/tty");
        for (name, kind) in [("ttyS0", "4"), ("ttyS10", "4"), ("ttyS2", "4"), ("ttyS3", "0")] {
            fs::create_dir_all(class.join(name)).unwrap();
            fs::write(class.join(name).join("type"), format!("{kind}\n")).unwrap();
        }
        fs::create_dir_all(class.join("console")).unwrap();
        fs::create_dir_all(class.join("tty1")).unwrap();
        fs::write(class.join("console/active"), "tty0 ttyS0\n").unwrap();
        let expected = ["dev/ttyS2", "dev/ttyS10"].map(|port| root.path().join(port));
        assert_eq!(free(root.path()), expected);
        assert!(free(&root.path().join("nothing")).is_empty());
    }
}
