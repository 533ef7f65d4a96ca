//! `tactus midi`: MIDI inputs and outputs.

mod devices;
mod monitor;
mod ports;
mod send;
mod thru;

use clap::{Args, Subcommand};

use crate::error::CommandResult;

/// List, monitor, route and send MIDI.
///
/// A port is a raw MIDI device (/dev/snd/midiC0D0), a serial line, a pseudo-terminal (`pty` makes one
/// and prints its other end, `pty:LINK` also makes a link to it), or a client of PipeWire or JACK
/// (`jack`; `jack:CLIENT` connects it to another client). docs/midi.md describes what the
/// time stamps mean.
///
/// Example: tactus midi monitor pty:/tmp/keys
#[derive(Args)]
pub(crate) struct MidiArguments {
    #[command(subcommand)]
    command: MidiCommand,
}

#[derive(Subcommand)]
enum MidiCommand {
    Devices(devices::DevicesArguments),
    Monitor(monitor::MonitorArguments),
    Thru(thru::ThruArguments),
    Send(send::SendArguments),
}

pub(crate) fn run(arguments: &MidiArguments) -> CommandResult {
    match &arguments.command {
        MidiCommand::Devices(arguments) => devices::run(arguments),
        MidiCommand::Monitor(arguments) => monitor::run(arguments),
        MidiCommand::Thru(arguments) => thru::run(arguments),
        MidiCommand::Send(arguments) => send::run(arguments),
    }
}
