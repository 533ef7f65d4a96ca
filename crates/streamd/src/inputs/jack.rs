//! Messages that other clients of a sound server send: JACK or PipeWire.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rtrb::{Consumer, Producer, RingBuffer};
use tactus_delivery::device_clock::DeviceClock;
use tactus_delivery::item::Moment;
use tactus_midi::{Parsed, Parser, Problem};
use tactus_model::time::Monotonic;
use tactus_sound::{Positions, SoundError};
use tactus_sys::clock;
use tactus_sys::jack::{Active, Client, Cycle, MidiInput, Process};
use tactus_sys::wait::Waker;

use super::Gone;

/// Bytes that wait to be read: two messages of the greatest length.
const BYTES: usize = 2 * Parser::LIMIT;

/// An input of the sound server, to which other clients connect their outputs.
///
/// A message has the time of its frame, by the clock of the server's device.
pub(super) struct JackInput {
    active: Active<Receiver>,
    name: String,
    bytes: Consumer<(u8, Moment)>,
    bell: Arc<Waker>,
    lost: Arc<AtomicU64>,
}

/// What the thread of the sound server uses.
struct Receiver {
    port: MidiInput,
    positions: Positions,
    clock: DeviceClock,
    bytes: Producer<(u8, Moment)>,
    bell: Arc<Waker>,
    lost: Arc<AtomicU64>,
}

impl Process for Receiver {
    fn process(&mut self, cycle: &Cycle<'_>) {
        let Self { port, positions, clock, bytes, bell, lost } = self;
        let now: Moment = clock::now::<Monotonic>();
        let position = tactus_sound::Cycle::read(cycle).map(|cycle| {
            let placed = positions.place(cycle);
            clock.observe(placed.position, placed.began);
            placed.position
        });
        let mut rings = false;
        cycle.midi_in(port, |frame, message| {
            rings = true;
            if bytes.slots() < message.len() {
                lost.fetch_add(message.len() as u64, Ordering::Relaxed);
                return;
            }
            let at = position.and_then(|position| clock.time_of(position + u64::from(frame)));
            for byte in message {
                // There is room.
                let _ = bytes.push((*byte, at.unwrap_or(now)));
            }
        });
        if rings {
            bell.wake();
        }
    }
}

impl JackInput {
    /// Opens a client of the sound server of this user, with one input that is connected to the
    /// first output of the client `source`, if one is named.
    pub(super) fn open(source: Option<&str>) -> Result<Self, SoundError> {
        let client = Client::open("tactus-input")?;
        let port = client.midi_input("in")?;
        let name = port.name().to_owned();
        let (producer, bytes) = RingBuffer::new(BYTES);
        let (bell, lost) = (Arc::new(Waker::new()?), Arc::<AtomicU64>::default());
        let clock = DeviceClock::new(client.sample_rate());
        let receiver = Receiver {
            port,
            positions: Positions::default(),
            clock,
            bytes: producer,
            bell: Arc::clone(&bell),
            lost: Arc::clone(&lost),
        };
        let active = client.activate(receiver)?;
        if let Some(source) = source {
            let outputs = active.midi_outputs(&format!("{source}:"));
            let output = outputs.first().ok_or_else(|| SoundError::Source(source.to_owned()))?;
            active.connect(output, &name)?;
        }
        Ok(Self { active, name, bytes, bell, lost })
    }

    /// The full name of the input.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// It can be read when messages have come.
    pub(super) fn bell(&self) -> &Waker {
        &self.bell
    }

    /// Passes on what has come. A message that had no room is reported as a problem.
    pub(super) fn read(
        &mut self,
        parser: &mut Parser,
        found: &mut dyn FnMut(Parsed),
    ) -> Result<(), Gone> {
        self.bell.clear();
        while let Ok((byte, at)) = self.bytes.pop() {
            parser.push(byte, at, &mut *found);
        }
        match self.lost.swap(0, Ordering::Relaxed) {
            0 => {}
            bytes => {
                let (problem, began) = (Problem::Lost { bytes }, clock::now::<Monotonic>());
                found(Parsed::Problem { problem, began });
            }
        }
        if self.active.is_shut_down() { Err(Gone::End) } else { Ok(()) }
    }
}

impl std::fmt::Debug for JackInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "JackInput({})", self.name)
    }
}
