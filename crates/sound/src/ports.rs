//! Whose ports ours are connected with.

use std::fmt;

use tactus_sys::SysError;
use tactus_sys::jack::{Active, Client, Direction, Process};

use crate::error::SoundError;

/// The most channels of a device.
pub const CHANNELS_MOST: u16 = 64;

/// Whose ports ours are connected with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Peer {
    /// The device that the server prefers: speakers or a microphone.
    #[default]
    Device,
    /// A client of the server, by its name.
    Client(String),
    /// Nobody's: other programs connect them.
    Nobody,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device => f.write_str("the device of the sound server"),
            Self::Client(name) => write!(f, "`{name}`"),
            Self::Nobody => f.write_str("nobody"),
        }
    }
}

/// A client of the sound server to open, which plays or captures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSpec {
    /// Its name.
    pub name: String,
    /// The channels, each with a port: 1 to [`CHANNELS_MOST`].
    pub channels: u16,
    /// Who gets its sound, or whose sound it gets. The monitor of a sink belongs to the client of the
    /// sink.
    pub peer: Peer,
}

/// A client with a port for each channel.
pub(crate) struct Opened<P> {
    pub(crate) client: Client,
    pub(crate) ports: Vec<P>,
    /// The full names of the ports.
    pub(crate) names: Vec<String>,
}

impl ClientSpec {
    /// Opens it, with ports `prefix`_1 and so on.
    pub(crate) fn open<P>(
        &self,
        prefix: &str,
        port: impl Fn(&Client, &str) -> Result<P, SysError>,
        name: impl Fn(&P) -> &str,
    ) -> Result<Opened<P>, SoundError> {
        if !(1..=CHANNELS_MOST).contains(&self.channels) {
            return Err(SoundError::Channels(self.channels));
        }
        let client = Client::open(&self.name)?;
        let ports =
            (1..=self.channels).map(|channel| port(&client, &format!("{prefix}_{channel}")));
        let ports: Vec<P> = ports.collect::<Result<_, _>>()?;
        let names = ports.iter().map(|port| name(port).to_owned()).collect();
        Ok(Opened { client, ports, names })
    }
}

/// The longest latency of ports in frames, as the server reports it.
pub(crate) fn latency<P: Process>(
    active: &Active<P>,
    names: &[String],
    direction: Direction,
) -> u32 {
    names.iter().filter_map(|name| active.latency(name, direction)).max().unwrap_or(0)
}

/// Connects our outputs with the audio inputs of a peer, in their order. A peer with one input gets
/// all of them there; further outputs stay alone.
pub(crate) fn connect_outputs<P: Process>(
    active: &Active<P>,
    outputs: &[String],
    peer: &Peer,
) -> Result<(), SoundError> {
    let inputs = match peer {
        Peer::Device => active.device_inputs(),
        Peer::Client(name) => active.audio_inputs(&prefix(name)),
        Peer::Nobody => return Ok(()),
    };
    let pairs = pairs(outputs, &inputs, ["output device (sink)", "input for sound"], peer)?;
    each(pairs, |output, input| active.connect(output, input))
}

/// Connects the audio outputs of a peer with our inputs, in their order. A peer with one output
/// feeds all of them.
pub(crate) fn connect_inputs<P: Process>(
    active: &Active<P>,
    inputs: &[String],
    peer: &Peer,
) -> Result<(), SoundError> {
    let outputs = match peer {
        Peer::Device => active.device_outputs(),
        Peer::Client(name) => active.audio_outputs(&prefix(name)),
        Peer::Nobody => return Ok(()),
    };
    let pairs = pairs(inputs, &outputs, ["input device (microphone)", "output of sound"], peer)?;
    each(pairs, |input, output| active.connect(output, input))
}

fn prefix(client: &str) -> String {
    format!("{client}:")
}

/// The pairs of our ports and theirs. `missing` is what the server lacks for us if it has none, and what
/// a client does.
fn pairs<'p>(
    ours: &'p [String],
    theirs: &'p [String],
    missing: [&str; 2],
    peer: &Peer,
) -> Result<Vec<(&'p str, &'p str)>, SoundError> {
    let theirs = first_client(theirs);
    match theirs {
        [] => {
            let [of_server, of_client] = missing;
            let what = match peer {
                Peer::Client(name) => format!("`{name}` has no {of_client}, or is not there"),
                Peer::Device | Peer::Nobody => format!("the sound server has no {of_server}"),
            };
            Err(SoundError::Peer(what))
        }
        [only] => Ok(ours.iter().map(|port| (port.as_str(), only.as_str())).collect()),
        _ => Ok(ours.iter().map(String::as_str).zip(theirs.iter().map(String::as_str)).collect()),
    }
}

/// The ports of the first client: a machine may have several devices.
fn first_client(ports: &[String]) -> &[String] {
    let client = |port: &String| port.rsplit_once(':').map(|(client, _)| client.to_owned());
    let first = ports.first().map(client);
    let count = ports.iter().take_while(|port| Some(client(port)) == first).count();
    &ports[..count]
}

fn each(
    pairs: Vec<(&str, &str)>,
    connect: impl Fn(&str, &str) -> Result<(), SysError>,
) -> Result<(), SoundError> {
    pairs.into_iter().try_for_each(|(left, right)| connect(left, right)).map_err(SoundError::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ports_of_the_first_device_are_paired_in_their_order() {
        let names =
            |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let ours = names(&["p:out_1", "p:out_2"]);
        let paired = |theirs: &[&str]| {
            let theirs = names(theirs);
            let pairs = pairs(&ours, &theirs, ["sink", "input"], &Peer::Device);
            pairs.map(|pairs| pairs.iter().map(|(_, port)| (*port).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(paired(&["a: x:L", "a: x:R", "b:L"]).unwrap(), ["a: x:L", "a: x:R"]);
        assert_eq!(paired(&["a:M", "b:L", "b:R"]).unwrap(), ["a:M", "a:M"]);
        let error = paired(&[]).unwrap_err().to_string();
        assert_eq!(error, "the sound server has no sink");
    }
}
