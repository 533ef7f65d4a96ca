//! Pseudo-terminals: see [pty(7)](https://man7.org/linux/man-pages/man7/pty.7.html).

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::pty::OpenptFlags;
use rustix::termios::OptionalActions;

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

/// Opens the terminal of a [`Pty`] of another process for reading, without making it our
/// controlling terminal: [open(2)](https://man7.org/linux/man-pages/man2/open.2.html).
///
/// # Errors
/// `ENOENT`: it is closed. `EACCES`: it belongs to another user.
#[doc(alias = "O_NOCTTY")]
pub fn open_terminal(path: &Path) -> Result<File, SysError> {
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map(File::from).map_err(SysError::of("open"))
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

    /// The file by which other programs open the terminal:
    /// [ptsname(3)](https://man7.org/linux/man-pages/man3/ptsname.3.html).
    ///
    /// # Errors
    /// `ENOTTY`: devpts is gone.
    #[doc(alias = "ptsname")]
    pub fn path(&self) -> Result<PathBuf, SysError> {
        let name = rustix::pty::ptsname(&self.line, Vec::new()).map_err(SysError::of("ptsname"))?;
        Ok(OsString::from_vec(name.into_bytes()).into())
    }

    /// Passes every byte on unchanged and echoes none, in both directions:
    /// [cfmakeraw(3)](https://man7.org/linux/man-pages/man3/termios.3.html).
    ///
    /// # Errors
    /// Those of [tcsetattr(3)](https://man7.org/linux/man-pages/man3/termios.3.html).
    #[doc(alias = "cfmakeraw")]
    pub fn make_raw(&self) -> Result<(), SysError> {
        let mut settings =
            rustix::termios::tcgetattr(&self.terminal).map_err(SysError::of("tcgetattr"))?;
        settings.make_raw();
        rustix::termios::tcsetattr(&self.terminal, OptionalActions::Now, &settings)
            .map_err(SysError::of("tcsetattr"))
    }

    /// Makes reads and writes of the line return at once if they would wait.
    ///
    /// # Errors
    /// Those of [ioctl(2)](https://man7.org/linux/man-pages/man2/ioctl.2.html).
    #[doc(alias = "FIONBIO")]
    pub fn never_wait(&self) -> Result<(), SysError> {
        rustix::io::ioctl_fionbio(&self.line, true).map_err(SysError::of("ioctl FIONBIO"))
    }

    /// The number of bytes that were written to the line and that nobody has read yet, at most
    /// 4095: the kernel's buffer of a terminal. Bytes beyond it are not counted.
    ///
    /// # Errors
    /// Those of [ioctl_tty(2)](https://man7.org/linux/man-pages/man2/ioctl_tty.2.html).
    #[doc(alias = "FIONREAD")]
    pub fn unread(&self) -> Result<usize, SysError> {
        let unread = rustix::io::ioctl_fionread(&self.terminal);
        unread.map(|bytes| bytes as usize).map_err(SysError::of("ioctl FIONREAD"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn bytes_written_to_the_terminal_come_out_of_the_line() {
        let mut pty = Pty::open().unwrap();
        pty.terminal.write_all(b"beat\n").unwrap();
        let mut read = [0; 6];
        pty.line.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"beat\r\n", "the line discipline ends lines with CR and LF");
    }
    #[test]
    fn a_raw_line_changes_nothing_and_never_waits() {
        let pty = Pty::open().unwrap();
        pty.make_raw().unwrap();
        pty.never_wait().unwrap();
        let mut reader = File::open(pty.path().unwrap()).unwrap();
        (&pty.line).write_all(b"\n\r\x03\xf0").unwrap();
        let mut read = [0; 4];
        reader.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"\n\r\x03\xf0");
        assert_eq!(pty.unread().unwrap(), 0);
        let echoed = (&pty.line).read(&mut read).unwrap_err();
        assert_eq!(echoed.kind(), std::io::ErrorKind::WouldBlock);
        let refused = (0..100).find_map(|_| (&pty.line).write_all(&[7; 4096]).err());
        assert_eq!(refused.unwrap().kind(), std::io::ErrorKind::WouldBlock);
        // The kernel passes bytes on when it has a CPU for that.
        let end = Instant::now() + Duration::from_secs(30);
        while pty.unread().unwrap() == 0 {
            assert!(Instant::now() < end, "no byte was passed on");
            thread::sleep(Duration::from_millis(1));
        }
    }
}
