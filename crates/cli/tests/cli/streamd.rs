//! The delivery server as a process: its start, its status, its end.

use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;
use tactus_stream::{BranchId, Client, Draft, IfLate, Outcome, Wanted};

use crate::support::{Tactus, text};

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a server with a measuring device, and waits until it serves.
fn start(tactus: &Tactus) -> (Killed, String, Client) {
    let socket = tactus.folder().join("socket").display().to_string();
    let mut command = tactus.command(&["streamd", "--device", "null=measure", "--socket", &socket]);
    let mut server = Killed(command.stderr(Stdio::piped()).spawn().unwrap());
    loop {
        if let Ok(client) = Client::connect(&socket, &Wanted::named("player")) {
            return (server, socket, client);
        }
        if let Some(status) = server.0.try_wait().unwrap() {
            panic!("{status}");
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_server_delivers_shows_its_state_and_leaves_nothing() {
    let tactus = Tactus::new();
    let (mut server, socket, mut client) = start(&tactus);
    let stream = client.open("null").unwrap();
    let (branch, if_late) = (BranchId(0), IfLate::Deliver);
    let draft = Draft { stream, branch, due: Client::now(), if_late, payload: b"abc" };
    client.submit(&draft).unwrap();
    let receipt = client.receipt(Some(Duration::from_secs(20))).unwrap().unwrap();
    assert_eq!(receipt.outcome, Outcome::Delivered);
    let shown = tactus.succeed(&["streams", "--socket", &socket]);
    assert!(shown.contains("1 delivered") && shown.contains("player"), "{shown}");
    let json = tactus.succeed(&["streams", "--socket", &socket, "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["devices"][0]["name"], "null");
    assert_eq!(json["clients"][0]["counts"]["delivered"], 1);
    let second = ["streamd", "--device", "null=measure", "--socket", &socket];
    let errors = tactus.fail(3, &second);
    assert!(errors.contains("hint: a server serves this socket already"), "{errors}");
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&server.0),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    assert!(client.receipt(None).unwrap_err().to_string().contains("the server ends"));
    server.0.wait().unwrap();
    assert!(!std::path::Path::new(&socket).exists());
    let errors = tactus.fail(3, &["streams", "--socket", &socket]);
    assert!(errors.contains("hint: is the server running? start it by tactus streamd"), "{errors}");
}

#[test]
fn bad_devices_and_limits_are_explained() {
    let tactus = Tactus::new();
    let refused = |device: &str| tactus.fail(2, &["streamd", "--device", device]);
    assert!(refused("measure").contains("is not NAME=SPEC"));
    assert!(refused("a=mesure").contains("did you mean `measure`?"));
    let twice = ["streamd", "--device", "a=measure", "--device", "a=measure", "--socket"];
    let socket = tactus.folder().join("socket").display().to_string();
    let errors = tactus.fail(2, &[&twice[..], &[socket.as_str()]].concat());
    assert!(errors.contains("two devices have the name `a`"), "{errors}");
    let spin = ["streamd", "--device", "a=measure", "--spin", "5ms"];
    assert!(tactus.fail(2, &spin).contains("to 1ms are possible"));
    let output = tactus.run(&["streamd"]);
    assert!(text(&output.stderr).contains("--device <NAME=SPEC>"));
}
