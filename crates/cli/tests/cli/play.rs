//! `tactus play` on displays in memory, with and without a sound server.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tactus_sound::PrivateServer;
use tactus_testing::{Need, PATIENCE, eventually, require, wait_until};
use tactus_xserver::patient::PatientConnection;
use tactus_xserver::{Screen, Server};
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{
    ClientMessageData, ClientMessageEvent, ConnectionExt as _, EventMask, ImageFormat,
    KEY_PRESS_EVENT, KEY_RELEASE_EVENT,
};
use x11rb::protocol::xtest::ConnectionExt as _;

use crate::support::{Tactus, text};

/// A decoder on a busy machine may be too slow; no frame is then dropped all the same.
pub(crate) const ALL: &str = "--show-late";

/// A display in memory, and a command that plays there. Nobody else's sound server is used.
pub(crate) struct Stage {
    pub(crate) tactus: Tactus,
    pub(crate) display: Server,
    /// The server ends with its last client.
    connection: PatientConnection,
}

impl Stage {
    pub(crate) fn new(bytes_per_pixel: u8) -> Option<Self> {
        require(Need::Display, has_ffmpeg())?;
        let screen = Screen { width: 640, height: 480, bytes_per_pixel };
        let display = require(Need::Display, Server::start(screen))?;
        let (tactus, connection) = (Tactus::new(), display.connect().unwrap());
        display.write_authority(&tactus.folder().join("authority")).unwrap();
        Some(Self { tactus, display, connection })
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.tactus.folder().join(name).display().to_string()
    }

    /// Makes a clip of two colours, one after the other, with a tone.
    pub(crate) fn clip(&self, name: &str, seconds: f64) -> String {
        let picture = format!("color=red:s=320x240:r=25:d={seconds}");
        let sound = format!("sine=frequency=440:sample_rate=44100:duration={seconds}");
        let path = self.file(name);
        make(&[
            "-f",
            "lavfi",
            "-i",
            &picture,
            "-f",
            "lavfi",
            "-i",
            &sound,
            "-c:v",
            "ffv1",
            "-c:a",
            "pcm_s16le",
            &path,
        ]);
        path
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.tactus.command(&["play"]);
        command.args(arguments).env("DISPLAY", self.display.display());
        command.env("XAUTHORITY", self.file("authority"));
        for variable in ["XDG_RUNTIME_DIR", "HOME", "PIPEWIRE_CONFIG_DIR"] {
            command.env(variable, self.tactus.folder());
        }
        command
    }

    pub(crate) fn play(&self, arguments: &[&str]) -> Playing {
        Playing::start(&mut self.command(arguments))
    }

    /// The colour in the middle of the clip, as the display has it.
    fn colour(&self) -> Vec<u8> {
        let root = self.connection.setup().roots[0].root;
        let (format, all) = (ImageFormat::Z_PIXMAP, !0);
        let image = self.connection.get_image(format, root, 160, 120, 1, 1, all).unwrap();
        image.reply().unwrap().data
    }
}

/// Whether clips can be made and decoded.
fn has_ffmpeg() -> Result<(), String> {
    let found = Command::new("ffmpeg").arg("-version").stdout(Stdio::null()).status();
    found.map(drop).map_err(|error| format!("ffmpeg: {error}"))
}

fn make(arguments: &[&str]) {
    let output = Command::new("ffmpeg").args(["-v", "error", "-y"]).args(arguments).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// A player with its lines of JSON.
pub(crate) struct Playing {
    pub(crate) child: Child,
    out: BufReader<ChildStdout>,
    lines: Vec<Value>,
}

impl Drop for Playing {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Playing {
    pub(crate) fn start(command: &mut Command) -> Self {
        command.arg("--json").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out, lines: Vec::new() }
    }

    /// Reads lines until one has this key, and returns its value.
    pub(crate) fn until(&mut self, key: &str) -> Value {
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < PATIENCE, "no {key}");
            let mut line = String::new();
            let count = self.out.read_line(&mut line).unwrap();
            assert!(count > 0, "no {key} before the end: {:?}", self.lines.last());
            let line: Value = serde_json::from_str(&line).unwrap();
            self.lines.push(line.clone());
            if let Some(found) = line.get(key) {
                return found.clone();
            }
        }
    }

    /// Reads lines until there is a note with this text: a busy machine adds others.
    pub(crate) fn until_note(&mut self, text: &str) {
        while !self.until("note").as_str().unwrap().contains(text) {}
    }

    /// Reads to the end. Returns exit code and messages.
    pub(crate) fn end(&mut self) -> (Option<i32>, String) {
        let mut line = String::new();
        while self.out.read_line(&mut line).unwrap() > 0 {
            self.lines.push(serde_json::from_str(&line).unwrap());
            line.clear();
        }
        let mut messages = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            std::io::Read::read_to_string(&mut stderr, &mut messages).unwrap();
        }
        (self.child.wait().unwrap().code(), messages)
    }

    pub(crate) fn all(&self, key: &str) -> Vec<&Value> {
        self.lines.iter().filter_map(|line| line.get(key)).collect()
    }

    /// Requires that it ends well and that every frame has a receipt; returns how many were shown.
    fn succeed(&mut self, frames: u64) -> u64 {
        let (code, messages) = self.end();
        assert_eq!(code, Some(0), "{messages}");
        let receipts = self.all("frame");
        assert_eq!(receipts.len() as u64, frames, "{messages}");
        let mut last = None;
        for receipt in &receipts {
            let of = |key: &str| receipt[key].as_i64();
            assert!(last < of("media"), "{receipt} after {last:?}");
            last = of("media");
            let is_shown = receipt["outcome"] == "shown";
            assert_eq!(is_shown, of("shown").is_some() && of("began").is_some(), "{receipt}");
        }
        let ended = &self.all("ended")[0]["clips"][0];
        let (shown, dropped) =
            (ended["shown"].as_u64().unwrap(), ended["dropped"].as_u64().unwrap());
        assert_eq!(shown + dropped, frames);
        shown
    }

    /// The decoders that it has started.
    pub(crate) fn decoders(&self) -> Vec<i32> {
        let of_ours = |pid: &i32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let (name, rest) = stat.rsplit_once(") ").unwrap_or_default();
            let parent = rest.split(' ').nth(1);
            name.ends_with("(ffmpeg") && parent == Some(&self.child.id().to_string())
        };
        let names = fs::read_dir("/proc").unwrap().flatten();
        names.filter_map(|name| name.file_name().to_str()?.parse().ok()).filter(of_ours).collect()
    }
}

#[test]
fn every_frame_has_a_receipt_whatever_its_way() {
    // Depth 24 and 16, with the bytes of red there.
    for (bytes, red) in [(4, &[0, 0, 0xfe][..]), (2, &[0x00, 0xf8])] {
        let Some(stage) = Stage::new(bytes) else { return };
        let clip = stage.clip("red.mkv", 2.0);
        for way in ["present", "shm", "socket"] {
            let mut playing = stage.play(&[&clip, "--transport", way, ALL]);
            let opened = playing.until("opened");
            assert_eq!((&opened["transport"], &opened["width"]), (&way.into(), &320.into()));
            let note = playing.all("note")[0].as_str().unwrap();
            assert!(note.contains("wall time drives the clock"), "{note}");
            let mut frame = playing.until("frame");
            while frame["outcome"] != "shown" {
                frame = playing.until("frame");
            }
            let colour = stage.colour();
            let is_near = |(is, wanted): (&u8, &u8)| is.abs_diff(*wanted) < 3;
            assert!(colour.iter().zip(red).all(is_near), "{way}: {colour:x?}");
            let evidence = if way == "present" { "device-clock" } else { "call" };
            assert_eq!(frame["evidence"], evidence);
            assert_eq!(way == "present", frame["ust"].is_u64() && frame["msc"].is_u64());
            assert!(playing.succeed(50) > 0);
        }
    }
}

#[test]
fn a_sound_device_drives_the_clock() {
    let Some(stage) = Stage::new(4) else { return };
    let Some(server) = require(Need::Sound, PrivateServer::start(1024)) else { return };
    let clip = stage.clip("tone.mkv", 3.0);
    let mut command = stage.command(&[&clip, "--sound", "quiet", ALL]);
    let mut playing = Playing::start(command.envs(server.variables()));
    let started = playing.until("started");
    assert_eq!(started["sound"]["rate"], 48_000, "{started}");
    playing.succeed(75);
    let sound = &playing.all("ended")[0]["sound"];
    let of = |key: &str| sound[key].as_u64().unwrap();
    // All of it came out, or is accounted for.
    assert!(of("played") + of("cut") >= 2 * 48_000, "{sound}");
    assert!(of("played") > 0 && of("lost") == 0, "{sound}");
}

#[test]
fn a_sound_server_that_restarts_is_found_again() {
    let Some(stage) = Stage::new(4) else { return };
    let Some(mut server) = require(Need::Sound, PrivateServer::start(1024)) else { return };
    let clip = stage.clip("tone.mkv", 30.0);
    let mut command = stage.command(&[&clip, "--sound", "quiet", ALL]);
    let mut playing = Playing::start(command.envs(server.variables()));
    assert!(playing.until("started")["sound"].is_object());
    server.restart().unwrap();
    playing.until_note("the sound server has ended");
    playing.until_note("is back");
    playing.succeed(750);
}

#[test]
fn a_sound_device_that_is_missing_is_an_error() {
    let Some(stage) = Stage::new(4) else { return };
    let clip = stage.clip("tone.mkv", 1.0);
    // No machine has so many cards.
    let (code, messages) = stage.play(&[&clip, "--sound", "alsa:hw:99,3"]).end();
    assert_eq!(code, Some(3), "{messages}");
    let expected = "no sound: there is no ALSA device hw:99,3 that plays; this machine has ";
    assert!(messages.contains(expected), "{messages}");
}

/// Two displays, and an authority file of both in the folder of the first.
fn two_stages() -> Option<(Stage, Stage)> {
    let (left, right) = (Stage::new(4)?, Stage::new(2)?);
    let mut authority = Vec::new();
    for stage in [&left, &right] {
        // Family 65535 is every display; the number selects one.
        authority.extend(65535_u16.to_be_bytes());
        let (display, cookie) = (stage.display.display(), stage.display.authority().1);
        let number = display.trim_start_matches(':').as_bytes();
        for field in [&b""[..], number, b"MIT-MAGIC-COOKIE-1", &cookie] {
            authority.extend((field.len() as u16).to_be_bytes());
            authority.extend(field);
        }
    }
    fs::write(left.file("authority"), authority).unwrap();
    Some((left, right))
}

#[test]
fn clips_on_two_displays_are_in_step() {
    let Some((left, right)) = two_stages() else { return };
    let clip = left.clip("red.mkv", 2.0);
    let displays = [left.display.display(), right.display.display()];
    let displays = ["--display", &displays[0], "--display", &displays[1], "--mute", ALL];
    let mut playing = left.play(&[&[&*clip, &*clip][..], &displays].concat());
    let (code, messages) = playing.end();
    assert_eq!(code, Some(0), "{messages}");
    let due = |number: u64| {
        let frames = playing.all("frame");
        let of_clip = move |frame: &&&Value| frame["clip"].as_u64() == Some(number);
        let times = |frame: &&Value| (frame["media"].as_i64(), frame["due"].as_u64());
        frames.iter().filter(of_clip).map(times).collect::<Vec<_>>()
    };
    assert_eq!((due(0).len(), due(0)), (50, due(1)), "both have one clock");
}

/// The delivery server with a picture device on each display.
struct Streamd(Child);

impl Drop for Streamd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Streamd {
    fn start(left: &Stage, right: &Stage) -> (Self, String) {
        let socket = left.file("streamd.sock");
        let device = |name: &str, stage: &Stage| {
            format!("{name}=picture:{},320x240", stage.display.display())
        };
        let mut command = left.tactus.command(&["streamd", "--policy", "other", "--socket"]);
        command.arg(&socket).args(["--device", &device("left", left)]);
        command.args(["--device", &device("right", right)]).stderr(Stdio::null());
        let child = command.env("XAUTHORITY", left.file("authority")).spawn().unwrap();
        let streamd = Self(child);
        eventually(|| tactus_stream::status(&socket));
        (streamd, socket)
    }
}

#[test]
fn players_share_displays_through_the_server() {
    let Some((left, right)) = two_stages() else { return };
    let clip = left.clip("red.mkv", 2.0);
    let (streamd, socket) = Streamd::start(&left, &right);
    let through = format!("--through={socket}");
    // One player with both displays: its clips are in step.
    let both = ["--display", "left", "--display", "right", "--mute", ALL];
    let mut playing = left.play(&[&[&*clip, &*clip, &*through][..], &both].concat());
    let opened = playing.until("opened");
    assert_eq!((&opened["transport"], &opened["display"]), (&"server".into(), &"left".into()));
    let (code, messages) = playing.end();
    assert_eq!(code, Some(0), "{messages}");
    let of_clip = |number: u64| {
        let frames = playing.all("frame").into_iter();
        frames.filter(move |frame| frame["clip"].as_u64() == Some(number)).collect::<Vec<_>>()
    };
    let dues = |number| of_clip(number).iter().map(|frame| frame["due"].as_u64()).collect();
    let (first, second): (Vec<_>, Vec<_>) = (dues(0), dues(1));
    assert_eq!((first.len(), &first), (50, &second), "both have one clock");
    for frame in [of_clip(0), of_clip(1)].concat() {
        let of = |key: &str| frame[key].as_u64();
        assert_eq!(frame["evidence"] == "device-clock", of("msc").is_some(), "{frame}");
    }
    // Two players, each with a display of its own, and one that wants what the server has not.
    let play = |device: &str| left.play(&[&clip, &through, "--display", device, "--mute", ALL]);
    let (mut one, mut other) = (play("left"), play("right"));
    one.until("frame");
    other.until("frame");
    // On a busy machine, a display may not answer in time.
    assert!(one.succeed(50) > 0 && other.succeed(50) > 0);
    let (code, messages) = play("middle").end();
    assert_eq!(code, Some(3), "{messages}");
    assert!(messages.contains("there is no device `middle`"), "{messages}");
    let (code, messages) = left.play(&[&clip, &through, "--mute"]).end();
    assert_eq!(code, Some(3), "{messages}");
    assert!(messages.contains("left, right"), "{messages}");
    drop(streamd);
    let (code, messages) = play("left").end();
    assert_eq!(code, Some(3), "{messages}");
}

/// A compositor without a screen, which ends with this value.
pub(crate) struct Compositor(pub(crate) Child);

impl Drop for Compositor {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Compositor {
    pub(crate) fn start(folder: &Path) -> Result<Self, String> {
        let mut command = Command::new("weston");
        command.args(["--backend=headless-backend.so", "--socket=wayland-test", "--no-config"]);
        command.args(["--idle-time=0", "--width=640", "--height=480"]);
        command.env("XDG_RUNTIME_DIR", folder).stdout(Stdio::null()).stderr(Stdio::null());
        tactus_sys::process::end_with_parent(&mut command);
        let child = command.spawn().map_err(|error| format!("weston: {error}"))?;
        let compositor = Self(child);
        wait_until("weston does not start", || folder.join("wayland-test").exists());
        Ok(compositor)
    }
}

#[test]
fn a_wayland_compositor_stamps_each_frame() {
    let Some(stage) = Stage::new(4) else { return };
    let folder = stage.tactus.folder().to_owned();
    let Some(compositor) = require(Need::Display, Compositor::start(&folder)) else { return };
    let clip = stage.clip("red.mkv", 2.0);
    let play = |arguments: &[&str]| {
        let mut command = stage.command(&[&[&*clip, "--mute", ALL], arguments].concat());
        Playing::start(command.env("WAYLAND_DISPLAY", "wayland-test").env_remove("DISPLAY"))
    };
    for arguments in [&[][..], &["--transport", "wayland"]] {
        let mut playing = play(arguments);
        let opened = playing.until("opened");
        assert_eq!((&opened["transport"], &opened["width"]), (&"wayland".into(), &320.into()));
        assert!(playing.succeed(50) > 0);
        let frames = playing.all("frame");
        let shown: Vec<_> = frames.iter().filter(|frame| frame["outcome"] == "shown").collect();
        assert!(shown.iter().all(|frame| frame["evidence"] == "device-clock"), "{:?}", shown[0]);
        let stamps: Vec<_> = shown.iter().map(|frame| frame["ust"].as_u64().unwrap()).collect();
        assert!(stamps.windows(2).all(|pair| pair[0] < pair[1]), "{stamps:?}");
    }
    drop(compositor);
    let (code, messages) = play(&["--transport", "wayland"]).end();
    assert_eq!(code, Some(3), "{messages}");
    assert!(messages.contains("Wayland compositor"), "{messages}");
}

#[test]
fn a_window_that_is_closed_ends_the_player() {
    let Some(stage) = Stage::new(4) else { return };
    let clip = stage.clip("red.mkv", 30.0);
    let mut playing = stage.play(&[&clip]);
    playing.until("frame");
    let root = stage.connection.setup().roots[0].root;
    let windows = stage.connection.query_tree(root).unwrap().reply().unwrap().children;
    let atom = |name: &str| {
        let atom = stage.connection.intern_atom(true, name.as_bytes());
        atom.unwrap().reply().unwrap().atom
    };
    let (protocols, delete) = (atom("WM_PROTOCOLS"), atom("WM_DELETE_WINDOW"));
    let data = ClientMessageData::from([delete, 0, 0, 0, 0]);
    let message = ClientMessageEvent::new(32, windows[0], protocols, data);
    let sent = stage.connection.send_event(false, windows[0], EventMask::NO_EVENT, message);
    sent.unwrap().check().unwrap();
    let (code, messages) = playing.end();
    assert_eq!(code, Some(0), "{messages}");
    assert!(playing.all("frame").len() < 700);
}

#[test]
fn keys_in_the_window_are_commands() {
    let Some(stage) = Stage::new(4) else { return };
    let clip = stage.clip("red.mkv", 30.0);
    let mut playing = stage.play(&[&clip, "--mute"]);
    playing.until("frame");
    let connection = &stage.connection;
    let root = connection.setup().roots[0].root;
    // Without a window manager, keys go to the window under the pointer.
    connection.warp_pointer(x11rb::NONE, root, 0, 0, 0, 0, 50, 50).unwrap().check().unwrap();
    let (first, last) = (connection.setup().min_keycode, connection.setup().max_keycode);
    let mapping = connection.get_keyboard_mapping(first, last - first + 1).unwrap();
    let mapping = mapping.reply().unwrap();
    let press = |symbol: u32| {
        let mut keys = mapping.keysyms.chunks(mapping.keysyms_per_keycode.into());
        let code = first + keys.position(|symbols| symbols[0] == symbol).unwrap() as u8;
        for kind in [KEY_PRESS_EVENT, KEY_RELEASE_EVENT] {
            let fake = connection.xtest_fake_input(kind, code, 0, root, 0, 0, 0).unwrap();
            fake.check().unwrap();
        }
    };
    press(0x20);
    let paused = playing.until("paused")["media"].as_i64().unwrap();
    press(0x20);
    assert!((playing.until("started")["media"].as_i64().unwrap() - paused).abs() < 1_000_000);
    // Right, twice: 10 s.
    press(0xff53);
    playing.until("started");
    press(0xff53);
    let jumped = playing.until("started")["media"].as_i64().unwrap();
    assert!(jumped >= paused + 10_000_000_000, "{jumped} after {paused}");
    press(u32::from(b'-'));
    assert_eq!(playing.until("started")["speed"], 900);
    press(u32::from(b'q'));
    let (code, messages) = playing.end();
    assert_eq!(code, Some(0), "{messages}");
}

#[test]
fn a_display_without_true_colours_is_refused() {
    let Some(stage) = Stage::new(1) else { return };
    let clip = stage.clip("red.mkv", 2.0);
    let (code, messages) = stage.play(&[&clip]).end();
    assert_eq!(code, Some(3), "{messages}");
    assert!(messages.contains("pixels of another kind: depth 8"), "{messages}");
}

#[test]
fn a_display_that_ends_is_an_error() {
    let Some(stage) = Stage::new(4) else { return };
    let clip = stage.clip("red.mkv", 30.0);
    let mut playing = stage.play(&[&clip]);
    playing.until("frame");
    let Stage { tactus, display, connection } = stage;
    drop(connection);
    // It waits for its last client, and is then killed.
    drop(display);
    let (code, messages) = playing.end();
    assert_eq!(code, Some(3), "{messages}");
    assert!(messages.contains("the X server of :"), "{messages}");
    drop(tactus);
}

#[test]
fn a_decoder_that_is_killed_is_an_error_and_leaves_nothing() {
    let Some(stage) = Stage::new(4) else { return };
    let clip = stage.clip("red.mkv", 30.0);
    let mut playing = stage.play(&[&clip, "--mute"]);
    playing.until("frame");
    let decoders = playing.decoders();
    assert!(!decoders.is_empty());
    for decoder in decoders {
        let _ = kill_process(Pid::from_raw(decoder).unwrap(), Signal::KILL);
    }
    let (code, messages) = playing.end();
    assert_eq!(code, Some(3), "{messages}");
    assert!(messages.contains("the decoder of the picture has ended"), "{messages}");
}

#[test]
fn all_sound_is_accounted_for_after_its_decoder_is_killed() {
    let Some(stage) = Stage::new(4) else { return };
    let Some(server) = require(Need::Sound, PrivateServer::start(1024)) else { return };
    let clip = stage.clip("tone.mkv", 6.0);
    let mut command = stage.command(&[&clip, "--sound", "quiet"]);
    let mut playing = Playing::start(command.envs(server.variables()));
    playing.until("frame");
    let decodes_sound = |pid: &i32| {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.contains("f32le")
    };
    let decoder = playing.decoders().into_iter().find(decodes_sound).unwrap();
    kill_process(Pid::from_raw(decoder).unwrap(), Signal::KILL).unwrap();
    let (code, messages) = playing.end();
    assert_eq!(code, Some(3), "{messages}");
    let sound = &playing.all("ended")[0]["sound"];
    let of = |key: &str| sound[key].as_u64().unwrap();
    assert!(of("missing") > 0, "{sound}");
    // What the server takes in a cycle that is not reported yet.
    let off = (of("played") + of("cut") + of("missing")).abs_diff(6 * 48_000);
    assert!(off <= 1024, "{off} frames: {sound}");
}

#[test]
fn a_player_that_is_interrupted_ends_in_order() {
    let Some(stage) = Stage::new(4) else { return };
    let clip = stage.clip("red.mkv", 30.0);
    let mut playing = stage.play(&[&clip]);
    playing.until("frame");
    kill_process(Pid::from_child(&playing.child), Signal::INT).unwrap();
    let (code, messages) = playing.end();
    assert_eq!(code, Some(130), "{messages}");
    assert_eq!(playing.all("ended").len(), 1);
}

#[test]
fn start_and_duration_select_a_part() {
    let Some(stage) = Stage::new(4) else { return };
    let clip = stage.clip("red.mkv", 4.0);
    let mut playing = stage.play(&[&clip, "--mute", ALL, "--start", "3s"]);
    playing.succeed(25);
    assert_eq!(playing.all("frame")[0]["media"], 3_000_000_000_u64);
    let mut playing = stage.play(&[&clip, "--mute", ALL, "--duration", "1s", "--rate", "2"]);
    let (code, messages) = playing.end();
    assert_eq!(code, Some(0), "{messages}");
    let frames = playing.all("frame");
    let media: Vec<_> = frames.iter().filter_map(|frame| frame["media"].as_u64()).collect();
    assert!(media.len() >= 20 && media.iter().all(|media| *media <= 1_500_000_000), "{media:?}");
}

#[test]
fn files_that_are_no_clips_are_errors() {
    let Some(stage) = Stage::new(4) else { return };
    let said = |code: i32, arguments: &[&str]| {
        let (found, messages) = stage.play(arguments).end();
        assert_eq!(found, Some(code), "{messages}");
        messages
    };
    let file = |name: &str, content: &[u8]| {
        fs::write(stage.file(name), content).unwrap();
        stage.file(name)
    };
    assert!(said(2, &["/nonexistent.mkv"]).contains("cannot open /nonexistent.mkv"));
    assert!(said(2, &[&file("text.mkv", b"no clip")]).contains("is not a clip"));
    assert!(said(2, &[&file("-y", b"")]).contains("is not a clip"));
    let clip = PathBuf::from(stage.clip("red.mkv", 2.0));
    let bytes = fs::read(&clip).unwrap();
    // A codec that nobody knows, of the same length.
    let unknown = replaced(&bytes, b"V_MS/VFW/FOURCC", b"V_XX/XXX/XXXXXX");
    let unknown = unknown.or_else(|| replaced(&bytes, b"V_FFV1", b"V_XXXX")).unwrap();
    let message = said(3, &[&file("unknown.mkv", &unknown)]);
    assert!(message.contains("no decoder for the picture"), "{message}");
    let clip = clip.display().to_string();
    let two = said(2, &[&clip, "--display", ":1", "--display", ":2"]);
    assert!(two.contains("2 displays for 1 clip"), "{two}");
    let no_display = said(3, &[&clip, "--display", ":4711"]);
    assert!(no_display.contains("the display :4711 cannot be used"), "{no_display}");
    let mut nowhere = stage.command(&[&clip]);
    let (code, message) = Playing::start(nowhere.env_remove("DISPLAY")).end();
    assert_eq!((code, message.contains("DISPLAY is not set")), (Some(3), true), "{message}");
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Option<Vec<u8>> {
    let at = bytes.windows(from.len()).position(|window| window == from)?;
    Some([&bytes[..at], to, &bytes[at + from.len()..]].concat())
}

#[test]
fn a_truncated_clip_plays_as_far_as_it_goes_and_says_so() {
    let Some(stage) = Stage::new(4) else { return };
    let clip = stage.clip("red.mkv", 6.0);
    let bytes = fs::read(&clip).unwrap();
    fs::write(&clip, &bytes[..bytes.len() / 2]).unwrap();
    let mut playing = stage.play(&[&clip, "--mute"]);
    let (code, messages) = playing.end();
    assert_eq!(code, Some(3), "{messages}");
    let frames = playing.all("frame").len();
    assert!((10..140).contains(&frames), "{frames} of 150 frames");
    assert!(messages.contains("note: clip 1 ends at"), "{messages}");
    assert!(Path::new(&clip).exists());
}
