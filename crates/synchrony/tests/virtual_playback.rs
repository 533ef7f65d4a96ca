//! Playbacks in virtual time, with planted errors that the findings must show.

use std::io::Cursor;

use proptest::prelude::*;
use tactus_model::time::Nanos;
use tactus_synchrony::clip::{Clip, SAMPLE_RATE};
use tactus_synchrony::observed::{Change, Observed, Picture, Sound, Span, Tone};
use tactus_synchrony::tone::Tones;
use tactus_synchrony::{Findings, Moment, Pooled, SignedNanos, wave};

const ORIGIN: Moment = Moment::from_nanos(3_000_000_000_000);

/// A player with planted errors.
#[derive(Clone, Debug)]
struct Player {
    clip: Clip,
    /// How much later than the picture the sound comes.
    sound_late: i64,
    /// How much slower than wall time picture and sound are, in parts per million.
    slow: f64,
    /// How much faster than the picture the sound is, in parts per million.
    sound_fast: f64,
    /// Frames that are not shown.
    dropped: Vec<u16>,
    /// The time between two looks of the photodiode.
    look: u64,
}

impl Player {
    fn of(clip: Clip) -> Self {
        let dropped = Vec::new();
        Self { clip, sound_late: 0, slow: 0.0, sound_fast: 0.0, dropped, look: 250_000 }
    }

    fn at(&self, media: f64, ppm: f64) -> Moment {
        // Half a second after it was started.
        ORIGIN + Nanos::from_nanos((500e6 + media * (1.0 + ppm / 1e6)).round() as u64)
    }

    fn picture(&self) -> Picture {
        let look = |at: Moment| {
            let from = at.as_nanos() / self.look * self.look;
            Span { from: Moment::from_nanos(from), to: Moment::from_nanos(from + self.look) }
        };
        let numbers = (0..self.clip.frames() as u16).filter(|n| !self.dropped.contains(n));
        let change = |number: u16| {
            let at = self.at(self.clip.time_of(number).as_nanos() as f64, self.slow);
            Change { when: look(at), number: Some(number), is_bright: self.clip.is_bright(number) }
        };
        Picture { changes: numbers.map(change).collect(), blind: Vec::new() }
    }

    fn sound(&self) -> Sound {
        let samples: Vec<f32> =
            (0..self.clip.samples()).map(|place| self.clip.sample(place)).collect();
        let mut tones = Vec::new();
        Tones::new(SAMPLE_RATE, 0.05).push(0, &samples, |beginning| {
            let media = beginning.position as f64 / f64::from(SAMPLE_RATE) * 1e9;
            let at = self.at(media, self.slow - self.sound_fast).as_nanos();
            let at = Moment::from_nanos(at.saturating_add_signed(self.sound_late));
            tones.push(Tone { at, pitch: beginning.pitch });
        });
        Sound { tones, blind: Vec::new() }
    }

    fn findings(&self) -> Findings {
        let (picture, sound) = (Some(self.picture()), Some(self.sound()));
        Findings::of(&self.clip, &Observed { origin: ORIGIN, picture, sound })
    }
}

fn clip(rate: u16, seconds: u16) -> Clip {
    Clip { width: 320, height: 180, rate, seconds, shift: SignedNanos::ZERO }
}

fn median(findings: &Findings) -> i64 {
    findings.offset.unwrap().median.as_nanos()
}

#[test]
fn a_planted_shift_moves_the_offset_by_exactly_as_much() {
    let player = Player { look: 1000, ..Player::of(clip(25, 20)) };
    let unshifted = median(&player.findings());
    assert!(unshifted.abs() <= 500, "{unshifted}");
    for millis in [-40, -5, 5, 40] {
        let shift = SignedNanos::from_millis(millis);
        let clip = Clip { shift, ..player.clip };
        let findings = Player { clip, ..player.clone() }.findings();
        assert_eq!(median(&findings) - unshifted, shift.as_nanos());
        assert_eq!(findings.pairs.len(), 19);
    }
}

#[test]
fn sound_that_is_seconds_late_is_paired_with_its_own_flash() {
    let late = 1_453_000_000;
    let findings = Player { sound_late: late, ..Player::of(clip(30, 30)) }.findings();
    assert!((median(&findings) - late).abs() < 250_000);
    assert_eq!(findings.rating.unacceptable, findings.pairs.len());
    for late in [-late, 9_000_000_000] {
        let findings = Player { sound_late: late, ..Player::of(clip(30, 30)) }.findings();
        assert!((median(&findings) - late).abs() < 250_000);
        assert_eq!(findings.pairs.len(), 29);
    }
}

#[test]
fn a_slow_player_slips_and_a_fast_sound_drifts() {
    let slow = Player { slow: 1000.0, ..Player::of(clip(25, 61)) }.findings();
    let slip = slow.slip.unwrap();
    // Between the third mark and the third last one.
    assert_eq!(slip.picture_over, Some(Nanos::from_secs(55)));
    assert_eq!(slip.sound_over, Some(Nanos::from_secs(55)));
    // At 1000 parts per million; both stay together.
    for slip in [slip.picture.unwrap(), slip.sound.unwrap()] {
        assert!((slip.as_nanos() - 55_000_000).abs() < 500_000, "{slip}");
    }
    assert!(slow.drift_per_minute.unwrap().magnitude() < Nanos::from_micros(100));
    let drifting = Player { sound_fast: 200.0, ..Player::of(clip(25, 61)) }.findings();
    let drift = drifting.drift_per_minute.unwrap().as_nanos();
    assert!((drift + 12_000_000).abs() < 200_000, "{drift}");
}

/// A planted rate is the slip by the time over which it is, with few marks and with missing ones too.
#[test]
fn slip_is_of_the_time_that_it_names() {
    let is_as_planted = |findings: &Findings, ppm: f64| {
        let slip = findings.slip.unwrap();
        let halves = [(slip.picture, slip.picture_over), (slip.sound, slip.sound_over)];
        for (by, over) in halves.map(|(by, over)| (by.unwrap(), over.unwrap())) {
            let expected = over.as_nanos() as f64 * ppm / 1e6;
            assert!((by.as_f64() - expected).abs() < 300_000.0, "{by} over {over}, {ppm} ppm");
        }
        slip.picture_over.unwrap()
    };
    for ppm in [500.0, -20_000.0, 20_000.0] {
        for (seconds, over) in [(3, 1), (4, 2), (6, 4), (7, 4), (8, 5), (10, 6), (40, 34)] {
            let findings = Player { slow: ppm, ..Player::of(clip(25, seconds)) }.findings();
            assert_eq!(is_as_planted(&findings, ppm), Nanos::from_secs(over), "{seconds} s");
        }
        // Flashes 1 and 2 are missing: the first two are 3 s apart, and each group has two marks.
        let dropped = (45..90).collect();
        let findings = Player { slow: ppm, dropped, ..Player::of(clip(25, 10)) }.findings();
        assert_eq!(is_as_planted(&findings, ppm), Nanos::from_millis(6000));
    }
    // Two marks have no slip if only one of them is seen.
    let dropped = (45..80).collect();
    let slip = Player { dropped, ..Player::of(clip(25, 3)) }.findings().slip;
    assert_eq!(slip.and_then(|slip| slip.picture), None);
}

#[test]
fn dropped_frames_are_counted_and_flashes_survive() {
    let player = Player { dropped: vec![30, 31, 77, 120], ..Player::of(clip(25, 10)) };
    let findings = player.findings();
    let frames = findings.frames.as_ref().unwrap();
    assert_eq!((frames.intended, frames.shown, frames.dropped), (250, 246, 4));
    assert_eq!(frames.repeated, 4);
    assert_eq!(findings.pairs.len(), 9);
    let pooled = Pooled::of(&[&findings, &findings]);
    assert_eq!((pooled.playbacks, pooled.frames.unwrap().dropped), (2, 8));
    assert_eq!(pooled.offset.unwrap().count, 18);
}

#[test]
fn a_missing_half_leaves_the_other() {
    let player = Player::of(clip(25, 10));
    let seen = Observed { origin: ORIGIN, picture: Some(player.picture()), sound: None };
    let findings = Findings::of(&player.clip, &seen);
    assert_eq!((findings.offset, findings.blind_sound), (None, None));
    assert_eq!(findings.frames.unwrap().shown, 250);
    assert!(findings.slip.unwrap().picture.is_some());
    let heard = Observed { origin: ORIGIN, picture: None, sound: Some(player.sound()) };
    let findings = Findings::of(&player.clip, &heard);
    assert_eq!((findings.offset, findings.frames), (None, None));
    assert_eq!(findings.unpaired.tones, 9);
    let slip = findings.slip.unwrap();
    assert_eq!((slip.picture, slip.sound_over), (None, Some(Nanos::from_secs(6))));
}

#[test]
fn a_window_that_shows_no_numbers_leaves_the_slip_of_the_sound() {
    let player = Player { slow: 1000.0, ..Player::of(clip(25, 40)) };
    let mut picture = player.picture();
    picture.changes.iter_mut().for_each(|change| change.number = None);
    let sound = Some(player.sound());
    let observed = Observed { origin: ORIGIN, picture: Some(picture), sound };
    let findings = Findings::of(&player.clip, &observed);
    assert_eq!((findings.pairs.len(), &findings.frames), (39, &None));
    let slip = findings.slip.unwrap();
    assert_eq!((slip.picture, slip.sound_over), (None, Some(Nanos::from_secs(34))));
    assert!((slip.sound.unwrap().as_nanos() - 34_000_000).abs() < 300_000, "{slip:?}");
}

#[test]
fn a_tone_that_nobody_heard_is_unobserved() {
    let player = Player::of(clip(25, 10));
    let mut sound = player.sound();
    let lost = sound.tones.remove(4);
    let picture = Some(player.picture());
    let observed =
        Observed { origin: ORIGIN, picture: picture.clone(), sound: Some(sound.clone()) };
    let unpaired = Findings::of(&player.clip, &observed).unpaired;
    assert_eq!((unpaired.flashes, unpaired.unobserved), (1, 0));
    sound.blind.push(Span { from: lost.at, to: lost.at + Nanos::from_millis(20) });
    let observed = Observed { origin: ORIGIN, picture, sound: Some(sound) };
    let unpaired = Findings::of(&player.clip, &observed).unpaired;
    assert_eq!((unpaired.flashes, unpaired.unobserved), (0, 1));
}

/// A recording of a room in which the sound is late by so many samples.
fn recording(late: usize, channels: u16) -> Vec<u8> {
    let clip = clip(25, 12);
    let rate = SAMPLE_RATE;
    let spec = hound::WavSpec {
        channels,
        sample_rate: rate,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut file = Cursor::new(Vec::new());
    let mut writer = hound::WavWriter::new(&mut file, spec).unwrap();
    for position in 0..clip.samples() {
        let heard = position.checked_sub(late as u32).map_or(0.0, |position| clip.sample(position));
        let number = position / (rate / u32::from(clip.rate));
        // A dark screen is not black, and a sound card adds a constant.
        let light = if clip.is_bright(number as u16) { 0.4 } else { 0.1 } - 0.3;
        for sample in [heard, light].iter().chain([&0.0; 8]).take(channels.into()) {
            writer.write_sample((sample * 32_000.0) as i16).unwrap();
        }
    }
    writer.finalize().unwrap();
    file.into_inner()
}

#[test]
fn a_recording_of_a_room_is_judged() {
    for late in [0, 96, 4800] {
        let findings = wave::read(&recording(late, 2)[..]).unwrap().findings().unwrap();
        assert_eq!(findings.pairs.len(), 11);
        let off = median(&findings) - late as i64 * 1_000_000_000 / i64::from(SAMPLE_RATE);
        assert!(off.abs() < 30_000, "{off}");
        assert_eq!(findings.slip.unwrap().picture_over, Some(Nanos::from_secs(8)));
    }
}

#[test]
fn a_clap_and_a_flash_of_something_else_change_no_offset() {
    let whole = wave::read(&recording(96, 2)[..]).unwrap();
    let known = whole.findings().unwrap();
    let clap = whole.rate as usize / 100;
    // Ten times as loud as the tones, and half way between two marks, or between two seconds.
    for at in [5.5, 4.996] {
        let mut clapped = whole.clone();
        let begin = (at * f64::from(whole.rate)) as usize;
        clapped.microphone[begin..begin + clap].fill(10.0);
        let findings = clapped.findings().unwrap();
        assert!(findings.pairs.len() >= known.pairs.len() - 1, "{at}: {findings:?}");
        let off = median(&findings) - median(&known);
        assert!(off.abs() < 30_000, "{at}: {off}");
    }
    let mut flashed = whole.clone();
    let begin = whole.rate as usize * 11 / 2;
    flashed.photodiode[begin..begin + clap].fill(5.0);
    let findings = flashed.findings().unwrap();
    assert_eq!(findings.pairs.len(), known.pairs.len());
    assert!((median(&findings) - median(&known)).abs() < 30_000);
}

#[test]
fn a_clap_shortly_before_a_tone_does_not_take_its_place() {
    let whole = wave::read(&recording(96, 2)[..]).unwrap();
    let (known, rate) = (whole.findings().unwrap(), f64::from(whole.rate));
    for before in [0.3, 0.2, 0.1, 0.06] {
        let mut clapped = whole.clone();
        let begin = ((6.0 - before) * rate) as usize;
        clapped.microphone[begin..begin + whole.rate as usize / 100].fill(10.0);
        // So does a flash of something else.
        clapped.photodiode[begin..begin + whole.rate as usize / 100].fill(5.0);
        assert_eq!(clapped.findings().unwrap().pairs, known.pairs, "{before} s before");
    }
}

#[test]
fn a_short_recording_may_have_a_clap() {
    let whole = wave::read(&recording(96, 2)[..]).unwrap();
    let rate = whole.rate as usize;
    // Three marks.
    let short = |samples: &[f32]| samples[..rate * 7 / 2].to_vec();
    let (microphone, photodiode) = (short(&whole.microphone), short(&whole.photodiode));
    for at in [0.4, 1.5, 1.9, 2.5] {
        let mut microphone = microphone.clone();
        let begin = (at * f64::from(whole.rate)) as usize;
        microphone[begin..begin + rate / 100].fill(10.0);
        let clapped =
            wave::Recording { rate: whole.rate, microphone, photodiode: photodiode.clone() };
        let findings = clapped.findings().unwrap();
        assert_eq!(findings.pairs.len(), 3, "{at} s: {findings:?}");
        assert!((median(&findings) - 2_000_000).abs() < 30_000, "{at} s: {findings:?}");
    }
}

/// How long pairing takes must not grow with the square of the marks; what is paired is the same.
#[test]
fn many_marks_are_paired_with_the_nearest_tones() {
    const MARKS: u64 = 50_000;
    let at = |mark: u64, millis: u64| ORIGIN + Nanos::from_millis(mark * 1000 + millis);
    let change = |mark: u64, millis, is_bright| Change {
        when: Span { from: at(mark, millis), to: at(mark, millis) },
        number: None,
        is_bright,
    };
    let changes = (1..=MARKS).flat_map(|mark| [change(mark, 0, true), change(mark, 500, false)]);
    let picture = Picture { changes: changes.collect(), blind: Vec::new() };
    // Every second tone has no pitch, and every tenth is missing.
    let heard = (1..=MARKS).filter(|mark| !mark.is_multiple_of(10));
    let tone = |mark: u64| Tone { at: at(mark, 30), pitch: mark.is_multiple_of(2).then_some(0) };
    let sound = Sound { tones: heard.map(tone).collect(), blind: Vec::new() };
    let observed = Observed { origin: ORIGIN, picture: Some(picture), sound: Some(sound) };
    let findings = Findings::of(&clip(25, 10), &observed);
    assert_eq!(findings.pairs.len() as u64, MARKS / 10 * 9);
    assert!(findings.pairs.iter().all(|pair| pair.offset == SignedNanos::from_millis(30)));
    assert_eq!((findings.unpaired.flashes, findings.unpaired.tones), (MARKS as u32 / 10, 0));
}

#[test]
fn what_is_no_recording_of_marks_is_refused() {
    let read = |bytes: &[u8]| wave::read(bytes).map_err(|error| error.to_string());
    assert!(read(b"RIFF").unwrap_err().starts_with("it is not a wave file"));
    assert!(read(&recording(0, 1)).unwrap_err().starts_with("it is mono"));
    let whole = recording(0, 2);
    assert!(read(&whole[..whole.len() / 2]).unwrap_err().starts_with("it is not a wave file"));
    let silent = wave::Recording { rate: 8000, microphone: vec![0.0; 80], photodiode: vec![] };
    let error = silent.findings().unwrap_err().to_string();
    assert!(error.starts_with("the photodiode has 0 marks"), "{error}");
}

proptest! {
    /// Whatever the clip, the looks and the errors are, the median is right within half a look and a
    /// sample, and every frame is accounted for.
    #[test]
    fn planted_errors_are_found(
        rate in prop::sample::select(vec![24_u16, 25, 30, 50, 60]),
        late in -3_000_000_000_i64..3_000_000_000,
        look in 1_000_u64..1_000_000,
        slow in -500.0_f64..500.0,
        dropped in prop::collection::vec(0_u16..200, 0..20),
    ) {
        // Flashes whose first frame is dropped are late: this property is about the others.
        let clip = clip(rate, 9);
        let dropped: Vec<u16> =
            dropped.into_iter().filter(|number| !number.is_multiple_of(rate)).collect();
        let player = Player { sound_late: late, look, slow, dropped, ..Player::of(clip) };
        let findings = player.findings();
        prop_assert!(!findings.pairs.is_empty());
        let off = (median(&findings) - late).abs();
        prop_assert!(off <= look as i64 / 2 + 21_000, "{off}");
        let frames = findings.frames.unwrap();
        let sum = frames.shown + frames.dropped + frames.unobserved + frames.outside;
        prop_assert_eq!(frames.intended, sum);
    }
}
