//! The parser against that of midly.
//!
//! Where bytes are whole messages, both agree.

use midly::live::{LiveEvent, SystemCommon};
use midly::stream::MidiStream;
use proptest::prelude::*;
use tactus_midi::message::REAL_TIME;
use tactus_midi::{Message, Parsed, Parser, Problem};
use tactus_model::time::Instant;

/// What midly finds in bytes, as bytes with their status.
///
/// midly differs in this, which is left out here and there:
/// - it reports neither stray nor truncated bytes;
/// - it takes a truncated system exclusive message for a whole one;
/// - it holds a system common message until the next status byte, so real-time messages overtake it.
fn oracle(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut stream = MidiStream::new();
    let mut found = Vec::new();
    let mut keep = |event: LiveEvent| {
        if matches!(event, LiveEvent::Common(SystemCommon::SysEx(_))) {
            return;
        }
        let mut bytes = Vec::new();
        event.write_std(&mut bytes).unwrap();
        found.push(bytes);
    };
    stream.feed(bytes, &mut keep);
    stream.flush(keep);
    found
}

fn ours(bytes: &[u8]) -> (Vec<Vec<u8>>, Vec<Problem>) {
    let (mut parser, mut messages, mut problems) = (Parser::default(), Vec::new(), Vec::new());
    let mut keep = |parsed| match parsed {
        Parsed::Message { message: Message::Exclusive(_), .. } => {}
        Parsed::Message { message, .. } => messages.push(message.bytes().to_vec()),
        Parsed::Problem { problem, .. } => problems.push(problem),
    };
    for byte in bytes {
        parser.push(*byte, Instant::from_nanos(0), &mut keep);
    }
    parser.finish(&mut keep);
    (messages, problems)
}

fn message() -> impl Strategy<Value = Vec<u8>> {
    let data = 0_u8..128;
    prop_oneof![
        6 => (0x80_u8..0xC0, data.clone(), data.clone()).prop_map(|(status, a, b)| vec![status, a, b]),
        2 => (0xC0_u8..0xE0, data.clone()).prop_map(|(status, a)| vec![status, a]),
        1 => (data.clone(), data.clone()).prop_map(|(a, b)| vec![0xF2, a, b]),
        1 => data.clone().prop_map(|a| vec![0xF3, a]),
        1 => Just(vec![0xF6]),
        2 => prop::sample::select(vec![0xF8_u8, 0xFA, 0xFB, 0xFC, 0xFE, 0xFF]).prop_map(|byte| vec![byte]),
        1 => prop::collection::vec(data, 0..20)
            .prop_map(|data| [&[0xF0], &data[..], &[0xF7]].concat()),
    ]
}

proptest! {
    #[test]
    fn whole_messages_are_found_by_both(messages in prop::collection::vec(message(), 0..40)) {
        let bytes = messages.concat();
        let (found, problems) = ours(&bytes);
        prop_assert_eq!(&problems, &Vec::new());
        let split = |messages: Vec<Vec<u8>>| -> (Vec<_>, Vec<_>) {
            messages.into_iter().partition(|message| message[0] >= REAL_TIME)
        };
        prop_assert_eq!(split(found), split(oracle(&bytes)));
    }

    #[test]
    fn any_bytes_are_messages_or_problems(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let (messages, _) = ours(&bytes);
        for message in messages {
            let again = Message::new(&message).unwrap();
            prop_assert_eq!(again.bytes(), &message[..]);
        }
    }
}
