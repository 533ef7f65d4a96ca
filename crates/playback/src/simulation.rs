//! A player in virtual time: a device whose crystal is off, a thread that wakes late, a decoder that
//! stalls.

use std::collections::VecDeque;

use proptest::prelude::*;
use tactus_delivery::device_clock::DeviceClock;
use tactus_delivery::item::Moment;
use tactus_model::time::Nanos;

use crate::clock::Clock;
use crate::frames::{Choice, IfLate, choose};
use crate::media::{MediaTime, Speed};
use crate::sound_clock::SoundClock;
use crate::tally::{Shown, Summary, Tally};

const START: Moment = Moment::from_nanos(50_000_000_000_000);
const RATE: u32 = 48_000;
const QUANTUM: u64 = 1024;
const LEAD: Nanos = Nanos::from_micros(100);
const FRAMES: u64 = 200;

#[derive(Clone, Debug)]
struct Scene {
    period: Nanos,
    ppm: f64,
    if_late: IfLate,
    speed: Speed,
    /// How late the thread wakes, in turn, in microseconds.
    wakeups: Vec<u64>,
    /// The decoder delivers nothing for so many milliseconds from the frame with this number on.
    stall: (u64, u64),
}

struct Run {
    summary: Summary,
    /// The media times that were shown, each with when it was due and when it was shown.
    shown: Vec<Shown>,
    /// What the device had played when the last frame was shown.
    heard: MediaTime,
}

/// When the device is at a position, in virtual time.
fn at_position(position: u64, ppm: f64) -> Moment {
    let nanos = position as f64 * 1e9 / f64::from(RATE) / (1.0 + ppm / 1e6);
    START + Nanos::from_nanos(nanos as u64)
}

fn play(scene: &Scene) -> Run {
    let Scene { period, ppm, if_late, speed, ref wakeups, stall } = *scene;
    let media = |number: u64| MediaTime::from_nanos((number * period.as_nanos()).cast_signed());
    let sound = SoundClock::new(0, MediaTime::ZERO, RATE, speed);
    let mut clock = Clock::resting(MediaTime::ZERO, speed);
    clock.start(START);
    let mut device = DeviceClock::new(RATE);
    let (mut tally, mut shown) = (Tally::default(), Vec::new());
    let (mut waiting, mut decoded, mut cycle) = (VecDeque::new(), 0, 0);
    let mut now = START;
    let mut wakeups = wakeups.iter().cycle();
    while shown.len() + (tally.summary().dropped as usize) < FRAMES as usize {
        // The device reports its cycles, and drives the clock.
        while at_position(cycle * QUANTUM, ppm) <= now {
            device.observe(cycle * QUANTUM, at_position(cycle * QUANTUM, ppm));
            let position = cycle * QUANTUM;
            let heard = device.time_of(position).unwrap();
            sound.steer(&mut clock, position, heard, device.correction());
            cycle += 1;
        }
        // The decoder is eight frames ahead, except for a while.
        let stalled_until = clock.due(media(stall.0)).unwrap() + Nanos::from_millis(stall.1);
        while decoded < FRAMES && waiting.len() < 8 && (decoded < stall.0 || now >= stalled_until) {
            waiting.push_back(media(decoded));
            decoded += 1;
        }
        match choose(waiting.iter().copied(), &clock, now, LEAD, if_late) {
            Choice::Wait(until) => {
                let late = Nanos::from_micros(*wakeups.next().unwrap());
                now = until.max(now) + late;
            }
            Choice::Nothing => now = now + Nanos::from_millis(1),
            Choice::Drop(count) => {
                let first = waiting.drain(..count).next().unwrap();
                tally.drop_frames(count as u64, clock.due(first).unwrap());
            }
            Choice::Show { dropped, due } => {
                let first = waiting.front().and_then(|frame| clock.due(*frame)).unwrap();
                waiting.drain(..dropped);
                tally.drop_frames(dropped as u64, first);
                let frame = waiting.pop_front().unwrap();
                now = now + LEAD;
                let frame = Shown { media: frame, due, at: now, slip_ns: clock.slip(now) };
                tally.show(frame, clock.lasts(period));
                shown.push(frame);
            }
        }
    }
    let heard = now.as_nanos() - START.as_nanos();
    let heard = heard as f64 * (1.0 + ppm / 1e6) * speed.factor();
    Run { summary: tally.summary(), shown, heard: MediaTime::from_nanos(heard as i64) }
}

fn scenes() -> impl Strategy<Value = Scene> {
    let period = prop::sample::select(vec![16_666_667_u64, 33_333_333, 40_000_000]);
    let speed = prop::sample::select(vec!["0.5", "1", "2"]);
    let if_late = prop::sample::select(vec![IfLate::Drop, IfLate::Show]);
    let wakeups = prop::collection::vec(0_u64..60_000, 1..50);
    let stall = (0..FRAMES, 0_u64..1500);
    (period, -300.0..300.0_f64, if_late, speed, wakeups, stall).prop_map(
        |(period, ppm, if_late, speed, wakeups, stall)| Scene {
            period: Nanos::from_nanos(period),
            ppm,
            if_late,
            speed: speed.parse().unwrap(),
            wakeups,
            stall,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Every frame is shown or dropped, none twice, none early, in their order.
    #[test]
    fn every_frame_has_one_outcome(scene in scenes()) {
        let Run { summary, shown, .. } = play(&scene);
        prop_assert_eq!(summary.shown + summary.dropped, FRAMES);
        prop_assert_eq!(summary.shown, shown.len() as u64);
        prop_assert!(shown.windows(2).all(|pair| pair[0].media < pair[1].media));
        // The clock is steered between the choice and the frame, so a few microseconds are possible.
        prop_assert!(shown.iter().all(|frame| frame.at + Nanos::from_micros(200) >= frame.due));
        if scene.if_late == IfLate::Show {
            prop_assert_eq!(summary.dropped, 0);
        }
    }

    /// Without late wakeups and stalls, nothing is dropped or repeated, and the picture follows the
    /// sound whatever its crystal does; slip is what the crystal makes.
    #[test]
    fn the_picture_follows_the_sound(scene in scenes()) {
        let scene = Scene { wakeups: vec![0], stall: (0, 0), ..scene };
        let Run { summary, shown, heard } = play(&scene);
        prop_assert_eq!((summary.shown, summary.dropped, summary.repeated), (FRAMES, 0, 0));
        let last = shown.last().unwrap();
        let offset = last.media.as_nanos() - heard.as_nanos();
        prop_assert!(offset.abs() < 250_000, "{offset} ns from the sound");
        let wall = (last.at - START).as_nanos() as f64 * scene.speed.factor();
        let by_crystal = -wall * scene.ppm / 1e6;
        let error = (last.slip_ns as f64 - by_crystal).abs();
        prop_assert!(error < 200_000.0, "slip {} ns, by the crystal {by_crystal}", last.slip_ns);
    }
}
