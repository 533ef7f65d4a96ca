//! Messages for the tests of this crate.

use proptest::prelude::*;

use crate::message::{END_OF_EXCLUSIVE, Message, SYSTEM_EXCLUSIVE};

/// Any message; most are on a channel.
pub(crate) fn message() -> impl Strategy<Value = Message> {
    let data = 0_u8..128;
    let bytes = prop_oneof![
        6 => (0x80_u8..0xC0, data.clone(), data.clone()).prop_map(|(status, a, b)| vec![status, a, b]),
        2 => (0xC0_u8..0xE0, data.clone()).prop_map(|(status, a)| vec![status, a]),
        1 => (0xE0_u8..0xF0, data.clone(), data.clone()).prop_map(|(status, a, b)| vec![status, a, b]),
        1 => (data.clone(), data.clone()).prop_map(|(a, b)| vec![0xF2, a, b]),
        1 => prop::sample::select(vec![0xF1_u8, 0xF3]).prop_flat_map(move |status| {
            (Just(status), 0_u8..128).prop_map(|(status, a)| vec![status, a])
        }),
        2 => prop::sample::select(vec![0xF6_u8, 0xF8, 0xFA, 0xFB, 0xFC, 0xFE, 0xFF])
            .prop_map(|byte| vec![byte]),
        1 => prop::collection::vec(data, 0..20)
            .prop_map(|data| [&[SYSTEM_EXCLUSIVE], &data[..], &[END_OF_EXCLUSIVE]].concat()),
    ];
    bytes.prop_map(|bytes| Message::new(&bytes).expect("the bytes are one whole message"))
}

/// Messages that begin and end notes of few keys, so that notes of several senders coincide.
pub(crate) fn note() -> impl Strategy<Value = Message> {
    let pedal = prop::sample::select(vec![0_u8, 127]);
    let bytes = prop_oneof![
        4 => (0x90_u8..0x92, 60_u8..64, 1_u8..128).prop_map(|(status, a, b)| vec![status, a, b]),
        4 => (0x80_u8..0x82, 60_u8..64, 0_u8..128).prop_map(|(status, a, b)| vec![status, a, b]),
        1 => (0xB0_u8..0xB2, pedal).prop_map(|(status, value)| vec![status, 64, value]),
        1 => (0xB0_u8..0xB2, 120_u8..128).prop_map(|(status, number)| vec![status, number, 0]),
        1 => Just(vec![0xFF]),
    ];
    bytes.prop_map(|bytes| Message::new(&bytes).expect("the bytes are one whole message"))
}
