//! Doors of the delivery server.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use tactus_app::{Error, ErrorKind};
use tactus_door::{lines, lsl, osc};
use tactus_model::format;
use tactus_model::text::UnknownWord;
use tactus_model::time::Nanos;
use tactus_stream::message::is_name;
use tactus_streamd::NamedDevice;
use tactus_streamd::sink::Sink;

use crate::error::CommandError;
use crate::quietness::Quietness;
use crate::terminal::say;

/// The options.
#[derive(Args)]
pub(super) struct Doors {
    /// Take Open Sound Control over UDP at this port of this machine, or at ADDRESS:PORT
    #[arg(long, value_name = "PORT", value_parser = address, help_heading = "Doors")]
    osc: Option<SocketAddr>,
    /// Take JSON lines at this local socket
    #[arg(long, value_name = "PATH", help_heading = "Doors")]
    lines: Option<PathBuf>,
    /// Show deliveries of a device as markers of the Lab Streaming Layer; several are possible
    #[arg(long, value_name = "NAME=DEVICE", help_heading = "Doors")]
    lsl: Vec<Outlet>,
}

/// An outlet of the Lab Streaming Layer.
#[derive(Clone, Debug)]
struct Outlet {
    name: String,
    device: String,
}

impl FromStr for Outlet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, device) =
            text.split_once('=').ok_or_else(|| "it is not NAME=DEVICE".to_owned())?;
        if !is_name(name) || !is_name(device) {
            return Err("a name has 1 to 64 bytes without white space".to_owned());
        }
        Ok(Self { name: name.to_owned(), device: device.to_owned() })
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse().map(|port: u16| (Ipv4Addr::LOCALHOST, port).into());
    port.or_else(|_| text.parse())
        .map_err(|_| "it is neither a port nor ADDRESS:PORT, such as 127.0.0.1:7770".to_owned())
}

/// Doors that are open. Dropping them closes them.
pub(super) type Open = (Option<osc::Door>, Option<lines::Door>);

impl Doors {
    /// Opens outlets for the devices that have one. The returned devices replace those.
    pub(super) fn mark(
        &self,
        name: &str,
        sink: Box<dyn Sink>,
        open: &mut Vec<lsl::Markers>,
    ) -> Result<Box<dyn Sink>, String> {
        self.lsl.iter().filter(|outlet| outlet.device == name).try_fold(sink, |sink, outlet| {
            let opened = lsl::Markers::open(&outlet.name, name, sink);
            let (markers, sink) =
                opened.map_err(|error| format!("LSL outlet `{}`: {error}", outlet.name))?;
            open.push(markers);
            Ok(sink)
        })
    }

    /// Checks that there is a device for each outlet.
    pub(super) fn check(&self, devices: &[NamedDevice]) -> Result<(), CommandError> {
        let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
        let absent = self.lsl.iter().find(|outlet| !names.contains(&outlet.device.as_str()));
        absent.map_or(Ok(()), |outlet| {
            let unknown = UnknownWord::new("device of --lsl", &outlet.device, &names);
            Err(Error::new(ErrorKind::Usage, unknown).into())
        })
    }

    /// Opens the doors of a server that listens at `server`.
    pub(super) fn open(&self, server: &Path, quietness: Quietness) -> Result<Open, CommandError> {
        let osc = self.osc.map(|address| {
            let options = osc::Options { address, server: server.to_owned() };
            let door = osc::Door::open(&options, say_event);
            let door = door.map_err(|error| failed(format_args!("UDP {address}"), error))?;
            quietness.note(format_args!("OSC at UDP {}", door.address()));
            Ok::<_, CommandError>(door)
        });
        let lines = self.lines.as_ref().map(|path| {
            let options = lines::Options { path: path.clone(), server: server.to_owned() };
            let door = lines::Door::open(&options);
            let door = door.map_err(|error| failed(format_args!("{}", path.display()), error))?;
            quietness.note(format_args!("JSON lines at {}", path.display()));
            Ok::<_, CommandError>(door)
        });
        Ok((osc.transpose()?, lines.transpose()?))
    }
}

fn failed(what: fmt::Arguments<'_>, error: io::Error) -> CommandError {
    Error::new(ErrorKind::Unavailable, format!("cannot listen at {what}: {error}")).into()
}

fn say_event(event: osc::Event) {
    match event {
        osc::Event::ClockJumped(nanos) => {
            let by = Nanos::from_nanos(nanos.unsigned_abs());
            let by = if by < Nanos::from_secs(1) { format::latency(by) } else { format::span(by) };
            let direction = if nanos < 0 { "back" } else { "forward" };
            say!(
                "OSC: the real-time clock was set {direction} by {by}. Items that wait keep their \
                 instants; later time tags follow the new clock."
            );
        }
        osc::Event::Losses(counts) => {
            let osc::Counts { over_rate, no_room, dropped, unsent, .. } = counts;
            say!(
                "OSC: lost since the start: {over_rate} datagrams over the rate of their host, \
                 {no_room} of too many hosts, {dropped} that came faster than they were read; \
                 {unsent} replies not sent."
            );
        }
        osc::Event::Refused { more, last } => {
            say!("OSC: {more} messages refused; the last: {}", format::printable(&last))
        }
        osc::Event::NoClient(reason) => say!("OSC: no item can be delivered: {reason}"),
    }
}
