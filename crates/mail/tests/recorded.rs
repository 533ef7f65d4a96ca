//! Clips from the test pattern and the test tone: recorded, sent, unpacked, and decoded again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use tactus_clip::{
    Clip, ClipError, FfmpegError, PictureDecoder, PictureSpec, PixelFormat, SoundDecoder,
    SoundSpec, probe,
};
use tactus_mail::record::{RecordError, SourceError};
use tactus_mail::sound::{SECOND, TONE};
use tactus_mail::timing::{beside, duration};
use tactus_mail::unpack::{timing_of, unpack};
use tactus_mail::{Letter, PictureSource, Plan, Recorded, SoundSource, Timing, record};
use tactus_model::time::Nanos;
use tactus_playback::{MediaTime, Speed};
use tactus_testing::{Need, skip};

const RATE: u32 = 48_000;

fn plan(length: Nanos) -> Plan {
    Plan {
        picture: PictureSource::Synthetic,
        display: None,
        size: "160x120".parse().unwrap(),
        rate: "50".parse().unwrap(),
        sound: SoundSource::Synthetic,
        duration: Some(length),
    }
}

/// Records a clip; `None` without ffmpeg.
#[track_caller]
fn recorded(plan: &Plan, folder: &Path) -> Option<(PathBuf, Timing)> {
    let clip = folder.join("a.webm");
    match record(plan, &clip, &AtomicBool::new(false), &mut |_| {}) {
        Err(RecordError::Encoder(error @ FfmpegError::NotInstalled)) => {
            skip(Need::Display, error);
            None
        }
        recorded => {
            let Recorded { timing, ended } = recorded.unwrap();
            assert!(ended.is_none(), "{ended:?}");
            Some((clip, timing))
        }
    }
}

/// The frames of a clip: the time of each in the file, and its mean brightness.
fn frames(clip: &Clip) -> Vec<(i64, u8)> {
    let format = PixelFormat::Gray;
    let spec = PictureSpec { from: MediaTime::ZERO, width: 16, height: 16, format };
    let mut decoder = PictureDecoder::start(clip, &spec).unwrap().unwrap();
    let (mut frame, mut frames) = (vec![0; spec.frame_bytes()], Vec::new());
    while let Some(time) = decoder.read(&mut frame).unwrap() {
        let sum: u64 = frame.iter().map(|pixel| u64::from(*pixel)).sum();
        let bright = (sum / frame.len() as u64) as u8;
        frames.push((time.as_nanos() + clip.begins.as_nanos(), bright));
    }
    frames
}

/// When tones begin in the file.
fn tones(clip: &Clip) -> Vec<i64> {
    /// A third of the tone.
    const LOUD: f32 = 0.3;
    let speed: Speed = "1".parse().unwrap();
    let spec = SoundSpec { from: MediaTime::ZERO, rate: RATE, channels: 1, speed };
    let mut decoder = SoundDecoder::start(clip, &spec).unwrap().unwrap();
    let mut samples = Vec::new();
    while decoder.read(&mut samples).unwrap() {}
    let mut tones: Vec<i64> = Vec::new();
    let least = TONE.as_nanos() as i64 * 5;
    for (position, _) in samples.iter().enumerate().filter(|(_, sample)| sample.abs() > LOUD) {
        let at = duration(position as u64, RATE).as_nanos() as i64 + clip.begins.as_nanos();
        if tones.last().is_none_or(|last| at - last > least) {
            tones.push(at);
        }
    }
    tones
}

/// A millisecond, in which WebM has its times, and half of one for the tone's onset in a lossy code.
const TOLERANCE: i64 = 1_500_000;

#[test]
fn picture_and_sound_of_a_clip_are_where_their_stamps_are() {
    let folder = tempfile::tempdir().unwrap();
    let Some((path, timing)) = recorded(&plan(Nanos::from_secs(4)), folder.path()) else { return };
    if let Ok(keep) = std::env::var("KEEP") {
        fs::copy(&path, keep).unwrap();
    }
    let clip = match probe::probe(&path) {
        Err(error @ ClipError::NotInstalled(_)) => return skip(Need::Display, error),
        clip => clip.unwrap(),
    };
    let stamps = &timing.picture.as_ref().unwrap().stamps;
    let frames = frames(&clip);
    assert_eq!(frames.len(), stamps.len(), "a frame for each picture");
    for ((time, _), stamp) in frames.iter().zip(stamps) {
        let off = time - stamp.as_nanos() as i64;
        assert!(off.abs() <= 1_000_000, "a frame is at {time} ns, its stamp at {stamp}");
    }
    let second = SECOND.as_nanos() as i64;
    let tones = tones(&clip);
    assert_eq!(tones.len(), 3, "{tones:?}");
    let mut offsets = Vec::new();
    for (number, tone) in (1..).zip(&tones) {
        let off = tone - number * second;
        assert!(off.abs() <= TOLERANCE, "tone {number} is {off} ns after its second");
        // What a viewer sees and hears. On a busy machine, a flash comes late or is missing; the
        // content of a picture is that of its stamp, so it is never early.
        let flash = frames.iter().find(|(time, bright)| *time >= tone - TOLERANCE && *bright > 200);
        let (flash, _) = flash.unwrap_or(&(i64::MAX, 0));
        if *flash < tone + second / 2 {
            offsets.push(tone - flash);
        }
    }
    // The figure of docs/mail.md.
    println!("sound after picture, in ns: {offsets:?}; {} pictures missing", {
        timing.picture.as_ref().unwrap().missing
    });
}

#[test]
fn a_mail_plays_what_was_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let Some((path, timing)) = recorded(&plan(SECOND), folder.path()) else { return };
    assert_eq!(timing_of(&path).unwrap(), timing);
    let bytes = fs::read(&path).unwrap();
    let message = Letter::default().compose(&timing, &bytes).unwrap();
    let mail = folder.path().join("a.eml");
    fs::write(&mail, &message).unwrap();
    let unpacked = unpack(&mail, folder.path()).unwrap();
    assert_eq!(unpacked.timing, timing);
    assert_eq!(fs::read(unpacked.clip()).unwrap(), bytes);
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
    assert_eq!(names.len(), 4, "clip, stamps, mail and the directory: {names:?}");
}

#[test]
fn a_clip_may_have_one_track() {
    let folder = tempfile::tempdir().unwrap();
    let silent = Plan { sound: SoundSource::Absent, ..plan(Nanos::from_millis(400)) };
    let Some((path, timing)) = recorded(&silent, folder.path()) else { return };
    assert!(timing.sound.is_none() && !timing.picture.unwrap().stamps.is_empty());
    let clip = probe::probe(&path).unwrap();
    assert!(clip.sound.is_none() && clip.picture.is_some());
    let unseen = Plan { picture: PictureSource::Absent, ..plan(Nanos::from_millis(400)) };
    let Some((path, timing)) = recorded(&unseen, folder.path()) else { return };
    let sound = timing.sound.unwrap();
    assert!(timing.picture.is_none());
    assert!(sound.blocks.windows(2).all(|pair| pair[1].0 == pair[0].0 + u64::from(pair[0].1)));
    let clip = probe::probe(&path).unwrap();
    assert!(clip.sound.is_some() && clip.picture.is_none());
}

#[test]
fn nothing_is_left_of_a_clip_that_does_not_begin() {
    let folder = tempfile::tempdir().unwrap();
    let clip = folder.path().join("a.webm");
    let attempt = |plan: &Plan, clip: &Path| {
        record(plan, clip, &AtomicBool::new(false), &mut |_| {}).unwrap_err()
    };
    let nothing =
        Plan { picture: PictureSource::Absent, sound: SoundSource::Absent, ..plan(SECOND) };
    assert!(matches!(attempt(&nothing, &clip), RecordError::Nothing));
    let camera = PictureSource::Camera("/dev/no-such-camera".into());
    let blind = Plan { picture: camera, sound: SoundSource::Absent, ..plan(SECOND) };
    match attempt(&blind, &clip) {
        RecordError::Source(SourceError::Picture(_)) => {}
        RecordError::Encoder(error @ FfmpegError::NotInstalled) => {
            return skip(Need::Display, error);
        }
        error => panic!("{error}"),
    }
    let display = Some(":4711".to_owned());
    let screen = Plan { picture: PictureSource::Screen, display, ..plan(SECOND) };
    let refused = attempt(&screen, &clip).to_string();
    assert!(refused.starts_with("cannot use the display :4711: "), "{refused}");
    let nowhere = attempt(&plan(SECOND), &folder.path().join("none/a.webm"));
    assert!(
        matches!(&nowhere, RecordError::Write { error, .. } if error.kind() == io::ErrorKind::NotFound),
        "{nowhere}"
    );
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
    assert!(names.is_empty(), "{names:?}");
    assert!(!beside(&clip).exists());
}
