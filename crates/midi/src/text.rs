//! The text of messages: `note-on 1 60 100`, or bytes in hexadecimal, `90 3c 64`.
//!
//! | text | message |
//! |---|---|
//! | `note-on CHANNEL KEY VELOCITY`, `note-off …` | a note begins or ends |
//! | `key-pressure CHANNEL KEY VALUE`, `pressure CHANNEL VALUE` | pressure on a key, on all keys |
//! | `controller CHANNEL NUMBER VALUE` | a controller moves |
//! | `program CHANNEL NUMBER` | another sound |
//! | `bend CHANNEL VALUE` | pitch bend, 0 to 16383; 8192 is the middle |
//! | `quarter-frame VALUE`, `song-position VALUE`, `song NUMBER`, `tune-request` | system common |
//! | `clock`, `start`, `continue`, `stop`, `active-sensing`, `reset` | system real-time |
//! | `exclusive BYTE…` | system exclusive: its data bytes in hexadecimal |
//!
//! Channels are 1 to 16, as on devices; other numbers are those of the bytes, from 0.

use std::fmt;
use std::str::FromStr;

use tactus_model::text::UnknownWord;

use crate::message::{END_OF_EXCLUSIVE, Message, SYSTEM_EXCLUSIVE, Short};

/// What follows the word of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Data {
    /// Nothing.
    Nothing,
    /// A number of 7 bits.
    One,
    /// Two numbers of 7 bits.
    Two,
    /// A number of 14 bits, its lower half first.
    Wide,
}

/// The words, each with the status byte of its message on channel 1 and what follows.
const WORDS: [(&str, u8, Data); 17] = [
    ("note-off", 0x80, Data::Two),
    ("note-on", 0x90, Data::Two),
    ("key-pressure", 0xA0, Data::Two),
    ("controller", 0xB0, Data::Two),
    ("program", 0xC0, Data::One),
    ("pressure", 0xD0, Data::One),
    ("bend", 0xE0, Data::Wide),
    ("quarter-frame", 0xF1, Data::One),
    ("song-position", 0xF2, Data::Wide),
    ("song", 0xF3, Data::One),
    ("tune-request", 0xF6, Data::Nothing),
    ("clock", 0xF8, Data::Nothing),
    ("start", 0xFA, Data::Nothing),
    ("continue", 0xFB, Data::Nothing),
    ("stop", 0xFC, Data::Nothing),
    ("active-sensing", 0xFE, Data::Nothing),
    ("reset", 0xFF, Data::Nothing),
];

const EXCLUSIVE: &str = "exclusive";

/// The most data bytes of a system exclusive message in a text.
const EXCLUSIVE_BYTES_MAX: usize = 64 << 10;

/// Why a text is not a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAMessage {
    /// Its first word is not known.
    #[error(transparent)]
    Word(#[from] UnknownWord),
    /// Too few or too many numbers follow the word.
    #[error("`{word}` needs {wanted}, and {given} numbers follow it")]
    Numbers {
        /// The word.
        word: &'static str,
        /// What follows the word.
        wanted: &'static str,
        /// How many numbers follow it.
        given: usize,
    },
    /// A number is outside its range.
    #[error("`{text}` is not {what} of `{word}`: {least} to {most} are possible")]
    Number {
        /// The word.
        word: &'static str,
        /// What the number is.
        what: &'static str,
        /// Its text.
        text: String,
        /// The least.
        least: u16,
        /// The most.
        most: u16,
    },
    /// Bytes in hexadecimal that are not one whole message.
    #[error("the bytes `{0}` are not one whole message")]
    Bytes(String),
    /// It is longer than a message may be.
    #[error("a system exclusive message in a text has at most {EXCLUSIVE_BYTES_MAX} data bytes")]
    TooLong,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short(short) => short.fmt(f),
            Self::Exclusive(bytes) => {
                f.write_str(EXCLUSIVE)?;
                let data = &bytes[1..bytes.len() - 1];
                data.iter().try_for_each(|byte| write!(f, " {byte:02x}"))
            }
        }
    }
}

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.channel().map_or(self.status(), |channel| self.status() - channel);
        let Some((word, _, data)) = WORDS.iter().find(|(_, status, _)| *status == first) else {
            return write!(f, "{:02x}", self.status());
        };
        f.write_str(word)?;
        if let Some(channel) = self.channel() {
            write!(f, " {}", channel + 1)?;
        }
        match (data, &self.bytes()[1..]) {
            (Data::Wide, &[low, high]) => write!(f, " {}", u16::from(high) << 7 | u16::from(low)),
            (_, data) => data.iter().try_for_each(|byte| write!(f, " {byte}")),
        }
    }
}

impl FromStr for Message {
    type Err = NotAMessage;

    fn from_str(text: &str) -> Result<Self, NotAMessage> {
        let mut words = text.split_whitespace();
        let first = words.next().unwrap_or_default();
        if first.len() == 2 && u8::from_str_radix(first, 16).is_ok() {
            return of_bytes(text);
        }
        if first.eq_ignore_ascii_case(EXCLUSIVE) {
            return exclusive(text, words);
        }
        let found = WORDS.iter().find(|(word, ..)| word.eq_ignore_ascii_case(first));
        let (word, status, data) = *found.ok_or_else(|| unknown(first))?;
        let numbers: Vec<&str> = words.collect();
        let (channel, data) = Numbers { word, status, data }.read(&numbers)?;
        let bytes = [&[status | channel], &data[..]].concat();
        Short::new(&bytes).map(Self::Short).ok_or_else(|| NotAMessage::Bytes(text.to_owned()))
    }
}

fn unknown(given: &str) -> NotAMessage {
    let known: Vec<&str> = WORDS.iter().map(|(word, ..)| *word).chain([EXCLUSIVE]).collect();
    UnknownWord::new("message", given, &known).into()
}

/// The numbers that follow a word.
struct Numbers {
    word: &'static str,
    status: u8,
    data: Data,
}

impl Numbers {
    /// The channel from 0, and the data bytes.
    fn read(&self, numbers: &[&str]) -> Result<(u8, Vec<u8>), NotAMessage> {
        let has_channel = self.status < SYSTEM_EXCLUSIVE;
        let wanted = match (has_channel, self.data) {
            (true, Data::Two) => "a channel and two values",
            (true, _) => "a channel and a value",
            (false, Data::Nothing) => "nothing",
            (false, _) => "a value",
        };
        let count = match self.data {
            Data::Nothing => 0,
            Data::One | Data::Wide => 1,
            Data::Two => 2,
        };
        if numbers.len() != usize::from(has_channel) + count {
            return Err(NotAMessage::Numbers { word: self.word, wanted, given: numbers.len() });
        }
        let (channel, values) = numbers.split_at(usize::from(has_channel));
        let channel =
            channel.first().map_or(Ok(1), |text| self.number(text, "a channel", 1, 16))?;
        let mut data = Vec::new();
        for text in values {
            match self.data {
                Data::Wide => {
                    let wide = self.number(text, "a value", 0, 16_383)?;
                    data.extend([(wide & 0x7F) as u8, (wide >> 7) as u8]);
                }
                _ => data.push(self.number(text, "a value", 0, 127)? as u8),
            }
        }
        Ok((channel as u8 - 1, data))
    }

    fn number(
        &self,
        text: &str,
        what: &'static str,
        least: u16,
        most: u16,
    ) -> Result<u16, NotAMessage> {
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        let wrong =
            || NotAMessage::Number { word: self.word, what, text: text.to_owned(), least, most };
        number.ok_or_else(wrong)
    }
}

/// A message of bytes in hexadecimal.
fn of_bytes(text: &str) -> Result<Message, NotAMessage> {
    let bytes: Option<Vec<u8>> = text.split_whitespace().map(hexadecimal).collect();
    let message = bytes.and_then(|bytes| Message::new(&bytes));
    message.ok_or_else(|| NotAMessage::Bytes(shortened(text)))
}

/// A system exclusive message of its data bytes in hexadecimal.
fn exclusive<'a>(text: &str, data: impl Iterator<Item = &'a str>) -> Result<Message, NotAMessage> {
    let mut bytes = vec![SYSTEM_EXCLUSIVE];
    for byte in data {
        if bytes.len() > EXCLUSIVE_BYTES_MAX {
            return Err(NotAMessage::TooLong);
        }
        bytes.push(hexadecimal(byte).ok_or_else(|| NotAMessage::Bytes(shortened(text)))?);
    }
    bytes.push(END_OF_EXCLUSIVE);
    Message::new(&bytes).ok_or_else(|| NotAMessage::Bytes(shortened(text)))
}

fn hexadecimal(text: &str) -> Option<u8> {
    let is_byte = text.len() == 2 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_byte.then(|| u8::from_str_radix(text, 16).ok()).flatten()
}

/// The beginning of a text, for an error.
fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::message;

    #[test]
    fn messages_have_a_text() {
        for (bytes, text) in [
            (&[0x90, 60, 100][..], "note-on 1 60 100"),
            (&[0x8F, 60, 0], "note-off 16 60 0"),
            (&[0xE1, 0, 64], "bend 2 8192"),
            (&[0xC9, 5], "program 10 5"),
            (&[0xF2, 1, 1], "song-position 129"),
            (&[0xF8], "clock"),
            (&[0xF0, 0x7E, 1, 0xF7], "exclusive 7e 01"),
            (&[0xF0, 0xF7], "exclusive"),
        ] {
            let message = Message::new(bytes).unwrap();
            assert_eq!(message.to_string(), text);
            assert_eq!(text.parse(), Ok(message));
        }
        assert_eq!("90 3C 64".parse(), "Note-On 1 60 100".parse::<Message>());
    }

    #[test]
    fn errors_name_the_place_and_what_is_possible() {
        let said = |text: &str| text.parse::<Message>().unwrap_err().to_string();
        assert!(said("note-onn 1 60 100").contains("did you mean `note-on`?"));
        assert_eq!(
            said("note-on 17 60 100"),
            "`17` is not a channel of `note-on`: 1 to 16 are possible"
        );
        assert_eq!(
            said("bend 1 16384"),
            "`16384` is not a value of `bend`: 0 to 16383 are possible"
        );
        assert_eq!(
            said("note-on 1 60"),
            "`note-on` needs a channel and two values, and 2 numbers follow it"
        );
        assert_eq!(said("90 3c"), "the bytes `90 3c` are not one whole message");
        assert_eq!(said("exclusive 80"), "the bytes `exclusive 80` are not one whole message");
        assert!(said("").contains("unknown message"));
    }

    proptest! {
        #[test]
        fn the_text_of_a_message_is_that_message(message in message()) {
            prop_assert_eq!(message.to_string().parse(), Ok(message));
        }

        #[test]
        fn any_text_is_a_message_or_an_error(text in "\\PC{0,40}") {
            let _ = text.parse::<Message>();
        }
    }
}
