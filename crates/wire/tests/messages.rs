//! Messages through streams that split, garble, truncate and flood them.

use std::io::{self, BufRead, BufReader, Read};

use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use tactus_wire::{MESSAGE_LIMIT, MessageReader, MessageWriter, WireError, encode};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "kebab-case")]
enum Message {
    Text { text: String },
    Numbers { numbers: Vec<u64>, last: Option<i64> },
    Nothing,
}

fn any_message() -> impl Strategy<Value = Message> {
    prop_oneof![
        any::<String>().prop_map(|text| Message::Text { text }),
        (any::<Vec<u64>>(), any::<Option<i64>>())
            .prop_map(|(numbers, last)| Message::Numbers { numbers, last }),
        Just(Message::Nothing),
    ]
}

/// A stream that arrives in pieces of these lengths, repeated cyclically.
struct Pieces {
    bytes: io::Cursor<Vec<u8>>,
    lengths: std::iter::Cycle<std::vec::IntoIter<usize>>,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.lengths.next().unwrap_or(1).min(buffer.len());
        self.bytes.read(&mut buffer[..length])
    }
}

fn in_pieces(bytes: Vec<u8>, lengths: Vec<usize>) -> BufReader<Pieces> {
    let lengths = lengths.into_iter().cycle();
    BufReader::new(Pieces { bytes: io::Cursor::new(bytes), lengths })
}

fn written(messages: &[Message]) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut writer = MessageWriter::new(&mut stream, MESSAGE_LIMIT);
    messages.iter().for_each(|message| writer.write(message).unwrap());
    stream
}

proptest! {
    #[test]
    fn messages_survive_any_split_of_the_stream(
        messages in prop::collection::vec(any_message(), 0..8),
        lengths in prop::collection::vec(1_usize..40, 1..8),
    ) {
        let mut reader = MessageReader::new(in_pieces(written(&messages), lengths), MESSAGE_LIMIT);
        for message in &messages {
            prop_assert_eq!(&reader.read::<Message>().unwrap(), message);
        }
        prop_assert!(matches!(reader.read::<Message>(), Err(WireError::Closed)));
    }

    #[test]
    fn a_truncated_stream_yields_whole_messages_and_then_an_error(
        messages in prop::collection::vec(any_message(), 1..5),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut stream = written(&messages);
        stream.truncate(cut.index(stream.len()));
        let whole = stream.iter().filter(|byte| **byte == b'\n').count();
        let is_cut_within = stream.last().is_some_and(|byte| *byte != b'\n');
        let mut reader = MessageReader::new(stream.as_slice(), MESSAGE_LIMIT);
        for message in &messages[..whole] {
            prop_assert_eq!(&reader.read::<Message>().unwrap(), message);
        }
        let end = reader.read::<Message>().unwrap_err();
        prop_assert_eq!(matches!(end, WireError::Truncated { .. }), is_cut_within);
        prop_assert_eq!(matches!(end, WireError::Closed), !is_cut_within);
    }

    #[test]
    fn garbage_ends_the_stream_and_is_never_skipped(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        limit in 0_usize..100,
    ) {
        let mut stream = bytes;
        stream.extend_from_slice(b"\n{\"message\":\"nothing\"}\n");
        let mut reader = MessageReader::new(stream.as_slice(), limit);
        // No message has more lines than the stream.
        let lines = stream.iter().filter(|byte| **byte == b'\n').count();
        let read = (0..lines).take_while(|_| reader.read::<Message>().is_ok()).count();
        if read < lines {
            prop_assert!(matches!(reader.read::<Message>(), Err(WireError::Closed)));
        }
    }

    #[test]
    fn reader_and_writer_agree_on_the_limit(message in any_message(), limit in 0_usize..200) {
        let line = encode(&message, MESSAGE_LIMIT).unwrap();
        let fits = line.len() - 1 <= limit;
        let mut reader = MessageReader::new(line.as_slice(), limit);
        let mut stream = Vec::new();
        let mut writer = MessageWriter::new(&mut stream, limit);
        for refused in [reader.read::<Message>().err(), writer.write(&message).err()] {
            prop_assert_eq!(refused.is_none(), fits);
            let is_too_large = matches!(refused, Some(WireError::TooLarge { limit: l, .. }) if l == limit);
            prop_assert_eq!(is_too_large, !fits);
        }
        prop_assert_eq!(stream, if fits { line } else { Vec::new() });
    }
}

/// Reads one message of anything from `stream`, and compares the error's text.
fn check_refused(stream: &[u8], expected: &str) {
    let refused = MessageReader::new(stream, 1000).read::<IgnoredAny>().unwrap_err();
    assert_eq!(refused.to_string(), expected);
}

#[test]
fn an_error_shows_the_refused_line_cut_and_escaped() {
    check_refused(
        b"segmentation fault\n",
        "invalid message (expected value at line 1 column 1): segmentation fault",
    );
    check_refused(
        b"\x1b[2J\xe2\x80\xae\"\xff\n",
        "invalid message (expected value at line 1 column 1): \\u{1b}[2J\\u{202e}\"\u{fffd}",
    );
    check_refused(b"\n", "invalid message (EOF while parsing a value at line 1 column 0): ");
    check_refused(b"{\"half\":", "end of input within a message: {\"half\":");
    check_refused(b"", "end of input");
    let long = [b'7'; 1001];
    check_refused(&long, &format!("message of more than 1000 bytes: {}…", "7".repeat(200)));
}

/// The reason of a parser may quote the whole line.
#[test]
fn the_reason_of_a_refusal_is_cut_and_escaped() {
    let long = format!("\"{}\\u001b[31m\"\n", "y".repeat(10_000));
    for line in [long.as_bytes(), b"\"\\u001b[31mX\\u0007\"\n"] {
        let error = MessageReader::new(line, 100_000).read::<u64>().unwrap_err().to_string();
        assert!(error.chars().count() < 500, "{} characters", error.chars().count());
        assert!(!error.chars().any(char::is_control), "{error:?}");
    }
}

#[test]
fn text_that_is_not_utf_8_is_refused() {
    let mut reader = MessageReader::new(b"\"\xff\"\n\"next\"\n".as_slice(), 1000);
    assert!(matches!(reader.read::<String>(), Err(WireError::Garbled { .. })));
    assert!(matches!(reader.read::<String>(), Err(WireError::Closed)));
    let mut reader = MessageReader::new(b"line\n\xff\nline\n".as_slice(), 1000);
    assert_eq!(reader.read_line().unwrap(), "line");
    assert!(matches!(reader.read_line(), Err(WireError::Garbled { .. })));
    assert!(matches!(reader.read_line(), Err(WireError::Closed)));
}

#[test]
fn deep_nesting_is_refused_and_does_not_exhaust_the_stack() {
    let deep = [vec![b'['; 1 << 20], b"\n".to_vec()].concat();
    let refused = MessageReader::new(deep.as_slice(), MESSAGE_LIMIT).read::<serde_json::Value>();
    assert!(refused.unwrap_err().to_string().contains("recursion limit"), "it was followed");
}

/// An endless stream that counts the bytes read from it.
struct Flood(u64);

impl Read for Flood {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        buffer.fill(b'x');
        self.0 += buffer.len() as u64;
        Ok(buffer.len())
    }
}

#[test]
fn a_flood_is_read_up_to_the_limit() {
    const LIMIT: usize = 1 << 20;
    let mut flood = BufReader::new(Flood(0));
    let refused = MessageReader::new(flood.by_ref(), LIMIT).read::<IgnoredAny>();
    assert!(matches!(refused, Err(WireError::TooLarge { limit: LIMIT, .. })), "{refused:?}");
    let read = flood.get_ref().0 - flood.buffer().len() as u64;
    assert_eq!(read, LIMIT as u64 + 1);
}

/// An output that accepts a few bytes, then fails.
struct Full(usize);

impl io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        if taken == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn nothing_follows_a_partly_written_message() {
    let mut writer = MessageWriter::new(Full(5), MESSAGE_LIMIT);
    assert!(matches!(writer.write(&1), Ok(())));
    assert!(matches!(writer.write(&123_456), Err(WireError::Io(_))));
    assert!(matches!(writer.write(&1), Err(WireError::Closed)));
}

#[test]
fn a_value_that_json_cannot_represent_is_an_error_and_leaves_the_stream_intact() {
    let mut stream = Vec::new();
    let mut writer = MessageWriter::new(&mut stream, MESSAGE_LIMIT);
    let keyed = std::collections::HashMap::from([((1, 2), 3)]);
    assert!(matches!(writer.write(&keyed), Err(WireError::Io(_))));
    writer.write(&4).unwrap();
    assert_eq!(stream, b"4\n");
}

#[test]
fn bytes_after_a_message_stay_in_the_input() {
    let mut input = b"1\nraw".as_slice();
    assert_eq!(MessageReader::new(&mut input, 1000).read::<u32>().unwrap(), 1);
    assert_eq!(input.fill_buf().unwrap(), b"raw");
}
