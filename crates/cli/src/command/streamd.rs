//! `tactus streamd`: the delivery server.

mod doors;

use std::io::ErrorKind;
use std::path::PathBuf;

use clap::Args;
use tactus_app::Error;
use tactus_model::format;
use tactus_model::policy::Scheduling;
use tactus_model::time::Nanos;
use tactus_stream::{DeviceInfo, SOCKET};
use tactus_streamd::inputs::{Inputs, NamedInput};
use tactus_streamd::{DeviceSpec, NamedDevice, Options, Pace, SPIN_MOST, Settings, StartError};
use tactus_sys::process::effective_user;

use self::doors::Doors;
use crate::error::{CommandError, CommandResult};
use crate::quietness::Quietness;
use crate::signals;
use crate::terminal::{say, shortfall_text};

/// Deliver items of programs at their times, and answer each by a receipt (delivery server).
///
/// Programs connect to a socket and submit items ahead of their times, for devices that this command
/// names. The server delivers each item at its time and answers it: when it was due, when its
/// delivery began and ended, the outcome, and how far the times can be trusted. If a program is
/// killed, its items are dropped and what it left sounding is silenced. docs/streams.md describes
/// devices, clients and the protocol.
///
/// It needs root, CAP_SYS_NICE or a limit RLIMIT_RTPRIO for its priority; without it, the server
/// serves with the best policy that is permitted, and says so.
///
/// Doors let in programs that are not clients: --osc takes Open Sound Control over UDP, --lines JSON
/// lines over a local socket, and --lsl shows deliveries to the Lab Streaming Layer.
///
/// Example: tactus streamd --device null=measure --osc 7770
#[derive(Args)]
pub(crate) struct StreamdArguments {
    /// Socket to listen at, unless systemd passes one
    #[arg(long, value_name = "PATH", default_value = SOCKET)]
    socket: PathBuf,
    /// Device by the name by which programs open it; several are possible
    #[arg(long = "device", value_name = "NAME=SPEC", required = true, long_help = devices_help())]
    devices: Vec<NamedDevice>,
    /// MIDI input by the name by which programs listen to it: pty, pty:LINK, the path of a device, jack, or jack:CLIENT; several are possible
    #[arg(long = "input", value_name = "NAME=PORT")]
    inputs: Vec<NamedInput>,
    /// Policy of the threads that deliver; the thread that serves programs has the next lower priority
    #[arg(long, value_name = "POLICY", default_value = "fifo:80")]
    policy: Scheduling,
    /// How far ahead of the present an item may be due
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = horizon)]
    horizon: Nanos,
    /// Watch the clock instead of sleeping this long before each item: at most 1ms; it takes as much CPU time
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = spin)]
    spin: Nanos,
    #[command(flatten)]
    doors: Doors,
    #[command(flatten)]
    quietness: Quietness,
}

fn devices_help() -> String {
    let first = "Device by the name by which programs open it; several are possible\n";
    let forms = DeviceSpec::FORMS.map(|(form, meaning)| format!("\n{form}: {meaning}"));
    [first, &forms.concat()].concat()
}

/// The longest horizon: what waits is bounded by the items of a client, not by this.
const HORIZON_MOST: Nanos = Nanos::from_secs(3600);

fn horizon(text: &str) -> Result<Nanos, String> {
    within(text, Nanos::from_millis(1), HORIZON_MOST)
}

fn spin(text: &str) -> Result<Nanos, String> {
    within(text, Nanos::ZERO, SPIN_MOST)
}

fn within(text: &str, least: Nanos, most: Nanos) -> Result<Nanos, String> {
    let length: Nanos = text.parse().map_err(|error| format!("{error}"))?;
    let fits = (least..=most).contains(&length);
    if fits { Ok(length) } else { Err(format!("{least} to {most} are possible")) }
}

pub(crate) fn run(arguments: StreamdArguments) -> CommandResult {
    let StreamdArguments { socket, devices, inputs, policy, horizon, spin, doors, quietness } =
        arguments;
    let settings = Settings { pace: Pace { policy, spin }, horizon };
    let options = Options { socket: socket.clone(), devices, settings };
    doors.check(&options.devices)?;
    let mut markers = Vec::new();
    let mark = |name: &str, sink| doors.mark(name, sink, &mut markers);
    let (mut server, is_activated) =
        tactus_streamd::start_observed(options, mark).map_err(not_started)?;
    if !inputs.is_empty() {
        let inputs = Inputs::open(&inputs, policy).map_err(not_started)?;
        for input in inputs.status() {
            quietness.note(format_args!("input {}: {}", input.name, input.spec));
        }
        server = server.with_inputs(inputs);
    }
    let handle = server.handle();
    signals::on_interrupt(move |_| handle.end())?;
    for shortfall in server.shortfalls() {
        say!("{}", shortfall_text(shortfall).trim_end());
    }
    let shown = match is_activated {
        true => "the socket that systemd passed".to_owned(),
        false => socket.display().to_string(),
    };
    let name = |device: &DeviceInfo| format!("{}={}", device.name, device.spec);
    let names: Vec<String> = server.devices().map(name).collect();
    let count = format::counted(names.len() as u64, "device");
    quietness.note(format_args!("serving {shown}; {count}: {}", names.join(", ")));
    // They close after the server has answered every item.
    let _open = doors.open(&socket, quietness)?;
    let served = server.run().map_err(CommandError::internal);
    for outlet in markers.iter().filter(|outlet| outlet.lost() > 0) {
        say!("LSL: {} deliveries have no marker: too many came at once.", outlet.lost());
    }
    served
}

fn not_started(error: StartError) -> CommandError {
    let kind = match error {
        StartError::NameTaken(_) | StartError::InputNameTaken(_) | StartError::Devices { .. } => {
            tactus_app::ErrorKind::Usage
        }
        _ => tactus_app::ErrorKind::Unavailable,
    };
    let hint = match &error {
        StartError::Socket { error, .. } if error.kind() == ErrorKind::AddrInUse => {
            Some("a server serves this socket already; end it, or choose another --socket")
        }
        StartError::Socket { .. } if effective_user() != 0 => {
            Some("as another user than root, choose --socket in a directory of yours")
        }
        _ => None,
    };
    let error = Error::new(kind, error);
    match hint {
        Some(hint) => error.with_hint(hint).into(),
        None => error.into(),
    }
}
