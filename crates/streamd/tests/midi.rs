//! A server whose device is a MIDI cable, and a program that reads its other end.

#[expect(dead_code, reason = "every test file uses a part of it")]
mod common;

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::time::Duration;

use common::{Running, SETTINGS, draft, ms};
use tactus_delivery::receipt::Outcome;
use tactus_midi::{Message, Parsed, Parser, Sounding};
use tactus_stream::{BranchId, Client, Draft, IfLate, Moment, StreamId, Wanted};
use tactus_streamd::DeviceSpec;
use tactus_sys::{clock, wait};
use tempfile::TempDir;

/// A server with a cable, and its other end.
struct Cable {
    server: Running,
    reader: File,
    parser: Parser,
    _folder: TempDir,
}

impl Cable {
    fn start(rate: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("synth");
        let spec: DeviceSpec = format!("midi-pty:{rate},link={}", link.display()).parse().unwrap();
        let server = Running::with([("synth", spec.open("synth").unwrap())], SETTINGS);
        let reader = File::open(&link).unwrap();
        Self { server, reader, parser: Parser::new(Parser::LIMIT), _folder: folder }
    }

    fn client(&self) -> (Client, StreamId) {
        let wanted = Wanted { payload_bytes: 1024, ..Wanted::named("player") };
        let mut client = Client::connect(self.server.socket(), &wanted).unwrap();
        let stream = client.open("synth").unwrap();
        (client, stream)
    }

    /// So many messages, and no others, each with the arrival of its end.
    fn messages(&mut self, count: usize) -> Vec<(Message, Moment)> {
        let mut messages = Vec::new();
        while messages.len() < count {
            assert!(self.is_readable(Duration::from_secs(20)), "{messages:?}");
            assert!(self.read(&mut messages));
        }
        while self.is_readable(Duration::from_millis(50)) {
            self.read(&mut messages);
        }
        assert_eq!(messages.len(), count, "{messages:?}");
        messages
    }

    fn is_readable(&self, patience: Duration) -> bool {
        wait::wait_readable(self.reader.as_fd(), patience).unwrap()
    }

    /// Appends the messages of the bytes that wait; whether the line is still there.
    fn read(&mut self, messages: &mut Vec<(Message, Moment)>) -> bool {
        let mut buffer = [0; 256];
        // A terminal without a line has an error, not an end.
        let Ok(count @ 1..) = self.reader.read(&mut buffer) else { return false };
        let now: Moment = clock::now();
        for byte in &buffer[..count] {
            self.parser.push(*byte, now, |parsed| match parsed {
                Parsed::Message { message, ended, .. } => messages.push((message, ended)),
                Parsed::Problem { problem, .. } => panic!("{problem}"),
            });
        }
        true
    }
}

fn note(stream: StreamId, due: Moment, payload: &[u8]) -> Draft<'_> {
    Draft { stream, branch: BranchId(0), due, if_late: IfLate::Deliver, payload }
}

const LONG: Option<Duration> = Some(Duration::from_secs(20));

#[test]
fn messages_come_whole_in_order_and_none_early() {
    let mut cable = Cable::start("31250");
    let (mut client, stream) = cable.client();
    let spec = &client.devices()[0].spec;
    assert!(spec.contains(" at /dev/pts/"), "{spec}");
    let start = Client::now() + ms(20);
    let dump = [&[0xF0][..], &[9; 200], &[0xF7]].concat();
    let wanted = [(30, &[0x90, 60, 1][..]), (0, &[0xC0, 5]), (31, &dump), (32, &[0x80, 60, 0])];
    for (at, payload) in wanted {
        client.submit(&note(stream, start + ms(at), payload)).unwrap();
    }
    let found = cable.messages(4);
    let order = [1, 0, 2, 3].map(|index| wanted[index]);
    for ((message, came), (at, payload)) in found.iter().zip(order) {
        assert_eq!(message.bytes(), payload);
        assert!(*came >= start + ms(at));
    }
    // The line sends the dump for 64 ms.
    assert!(found[3].1 >= start + ms(31 + 60), "the line is busy");
    for _ in wanted {
        assert_eq!(client.receipt(LONG).unwrap().unwrap().outcome, Outcome::Delivered);
    }
}

#[test]
fn a_client_that_goes_leaves_no_note_and_no_open_exclusive_message() {
    // The exclusive message takes three seconds.
    let mut cable = Cable::start("3125");
    let (mut first, stream) = cable.client();
    let (mut second, other) = cable.client();
    let now = Client::now();
    second.submit(&note(other, now, &[0x91, 40, 1])).unwrap();
    first.submit(&note(stream, now, &[0x90, 60, 1])).unwrap();
    first.submit(&note(stream, now + ms(1), &[0xB0, 64, 127])).unwrap();
    first.submit(&note(stream, now + ms(9000), &[0x90, 61, 1])).unwrap();
    cable.messages(3);
    let dump = [&[0xF0][..], &[9; 1000], &[0xF7]].concat();
    first.submit(&note(stream, Client::now(), &dump)).unwrap();
    assert!(cable.is_readable(Duration::from_secs(20)));
    drop(first);
    let found: Vec<Message> = cable.messages(3).into_iter().map(|(message, _)| message).collect();
    let Message::Exclusive(part) = &found[0] else { panic!("{found:?}") };
    assert!(part.len() < dump.len() && part.ends_with(&[9, 0xF7]));
    let ends: Vec<&[u8]> = found[1..].iter().map(Message::bytes).collect();
    assert_eq!(ends, [&[0x80, 60, 64][..], &[0xB0, 64, 0]], "the other client's note sounds on");
    assert_eq!(second.receipt(LONG).unwrap().unwrap().outcome, Outcome::Delivered);
}

#[test]
fn a_server_that_ends_silences_everything() {
    let mut cable = Cable::start("unpaced");
    let (mut client, stream) = cable.client();
    for key in 0..100 {
        client.submit(&note(stream, Client::now(), &[0x90, key, 1])).unwrap();
    }
    let mut messages = cable.messages(100);
    let ended = {
        let handle = cable.server.handle();
        std::thread::spawn(move || handle.end())
    };
    while cable.read(&mut messages) {}
    ended.join().unwrap();
    let mut sounding = Sounding::default();
    messages.iter().for_each(|(message, _)| sounding.follow(message));
    assert!(sounding.is_silent(), "{messages:?}");
}

#[test]
fn a_reader_that_stops_costs_receipts_and_no_time() {
    let cable = Cable::start("unpaced");
    let (mut client, stream) = cable.client();
    let mut counts = [0; 2];
    // The kernel counts unread bytes when it finds the time, and has room for 64 KiB until then.
    for round in 0..500 {
        if counts[1] > 0 {
            break;
        }
        for _ in 0..64 {
            client.submit(&note(stream, Client::now(), &[0x90, 60, 1])).unwrap();
        }
        for _ in 0..64 {
            let receipt = client.receipt(LONG).unwrap().expect("an answer");
            match receipt.outcome {
                Outcome::Delivered => counts[0] += 1,
                Outcome::Failed => counts[1] += 1,
                outcome => panic!("{outcome:?} in round {round}"),
            }
        }
    }
    assert!(counts[0] >= 1000 && counts[1] > 0, "{counts:?}");
    // Other devices, and this one's line, go on.
    client.submit(&draft(stream, Client::now())).expect_err("not a message");
}
