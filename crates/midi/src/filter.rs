//! What passes between an input and an output, and how it is changed.

use std::fmt;
use std::str::FromStr;

use tactus_model::text::UnknownWord;

use crate::kind::{Kind, Kinds};
use crate::message::{Message, Short};

/// A set of channels: `1-4+10`, or `all`. System messages have no channel and always pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Channels(u16);

impl Channels {
    /// All channels.
    pub const ALL: Self = Self(0xFFFF);

    /// Whether a channel, 0 to 15, is in the set.
    pub const fn contains(self, channel: u8) -> bool {
        self.0 & (1 << (channel & 0x0F)) != 0
    }
}

/// Selects messages by channel and kind, transposes notes and moves channels: in this order.
///
/// Its text has the keys that differ from the filter that passes everything:
/// `channels=1-4+10,kinds=notes+bend,transpose=-12,move=1:10+2:11`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Filter {
    /// The channels that pass.
    pub channels: Channels,
    /// The kinds that pass.
    pub kinds: Kinds,
    /// Semitones by which notes and the pressure on keys move. A note that leaves the range of keys
    /// does not pass, nor does its end.
    pub transpose: i8,
    /// For each channel, the one on which its messages come out: 0 to 15.
    to: [u8; 16],
}

/// The channels by number.
const CHANNELS: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// The keys of the text of a filter.
const KEYS: [&str; 4] = ["channels", "kinds", "transpose", "move"];

impl Default for Filter {
    fn default() -> Self {
        Self::ALL
    }
}

impl Filter {
    /// Passes everything unchanged.
    pub const ALL: Self =
        Self { channels: Channels::ALL, kinds: Kinds::ALL, transpose: 0, to: CHANNELS };

    /// What comes out for a message, if it passes.
    pub fn apply(&self, message: &Message) -> Option<Message> {
        if !self.kinds.contain(message) {
            return None;
        }
        let Message::Short(short) = message else { return Some(message.clone()) };
        let Some(channel) = short.channel() else { return Some(message.clone()) };
        if !self.channels.contains(channel) {
            return None;
        }
        let mut bytes = [0; 3];
        let bytes = &mut bytes[..short.bytes().len()];
        bytes.copy_from_slice(short.bytes());
        if Kind::of(message) == Kind::Notes || short.status() & 0xF0 == 0xA0 {
            let key = i16::from(bytes[1]) + i16::from(self.transpose);
            bytes[1] = u8::try_from(key).ok().filter(|key| *key < 128)?;
        }
        bytes[0] = short.status() & 0xF0 | self.to[usize::from(channel)];
        Short::new(bytes).map(Message::Short)
    }
}

/// Why a text is not a filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAFilter {
    /// A key or a kind is not known.
    #[error(transparent)]
    Word(#[from] UnknownWord),
    /// A part is not a key and a value.
    #[error("`{0}` is not a part of a filter: write a key and a value, e.g. kinds=notes")]
    Part(String),
    /// The channels are wrong.
    #[error(transparent)]
    Channels(#[from] NotChannels),
    /// The transposition is wrong.
    #[error("`{0}` is not a transposition: write semitones from -127 to 127, e.g. transpose=-12")]
    Transpose(String),
    /// The moves are wrong.
    #[error("`{0}` is not a move of a channel: write FROM:TO from 1 to 16, e.g. move=1:10+2:11")]
    Move(String),
}

/// The error for a text that is not a set of channels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` are not channels: write numbers and ranges from 1 to 16, e.g. 1-4+10, or `all`")]
pub struct NotChannels(String);

impl FromStr for Channels {
    type Err = NotChannels;

    fn from_str(text: &str) -> Result<Self, NotChannels> {
        if text.eq_ignore_ascii_case("all") {
            return Ok(Self::ALL);
        }
        let wrong = || NotChannels(text.to_owned());
        let mut bits = 0;
        for part in text.split('+') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) =
                (channel(first).ok_or_else(wrong)?, channel(last).ok_or_else(wrong)?);
            if first > last {
                return Err(wrong());
            }
            bits |= (first..=last).fold(0, |bits, channel| bits | 1 << channel);
        }
        Ok(Self(bits))
    }
}

/// A channel from 0, of the text that counts from 1.
fn channel(text: &str) -> Option<u8> {
    let channel: u8 = text.trim().parse().ok()?;
    (1..=16).contains(&channel).then(|| channel - 1)
}

impl fmt::Display for Channels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ALL {
            return f.pad("all");
        }
        let mut parts = Vec::new();
        let mut rest = CHANNELS.into_iter().filter(|channel| self.contains(*channel)).peekable();
        while let Some(first) = rest.next() {
            let mut last = first;
            while rest.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            parts.push(match first == last {
                true => format!("{}", first + 1),
                false => format!("{}-{}", first + 1, last + 1),
            });
        }
        f.pad(&parts.join("+"))
    }
}

impl FromStr for Filter {
    type Err = NotAFilter;

    fn from_str(text: &str) -> Result<Self, NotAFilter> {
        let mut filter = Self::ALL;
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let Some((key, value)) = part.split_once('=') else {
                return Err(NotAFilter::Part(part.to_owned()));
            };
            match key.trim() {
                "channels" => filter.channels = value.parse()?,
                "kinds" => filter.kinds = value.parse()?,
                "transpose" => {
                    let semitones = value.parse().ok().filter(|semitones| *semitones != i8::MIN);
                    filter.transpose =
                        semitones.ok_or_else(|| NotAFilter::Transpose(value.to_owned()))?;
                }
                "move" => filter.to = moves(value)?,
                other => return Err(UnknownWord::new("key of a filter", other, &KEYS).into()),
            }
        }
        Ok(filter)
    }
}

fn moves(text: &str) -> Result<[u8; 16], NotAFilter> {
    let mut to = CHANNELS;
    for part in text.split('+') {
        let both = part.split_once(':').and_then(|(from, to)| Some((channel(from)?, channel(to)?)));
        let (from, other) = both.ok_or_else(|| NotAFilter::Move(part.to_owned()))?;
        to[usize::from(from)] = other;
    }
    Ok(to)
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.channels != Channels::ALL {
            parts.push(format!("channels={}", self.channels));
        }
        if self.kinds != Kinds::ALL {
            parts.push(format!("kinds={}", self.kinds));
        }
        if self.transpose != 0 {
            parts.push(format!("transpose={}", self.transpose));
        }
        let moved = CHANNELS.into_iter().zip(self.to).filter(|(from, to)| from != to);
        let moved: Vec<String> =
            moved.map(|(from, to)| format!("{}:{}", from + 1, to + 1)).collect();
        if !moved.is_empty() {
            parts.push(format!("move={}", moved.join("+")));
        }
        f.pad(&parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::message;

    fn filter(text: &str) -> Filter {
        text.parse().unwrap()
    }

    #[test]
    fn messages_are_selected_transposed_and_moved() {
        let out = |text: &str, message: &str| {
            let found = filter(text).apply(&message.parse().unwrap());
            found.map_or_else(|| "nothing".to_owned(), |message| message.to_string())
        };
        assert_eq!(out("", "note-on 1 60 100"), "note-on 1 60 100");
        assert_eq!(out("channels=2-3", "note-on 1 60 100"), "nothing");
        assert_eq!(out("channels=2-3", "clock"), "clock");
        assert_eq!(out("kinds=normal", "exclusive 01"), "nothing");
        assert_eq!(out("transpose=12", "note-on 1 60 100"), "note-on 1 72 100");
        assert_eq!(out("transpose=12", "key-pressure 1 60 100"), "key-pressure 1 72 100");
        assert_eq!(out("transpose=12", "controller 1 60 100"), "controller 1 60 100");
        assert_eq!(out("transpose=-61", "note-off 1 60 100"), "nothing");
        assert_eq!(out("transpose=127", "note-off 1 1 100"), "nothing");
        assert_eq!(out("move=1:10", "program 1 5"), "program 10 5");
        assert_eq!(out("channels=1,move=1:10+10:1", "program 10 5"), "nothing");
    }

    #[test]
    fn errors_name_the_part() {
        let said = |text: &str| text.parse::<Filter>().unwrap_err().to_string();
        assert!(said("chanels=1").contains("did you mean `channels`?"));
        assert!(said("kinds=note").contains("did you mean `notes`?"));
        assert!(said("kinds").contains("`kinds` is not a part of a filter"));
        assert!(said("channels=0").contains("`0` are not channels"));
        assert!(said("channels=4-2").contains("`4-2` are not channels"));
        assert!(said("transpose=200").contains("`200` is not a transposition"));
        assert!(said("move=1:17").contains("`1:17` is not a move"));
    }

    fn any_filter() -> impl Strategy<Value = Filter> {
        let to = prop::array::uniform16(0_u8..16);
        (1_u16.., 1_u8.., -127_i8..=127, to).prop_map(|(channels, kinds, transpose, to)| Filter {
            channels: Channels(channels),
            kinds: Kinds::from_bits(kinds),
            transpose,
            to,
        })
    }

    proptest! {
        #[test]
        fn the_text_of_a_filter_is_that_filter(filter in any_filter()) {
            prop_assert_eq!(filter.to_string().parse(), Ok(filter));
        }

        #[test]
        fn what_comes_out_is_of_the_same_kind(filter in any_filter(), message in message()) {
            if let Some(out) = filter.apply(&message) {
                prop_assert_eq!(Kind::of(&out), Kind::of(&message));
                prop_assert!(filter.kinds.contain(&message));
            }
        }

        #[test]
        fn the_filter_of_everything_changes_nothing(message in message()) {
            prop_assert_eq!(Filter::ALL.apply(&message), Some(message));
        }
    }
}
