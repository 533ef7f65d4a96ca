//! Displays, sound servers and encoders that a signal has stopped: they answer nothing, and everything ends
//! with a reason all the same.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tactus_sound::PrivateServer;
use tactus_sound::server::SINK;
use tactus_testing::{Need, require, wait_until};

use crate::mail::await_bytes;
use crate::play::{Compositor, Playing, Stage};
use crate::support::text;

const STEP: Duration = Duration::from_millis(20);

fn signal(process: u32, signal: Signal) {
    kill_process(Pid::from_raw(process.cast_signed()).unwrap(), signal).unwrap();
}

/// A process that is stopped; it continues with this value.
struct Stopped(u32);

impl Stopped {
    fn now(process: u32) -> Self {
        signal(process, Signal::STOP);
        Self(process)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        signal(self.0, Signal::CONT);
    }
}

fn missing(playing: &Playing) -> u64 {
    playing.all("ended")[0]["clips"][0]["missing"].as_u64().unwrap()
}

/// Sends SIGTERM, and requires an exit code.
fn end(mut child: Child, code: i32) -> String {
    signal(child.id(), Signal::TERM);
    wait_until("it does not end", || child.try_wait().unwrap().is_some());
    let output = child.wait_with_output().unwrap();
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{errors}");
    errors
}

#[test]
fn a_display_that_stops_ends_the_player() {
    let Some(stage) = Stage::new(4) else { return };
    let clip = stage.clip("red.mkv", 60.0);
    for way in ["present", "shm", "socket"] {
        let mut playing = stage.play(&[&clip, "--mute", "--transport", way]);
        playing.until("frame");
        let stopped = Stopped::now(stage.display.process());
        let (code, messages) = playing.end();
        drop(stopped);
        assert_eq!(code, Some(3), "{way}: {messages}");
        assert!(messages.contains("did not answer for 5 s: it is stopped"), "{way}: {messages}");
        assert!(messages.contains("the display has not shown the picture from"), "{messages}");
        // Five seconds of 25 frames/s, and those before whose receipts are there.
        assert!(missing(&playing) > 25, "{way}: {:?}", playing.all("ended"));
    }
}

#[test]
fn a_player_at_a_stopped_display_ends_at_once() {
    let Some(stage) = Stage::new(4) else { return };
    let clip = stage.clip("red.mkv", 60.0);
    let mut playing = stage.play(&[&clip, "--mute"]);
    playing.until("frame");
    let _stopped = Stopped::now(stage.display.process());
    // The next frame waits for it.
    std::thread::sleep(STEP * 50);
    kill_process(Pid::from_child(&playing.child), Signal::TERM).unwrap();
    let (code, messages) = playing.end();
    // It did not wait for the 5 s of an answer: that has another message.
    assert!(messages.contains("did not answer when playing ended"), "{messages}");
    assert_eq!(code, Some(3), "{messages}");
}

#[test]
fn a_display_that_is_stopped_before_is_an_error() {
    let Some(stage) = Stage::new(4) else { return };
    let clip = stage.clip("red.mkv", 2.0);
    let _stopped = Stopped::now(stage.display.process());
    let (code, messages) = stage.play(&[&clip, "--mute"]).end();
    assert_eq!(code, Some(3), "{messages}");
    assert!(messages.contains("did not answer for 5 s: it is stopped"), "{messages}");
    // So is a folder, which opens as a window.
    let folder = stage.tactus.folder().display().to_string();
    let output = stage.command(&[&folder]).output().unwrap();
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(errors.contains("did not answer for 5 s: it is stopped"), "{errors}");
    // A signal ends what waits for it.
    let mut waits = stage.command(&[&clip, "--mute"]);
    let child = waits.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(STEP * 75);
    assert!(!end(child, 143).contains("did not answer"));
}

#[test]
fn a_compositor_that_stops_ends_the_player() {
    let Some(stage) = Stage::new(4) else { return };
    let folder = stage.tactus.folder().to_owned();
    let Some(compositor) = require(Need::Display, Compositor::start(&folder)) else { return };
    let clip = stage.clip("red.mkv", 60.0);
    let play = || {
        let mut command = stage.command(&[&clip, "--mute", "--transport", "wayland"]);
        let mut playing = Playing::start(command.env("WAYLAND_DISPLAY", "wayland-test"));
        playing.until("frame");
        playing
    };
    let mut playing = play();
    let stopped = Stopped::now(compositor.0.id());
    let (code, messages) = playing.end();
    drop(stopped);
    assert_eq!(code, Some(3), "{messages}");
    assert!(messages.contains("it did not answer for 5 s"), "{messages}");
    assert!(missing(&playing) > 25, "{:?}", playing.all("ended"));
    let mut playing = play();
    let _stopped = Stopped::now(compositor.0.id());
    std::thread::sleep(STEP * 50);
    kill_process(Pid::from_child(&playing.child), Signal::TERM).unwrap();
    let (code, messages) = playing.end();
    assert_eq!(code, Some(3), "{messages}");
    assert!(!messages.contains("it did not answer for 5 s"), "{messages}");
}

#[test]
fn a_sound_server_that_stops_leaves_wall_time() {
    let Some(stage) = Stage::new(4) else { return };
    let Some(server) = require(Need::Sound, PrivateServer::start(1024)) else { return };
    let clip = stage.clip("tone.mkv", 120.0);
    let mut command = stage.command(&[&clip, "--sound", SINK]);
    let mut playing = Playing::start(command.envs(server.variables()));
    assert!(playing.until("started")["sound"].is_object());
    playing.until("frame");
    let stopped = Stopped::now(server.process());
    playing.until_note("asked for nothing for 2 s");
    // The picture goes on.
    playing.until("frame");
    drop(stopped);
    playing.until_note("the sound is back");
    let _stopped = Stopped::now(server.process());
    kill_process(Pid::from_child(&playing.child), Signal::TERM).unwrap();
    let (code, messages) = playing.end();
    assert_eq!(code, Some(143), "{messages}");
    let sound = &playing.all("ended")[0]["sound"];
    assert!(sound["lost"] == 1 && sound["cut"].as_u64() > Some(0), "{sound}");
}

/// Starts to record, and waits until the clip has its first second.
fn record(stage: &Stage, name: &str, arguments: &[&str]) -> (Child, String) {
    let clip = stage.file(name);
    let mut command = stage.tactus.command(&["mail", "record", &clip]);
    command.env("DISPLAY", stage.display.display()).env("XAUTHORITY", stage.file("authority"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    await_bytes(Path::new(&format!("{clip}.part")), 1000);
    (child, clip)
}

const SYNTHETIC: [&str; 4] = ["--picture", "synthetic", "--sound", "synthetic"];

/// The encoder of a recorder.
fn encoder(recorder: &Child) -> u32 {
    let children = format!("/proc/{0}/task/{0}/children", recorder.id());
    let ids = fs::read_to_string(children).unwrap();
    let is_encoder = |id: &&str| {
        fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|name| name.trim() == "ffmpeg")
    };
    ids.split_whitespace().find(is_encoder).unwrap().parse().unwrap()
}

#[test]
fn an_encoder_that_stops_ends_the_clip() {
    let Some(stage) = Stage::new(4) else { return };
    let (child, clip) = record(&stage, "a.webm", &SYNTHETIC);
    signal(encoder(&child), Signal::STOP);
    let output = child.wait_with_output().unwrap();
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{errors}");
    assert!(errors.contains("ffmpeg was stopped by a signal, and was killed"), "{errors}");
    assert!(!fs::exists(&clip).unwrap() && errors.contains("a.webm.part"), "{errors}");
    // At the end of a clip, it is not awaited.
    let (child, _) = record(&stage, "b.webm", &SYNTHETIC);
    signal(encoder(&child), Signal::STOP);
    let errors = end(child, 5);
    assert!(errors.contains("ffmpeg was stopped by a signal, and was killed"), "{errors}");
    stage.tactus.require_nothing_left();
}

#[test]
fn a_recorder_at_a_stopped_display_ends_at_once() {
    let Some(stage) = Stage::new(4) else { return };
    let (child, clip) = record(&stage, "a.webm", &["--picture", "screen", "--sound", "none"]);
    let stopped = Stopped::now(stage.display.process());
    // More than half a second of 25 pictures/s.
    std::thread::sleep(Duration::from_millis(600));
    let errors = end(child, 143);
    drop(stopped);
    assert!(!errors.contains("did not answer for 5 s"), "{errors}");
    let mut decode = Command::new("ffmpeg");
    decode.args(["-nostdin", "-v", "error", "-xerror", "-i", &clip, "-f", "null", "-"]);
    assert!(decode.status().unwrap().success(), "what was recorded is a clip: {errors}");
    let timing = fs::read_to_string(format!("{clip}.timing.json")).unwrap();
    let timing: Value = serde_json::from_str(&timing).unwrap();
    assert!(timing["video"]["bytes"].as_u64() > Some(0), "{timing}");
    assert!(timing["picture"]["missing"].as_u64() > Some(10), "{timing}");
}

#[test]
fn a_judge_that_is_interrupted_ends_at_once() {
    let Some(stage) = Stage::new(4) else { return };
    let options = ["judge", "--size", "224x128", "--duration", "3s", "--quiet", "--"];
    let endless = ["sh", "-c", "sleep 1000", "{}"];
    let mut command = stage.tactus.command(&[&options[..], &endless].concat());
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("no player", || {
        stage.tactus.processes().iter().any(|(_, line)| line.starts_with("sleep 1000"))
    });
    // The player never ends, and is killed after 18 s; the judge says then that it gave no result.
    assert!(!end(child, 143).contains("gave no result"));
    stage.tactus.require_nothing_left();
}
