//! The reader and the writer against those of the crate rosc.
#![forbid(unsafe_code)]

use proptest::prelude::*;
use rosc::{OscBundle, OscMessage, OscPacket, OscTime, OscType};
use tactus_osc::{Argument, Message, TimeTag, Timed};

fn tag(time: OscTime) -> TimeTag {
    TimeTag(u64::from(time.seconds) << 32 | u64::from(time.fractional))
}

/// Their value as ours.
fn argument(value: &OscType) -> Argument<'_> {
    match value {
        OscType::Int(value) => Argument::Int(*value),
        OscType::Long(value) => Argument::Long(*value),
        OscType::Float(value) => Argument::Float(*value),
        OscType::Double(value) => Argument::Double(*value),
        OscType::String(text) => Argument::Text(text),
        OscType::Blob(blob) => Argument::Blob(blob),
        OscType::Time(time) => Argument::Time(tag(*time)),
        OscType::Char(value) => Argument::Char(*value),
        OscType::Midi(midi) => Argument::Midi([midi.port, midi.status, midi.data1, midi.data2]),
        OscType::Color(color) => Argument::Color([color.red, color.green, color.blue, color.alpha]),
        OscType::Bool(value) => Argument::Bool(*value),
        OscType::Nil => Argument::Nil,
        OscType::Inf => Argument::Impulse,
        OscType::Array(_) => panic!("arrays are not supported"),
    }
}

/// Their messages as ours.
fn flat<'a>(packet: &'a OscPacket, time: TimeTag, found: &mut Vec<Timed<'a>>) {
    match packet {
        OscPacket::Message(OscMessage { addr, args }) => {
            let arguments = args.iter().map(argument).collect();
            found.push(Timed { time, message: Message { address: addr, arguments } });
        }
        OscPacket::Bundle(OscBundle { timetag, content }) => {
            let time = tag(*timetag).later(time);
            content.iter().for_each(|element| flat(element, time, found));
        }
    }
}

fn value() -> impl Strategy<Value = OscType> {
    prop_oneof![
        any::<i32>().prop_map(OscType::Int),
        any::<i64>().prop_map(OscType::Long),
        (-1e9_f32..1e9).prop_map(OscType::Float),
        (-1e9_f64..1e9).prop_map(OscType::Double),
        "[a-z ]{0,9}".prop_map(OscType::String),
        prop::collection::vec(any::<u8>(), 0..9).prop_map(OscType::Blob),
        time().prop_map(OscType::Time),
        any::<char>().prop_map(OscType::Char),
        any::<bool>().prop_map(OscType::Bool),
        Just(OscType::Nil),
        Just(OscType::Inf),
    ]
}

fn time() -> impl Strategy<Value = OscTime> {
    (any::<u32>(), any::<u32>()).prop_map(|(seconds, fractional)| OscTime { seconds, fractional })
}

fn message() -> impl Strategy<Value = OscPacket> {
    ("/[a-z/]{0,9}", prop::collection::vec(value(), 0..6))
        .prop_map(|(addr, args)| OscPacket::Message(OscMessage { addr, args }))
}

fn packet() -> impl Strategy<Value = OscPacket> {
    message().prop_recursive(4, 32, 4, |inner| {
        (time(), prop::collection::vec(inner, 0..4))
            .prop_map(|(timetag, content)| OscPacket::Bundle(OscBundle { timetag, content }))
    })
}

/// Any byte but the tag of an alternate string, which rosc refuses.
fn damaged_byte() -> impl Strategy<Value = u8> {
    any::<u8>().prop_filter("rosc has no alternate strings", |byte| *byte != b'S')
}

proptest! {
    #[test]
    fn packets_of_rosc_are_read(packet in packet()) {
        let bytes = rosc::encoder::encode(&packet).unwrap();
        let mut wanted = Vec::new();
        flat(&packet, TimeTag::IMMEDIATE, &mut wanted);
        prop_assert_eq!(tactus_osc::read(&bytes), Ok(wanted));
    }

    #[test]
    fn messages_are_written_as_rosc_writes_them(packet in message()) {
        let mut ours = Vec::new();
        flat(&packet, TimeTag::IMMEDIATE, &mut ours);
        prop_assert_eq!(ours[0].message.bytes(), rosc::encoder::encode(&packet).unwrap());
    }

    #[test]
    fn what_is_read_from_a_damaged_packet_rosc_reads_too(
        packet in packet(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), damaged_byte()), 1..4),
    ) {
        let mut bytes = rosc::encoder::encode(&packet).unwrap();
        for (place, value) in damage {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        // The reverse does not hold: rosc reads a part of some packets that are malformed. A message
        // without type tags, which OSC 1.0 asks receivers to accept from old senders, is refused by
        // rosc with all that follows it; it has no arguments here.
        if let Ok(ours) = tactus_osc::read(&bytes)
            && ours.iter().all(|timed| !timed.message.arguments.is_empty())
        {
            let (_, theirs) = rosc::decoder::decode_udp(&bytes).unwrap();
            let mut wanted = Vec::new();
            flat(&theirs, TimeTag::IMMEDIATE, &mut wanted);
            prop_assert_eq!(format!("{ours:?}"), format!("{wanted:?}"));
        }
    }
}
