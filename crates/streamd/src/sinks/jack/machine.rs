//! The connection with the sound server, and what its thread does.

use rtrb::{Consumer, Producer, PushError, RingBuffer};
use tactus_delivery::item::ClientId;
use tactus_sound::SoundError;
use tactus_sys::jack::{Active, AudioOutput, Client, Cycle, MidiOutput, Process};

use super::timetable::{Ended, Entry, ITEMS_MOST, Timetable};
use super::{Content, Ports};

/// What the thread of the sound server is asked for.
#[derive(Debug)]
pub(super) enum Command {
    /// Let this come out.
    Add(Entry),
    /// Drop what a client has.
    Silence(ClientId),
}

/// A client that takes part in the cycles.
pub(super) struct Connection {
    active: Active<Machine>,
    to: Producer<Command>,
    from: Consumer<Ended>,
    /// Entries that are at the other side.
    entries: usize,
}

impl Connection {
    pub(super) fn open(ports: &Ports) -> Result<Self, SoundError> {
        let client = Client::open(&ports.name)?;
        let rate = client.sample_rate();
        let (outputs, channels) = match ports.content {
            Content::Midi => (Outputs::Midi(client.midi_output("midi")?), 1),
            Content::Audio { channels } => {
                let names = (1..=channels).map(|channel| format!("out_{channel}"));
                let outputs: Result<_, _> = names.map(|name| client.audio_output(&name)).collect();
                (Outputs::Audio(outputs?), usize::from(channels))
            }
        };
        let names = outputs.names();
        let (to, commands) = RingBuffer::new(COMMANDS_MOST);
        let (results, from) = RingBuffer::new(ITEMS_MOST);
        let timetable = Timetable::new(channels, rate);
        let machine = Machine { timetable, outputs, commands, results };
        let active = client.activate(machine)?;
        if let Some(target) = &ports.target {
            let prefix = format!("{target}:");
            let inputs = match ports.content {
                Content::Midi => active.midi_inputs(&prefix),
                Content::Audio { .. } => active.audio_inputs(&prefix),
            };
            let (found, needed) = (inputs.len(), names.len());
            if found < needed {
                return Err(SoundError::Target { target: target.clone(), found, needed });
            }
            for (output, input) in names.iter().zip(&inputs) {
                active.connect(output, input)?;
            }
        }
        Ok(Self { active, to, from, entries: 0 })
    }

    pub(super) fn rate_and_frames(&self) -> (u32, u32) {
        let client = self.active.client();
        (client.sample_rate(), client.buffer_size())
    }

    pub(super) fn name(&self) -> String {
        self.active.client().name()
    }

    pub(super) fn is_shut_down(&self) -> bool {
        self.active.is_shut_down()
    }

    /// Whether the other side has nothing.
    pub(super) const fn is_quiet(&self) -> bool {
        self.entries == 0
    }

    /// Sends a command; returns it if there is no room.
    pub(super) fn send(&mut self, command: Command) -> Result<(), Command> {
        let is_entry = matches!(command, Command::Add(_));
        if is_entry && self.entries >= ITEMS_MOST {
            return Err(command);
        }
        self.to.push(command).map_err(|PushError::Full(command)| command)?;
        self.entries += usize::from(is_entry);
        Ok(())
    }

    /// Passes on what has ended. Its payload is freed here, and not by the other side.
    pub(super) fn take(&mut self, mut found: impl FnMut(Ended)) {
        while let Ok(ended) = self.from.pop() {
            self.entries -= 1;
            found(ended);
        }
    }
}

/// Room for all entries, and for clients that leave meanwhile.
const COMMANDS_MOST: usize = ITEMS_MOST + 64;

enum Outputs {
    Midi(MidiOutput),
    Audio(Vec<AudioOutput>),
}

impl Outputs {
    fn names(&self) -> Vec<String> {
        match self {
            Self::Midi(port) => vec![port.name().to_owned()],
            Self::Audio(ports) => ports.iter().map(|port| port.name().to_owned()).collect(),
        }
    }
}

/// Runs in the thread of the sound server.
struct Machine {
    timetable: Timetable,
    outputs: Outputs,
    commands: Consumer<Command>,
    results: Producer<Ended>,
}

impl Process for Machine {
    fn process(&mut self, cycle: &Cycle<'_>) {
        let Self { timetable, outputs, commands, results } = self;
        // There is room for each entry that the other side has sent.
        let mut ended = |done: Ended| results.push(done).unwrap_or(());
        if let Some(cycle) = tactus_sound::Cycle::read(cycle) {
            timetable.begin(cycle, &mut ended);
        }
        while timetable.has_room()
            && let Ok(command) = commands.pop()
        {
            match command {
                Command::Add(entry) => timetable.add(entry),
                Command::Silence(client) => timetable.silence(client, &mut ended),
            }
        }
        match outputs {
            Outputs::Midi(port) => {
                let mut writer = cycle.midi_out(port);
                timetable.write_messages(|frame, message| writer.write(frame, message).is_ok());
            }
            Outputs::Audio(ports) => {
                timetable.begin_audio();
                let mut has_buffer = true;
                for (channel, port) in ports.iter_mut().enumerate() {
                    let samples = cycle.audio_out(port);
                    has_buffer &= !samples.is_empty();
                    samples.fill(0.0);
                    timetable.mix(channel, samples);
                }
                timetable.end_audio(has_buffer, &mut ended);
            }
        }
    }
}
