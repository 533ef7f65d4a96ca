//! Capturing: samples with their positions and times, and what was not seen.

use rtrb::{Consumer, Producer, RingBuffer};
use tactus_delivery::device_clock::{Correction, DeviceClock, Observed};
use tactus_delivery::item::Moment;
use tactus_model::time::Nanos;
use tactus_sys::jack::{self, Active, AudioInput, Client, Direction, Process};

use crate::cycle::{Cycle, Placed, Positions};
use crate::error::SoundError;
use crate::patience::within;
use crate::ports::{self, ClientSpec, Opened};

/// Samples of a cycle. Their values are interleaved in the vector that
/// [`Capture::read`] fills.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// The position of the first frame.
    pub position: u64,
    /// The number of frames.
    pub frames: u32,
    /// When the first frame came in, by the device's clock; the reported latency is subtracted.
    pub at: Moment,
    /// How long nothing was seen before it: cycles that were missed, or had no room.
    pub blind: Nanos,
    /// The clock has stepped or jumped: times before and after it are not comparable to a sample.
    pub moved: bool,
    /// How the device's clock deviates.
    pub correction: Option<Correction>,
}

/// Captures samples. Its ordinary thread calls [`read`](Self::read) several times a second.
pub struct Capture {
    active: Active<Machine>,
    channels: usize,
    rate: u32,
    headers: Consumer<Header>,
    samples: Consumer<f32>,
    clock: DeviceClock,
    latency: u32,
    /// The position after the last block, and when that was.
    seen: Option<(u64, Moment)>,
}

/// The room for samples: 4 s at 48 kHz.
const FRAMES_MOST: usize = 192_000;
/// Cycles that wait to be read: 5 s of cycles of 64 frames.
const CYCLES_MOST: usize = 4096;

impl Capture {
    /// Opens a client of the sound server of this user, and waits for the server:
    /// [`OPEN_MOST`](crate::patience::OPEN_MOST) at most.
    ///
    /// # Errors
    /// There is no server or no library, it does not answer, or the peer has no outputs.
    pub fn open(spec: &ClientSpec) -> Result<Self, SoundError> {
        let spec = spec.clone();
        within(move || Self::open_now(&spec))
    }

    fn open_now(spec: &ClientSpec) -> Result<Self, SoundError> {
        let Opened { client, ports: inputs, names } =
            spec.open("in", Client::audio_input, AudioInput::name)?;
        let (rate, channels) = (client.sample_rate(), names.len());
        let (put, headers) = RingBuffer::new(CYCLES_MOST);
        let (fill, samples) = RingBuffer::new(FRAMES_MOST * channels);
        let machine =
            Machine { inputs, positions: Positions::default(), headers: put, samples: fill };
        let active = client.activate(machine)?;
        ports::connect_inputs(&active, &names, &spec.peer)?;
        let latency = ports::latency(&active, &names, Direction::Capture);
        let clock = DeviceClock::new(rate);
        Ok(Self { active, channels, rate, headers, samples, clock, latency, seen: None })
    }

    /// Frames a second.
    pub const fn rate(&self) -> u32 {
        self.rate
    }

    /// Samples of a frame.
    pub const fn channels(&self) -> usize {
        self.channels
    }

    /// Frames between when a sample came in and the time of its position, as the server reports.
    pub const fn latency(&self) -> u32 {
        self.latency
    }

    /// Whether the server has ended, or has removed the client.
    pub fn is_shut_down(&self) -> bool {
        self.active.is_shut_down()
    }

    /// The next block, whose interleaved samples replace the content of `samples`; `None` if none
    /// waits.
    pub fn read(&mut self, samples: &mut Vec<f32>) -> Option<Block> {
        let Header { placed, kept } = self.headers.pop().ok()?;
        samples.clear();
        let frames = kept as usize;
        if let Ok(chunk) = self.samples.read_chunk(frames * self.channels) {
            let (first, second) = chunk.as_slices();
            let of = |index: usize| first.get(index).or_else(|| second.get(index - first.len()));
            let indices = (0..frames * self.channels)
                .map(|index| index % self.channels * frames + index / self.channels);
            samples.extend(indices.filter_map(of));
            chunk.commit_all();
        }
        let Placed { position, began, .. } = placed;
        let observed = self.clock.observe(position, began);
        let moved = matches!(observed, Observed::SteppedBack | Observed::Gap);
        let time = |position: u64| self.clock.time_of(position.saturating_sub(self.latency.into()));
        let end = position + u64::from(kept);
        let (at, until) = (time(position)?, time(end)?);
        let follows = |last: u64| placed.is_whole() && last == position;
        let blind = match self.seen.replace((end, until)) {
            Some((last, seen_until)) if !follows(last) => at - seen_until,
            _ => Nanos::ZERO,
        };
        let correction = self.clock.correction();
        Some(Block { position, frames: kept, at, blind, moved, correction })
    }
}

/// A cycle, and how many of its frames had room.
#[derive(Clone, Copy)]
struct Header {
    placed: Placed,
    kept: u32,
}

/// Runs in the thread of the sound server.
struct Machine {
    inputs: Vec<AudioInput>,
    positions: Positions,
    headers: Producer<Header>,
    /// Of each cycle, one channel after the other.
    samples: Producer<f32>,
}

impl Process for Machine {
    fn process(&mut self, cycle: &jack::Cycle<'_>) {
        let Self { inputs, positions, headers, samples } = self;
        let Some(present) = Cycle::read(cycle) else { return };
        let placed = positions.place(present);
        if headers.is_full() {
            // The next block that has room reports the time without blocks.
            return;
        }
        let frames = placed.frames as usize;
        let has_room = samples.slots() >= frames * inputs.len();
        if has_room {
            for port in inputs.iter() {
                let captured = cycle.audio_in(port);
                // A port without a buffer is silent.
                let padded = captured.iter().copied().chain(std::iter::repeat(0.0)).take(frames);
                if let Ok(chunk) = samples.write_chunk_uninit(frames) {
                    chunk.fill_from_iter(padded);
                }
            }
        }
        let kept = if has_room { placed.frames } else { 0 };
        let _ = headers.push(Header { placed, kept });
    }
}
