//! Programs write the same for any look-ahead, credit and order, and a recording repeats them.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tactus_delivery::desk::Limits;
use tactus_delivery::item::{BranchId, IfLate, Moment};
use tactus_delivery::receipt::{Outcome, Receipt};
use tactus_model::random::SplitMix64;
use tactus_model::time::Nanos;
use tactus_score::draft::Written;
use tactus_score::perform::{Host, Next, Submitted};
use tactus_score::rehearsal::{Rehearsed, UNLIMITED, rehearse};
use tactus_score::{
    Lead, Midi, Performance, Problem, ReactionId, Score, Task, TempoMap, Time, beat, bpm,
};

const ORIGIN: Moment = Moment::from_nanos(10_000_000_000);

/// The channel of notes whose ends are written separately.
const HELD: u8 = 15;

/// A program drawn from a seed: parts in several streams that divide beats differently, spawn
/// others, cut each other, and change the tempo.
fn compose(seed: u64, parts: u64, beats: i64) -> Score {
    let score = Score::new();
    let mut random = SplitMix64::new(seed);
    let streams: Vec<Midi> = (0..3).map(|number| score.midi(&format!("midi {number}"))).collect();
    let map = TempoMap::new(bpm(107)).unwrap().ramp(beat(4), beat(9), bpm(180)).unwrap();
    let line = score.timeline(map);
    for part in 0..parts {
        let name = format!("part {}", part % 5);
        let midi = streams[random.below(3) as usize].channel(part as u8 % 15);
        let mut random = SplitMix64::new(random.next_u64());
        let line = line.clone();
        let divisions = 1 + random.below(7) as i64;
        let program = async move |s: Task| -> Result<(), Problem> {
            for step in 0..beats * divisions {
                s.beat(&line, beat(step) / divisions).await?;
                let key = random.below(128) as u8;
                let length = line.span(beat(step) / divisions, beat(1) / 3)?;
                let policy = IfLate::Drop(Nanos::from_millis(random.below(9)));
                s.play(midi.note(key, 1 + key / 2).lasting(length).if_late(policy))?;
                match random.below(40) {
                    0 => {
                        let from = line.position(s.now(), 24)? + beat(1);
                        line.change(from, bpm(60 + random.below(120) as u32))?;
                    }
                    1 => {
                        let other = format!("part {}", random.below(parts.min(5)));
                        s.cut(&other, s.now() + Nanos::from_millis(random.below(500)))?;
                    }
                    2 => {
                        let name = s.branch();
                        s.spawn(&name, async move |s| {
                            for _ in 0..5 {
                                s.after(Nanos::from_micros(77_777)).await;
                                s.play(midi.control(7, key))?;
                            }
                            Ok(())
                        })?;
                    }
                    // A note whose two ends are separate, now or later.
                    3..8 => {
                        let held = midi.channel(HELD);
                        let begins = s.now() + Nanos::from_millis(random.below(100));
                        s.play(held.note_on(key, 1).at(begins))?;
                        if random.below(2) == 0 {
                            s.after(Nanos::from_millis(random.below(200))).await;
                        }
                        let ends = s.now().max(begins) + Nanos::from_millis(1 + random.below(500));
                        s.play(held.note_off(key).at(ends))?;
                    }
                    _ => {}
                }
            }
            Ok(())
        };
        score.spawn(&name, program).unwrap();
    }
    score
}

fn transcripts(performances: &[Performance]) -> Vec<&str> {
    performances.iter().map(Performance::transcript).collect()
}

fn perform(seeds: &[u64], lead: Lead, limits: Limits, order: u64) -> (Rehearsed, Vec<Performance>) {
    let performance =
        |seed: &u64| Performance::new(compose(*seed, 4, 12), lead, ORIGIN).with_transcript();
    let mut all: Vec<Performance> = seeds.iter().map(performance).collect();
    let rehearsed = rehearse(&mut all, limits, &mut SplitMix64::new(order)).unwrap();
    (rehearsed, all)
}

/// Every note that begins ends, whatever is cut.
fn assert_no_note_hangs(rehearsed: &Rehearsed) {
    for (device, delivered) in &rehearsed.devices {
        let mut sounding: BTreeMap<(u32, u8, u8), i64> = BTreeMap::new();
        for (_, client, bytes) in delivered {
            if let [status @ (0x80..=0x9F), key, _] = **bytes {
                let note = sounding.entry((client.0, status & 0x0F, key)).or_default();
                *note += if status >= 0x90 { 1 } else { -1 };
                // Held notes of several tasks may have the same key.
                if status & 0x0F == HELD {
                    *note = i64::from(status >= 0x90);
                }
                assert!(*note >= 0, "{device}: a note ends twice");
            }
        }
        assert!(sounding.values().all(|count| *count == 0), "{device}: {sounding:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn devices_get_the_same_for_any_horizon_credit_and_order(
        seeds in prop::collection::vec(any::<u64>(), 1..4),
        order in any::<u64>(),
        lead in 0_u64..3_000_000_000,
        horizon in 1_u64..4_000_000_000,
    ) {
        let (wide, all) = perform(&seeds, Lead::Fixed(Nanos::from_secs(9)), UNLIMITED, 0);
        assert_no_note_hangs(&wide);
        for (performance, played) in all.iter().zip(&wide.played) {
            prop_assert_eq!(performance.take_faults(), []);
            let totals = performance.totals();
            prop_assert!(performance.score().has_ended());
            prop_assert_eq!(played.len() as u64 + totals.withdrawn, totals.written);
        }
        let limits = Limits { horizon: Nanos::from_nanos(horizon), ..UNLIMITED };
        let (narrow, others) = perform(&seeds, Lead::Fixed(Nanos::from_nanos(lead)), limits, order);
        prop_assert_eq!(&narrow.devices, &wide.devices);
        prop_assert_eq!(transcripts(&others), transcripts(&all));
        // With little credit, programs may take turns at an instant that several share.
        let (_, poor) = perform(&seeds, Lead::Measured, Limits { items: 5, ..UNLIMITED }, order);
        prop_assert_eq!(transcripts(&poor), transcripts(&all));
    }
}

#[test]
fn a_million_items_in_fifteen_hours_are_the_same_for_any_horizon() {
    let compose = || {
        let score = Score::new();
        let midi = score.midi("synth");
        let map = std::rc::Rc::new(TempoMap::new(bpm(107)).unwrap());
        for divisions in [1, 3, 7] {
            let map = std::rc::Rc::clone(&map);
            let program = async move |s: Task| -> Result<(), Problem> {
                for step in 0..96_500 * divisions {
                    s.at(map.time(beat(step) / divisions)?).await;
                    s.play(midi.control(1, divisions as u8))?;
                }
                Ok(())
            };
            score.spawn("part", program).unwrap();
        }
        score
    };
    let run = |horizon: &mut dyn FnMut() -> Nanos| {
        let score = compose();
        let (mut until, mut digest, mut items) = (Time::START, 0_u64, 0_u64);
        while !score.has_ended() {
            until = until + horizon();
            score.run_until(until);
            for output in score.take_outputs() {
                let line = output.to_string();
                // FNV-1a.
                digest = line.bytes().fold(digest, |digest, byte| {
                    (digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
                });
                items += 1;
            }
        }
        (digest, items)
    };
    let mut random = SplitMix64::new(20_261_123);
    let wide = run(&mut || Nanos::from_secs(100_000));
    assert!(wide.1 > 1_000_000);
    assert_eq!(run(&mut || Nanos::from_nanos(random.below(40_000_000_000))), wide);
}

/// A host that takes everything, and never answers.
struct Deaf(u64);

impl Host for Deaf {
    type Error = std::convert::Infallible;

    fn submit(&mut self, _: &Written, _: Moment) -> Result<Submitted, Self::Error> {
        self.0 += 1;
        Ok(Submitted::Accepted(self.0))
    }

    fn cut(&mut self, _: BranchId, _: Moment) -> Result<(), Self::Error> {
        Ok(())
    }
}

const REACTION: Nanos = Nanos::from_millis(10);

/// A part whose tempo inputs change, and an echo of each.
fn interactive() -> Score {
    let score = Score::new();
    let midi = score.midi("synth");
    let line = score.timeline(TempoMap::new(bpm(100)).unwrap());
    let conducted = line.clone();
    let part = async move |s: Task| -> Result<(), Problem> {
        for step in 0..400 {
            s.beat(&line, beat(step) / 4).await?;
            s.play(midi.note(step as u8 % 128, 99))?;
        }
        Ok(())
    };
    score.spawn("part", part).unwrap();
    let react = async move |s: Task, input: tactus_score::Input| -> Result<(), Problem> {
        s.play(midi.note_on(input.bytes[0], 1))?;
        let from = conducted.position(s.now(), 96)? + beat(1) / 96;
        Ok(conducted.change(from, bpm(80 + u32::from(input.bytes[0])))?)
    };
    score.react("echo", REACTION, react).unwrap();
    score
}

proptest! {
    #[test]
    fn recorded_inputs_repeat_the_performance(seed in any::<u64>(), slowest in 1_u64..20_000_000) {
        // Live: a clock that goes on in irregular steps, and inputs that take irregular times.
        let mut random = SplitMix64::new(seed);
        let mut live =
            Performance::new(interactive(), Lead::Measured, ORIGIN).with_transcript();
        let mut now = Moment::from_nanos(ORIGIN.as_nanos() - 100_000_000);
        let mut host = Deaf(0);
        while live.step(now, &mut host).unwrap() != Next::Event {
            now = now + Nanos::from_nanos(random.below(5_000_000));
            if random.below(50) == 0 {
                let way = random.below(slowest).min((now - ORIGIN).as_nanos());
                let arrived = now - Nanos::from_nanos(way);
                live.input(ReactionId(0), arrived, &[random.below(60) as u8]);
            }
        }
        let inputs = live.score().inputs_so_far();
        prop_assert_eq!(inputs.len() as u64, live.totals().inputs);
        let late = inputs.iter().filter(|input| input.effect > input.input.at + REACTION).count();
        prop_assert_eq!(late as u64, live.totals().late_inputs);
        prop_assert!(late == 0 || slowest > REACTION.as_nanos() / 2);
        // Again, in virtual time.
        let score = interactive();
        score.replay(&inputs).unwrap();
        let mut again =
            [Performance::new(score, Lead::Fixed(Nanos::from_secs(1)), ORIGIN).with_transcript()];
        let rehearsed = rehearse(&mut again, UNLIMITED, &mut SplitMix64::new(seed)).unwrap();
        prop_assert_eq!(again[0].transcript(), live.transcript());
        let delivered = |receipt: &Receipt| receipt.outcome == Outcome::Delivered;
        prop_assert!(rehearsed.played[0].iter().all(|played| delivered(&played.receipt)));
    }
}
