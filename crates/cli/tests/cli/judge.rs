//! `tactus judge`: a player whose errors are known, and players that misbehave.

use std::env;
use std::io::BufWriter;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tactus_model::time::{Monotonic, Nanos};
use tactus_sound::{ClientSpec, Output, Peer};
use tactus_synchrony::clip::SAMPLE_RATE;
use tactus_synchrony::{Clip, Judgement, Moment, SignedNanos};
use tactus_sys::clock;
use tactus_sys::sleep::{Nanosleep, Sleeper};
use tactus_testing::{Need, skip};
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{ConnectionExt, CreateGCAux, CreateWindowAux, ImageFormat};
use x11rb::rust_connection::RustConnection;

use crate::support::{Tactus, text};

/// The clip of the tests, without its shift.
const CLIP: Clip = Clip { width: 224, height: 128, rate: 25, seconds: 5, shift: SignedNanos::ZERO };

/// The options of the clip.
const OPTIONS: [&str; 6] = ["--size", "224x128", "--rate", "25", "--duration", "5s"];

/// What `tactus judge` needs beside the player; `None` after a skip.
fn judges() -> Option<()> {
    for (need, program) in
        [(Need::Peers, "ffmpeg"), (Need::Display, "Xvfb"), (Need::Sound, "pipewire")]
    {
        let there = std::process::Command::new(program)
            .arg("-version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if there.is_err() {
            skip(need, format!("no {program}"));
            return None;
        }
    }
    Some(())
}

/// Judges a command, and returns the judgement with the exit code and the messages.
fn judge(options: &[&str], command: &[&str]) -> (Judgement, Option<i32>, String) {
    let tactus = Tactus::new();
    let arguments = [&["judge", "--json"], &OPTIONS[..], options, &["--"], command].concat();
    let output = tactus.run(&arguments);
    let errors = text(&output.stderr);
    let judgement = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {errors}{}", text(&output.stdout)));
    tactus.require_nothing_left();
    (judgement, output.status.code(), errors)
}

#[test]
fn a_display_that_ends_fails_the_turn_and_not_the_player() {
    let Some(()) = judges() else { return };
    // The X server is a child of the player's parent; it removes its socket at its end.
    let kill = "for stat in /proc/[0-9]*/stat; do
    read id name state parent rest <$stat || continue
    [ \"$parent $name\" = \"$PPID (Xvfb)\" ] || continue
    kill $id
    while read id name state rest <$stat && [ $state != Z ]; do sleep 0.1; done
done 2>/dev/null
:";
    let (judgement, code, errors) = judge(&["--rounds", "1"], &["sh", "-c", kill, "{}"]);
    assert_eq!(code, Some(5), "{errors}");
    assert!(judgement.playbacks.is_empty(), "{errors}");
    let reason = &judgement.failed[0].reason;
    assert!(reason.starts_with("the X server of the judge did not last as long"), "{reason}");
}

/// The reference: a player with one clock, whose sound has absolute positions and whose frames are drawn
/// when they are due. It is the clip's own shift that makes it wrong.
#[test]
fn planted_errors_are_found_in_their_order() {
    let Some(()) = judges() else { return };
    let program = env::current_exe().unwrap();
    let reference =
        [program.to_str().unwrap(), "--exact", "--ignored", "judge::reference_player", "{}"];
    let shifts = [-120, -40, 0, 40, 120].map(SignedNanos::from_millis);
    let options = ["--rounds", "1", "--shift", "-120ms,-40ms,0ms,40ms,120ms"];
    let (judgement, code, errors) = judge(&options, &reference);
    assert_eq!(code, Some(0), "{errors}");
    let rows = judgement.rows();
    let medians: Vec<SignedNanos> =
        rows.iter().filter_map(|row| Some(row.pooled.offset?.median)).collect();
    let clips: Vec<SignedNanos> =
        rows.iter().map(|row| judgement.plan.clips[row.clip].shift).collect();
    assert_eq!(clips, shifts, "{errors}");
    for (shift, median) in shifts.iter().zip(&medians) {
        println!("planted {shift}: judged {median}, which is {} more", *median - *shift);
    }
    assert_eq!(medians.len(), shifts.len(), "{errors}");
    assert!(medians.is_sorted(), "{medians:?}");
    // What was planted differs by 80 and by 40 ms.
    assert!(medians[1] - medians[0] > medians[2] - medians[1], "{medians:?}");
    assert!(medians[4] - medians[3] > medians[3] - medians[2], "{medians:?}");
    for row in rows {
        let frames = row.pooled.frames.unwrap();
        let sum = frames.shown + frames.dropped + frames.unobserved + frames.outside;
        assert_eq!(frames.intended, sum);
        assert!(row.pooled.blind_picture.is_some() && row.pooled.blind_sound.is_some());
    }
}

#[test]
#[ignore = "another test starts it as a program"]
fn reference_player() {
    let file = env::args().next_back().unwrap();
    let shift = file.trim_end_matches(".mov").rsplit_once("25-").unwrap().1;
    let clip = Clip { shift: SignedNanos::from_nanos(shift.parse().unwrap()), ..CLIP };
    let peer = Peer::Client("quiet".to_owned());
    let spec = ClientSpec { name: "reference".to_owned(), channels: 2, peer };
    let mut sound = Output::open(&spec).unwrap();
    let mut window = Window::open(&clip);
    // The device's clock is found meanwhile.
    let start = clock::now::<Monotonic>() + Nanos::from_secs(1);
    while clock::now::<Monotonic>() < start {
        sound.turn();
        std::thread::sleep(Duration::from_millis(10));
    }
    let start = start + Nanos::from_millis(200);
    let first = sound.position_heard_from(start).unwrap();
    let mut put = 0;
    for number in 0..clip.frames() as u16 {
        // Half a second ahead.
        let until = (u32::from(number) * SAMPLE_RATE / 25 + SAMPLE_RATE / 2).min(clip.samples());
        let samples: Vec<f32> =
            (put..until).flat_map(|position| [clip.sample(position); 2]).collect();
        put += sound.put(first + u64::from(put), &samples) as u32;
        sound.turn();
        window.draw(&clip, number);
        Nanosleep.sleep_until(start + clip.time_of(number)).unwrap();
        window.show();
    }
    let end: Moment = start + clip.duration();
    Nanosleep.sleep_until(end).unwrap();
}

/// A window with the picture.
struct Window {
    connection: RustConnection,
    window: u32,
    context: u32,
    size: (u16, u16),
    picture: Vec<u8>,
    pixels: Vec<u8>,
}

impl Window {
    fn open(clip: &Clip) -> Self {
        let (connection, screen) = x11rb::connect(None).unwrap();
        let root = &connection.setup().roots[screen];
        let (window, context) =
            (connection.generate_id().unwrap(), connection.generate_id().unwrap());
        let (parent, visual, depth) = (root.root, root.root_visual, root.root_depth);
        let Clip { width, height, .. } = *clip;
        let class = x11rb::protocol::xproto::WindowClass::INPUT_OUTPUT;
        let none = CreateWindowAux::new();
        connection
            .create_window(depth, window, parent, 0, 0, width, height, 0, class, visual, &none)
            .unwrap();
        connection.create_gc(context, window, &CreateGCAux::new()).unwrap();
        connection.map_window(window).unwrap();
        connection.flush().unwrap();
        let (count, size) = (usize::from(width) * usize::from(height), (width, height));
        let (picture, pixels) = (vec![0; count], vec![0; 4 * count]);
        Self { connection, window, context, size, picture, pixels }
    }

    fn draw(&mut self, clip: &Clip, number: u16) {
        clip.draw(number, &mut self.picture);
        for (pixel, grey) in self.pixels.chunks_exact_mut(4).zip(&self.picture) {
            pixel.fill(*grey);
        }
    }

    fn show(&mut self) {
        let Self { connection, window, context, pixels, .. } = self;
        let (width, height) = self.size;
        connection
            .put_image(ImageFormat::Z_PIXMAP, *window, *context, width, height, 0, 0, 0, 24, pixels)
            .unwrap();
        connection.flush().unwrap();
    }
}

#[test]
fn a_player_is_judged_with_and_without_load_and_reserve() {
    let Some(()) = judges() else { return };
    let tactus = Tactus::new();
    let page = tactus.folder().join("p.html");
    let options = ["--player", "tactus", "--load", "compute", "--reserve", "5ms/40ms"];
    let output = ["--rounds", "1", "-o", page.to_str().unwrap(), "--json"];
    let output = tactus.run(&[&["judge"], &OPTIONS[..], &options, &output].concat());
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    let judgement: Judgement = serde_json::from_slice(&output.stdout).unwrap();
    tactus.require_nothing_left();
    assert_eq!(judgement.playbacks.len(), 4, "{errors}");
    for playback in &judgement.playbacks {
        let is_idle = judgement.plan.loads[playback.turn.load].is_idle();
        let conditions = &playback.conditions;
        assert_eq!(conditions.load.operations.is_some_and(|count| count > 0), !is_idle, "{errors}");
        assert!(conditions.player_cpu.is_some_and(|time| time > Nanos::ZERO), "{errors}");
        assert!(conditions.machine.over >= CLIP.duration(), "{errors}");
    }
    let rows = judgement.rows();
    let sides: Vec<String> =
        rows.iter().map(|row| judgement.plan.side(row.player, row.load)).collect();
    let expected = ["", " under compute", ", reserve 5ms/40ms", ", reserve 5ms/40ms under compute"];
    assert_eq!(sides, expected.map(|side| format!("tactus{side}")));
    let page = std::fs::read_to_string(page).unwrap();
    assert!(sides.iter().all(|side| page.contains(side)), "{sides:?}");
}

#[test]
fn a_load_that_cannot_run_fails_its_turns_only() {
    let Some(()) = judges() else { return };
    let load = "cmd:\"exit 3\"";
    let command = ["sh", "-c", "exit 0"];
    let (judgement, code, errors) = judge(&["--rounds", "1", "--load", load], &command);
    // A command may have ended before the player, or fail at its start.
    let notes = judgement.playbacks.iter().flat_map(|playback| &playback.notes);
    let reasons = judgement.failed.iter().map(|failed| &failed.reason);
    let said: Vec<&String> = notes.chain(reasons).collect();
    assert_eq!(judgement.playbacks.len() + judgement.failed.len(), 2, "{errors}");
    assert!(said.iter().any(|text| text.contains("the load cmd")), "{said:?}");
    assert!(matches!(code, Some(0 | 5)), "{errors}");
}

#[test]
fn a_player_that_fails_is_a_result_with_its_reason() {
    let Some(()) = judges() else { return };
    let command = ["sh", "-c", "echo no such codec >&2; exit 3"];
    let (judgement, code, errors) = judge(&["--rounds", "1"], &command);
    assert_eq!(code, Some(5), "nothing was seen or heard: {errors}");
    let notes = judgement.playbacks[0].notes.join("\n");
    assert!(notes.contains("it ended with exit status: 3: no such codec"), "{notes}");
    assert!(notes.contains("it drew nothing"), "{notes}");
    assert!(notes.contains("it made no sound"), "{notes}");
}

#[test]
fn a_player_that_does_not_exist_is_named() {
    let Some(()) = judges() else { return };
    let output = Tactus::new().command(&["judge", "--", "/no/such/player"]).output().unwrap();
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(errors.contains("`player` is not installed"), "{errors}");
}

/// A player with a helper in the background, neither of which ends by itself.
const ENDLESS: [&str; 3] = ["sh", "-c", "sleep 1000 & sleep 1000"];

#[test]
fn a_player_that_never_ends_is_killed_with_its_helpers() {
    let Some(()) = judges() else { return };
    let (judgement, code, errors) = judge(&["--rounds", "1"], &ENDLESS);
    assert_eq!(code, Some(5), "{errors}");
    let notes = judgement.playbacks[0].notes.join("\n");
    assert!(notes.contains("it did not end within 20 s and was killed"), "{notes}");
}

#[test]
fn a_killed_judge_leaves_nothing_behind() {
    let Some(()) = judges() else { return };
    let tactus = Tactus::new();
    let arguments = [&["judge", "--quiet"], &OPTIONS[..], &["--"], &ENDLESS].concat();
    let mut judge = tactus.command(&arguments).spawn().unwrap();
    let began = Instant::now();
    let plays =
        || tactus.processes().iter().filter(|(_, line)| line.contains("sleep 1000")).count();
    while plays() < 3 {
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", tactus.processes());
        std::thread::sleep(Duration::from_millis(20));
    }
    judge.kill().unwrap();
    judge.wait().unwrap();
    tactus.require_nothing_left();
}

#[test]
fn wrong_input_is_refused_before_anything_starts() {
    let tactus = Tactus::new();
    let folder = tactus.folder().to_owned();
    let wave = folder.join("a.wav");
    std::fs::write(&wave, b"RIFF____WAVE").unwrap();
    let wave = wave.to_str().unwrap();
    let missing = folder.join("no/p.html");
    for (arguments, expected) in [
        (&["judge", "--player", "vlc"][..], "known are tactus, mpv, ffplay and gstreamer"),
        (&["judge", "--rate", "9"], "`9` is not a whole number from 10 to 120"),
        (&["judge", "--size", "big"], "`big` is not a size: write WIDTHxHEIGHT in pixels"),
        (&["judge", "--size", "641x360"], "both numbers must be even"),
        (&["judge", "--duration", "2500ms"], "is not a number of seconds"),
        (&["judge", "--duration", "1h"], "it must be from 3 s to 900 s"),
        (&["judge", "--shift", "-600ms"], "can be shifted by at most 500ms"),
        (&["judge", "--load", "compue"], "did you mean"),
        (&["judge", "--reserve", "5ms"], "5ms"),
        (&["judge", "--reserve", "5ms/40ms", "--", "true"], "none of the players takes a reserve"),
        (&["judge", "--look", "1s"], "`1s` is not from 50us to 5ms"),
        (&["judge", "--clip", "c.mov", "--rate", "25,30"], "--clip writes one clip"),
        (&["judge", "--calibrate", wave], "it is not a wave file that can be read"),
        (&["judge", "--calibrate", "/no/a.wav"], "cannot judge /no/a.wav"),
        (&["judge", "-o", missing.to_str().unwrap()], "mkdir -p"),
    ] {
        let errors = tactus.fail(2, arguments);
        assert!(errors.contains(expected), "{arguments:?}: {errors}");
    }
}

#[test]
fn a_recording_of_a_room_is_judged() {
    let tactus = Tactus::new();
    let (wave, page) = (tactus.folder().join("room.wav"), tactus.folder().join("room.html"));
    let spec = hound::WavSpec {
        channels: 2,
        sample_rate: SAMPLE_RATE,
        bits_per_sample: 32,
        sample_format: hound::SampleFormat::Float,
    };
    let file = BufWriter::new(std::fs::File::create(&wave).unwrap());
    let mut writer = hound::WavWriter::new(file, spec).unwrap();
    for position in 0..CLIP.samples() {
        let number = (position / (SAMPLE_RATE / 25)) as u16;
        let light = if CLIP.is_bright(number) { 0.5 } else { 0.1 };
        let heard = position.checked_sub(480).map_or(0.0, |earlier| CLIP.sample(earlier));
        writer.write_sample(heard).unwrap();
        writer.write_sample(light).unwrap();
    }
    writer.finalize().unwrap();
    let (wave, page) = (wave.to_str().unwrap(), page.to_str().unwrap());
    let said = tactus.succeed(&["judge", "--calibrate", wave, "-o", page]);
    assert!(said.starts_with("The sound comes 10.0\u{202f}ms after the picture"), "{said}");
    assert!(std::fs::read_to_string(page).unwrap().contains("<svg"));
    let json = tactus.succeed(&["judge", "--calibrate", wave, "--json"]);
    assert!(json.contains("\"offset\":10000000"), "{json}");
}
