//! A server with a MIDI input, programs that listen to it, and a cable on which notes come out.

#[expect(dead_code, reason = "every test file uses a part of it")]
mod common;

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::time::Duration;

use common::{Running, SETTINGS, ms};
use tactus_midi::{Heard, Kinds, Message, Parsed, Parser, Sounding};
use tactus_stream::{BranchId, Client, Draft, IfLate, Listener, Moment, Outcome, status};
use tactus_streamd::Measure;
use tactus_streamd::inputs::{Input, PortSpec};
use tactus_streamd::sink::Sink;
use tactus_streamd::sinks::{MidiLine, PtyPort, Rate};
use tactus_sys::wait;

const LONG: Option<Duration> = Some(Duration::from_secs(20));
const SHORT: Option<Duration> = Some(Duration::from_millis(50));

/// A server with the input `keys`, and the keyboard that writes to it.
struct Scene {
    server: Running,
    keys: File,
}

impl Scene {
    fn start() -> Self {
        Self::with(Box::new(Measure))
    }

    fn with(sink: Box<dyn Sink>) -> Self {
        let input = Input::open(&PortSpec::Pty(None)).unwrap();
        let keys = OpenOptions::new().write(true).open(input.address()).unwrap();
        let server = Running::with_inputs([("synth", sink)], SETTINGS, [("keys", input)]);
        Self { server, keys }
    }

    fn listen(&self, kinds: &str) -> Listener {
        Listener::connect(self.server.socket(), "keys", kinds.parse().unwrap()).unwrap()
    }

    fn press(&mut self, texts: &[&str]) {
        for text in texts {
            self.keys.write_all(text.parse::<Message>().unwrap().bytes()).unwrap();
        }
    }
}

fn texts(listener: &mut Listener, count: usize) -> Vec<String> {
    let heard = (0..count).map(|_| listener.message(LONG).unwrap().expect("a message comes"));
    let heard: Vec<Heard> = heard.collect();
    assert_eq!(listener.message(SHORT).unwrap(), None);
    assert!(heard.is_sorted_by_key(|heard| heard.ended));
    heard.iter().map(|heard| heard.message.to_string()).collect()
}

#[test]
fn each_program_gets_the_kinds_that_it_asked_for() {
    let mut scene = Scene::start();
    let (mut normal, mut exclusive) = (scene.listen("normal"), scene.listen("exclusive"));
    let long = format!("exclusive{}", " 05".repeat(20_000));
    scene.press(&["note-on 1 60 100"]);
    assert_eq!(texts(&mut normal, 1), ["note-on 1 60 100"]);
    // A program that comes later, and one that goes.
    let mut bends = scene.listen("bend");
    drop(exclusive);
    exclusive = scene.listen("exclusive+real-time");
    // A keyboard sends the clock within its messages, and not more than the terminal holds.
    let bytes = long.parse::<Message>().unwrap().bytes().to_vec();
    let writer = {
        let mut keys = scene.keys.try_clone().unwrap();
        std::thread::spawn(move || {
            for part in bytes.chunks(1000) {
                keys.write_all(part).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        })
    };
    let heard = exclusive.message(LONG).unwrap().unwrap();
    assert_eq!(heard.message.to_string(), long);
    assert!(heard.began < heard.ended, "it came byte by byte");
    writer.join().unwrap();
    scene.press(&["bend 2 9000", "clock"]);
    assert_eq!(texts(&mut normal, 2), ["bend 2 9000", "clock"]);
    assert_eq!(texts(&mut bends, 1), ["bend 2 9000"]);
    assert_eq!(texts(&mut exclusive, 1), ["clock"]);
    let found = status(scene.server.socket()).unwrap().inputs;
    assert_eq!((found[0].listeners, found[0].messages, found[0].problems), (3, 4, 0));
    assert!(!found[0].is_gone);
}

#[test]
fn a_program_that_does_not_read_loses_its_own_messages_only() {
    let mut scene = Scene::start();
    let (mut slow, mut fast) = (scene.listen("all"), scene.listen("all"));
    scene.press(&["note-on 1 60 100"]);
    for _ in 0..2000 {
        scene.press(&["clock"]);
        assert!(fast.message(LONG).unwrap().is_some());
    }
    scene.press(&["note-off 1 60 100"]);
    let last = (0..2).map(|_| fast.message(LONG).unwrap().unwrap()).last();
    assert_eq!(last.unwrap().message.to_string(), "note-off 1 60 100");
    let (mut taken, mut lost, mut sounding) = (0, 0, Sounding::default());
    while let Some(heard) = slow.message(SHORT).unwrap() {
        taken += 1;
        lost += heard.lost;
        sounding.follow(&heard.message);
    }
    assert!(taken >= 100 && lost > 0, "{taken}, {lost}");
    assert!(sounding.is_silent(), "the end of the note came later");
    let input = &status(scene.server.socket()).unwrap().inputs[0];
    assert_eq!((input.messages, input.listeners), (2002, 2));
    assert!(input.lost >= lost, "{input:?}, {lost}");
}

#[test]
fn a_server_that_ends_ends_the_notes_of_its_listeners() {
    let mut scene = Scene::start();
    let mut listener = scene.listen("notes");
    scene.press(&["note-on 1 60 100"]);
    assert_eq!(texts(&mut listener, 1), ["note-on 1 60 100"]);
    scene.server.end();
    let end = listener.message(LONG).unwrap().unwrap();
    assert_eq!(end.message.to_string(), "note-off 1 60 64");
    let ended = listener.message(LONG).unwrap_err();
    assert_eq!(ended.reason.as_deref(), Some("the server ends"));
}

#[test]
fn wrong_names_and_second_requests_are_refused() {
    let scene = Scene::start();
    let refused = Listener::connect(scene.server.socket(), "kyes", Kinds::ALL).unwrap_err();
    let said = refused.to_string();
    assert!(said.contains("there is no such input; did you mean `keys`?"), "{said}");
    let plain = Running::start();
    let refused = Listener::connect(plain.socket(), "keys", Kinds::ALL).unwrap_err();
    assert!(refused.to_string().contains("there is no such input"), "{refused}");
}

/// A note that a program plays for a key goes the whole way: input, hub, program, server, cable. A
/// program that dies while the key is down leaves no note.
#[test]
fn a_key_becomes_a_note() {
    let port = PtyPort::open(None).unwrap();
    let mut synth = File::open(port.path()).unwrap();
    let mut scene = Scene::with(Box::new(MidiLine::new(port, Rate::Unpaced)));
    let mut keys = scene.listen("notes");
    let mut client = scene.server.client("player");
    let stream = client.open("synth").unwrap();
    let (branch, if_late) = (BranchId(0), IfLate::Deliver);
    let mut parser = Parser::default();
    let mut arrived = Vec::new();
    for text in ["note-on 1 60 100", "note-off 1 60 1", "note-on 1 61 100"] {
        scene.press(&[text]);
        let heard = keys.message(LONG).unwrap().unwrap();
        let payload = heard.message.bytes();
        client.submit(&Draft { stream, branch, due: heard.ended, if_late, payload }).unwrap();
        let receipt = client.receipt(LONG).unwrap().unwrap();
        assert_eq!(receipt.outcome, Outcome::Delivered);
        assert!(receipt.began.unwrap() >= heard.ended);
        arrived.extend(read(&mut synth, &mut parser, 1));
        assert_eq!(arrived.last().unwrap(), text);
    }
    drop(client);
    assert_eq!(read(&mut synth, &mut parser, 1), ["note-off 1 61 64"]);
}

/// The MIDI output library of 1993 (section 5): messages are queued in the order of their times;
/// "late or out-of-order messages" go out at once; closing the handle ends the threads.
#[test]
fn the_output_library_of_1993() {
    let port = PtyPort::open(None).unwrap();
    let mut synth = File::open(port.path()).unwrap();
    let mut scene = Scene::with(Box::new(MidiLine::new(port, Rate::Unpaced)));
    let mut client = scene.server.client("library");
    let stream = client.open("synth").unwrap();
    let now = Client::now();
    let later = now + ms(1000);
    let mut submit = |text: &str, due: Moment| {
        let message: Message = text.parse().unwrap();
        let (branch, if_late, payload) = (BranchId(0), IfLate::Deliver, message.bytes());
        client.submit(&Draft { stream, branch, due, if_late, payload }).unwrap()
    };
    // A second ahead, out of order; then one whose time is past.
    let last = submit("program 1 3", later + ms(2));
    let first = submit("program 1 1", later);
    let middle = submit("program 1 2", later + ms(1));
    let late = submit("program 1 0", now);
    let order: Vec<u64> = (0..4).map(|_| client.receipt(LONG).unwrap().unwrap().sequence).collect();
    assert_eq!(order, [late, first, middle, last]);
    let mut parser = Parser::default();
    let wanted = ["program 1 0", "program 1 1", "program 1 2", "program 1 3"];
    assert_eq!(read(&mut synth, &mut parser, 4), wanted);
    drop(client);
    scene.server.end();
    let mut rest = [0; 8];
    assert!(
        !matches!(synth.read(&mut rest), Ok(1..)),
        "the threads have ended, and the line with them"
    );
}

/// The next messages of a cable.
fn read(synth: &mut File, parser: &mut Parser, count: usize) -> Vec<String> {
    let mut found = Vec::new();
    while found.len() < count {
        assert!(wait::wait_readable(synth.as_fd(), Duration::from_secs(20)).unwrap(), "{found:?}");
        let mut bytes = [0; 64];
        let length = synth.read(&mut bytes).unwrap();
        for byte in &bytes[..length] {
            parser.push(*byte, Client::now(), |parsed| match parsed {
                Parsed::Message { message, .. } => found.push(message.to_string()),
                Parsed::Problem { problem, .. } => panic!("{problem}"),
            });
        }
    }
    found
}
