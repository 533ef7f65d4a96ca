//! What comes out in which cycle: the part that the thread of the sound server does, without it.
//!
//! It allocates nothing after it was made.

use tactus_delivery::device::Delivery;
use tactus_delivery::device_clock::{DeviceClock, Observed};
use tactus_delivery::item::{ClientId, Moment, Place};
use tactus_delivery::receipt::Evidence;
use tactus_sound::{Cycle, Positions};

use crate::sink::Payload;

/// The most items that a timetable has.
pub const ITEMS_MOST: usize = 1024;

/// Something for the timetable.
#[derive(Debug)]
pub struct Entry {
    /// The item; `None` for what the sink itself sends.
    pub place: Option<Place>,
    /// When it comes out.
    pub due: Moment,
    /// A message, or samples.
    pub payload: Payload,
}

/// An entry that the timetable has done with.
#[derive(Debug)]
pub struct Ended {
    /// The item.
    pub place: Option<Place>,
    /// How it went.
    pub delivery: Delivery,
    /// What it was: only another thread may free it.
    pub payload: Payload,
}

/// What waits for its cycle, and what plays.
pub struct Timetable {
    /// Samples of a frame.
    channels: usize,
    clock: DeviceClock,
    positions: Positions,
    /// The present cycle: its first frame, and the frame after its last.
    from: u64,
    to: u64,
    /// The latest first, then the one that came last: the next one is at the end.
    waiting: Vec<Entry>,
    playing: Vec<Playing>,
    /// What came out in the last cycle, which the server may still lose.
    sent: Vec<Ended>,
}

/// Audio that has begun.
struct Playing {
    entry: Entry,
    /// The position of its first frame, and the one after its last.
    start: u64,
    end: u64,
    /// The first position that came out.
    first: Option<u64>,
    /// Frames of it were lost.
    is_hit: bool,
}

impl Timetable {
    /// A timetable for devices of so many channels and frames a second.
    pub fn new(channels: usize, rate: u32) -> Self {
        Self {
            channels: channels.max(1),
            clock: DeviceClock::new(rate),
            positions: Positions::default(),
            from: 0,
            to: 0,
            waiting: Vec::with_capacity(ITEMS_MOST),
            playing: Vec::with_capacity(ITEMS_MOST),
            sent: Vec::with_capacity(ITEMS_MOST),
        }
    }

    /// Whether another entry fits.
    pub fn has_room(&self) -> bool {
        self.waiting.len() + self.playing.len() + self.sent.len() < ITEMS_MOST
    }

    /// Adds an entry.
    pub fn add(&mut self, entry: Entry) {
        let index = self.waiting.partition_point(|other| other.due > entry.due);
        self.waiting.insert(index, entry);
    }

    /// Drops what a client has.
    pub fn silence(&mut self, client: ClientId, ended: &mut impl FnMut(Ended)) {
        let is_theirs = |entry: &Entry| entry.place.is_some_and(|place| place.client == client);
        let now = self.clock.time_of(self.from).unwrap_or(Moment::from_nanos(0));
        for entry in self.waiting.extract_if(.., |entry| is_theirs(entry)) {
            ended(entry.failed(now));
        }
        for playing in self.playing.extract_if(.., |playing| is_theirs(&playing.entry)) {
            ended(playing.entry.lost(now));
        }
    }

    /// Begins a cycle. Passes on what came out in the last one.
    pub fn begin(&mut self, cycle: Cycle, ended: &mut impl FnMut(Ended)) {
        let placed = self.positions.place(cycle);
        let observed = self.clock.observe(placed.position, placed.began);
        let is_whole = placed.is_whole();
        (self.from, self.to) = (placed.position, placed.end());
        for mut sent in self.sent.drain(..) {
            if !is_whole {
                sent.delivery.evidence = Evidence::None;
            }
            ended(sent);
        }
        for playing in &mut self.playing {
            playing.is_hit |= !is_whole;
            // Positions have another meaning now.
            if matches!(observed, Observed::SteppedBack | Observed::Gap) {
                let length = playing.end - playing.start;
                playing.start = self.clock.position_from(playing.entry.due).unwrap_or(0);
                playing.end = playing.start + length;
            }
        }
    }

    /// Passes on each message of this cycle with its frame, in their order. `write` says whether
    /// the server took it.
    pub fn write_messages(&mut self, mut write: impl FnMut(u32, &[u8]) -> bool) {
        while let Some((entry, position)) = self.next() {
            let position = position.max(self.from);
            let taken = write((position - self.from) as u32, &entry.payload);
            let at = self.time_of(position);
            let delivery = self.delivery(at, at, taken);
            self.sent.push(entry.ended(delivery));
        }
    }

    /// Begins the audio of this cycle; [`Self::mix`] adds it to each channel.
    pub fn begin_audio(&mut self) {
        while let Some((entry, start)) = self.next() {
            let frames = entry.payload.len() / (self.channels * SAMPLE);
            let end = start + frames as u64;
            self.playing.push(Playing { entry, start, end, first: None, is_hit: false });
        }
    }

    /// Adds what plays in this cycle to the samples of a channel.
    pub fn mix(&self, channel: usize, samples: &mut [f32]) {
        for Playing { entry, start, end, .. } in &self.playing {
            let (first, last) = (self.from.max(*start), self.to.min(*end));
            for position in first..last {
                let index = (position - start) as usize * self.channels + channel;
                let sample = samples.get_mut((position - self.from) as usize);
                if let Some((sample, added)) = sample.zip(sample_of(&entry.payload, index)) {
                    *sample += added;
                }
            }
        }
    }

    /// Ends the audio of this cycle. Without a buffer, it is lost.
    pub fn end_audio(&mut self, has_buffer: bool, ended: &mut impl FnMut(Ended)) {
        let (from, to) = (self.from, self.to);
        for playing in &mut self.playing {
            if playing.end > from && playing.first.is_none() {
                playing.first = Some(from.max(playing.start));
            }
            playing.is_hit |= !has_buffer;
        }
        // Removes the last entries first, so that indices stay.
        for index in (0..self.playing.len()).rev() {
            if self.playing[index].end > to {
                continue;
            }
            let Playing { entry, end, first, is_hit, .. } = self.playing.swap_remove(index);
            let over = self.time_of(end);
            let Some(first) = first else {
                // Its time had passed when it came.
                ended(entry.failed(over));
                continue;
            };
            let delivery = self.delivery(self.time_of(first), over, true);
            let mut sent = entry.ended(delivery);
            if is_hit {
                sent.delivery.evidence = Evidence::None;
            }
            self.sent.push(sent);
        }
    }

    /// The next entry if it begins before the end of this cycle, with its position.
    fn next(&mut self) -> Option<(Entry, u64)> {
        let position = self.clock.position_from(self.waiting.last()?.due).unwrap_or(0);
        if position >= self.to {
            return None;
        }
        self.waiting.pop().map(|entry| (entry, position))
    }

    fn time_of(&self, position: u64) -> Moment {
        self.clock.time_of(position).unwrap_or(Moment::from_nanos(0))
    }

    fn delivery(&self, began: Moment, ended: Moment, taken: bool) -> Delivery {
        let (evidence, correction) = (Evidence::DeviceClock, self.clock.correction());
        Delivery { began, ended, taken, evidence, correction, msc: None }
    }
}

/// Bytes of a sample.
const SAMPLE: usize = size_of::<f32>();

/// A sample of a payload. Clients may send anything: what is not a number is silence.
fn sample_of(payload: &[u8], index: usize) -> Option<f32> {
    let bytes = payload.get(index * SAMPLE..)?.first_chunk()?;
    Some(f32::from_ne_bytes(*bytes)).filter(|sample| sample.is_finite())
}

impl Entry {
    fn ended(self, delivery: Delivery) -> Ended {
        let Self { place, payload, .. } = self;
        Ended { place, delivery, payload }
    }

    fn failed(self, at: Moment) -> Ended {
        let evidence = Evidence::DeviceClock;
        let delivery = Delivery { evidence, ..Delivery::by_call(at, at, false) };
        self.ended(delivery)
    }

    fn lost(self, at: Moment) -> Ended {
        let evidence = Evidence::None;
        let delivery = Delivery { evidence, ..Delivery::by_call(at, at, true) };
        self.ended(delivery)
    }
}

#[cfg(test)]
mod tests;
