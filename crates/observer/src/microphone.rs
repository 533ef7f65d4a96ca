//! Listens to the monitor of a sink, whose samples have the times of the device's clock.
//!
//! A device plays the samples of a cycle from the next one on; what the monitor takes is measured
//! by clicks and subtracted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use tactus_model::time::{Monotonic, Nanos};
use tactus_sound::{Block, Capture, ClientSpec, Peer, SoundError};
use tactus_synchrony::observed::{Moment, Sound, Span, Tone};
use tactus_synchrony::tone::{Beginning, Tones};
use tactus_sys::clock;

use crate::monitor;

/// A tone is louder than this: a sink that nobody uses is exactly silent.
const THRESHOLD: f32 = 0.02;

/// The time between two readings of what was captured.
const STEP: Duration = Duration::from_millis(20);

/// How long a sound server may take to make its sink.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most tones and stretches of blind time that are kept.
const KEPT_MOST: usize = 1 << 16;

/// A thread that listens.
#[derive(Debug)]
pub struct Microphone {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Sound>,
    state: Arc<State>,
    /// Whether the delay of the monitor is known and subtracted.
    pub knows_delay: bool,
}

/// What the thread has seen of the sound server.
#[derive(Debug, Default)]
struct State {
    is_shut_down: AtomicBool,
    /// When the last block was read; 0 before the first.
    read: AtomicU64,
}

/// A sound server of ours has a cycle some times a second; without one for so long, it is stopped.
const SILENCE: Nanos = Nanos::from_secs(5);

impl Microphone {
    /// Starts to listen to the monitor of a sink of the sound server of this process. Before that it
    /// plays clicks.
    ///
    /// # Errors
    /// There is no sound server, or no such sink.
    pub fn start(sink: &str) -> Result<Self, SoundError> {
        let mut capture = open(sink)?;
        let delay = monitor::delay(&mut capture, sink)?;
        let is_over = Arc::<AtomicBool>::default();
        let ends = Arc::clone(&is_over);
        let state = Arc::<State>::default();
        let seen = Arc::clone(&state);
        let listen = move || {
            // The latency that the server reports is already subtracted from the times of blocks.
            let delay = delay.unwrap_or(0) - i64::from(capture.latency());
            let mut hearing = Hearing::new(capture.rate(), delay);
            let mut samples = Vec::new();
            while !ends.load(Ordering::Relaxed) && !capture.is_shut_down() {
                while let Some(block) = capture.read(&mut samples) {
                    hearing.add(&block, &samples);
                    seen.read.store(clock::now::<Monotonic>().as_nanos(), Ordering::Relaxed);
                }
                std::thread::sleep(STEP);
            }
            seen.is_shut_down.store(capture.is_shut_down(), Ordering::Relaxed);
            while let Some(block) = capture.read(&mut samples) {
                hearing.add(&block, &samples);
            }
            hearing.finish(clock::now::<Monotonic>())
        };
        let thread = Builder::new().name("microphone".to_owned()).spawn(listen);
        let thread = thread.map_err(SoundError::Thread)?;
        Ok(Self { is_over, thread, state, knows_delay: delay.is_some() })
    }

    /// Why the sound server is lost, if it is.
    pub fn lost(&self) -> Option<&'static str> {
        let read = Moment::from_nanos(self.state.read.load(Ordering::Relaxed));
        if self.state.is_shut_down.load(Ordering::Relaxed) {
            Some("it ended")
        } else if read > Moment::from_nanos(0) && clock::now::<Monotonic>() - read > SILENCE {
            Some("it sent nothing in the last 5 s, so it is stopped")
        } else {
            None
        }
    }

    /// Ends, and returns what was heard.
    pub fn finish(self) -> Sound {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

/// Opens a capture; a sound server makes its nodes after its socket.
fn open(sink: &str) -> Result<Capture, SoundError> {
    let peer = Peer::Client(sink.to_owned());
    let spec = ClientSpec { name: "tactus-microphone".to_owned(), channels: 1, peer };
    let began = Instant::now();
    loop {
        match Capture::open(&spec) {
            Err(SoundError::Peer { .. } | SoundError::Refused(_)) if began.elapsed() < PATIENCE => {
                std::thread::sleep(STEP);
            }
            opened => return opened,
        }
    }
}

/// Collects what was heard.
#[derive(Debug)]
struct Hearing {
    rate: u32,
    /// How many frames after their time samples come.
    delay: i64,
    tones: Tones,
    sound: Sound,
    /// When the last block ended.
    until: Option<Moment>,
}

impl Hearing {
    fn new(rate: u32, delay: i64) -> Self {
        let tones = Tones::new(rate, THRESHOLD);
        Self { rate, delay, tones, sound: Sound::default(), until: None }
    }

    fn add(&mut self, block: &Block, samples: &[f32]) {
        let Sound { tones, blind } = &mut self.sound;
        if block.blind > Nanos::ZERO && blind.len() < KEPT_MOST {
            let from =
                Moment::from_nanos(block.at.as_nanos().saturating_sub(block.blind.as_nanos()));
            blind.push(Span { from, to: block.at });
        }
        let (at, rate) = (block.at, self.rate);
        let heard = block.position.saturating_add_signed(self.delay);
        self.tones.push(block.position, samples, |Beginning { position, pitch }| {
            if tones.len() < KEPT_MOST {
                tones.push(Tone { at: time_at(at, heard, position, rate), pitch });
            }
        });
        self.until = Some(time_at(at, 0, u64::from(block.frames), rate));
    }

    /// Ends at this time; what came after the last block was not heard.
    fn finish(mut self, now: Moment) -> Sound {
        /// A block comes after its cycle, and is read a step later.
        const USUAL: Nanos = Nanos::from_millis(200);
        if let Some(until) = self.until
            && now - until > USUAL
        {
            self.sound.blind.push(Span { from: until, to: now });
        }
        self.sound
    }
}

/// The time of a position, if `from` was at `at`; it may be before or after it.
fn time_at(at: Moment, from: u64, position: u64, rate: u32) -> Moment {
    let frames = i128::from(position) - i128::from(from);
    let nanos = i128::from(at.as_nanos()) + frames * 1_000_000_000 / i128::from(rate.max(1));
    Moment::from_nanos(u64::try_from(nanos).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use tactus_synchrony::{Clip, SignedNanos};

    use super::*;

    fn at(micros: u64) -> Moment {
        Moment::from_nanos(9_000_000_000 + micros * 1000)
    }

    fn block(position: u64, frames: u32, at: Moment, blind: Nanos) -> Block {
        Block { position, frames, at, blind, moved: false, correction: None }
    }

    #[test]
    fn a_tone_has_the_time_of_its_first_sample() {
        let clip = Clip { width: 320, height: 180, rate: 25, seconds: 3, shift: SignedNanos::ZERO };
        let samples: Vec<f32> = (0..clip.samples()).map(|place| clip.sample(place)).collect();
        let mut hearing = Hearing::new(48_000, 96);
        // Positions of a device do not begin at zero, and the pitch is found blocks later.
        for (number, samples) in (0..).zip(samples.chunks(480)) {
            let block = block(77_000 + number * 480, 480, at(number * 10_000), Nanos::ZERO);
            hearing.add(&block, samples);
        }
        let sound = hearing.finish(at(3_000_000));
        let tone =
            |second: u64, pitch| Tone { at: at(second * 1_000_000 - 2000), pitch: Some(pitch) };
        assert_eq!(sound.tones, [tone(1, 0), tone(2, 1)]);
        assert_eq!(sound.blind, []);
    }

    #[test]
    fn missed_cycles_and_an_early_end_are_blind_time() {
        let mut hearing = Hearing::new(48_000, 0);
        hearing.add(&block(0, 480, at(0), Nanos::ZERO), &[0.0; 480]);
        hearing.add(&block(1440, 480, at(30_000), Nanos::from_millis(20)), &[0.0; 480]);
        let sound = hearing.finish(at(1_000_000));
        let span = |from, to| Span { from: at(from), to: at(to) };
        assert_eq!(sound.blind, [span(10_000, 30_000), span(40_000, 1_000_000)]);
    }
}
