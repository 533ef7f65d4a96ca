//! Cycles in virtual time.

use tactus_model::time::Nanos;

use super::*;

const RATE: u32 = 48_000;
const FRAMES: u32 = 256;
const START: u64 = 1_000_000_000_000;

/// A sound server whose crystal is exact, and whose first frame is near the end of its numbers.
struct Simulated {
    timetable: Timetable,
    cycle: u64,
    first: u32,
    xruns: u64,
    ended: Vec<(u64, Delivery)>,
    /// The position and the bytes of each message.
    messages: Vec<(u64, Vec<u8>)>,
    /// The samples of the first channel.
    samples: Vec<f32>,
}

/// When the server is at a frame.
fn at(frame: u64) -> Moment {
    Moment::from_nanos(START + frame * 1_000_000_000 / u64::from(RATE))
}

fn place(sequence: u64, due: Moment) -> Place {
    Place { due, client: ClientId(1), sequence }
}

impl Simulated {
    fn new(channels: usize) -> Self {
        Self {
            timetable: Timetable::new(channels, RATE),
            cycle: 0,
            first: u32::MAX - 1000,
            xruns: 0,
            ended: Vec::new(),
            messages: Vec::new(),
            samples: Vec::new(),
        }
    }

    fn add(&mut self, sequence: u64, due: Moment, payload: &[u8]) {
        let place = Some(place(sequence, due));
        self.timetable.add(Entry { place, due, payload: payload.into() });
    }

    fn play(&mut self, sequence: u64, due: Moment, samples: &[f32]) {
        let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_ne_bytes()).collect();
        self.add(sequence, due, &bytes);
    }

    fn run(&mut self, cycles: u64) {
        for _ in 0..cycles {
            let from = self.cycle * u64::from(FRAMES);
            let cycle = Cycle {
                frame: self.first.wrapping_add(from as u32),
                frames: FRAMES,
                began: at(from),
                xruns: self.xruns,
            };
            let ended = &mut self.ended;
            let mut end = |done: Ended| {
                ended.push((done.place.unwrap().sequence, done.delivery));
            };
            self.timetable.begin(cycle, &mut end);
            let messages = &mut self.messages;
            if self.timetable.channels == 1 {
                self.timetable.write_messages(|frame, message| {
                    messages.push((from + u64::from(frame), message.to_vec()));
                    true
                });
            } else {
                let mut samples = [0.0; FRAMES as usize];
                self.timetable.begin_audio();
                self.timetable.mix(0, &mut samples);
                self.timetable.end_audio(true, &mut end);
                self.samples.extend(samples);
            }
            self.cycle += 1;
        }
    }

    fn outcomes(&self) -> Vec<(u64, bool, Evidence)> {
        let delivery =
            |(sequence, found): &(u64, Delivery)| (*sequence, found.taken, found.evidence);
        self.ended.iter().map(delivery).collect()
    }

    /// Where the first channel is not silent.
    fn heard(&self) -> Vec<(usize, f32)> {
        let samples = self.samples.iter().copied().enumerate();
        samples.filter(|(_, sample)| *sample != 0.0).collect()
    }
}

const DELIVERED: Evidence = Evidence::DeviceClock;

#[test]
fn messages_come_at_the_first_frame_that_is_not_early() {
    let mut server = Simulated::new(1);
    server.run(10);
    for (sequence, due) in [(0, at(3000)), (1, at(2600)), (2, at(2600)), (3, at(2700))] {
        server.add(sequence, due, &[sequence as u8]);
    }
    server.add(4, at(2800) + Nanos::from_nanos(100), &[4]);
    server.run(5);
    let wanted = [(2600, 1), (2600, 2), (2700, 3), (2801, 4), (3000, 0)];
    let found: Vec<(u64, u8)> =
        server.messages.iter().map(|(frame, message)| (*frame, message[0])).collect();
    assert_eq!(found, wanted);
    for (sequence, delivery) in &server.ended {
        assert_eq!((delivery.taken, delivery.evidence), (true, DELIVERED));
        // Times are whole nanoseconds.
        assert!(delivery.correction.unwrap().0.abs() < 100, "{delivery:?}");
        let (frame, _) =
            wanted.into_iter().find(|(_, number)| u64::from(*number) == *sequence).unwrap();
        let off = (delivery.began - at(frame)).max(at(frame) - delivery.began);
        assert!(off <= Nanos::from_nanos(2), "{delivery:?}");
    }
    assert_eq!(server.ended.len(), 5);
}

#[test]
fn a_late_message_comes_at_once() {
    let mut server = Simulated::new(1);
    server.run(10);
    server.add(0, at(7), &[9]);
    server.run(2);
    assert_eq!(server.messages, [(2560, vec![9])]);
    assert!(server.ended[0].1.began > at(2500));
}

#[test]
fn audio_is_mixed_at_absolute_positions() {
    let mut server = Simulated::new(2);
    server.run(1);
    // Frames of two channels, of which the first is heard here.
    server.play(0, at(510), &[0.5, 9.0, 0.25, 9.0, 0.125, 9.0]);
    server.play(1, at(511), &[1.0, 9.0, f32::NAN, 9.0, f32::INFINITY, 9.0]);
    server.run(3);
    assert_eq!(server.heard(), [(510, 0.5), (511, 1.25), (512, 0.125)]);
    assert_eq!(server.outcomes(), [(1, true, DELIVERED), (0, true, DELIVERED)]);
    let (_, second) = server.ended[0];
    assert!(second.ended - second.began >= Nanos::from_micros(62), "three frames");
}

#[test]
fn audio_that_comes_late_is_cut_and_not_shifted() {
    let mut server = Simulated::new(2);
    server.run(2);
    server.play(0, at(510), &[0.5, 0.0, 0.25, 0.0, 0.125, 0.0]);
    server.play(1, at(100), &[0.75, 0.0]);
    server.run(2);
    assert_eq!(server.heard(), [(512, 0.125)]);
    let outcomes = server.outcomes();
    assert_eq!(outcomes, [(1, false, DELIVERED), (0, true, DELIVERED)]);
    assert!(server.ended[1].1.began >= at(512), "the beginning that was heard");
}

#[test]
fn xruns_and_missed_cycles_hit_what_came_out_in_them() {
    for is_xrun in [true, false] {
        let mut server = Simulated::new(1);
        server.run(2);
        server.add(0, at(600), &[0]);
        server.add(1, at(2000), &[1]);
        server.run(1);
        if is_xrun {
            server.xruns += 1;
        } else {
            server.cycle += 1;
        }
        server.run(9);
        assert_eq!(server.outcomes(), [(0, true, Evidence::None), (1, true, DELIVERED)]);
    }
}

#[test]
fn positions_that_step_back_shift_nothing_in_time() {
    let mut server = Simulated::new(2);
    server.run(3);
    server.play(0, at(1000), &[[0.5, 0.0]; 600].concat());
    server.run(2);
    // The server numbers its frames anew.
    server.first = server.first.wrapping_sub(100_000);
    server.run(5);
    let heard = server.heard();
    let frames: Vec<usize> = heard.iter().map(|(frame, _)| *frame).collect();
    assert_eq!(frames, (1000..1600).collect::<Vec<_>>());
    assert_eq!(server.outcomes(), [(0, true, Evidence::None)]);
}

#[test]
fn what_a_client_has_is_dropped_when_it_goes() {
    let mut server = Simulated::new(2);
    server.run(1);
    server.play(0, at(256), &[[0.5, 0.0]; 600].concat());
    server.play(1, at(2000), &[0.5, 0.0]);
    let other = Place { client: ClientId(2), ..place(2, at(2100)) };
    let payload: Payload = [0.25_f32.to_ne_bytes(), [0; 4]].concat().into();
    server.timetable.add(Entry { place: Some(other), due: other.due, payload });
    server.run(1);
    let mut dropped = Vec::new();
    server.timetable.silence(ClientId(1), &mut |done: Ended| {
        dropped.push((done.place.unwrap().sequence, done.delivery.taken, done.delivery.evidence));
    });
    assert_eq!(dropped, [(1, false, DELIVERED), (0, true, Evidence::None)]);
    server.run(8);
    let heard = server.heard();
    assert_eq!(heard.len(), 257);
    assert_eq!(heard[256], (2100, 0.25));
}
