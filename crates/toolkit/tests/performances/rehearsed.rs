//! The examples in virtual time.

use std::collections::{BTreeMap, BTreeSet};

use crate::conduct::{self, REACTION, Taps};
use crate::{sequencer, trial};
use tactus_model::random::SplitMix64;
use tactus_toolkit::rehearsal::UNLIMITED;
use tactus_toolkit::{
    HeardInput, Input, Lead, Moment, Nanos, Performance, ReactionId, Row, Score, Time, rehearse,
};

const ORIGIN: Moment = Moment::from_nanos(1_000_000_000);

/// What devices got: the device, milliseconds since the beginning, and bytes.
type Got = Vec<(String, f64, Vec<u8>)>;

fn perform(score: Score) -> (Vec<Row>, Got) {
    let mut all = [Performance::new(score, Lead::Measured, ORIGIN)];
    let rehearsed = rehearse(&mut all, UNLIMITED, &mut SplitMix64::new(3)).unwrap();
    let [performance] = all;
    assert_eq!(performance.take_faults(), []);
    let rows = rehearsed.played[0].iter().map(|played| Row::new(played, &performance)).collect();
    let mut got = Got::new();
    for (device, delivered) in rehearsed.devices {
        for (at, _, bytes) in delivered {
            got.push((device.clone(), (at - ORIGIN).as_micros_f64() / 1e3, bytes.to_vec()));
        }
    }
    (rows, got)
}

/// When notes of a channel begin.
fn notes(got: &Got, status: u8) -> Vec<f64> {
    got.iter().filter(|(.., bytes)| bytes[0] == status).map(|(_, at, _)| *at).collect()
}

fn assert_no_note_hangs(got: &Got) {
    let mut sounding = BTreeMap::new();
    for (.., bytes) in got {
        if let [status @ 0x80..=0x9F, key, _] = **bytes {
            *sounding.entry((status & 0x0F, key)).or_insert(0) +=
                if status < 0x90 { -1 } else { 1 };
        }
    }
    assert!(sounding.values().all(|count| *count == 0), "{sounding:?}");
}

fn tap(at: f64, bytes: &[u8]) -> HeardInput {
    let at = Time::after_start(Nanos::from_nanos((at * 1e6) as u64));
    HeardInput {
        reaction: ReactionId(0),
        effect: at + REACTION,
        input: Input { at, bytes: bytes.into() },
    }
}

#[test]
fn a_piece_that_nobody_conducts_keeps_its_tempo() {
    let (_, got) = perform(conduct::compose(Taps::Keys).unwrap().score);
    let bass = notes(&got, 0x91);
    assert_eq!(bass.len(), 32);
    assert!(bass.windows(2).all(|pair| pair[1] - pair[0] == 1200.0), "{bass:?}");
    assert_no_note_hangs(&got);
}

#[test]
fn a_piece_follows_its_conductor() {
    let piece = conduct::compose(Taps::Keys).unwrap();
    // From 100 beats per minute to 150, a little faster each time, and on at 150.
    let (mut at, mut taps) = (600.0, Vec::new());
    for index in 0..50 {
        taps.push(at);
        at += f64::max(400.0, 600.0 - 10.0 * f64::from(index));
    }
    piece.score.replay(&taps.iter().map(|at| tap(*at, b"x")).collect::<Vec<_>>()).unwrap();
    let (rows, got) = perform(piece.score);
    let sounded = notes(&got, 0x99);
    let wanted: Vec<f64> = taps.iter().map(|at| at + 10.0).collect();
    assert_eq!(sounded, wanted, "each tap sounds after the reaction time");
    assert_eq!(piece.conducted.borrow().taps.len(), taps.len());
    assert!(rows.iter().any(|row| row.label.as_deref() == Some("tap 49")));
    // Half notes fall on taps, once the piece has found the tempo.
    let bass = notes(&got, 0x91);
    let (first, last) = (taps[30], taps[48]);
    let mut found = 0;
    for note in bass.iter().filter(|note| (first..last).contains(*note)) {
        let distances = taps.iter().map(|tap| (tap - note).abs());
        assert!(distances.fold(f64::MAX, f64::min) < 15.0, "no tap near {note} ms");
        found += 1;
    }
    assert!(found >= 8);
    assert_no_note_hangs(&got);
}

#[test]
fn taps_come_from_midi_and_osc_too_and_a_key_ends_the_piece() {
    let count = |taps: Taps, inputs: &[&[u8]]| {
        let piece = conduct::compose(taps).unwrap();
        let inputs = (1..).zip(inputs).map(|(index, bytes)| tap(f64::from(index) * 500.0, bytes));
        piece.score.replay(&inputs.collect::<Vec<_>>()).unwrap();
        let (_, got) = perform(piece.score);
        assert_no_note_hangs(&got);
        (notes(&got, 0x99).len(), got.last().unwrap().1)
    };
    // A note in two readings, its end, a note of running status, its end as velocity 0.
    let midi: [&[u8]; 4] = [&[0x90], &[60, 1, 0x80], &[60, 0, 0x90, 61], &[9, 61, 0]];
    assert_eq!(count(Taps::Midi, &midi).0, 2);
    assert_eq!(count(Taps::Osc, &[b"/tap\0\0\0\0,\0\0\0", b"/top\0\0\0\0,\0\0\0", b""]).0, 1);
    let (taps, end) = count(Taps::Keys, &[b"x", b"y", b"q"]);
    assert_eq!((taps, end), (2, 1510.0));
}

#[test]
fn lights_are_in_step_with_sounds_and_a_cut_hat_is_silent() {
    let (rows, got) = perform(sequencer::compose(4).unwrap());
    let sounds: Vec<&Row> =
        rows.iter().filter(|row| row.device == "drums" && row.label.is_some()).collect();
    assert_eq!(sounds.len(), 50);
    for sound in sounds {
        let light = |row: &&Row| row.device == "lights" && row.label == sound.label;
        let light = rows.iter().find(light).unwrap();
        assert_eq!(light.began_ns, sound.began_ns, "{sound:?}");
    }
    let hats: BTreeSet<u64> = got
        .iter()
        .filter(|(_, _, bytes)| bytes.starts_with(&[0x99, 42]))
        .map(|(_, at, _)| *at as u64)
        .collect();
    assert!(hats.contains(&3875) && hats.iter().all(|at| *at < 4000), "{hats:?}");
    assert_no_note_hangs(&got);
}

#[test]
fn stimuli_of_a_trial_are_together_and_every_item_has_its_row() {
    let (rows, got) = perform(trial::compose(25, 7).unwrap());
    assert_eq!((rows.len(), got.len()), (125, 125));
    let trials = trial::trials(&rows);
    assert_eq!(trials.len(), 25);
    for trial in &trials {
        assert!(trial.is_complete);
        assert_eq!((trial.spread_ns, trial.flash_error_ns), (Some(0), Some(0)));
    }
    let again = trial::trials(&perform(trial::compose(25, 7).unwrap()).0);
    assert_eq!(again, trials);
    let other = trial::trials(&perform(trial::compose(25, 8).unwrap()).0);
    assert_ne!(other, trials);
    // A trial without its tone is not complete.
    let deaf: Vec<Row> =
        rows.into_iter().filter(|row| row.label.as_deref() != Some("3 tone")).collect();
    let incomplete: Vec<u32> = trial::trials(&deaf)
        .iter()
        .filter(|trial| !trial.is_complete && trial.spread_ns.is_none())
        .map(|trial| trial.trial)
        .collect();
    assert_eq!(incomplete, [3]);
}
