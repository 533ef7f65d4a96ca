//! JSON lines.

use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tactus_door::lines::door::CONNECTIONS;
use tactus_door::lines::request::LINE_BYTES;
use tactus_door::lines::{Door, Options};
use tactus_door::sender::ITEMS;
use tactus_stream::Client;
use tactus_testing::wait_until;
use tempfile::TempDir;

use crate::common::Running;
use crate::support::{payloads, server};

struct Program {
    stream: UnixStream,
    reader: BufReader<UnixStream>,
}

impl Program {
    fn new(door: &(Door, TempDir)) -> Self {
        let stream = UnixStream::connect(path(&door.1)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let reader = BufReader::new(stream.try_clone().unwrap());
        Self { stream, reader }
    }

    fn say(&mut self, request: &Value) {
        writeln!(self.stream, "{request}").unwrap();
    }

    /// The next answer: its word, and its content.
    fn hear(&mut self) -> (String, Value) {
        let mut line = String::new();
        assert!(self.reader.read_line(&mut line).unwrap() > 0, "the connection has ended");
        let Ok(Value::Object(object)) = serde_json::from_str(&line) else { panic!("{line}") };
        object.into_iter().next().unwrap()
    }

    fn hear_receipt(&mut self) -> Value {
        let (word, content) = self.hear();
        assert_eq!(word, "receipt", "{content}");
        content
    }

    fn is_over(&mut self) -> bool {
        self.reader.read_line(&mut String::new()).unwrap() == 0
    }
}

fn path(folder: &TempDir) -> PathBuf {
    folder.path().join("lines")
}

fn open(server: &Running) -> (Door, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { path: path(&folder), server: server.socket() };
    (Door::open(&options).unwrap(), folder)
}

#[test]
fn items_are_delivered_and_answered() {
    let (server, [synth, lights, log]) = server();
    let door = open(&server);
    let mut program = Program::new(&door);
    let at = Client::now().as_nanos() + 50_000_000;
    program.say(&json!({"send": {"to": "synth", "at": at, "data": [144, 60, 100], "id": 7}}));
    let receipt = program.hear_receipt();
    assert_eq!((&receipt["id"], &receipt["to"]), (&json!(7), &json!("synth")));
    assert_eq!((&receipt["due"], &receipt["outcome"]), (&json!(at), &json!("delivered")));
    let (began, ended) = (receipt["began"].as_u64().unwrap(), receipt["ended"].as_u64().unwrap());
    assert!(at <= began && began <= ended);
    program.say(&json!({"send": {"to": "lights", "in": "1ms", "data": [255, 0]}}));
    program.say(&json!({"send": {"to": "log", "in": "1s", "text": "hello", "id": "x"}}));
    assert_eq!(program.hear_receipt()["to"], "lights");
    assert_eq!(program.hear_receipt()["id"], "x");
    assert_eq!(payloads(&synth), [[144, 60, 100]]);
    assert_eq!((payloads(&lights), payloads(&log)), (vec![vec![255, 0]], vec![b"hello".to_vec()]));

    program.say(&json!({"devices": {}}));
    let (word, devices) = program.hear();
    assert_eq!(
        (word.as_str(), &devices[0]),
        ("devices", &json!({"name": "synth", "format": {"kind": "midi"}, "lead": 0}))
    );
    program.say(&json!({"clock": {}}));
    let (word, clock) = program.hear();
    assert_eq!(
        (word.as_str(), &clock["horizon"], &clock["items"]),
        ("clock", &json!(10_000_000_000_u64), &json!(ITEMS))
    );
    assert_eq!(clock["slack"]["items"], 3);
}

#[test]
fn a_cut_is_carried_out_before_what_follows_it() {
    let (server, [synth, ..]) = server();
    let door = open(&server);
    let mut program = Program::new(&door);
    let note = |id: u64, branch: u32| json!({"send": {"to": "synth", "in": "2s", "data": [144, id, 1], "id": id, "branch": branch}});
    program.say(&note(1, 5));
    program.say(&note(2, 6));
    program.say(&json!({"cut": {"branch": 5}}));
    program.say(&note(3, 5));
    let mut answers: Vec<(String, Value)> = (0..4).map(|_| program.hear()).collect();
    answers.retain(|(word, content)| {
        assert!(word == "receipt" || content == &json!({"line": 3}), "{word} {content}");
        word == "receipt"
    });
    let outcomes: Vec<(&Value, &Value)> =
        answers.iter().map(|(_, receipt)| (&receipt["id"], &receipt["outcome"])).collect();
    let wanted =
        [(1, "cut"), (2, "delivered"), (3, "delivered")].map(|(id, word)| (json!(id), json!(word)));
    assert_eq!(outcomes, wanted.iter().map(|(id, word)| (id, word)).collect::<Vec<_>>());
    assert_eq!(payloads(&synth), [[144, 2, 1], [144, 3, 1]]);
}

#[test]
fn a_line_that_is_refused_ends_nothing() {
    let (server, _) = server();
    let door = open(&server);
    let mut program = Program::new(&door);
    program.stream.write_all(b"\n{\"send\":\n").unwrap();
    program.say(&json!({"send": {"to": "sinth", "data": [1], "id": 4}}));
    program.say(&json!({"send": {"to": "synth", "data": [1.5]}}));
    program.say(&json!({"send": {"to": "synth", "in": "1h", "data": [144, 60, 1]}}));
    program.say(&json!({"send": {"to": "synth", "data": [144, 60, 1]}}));
    let mut refused = || {
        let (word, content) = program.hear();
        assert_eq!(word, "refused", "{content}");
        content
    };
    let first = refused();
    assert_eq!(first["line"], 2, "blank lines count");
    assert!(first["reason"].as_str().unwrap().starts_with("column 8: EOF"), "{first}");
    let second = refused();
    assert_eq!((&second["line"], &second["id"]), (&json!(3), &json!(4)));
    let reason = "there is no device `sinth`; did you mean `synth`?";
    assert_eq!(second["reason"], reason);
    assert_eq!(refused()["reason"], "`data`: value 1: 1.5 is not a whole number");
    let far = refused();
    assert!(far["from"].as_u64().unwrap() > Client::now().as_nanos(), "{far}");
    assert_eq!(program.hear_receipt()["outcome"], "delivered");
}

#[test]
fn many_short_lines_are_all_answered() {
    let (server, _) = server();
    let door = open(&server);
    let mut program = Program::new(&door);
    // Their answers are many times as long, and nobody reads them at first.
    program.stream.write_all(&b"x\n".repeat(20_000)).unwrap();
    for line in 1..=20_000 {
        assert_eq!(program.hear().1["line"], line);
    }
}

#[test]
fn a_stopped_device_is_resumed() {
    let (server, _) = server();
    let door = open(&server);
    let mut program = Program::new(&door);
    let past = Client::now().as_nanos() - 1_000_000_000;
    let note = json!({"send": {"to": "synth", "data": [144, 60, 1]}});
    program.say(
        &json!({"send": {"to": "synth", "at": past, "data": [144, 60, 1], "late": "stop:1ms"}}),
    );
    assert_eq!(program.hear_receipt()["outcome"], "late");
    program.say(&note);
    assert_eq!(program.hear_receipt()["outcome"], "stopped");
    program.say(&json!({"resume": {"to": "synth"}}));
    assert_eq!(program.hear().0, "done");
    program.say(&note);
    assert_eq!(program.hear_receipt()["outcome"], "delivered");
}

#[test]
fn more_items_than_room_wait_in_the_connection() {
    let (server, [synth, ..]) = server();
    let door = open(&server);
    let mut program = Program::new(&door);
    let count = 3 * u64::from(ITEMS);
    let line = json!({"send": {"to": "synth", "in": "30ms", "data": [144, 60, 1]}});
    let all: String = (0..count).map(|_| format!("{line}\n")).collect();
    let mut writes = program.stream.try_clone().unwrap();
    // Nothing is read before the peer has stopped reading.
    let writer = std::thread::spawn(move || {
        writes.write_all(all.as_bytes()).unwrap();
        writes.shutdown(Shutdown::Write).unwrap();
    });
    std::thread::sleep(Duration::from_millis(100));
    for _ in 0..count {
        assert_eq!(program.hear_receipt()["outcome"], "delivered");
    }
    // Like `printf … | socat - UNIX-CONNECT:…`: the answers come after the end of the input.
    assert!(program.is_over());
    writer.join().unwrap();
    assert_eq!(payloads(&synth).len() as u64, count);
}

#[test]
fn the_items_of_a_program_that_has_gone_are_dropped() {
    let (server, [synth, ..]) = server();
    let door = open(&server);
    let mut program = Program::new(&door);
    program.say(&json!({"send": {"to": "synth", "in": "9s", "data": [144, 60, 1]}}));
    // The answer to the clock shows that the line before it was carried out.
    program.say(&json!({"clock": {}}));
    assert_eq!(program.hear().0, "clock");
    drop(program);
    let mut client = server.client("looks");
    wait_until("the client is still there", || client.status().unwrap().clients.len() == 1);
    assert!(payloads(&synth).is_empty());
}

#[test]
fn lines_and_connections_are_limited() {
    let (server, _) = server();
    let door = open(&server);
    let mut program = Program::new(&door);
    // The door may close before the line has ended.
    let _ = program.stream.write_all(&vec![b' '; LINE_BYTES + 20_000]);
    let (word, content) = program.hear();
    assert_eq!(word, "ended");
    assert!(content["reason"].as_str().unwrap().contains("more than 65536 bytes"), "{content}");

    // The first connection may still count. Others of this user leave room for another one.
    let most = CONNECTIONS / 2;
    let mut programs: Vec<Program> = (0..=CONNECTIONS).map(|_| Program::new(&door)).collect();
    let answers = programs.iter_mut().map(|program| {
        // One that is turned away does not hear it.
        let _ = writeln!(program.stream, "{}", json!({"clock": {}}));
        program.hear().0
    });
    let served = answers.filter(|word| word == "clock").count();
    assert!((most - 1..=most).contains(&served), "{served}");
}

#[test]
fn lines_are_counted_and_bounded() {
    let (server, _) = server();
    let door = open(&server);
    let mut program = Program::new(&door);
    writeln!(program.stream, "\n\n").unwrap();
    program.say(&json!({"send": {"to": "synth", "data": ["x"], "id": "s"}}));
    let (word, content) = program.hear();
    assert_eq!(
        (word.as_str(), &content["line"], &content["id"]),
        ("refused", &json!(4), &json!("s"))
    );
    program.say(&json!({"send": {"to": "synth", "data": [1], "id": "x".repeat(65)}}));
    assert_eq!(program.hear().1["reason"], "`id` has 65 bytes, more than 64");
    program.say(&json!({"send": {"to": "a".repeat(60_000), "data": [1]}}));
    let (word, content) = program.hear();
    assert!(word == "refused" && content["reason"].as_str().unwrap().len() < 5000);
    program.say(&json!({"send": {"to": "log", "text": "x".repeat(2000)}}));
    let reason = "the values have 2000 bytes, more than 1024; fix: several items";
    assert!(program.hear().1["reason"].as_str().unwrap().ends_with(reason));
    // The door closes at the 65 537th byte, perhaps before the rest is written.
    let long = json!({"send": {"to": "log", "text": "x".repeat(70_000)}});
    let _ = writeln!(program.stream, "{long}");
    let (word, content) = program.hear();
    assert!(word == "ended" && content["reason"].as_str().unwrap().contains("more than 65536"));
}

#[test]
fn the_end_of_the_server_is_said_after_the_receipts() {
    let (mut server, _) = server();
    let door = open(&server);
    let mut program = Program::new(&door);
    program.say(&json!({"send": {"to": "synth", "in": "9s", "data": [144, 60, 1]}}));
    program.say(&json!({"clock": {}}));
    assert_eq!(program.hear().0, "clock");
    server.end();
    assert_eq!(program.hear_receipt()["outcome"], "ended");
    assert_eq!(program.hear().0, "ended");
    assert!(program.is_over());
}
