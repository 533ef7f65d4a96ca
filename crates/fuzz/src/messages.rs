//! Messages between our processes: the request for a cell, and the messages of a measuring process.

use std::io::{BufRead, BufReader, Read};

use serde_json::Value;
use tactus_model::message::{CellRequest, Message};
use tactus_wire::{MESSAGE_LIMIT, MessageReader, MessageWriter, WireError, parse};

use crate::seeds;

/// A request and every kind of message, from the exported run.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let run: Value =
        serde_json::from_slice(&seeds::file("tests/data/export/run.json")).expect("it is JSON");
    let result = &run["results"][0];
    let samples = &result["samples"][0];
    let messages = [
        serde_json::json!({ "turn": { "round": 0, "cell": 0 }, "cell": run["header"]["plan"]["cells"][0], "seed": 7, "boot_seed": 7 }),
        serde_json::json!({ "message": "opened" }),
        serde_json::json!({ "message": "samples", "task": 0, "block": samples["block"] }),
        serde_json::json!({ "message": "recording", "bytes": "AAEC" }),
        serde_json::json!({ "message": "failed", "reason": "a text", "hint": null }),
    ];
    let mut finished = result["measurement"].clone();
    finished["message"] = "finished".into();
    messages.into_iter().chain([finished]).map(|message| message.to_string().into_bytes()).collect()
}

/// Reads a line as a request and as a message.
pub(crate) fn run(bytes: &[u8]) {
    let _ = parse::<CellRequest>(bytes);
    match parse::<Message>(bytes) {
        Ok(Message::Samples { block, .. } | Message::TracedSamples { block, .. }) => {
            if let Ok(samples) = block.decode() {
                assert_eq!(samples.len() as u64, block.count);
            }
        }
        Ok(Message::Finished(measurement)) => {
            let _ = tactus_stats::CellSummary::pool(&[&measurement]);
        }
        _ => {}
    }
}

/// Messages between the processes of a measurement and of a load.
pub(crate) fn peer_seeds() -> Vec<Vec<u8>> {
    let run: Value =
        serde_json::from_slice(&seeds::file("tests/data/export/run.json")).expect("it is JSON");
    let result = &run["results"][0];
    let load = &run["header"]["plan"]["cells"][0]["load"];
    let task = serde_json::json!({ "plan": load, "copies": [2, 1], "counters": 3, "surroundings": "host" });
    let messages = [
        serde_json::json!({ "message": "finished", "result": result["measurement"]["tasks"][0] }),
        serde_json::json!({ "message": "samples", "block": result["samples"][0]["block"] }),
        serde_json::json!({ "message": "ready", "shortfalls": [], "cost": result["measurement"]["cost"], "thread": 7 }),
        serde_json::json!({ "message": "failed", "reason": "a text", "hint": null }),
        serde_json::json!({ "role": "host", "task": task, "directory": "/tmp", "containment": null }),
        serde_json::json!({ "message": "ended", "copy": 1, "reason": "a text" }),
        serde_json::json!({ "copy": 1, "news": { "news": "running", "missing": [] } }),
    ];
    messages.iter().map(|message| message.to_string().into_bytes()).collect()
}

/// Reads a line as every message between the processes of a measurement and of a load.
pub(crate) fn peer(bytes: &[u8]) {
    let _ = is_of_a_peer(bytes);
}

fn is_of_a_peer(line: &[u8]) -> bool {
    tactus_probe::is_message(line) | tactus_load::is_message(line)
}

/// The bytes of an input before its stream: the limit of a message, and the length of the
/// pieces in which the stream comes.
const HEAD: usize = 3;

/// Streams of messages: all of them, in pieces of some lengths, within and beyond the limit.
pub(crate) fn stream_seeds() -> Vec<Vec<u8>> {
    let mut stream = Vec::new();
    let mut writer = MessageWriter::new(&mut stream, MESSAGE_LIMIT);
    // The request comes last, because it is refused where messages are read.
    for seed in seeds().into_iter().rev() {
        let message: Value = serde_json::from_slice(&seed).expect("it is JSON");
        writer.write(&message).expect("it fits");
    }
    let heads = [(u16::MAX, 0_u8), (u16::MAX, 100), (300, 7), (0, 1)];
    let with_head =
        |(limit, length): (u16, u8)| [&limit.to_le_bytes()[..], &[length], &stream].concat();
    heads.map(with_head).to_vec()
}

/// Reads a stream of messages that comes at once and the same in pieces, and writes again what
/// was read.
pub(crate) fn stream(bytes: &[u8]) {
    let Some((&[low, high, length], stream)) = bytes.split_first_chunk::<HEAD>() else { return };
    let limit = usize::from(u16::from_le_bytes([low, high]));
    let pieces = Pieces { stream, length: usize::from(length) + 1 };
    let lines = lines(MessageReader::new(stream, limit));
    assert_eq!(lines, self::lines(MessageReader::new(BufReader::new(pieces), limit)));

    let mut again = Vec::new();
    for line in lines {
        assert!(line.len() <= limit, "{} bytes", line.len());
        again.extend_from_slice(line.as_bytes());
        again.push(b'\n');
    }
    assert!(stream.starts_with(&again), "what was read is how the stream begins");
    messages(MessageReader::new(stream, limit), limit);
}

/// All lines before the end of a stream, or before what is refused of it.
fn lines(mut reader: MessageReader<impl BufRead>) -> Vec<String> {
    let lines = std::iter::from_fn(|| reader.read_line().ok()).collect();
    assert!(matches!(reader.read_line(), Err(WireError::Closed)), "nothing comes after an error");
    lines
}

/// Reads all messages of a stream, and writes each: what is understood can be said.
fn messages(mut reader: MessageReader<impl BufRead>, limit: usize) {
    while let Ok(message) = reader.read::<Message>() {
        let mut written = Vec::new();
        match MessageWriter::new(&mut written, limit).write(&message) {
            Ok(()) => assert!(written.len() <= limit + 1 && written.ends_with(b"\n")),
            // With all its keys, it may be longer than it was.
            Err(WireError::TooLarge { .. }) => assert!(written.is_empty()),
            Err(error) => panic!("{error}: {message:?}"),
        }
    }
    assert!(matches!(reader.read::<Message>(), Err(WireError::Closed)));
}

/// A stream that comes in pieces of at most `length` bytes.
struct Pieces<'a> {
    stream: &'a [u8],
    length: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = buffer.len().min(self.length);
        self.stream.read(&mut buffer[..length])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_messages() {
        for seed in seeds() {
            let as_request = parse::<CellRequest>(&seed).map(drop);
            let as_message = parse::<Message>(&seed).map(drop);
            assert!(as_request.or(as_message).is_ok(), "{}", String::from_utf8_lossy(&seed));
        }
    }

    #[test]
    fn the_seeds_are_messages_of_peers() {
        for seed in peer_seeds() {
            assert!(is_of_a_peer(&seed), "{}", String::from_utf8_lossy(&seed));
        }
    }

    #[test]
    fn the_seeds_are_streams_of_which_some_are_refused() {
        let read = stream_seeds().into_iter().map(|seed| {
            stream(&seed);
            let limit = usize::from(u16::from_le_bytes([seed[0], seed[1]]));
            lines(MessageReader::new(&seed[HEAD..], limit)).len()
        });
        let all = seeds().len();
        assert_eq!(read.collect::<Vec<_>>()[..2], [all, all]);
    }
}
