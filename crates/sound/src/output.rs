//! Playing: samples at absolute positions of the device's clock.

use std::fmt;

use rtrb::{Consumer, Producer, RingBuffer};
use tactus_delivery::device_clock::{Correction, DeviceClock, Observed};
use tactus_delivery::item::Moment;
use tactus_sys::jack::{self, Active, AudioOutput, Client, Direction, Process};

use crate::alsa::{Hardware, Playback, Player};
use crate::cycle::{Cycle, Placed, Positions};
use crate::error::SoundError;
use crate::patience::within;
use crate::ports::{self, CHANNELS_MOST, ClientSpec, Opened, Peer};
use crate::track::{Feed, Played, Track, track};

/// Where an output plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// At the sound server of this user.
    Server(Peer),
    /// At a device of the kernel, which no sound server uses.
    Alsa(Hardware),
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(peer) => peer.fmt(f),
            Self::Alsa(hardware) => write!(f, "alsa:{hardware}"),
        }
    }
}

/// An output to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputSpec {
    /// The name of a client of the sound server.
    pub name: String,
    /// The channels: 1 to [`CHANNELS_MOST`].
    pub channels: u16,
    /// Where it plays.
    pub to: Destination,
}

impl OutputSpec {
    /// Opens it.
    ///
    /// # Errors
    /// See [`Output::open`] and [`Output::open_alsa`].
    pub fn open(&self) -> Result<Output, SoundError> {
        let Self { name, channels, to } = self;
        let channels = *channels;
        match to {
            Destination::Alsa(hardware) => Output::open_alsa(hardware, channels),
            Destination::Server(peer) => {
                Output::open(&ClientSpec { name: name.clone(), channels, peer: peer.clone() })
            }
        }
    }
}

/// What an output has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Cycles that asked for samples.
    pub cycles: u64,
    /// Xruns: those that the server has reported, of any client; those of the device.
    pub xruns: u64,
    /// Frames of cycles that did not ask: they were lost.
    pub skipped: u64,
    /// How often positions got another meaning: see [`Output::turn`].
    pub moves: u64,
    /// Frames that the server or the device has taken.
    pub played: u64,
    /// Frames whose position had passed when they came: they were cut.
    pub late: u64,
    /// Cycles of which no report arrived, because [`Output::turn`] was not called for a minute.
    pub unreported: u64,
}

/// What has happened since the last turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Cycles that were reported.
    pub cycles: u64,
    /// Positions have another meaning now: the clock has stepped or jumped. What was put before is
    /// no longer due when it was: flush it, and put it where it belongs.
    pub moved: bool,
}

/// Plays samples. Its ordinary thread calls [`turn`](Self::turn) several times a second.
pub struct Output {
    driver: Driver,
    channels: usize,
    rate: u32,
    cycle: u32,
    feed: Feed,
    reports: Consumer<Report>,
    clock: DeviceClock,
    /// Frames between the time of a position and when it is heard.
    latency: u32,
    counts: Counts,
    /// The number of the next report.
    next: u64,
    /// Frames since the clock began.
    settled: u32,
}

/// Who asks for samples.
enum Driver {
    /// The sound server, at ports with these names.
    Server { active: Active<Machine>, names: Vec<String> },
    /// A device of the kernel.
    Alsa { playback: Playback, name: String },
}

/// The part of a second after which a clock is believed: a client that joins a server may be moved
/// to another device in its first cycles.
const SETTLED: u32 = 4;
/// The room for samples: 2 s at 48 kHz.
const FRAMES_MOST: usize = 96_000;
/// Reports that wait to be read: a minute of cycles of 64 frames.
const REPORTS_MOST: usize = 1 << 16;

impl Output {
    /// Opens a client of the sound server of this user, and waits for the server:
    /// [`OPEN_MOST`](crate::patience::OPEN_MOST) at most.
    ///
    /// # Errors
    /// There is no server or no library, it does not answer, or the peer has no inputs.
    pub fn open(spec: &ClientSpec) -> Result<Self, SoundError> {
        let spec = spec.clone();
        within(move || Self::open_now(&spec))
    }

    fn open_now(spec: &ClientSpec) -> Result<Self, SoundError> {
        let Opened { client, ports: outputs, names } =
            spec.open("out", Client::audio_output, AudioOutput::name)?;
        let (rate, cycle, channels) = (client.sample_rate(), client.buffer_size(), names.len());
        let (feed, track) = track(channels, FRAMES_MOST);
        let (results, reports) = RingBuffer::new(REPORTS_MOST);
        let machine =
            Machine { outputs, positions: Positions::default(), track, results, number: 0 };
        let active = client.activate(machine)?;
        ports::connect_outputs(&active, &names, &spec.peer)?;
        let driver = Driver::Server { active, names };
        let mut output = Self::new(driver, channels, rate, cycle, feed, reports);
        output.update_latency();
        Ok(output)
    }

    /// Opens a device of the kernel, at the rate that is nearest to 48 kHz. A thread writes to it,
    /// 80 ms ahead.
    ///
    /// # Errors
    /// There is no such device, another program uses it, or it has too few channels.
    pub fn open_alsa(hardware: &Hardware, channels: u16) -> Result<Self, SoundError> {
        if !(1..=CHANNELS_MOST).contains(&channels) {
            return Err(SoundError::Channels(channels));
        }
        let player = Player::open(hardware, channels)?;
        let (rate, period, buffer) = (player.rate(), player.period(), player.buffer());
        let (feed, track) = track(channels.into(), FRAMES_MOST);
        let (results, reports) = RingBuffer::new(REPORTS_MOST);
        let playback = player.start(track, results)?;
        let name = Destination::Alsa(hardware.clone()).to_string();
        let driver = Driver::Alsa { playback, name };
        let mut output = Self::new(driver, channels.into(), rate, period, feed, reports);
        // A position is written when the whole buffer is before it.
        output.latency = buffer;
        Ok(output)
    }

    fn new(
        driver: Driver,
        channels: usize,
        rate: u32,
        cycle: u32,
        feed: Feed,
        reports: Consumer<Report>,
    ) -> Self {
        let (clock, counts) = (DeviceClock::new(rate), Counts::default());
        Self {
            driver,
            channels,
            rate,
            cycle,
            feed,
            reports,
            clock,
            latency: 0,
            counts,
            next: 0,
            settled: 0,
        }
    }

    /// The full name of its client, or the name of its device.
    pub fn name(&self) -> String {
        match &self.driver {
            Driver::Server { active, .. } => active.client().name(),
            Driver::Alsa { name, .. } => name.clone(),
        }
    }

    /// Frames a second.
    pub const fn rate(&self) -> u32 {
        self.rate
    }

    /// Frames of a cycle when the latency was read.
    pub const fn cycle(&self) -> u32 {
        self.cycle
    }

    /// Samples of a frame.
    pub const fn channels(&self) -> usize {
        self.channels
    }

    /// Frames between the time of a position and when it is heard: what the server reports, at least
    /// a cycle. A device takes the samples of a cycle when the next one begins; PipeWire reports
    /// that for hardware, and reports nothing for a sink without hardware.
    pub const fn latency(&self) -> u32 {
        self.latency
    }

    /// Whether the server has ended or has removed the client, or the device is gone.
    pub fn is_shut_down(&self) -> bool {
        match &self.driver {
            Driver::Server { active, .. } => active.is_shut_down(),
            Driver::Alsa { playback, .. } => playback.has_ended(),
        }
    }

    /// What was done so far.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Reads what the cycles since the last turn have reported.
    pub fn turn(&mut self) -> Turn {
        let mut turn = Turn::default();
        while let Ok(Report { number, placed, played }) = self.reports.pop() {
            turn.cycles += 1;
            turn.moved |= self.observe(&placed);
            let counts = &mut self.counts;
            counts.cycles += 1;
            counts.unreported += number - self.next;
            counts.xruns += placed.xruns;
            counts.skipped += placed.skipped.max(0).unsigned_abs();
            counts.played += played.played;
            counts.late += played.late;
            self.next = number + 1;
        }
        self.counts.moves += u64::from(turn.moved);
        turn
    }

    /// Follows the clock of the device. Returns whether a clock that was settled has jumped.
    fn observe(&mut self, placed: &Placed) -> bool {
        let was_settled = self.is_settled();
        if !was_settled && placed.skipped != 0 {
            self.clock = DeviceClock::new(self.rate);
            self.settled = 0;
        }
        let observed = self.clock.observe(placed.position, placed.began);
        if matches!(observed, Observed::SteppedBack | Observed::Gap) {
            self.settled = 0;
            return was_settled;
        }
        self.settled = self.settled.saturating_add(placed.frames);
        false
    }

    /// Whether the clock is believed: a quarter of a second after the output was opened, and after
    /// each jump.
    pub const fn is_settled(&self) -> bool {
        self.settled > self.rate / SETTLED
    }

    /// Reads the latency again: the server may change it, e.g. after ports were connected. That of a
    /// device of the kernel is its buffer, which does not change.
    pub fn update_latency(&mut self) {
        if let Driver::Server { active, names } = &self.driver {
            let latency = ports::latency(active, names, Direction::Playback);
            self.cycle = active.client().buffer_size();
            self.latency = latency.max(self.cycle);
        }
    }

    /// When the frame at a position is heard; `None` while the clock is not
    /// [settled](Self::is_settled).
    pub fn heard_at(&self, position: u64) -> Option<Moment> {
        if !self.is_settled() {
            return None;
        }
        self.clock.time_of(position + u64::from(self.latency))
    }

    /// The first position that is heard not before a time; `None` while the clock is not
    /// [settled](Self::is_settled).
    pub fn position_heard_from(&self, at: Moment) -> Option<u64> {
        if !self.is_settled() {
            return None;
        }
        self.clock.position_from(at)?.checked_sub(self.latency.into())
    }

    /// The rate of the device, relative to its nominal rate.
    pub fn correction(&self) -> Option<Correction> {
        self.clock.correction()
    }

    /// The frames for which there is room.
    pub fn room(&self) -> usize {
        self.feed.room()
    }

    /// Lets interleaved samples come out from a position on; returns how many frames had room.
    /// Positions grow, unless everything was flushed.
    pub fn put(&mut self, position: u64, samples: &[f32]) -> usize {
        self.feed.put(position, samples)
    }

    /// Drops everything that was put and has not come out.
    pub fn flush(&mut self) {
        self.feed.flush();
    }
}

/// What a cycle did.
#[derive(Clone, Copy)]
pub(crate) struct Report {
    pub(crate) number: u64,
    pub(crate) placed: Placed,
    pub(crate) played: Played,
}

/// Runs in the thread of the sound server.
struct Machine {
    outputs: Vec<AudioOutput>,
    positions: Positions,
    track: Track,
    results: Producer<Report>,
    number: u64,
}

impl Process for Machine {
    fn process(&mut self, cycle: &jack::Cycle<'_>) {
        let Self { outputs, positions, track, results, number } = self;
        for port in outputs.iter_mut() {
            cycle.audio_out(port).fill(0.0);
        }
        let Some(present) = Cycle::read(cycle) else { return };
        let placed = positions.place(present);
        let channels = outputs.len();
        let played = track.play(placed.position, placed.frames, |at, first, second| {
            for (channel, port) in outputs.iter_mut().enumerate() {
                let samples = first.iter().chain(second).skip(channel).step_by(channels);
                let buffer = cycle.audio_out(port);
                let frames = buffer.get_mut(at..).unwrap_or_default();
                frames.iter_mut().zip(samples).for_each(|(to, from)| *to = *from);
            }
        });
        // Without room, the ordinary thread sees the gap between numbers.
        let _ = results.push(Report { number: *number, placed, played });
        *number += 1;
    }
}
