//! Doors of the delivery server.

use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::support::Tactus;

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn doors_deliver_and_close_with_the_server() {
    let tactus = Tactus::new();
    let path = |name: &str| tactus.folder().join(name).display().to_string();
    let (socket, lines) = (path("socket"), path("lines"));
    let mut command = tactus.command(&[
        "streamd",
        "--device",
        "log=measure",
        "--socket",
        &socket,
        "--osc",
        "0",
        "--lines",
        &lines,
    ]);
    let mut server = Killed(command.stderr(Stdio::piped()).spawn().unwrap());
    let mut said = BufReader::new(server.0.stderr.take().unwrap()).lines().map(Result::unwrap);
    let osc = said.find_map(|line| Some(line.strip_prefix("OSC at UDP ")?.to_owned())).unwrap();
    let found = said.next().unwrap();
    assert_eq!(found, format!("JSON lines at {lines}"));

    let program = UdpSocket::bind("127.0.0.1:0").unwrap();
    program.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
    for message in [b"/subscribe\0\0,\0\0\0".as_slice(), b"/to/log\0,i\0\0\0\0\0\x07"] {
        program.send_to(message, &osc).unwrap();
    }
    let mut buffer = [0; 512];
    for wanted in ["/subscribed", "/receipt"] {
        let length = program.recv(&mut buffer).unwrap();
        assert!(buffer[..length].starts_with(wanted.as_bytes()), "{wanted}");
    }

    let mut stream = UnixStream::connect(&lines).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut ask = |request: &str| -> Value {
        writeln!(stream, "{request}").unwrap();
        serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap()
    };
    let receipt = ask(r#"{"send":{"to":"log","text":"a","id":"x"}}"#);
    assert_eq!(receipt["receipt"]["outcome"], "delivered");
    // An item that waits is answered at the end of the server.
    writeln!(stream, r#"{{"send":{{"to":"log","in":"9s","text":"a"}}}}"#).unwrap();
    writeln!(stream, r#"{{"clock":{{}}}}"#).unwrap();
    assert!(answers.next().unwrap().unwrap().starts_with(r#"{"clock""#));
    let status = tactus.succeed(&["streams", "--socket", &socket]);
    assert!(status.contains("osc:127.0.0.1") && status.contains("lines:"), "{status}");
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&server.0),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    let last: Vec<String> = answers.map(Result::unwrap).collect();
    assert!(
        last[0].contains(r#""outcome":"ended""#) && last[1].starts_with(r#"{"ended""#),
        "{last:?}"
    );
    server.0.wait().unwrap();
    assert!(!std::path::Path::new(&lines).exists());
}

#[test]
fn bad_doors_are_explained() {
    let tactus = Tactus::new();
    let refused = |code, option: &str, value: &str| {
        let socket = tactus.folder().join("socket").display().to_string();
        let device = ["streamd", "--device", "log=measure", "--socket", &socket];
        tactus.fail(code, &[&device[..], &[option, value]].concat())
    };
    assert!(refused(2, "--osc", "7770x").contains("neither a port nor ADDRESS:PORT"));
    assert!(refused(3, "--osc", "192.0.2.1:7770").contains("cannot listen at UDP 192.0.2.1:7770"));
    assert!(refused(2, "--lsl", "trial").contains("it is not NAME=DEVICE"));
    assert!(refused(2, "--lsl", "trial=lag").contains("did you mean `log`?"));
    assert!(refused(3, "--lines", "/proc/x").contains("cannot listen at /proc/x"));
}
