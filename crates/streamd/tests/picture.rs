//! A server whose devices are windows on X displays in memory.

#[expect(dead_code, reason = "every test file uses a part of it")]
mod common;

use std::path::Path;
use std::process::Command;

use common::{Running, SETTINGS, ms};
use tactus_delivery::receipt::{Evidence, Outcome, Receipt};
use tactus_stream::{BranchId, Client, Draft, Format, Frame, IfLate, Moment, StreamId, Wanted};
use tactus_streamd::DeviceSpec;
use tactus_sys::owned_directory::OwnedDirectory;
use tactus_testing::{Need, PATIENCE, eventually, require};
use tactus_xserver::framebuffer::Framebuffer;
use tactus_xserver::{Screen, Server};

const SCREEN: Screen = Screen { width: 64, height: 48, bytes_per_pixel: 4 };

/// A test that runs again in a process of its own, where the authority file is in the environment.
const AGAIN: &str = "TACTUS_TEST_DISPLAYS";

/// Starts displays, and runs a test again that finds them in its environment.
fn with_displays(test: &str, count: usize) {
    let folder = OwnedDirectory::create(&std::env::temp_dir(), "tactus-picture-").unwrap();
    let folders: Vec<_> = (0..count).map(|number| folder.path().join(number.to_string())).collect();
    let mut servers = Vec::new();
    let mut authority = Vec::new();
    for folder in &folders {
        std::fs::create_dir(folder).unwrap();
        let started = Server::start_visible(SCREEN, folder);
        let Some(server) = require(Need::Display, started) else { return };
        let (name, cookie) = server.authority();
        let display = server.display();
        // Family 65535 is every display; the number selects one.
        authority.extend(65535_u16.to_be_bytes());
        for field in [&b""[..], display.trim_start_matches(':').as_bytes(), &name, &cookie] {
            authority.extend((field.len() as u16).to_be_bytes());
            authority.extend(field);
        }
        // A server ends with its last client.
        let connection = server.connect().unwrap();
        servers.push((connection, server));
    }
    let file = folder.path().join("authority");
    std::fs::write(&file, authority).unwrap();
    let displays: Vec<String> = servers.iter().map(|(_, server)| server.display()).collect();
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "--nocapture", test]).env("XAUTHORITY", file);
    again.env(AGAIN, format!("{};{}", displays.join(","), folder.path().display()));
    let output = again.output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The displays and what is seen on them; `None` in the process that starts them.
fn displays() -> Option<Vec<(String, Framebuffer)>> {
    let found = std::env::var(AGAIN).ok()?;
    let (displays, folder) = found.split_once(';').unwrap();
    let seen =
        |number: usize| Framebuffer::open(&Path::new(folder).join(number.to_string())).unwrap();
    let displays = displays.split(',').enumerate();
    Some(displays.map(|(number, name)| (name.to_owned(), seen(number))).collect())
}

/// A client with a stream and a frame of each brightness.
struct Painter {
    client: Client,
    stream: StreamId,
    frames: Vec<Frame>,
}

impl Painter {
    fn new(server: &Running, device: &str, greens: &[u8]) -> Self {
        let mut client = Client::connect(server.socket(), &Wanted::named("painter")).unwrap();
        let stream = client.open(device).unwrap();
        let frame = |green: &u8| {
            let mut frame = client.frame(stream).unwrap();
            frame.bytes_mut().chunks_exact_mut(4).for_each(|pixel| pixel[1] = *green);
            frame
        };
        let frames = greens.iter().map(frame).collect();
        Self { client, stream, frames }
    }

    fn show(&mut self, frame: usize, due: Moment, if_late: IfLate) -> u64 {
        let payload = &self.frames[frame].payload();
        let draft = Draft { stream: self.stream, branch: BranchId(0), due, if_late, payload };
        self.client.submit(&draft).unwrap()
    }

    fn receipt(&mut self) -> Receipt {
        self.client.receipt(Some(PATIENCE)).unwrap().expect("a receipt")
    }
}

fn picture(display: &str) -> Box<dyn tactus_streamd::sink::Sink> {
    let spec: DeviceSpec = format!("picture:{display}").parse().unwrap();
    spec.open("picture").unwrap_or_else(|error| panic!("{error}"))
}

fn until(seen: &Framebuffer, green: u8) {
    eventually(|| {
        let found = seen.brightness(20, 20);
        if found == green { Ok(()) } else { Err(format!("{found:x} is seen, not {green:x}")) }
    });
}

#[test]
fn clients_share_displays_and_each_frame_has_its_receipt() {
    let Some(displays) = displays() else {
        return with_displays("clients_share_displays_and_each_frame_has_its_receipt", 2);
    };
    let [(left, left_seen), (right, right_seen)] = &displays[..] else { panic!() };
    let server = Running::with([("left", picture(left)), ("right", picture(right))], SETTINGS);
    let mut on_left = Painter::new(&server, "left", &[0x40, 0x80]);
    let mut on_right = Painter::new(&server, "right", &[0xc0]);
    let device = on_left.client.device(on_left.stream).unwrap().clone();
    assert!(matches!(device.format, Format::Frame { width: 64, height: 48, .. }), "{device:?}");
    let due = Client::now() + ms(100);
    on_left.show(0, due, IfLate::Deliver);
    on_left.show(1, due + ms(100), IfLate::Deliver);
    on_right.show(0, due, IfLate::Deliver);
    let (first, second, other) = (on_left.receipt(), on_left.receipt(), on_right.receipt());
    for receipt in [first, second, other] {
        let Receipt { due, began, ended, outcome, evidence, msc, .. } = receipt;
        assert_eq!(outcome, Outcome::Delivered, "{receipt:?}");
        // Never early: it begins its time less the lead of the device.
        assert!(began.unwrap() + device.lead + ms(1) >= due, "{receipt:?}");
        assert!(began <= ended, "{receipt:?}");
        assert_eq!(evidence == Evidence::DeviceClock, msc.is_some(), "{receipt:?}");
    }
    assert!(first.ended < second.ended && first.msc <= second.msc);
    until(left_seen, 0x80);
    until(right_seen, 0xc0);
    // A client that goes leaves no picture, and the other keeps its own.
    drop(on_left);
    until(left_seen, 0);
    assert_eq!(right_seen.brightness(20, 20), 0xc0);
}

#[test]
fn late_and_unknown_frames_are_not_shown() {
    let Some(displays) = displays() else {
        return with_displays("late_and_unknown_frames_are_not_shown", 1);
    };
    let (name, seen) = &displays[0];
    let server = Running::with([("screen", picture(name))], SETTINGS);
    let mut painter = Painter::new(&server, "screen", &[0x40, 0x80]);
    let now = Client::now();
    painter.show(0, Moment::from_nanos(now.as_nanos() - 1_000_000_000), IfLate::Drop(ms(40)));
    assert_eq!(painter.receipt().outcome, Outcome::Late);
    // The number of a frame that it does not have.
    let (stream, branch) = (painter.stream, BranchId(0));
    let if_late = IfLate::Deliver;
    let payload = &77_u32.to_ne_bytes();
    painter.client.submit(&Draft { stream, branch, due: now, if_late, payload }).unwrap();
    assert_eq!(painter.receipt().outcome, Outcome::Failed);
    // What is called back before its time is not seen either.
    painter.show(1, now + ms(9_000), IfLate::Deliver);
    painter.client.cut(BranchId(0), now).unwrap();
    assert_eq!(painter.receipt().outcome, Outcome::Cut);
    assert_eq!(seen.brightness(20, 20), 0);
}

#[test]
fn frames_are_only_for_devices_that_take_them_and_are_limited() {
    let Some(displays) = displays() else {
        return with_displays("frames_are_only_for_devices_that_take_them_and_are_limited", 1);
    };
    let measure = Box::new(tactus_streamd::Measure) as Box<dyn tactus_streamd::sink::Sink>;
    let sinks = [("screen", picture(&displays[0].0)), ("null", measure)];
    let server = Running::with(sinks, SETTINGS);
    let mut client = server.client("painter");
    let null = client.open("null").unwrap();
    let refused = client.frame(null).unwrap_err().to_string();
    assert_eq!(refused, "the device `null` takes bytes, not frames");
    let screen = client.open("screen").unwrap();
    let most = tactus_stream::message::FRAMES_MOST;
    let frames: Vec<Frame> = (0..most).map(|_| client.frame(screen).unwrap()).collect();
    let refused = client.frame(screen).unwrap_err().to_string();
    assert_eq!(refused, "a client has 128 frames at most");
    drop((frames, client));
    // Its memory is free again.
    let mut other = server.client("other");
    let screen = other.open("screen").unwrap();
    other.frame(screen).unwrap();
}
