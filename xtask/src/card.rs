//! A clip that `tactus play` plays on ALSA's loopback and an X display, in a guest.
//!
//! The other end of the loopback captures clicks at given positions. The sound device drives the
//! clock, so the picture follows it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde::Deserialize;
use tactus_guest::chore::{Clicks, Reply, Step};

use crate::chore_guest::{Files, Session, ended, line_with, words};

/// One subdevice: the card plays for one program.
const MODULE: (&str, &str) = ("snd-aloop", "pcm_substreams=1");
const RATE: u32 = 48_000;
const SECONDS: u32 = 8;
const FRAME_RATE: u32 = 25;
const FRAMES: u64 = (SECONDS * FRAME_RATE) as u64;

/// When groups of clicks begin, in seconds, and the distances in a group: adjacent frames, a period
/// and a buffer (960 and 3840), and others.
const BEGINS: [u64; 2] = [1, 6];
const DISTANCES: [u64; 12] = [1, 1, 7, 480, 959, 960, 961, 3840, 3841, 12_345, 1, 997];

/// The most slip in nanoseconds: the loopback plays by the kernel's clock, so there is none but what
/// its positions are off when they are read.
const SLIP: i64 = 100_000;
/// Numbers of signals.
const SIGCONT: i32 = 18;
const SIGSTOP: i32 = 19;

/// The positions of all clicks.
fn positions() -> Vec<u64> {
    let group = |begin: u64| {
        let first = begin * u64::from(RATE);
        let next = DISTANCES.iter().scan(first, |at, distance| {
            *at += distance;
            Some(*at)
        });
        std::iter::once(first).chain(next)
    };
    BEGINS.into_iter().flat_map(group).collect()
}

/// The level of a click, by which it is recognised: that of the second channel is the opposite.
fn level(number: usize) -> i16 {
    (number as i16 + 1) * 512
}

/// A file of sound (RIFF, WAVE) with the clicks.
fn wave() -> Vec<u8> {
    let mut samples = vec![[0_i16; 2]; (RATE * SECONDS) as usize];
    for (number, position) in positions().into_iter().enumerate() {
        samples[position as usize] = [level(number), -level(number)];
    }
    let data: Vec<u8> = samples.iter().flatten().flat_map(|sample| sample.to_le_bytes()).collect();
    let length = data.len() as u32;
    let mut wave = Vec::new();
    wave.extend_from_slice(b"RIFF");
    wave.extend_from_slice(&(36 + length).to_le_bytes());
    wave.extend_from_slice(b"WAVEfmt \x10\0\0\0\x01\0\x02\0");
    wave.extend_from_slice(&RATE.to_le_bytes());
    wave.extend_from_slice(&(4 * RATE).to_le_bytes());
    wave.extend_from_slice(b"\x04\0\x10\0data");
    wave.extend_from_slice(&length.to_le_bytes());
    wave.extend_from_slice(&data);
    wave
}

/// A clip with the clicks and a moving picture.
fn clip() -> anyhow::Result<Vec<u8>> {
    let directory = tempfile::tempdir()?;
    let path = |name: &str| directory.path().join(name);
    fs::write(path("clicks.wav"), wave())?;
    let picture = format!("testsrc=size=320x180:rate={FRAME_RATE}:duration={SECONDS}");
    let mut command = Command::new("ffmpeg");
    command.args(["-hide_banner", "-loglevel", "error", "-nostdin", "-i"]).arg(path("clicks.wav"));
    command.args(["-f", "lavfi", "-i", &picture, "-map", "1:v", "-map", "0:a"]);
    command.args(["-c:v", "mpeg4", "-q:v", "5", "-c:a", "pcm_s16le"]).arg(path("clip.mkv"));
    let status = command.status().context("ffmpeg; fix: apt-get install ffmpeg")?;
    ensure!(status.success(), "ffmpeg: {status}");
    Ok(fs::read(path("clip.mkv"))?)
}

/// Boots the guest, plays the clip undisturbed and with a player that is stopped for a while, and
/// checks what was captured.
pub(crate) fn check(root: &Path) -> anyhow::Result<()> {
    let mut files = Files::default();
    files.installed("Xvfb", "xvfb")?;
    files.installed("xkbcomp", "x11-xkb-utils")?;
    files.program(Path::new("/bin/sh"), "bin/sh")?;
    files.tree(Path::new("/usr/share/X11/xkb"))?;
    files.file("clip.mkv", clip()?);
    let play = |device: &str| {
        let command = "tactus play /clip.mkv --display :1 --quiet --json --sound alsa:";
        words(&format!("{command}{device}"))
    };
    let sleep = |milliseconds| Step::Sleep { milliseconds };
    let plays = || Step::Start { words: play("hw:Loopback,0") };
    let steps = vec![
        Step::Start { words: words("Xvfb :1 -screen 0 640x480x24 -nolisten tcp") },
        sleep(3000),
        Step::Capture { rate: RATE },
        plays(),
        sleep(3000),
        Step::Run { words: play("hw:Loopback,0") },
        Step::Await,
        Step::Captured,
        Step::Capture { rate: RATE },
        plays(),
        sleep(4500),
        Step::Signal { number: SIGSTOP },
        sleep(300),
        Step::Signal { number: SIGCONT },
        Step::Await,
        Step::Captured,
        Step::Run { words: play("hw:7,0") },
    ];
    let replies = Session { files, steps, module: MODULE }.run(root)?;
    let [_, _, _, _, _, busy, played, heard, .., stopped, heard_after, missing] = &replies[..]
    else {
        bail!("{} replies", replies.len());
    };
    let undisturbed = Played::of(played, heard)?;
    println!("undisturbed: {undisturbed}");
    undisturbed.is_whole()?;
    let (_, errors) = ended(busy, 3)?;
    println!("meanwhile, on the same device: {errors}");
    ensure!(errors.contains("is used by another program"), "{errors}");
    let stopped = Played::of(stopped, heard_after)?;
    println!("stopped for 300 ms: {stopped}");
    let Sound { xruns, cut, .. } = stopped.ended.sound;
    ensure!(xruns > 0 && cut > 0, "the planted stop is in no count");
    let (_, errors) = ended(missing, 3)?;
    println!("a device that is missing: {errors}");
    ensure!(errors.contains("there is no ALSA device hw:7,0"), "{errors}");
    Ok(())
}

/// The start of the clock, by the output of the player: see docs/play.md.
#[derive(Deserialize)]
struct Started {
    at: i64,
}

/// The end of a clip.
#[derive(Deserialize)]
struct Ended {
    clips: [Shown; 1],
    sound: Sound,
}

#[derive(Deserialize)]
struct Shown {
    shown: u64,
    dropped: u64,
    missing: u64,
    slip_ns: i64,
    slip_ns_worst: i64,
}

#[derive(Deserialize)]
struct Sound {
    xruns: u64,
    played: u64,
    cut: u64,
    missing: u64,
    jumps: u64,
}

/// What became of the clip.
struct Played {
    ended: Ended,
    /// Between when the first click was due, by the clock's start, and when it was captured.
    offset: i64,
}

impl Played {
    /// Reads the output of the player, and checks the clicks.
    fn of(played: &Reply, heard: &Reply) -> anyhow::Result<Self> {
        let (output, _) = ended(played, 0)?;
        let Started { at } = line_with(output, "started")?;
        let ended: Ended = line_with(output, "ended")?;
        let Reply::Captured { clicks, first_at } = heard else { bail!("nothing captured") };
        check_clicks(clicks)?;
        let due = at + BEGINS[0].cast_signed() * 1_000_000_000;
        let offset = first_at.context("no click was captured")? - due;
        ensure!(offset.abs() < 1_000_000_000 / i64::from(FRAME_RATE), "sound is {offset} ns late");
        let [shown] = &ended.clips;
        ensure!(shown.missing == 0 && shown.shown + shown.dropped == FRAMES, "frames are missing");
        let frames = u64::from(RATE * SECONDS);
        let Sound { xruns, played, cut, missing, jumps } = ended.sound;
        // The sound begins, and goes on after an xrun, at a whole frame: one may be neither.
        let uncounted = (played + cut).abs_diff(frames);
        ensure!(uncounted <= 1 + xruns, "{played} frames played and {cut} cut, of {frames}");
        ensure!(missing == 0 && jumps == 0, "{missing} frames are missing, {jumps} jumps");
        Ok(Self { ended, offset })
    }

    /// Nothing was lost, and the clip keeps to wall time.
    fn is_whole(&self) -> anyhow::Result<()> {
        let Ended { clips: [shown], sound } = &self.ended;
        ensure!(shown.dropped == 0, "{} frames were dropped", shown.dropped);
        ensure!(sound.xruns == 0 && sound.cut == 0, "sound was cut");
        ensure!(shown.slip_ns_worst.abs() < SLIP, "the clip slips");
        Ok(())
    }
}

impl std::fmt::Display for Played {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ended { clips: [shown], sound } = &self.ended;
        write!(
            f,
            "{} frames shown, {} dropped; {} xruns, {} frames of sound played, {} cut; slip {} ns, \
             at most {} ns; the first click was captured {} µs after its time",
            shown.shown,
            shown.dropped,
            sound.xruns,
            sound.played,
            sound.cut,
            shown.slip_ns,
            shown.slip_ns_worst,
            self.offset / 1000
        )
    }
}

/// Checks that each click has its level, and its distance from the first one, in both channels.
fn check_clicks(clicks: &[Clicks; 2]) -> anyhow::Result<()> {
    let wanted = positions();
    let first = wanted[0];
    let [left, right] = clicks;
    let begin = left.first().context("no click was captured")?.0;
    let expected: BTreeMap<u64, i32> = wanted
        .iter()
        .enumerate()
        .map(|(number, position)| (position - first, i32::from(level(number)) << 16))
        .collect();
    let heard = |clicks: &Clicks, sign: i32| {
        clicks.iter().map(|(at, level)| (at.abs_diff(begin), sign * level)).collect()
    };
    let (left, right): (BTreeMap<_, _>, BTreeMap<_, _>) = (heard(left, 1), heard(right, -1));
    ensure!(left == expected, "captured {left:?}, not {expected:?}");
    ensure!(right == expected, "captured {right:?}, not {expected:?}");
    Ok(())
}
