//! An input.

use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use tactus_midi::{Parsed, Parser};
use tactus_model::text;
use tactus_model::time::Monotonic;
use tactus_sys::pty::Pty;
use tactus_sys::{Errno, SysError, clock, serial_port};

use crate::sinks::link::Link;

/// What an input is: `pty`, `pty:LINK`, or the path of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputSpec {
    /// A pseudo-terminal that is made for it. Its other end, to which programs write, has a link
    /// if one is named.
    Pty(Option<PathBuf>),
    /// A raw MIDI device of ALSA (`/dev/snd/midiC0D0`), a serial line, another pseudo-terminal.
    Device(PathBuf),
}

/// The error for a text that is not an input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not a MIDI input: write pty, pty:LINK, or the path of a device{hint}")]
pub struct NotAnInput {
    given: String,
    hint: String,
}

impl FromStr for InputSpec {
    type Err = NotAnInput;

    fn from_str(text: &str) -> Result<Self, NotAnInput> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        match (kind, rest) {
            ("pty", "") if !text.ends_with(':') => Ok(Self::Pty(None)),
            ("pty", link) if !link.is_empty() => Ok(Self::Pty(Some(link.into()))),
            _ if text.contains('/') => Ok(Self::Device(text.into())),
            _ => {
                let near = text::nearest(kind, &["pty"]);
                let hint = near.map(|near| format!(" (did you mean `{near}`?)"));
                let hint = hint.unwrap_or_default();
                Err(NotAnInput { given: text.chars().take(60).collect(), hint })
            }
        }
    }
}

impl fmt::Display for InputSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pty(None) => f.write_str("pty"),
            Self::Pty(Some(link)) => write!(f, "pty:{}", link.display()),
            Self::Device(path) => path.display().fmt(f),
        }
    }
}

/// Why an input cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// A pseudo-terminal cannot be made.
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
    /// The file is no device.
    #[error("{} is not a character device; `tactus midi devices` lists MIDI devices", .0.display())]
    NotADevice(PathBuf),
    /// A terminal that changes bytes, or keeps them until the end of a line.
    #[error(
        "{path} is a terminal that changes bytes and waits for ends of lines; fix: stty -F {path} raw -echo",
        path = .0.display()
    )]
    NotRaw(PathBuf),
}

fn hint(error: SysError) -> &'static str {
    match error.errno {
        Errno::NOENT | Errno::NXIO | Errno::NODEV => "; `tactus midi devices` lists MIDI devices",
        Errno::ACCESS => "; its group is usually `audio`, that of a serial line `dialout`",
        Errno::BUSY | Errno::AGAIN => "; another program uses it",
        _ => "",
    }
}

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
    file: File,
    path: PathBuf,
    parser: Parser,
    /// What keeps the other end of a pseudo-terminal open.
    _pty: Option<(File, Option<Link>)>,
}

impl Input {
    /// Opens an input.
    ///
    /// # Errors
    /// Says what cannot be opened, and why.
    pub fn open(spec: &InputSpec) -> Result<Self, InputError> {
        match spec {
            InputSpec::Pty(link) => Self::open_pty(link.as_deref()),
            InputSpec::Device(path) => Self::open_device(path),
        }
    }

    fn open_pty(link: Option<&Path>) -> Result<Self, InputError> {
        let pty = Pty::open().map_err(InputError::Pty)?;
        let path = pty.path().map_err(InputError::Pty)?;
        pty.make_raw().and_then(|()| pty.never_wait()).map_err(InputError::Pty)?;
        let make = |link: &Path| {
            let error = |error| InputError::Link { path: link.to_owned(), error };
            Link::make(link, path.clone()).map_err(error)
        };
        let link = link.map(make).transpose()?;
        let _pty = Some((pty.terminal, link));
        Ok(Self { file: pty.line, path, parser: Parser::default(), _pty })
    }

    fn open_device(path: &Path) -> Result<Self, InputError> {
        let error = |error| InputError::Open { path: path.to_owned(), error };
        let file = serial_port::open_input(path).map_err(error)?;
        if !file.metadata().is_ok_and(|found| found.file_type().is_char_device()) {
            return Err(InputError::NotADevice(path.to_owned()));
        }
        if serial_port::changes_bytes(&file) {
            return Err(InputError::NotRaw(path.to_owned()));
        }
        Ok(Self { file, path: path.to_owned(), parser: Parser::default(), _pty: None })
    }

    /// The device, or the other end of a pseudo-terminal: where programs write.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads what is there, once, and passes on what it completes. Never waits.
    ///
    /// # Errors
    /// No more messages come. What was not complete is passed on before.
    pub fn read(&mut self, found: &mut dyn FnMut(Parsed)) -> Result<(), Gone> {
        let mut bytes = [0; READ_BYTES];
        let gone = match self.file.read(&mut bytes) {
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

fn is_end(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| matches!(errno, Errno::IO | Errno::NODEV))
}

impl AsFd for Input {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write as _;

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
        let spec: InputSpec = format!("pty:{}", link.display()).parse().unwrap();
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
        let mut input = Input::open(&InputSpec::Device(pty.path().unwrap())).unwrap();
        (&pty.line).write_all(&[0x90, 60]).unwrap();
        assert!(read_texts(&mut input).is_empty());
        drop(pty);
        let wanted = ["message 0x90 ends after 1 of its data bytes", "the device is gone"];
        assert_eq!(read_texts(&mut input), wanted);
    }

    #[test]
    fn what_is_no_input_is_refused_with_the_fix() {
        let said = |text: &str| match text.parse::<InputSpec>() {
            Ok(spec) => Input::open(&spec).unwrap_err().to_string(),
            Err(error) => error.to_string(),
        };
        assert!(said("ptyy").contains("did you mean `pty`?"));
        assert!(said("pty:").contains("is not a MIDI input"));
        assert!(said("/dev/snd/midiC99D9").contains("`tactus midi devices` lists MIDI devices"));
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(said(&file.path().display().to_string()).contains("is not a character device"));
        let pty = Pty::open().unwrap();
        let path = pty.path().unwrap();
        let wanted = format!("fix: stty -F {} raw -echo", path.display());
        assert!(said(&path.display().to_string()).ends_with(&wanted));
        for text in ["pty", "pty:/run/keys", "/dev/snd/midiC0D0"] {
            assert_eq!(text.parse::<InputSpec>().unwrap().to_string(), text);
        }
    }
}
