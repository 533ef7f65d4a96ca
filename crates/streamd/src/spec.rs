//! What a device is: `NAME=SPEC`, as who starts the server writes it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use tactus_model::text::nearest;
use tactus_stream::message::{NAME_BYTES_MOST, is_name};
use tactus_sys::SysError;

use crate::error::OpenError;
use crate::measure::Measure;
use crate::sink::Sink;
use crate::sinks::datagram::{Datagrams, NotAPeer, Peer};
use crate::sinks::jack::{CHANNELS_MOST, Content, Jack, Ports};
use crate::sinks::lights::{Lights, Protocol, Universe};
use crate::sinks::midi_line::{MidiLine, NotARate, Rate};
use crate::sinks::midi_port::{PtyPort, RawPort};
use crate::sinks::picture::{NotAPlace, Picture, Place};
use crate::sinks::sacn;
use crate::sinks::scheduled::ScheduledDatagrams;

/// A device with the name by which clients open it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedDevice {
    /// Its name.
    pub name: String,
    /// What it is.
    pub spec: DeviceSpec,
}

/// What a device is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceSpec {
    /// The measuring device.
    Measure,
    /// A MIDI cable that another program reads from a pseudo-terminal.
    MidiPty {
        /// How fast it sends.
        rate: Rate,
        /// A name for the other end, whose path differs each time.
        link: Option<PathBuf>,
    },
    /// A raw MIDI device.
    MidiRaw {
        /// Its file.
        path: PathBuf,
        /// How fast it sends.
        rate: Rate,
    },
    /// Messages by a sound server.
    JackMidi {
        /// The client that gets them; `None` for none: other programs connect the port.
        target: Option<String>,
    },
    /// Audio by a sound server.
    JackAudio {
        /// Samples of a frame.
        channels: u16,
        /// As above.
        target: Option<String>,
    },
    /// Datagrams to a peer.
    Udp {
        /// Where they go.
        peer: Peer,
        /// Whether the kernel holds them until their times.
        by_kernel: bool,
    },
    /// A universe of lights by streaming ACN.
    Sacn(Universe),
    /// A universe of lights by Art-Net.
    ArtNet(Universe),
    /// Frames in a window of an X11 display.
    Picture(Place),
}

impl DeviceSpec {
    /// The forms of the text, each with its meaning.
    pub const FORMS: [(&str, &str); 9] = [
        ("measure", "Takes any bytes, and shows the error against due times."),
        (
            "midi-pty[:RATE][,link=PATH]",
            "A MIDI cable that another program reads from a pseudo-terminal. RATE is bits a second (default 31250) or `unpaced`.",
        ),
        ("midi-raw:PATH[,RATE]", "A raw MIDI device, e.g. /dev/snd/midiC0D0 (default `unpaced`)."),
        ("jack-midi[:CLIENT]", "A MIDI port at PipeWire or JACK, connected with CLIENT."),
        ("jack-audio:CHANNELS[@CLIENT]", "Audio ports at PipeWire or JACK, connected with CLIENT."),
        (
            "udp:HOST:PORT[,txtime]",
            "Each item is a datagram; with `txtime`, the kernel holds it until its time.",
        ),
        ("sacn:UNIVERSE[@HOST]", "DMX512 values by streaming ACN, to a group or a host."),
        ("artnet:UNIVERSE@HOST", "DMX512 values by Art-Net."),
        (
            "picture:DISPLAY[,WIDTHxHEIGHT]",
            "Frames in a window of an X11 display of this machine, e.g. :0 (default: the whole screen).",
        ),
    ];

    /// Opens the device.
    ///
    /// # Errors
    /// It does not exist, or cannot be used.
    pub fn open(&self, name: &str) -> Result<Box<dyn Sink>, OpenError> {
        let unusable = |error: &dyn fmt::Display| OpenError::Unusable(error.to_string());
        let system = |what: &str, error: SysError| OpenError::System {
            what: what.to_owned(),
            error: error.errno.into(),
        };
        Ok(match self {
            Self::Measure => Box::new(Measure),
            Self::MidiPty { rate, link } => {
                let port = PtyPort::open(link.as_deref()).map_err(|error| unusable(&error))?;
                Box::new(MidiLine::new(port, *rate))
            }
            Self::MidiRaw { path, rate } => {
                let port = RawPort::open(path).map_err(|error| unusable(&error))?;
                Box::new(MidiLine::new(port, *rate).silenced())
            }
            Self::JackMidi { target } => open_jack(name, Content::Midi, target)?,
            Self::JackAudio { channels, target } => {
                open_jack(name, Content::Audio { channels: *channels }, target)?
            }
            Self::Udp { peer, by_kernel: true } => {
                let to = peer.resolve().map_err(|error| unusable(&error))?;
                Box::new(ScheduledDatagrams::open(to).map_err(|error| unusable(&error))?)
            }
            Self::Udp { peer, by_kernel: false } => {
                let to = peer.resolve().map_err(|error| unusable(&error))?;
                Box::new(Datagrams::open(to).map_err(|error| system("socket", error))?)
            }
            Self::Sacn(universe) | Self::ArtNet(universe) => {
                let to = universe.resolve().map_err(|error| unusable(&error))?;
                let identifier = sacn::random_identifier().map_err(|error| OpenError::System {
                    what: "/dev/urandom".to_owned(),
                    error,
                })?;
                let source = format!("tactus {name}");
                let lights = Lights::open(universe, to, &source, identifier);
                Box::new(lights.map_err(|error| system("socket", error))?)
            }
            Self::Picture(place) => {
                let title = format!("tactus {name}");
                Box::new(Picture::open(place, &title).map_err(|error| unusable(&error))?)
            }
        })
    }
}

fn open_jack(
    device: &str,
    content: Content,
    target: &Option<String>,
) -> Result<Box<dyn Sink>, OpenError> {
    let ports = Ports { content, name: format!("tactus-{device}"), target: target.clone() };
    let opened = Jack::open(&ports).map_err(|error| OpenError::Unusable(error.to_string()))?;
    Ok(Box::new(opened))
}

/// Why a text is not a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDevice {
    /// It has no name.
    #[error("`{0}` is not NAME=SPEC, e.g. null=measure")]
    NoName(String),
    /// The name is not one.
    #[error("`{0}` is not the name of a device: 1 to {NAME_BYTES_MOST} bytes without white space")]
    Name(String),
    /// There are no such devices.
    #[error("there are no devices `{kind}`{}; possible: {}", hint(kind), forms())]
    Kind {
        /// What was given.
        kind: String,
    },
    /// Its details are wrong.
    #[error("`{spec}`: {reason}")]
    Details {
        /// What was given.
        spec: String,
        /// What is wrong with it.
        reason: String,
    },
}

fn kinds() -> impl Iterator<Item = &'static str> {
    DeviceSpec::FORMS.iter().map(|(form, _)| form.split([':', '[']).next().unwrap_or(form))
}

fn hint(kind: &str) -> String {
    let kinds: Vec<&str> = kinds().collect();
    nearest(kind, &kinds).map(|kind| format!(" (did you mean `{kind}`?)")).unwrap_or_default()
}

fn forms() -> String {
    DeviceSpec::FORMS.map(|(form, _)| form).join(", ")
}

impl FromStr for DeviceSpec {
    type Err = BadDevice;

    fn from_str(text: &str) -> Result<Self, BadDevice> {
        // Details of which the first has a default may begin with the second: `midi-pty,link=PATH`.
        let (kind, details) = match text.split_once([':', ',']) {
            Some((kind, details)) => (kind, Some(details)),
            None => (text, None),
        };
        if !kinds().any(|known| known == kind) {
            return Err(BadDevice::Kind { kind: kind.to_owned() });
        }
        parse(kind, details).map_err(|reason| BadDevice::Details { spec: text.to_owned(), reason })
    }
}

/// Parses what follows a kind that exists.
fn parse(kind: &str, details: Option<&str>) -> Result<DeviceSpec, String> {
    let needed = || details.ok_or_else(|| format!("write {}", form(kind)));
    Ok(match kind {
        "midi-pty" => {
            let (mut rate, mut link) = (Rate::MIDI, None);
            for option in details.into_iter().flat_map(|details| details.split(',')) {
                match option.strip_prefix("link=") {
                    Some(path) => link = Some(absolute(path)?),
                    None => rate = option.parse().map_err(|error: NotARate| error.to_string())?,
                }
            }
            DeviceSpec::MidiPty { rate, link }
        }
        "midi-raw" => {
            let (path, rate) = match needed()?.split_once(',') {
                Some((path, rate)) => {
                    (path, rate.parse().map_err(|error: NotARate| error.to_string())?)
                }
                None => (needed()?, Rate::Unpaced),
            };
            DeviceSpec::MidiRaw { path: absolute(path)?, rate }
        }
        "jack-midi" => DeviceSpec::JackMidi { target: details.map(target).transpose()? },
        "jack-audio" => {
            let (channels, client) = match needed()?.split_once('@') {
                Some((channels, client)) => (channels, Some(target(client)?)),
                None => (needed()?, None),
            };
            let parsed = channels.parse().ok();
            let channels = parsed.filter(|channels| (1..=CHANNELS_MOST).contains(channels));
            let channels =
                channels.ok_or_else(|| format!("write 1 to {CHANNELS_MOST} channels"))?;
            DeviceSpec::JackAudio { channels, target: client }
        }
        "udp" => {
            let (peer, by_kernel) = match needed()?.strip_suffix(",txtime") {
                Some(peer) => (peer, true),
                None => (needed()?, false),
            };
            let peer = peer.parse().map_err(|error: NotAPeer| error.to_string())?;
            DeviceSpec::Udp { peer, by_kernel }
        }
        "sacn" => DeviceSpec::Sacn(universe(Protocol::Sacn, needed()?)?),
        "artnet" => DeviceSpec::ArtNet(universe(Protocol::ArtNet, needed()?)?),
        "picture" => {
            let place = needed()?.parse();
            DeviceSpec::Picture(place.map_err(|error: NotAPlace| error.to_string())?)
        }
        _ if details.is_some() => return Err(format!("nothing follows `{kind}`")),
        _ => DeviceSpec::Measure,
    })
}

/// The name of a client of a sound server.
fn target(name: &str) -> Result<String, String> {
    let fits = !name.is_empty() && !name.contains(':');
    if fits { Ok(name.to_owned()) } else { Err(format!("`{name}` is not the name of a client")) }
}

fn universe(protocol: Protocol, text: &str) -> Result<Universe, String> {
    Universe::parse(protocol, text).map_err(|error| error.to_string())
}

/// A path that does not depend on where the server starts.
fn absolute(path: &str) -> Result<PathBuf, String> {
    if path.starts_with('/') {
        Ok(path.into())
    } else {
        Err(format!("`{path}` is not a whole path"))
    }
}

/// The form of a kind.
fn form(kind: &str) -> &'static str {
    let found = DeviceSpec::FORMS.iter().zip(kinds()).find(|(_, known)| *known == kind);
    found.map_or("", |((form, _), _)| form)
}

impl fmt::Display for DeviceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Measure => f.write_str("measure"),
            Self::MidiPty { rate, link } => {
                write!(f, "midi-pty:{rate}")?;
                link.as_ref().map_or(Ok(()), |link| write!(f, ",link={}", link.display()))
            }
            Self::MidiRaw { path, rate } => write!(f, "midi-raw:{},{rate}", path.display()),
            Self::JackMidi { target: None } => f.write_str("jack-midi"),
            Self::JackMidi { target: Some(target) } => write!(f, "jack-midi:{target}"),
            Self::JackAudio { channels, target } => {
                write!(f, "jack-audio:{channels}")?;
                target.as_ref().map_or(Ok(()), |target| write!(f, "@{target}"))
            }
            Self::Udp { peer, by_kernel } => {
                write!(f, "udp:{peer}{}", if *by_kernel { ",txtime" } else { "" })
            }
            Self::Sacn(universe) => write!(f, "sacn:{universe}"),
            Self::ArtNet(universe) => write!(f, "artnet:{universe}"),
            Self::Picture(place) => write!(f, "picture:{place}"),
        }
    }
}

impl FromStr for NamedDevice {
    type Err = BadDevice;

    fn from_str(text: &str) -> Result<Self, BadDevice> {
        let (name, spec) = text.split_once('=').ok_or(BadDevice::NoName(text.to_owned()))?;
        if !is_name(name) {
            return Err(BadDevice::Name(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), spec: spec.parse()? })
    }
}

impl fmt::Display for NamedDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_a_text_and_bad_ones_are_explained() {
        for text in [
            "null=measure",
            "piano-1=measure",
            "synth=midi-pty:31250",
            "synth=midi-pty:unpaced,link=/run/tactus/synth",
            "synth=midi-raw:/dev/snd/midiC0D0,unpaced",
            "synth=jack-midi",
            "synth=jack-midi:Midi Through",
            "speakers=jack-audio:2",
            "speakers=jack-audio:2@quiet",
            "peer=udp:[::1]:9000",
            "peer=udp:localhost:9000,txtime",
            "stage=sacn:1",
            "stage=artnet:1@192.0.2.7",
            "left=picture::1",
            "left=picture:host:1.0,640x480",
        ] {
            let device: NamedDevice = text.parse().unwrap();
            assert_eq!(device.to_string(), text);
        }
        let refused = |text: &str| text.parse::<NamedDevice>().unwrap_err().to_string();
        for (text, said) in [
            ("measure", "`measure` is not NAME=SPEC, e.g. null=measure"),
            ("a b=measure", "`a b` is not the name of a device: 1 to 64 bytes without white space"),
            ("a=measure:1", "`measure:1`: nothing follows `measure`"),
            ("a=jack-audio:0", "`jack-audio:0`: write 1 to 64 channels"),
            ("a=jack-midi:", "`jack-midi:`: `` is not the name of a client"),
            ("a=midi-raw", "`midi-raw`: write midi-raw:PATH[,RATE]"),
            ("a=midi-raw:x", "`midi-raw:x`: `x` is not a whole path"),
            ("a=picture", "`picture`: write picture:DISPLAY[,WIDTHxHEIGHT]"),
            ("a=picture::0,9", "`picture::0,9`: `9` is not WIDTHxHEIGHT, e.g. 1280x720"),
            ("a=picture:0", "`picture:0`: `0` is not an X11 display, e.g. :0"),
            ("a=midi-pty:link=x", "`midi-pty:link=x`: `x` is not a whole path"),
        ] {
            assert_eq!(refused(text), said);
        }
        assert_eq!("a=midi-pty".parse(), "a=midi-pty:31250".parse::<NamedDevice>());
        assert_eq!("a=midi-pty,link=/x".parse(), "a=midi-pty:31250,link=/x".parse::<NamedDevice>());
        assert!(refused("a=midi-pty:9").contains("`9` is not a rate"));
        assert!(refused("a=udp:x").contains("`x` is not HOST:PORT"));
        assert!(refused("a=mesure").contains("(did you mean `measure`?)"));
    }
}
