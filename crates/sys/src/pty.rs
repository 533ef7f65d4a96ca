//! Pseudo-terminals: see [pty(7)](https://man7.org/linux/man-pages/man7/pty.7.html).

use std::fs::File;

use rustix::pty::OpenptFlags;

use crate::error::SysError;

/// The two ends of a pseudo-terminal.
#[derive(Debug)]
pub struct Pty {
    /// The line's end: reads what a program wrote to the terminal.
    pub line: File,
    /// The terminal, which a program sees as a serial line, with the default processing
    /// of the line discipline.
    pub terminal: File,
}

impl Pty {
    /// Makes a pseudo-terminal that is not a controlling terminal:
    /// [posix_openpt(3)](https://man7.org/linux/man-pages/man3/posix_openpt.3.html).
    ///
    /// # Errors
    /// - `ENOENT`: `/dev/ptmx` is missing; devpts is not mounted.
    /// - `ENOSPC`: there are too many pseudo-terminals (`/proc/sys/kernel/pty/max`).
    #[doc(alias = "posix_openpt")]
    pub fn open() -> Result<Self, SysError> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let line = rustix::pty::openpt(flags).map_err(SysError::of("posix_openpt"))?;
        rustix::pty::grantpt(&line).map_err(SysError::of("grantpt"))?;
        rustix::pty::unlockpt(&line).map_err(SysError::of("unlockpt"))?;
        let terminal = rustix::pty::ioctl_tiocgptpeer(&line, flags)
            .map_err(SysError::of("ioctl TIOCGPTPEER"))?;
        Ok(Self { line: line.into(), terminal: terminal.into() })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn bytes_written_to_the_terminal_come_out_of_the_line() {
        let mut pty = Pty::open().unwrap();
        pty.terminal.write_all(b"beat\n").unwrap();
        let mut read = [0; 6];
        pty.line.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"beat\r\n", "the line discipline ends lines with CR and LF");
    }
}
