//! Kinds of messages, and sets of kinds.

use std::fmt;
use std::str::FromStr;

use tactus_model::text::UnknownWord;

use crate::message::{Message, REAL_TIME, SYSTEM_EXCLUSIVE};

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A note begins or ends.
    Notes,
    /// A controller moves, a pedal or a change of mode included.
    Controllers,
    /// Another program.
    Programs,
    /// Pressure on one key or all.
    Pressure,
    /// Pitch bend.
    Bend,
    /// System common: quarter frames, song position and selection, tune request.
    Common,
    /// System real-time: clock, start, continue, stop, active sensing, reset.
    RealTime,
    /// System exclusive.
    Exclusive,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Notes,
        Self::Controllers,
        Self::Programs,
        Self::Pressure,
        Self::Bend,
        Self::Common,
        Self::RealTime,
        Self::Exclusive,
    ];

    /// The kind of a message.
    pub const fn of(message: &Message) -> Self {
        let Message::Short(short) = message else { return Self::Exclusive };
        match short.status() {
            0x80..=0x9F => Self::Notes,
            0xA0..=0xAF | 0xD0..=0xDF => Self::Pressure,
            0xB0..=0xBF => Self::Controllers,
            0xC0..=0xCF => Self::Programs,
            0xE0..=0xEF => Self::Bend,
            SYSTEM_EXCLUSIVE..REAL_TIME => Self::Common,
            _ => Self::RealTime,
        }
    }

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Notes => "notes",
            Self::Controllers => "controllers",
            Self::Programs => "programs",
            Self::Pressure => "pressure",
            Self::Bend => "bend",
            Self::Common => "common",
            Self::RealTime => "real-time",
            Self::Exclusive => "exclusive",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A set of kinds: `notes+bend`, `all`, or `normal`, which is all but system exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kinds(u8);

impl Kinds {
    /// No kind.
    pub const NONE: Self = Self(0);
    /// All kinds.
    pub const ALL: Self = Self(0xFF);
    /// All kinds whose messages have at most three bytes.
    pub const NORMAL: Self = Self(0xFF ^ (1 << Kind::Exclusive as u8));

    const SETS: [(&str, Self); 2] = [("all", Self::ALL), ("normal", Self::NORMAL)];

    /// The set of these bits, one for each kind in the order of [`Kind::ALL`].
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// A bit for each kind, in the order of [`Kind::ALL`].
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether a kind is in the set.
    pub const fn contains(self, kind: Kind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// Whether a message is of one of the kinds.
    pub const fn contain(self, message: &Message) -> bool {
        self.contains(Kind::of(message))
    }
}

impl Default for Kinds {
    fn default() -> Self {
        Self::ALL
    }
}

impl FromIterator<Kind> for Kinds {
    fn from_iter<I: IntoIterator<Item = Kind>>(kinds: I) -> Self {
        Self(kinds.into_iter().fold(0, |bits, kind| bits | 1 << kind as u8))
    }
}

impl fmt::Display for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((word, _)) = Self::SETS.iter().find(|(_, set)| set == self) {
            return f.pad(word);
        }
        let kinds = Kind::ALL.into_iter().filter(|kind| self.contains(*kind));
        f.pad(&kinds.map(Kind::word).collect::<Vec<_>>().join("+"))
    }
}

impl FromStr for Kinds {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let mut bits = 0;
        for word in text.split('+').map(str::trim) {
            let kind = Kind::ALL.iter().find(|kind| kind.word().eq_ignore_ascii_case(word));
            let set = Self::SETS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
            bits |= match (kind, set) {
                (Some(kind), _) => 1 << *kind as u8,
                (None, Some((_, set))) => set.0,
                (None, None) => {
                    let words = Kind::ALL.iter().map(|kind| kind.word());
                    let known: Vec<&str> = words.chain(Self::SETS.map(|(name, _)| name)).collect();
                    return Err(UnknownWord::new("kind of message", word, &known));
                }
            };
        }
        Ok(Self(bits))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_message_has_its_kind() {
        for (text, kind) in [
            ("note-on 1 60 100", Kind::Notes),
            ("note-off 16 60 100", Kind::Notes),
            ("key-pressure 1 60 9", Kind::Pressure),
            ("controller 3 7 9", Kind::Controllers),
            ("program 1 9", Kind::Programs),
            ("pressure 1 9", Kind::Pressure),
            ("bend 1 9", Kind::Bend),
            ("song 1", Kind::Common),
            ("tune-request", Kind::Common),
            ("clock", Kind::RealTime),
            ("exclusive 1f", Kind::Exclusive),
        ] {
            assert_eq!(Kind::of(&text.parse().unwrap()), kind, "{text}");
        }
    }

    #[test]
    fn sets_are_words() {
        let set = |text: &str| text.parse::<Kinds>().unwrap();
        assert_eq!(set("all"), Kinds::ALL);
        assert_eq!(set("normal+exclusive"), Kinds::ALL);
        assert_eq!(set("Bend+notes").to_string(), "notes+bend");
        assert!(!set("normal").contain(&"exclusive".parse().unwrap()));
        let error = "notes+bned".parse::<Kinds>().unwrap_err().to_string();
        assert!(error.contains("did you mean `bend`?"), "{error}");
        assert!("".parse::<Kinds>().is_err());
    }

    proptest! {
        #[test]
        fn the_text_of_a_set_is_that_set(bits in 1_u8..) {
            prop_assert_eq!(Kinds(bits).to_string().parse(), Ok(Kinds(bits)));
        }
    }
}
