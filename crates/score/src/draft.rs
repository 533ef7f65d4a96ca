//! What programs write: streams and drafts of items.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use tactus_delivery::format::DMX_CHANNELS;
use tactus_delivery::item::{BranchId, IfLate, StreamId};
use tactus_midi::Message;
use tactus_model::time::Nanos;

use crate::time::Time;

/// Why nothing can be delivered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotADraft {
    /// It is not one whole MIDI message.
    #[error(
        "{0:02x?} is not one whole MIDI message: keys, velocities and values are 0 to 127, channels 0 to 15"
    )]
    NotAMessage(Box<[u8]>),
    /// There is no such channel.
    #[error("DMX channel {0} does not exist: channels are 1 to {DMX_CHANNELS}")]
    Channel(usize),
}

/// Something to deliver, before it has a time: by [`Task::play`](crate::Task::play).
#[derive(Clone, Debug)]
#[must_use = "a draft does nothing until a task plays it"]
pub struct Draft {
    pub(crate) stream: StreamId,
    pub(crate) payload: Result<Rc<[u8]>, NotADraft>,
    pub(crate) at: Option<Time>,
    pub(crate) if_late: IfLate,
    pub(crate) ending: Option<(Nanos, Rc<[u8]>)>,
    pub(crate) label: Option<Rc<str>>,
}

impl Draft {
    fn new(stream: StreamId, payload: Result<Rc<[u8]>, NotADraft>) -> Self {
        Self { stream, payload, at: None, if_late: IfLate::Deliver, ending: None, label: None }
    }

    /// The same at a time; by default, at the logical time of the task. An item whose time has
    /// passed is late, and treated by its policy.
    pub const fn at(mut self, time: Time) -> Self {
        self.at = Some(time);
        self
    }

    /// The same with a policy for lateness; the default is [`IfLate::Deliver`].
    pub const fn if_late(mut self, policy: IfLate) -> Self {
        self.if_late = policy;
        self
    }

    /// The same note, which ends after this duration, or when its branch is cut. For a draft that
    /// has no end, such as a control change, this does nothing.
    pub fn lasting(mut self, length: Nanos) -> Self {
        self.ending = self.ending.map(|(_, end)| (length, end));
        self
    }

    /// The same with a name, which the [`Played`](crate::perform::Played) of its receipt has.
    pub fn named(mut self, label: &str) -> Self {
        self.label = Some(label.into());
        self
    }
}

/// How long a note lasts by default.
pub const NOTE: Nanos = Nanos::from_millis(100);

/// A stream of MIDI messages on one channel.
#[derive(Clone, Copy, Debug)]
pub struct Midi {
    pub(crate) stream: StreamId,
    channel: u8,
}

impl Midi {
    pub(crate) const fn new(stream: StreamId) -> Self {
        Self { stream, channel: 0 }
    }

    /// The same stream on another channel, 0 to 15.
    pub const fn channel(mut self, channel: u8) -> Self {
        self.channel = channel;
        self
    }

    /// A note, with its end: it lasts [`NOTE`] unless [`Draft::lasting`] changes that.
    pub fn note(self, key: u8, velocity: u8) -> Draft {
        let on = self.voice(0x90, &[key, velocity]);
        let end = Rc::from([0x80 | (self.channel & 0x0F), key & 0x7F, 0x40]);
        Draft { ending: Some((NOTE, end)), ..on }
    }

    /// The beginning of a note alone. It ends by [`Self::note_off`], when its branch is cut, or when
    /// its task has a problem.
    pub fn note_on(self, key: u8, velocity: u8) -> Draft {
        self.voice(0x90, &[key, velocity])
    }

    /// The end of a note alone.
    pub fn note_off(self, key: u8) -> Draft {
        self.voice(0x80, &[key, 0x40])
    }

    /// A control change.
    pub fn control(self, controller: u8, value: u8) -> Draft {
        self.voice(0xB0, &[controller, value])
    }

    /// A program change.
    pub fn program(self, program: u8) -> Draft {
        self.voice(0xC0, &[program])
    }

    /// Any message, whatever its channel.
    pub fn message(self, bytes: &[u8]) -> Draft {
        let whole = Message::new(bytes).map(|_| bytes.into());
        Draft::new(self.stream, whole.ok_or_else(|| NotADraft::NotAMessage(bytes.into())))
    }

    fn voice(self, status: u8, data: &[u8]) -> Draft {
        let mut bytes = [0; 3];
        // A channel beyond 15 must not become another kind of message.
        bytes[0] = if self.channel < 16 { status | self.channel } else { 0 };
        bytes[1..=data.len()].copy_from_slice(data);
        self.message(&bytes[..=data.len()])
    }
}

/// A stream of a DMX512 universe. Its copies share the values of the channels; a cut does not take
/// back values that were set for later.
#[derive(Clone, Debug)]
pub struct Dmx {
    stream: StreamId,
    values: Rc<RefCell<Vec<u8>>>,
}

impl Dmx {
    pub(crate) fn new(stream: StreamId) -> Self {
        Self { stream, values: Rc::default() }
    }

    /// Sets a channel, 1 to [`DMX_CHANNELS`]: the draft has the values of all channels up to the
    /// highest that was ever set.
    pub fn set(&self, channel: usize, value: u8) -> Draft {
        self.set_all(&[(channel, value)])
    }

    /// Sets several channels at once.
    pub fn set_all(&self, channels: &[(usize, u8)]) -> Draft {
        Draft::new(self.stream, self.changed(channels))
    }

    fn changed(&self, channels: &[(usize, u8)]) -> Result<Rc<[u8]>, NotADraft> {
        let wrong = channels.iter().find(|(channel, _)| !(1..=DMX_CHANNELS).contains(channel));
        if let Some((channel, _)) = wrong {
            return Err(NotADraft::Channel(*channel));
        }
        let mut values = self.values.borrow_mut();
        for (channel, value) in channels {
            let needed = values.len().max(*channel);
            values.resize(needed, 0);
            values[channel - 1] = *value;
        }
        Ok(values.as_slice().into())
    }
}

/// A stream of any bytes.
#[derive(Clone, Copy, Debug)]
pub struct Bytes {
    stream: StreamId,
}

impl Bytes {
    pub(crate) const fn new(stream: StreamId) -> Self {
        Self { stream }
    }

    /// These bytes.
    pub fn send(self, bytes: &[u8]) -> Draft {
        Draft::new(self.stream, Ok(bytes.into()))
    }
}

/// An item that a program has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its number among the items of the score, from 0.
    pub number: u64,
    /// Where it goes.
    pub stream: StreamId,
    /// The branch that it belongs to.
    pub branch: BranchId,
    /// When it is due.
    pub due: Time,
    /// What happens if it is late.
    pub if_late: IfLate,
    /// What is delivered.
    pub payload: Rc<[u8]>,
    /// Its name.
    pub label: Option<Rc<str>>,
}

/// What a program does to the outside, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// It writes an item.
    Item(Written),
    /// It cuts a branch: items of it that were written before and are due from then on are not
    /// delivered.
    Cut {
        /// The branch.
        branch: BranchId,
        /// From when on.
        at: Time,
    },
}

impl fmt::Display for Output {
    /// One line with everything that decides the delivery: two item streams are equal if these
    /// lines are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Item(Written { stream, branch, due, if_late, payload, .. }) => {
                let due = due.since_start().as_nanos();
                write!(f, "{due} stream {} branch {} {if_late:?}", stream.0, branch.0)?;
                payload.iter().try_for_each(|byte| write!(f, " {byte:02x}"))
            }
            Self::Cut { branch, at } => {
                write!(f, "{} cut branch {}", at.since_start().as_nanos(), branch.0)
            }
        }
    }
}
