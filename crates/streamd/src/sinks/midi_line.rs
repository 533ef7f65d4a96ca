//! A MIDI cable as a line of bytes.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;
use std::str::FromStr;

use tactus_delivery::device::Delivery;
use tactus_delivery::item::{ClientId, Item, Moment, Place};
use tactus_midi::message::END_OF_EXCLUSIVE;
use tactus_midi::{Message, RunningStatus, Sounding, silence_everything};
use tactus_model::time::Nanos;
use tactus_stream::Format;

use crate::sink::{HandedOver, Payload, Sink};

/// Where the bytes go.
pub trait Port: Send {
    /// Takes the first of these bytes, as many as there is room for: perhaps none. Never waits.
    ///
    /// # Errors
    /// The device is gone or broken.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Where a program finds the other end.
    fn address(&self) -> Option<String> {
        None
    }

    /// Waits until the last bytes have gone, but not for long: the line ends.
    fn finish(&mut self) {}

    /// The present.
    fn now(&self) -> Moment {
        super::now()
    }
}

/// How fast a line sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// So many bits a second, ten for each byte.
    Baud(u32),
    /// As fast as the device takes the bytes.
    Unpaced,
}

/// Why a text is not a [`Rate`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a rate: write {least} to {most} bits a second, or `unpaced`", least = Rate::LEAST, most = Rate::MOST)]
pub struct NotARate(String);

impl Rate {
    /// The rate of a MIDI cable.
    pub const MIDI: Self = Self::Baud(31_250);
    /// The lowest rate.
    pub const LEAST: u32 = 300;
    /// The highest rate.
    pub const MOST: u32 = 10_000_000;

    /// How long the line sends a byte.
    fn byte(self) -> Nanos {
        match self {
            Self::Baud(baud) => Nanos::from_nanos(10_000_000_000 / u64::from(baud.max(1))),
            Self::Unpaced => Nanos::ZERO,
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Baud(baud) => write!(f, "{baud}"),
            Self::Unpaced => f.write_str("unpaced"),
        }
    }
}

impl FromStr for Rate {
    type Err = NotARate;

    fn from_str(text: &str) -> Result<Self, NotARate> {
        if text == "unpaced" {
            return Ok(Self::Unpaced);
        }
        let baud = text.parse().ok().filter(|baud| (Self::LEAST..=Self::MOST).contains(baud));
        baud.map(Self::Baud).ok_or_else(|| NotARate(text.to_owned()))
    }
}

/// The most bytes that are written ahead of a paced line: 3.2 ms of a MIDI cable. Longer messages
/// are written in parts.
const PART: usize = 10;
/// How often a port without room is tried again.
const RETRY: Nanos = Nanos::from_millis(1);
/// How long a message may wait for room before it fails. Afterwards the line is stuck: every item
/// fails at once until there is room.
const PATIENCE: Nanos = Nanos::from_millis(100);

/// How often a line that is stuck is tried again for what is owed.
const RETRY_STUCK: Nanos = Nanos::from_millis(25);
/// How often, every millisecond, a line that ends tries to silence everything.
const LAST_TRIES: u32 = 200;

/// Sends messages on a cable, usually each with its status byte, and never begins one before the one
/// before it has ended.
///
/// It follows what each client lets sound, and ends that when the client leaves.
pub struct MidiLine<P: Port> {
    port: P,
    byte: Nanos,
    /// Leaves out status bytes, if so.
    running: Option<RunningStatus>,
    sounding: BTreeMap<ClientId, Sounding>,
    /// What is on the line.
    current: Option<Sending>,
    /// What must be sent before the next item: ends of what clients have left. Each ends a note
    /// that was sent, so it is no longer than what the clients can let sound.
    owed: VecDeque<Content>,
    /// An item that has ended and was not passed on yet.
    ended: Option<(Place, Delivery)>,
    /// When the bytes that were written have left the line.
    free: Moment,
    /// Since when the port has no room.
    full: Option<Moment>,
    /// When the port was last tried without success.
    tried: Moment,
}

/// What is sent as a unit.
enum Content {
    Message(Message),
    /// What ends a system exclusive message that is not completed.
    End,
}

struct Sending {
    content: Content,
    written: usize,
    began: Moment,
    /// The item, unless the line itself sends this.
    place: Option<Place>,
}

/// How far it got.
enum Progress {
    Whole,
    /// The rest follows.
    Part,
    /// The rest will never follow.
    Broken,
}

impl Content {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Message(message) => message.bytes(),
            Self::End => &[END_OF_EXCLUSIVE],
        }
    }
}

impl Sending {
    /// Whether a receiver waits for the end of a system exclusive message.
    fn is_open_exclusive(&self) -> bool {
        self.written > 0 && matches!(self.content, Content::Message(Message::Exclusive(_)))
    }
}

impl<P: Port> MidiLine<P> {
    /// A line with nothing on it.
    pub fn new(port: P, rate: Rate) -> Self {
        Self {
            port,
            byte: rate.byte(),
            running: None,
            sounding: BTreeMap::new(),
            current: None,
            owed: VecDeque::new(),
            ended: None,
            free: Moment::from_nanos(0),
            full: None,
            tried: Moment::from_nanos(0),
        }
    }

    /// The same line with running status: it sends up to a third fewer bytes, and a receiver that
    /// joins later understands nothing until the next status byte.
    #[must_use]
    pub fn with_running_status(mut self) -> Self {
        self.running = Some(RunningStatus::default());
        self
    }

    /// Ends first what a server that was killed may have left sounding.
    #[must_use]
    pub fn silenced(mut self) -> Self {
        self.owed.extend(silence_everything().map(Content::Message));
        self
    }

    /// Where the bytes go.
    pub const fn port(&self) -> &P {
        &self.port
    }

    /// Sends what can be sent now, until an item has ended.
    fn pump(&mut self) {
        while self.ended.is_none() && self.port.now() >= self.free {
            let Some(mut sending) = self.current.take().or_else(|| self.next_owed()) else {
                return;
            };
            match self.write(&mut sending) {
                Progress::Whole => self.whole(sending),
                Progress::Part => self.current = Some(sending),
                Progress::Broken => self.broken(sending),
            }
            if self.full.is_some() {
                return;
            }
        }
    }

    fn next_owed(&mut self) -> Option<Sending> {
        let content = self.owed.pop_front()?;
        Some(Sending { content, written: 0, began: self.port.now(), place: None })
    }

    /// Writes as much as may be written now.
    fn write(&mut self, sending: &mut Sending) -> Progress {
        let bytes = sending.content.bytes();
        let mut running = self.running.clone();
        let begin = match (&sending.content, &mut running) {
            (Content::Message(message), Some(running)) if sending.written == 0 => {
                bytes.len() - running.encode(message).len()
            }
            _ => sending.written,
        };
        let rest = &bytes[begin..];
        let most = if self.byte == Nanos::ZERO { rest.len() } else { rest.len().min(PART) };
        let before = self.port.now();
        match self.port.write(&rest[..most]) {
            Ok(0) => {
                self.tried = before;
                let since = *self.full.get_or_insert(before);
                if before - since >= PATIENCE { Progress::Broken } else { Progress::Part }
            }
            Ok(written) => {
                let is_whole = written == rest.len();
                self.full = None;
                self.free = before + self.byte.saturating_mul(written as u64);
                sending.written = begin + written;
                self.running = running;
                if is_whole { Progress::Whole } else { Progress::Part }
            }
            Err(_) => {
                // What is gone is as good as full for ever.
                self.tried = before;
                self.full = Some(Moment::from_nanos(0));
                Progress::Broken
            }
        }
    }

    fn whole(&mut self, sending: Sending) {
        let (Some(place), Content::Message(message)) = (sending.place, sending.content) else {
            return;
        };
        self.sounding.entry(place.client).or_default().follow(&message);
        self.ended = Some((place, Delivery::by_call(sending.began, self.port.now(), true)));
    }

    fn broken(&mut self, sending: Sending) {
        let is_open = sending.is_open_exclusive();
        // The receiver may have a part of it.
        self.running = self.running.take().map(|_| RunningStatus::default());
        match sending.place {
            // Nobody else ends what a client has left.
            None => self.owed.push_front(sending.content),
            Some(place) => {
                if is_open {
                    self.owed.push_front(Content::End);
                }
                self.ended =
                    Some((place, Delivery::by_call(sending.began, self.port.now(), false)));
            }
        }
    }

    /// Whether something must be sent before the next item.
    fn is_busy(&self) -> bool {
        self.current.is_some() || !self.owed.is_empty()
    }

    fn is_stuck(&self) -> bool {
        self.full.is_some_and(|since| self.tried - since >= PATIENCE)
    }

    /// When to go on with what is on the line.
    fn resumes(&self) -> Moment {
        match self.full {
            None => self.free,
            Some(_) if self.is_stuck() => self.tried + RETRY_STUCK,
            Some(_) => self.tried + RETRY,
        }
    }
}

impl<P: Port> Sink for MidiLine<P> {
    fn format(&self) -> Format {
        Format::Midi
    }

    fn address(&self) -> Option<String> {
        self.port.address()
    }

    fn ready_from(&self) -> Moment {
        // A stuck line takes items, which fail.
        let waits = self.is_busy() && !self.is_stuck();
        if waits { self.resumes().max(self.free) } else { self.free }
    }

    fn next_turn(&self) -> Option<Moment> {
        let ended = self.ended.map(|(_, delivery)| delivery.ended);
        ended.or_else(|| self.is_busy().then(|| self.resumes()))
    }

    fn hand_over(&mut self, item: &Item<Payload>) -> HandedOver {
        let began = self.port.now();
        self.pump();
        let message = Message::new(&item.payload);
        let (Some(message), false) = (message, self.is_busy() || self.ended.is_some()) else {
            return HandedOver::Done(Delivery::by_call(began, self.port.now(), false));
        };
        let content = Content::Message(message);
        self.current = Some(Sending { content, written: 0, began, place: Some(item.place()) });
        self.pump();
        match self.ended.take() {
            Some((_, delivery)) => HandedOver::Done(delivery),
            None => HandedOver::Pending,
        }
    }

    fn settled(&mut self, found: &mut dyn FnMut(Place, Delivery)) {
        self.pump();
        if let Some((place, delivery)) = self.ended.take() {
            found(place, delivery);
        }
    }

    fn client_left(&mut self, client: ClientId) {
        let is_theirs = |sending: &mut Sending| {
            sending.is_open_exclusive() && sending.place.is_some_and(|place| place.client == client)
        };
        if let Some(sending) = self.current.take_if(is_theirs) {
            self.broken(sending);
        }
        let Some(mut left) = self.sounding.remove(&client) else { return };
        self.sounding.values().for_each(|other| left.exclude(other));
        self.owed.extend(left.silence().into_iter().map(Content::Message));
    }
}

/// Silences everything, at the rate of the device.
impl<P: Port> Drop for MidiLine<P> {
    fn drop(&mut self) {
        let clients: Vec<ClientId> = self.sounding.keys().copied().collect();
        clients.into_iter().for_each(|client| self.client_left(client));
        self.byte = Nanos::ZERO;
        self.free = Moment::from_nanos(0);
        for _ in 0..LAST_TRIES {
            self.ended = None;
            self.pump();
            if !self.is_busy() || self.is_stuck() {
                break;
            }
            std::thread::sleep(RETRY.into());
        }
        self.port.finish();
    }
}

#[cfg(test)]
mod tests;
