//! Devices of a sound server: PipeWire or JACK.
//!
//! ```text
//! thread of the device ──► rings ──► thread of the sound server: timetable ──► ports
//!          ▲                                      │
//!          └────────────── rings ◄────────────────┘
//! ```
//!
//! The sound server asks for the frames of a cycle before they are heard, and counts them by the
//! clock of its device. An item comes out at the first frame that is not before its time.

mod machine;
pub mod timetable;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tactus_delivery::device::Delivery;
use tactus_delivery::item::{ClientId, Item, Moment, Place};
use tactus_delivery::receipt::Evidence;
use tactus_midi::{Message, Sounding, silence_everything};
use tactus_model::time::Nanos;
use tactus_sound::{Connector, SoundError};
use tactus_stream::Format;

use super::now;
use crate::sink::{HandedOver, Payload, Sink};
use machine::{Command, Connection};
use timetable::{Entry, ITEMS_MOST};

pub use tactus_sound::ports::CHANNELS_MOST;

/// What comes out of the ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Messages.
    Midi,
    /// Samples.
    Audio {
        /// The channels, each with a port.
        channels: u16,
    },
}

/// A client of the sound server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports {
    /// What comes out.
    pub content: Content,
    /// The name of the client.
    pub name: String,
    /// The client whose inputs the ports are connected with, in their order; `None` for none:
    /// other programs connect them.
    pub target: Option<String>,
}

/// How often an idle sink looks whether the sound server is still there.
const LOOK: Nanos = Nanos::from_millis(500);
/// After how long an item that came to its end is given up: the sound server does not run.
const PATIENCE: Nanos = Nanos::from_secs(2);
/// How long a sink that ends waits for its last messages.
const LAST_STEPS: u32 = 200;
const LAST_STEP: Duration = Duration::from_millis(5);

/// Hands items over to the sound server ahead of their times. If that ends, items fail until it
/// is back.
pub struct Jack {
    content: Content,
    lead: Nanos,
    /// How long a cycle lasts.
    cycle: Nanos,
    rate: u32,
    connection: Option<Connection>,
    connector: Connector<Connection>,
    /// The items that the sound server has, each with the time after which it is given up.
    in_flight: BTreeMap<Place, Moment>,
    sounding: BTreeMap<ClientId, Sounding>,
    /// When the last message of all is due, so that ends come after what they end.
    latest: Moment,
    /// What must be sent before the next item.
    owed: VecDeque<Command>,
    /// When the sink was last asked to settle.
    looked: Moment,
    ended: Vec<(Place, Delivery)>,
}

impl Jack {
    /// Opens a client of the sound server of this user, and waits for the server.
    ///
    /// # Errors
    /// There is no server or no library, or the target has no such inputs.
    pub fn open(ports: &Ports) -> Result<Self, SoundError> {
        let (connection, again) = (Connection::open(ports)?, ports.clone());
        let (rate, frames) = connection.rate_and_frames();
        let owed = match ports.content {
            Content::Midi => everything().collect(),
            Content::Audio { .. } => VecDeque::new(),
        };
        let cycle = Nanos::from_nanos(u64::from(frames) * 1_000_000_000 / u64::from(rate.max(1)));
        Ok(Self {
            content: ports.content,
            // The server asks at the beginning of a cycle, and for a cycle.
            lead: cycle.saturating_mul(2) + Nanos::from_millis(1),
            cycle: cycle.max(Nanos::from_millis(1)),
            rate,
            connection: Some(connection),
            connector: Connector::start(move || Connection::open(&again).ok())?,
            in_flight: BTreeMap::new(),
            sounding: BTreeMap::new(),
            latest: Moment::from_nanos(0),
            owed,
            looked: now(),
            ended: Vec::new(),
        })
    }

    /// How long an item plays.
    fn length(&self, payload: &[u8]) -> Nanos {
        match self.content {
            Content::Midi => Nanos::ZERO,
            Content::Audio { channels } => {
                let frame = usize::from(channels.max(1)) * size_of::<f32>();
                let frames = (payload.len() / frame) as u64;
                Nanos::from_nanos(frames * 1_000_000_000 / u64::from(self.rate.max(1)))
            }
        }
    }

    /// Sends what is owed, takes what has ended, and looks whether the server is there.
    fn turn(&mut self) {
        self.looked = now();
        let Some(connection) = &mut self.connection else {
            self.connection = self.connector.connected();
            return;
        };
        let (in_flight, ended) = (&mut self.in_flight, &mut self.ended);
        connection.take(|done| {
            // What was given up has its receipt.
            let place = done.place.filter(|place| in_flight.remove(place).is_some());
            ended.extend(place.map(|place| (place, done.delivery)));
        });
        while let Some(command) = self.owed.pop_front() {
            if let Err(command) = connection.send(command) {
                self.owed.push_front(command);
                break;
            }
        }
        if connection.is_shut_down() {
            let gone = self.connection.take();
            self.connector.reconnect(gone);
            self.give_up(|_| true);
            self.sounding.clear();
            self.owed.clear();
            if self.content == Content::Midi {
                self.owed.extend(everything());
            }
        } else {
            let looked = self.looked;
            self.give_up(|until| until < looked);
        }
    }

    /// Ends items without knowing what became of them.
    fn give_up(&mut self, is_lost: impl Fn(Moment) -> bool) {
        let at = self.looked;
        let lost = Delivery { evidence: Evidence::None, ..Delivery::by_call(at, at, true) };
        let ended = &mut self.ended;
        self.in_flight.retain(|place, until| {
            let is_lost = is_lost(*until);
            if is_lost {
                ended.push((*place, lost));
            }
            !is_lost
        });
    }

    fn silence_all(&mut self) {
        let clients: Vec<ClientId> = self.sounding.keys().copied().collect();
        clients.into_iter().for_each(|client| self.client_left(client));
    }
}

/// Ends what a connection that is gone may have left sounding.
fn everything() -> impl Iterator<Item = Command> {
    silence_everything().map(|message| ends(&message, Moment::from_nanos(0)))
}

/// Sends a message of the sink itself.
fn ends(message: &Message, due: Moment) -> Command {
    Command::Add(Entry { place: None, due, payload: message.bytes().into() })
}

impl Sink for Jack {
    fn format(&self) -> Format {
        match self.content {
            Content::Midi => Format::Midi,
            Content::Audio { channels } => Format::Audio { channels },
        }
    }

    fn lead(&self) -> Nanos {
        self.lead
    }

    fn address(&self) -> Option<String> {
        self.connection.as_ref().map(Connection::name)
    }

    fn ready_from(&self) -> Moment {
        let waits = self.in_flight.len() >= ITEMS_MOST || !self.owed.is_empty();
        let is_up = self.connection.is_some();
        if waits && is_up { self.looked + self.cycle } else { Moment::from_nanos(0) }
    }

    fn next_turn(&self) -> Option<Moment> {
        if !self.ended.is_empty() {
            return Some(self.looked);
        }
        let is_busy = !self.in_flight.is_empty() || !self.owed.is_empty();
        let pause = if is_busy && self.connection.is_some() { self.cycle } else { LOOK };
        Some(self.looked + pause)
    }

    fn hand_over(&mut self, item: &Item<Payload>) -> HandedOver {
        let began = now();
        let place = item.place();
        let entry = Entry { place: Some(place), due: item.due, payload: item.payload.clone() };
        let sent = self.connection.as_mut().map(|connection| connection.send(Command::Add(entry)));
        if !matches!(sent, Some(Ok(()))) {
            return HandedOver::Done(Delivery::by_call(began, now(), false));
        }
        let until = item.due.max(began) + self.length(&item.payload) + self.lead + PATIENCE;
        self.in_flight.insert(place, until);
        self.latest = self.latest.max(item.due);
        if self.content == Content::Midi
            && let Some(message) = Message::new(&item.payload)
        {
            self.sounding.entry(item.client).or_default().follow(&message);
        }
        HandedOver::Pending
    }

    fn settled(&mut self, found: &mut dyn FnMut(Place, Delivery)) {
        self.turn();
        self.ended.drain(..).for_each(|(place, delivery)| found(place, delivery));
    }

    fn client_left(&mut self, client: ClientId) {
        if let Content::Audio { .. } = self.content {
            self.owed.push_back(Command::Silence(client));
        }
        let Some(mut left) = self.sounding.remove(&client) else { return };
        self.sounding.values().for_each(|other| left.exclude(other));
        let due = self.latest;
        self.owed.extend(left.silence().iter().map(|message| ends(message, due)));
    }
}

/// Silences messages; audio is cut.
impl Drop for Jack {
    fn drop(&mut self) {
        if self.content != Content::Midi {
            return;
        }
        self.silence_all();
        for _ in 0..LAST_STEPS {
            self.turn();
            let is_quiet = self.connection.as_ref().is_none_or(Connection::is_quiet);
            if self.owed.is_empty() && is_quiet {
                break;
            }
            std::thread::sleep(LAST_STEP);
        }
    }
}
