//! Which notes sound, so that none hangs when its sender has gone.

use crate::message::{Message, Short};

const NOTE_OFF: u8 = 0x80;
const NOTE_ON: u8 = 0x90;
const CONTROL: u8 = 0xB0;
/// The controller of the sustain pedal; 64 and more hold notes.
const SUSTAIN: u8 = 64;
/// The controllers that end the notes of their channel: all sound off, and all notes off with the
/// changes of mode.
const ALL_SOUND_OFF: u8 = 120;
const ALL_NOTES_OFF: std::ops::RangeInclusive<u8> = 123..=127;
/// The controller that also releases the pedal.
const RESET: u8 = 121;

/// Messages that end everything on all channels, whatever was sent before: for receivers of which
/// nothing is known. Some obey only a part of them.
pub fn silence_everything() -> impl Iterator<Item = Message> {
    let ends = [[SUSTAIN, 0], [*ALL_NOTES_OFF.start(), 0], [ALL_SOUND_OFF, 0]];
    let bytes = (0..16_u8)
        .flat_map(move |channel| ends.map(|[key, value]| [CONTROL | channel, key, value]));
    bytes.filter_map(|bytes| Short::new(&bytes)).map(Message::Short)
}

/// The notes that sound by the messages of one sender on one cable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sounding {
    /// For each channel, a bit for each key.
    keys: [u128; 16],
    /// A bit for each channel whose sustain pedal is down.
    sustained: u16,
}

impl Sounding {
    /// Follows a message.
    pub fn follow(&mut self, message: &Message) {
        let Message::Short(short) = message else { return };
        let &[status, key, value] = short.bytes() else {
            // A reset of the whole system.
            if short.status() == 0xFF {
                *self = Self::default();
            }
            return;
        };
        let Some(channel) = short.channel() else { return };
        let keys = &mut self.keys[usize::from(channel)];
        match (status & 0xF0, key) {
            // A velocity of 0 ends a note.
            (NOTE_ON, _) if value > 0 => *keys |= 1 << key,
            (NOTE_ON | NOTE_OFF, _) => *keys &= !(1 << key),
            (CONTROL, SUSTAIN) if value >= 64 => self.sustained |= 1 << channel,
            (CONTROL, SUSTAIN | RESET) => self.sustained &= !(1 << channel),
            (CONTROL, ALL_SOUND_OFF) => *keys = 0,
            (CONTROL, control) if ALL_NOTES_OFF.contains(&control) => *keys = 0,
            _ => {}
        }
    }

    /// Whether nothing sounds, by what was followed.
    pub fn is_silent(&self) -> bool {
        self.sustained == 0 && self.keys.iter().all(|keys| *keys == 0)
    }

    /// Leaves out the notes and pedals that others hold too.
    pub fn exclude(&mut self, other: &Self) {
        let both = self.keys.iter_mut().zip(&other.keys);
        both.for_each(|(keys, held)| *keys &= !held);
        self.sustained &= !other.sustained;
    }

    /// The messages that end each note and release each pedal; afterwards nothing sounds.
    ///
    /// Devices need not obey "all notes off", so each note is ended by a message of its own.
    pub fn silence(&mut self) -> Vec<Message> {
        let Self { keys, sustained } = std::mem::take(self);
        let mut messages = Vec::new();
        for (channel, keys) in (0_u8..).zip(keys) {
            let held = (0..128_u8).filter(|key| keys & (1 << key) != 0);
            messages.extend(held.map(|key| [NOTE_OFF | channel, key, 64]));
            if sustained & (1 << channel) != 0 {
                messages.push([CONTROL | channel, SUSTAIN, 0]);
            }
        }
        messages.iter().filter_map(|bytes| Short::new(bytes)).map(Message::Short).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn followed(messages: &[&[u8]]) -> Sounding {
        let mut sounding = Sounding::default();
        messages.iter().for_each(|bytes| sounding.follow(&Message::new(bytes).unwrap()));
        sounding
    }

    #[test]
    fn each_note_and_pedal_is_ended() {
        let mut sounding = followed(&[
            &[0x90, 60, 100],
            &[0x91, 60, 1],
            &[0x90, 61, 9],
            &[0x90, 61, 0],
            &[0xB2, SUSTAIN, 127],
            &[0xB3, SUSTAIN, 63],
        ]);
        let ends: Vec<Vec<u8>> =
            sounding.silence().iter().map(|message| message.bytes().to_vec()).collect();
        assert_eq!(ends, [vec![0x80, 60, 64], vec![0x81, 60, 64], vec![0xB2, SUSTAIN, 0]]);
        assert!(sounding.is_silent());
    }

    #[test]
    fn notes_end_by_their_end_and_by_messages_for_the_channel() {
        for end in [&[0x80, 60, 0][..], &[0x90, 60, 0], &[0xB0, 120, 0], &[0xB0, 123, 0], &[0xFF]] {
            assert!(followed(&[&[0x90, 60, 100], end]).is_silent(), "{end:?}");
        }
        for other in [&[0x81, 60, 0][..], &[0x80, 61, 0], &[0xB1, 123, 0], &[0xF8]] {
            assert!(!followed(&[&[0x90, 60, 100], other]).is_silent(), "{other:?}");
        }
    }

    #[test]
    fn everything_ends_without_knowledge_of_it() {
        let mut sounding = followed(&[&[0x90, 60, 1], &[0x9F, 61, 1], &[0xB7, SUSTAIN, 127]]);
        silence_everything().for_each(|message| sounding.follow(&message));
        assert!(sounding.is_silent());
    }

    #[test]
    fn what_others_hold_is_left_out() {
        let mut sounding = followed(&[&[0x90, 60, 1], &[0x90, 61, 1], &[0xB0, SUSTAIN, 127]]);
        sounding.exclude(&followed(&[&[0x90, 60, 9], &[0xB0, SUSTAIN, 127]]));
        assert_eq!(sounding, followed(&[&[0x90, 61, 1]]));
    }

    proptest! {
        #[test]
        fn silence_ends_what_sounds(
            messages in prop::collection::vec((0x80_u8..0xC0, 0_u8..128, 0_u8..128), 0..200),
        ) {
            let mut sounding = Sounding::default();
            for (status, key, value) in messages {
                sounding.follow(&Message::new(&[status, key, value]).unwrap());
            }
            let mut again = sounding.clone();
            for message in sounding.silence() {
                again.follow(&message);
            }
            prop_assert!(again.is_silent());
        }
    }
}
