//! `tactus play FOLDER`: a window of thumbnails, and a person who clicks.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tactus_testing::{Need, eventually, require, skip};
use tactus_xserver::patient::PatientConnection;
use tactus_xserver::{Screen, Server};
use x11rb::CURRENT_TIME;
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{self, ConnectionExt as _, ImageFormat};
use x11rb::protocol::xtest;

use crate::support::Tactus;

/// Makes a clip of one colour; false without ffmpeg.
#[track_caller]
fn clip(folder: &Path, name: &str, colour: &str) -> bool {
    let source = format!("color={colour}:size=320x240:rate=25:duration=0.4");
    let mut command = Command::new("ffmpeg");
    command.args(["-nostdin", "-loglevel", "error", "-f", "lavfi", "-i", &source]);
    let made = command.arg(folder.join(name)).stdin(Stdio::null()).status();
    let is_made = made.is_ok_and(|status| status.success());
    if !is_made {
        skip(Need::Display, "no ffmpeg");
    }
    is_made
}

/// Waits until a place of the screen is red.
fn await_red(connection: &PatientConnection, (x, y): (i16, i16)) {
    let root = connection.setup().roots[0].root;
    eventually(|| {
        let image = connection.get_image(ImageFormat::Z_PIXMAP, root, x, y, 1, 1, !0).unwrap();
        let data = image.reply().unwrap().data;
        let is_red = data[2] > 220 && data[0] < 30 && data[1] < 30;
        is_red.then_some(()).ok_or_else(|| format!("no red thumbnail: {data:?}"))
    });
}

#[test]
fn a_click_on_a_thumbnail_plays_its_clip() {
    let tactus = Tactus::new();
    let folder = tactus.folder().join("clips");
    std::fs::create_dir(&folder).unwrap();
    if !clip(&folder, "a.mkv", "blue") || !clip(&folder, "b.mkv", "red") {
        return;
    }
    let screen = Screen { width: 800, height: 600, bytes_per_pixel: 4 };
    let Some(server) = require(Need::Display, Server::start(screen)) else { return };
    let connection = server.connect().unwrap();
    server.write_authority(&tactus.folder().join("authority")).unwrap();
    let mut command = tactus.command(&["play", &folder.display().to_string(), "--mute", "--json"]);
    command.env("DISPLAY", server.display()).env("XAUTHORITY", tactus.folder().join("authority"));
    let mut player = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(player.stdout.take().unwrap()).lines().map_while(Result::ok);
    // The second tile.
    let place = (176 + 88, 68);
    await_red(&connection, place);
    let root = connection.setup().roots[0].root;
    for (kind, detail) in [
        (xproto::MOTION_NOTIFY_EVENT, 0),
        (xproto::BUTTON_PRESS_EVENT, 1),
        (xproto::BUTTON_RELEASE_EVENT, 1),
    ] {
        let (x, y) = if detail == 0 { place } else { (0, 0) };
        let fake = xtest::fake_input(&connection, kind, detail, CURRENT_TIME, root, x, y, 0);
        fake.unwrap().check().unwrap();
    }
    let opened = lines.next().expect("the player has opened");
    assert!(opened.contains("\"opened\"") && opened.contains("320"), "{opened}");
    assert!(lines.any(|line| line.contains("\"ended\"")), "it plays to its end");
    // The thumbnails are back; Ctrl-C closes them.
    await_red(&connection, place);
    kill_process(Pid::from_child(&player), Signal::INT).unwrap();
    assert_eq!(player.wait().unwrap().code(), Some(130));
    tactus.require_nothing_left();
}
