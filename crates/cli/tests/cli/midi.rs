//! `tactus midi` on pseudo-terminals, with and without the delivery server.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tactus_testing::{eventually, wait_until};

use crate::support::{Tactus, text};

/// A command that runs, and is killed if a test fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    fn start(tactus: &Tactus, arguments: &[&str]) -> Self {
        let mut command = tactus.command(arguments);
        Self(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    fn lines(&mut self) -> BufReader<ChildStdout> {
        BufReader::new(self.0.stdout.take().unwrap())
    }

    /// Interrupts it, and returns its exit code and what it printed since.
    fn interrupt(mut self) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.0), Signal::INT).unwrap();
        let mut out = String::new();
        if let Some(stdout) = &mut self.0.stdout {
            stdout.read_to_string(&mut out).unwrap();
        }
        (self.0.wait().unwrap().code(), out)
    }
}

/// A link in the folder of the test, whose owner alone may write to it.
fn link(tactus: &Tactus, name: &str) -> String {
    fs::set_permissions(tactus.folder(), fs::Permissions::from_mode(0o700)).unwrap();
    tactus.folder().join(name).display().to_string()
}

fn await_link(path: &str) -> PathBuf {
    wait_until(&format!("{path} does not appear"), || Path::new(path).exists());
    path.into()
}

fn writer(path: &str) -> File {
    OpenOptions::new().write(true).open(await_link(path)).unwrap()
}

fn value(lines: &mut impl BufRead) -> Value {
    let mut line = String::new();
    assert!(lines.read_line(&mut line).unwrap() > 0, "a line comes");
    serde_json::from_str(&line).unwrap()
}

#[test]
fn a_monitor_prints_messages_with_their_times_and_problems() {
    let tactus = Tactus::new();
    let keys = link(&tactus, "keys");
    let port = format!("pty:{keys}");
    let mut monitor = Running::start(&tactus, &["midi", "monitor", &port, "--json"]);
    let mut lines = monitor.lines();
    writer(&keys).write_all(&[0x90, 60, 100, 62, 0xF8, 90, 0xF0, 1, 0xF7, 5, 0xC0, 3]).unwrap();
    let found: Vec<Value> = (0..6).map(|_| value(&mut lines)).collect();
    let text = |kind: &str, place: usize| found[place][kind]["text"].as_str().unwrap().to_owned();
    assert_eq!(text("message", 0), "note-on 1 60 100");
    assert_eq!(text("message", 1), "clock");
    assert_eq!(text("message", 2), "note-on 1 62 90");
    assert_eq!(text("message", 3), "exclusive 01");
    assert_eq!(text("problem", 4), "1 data bytes without a status byte");
    assert_eq!(text("message", 5), "program 1 3");
    assert_eq!(found[0]["message"]["interval"], Value::Null);
    assert!(found[2]["message"]["interval"].is_u64());
    assert_eq!(found[0]["message"]["bytes"], serde_json::json!([0x90, 60, 100]));
    kill_process(Pid::from_child(&monitor.0), Signal::INT).unwrap();
    let summary = value(&mut lines);
    assert_eq!(summary["summary"]["messages"], 5);
    assert_eq!(summary["summary"]["problems"], 1);
    assert_eq!(monitor.0.wait().unwrap().code(), Some(130));
    assert!(!Path::new(&keys).is_symlink());
}

#[test]
fn a_thru_ends_the_notes_when_it_is_interrupted() {
    let tactus = Tactus::new();
    let (keys, synth) = (link(&tactus, "keys"), link(&tactus, "synth"));
    let (input, output) = (format!("pty:{keys}"), format!("pty:{synth}"));
    let filter = ["--filter", "transpose=12,kinds=notes"];
    let arguments = [&["midi", "thru", &input, &output, "--json"][..], &filter].concat();
    let thru = Running::start(&tactus, &arguments);
    let mut out = File::open(await_link(&synth)).unwrap();
    writer(&keys).write_all(&[0x90, 60, 100, 0xF8]).unwrap();
    let mut bytes = [0; 3];
    out.read_exact(&mut bytes).unwrap();
    assert_eq!(bytes, [0x90, 72, 100]);
    let reader = std::thread::spawn(move || {
        out.read_exact(&mut bytes).unwrap();
        bytes
    });
    let (code, summary) = thru.interrupt();
    assert_eq!(code, Some(130));
    assert_eq!(reader.join().unwrap(), [0x80, 72, 64]);
    let summary: Value = serde_json::from_str(&summary).unwrap();
    assert_eq!((&summary["messages"], &summary["filtered"]), (&2.into(), &1.into()));
    assert!(summary["latency"]["p50"].as_u64().unwrap() > 0);
}

/// The same messages by the code of the server in the process of the command, and by a server.
#[test]
fn messages_are_sent_at_their_times_and_answered() {
    let tactus = Tactus::new();
    let (synth, keys, socket) =
        (link(&tactus, "synth"), link(&tactus, "keys"), link(&tactus, "socket"));
    let song = tactus.folder().join("song.txt");
    fs::write(&song, "0s note-on 1 60 100\n30ms note-off 1 60 0\n40ms note-on 1 62 1\n").unwrap();
    let (device, input) =
        (format!("synth=midi-pty:unpaced,link={synth}"), format!("keys=pty:{keys}"));
    let server = ["--socket", &socket, "--device", &device, "--input", &input];
    let server = Running::start(&tactus, &[&["streamd"][..], &server].concat());
    await_link(&socket);
    let monitored = ["midi", "monitor", "server:keys", "--socket", &socket, "--json"];
    let mut monitor = Running::start(&tactus, &monitored);
    let mut heard = monitor.lines();
    let mut keyboard = writer(&keys);
    await_listener(tactus.command(&["streams", "--socket", &socket, "--json"]));
    keyboard.write_all(&[0xFA]).unwrap();
    assert_eq!(value(&mut heard)["message"]["text"], "start");
    // From here to the input of the server, then to its device.
    for output in [keys.as_str(), "server:synth"] {
        let song = song.display().to_string();
        let to = ["midi", "send", output, "--file", &song, "--socket", &socket, "--json"];
        let mut cable = (output != keys).then(|| File::open(&synth).unwrap());
        let sent = tactus.succeed(&to);
        let lines: Vec<Value> =
            sent.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let [first, second, third, summary] = &lines[..] else { panic!("{sent}") };
        for receipt in [first, second, third] {
            let receipt = &receipt["receipt"];
            assert_eq!(receipt["outcome"], "delivered");
            assert!(receipt["began"].as_u64() >= receipt["due"].as_u64(), "{receipt}");
        }
        assert_eq!(second["receipt"]["message"], "note-off 1 60 0");
        assert_eq!(summary["summary"]["outcomes"]["delivered"], 3);
        let wanted = "note-on 1 60 100, note-off 1 60 0, note-on 1 62 1, note-off 1 62 64";
        let found: Vec<Value> = match &mut cable {
            None => (0..4).map(|_| value(&mut heard)["message"]["text"].clone()).collect(),
            Some(cable) => {
                let mut bytes = [0; 12];
                cable.read_exact(&mut bytes).unwrap();
                let messages =
                    bytes.chunks(3).map(|bytes| tactus_midi::Message::new(bytes).unwrap());
                messages.map(|message| message.to_string().into()).collect()
            }
        };
        let found: Vec<&str> = found.iter().map(|text| text.as_str().unwrap()).collect();
        assert_eq!(found.join(", "), wanted);
    }
    let wrong = tactus.fail(3, &["midi", "send", "server:snyth", "clock", "--socket", &socket]);
    assert!(wrong.contains("did you mean `synth`?"), "{wrong}");
    let wrong = tactus.fail(3, &["midi", "monitor", "server:kyes", "--socket", &socket]);
    assert!(wrong.contains("did you mean `keys`?"), "{wrong}");
    assert_eq!(server.interrupt().0, Some(130));
    assert!(value(&mut heard)["gone"]["text"].as_str().unwrap().contains("the server ends"));
}

/// Asks for the status of a server until a program listens to its first input.
fn await_listener(mut status: Command) {
    eventually(|| {
        let output = status.output().unwrap();
        let found: Value = serde_json::from_str(&text(&output.stdout)).unwrap_or_default();
        if found["inputs"][0]["listeners"] == 1 { Ok(()) } else { Err(found) }
    });
}

#[test]
fn wrong_ports_messages_and_files_are_explained() {
    let tactus = Tactus::new();
    let said = |code, arguments: &[&str]| tactus.fail(code, &[&["midi"], arguments].concat());
    assert!(said(2, &["monitor", "ptyy"]).contains("did you mean `pty`?"));
    assert!(said(2, &["thru", "pty", "pty", "--filter", "kind=notes"]).contains("`kinds`"));
    assert!(said(2, &["send", "pty", "note-onn 1 60 1"]).contains("did you mean `note-on`?"));
    assert!(said(2, &["send", "pty"]).contains("MESSAGE"));
    let file = tactus.folder().join("song.txt");
    fs::write(&file, "0s clock\n1x clock\n").unwrap();
    let file = file.display().to_string();
    assert!(said(2, &["send", "pty", "--file", &file]).contains("line 2: `1x` is not a time"));
    let missing = said(3, &["monitor", "/dev/snd/midiC99D9"]);
    assert!(missing.contains("cannot open /dev/snd/midiC99D9"), "{missing}");
    let nowhere = tactus.folder().join("socket").display().to_string();
    let no_server = said(3, &["send", "server:x", "clock", "--socket", &nowhere]);
    assert!(no_server.contains("`tactus streamd`"), "{no_server}");
    tactus.succeed(&["midi", "devices", "--json"]);
}
