//! Where bytes of MIDI come from or go to, as text.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use tactus_model::text;
use tactus_stream::message::{NAME_BYTES_MOST, is_name};

use crate::sink::Sink;
use crate::sinks::jack::{Content, Jack, Ports};
use crate::sinks::{MidiLine, Port, PortError, PtyPort, Rate, RawPort};

/// A port for MIDI: `pty`, `pty:LINK`, the path of a device, `jack`, or `jack:CLIENT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortSpec {
    /// A pseudo-terminal that is made for it. Its other end, which programs open, has a link if one
    /// is named.
    Pty(Option<PathBuf>),
    /// A raw MIDI device of ALSA (`/dev/snd/midiC0D0`), a serial line, another pseudo-terminal.
    Device(PathBuf),
    /// A client of the sound server of this user, PipeWire or JACK, connected to the client with this
    /// name if one is named.
    Jack(Option<String>),
}

/// The error for a text that is not a port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{given}` is not a MIDI port: write pty, pty:LINK, the path of a device, jack, or jack:CLIENT{hint}"
)]
pub struct NotAPort {
    given: String,
    hint: String,
}

impl PortSpec {
    /// Opens it as an output.
    ///
    /// # Errors
    /// Says what cannot be opened, and why.
    pub fn open_output(&self, line: LineOptions) -> Result<Box<dyn Sink>, PortError> {
        Ok(match self {
            Self::Pty(link) => line.over(PtyPort::open(link.as_deref())?),
            Self::Device(path) => line.over(RawPort::open(path)?),
            Self::Jack(target) => {
                let (content, name) = (Content::Midi, "tactus-output".to_owned());
                Box::new(Jack::open(&Ports { content, name, target: target.clone() })?)
            }
        })
    }
}

/// How an output sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineOptions {
    /// How fast.
    pub rate: Rate,
    /// Whether a status byte that does not change is left out.
    pub has_running_status: bool,
}

impl LineOptions {
    fn over<P: Port + 'static>(self, port: P) -> Box<dyn Sink> {
        let line = MidiLine::new(port, self.rate);
        Box::new(if self.has_running_status { line.with_running_status() } else { line })
    }
}

impl FromStr for PortSpec {
    type Err = NotAPort;

    fn from_str(text: &str) -> Result<Self, NotAPort> {
        match text.split_once(':') {
            None if text == "pty" => return Ok(Self::Pty(None)),
            Some(("pty", link)) if !link.is_empty() => return Ok(Self::Pty(Some(link.into()))),
            None if text == "jack" => return Ok(Self::Jack(None)),
            Some(("jack", client)) if !client.is_empty() => {
                return Ok(Self::Jack(Some(client.to_owned())));
            }
            _ if text.contains('/') && !text.contains(':') => return Ok(Self::Device(text.into())),
            _ => {}
        }
        let kind = text.split(':').next().unwrap_or_default();
        let near = text::nearest(kind, &["pty", "jack"]);
        let hint = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
        Err(NotAPort { given: text.chars().take(60).collect(), hint })
    }
}

impl fmt::Display for PortSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pty(None) => f.write_str("pty"),
            Self::Pty(Some(link)) => write!(f, "pty:{}", link.display()),
            Self::Device(path) => path.display().fmt(f),
            Self::Jack(None) => f.write_str("jack"),
            Self::Jack(Some(client)) => write!(f, "jack:{client}"),
        }
    }
}

/// An input with the name by which programs listen to it: `NAME=PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedInput {
    /// Its name.
    pub name: String,
    /// Where its bytes come from.
    pub port: PortSpec,
}

/// Why a text is not an input with its name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotANamedInput {
    /// It has no name.
    #[error("`{0}` is not NAME=PORT, e.g. keys=pty")]
    NoName(String),
    /// The name is not one.
    #[error("`{0}` is not the name of an input: 1 to {NAME_BYTES_MOST} bytes without white space")]
    Name(String),
    /// The port is not one.
    #[error(transparent)]
    Port(#[from] NotAPort),
}

impl FromStr for NamedInput {
    type Err = NotANamedInput;

    fn from_str(text: &str) -> Result<Self, NotANamedInput> {
        let split = text.split_once('=');
        let (name, port) = split.ok_or_else(|| NotANamedInput::NoName(text.to_owned()))?;
        if !is_name(name) {
            return Err(NotANamedInput::Name(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), port: port.parse()? })
    }
}

impl fmt::Display for NamedInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_have_a_name_and_a_port() {
        for text in ["keys=pty", "keys=pty:/run/keys", "keys=/dev/snd/midiC0D0", "keys=jack:synth"]
        {
            assert_eq!(text.parse::<NamedInput>().unwrap().to_string(), text);
        }
        let said = |text: &str| text.parse::<NamedInput>().unwrap_err().to_string();
        assert_eq!(said("pty"), "`pty` is not NAME=PORT, e.g. keys=pty");
        assert!(said("a b=pty").contains("is not the name of an input"));
        assert!(said("keys=tty").contains("did you mean `pty`?"));
        assert!(said("keys=pty:").contains("is not a MIDI port"));
    }
}
