//! Where the bytes of a MIDI line go.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tactus_sound::SoundError;
use tactus_sys::pty::Pty;
use tactus_sys::{Errno, SysError, serial_port};

use super::link::Link;
use super::midi_line::Port;

/// The most bytes that a program at the other end of a pseudo-terminal may leave unread. The
/// kernel would keep 4095, and then 64 KiB more. It counts what it has passed on to the other end,
/// which on a busy machine may take milliseconds.
const UNREAD_MAX: usize = 4000;
/// How long the last bytes wait to be read, in steps.
const LAST_STEPS: u32 = 100;
const LAST_STEP: Duration = Duration::from_millis(2);

/// A pseudo-terminal: another program reads it like a serial line.
#[derive(Debug)]
pub struct PtyPort {
    pty: Pty,
    path: PathBuf,
    _link: Option<Link>,
}

/// Why a port cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// A call failed.
    #[error("cannot open a pseudo-terminal: {0}")]
    Pty(SysError),
    /// The link to the pseudo-terminal cannot be made.
    #[error("cannot make the link {}: {error}", path.display())]
    Link {
        /// The link.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The device file cannot be opened.
    #[error("cannot open {}: {}{}", path.display(), error.errno, hint(*error))]
    Open {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: SysError,
    },
    /// The file is no device of that kind.
    #[error("{} is no MIDI device, serial line or pseudo-terminal; raw MIDI devices are /dev/snd/midiC*D*", .0.display())]
    NotADevice(PathBuf),
    /// The file is a terminal that changes bytes, or keeps them until the end of a line.
    #[error(
        "{path} is a terminal that changes bytes; fix: stty -F {path} raw -echo",
        path = .0.display()
    )]
    NotRaw(PathBuf),
    /// The sound server.
    #[error(transparent)]
    Jack(#[from] SoundError),
}

/// What may help.
fn hint(error: SysError) -> &'static str {
    match error.errno {
        Errno::NOENT => "; `ls /dev/snd` lists the devices",
        Errno::ACCESS => "; its group is usually `audio`",
        Errno::BUSY | Errno::AGAIN => "; another program uses it",
        _ => "",
    }
}

impl PtyPort {
    /// Opens a pseudo-terminal that passes on all bytes unchanged, and makes a link to its other
    /// end, if given: its path differs each time. Only programs of the same user can open it.
    ///
    /// The folder of the link must belong to this user, who alone may write to it.
    ///
    /// # Errors
    /// Says what could not be made.
    pub fn open(link: Option<&Path>) -> Result<Self, PortError> {
        let pty = Pty::open().map_err(PortError::Pty)?;
        let path = pty.path().map_err(PortError::Pty)?;
        pty.make_raw().and_then(|()| pty.never_wait()).map_err(PortError::Pty)?;
        let make = |link: &Path| {
            let error = |error| PortError::Link { path: link.to_owned(), error };
            Link::make(link, path.clone()).map_err(error)
        };
        let link = link.map(make).transpose()?;
        Ok(Self { pty, path, _link: link })
    }

    /// The other end.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Our end.
    pub(crate) const fn line(&self) -> &File {
        &self.pty.line
    }
}

impl Port for PtyPort {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let unread = self.pty.unread().map_err(|error| io::Error::from(error.errno))?;
        let room = UNREAD_MAX.saturating_sub(unread);
        let bytes = &bytes[..bytes.len().min(room)];
        if bytes.is_empty() { Ok(0) } else { written((&self.pty.line).write(bytes)) }
    }

    fn address(&self) -> Option<String> {
        Some(self.path.display().to_string())
    }

    /// The kernel drops what is unread when the line is closed.
    fn finish(&mut self) {
        for _ in 0..LAST_STEPS {
            // The kernel counts unread bytes a moment after they were written.
            std::thread::sleep(LAST_STEP);
            if self.pty.unread().is_ok_and(|unread| unread == 0) {
                return;
            }
        }
    }
}

/// A raw MIDI device of ALSA, `/dev/snd/midiC*D*`, or another character device that takes the
/// bytes of a MIDI cable.
#[derive(Debug)]
pub struct RawPort(File);

impl RawPort {
    /// Opens a device.
    ///
    /// # Errors
    /// Says why not.
    pub fn open(path: &Path) -> Result<Self, PortError> {
        let error = |error| PortError::Open { path: path.to_owned(), error };
        let file = serial_port::open_without_waiting(path).map_err(error)?;
        let is_device = file.metadata().is_ok_and(|found| found.file_type().is_char_device());
        if !is_device {
            return Err(PortError::NotADevice(path.to_owned()));
        }
        match serial_port::changes_output(&file) {
            true => Err(PortError::NotRaw(path.to_owned())),
            false => Ok(Self(file)),
        }
    }
}

impl Port for RawPort {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        written((&self.0).write(bytes))
    }
}

/// What a write that never waits has done.
fn written(result: io::Result<usize>) -> io::Result<usize> {
    use io::ErrorKind::{Interrupted, WouldBlock};
    match result {
        Err(error) if matches!(error.kind(), WouldBlock | Interrupted) => Ok(0),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn bytes_for_a_pseudo_terminal_are_read_through_its_link() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("synth");
        let mut port = PtyPort::open(Some(&link)).unwrap();
        let mut reader = File::open(&link).unwrap();
        assert_eq!(port.write(&[0x90, 60, 0x0A, 0xF7]).unwrap(), 4);
        let mut read = [0; 4];
        reader.read_exact(&mut read).unwrap();
        assert_eq!(read, [0x90, 60, 0x0A, 0xF7]);
        drop(port);
        assert!(!link.is_symlink());
    }

    #[test]
    fn a_reader_that_does_not_read_never_makes_the_port_wait() {
        let mut port = PtyPort::open(None).unwrap();
        let mut total = 0;
        // The kernel counts unread bytes a moment after they were written.
        for _ in 0..2000 {
            total += port.write(&[7; 100]).unwrap();
        }
        while port.pty.unread().unwrap() < UNREAD_MAX {
            std::thread::sleep(LAST_STEP);
            total += port.write(&[7; 100]).unwrap();
        }
        assert_eq!(port.write(&[7; 100]).unwrap(), 0);
        assert!(total >= UNREAD_MAX, "{total}");
        let mut reader = File::open(port.path()).unwrap();
        let mut read = [0; 1000];
        let count = reader.read(&mut read).unwrap();
        assert!(read[..count].iter().all(|byte| *byte == 7) && count > 0);
    }

    #[test]
    fn raw_devices_are_checked() {
        let mut port = RawPort::open(Path::new("/dev/null")).unwrap();
        assert_eq!(port.write(&[0xF8]).unwrap(), 1);
        let said = |path: &Path| RawPort::open(path).unwrap_err().to_string();
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(said(file.path()).ends_with("raw MIDI devices are /dev/snd/midiC*D*"));
        let pty = Pty::open().unwrap();
        assert!(said(&pty.path().unwrap()).contains("changes bytes"));
        pty.make_raw().unwrap();
        assert!(RawPort::open(&pty.path().unwrap()).is_ok());
        let missing = said(Path::new("/dev/snd/midiC99D9"));
        assert!(missing.ends_with("`ls /dev/snd` lists the devices"), "{missing}");
    }
}
