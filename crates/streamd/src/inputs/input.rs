//! An input.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use tactus_midi::{Parsed, Parser};
use tactus_model::time::Monotonic;
use tactus_sys::poller::{Interest, Poller};
use tactus_sys::{Errno, clock, serial_port};

use super::PortSpec;
use super::jack::JackInput;
use crate::sinks::{PortError, PtyPort};

/// Why no more messages come.
#[derive(Debug, thiserror::Error)]
pub enum Gone {
    /// The device was unplugged, or the other end closed.
    #[error("the device is gone")]
    End,
    /// Reading failed.
    #[error("cannot read: {0}")]
    Read(io::Error),
}

/// The most bytes of one read. A MIDI cable needs 82 ms for as many.
const READ_BYTES: usize = 256;

/// An open input.
#[derive(Debug)]
pub struct Input {
    source: Source,
    parser: Parser,
}

#[derive(Debug)]
enum Source {
    Pty(PtyPort),
    Device(File, PathBuf),
    Jack(JackInput),
}

impl Input {
    /// Opens an input.
    ///
    /// # Errors
    /// Says what cannot be opened, and why.
    pub fn open(spec: &PortSpec) -> Result<Self, PortError> {
        let source = match spec {
            PortSpec::Pty(link) => Source::Pty(PtyPort::open(link.as_deref())?),
            PortSpec::Device(path) => Source::Device(open_device(path)?, path.clone()),
            PortSpec::Jack(source) => Source::Jack(JackInput::open(source.as_deref())?),
        };
        Ok(Self { source, parser: Parser::default() })
    }

    /// The device, or the other end of a pseudo-terminal, to which programs write, or the name of
    /// the input at the sound server.
    pub fn address(&self) -> String {
        match &self.source {
            Source::Pty(pty) => pty.path().display().to_string(),
            Source::Device(_, path) => path.display().to_string(),
            Source::Jack(input) => input.name().to_owned(),
        }
    }

    /// Whether its end is not seen by waiting: it is to be read now and then.
    pub(super) const fn ends_silently(&self) -> bool {
        matches!(self.source, Source::Jack(_))
    }

    /// Reads what is there, once, and passes on what it completes. Never waits.
    ///
    /// # Errors
    /// No more messages come. What was not complete is passed on before.
    pub fn read(&mut self, found: &mut dyn FnMut(Parsed)) -> Result<(), Gone> {
        let mut file = match &mut self.source {
            Source::Pty(pty) => pty.line(),
            Source::Device(file, _) => &*file,
            Source::Jack(input) => return input.read(&mut self.parser, found),
        };
        let mut bytes = [0; READ_BYTES];
        let gone = match file.read(&mut bytes) {
            Ok(0) => Gone::End,
            Ok(count) => {
                let at = clock::now::<Monotonic>();
                bytes[..count].iter().for_each(|byte| self.parser.push(*byte, at, &mut *found));
                return Ok(());
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                return Ok(());
            }
            // A terminal whose other end has closed, a device that was unplugged.
            Err(error) if is_end(&error) => Gone::End,
            Err(error) => Gone::Read(error),
        };
        self.parser.finish(found);
        Err(gone)
    }
}

fn open_device(path: &Path) -> Result<File, PortError> {
    let error = |error| PortError::Open { path: path.to_owned(), error };
    let file = serial_port::open_input(path).map_err(error)?;
    // Some devices, such as /dev/null, cannot be waited for.
    let can_wait = Poller::new().and_then(|poller| poller.add(&file, 0, Interest::READ)).is_ok();
    if !can_wait || !file.metadata().is_ok_and(|found| found.file_type().is_char_device()) {
        return Err(PortError::NotADevice(path.to_owned()));
    }
    if serial_port::changes_bytes(&file) {
        return Err(PortError::NotRaw(path.to_owned()));
    }
    Ok(file)
}

fn is_end(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| matches!(errno, Errno::IO | Errno::NODEV))
}

impl AsFd for Input {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.source {
            Source::Pty(pty) => pty.line().as_fd(),
            Source::Device(file, _) => file.as_fd(),
            Source::Jack(input) => input.bell().as_fd(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write as _;

    use tactus_sys::pty::Pty;

    use super::*;

    fn read_texts(input: &mut Input) -> Vec<String> {
        let mut texts = Vec::new();
        let mut keep = |parsed| {
            texts.push(match parsed {
                Parsed::Message { message, .. } => message.to_string(),
                Parsed::Problem { problem, .. } => problem.to_string(),
            });
        };
        if let Err(gone) = input.read(&mut keep) {
            texts.push(gone.to_string());
        }
        texts
    }

    #[test]
    fn programs_write_to_the_link_of_a_pseudo_terminal() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("keys");
        let spec: PortSpec = format!("pty:{}", link.display()).parse().unwrap();
        let mut input = Input::open(&spec).unwrap();
        assert!(read_texts(&mut input).is_empty());
        // Nothing is changed: neither the carriage return nor what looks like Ctrl-C.
        let mut keys = OpenOptions::new().write(true).open(&link).unwrap();
        keys.write_all(&[0x90, 13, 3, 10, 64]).unwrap();
        assert_eq!(read_texts(&mut input), ["note-on 1 13 3", "note-on 1 10 64"]);
        drop(keys);
        assert!(read_texts(&mut input).is_empty(), "another program may open it");
        drop(input);
        assert!(!link.is_symlink());
    }

    #[test]
    fn a_device_that_goes_is_reported_with_what_was_not_complete() {
        let pty = Pty::open().unwrap();
        pty.make_raw().unwrap();
        let mut input = Input::open(&PortSpec::Device(pty.path().unwrap())).unwrap();
        (&pty.line).write_all(&[0x90, 60]).unwrap();
        assert!(read_texts(&mut input).is_empty());
        drop(pty);
        let wanted = ["message 0x90 ends after 1 of its data bytes", "the device is gone"];
        assert_eq!(read_texts(&mut input), wanted);
    }

    #[test]
    fn what_is_no_input_is_refused_with_the_fix() {
        let said = |text: &str| match text.parse::<PortSpec>() {
            Ok(spec) => Input::open(&spec).unwrap_err().to_string(),
            Err(error) => error.to_string(),
        };
        assert!(said("ptyy").contains("did you mean `pty`?"));
        assert!(said("pty:").contains("is not a MIDI port"));
        assert!(said("/dev/snd/midiC99D9").contains("`ls /dev/snd` lists the devices"));
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(said(&file.path().display().to_string()).contains("is no MIDI device"));
        let pty = Pty::open().unwrap();
        let path = pty.path().unwrap();
        let wanted = format!("fix: stty -F {} raw -echo", path.display());
        assert!(said(&path.display().to_string()).ends_with(&wanted));
        for text in ["pty", "pty:/run/keys", "/dev/snd/midiC0D0"] {
            assert_eq!(text.parse::<PortSpec>().unwrap().to_string(), text);
        }
    }
}
