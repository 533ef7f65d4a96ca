//! `tactus mail`: clips of the test pattern and the test tone.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tactus_clip::{PictureDecoder, PictureSpec, PixelFormat, SoundDecoder, SoundSpec, probe};
use tactus_mail::unpack::unpack;
use tactus_playback::MediaTime;
use tactus_sound::{PrivateServer, server::SINK};
use tactus_testing::{Need, PATIENCE, require, skip, wait_until};
use tactus_xserver::patient::PatientConnection;
use tactus_xserver::{Screen, Server};
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{ChangeWindowAttributesAux, ConnectionExt as _};

use crate::support::{Tactus, text};

const SYNTHETIC: [&str; 8] =
    ["--picture", "synthetic", "--sound", "synthetic", "--size", "160x120", "--rate", "50"];

/// Whether there is an encoder; skips the test otherwise.
#[track_caller]
fn encodes() -> bool {
    let found = Command::new("ffmpeg").arg("-version").stdout(Stdio::null()).status();
    let encodes = found.is_ok_and(|status| status.success());
    if !encodes {
        skip(Need::Display, "no ffmpeg");
    }
    encodes
}

/// A path in the folder of the test.
fn path(tactus: &Tactus, name: &str) -> String {
    tactus.folder().join(name).display().to_string()
}

fn start(tactus: &Tactus, clip: &str) -> Child {
    let mut command = tactus.command(&["mail", "record", clip, "--json"]);
    command.args(SYNTHETIC).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until a file has so many bytes.
pub(crate) fn await_bytes(file: &Path, least: u64) {
    wait_until(&format!("{} does not grow", file.display()), || {
        fs::metadata(file).is_ok_and(|file| file.len() >= least)
    });
}

fn decodes(clip: &str) -> bool {
    let mut command = Command::new("ffmpeg");
    command.args(["-nostdin", "-v", "error", "-xerror", "-i", clip, "-f", "null", "-"]);
    command.status().unwrap().success()
}

/// A script in place of the mail program, which keeps what it gets.
fn stand_in(tactus: &Tactus) -> PathBuf {
    let program = tactus.folder().join("stand-in");
    let kept = path(tactus, "sent.eml");
    fs::write(&program, format!("#!/bin/sh\nexec cat >'{kept}'\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

#[test]
fn a_clip_is_recorded_and_sent() {
    let tactus = Tactus::new();
    if !encodes() {
        return;
    }
    let clip = path(&tactus, "a.webm");
    let record = ["mail", "record", &clip, "--duration", "1s", "--json"];
    let summary = tactus.succeed(&[&record[..], &SYNTHETIC].concat());
    let summary: Value = serde_json::from_str(&summary).unwrap();
    let pictures = &summary["pictures"];
    let due = pictures["count"].as_u64().unwrap() + pictures["missing"].as_u64().unwrap();
    // Those at both ends may be late for the clip.
    assert!((48..=51).contains(&due), "50 are due: {summary}");
    let sound = &summary["sound"];
    assert_eq!((&sound["samples"], &sound["missing"]), (&48_000.into(), &0.into()));
    assert_eq!(summary["bytes"], fs::metadata(&clip).unwrap().len());

    let program = stand_in(&tactus).display().to_string();
    let to = ["--to", "ann@example.org", "--to", "bob@example.org", "--subject", "A try"];
    tactus.succeed(&[&["mail", "send", &clip, "--sendmail", &program], &to[..]].concat());
    let sent = fs::read_to_string(path(&tactus, "sent.eml")).unwrap();
    let (head, _) = sent.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("ann@example.org") && head.contains("bob@example.org"), "{head}");
    assert!(head.contains("Subject: A try"), "{head}");

    // A clip that was changed since is not sent with stamps of another one.
    let mut bytes = fs::read(&clip).unwrap();
    bytes[1000] ^= 1;
    fs::write(&clip, bytes).unwrap();
    let mail = path(&tactus, "b.eml");
    let refused = tactus.fail(2, &["mail", "send", &clip, "-o", &mail]);
    assert!(refused.contains("not the one that was recorded with these stamps"), "{refused}");
    fs::remove_file(path(&tactus, "a.webm.timing.json")).unwrap();
    let refused = tactus.fail(2, &["mail", "send", &clip, "-o", &mail]);
    assert!(refused.contains("a.webm.timing.json") && refused.contains("hint: "), "{refused}");
    assert!(!Path::new(&mail).exists());
}

#[test]
fn what_an_interrupted_recorder_has_is_kept() {
    let tactus = Tactus::new();
    if !encodes() {
        return;
    }
    let clip = path(&tactus, "a.webm");
    let child = start(&tactus, &clip);
    await_bytes(Path::new(&format!("{clip}.part")), 1);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(decodes(&clip));
    assert!(!Path::new(&format!("{clip}.part")).exists());
    tactus.require_nothing_left();
}

#[test]
fn a_recorder_that_is_killed_leaves_a_clip_that_can_be_sent() {
    let tactus = Tactus::new();
    if !encodes() {
        return;
    }
    let clip = path(&tactus, "a.webm");
    let part = format!("{clip}.part");
    let mut child = start(&tactus, &clip);
    await_bytes(Path::new(&format!("{part}.timing.json")), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    // The encoder completes its file, and ends.
    tactus.require_nothing_left();
    assert!(decodes(&part));
    assert!(!Path::new(&clip).exists());
    let mail = path(&tactus, "a.eml");
    tactus.succeed(&["mail", "send", &part, "-o", &mail]);
    assert!(fs::metadata(&mail).unwrap().len() > fs::metadata(&part).unwrap().len());
}

#[test]
fn an_encoder_that_is_killed_at_once_leaves_no_file() {
    let tactus = Tactus::new();
    if !encodes() {
        return;
    }
    // It answers as ffmpeg, and ends like one that is killed after the header of its file.
    let program = tactus.folder().join("ffmpeg");
    let script = "#!/bin/sh
case \"$*\" in
    *anullsrc*) PATH=\"${PATH#*:}\" exec ffmpeg \"$@\";;
esac
for file; do :; done
head -c 653 /dev/zero >\"${file#file:}\"
kill -9 $$
";
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let folder = tactus.folder().join("clips");
    fs::create_dir(&folder).unwrap();
    let clip = folder.join("a.webm").display().to_string();
    let mut command = tactus.command(&["mail", "record", &clip]);
    let found = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{found}", tactus.folder().display()));
    let output = command.args(SYNTHETIC).output().unwrap();
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{errors}");
    assert!(errors.contains("ffmpeg failed: ") && errors.contains("there is no file"), "{errors}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "{errors}");
}

#[test]
fn a_display_that_is_stopped_ends_the_clip() {
    let tactus = Tactus::new();
    if !encodes() {
        return;
    }
    let Some((server, _connection)) = display(&tactus) else { return };
    let clip = path(&tactus, "a.webm");
    let record = ["mail", "record", &clip, "--picture", "screen", "--sound", "none"];
    let mut command = on(&server, &tactus, &record);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A cluster, which comes after a second.
    await_bytes(Path::new(&format!("{clip}.part")), 1000);
    let stopped = Pid::from_raw(server.process().cast_signed()).unwrap();
    kill_process(stopped, Signal::STOP).unwrap();
    let output = child.wait_with_output().unwrap();
    kill_process(stopped, Signal::CONT).unwrap();
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{errors}");
    assert!(errors.contains("the display did not answer for 5 s"), "{errors}");
    assert!(decodes(&clip));
}

#[test]
fn a_damaged_mail_is_refused_before_a_window_opens() {
    let tactus = Tactus::new();
    if !encodes() {
        return;
    }
    let (clip, mail) = (path(&tactus, "a.webm"), path(&tactus, "a.eml"));
    let record = ["mail", "record", &clip, "--duration", "400ms"];
    tactus.succeed(&[&record[..], &SYNTHETIC].concat());
    tactus.succeed(&["mail", "send", &clip, "-o", &mail]);
    let whole = fs::read(&mail).unwrap();
    let refused = |bytes: &[u8]| {
        fs::write(&mail, bytes).unwrap();
        tactus.fail(2, &["mail", "play", &mail, "--display", ":4711"])
    };
    let cut = refused(&whole[..whole.len() - 1000]);
    assert!(cut.contains("the mail was cut: the clip does not end"), "{cut}");
    let mut changed = whole.clone();
    let place = whole.len() - 1000;
    changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
    let changed = refused(&changed);
    assert!(changed.contains("the clip was changed after it was sent"), "{changed}");
    let other = refused(b"Subject: hello\r\n\r\nno video\r\n");
    assert!(other.contains("it is not a video mail, or it was cut"), "{other}");
}

/// A display in memory, with its authority in the folder of the test.
#[track_caller]
fn display(tactus: &Tactus) -> Option<(Server, PatientConnection)> {
    let screen = Screen { width: 320, height: 240, bytes_per_pixel: 4 };
    let server = require(Need::Display, Server::start(screen))?;
    let connection = server.connect().unwrap();
    server.write_authority(&tactus.folder().join("authority")).unwrap();
    Some((server, connection))
}

fn on(display: &Server, tactus: &Tactus, arguments: &[&str]) -> Command {
    let mut command = tactus.command(arguments);
    command.env("DISPLAY", display.display());
    command.env("XAUTHORITY", tactus.folder().join("authority"));
    command
}

#[test]
fn a_mail_is_played_by_its_own_stamps() {
    let tactus = Tactus::new();
    if !encodes() {
        return;
    }
    let Some((server, _connection)) = display(&tactus) else { return };
    let (clip, mail) = (path(&tactus, "a.webm"), path(&tactus, "a.eml"));
    tactus.succeed(&[&["mail", "record", &clip, "--duration", "1s"], &SYNTHETIC[..]].concat());
    tactus.succeed(&["mail", "send", &clip, "-o", &mail, "--subject", "A try"]);
    let play = ["mail", "play", &mail, "--mute", "--json"];
    let temporary = tactus.folder().join("temporary");
    fs::create_dir(&temporary).unwrap();
    let output = on(&server, &tactus, &play).env("TMPDIR", &temporary).output().unwrap();
    let (out, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("from unknown: A try"), "{errors}");
    let stamps = fs::read_to_string(path(&tactus, "a.webm.timing.json")).unwrap();
    let stamps: Value = serde_json::from_str(&stamps).unwrap();
    let stamps: Vec<i64> = serde_json::from_value(stamps["picture"]["stamps"].clone()).unwrap();
    let lines = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let frames: Vec<i64> = lines.filter_map(|line| line["frame"]["media"].as_i64()).collect();
    assert_eq!(frames.len(), stamps.len(), "a receipt for each picture");
    // The file begins at a time of its own; from there, times are exact to the nanosecond.
    let begins = frames[0] - stamps[0];
    let off = frames.iter().zip(&stamps).filter(|(frame, stamp)| *frame - *stamp != begins);
    assert_eq!(off.count(), 0, "{frames:?} are not {stamps:?}");
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "the clip is removed");
}

/// When each second's flash and its tone begin in a recorded clip, in nanoseconds of the file.
fn flashes_and_tones(clip: &str) -> (Vec<i64>, Vec<i64>) {
    let clip = probe::probe(Path::new(clip)).unwrap();
    let (width, height, format) = (16, 16, PixelFormat::Gray);
    let spec = PictureSpec { from: MediaTime::ZERO, width, height, format };
    let mut pictures = PictureDecoder::start(&clip, &spec).unwrap().unwrap();
    let (mut frame, mut flashes, mut was_bright) = (vec![0; spec.frame_bytes()], Vec::new(), true);
    while let Some(time) = pictures.read(&mut frame).unwrap() {
        let sum: u64 = frame.iter().map(|pixel| u64::from(*pixel)).sum();
        let is_bright = sum / frame.len() as u64 > 128;
        if is_bright && !was_bright {
            flashes.push(time.as_nanos());
        }
        was_bright = is_bright;
    }
    let (rate, speed) = (48_000, "1".parse().unwrap());
    let spec = SoundSpec { from: MediaTime::ZERO, rate, channels: 1, speed };
    let mut decoder = SoundDecoder::start(&clip, &spec).unwrap().unwrap();
    let (mut samples, mut tones) = (Vec::new(), Vec::<i64>::new());
    while decoder.read(&mut samples).unwrap() {}
    for (position, _) in samples.iter().enumerate().filter(|(_, sample)| sample.abs() > 0.2) {
        let at = position as i64 * 1_000_000_000 / i64::from(rate);
        if tones.last().is_none_or(|last| at - last > 500_000_000) {
            tones.push(at);
        }
    }
    (flashes, tones)
}

/// A clip whose screen is bright in the first half of each second, with a tone that begins `planted`
/// after it.
fn flash_clip(tactus: &Tactus, planted: Duration) -> String {
    let clip = path(tactus, "flash.mkv");
    let picture = "color=black:s=320x240:r=50:d=8,drawbox=w=iw:h=ih:color=white:t=fill:\
        enable='lt(mod(t+0.001,1),0.5)'";
    let picture = picture.replace([' ', '\n'], "");
    let planted = planted.as_secs_f64();
    let tone =
        format!("aevalsrc='if(lt(mod(t-{planted}+1,1),0.1),0.9*sin(2*PI*1000*t),0)':s=48000:d=8");
    let mut make = Command::new("ffmpeg");
    make.args([
        "-nostdin", "-v", "error", "-y", "-f", "lavfi", "-i", &picture, "-f", "lavfi", "-i",
    ]);
    make.args([&tone, "-c:v", "ffv1", "-c:a", "pcm_s16le", &clip]);
    assert!(make.status().unwrap().success());
    clip
}

/// Plays a clip with a planted offset, records it, and returns the median of sound − picture.
fn recorded_offset(
    tactus: &Tactus,
    server: &Server,
    sound: &PrivateServer,
    planted: Duration,
) -> i64 {
    let played = flash_clip(tactus, planted);
    let mut play = on(server, tactus, &["play", &played, "--sound", SINK, "--json"]);
    play.envs(sound.variables()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut player = play.spawn().unwrap();
    let started = BufReader::new(player.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut lines = started.skip_while(|line| !line.contains("\"started\""));
    lines.next().unwrap();
    let reader = std::thread::spawn(move || lines.count());
    let (clip, microphone) = (path(tactus, "b.webm"), format!("microphone:{SINK}"));
    let record = ["mail", "record", &clip, "--sound", &microphone, "--duration", "6s", "--json"];
    let record = [&record[..], &["--rate", "50"]].concat();
    let output = on(server, tactus, &record).envs(sound.variables()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    player.wait().unwrap();
    reader.join().unwrap();
    let (flashes, tones) = flashes_and_tones(&clip);
    let nearest = |flash: &i64| tones.iter().map(|tone| tone - flash).min_by_key(|off| off.abs());
    let mut offsets: Vec<i64> = flashes.iter().filter_map(nearest).collect();
    offsets.sort_unstable();
    println!("planted {planted:?}: {offsets:?}");
    assert!(!offsets.is_empty(), "{flashes:?} {tones:?}");
    offsets[offsets.len() / 2]
}

#[test]
fn a_live_recording_keeps_the_offset_of_sound_and_picture() {
    let tactus = Tactus::new();
    if !encodes() {
        return;
    }
    let Some((server, _connection)) = display(&tactus) else { return };
    let Some(sound) = require(Need::Sound, PrivateServer::start(1024)) else { return };
    let planted = Duration::from_millis(250);
    let none = recorded_offset(&tactus, &server, &sound, Duration::ZERO);
    let some = recorded_offset(&tactus, &server, &sound, planted);
    // The machine may be busy: each is nearer to what was planted than to the other.
    let half = planted.as_nanos() as i64 / 2;
    assert!(none < half && some > half, "{none} and {some} ns");
}

/// Takes one mail by SMTP (RFC 5321), and returns its text.
fn take_mail(listener: &TcpListener) -> String {
    let (stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut say = stream.try_clone().unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    say.write_all(b"220 test\r\n").unwrap();
    let mut mail = String::new();
    while let Some(line) = lines.next() {
        let reply: &[u8] = match line.split([' ', ':']).next().unwrap_or_default() {
            "DATA" => {
                say.write_all(b"354 go on\r\n").unwrap();
                for line in lines.by_ref().take_while(|line| line != ".") {
                    // A line that begins with a dot is sent with another one.
                    mail.push_str(line.strip_prefix('.').unwrap_or(&line));
                    mail.push_str("\r\n");
                }
                b"250 taken\r\n"
            }
            "QUIT" => {
                say.write_all(b"221 bye\r\n").unwrap();
                break;
            }
            _ => b"250 ok\r\n",
        };
        say.write_all(reply).unwrap();
    }
    mail
}

#[test]
fn a_mail_arrives_through_a_mail_program() {
    let tactus = Tactus::new();
    let found = Command::new("msmtp").arg("--version").stdout(Stdio::null()).status();
    if require(Need::Display, found.map_err(|error| format!("msmtp: {error}"))).is_none() {
        return;
    }
    if !encodes() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let settings = format!("account default\nhost 127.0.0.1\nport {port}\nfrom a@example.org\n");
    let file = tactus.folder().join(".msmtprc");
    fs::write(&file, settings).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let clip = path(&tactus, "a.webm");
    tactus.succeed(&[&["mail", "record", &clip, "--duration", "1s"], &SYNTHETIC[..]].concat());
    let taken = std::thread::spawn(move || take_mail(&listener));
    let mut send = tactus.command(&["mail", "send", &clip, "--to", "b@example.org"]);
    send.args(["--subject", "A try", "--sendmail", "msmtp"]).env("HOME", tactus.folder());
    let output = send.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let arrived = tactus.folder().join("arrived.eml");
    fs::write(&arrived, taken.join().unwrap()).unwrap();
    let unpacked = unpack(&arrived, tactus.folder()).unwrap();
    assert_eq!(fs::read(unpacked.clip()).unwrap(), fs::read(&clip).unwrap());
    assert_eq!(unpacked.subject.as_deref(), Some("A try"));
}

#[test]
fn a_screen_and_the_monitor_of_a_sink_are_recorded() {
    let tactus = Tactus::new();
    if !encodes() {
        return;
    }
    let Some((server, connection)) = display(&tactus) else { return };
    let Some(sound) = require(Need::Sound, PrivateServer::start(1024)) else { return };
    // The screen is white.
    let root = &connection.setup().roots[0];
    let white = ChangeWindowAttributesAux::new().background_pixel(root.white_pixel);
    connection.change_window_attributes(root.root, &white).unwrap();
    connection.clear_area(false, root.root, 0, 0, 0, 0).unwrap().check().unwrap();
    let clip = path(&tactus, "a.webm");
    let microphone = format!("microphone:{SINK}");
    let record = ["mail", "record", &clip, "--sound", &microphone, "--duration", "1s", "--json"];
    let output = on(&server, &tactus, &record).envs(sound.variables()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&summary["pictures"]["width"], &summary["pictures"]["height"]),
        (&320.into(), &240.into())
    );
    assert_eq!(summary["sound"]["source"], microphone);
    assert!(summary["sound"]["samples"].as_u64() > Some(1024), "{summary}");
    // A frame, as brightness.
    let mut decode = Command::new("ffmpeg");
    decode.args(["-nostdin", "-v", "error", "-i", &clip, "-frames:v", "1", "-pix_fmt", "gray"]);
    let frame = decode.args(["-f", "rawvideo", "-"]).output().unwrap().stdout;
    assert_eq!(frame.len(), 320 * 240);
    assert!(frame.iter().all(|pixel| *pixel > 220), "a white screen");
}
