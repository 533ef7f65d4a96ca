//! What is refused, and how it is said.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread::{self, JoinHandle};

use tactus_fifo::message::Reply;
use tactus_fifo::{Broker, FifoReader, FifoWriter, SharedReader};

use crate::Place;

fn text<T>(result: Result<T, impl Display>) -> String {
    result.map(drop).map_err(|error| error.to_string()).unwrap_err()
}

#[test]
fn impossible_offers_are_refused() {
    let place = Place::new();
    let mut offers = place.offers();
    let _first = offers.fifo_out::<u64>("state", 8).unwrap();
    assert_eq!(text(offers.fifo_in::<u64>("state", 8)), "the name `state` is taken");
    assert_eq!(
        text(offers.fifo_out::<u64>("none", 0)),
        "`none`: a FIFO has room for 0 items; 1 to 1048576 are possible"
    );
    assert_eq!(
        text(offers.fifo_out::<[u8; 0]>("empty", 8)),
        "`empty`: an item has 0 bytes; 1 to 65536 are possible"
    );
    assert!(text(offers.block_out::<[u8; 70_000]>("large")).contains("70000 bytes"));
}

#[test]
fn peers_that_expect_something_else_are_refused() {
    let place = Place::new();
    let mut offers = place.offers();
    let _state = offers.fifo_out::<u64>("state", 8).unwrap();
    let _broker = offers.start().unwrap();
    let socket = &place.socket;
    assert_eq!(
        text(FifoReader::<u64>::open(socket, "stats")),
        "no channel is called `stats`; did you mean `state`?"
    );
    assert_eq!(
        text(FifoWriter::<u64>::open(socket, "state")),
        "`state` is a FIFO to read, not a FIFO to write"
    );
    assert!(text(SharedReader::<u64>::open(socket, "state")).contains("not a block to read"));
    assert_eq!(
        text(FifoReader::<f64>::open(socket, "state")),
        "the items of `state` are `u64` (8 bytes), not `f64` (8 bytes)"
    );
    let _first = FifoReader::<u64>::open(socket, "state").unwrap();
    let refused = text(FifoReader::<u64>::open(socket, "state"));
    let process = std::process::id();
    assert!(refused.starts_with(&format!("process {process} of user ")), "{refused}");
    assert!(refused.ends_with("uses `state`"), "{refused}");
}

/// A broker that answers one request with a line. Returns the request.
fn answer(listener: UnixListener, line: &'static str) -> JoinHandle<String> {
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = String::new();
        BufReader::new(&stream).read_line(&mut request).unwrap();
        stream.write_all(line.as_bytes()).unwrap();
        request
    })
}

#[test]
fn a_peer_of_another_version_is_refused_by_either_side() {
    let place = Place::new();
    let mut offers = place.offers();
    let _state = offers.fifo_out::<u64>("state", 8).unwrap();
    let broker = offers.start().unwrap();
    // With a field and a role that this version does not have.
    let mut stream = UnixStream::connect(&place.socket).unwrap();
    let newer = r#"{"version":2,"name":"state","role":"tap","element":"u64","bytes":8,"rate":1}"#;
    writeln!(stream, "{newer}").unwrap();
    let mut reply = String::new();
    BufReader::new(&stream).read_line(&mut reply).unwrap();
    let Reply::Refused(refusal) = tactus_wire::parse(reply.trim_end().as_bytes()).unwrap() else {
        panic!("{reply}")
    };
    assert_eq!(
        refusal.to_string(),
        "the broker has version 1 of the protocol, this program has version 2"
    );
    drop(broker);
    for line in [
        "{\"welcome\":{\"slots\":8}}\n",
        "220 mail.example.org ESMTP\n",
        "{\"introduced\":{\"capacity\":7,\"start\":0,\"session\":2,\"separation\":\"other_uid\"}}\n",
        "{\"introduced\":{\"capacity\":8,\"start\":0,\"session\":2,\"separation\":\"other_uid\"}}\n",
    ] {
        let _ = std::fs::remove_file(&place.socket);
        let listener = UnixListener::bind(&place.socket).unwrap();
        let served = answer(listener, line);
        let refused = text(FifoReader::<u64>::open(&place.socket, "state"));
        let said = "the peer at the socket is not a broker of this version: ";
        assert!(refused.starts_with(said), "{line}: {refused}");
        assert!(served.join().unwrap().starts_with("{\"version\":1,"));
    }
}

#[test]
fn the_text_of_a_hostile_broker_controls_no_terminal() {
    let place = Place::new();
    for line in [
        "{\"refused\":{\"busy\":{\"reason\":\"\\u001b[2J\\u202e\"}}}\n",
        "{\"refused\":{\"invalid\":{\"reason\":\"\\u001b[2J\\u202e\"}}}\n",
        "{\"refused\":{\"unknown_name\":{\"name\":\"\\u001b[2J\",\"nearest\":\"\\u202e\"}}}\n",
        "{\"\\u001b[2J\\u202e\":{}}\n",
    ] {
        let _ = std::fs::remove_file(&place.socket);
        let listener = UnixListener::bind(&place.socket).unwrap();
        let served = answer(listener, line);
        let refused = text(FifoReader::<u64>::open(&place.socket, "state"));
        assert!(refused.contains(r"\u{1b}[2J") && refused.contains(r"\u{202e}"), "{refused}");
        assert!(
            refused.chars().all(|letter| letter == ' ' || letter.is_ascii_graphic()),
            "{refused}"
        );
        served.join().unwrap();
    }
}

#[test]
fn a_name_that_is_too_long_for_a_message_is_refused() {
    let place = Place::new();
    let _broker = place.offers().start().unwrap();
    let name = "x".repeat(5000);
    assert!(text(FifoReader::<u64>::open(&place.socket, &name)).contains("4096 bytes"));
    let name = "x".repeat(2000);
    assert!(text(FifoReader::<u64>::open(&place.socket, &name)).contains("no channel is called"));
}

#[test]
fn a_socket_has_one_broker() {
    let place = Place::new();
    let broker = place.offers().start().unwrap();
    let second = text(Broker::builder(&place.socket).start());
    assert!(second.starts_with("cannot listen at "), "{second}");
    drop(broker);
    assert!(!place.socket.exists());
    assert!(text(FifoReader::<u64>::open(&place.socket, "x")).starts_with("cannot reach"));
}

#[test]
fn nominal_separation_is_refused_if_the_program_requires_another_user() {
    let place = Place::new();
    let mut offers = place.offers().require_other_user();
    let _state = offers.fifo_out::<u64>("state", 8).unwrap();
    let _broker = offers.start().unwrap();
    let refused = text(FifoReader::<u64>::open(&place.socket, "state"));
    assert!(refused.contains("is not separated"), "{refused}");
}
