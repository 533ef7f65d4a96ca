//! The thread that plays the sound of a clip, whose device drives the clock.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tactus_clip::Clip;
use tactus_delivery::item::Moment;
use tactus_model::time::Nanos;
use tactus_playback::{MediaTime, SoundClock};
use tactus_sound::{Connector, Output, OutputSpec, SoundError};

use crate::error::PlayerError;
use crate::event::{Note, SoundCounts, SoundInfo};
use crate::reader::{self, Decoders, End, Reader, Samples};
use crate::shared::{Passage, SharedClock, State, now};

/// Stereo: ffmpeg mixes other sound to it.
pub(crate) const CHANNELS: u16 = 2;
/// How often the thread looks.
const TURN: Duration = Duration::from_millis(5);
/// How far ahead samples are handed over.
const AHEAD: Nanos = Nanos::from_millis(300);
/// What is decoded beyond that, and what is kept of the past to play it again after a jump.
const STORED: Nanos = Nanos::from_millis(1500);
/// Blocks of samples between reader and thread.
const BLOCKS: usize = 16;
/// How long a device may ask for nothing.
pub(crate) const SILENT_MOST: Nanos = Nanos::from_secs(2);
/// The time that a thread needs to hand samples over, beside two cycles and the latency.
const MARGIN: Nanos = Nanos::from_millis(20);

/// What a sound thread reports.
pub(crate) enum FromSound {
    /// The device is there, now or again.
    Up(SoundInfo),
    /// Samples of this passage wait, or there are none.
    Ready(u64),
    Note(Note),
    /// All samples of a passage were heard.
    Ended(End),
    /// What was done, at the end.
    Counts(SoundCounts),
}

/// What a sound thread plays.
pub(crate) struct Setting {
    pub(crate) clip: Clip,
    pub(crate) clock: Arc<SharedClock>,
    /// Where playing ends, if not at the end of the clip.
    pub(crate) until: Option<MediaTime>,
}

impl Setting {
    /// Where sound is due no more: the end of playing or of the clip.
    fn last(&self) -> Option<MediaTime> {
        let end = self.clip.duration.map(|duration| MediaTime::ZERO.after(duration));
        [self.until, end].into_iter().flatten().min()
    }
}

/// A running sound thread.
pub(crate) struct Sound {
    quit: Option<Sender<()>>,
    pub(crate) reader: Reader,
    thread: Option<JoinHandle<()>>,
}

impl Sound {
    /// Starts the thread of an output that is open.
    pub(crate) fn start(
        setting: Setting,
        output: Output,
        spec: OutputSpec,
        decoders: Decoders,
        report: impl Fn(FromSound) + Send + 'static,
    ) -> Result<Self, PlayerError> {
        let last = setting.last();
        let Setting { clip, clock, until } = setting;
        let (put, samples) = sync_channel(BLOCKS);
        let reader = reader::sound(clip, CHANNELS, decoders, put)?;
        let connector = Connector::start(move || spec.open().ok()).map_err(thread_error)?;
        let (quit, quits) = channel();
        let state = clock.state();
        let mut speaker = Speaker {
            output: Some(output),
            connector,
            clock,
            until,
            last,
            samples,
            report,
            passage: state.passage,
            changes: state.changes,
            store: Store::default(),
            end: None,
            is_over: false,
            has_failed: false,
            is_ready: false,
            anchor: None,
            counts: SoundCounts::default(),
            asked: now(),
            handed: Handed::default(),
        };
        let run = move || {
            speaker.up();
            while matches!(quits.recv_timeout(TURN), Err(RecvTimeoutError::Timeout)) {
                speaker.turn();
            }
            speaker.finish();
        };
        let thread = thread::Builder::new().name("sound".to_owned()).spawn(run);
        let thread = Some(thread.map_err(PlayerError::Thread)?);
        Ok(Self { quit: Some(quit), reader, thread })
    }

    /// Asks it to end.
    pub(crate) fn quit(&mut self) {
        self.quit = None;
        self.reader.stop();
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

fn thread_error(error: SoundError) -> PlayerError {
    PlayerError::Thread(std::io::Error::other(error.to_string()))
}

/// Samples that wait, and those of the past.
#[derive(Default)]
struct Store {
    frames: VecDeque<[f32; CHANNELS as usize]>,
    /// The number of the first frame, from the beginning of the passage.
    first: u64,
    /// The number of the frame that is handed over next.
    next: u64,
}

impl Store {
    /// Adds interleaved samples.
    fn add(&mut self, samples: &[f32]) {
        self.frames.extend(samples.as_chunks().0);
    }

    /// The number of the frame after the last.
    fn end(&self) -> u64 {
        self.first + self.frames.len() as u64
    }

    /// Forgets frames before the last ones that were handed over.
    fn trim(&mut self, kept: u64) {
        let forgotten = self.next.saturating_sub(kept).saturating_sub(self.first);
        let forgotten = forgotten.min(self.frames.len() as u64);
        self.frames.drain(..forgotten as usize);
        self.first += forgotten;
    }

    /// At most so many frames from the next on, as far as they are contiguous in memory,
    /// interleaved.
    fn piece(&mut self, frames: u64) -> &[f32] {
        self.next = self.next.max(self.first);
        let from = (self.next - self.first) as usize;
        let (left, right) = self.frames.as_slices();
        let rest = match from.checked_sub(left.len()) {
            None => &left[from..],
            Some(from) => right.get(from..).unwrap_or_default(),
        };
        rest[..rest.len().min(frames as usize)].as_flattened()
    }
}

/// Where the sound is at the device.
struct Anchor {
    clock: SoundClock,
    /// The position of a frame of the store.
    position: u64,
    frame: u64,
}

struct Speaker<R> {
    output: Option<Output>,
    connector: Connector<Output>,
    clock: Arc<SharedClock>,
    until: Option<MediaTime>,
    /// Where sound is due no more, if that is known.
    last: Option<MediaTime>,
    samples: Receiver<Result<Samples, End>>,
    report: R,
    passage: Passage,
    changes: u64,
    store: Store,
    end: Option<End>,
    /// All of the passage was heard.
    is_over: bool,
    /// The decoder has failed in the passage: what follows is missing.
    has_failed: bool,
    is_ready: bool,
    anchor: Option<Anchor>,
    counts: SoundCounts,
    /// When the device last asked for samples.
    asked: Moment,
    handed: Handed,
}

/// What the device has since it was last silenced.
#[derive(Clone, Copy, Default)]
struct Handed {
    frames: u64,
    /// What it had taken or cut before.
    before: u64,
}

impl Handed {
    /// The frames that it has not taken.
    fn left(&self, output: &Output) -> u64 {
        self.frames.saturating_sub(taken(output).saturating_sub(self.before))
    }
}

/// The frames that a device has taken or cut.
fn taken(output: &Output) -> u64 {
    let counts = output.counts();
    counts.played + counts.late
}

impl<R: Fn(FromSound)> Speaker<R> {
    fn up(&mut self) {
        self.asked = now();
        let Some(output) = &mut self.output else { return };
        output.update_latency();
        (self.report)(FromSound::Up(SoundInfo {
            client: output.name(),
            rate: output.rate(),
            cycle: output.cycle(),
            latency: output.latency(),
        }));
    }

    fn turn(&mut self) {
        let state = self.clock.state();
        self.follow(&state);
        self.receive();
        self.attend();
        let has_device = self.observe(&state);
        let is_running = state.clock.is_running();
        if has_device && is_running {
            if self.anchor.is_none() {
                self.anchor_at(&state);
            }
            self.feed();
        } else if is_running {
            // Without a device, time passes all the same: nobody hears these frames. What the last one
            // took is played, even if its time comes only now.
            self.skip_to(self.frame_at(state.clock.media_at(now())).max(self.store.next));
        }
        self.store.trim(self.frames(STORED));
        self.pass_on_end(&state);
    }

    /// Follows the clock to another passage, and after a start or a stop.
    fn follow(&mut self, state: &State) {
        if state.changes == self.changes {
            return;
        }
        self.changes = state.changes;
        self.silence();
        if state.passage != self.passage {
            self.passage = state.passage;
            (self.store, self.end) = (Store::default(), None);
            (self.is_ready, self.is_over, self.has_failed) = (false, false, false);
        }
    }

    /// The next frame is this one: those before are cut, or play again.
    fn skip_to(&mut self, frame: u64) {
        // What was never delivered is missing, or not a part of the clip.
        let is_whole = self.end.is_some() || self.is_over;
        let delivered = if is_whole { self.store.end() } else { u64::MAX };
        let due = self.last.map_or(u64::MAX, |last| self.frame_at(last));
        self.counts.cut += frame.min(delivered).min(due).saturating_sub(self.store.next);
        self.store.next = frame;
    }

    /// Drops what the device has.
    fn silence(&mut self) {
        self.anchor = None;
        if let Some(output) = &mut self.output {
            self.store.next = self.store.next.saturating_sub(self.handed.left(output));
            output.flush();
            self.handed = Handed { frames: 0, before: taken(output) };
        }
    }

    /// Takes samples while there is room.
    fn receive(&mut self) {
        let most = self.store.next + self.frames(STORED);
        while self.end.is_none() && self.store.end() < most {
            match self.samples.try_recv() {
                Ok(Ok(block)) if block.passage == self.passage.number => {
                    self.store.add(&block.samples);
                }
                Ok(Err(end)) if end.passage == self.passage.number => {
                    self.has_failed = end.failure.is_some();
                    self.end = Some(end);
                }
                Ok(_) => {}
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        let is_enough = self.store.end() >= self.store.next + self.frames(AHEAD);
        let is_settled = self.output.as_ref().is_none_or(Output::is_settled);
        if !self.is_ready && is_settled && (is_enough || self.end.is_some()) {
            self.is_ready = true;
            (self.report)(FromSound::Ready(self.passage.number));
        }
    }

    /// Sees whether the device is there.
    fn attend(&mut self) {
        if self.output.as_ref().is_some_and(Output::is_shut_down) {
            self.lose(Note::SoundLost);
        } else if self.output.is_some() && now() - self.asked > SILENT_MOST {
            self.lose(Note::SoundSilent);
        } else if self.output.is_none() {
            self.output = self.connector.connected();
            if self.output.is_some() {
                (self.report)(FromSound::Note(Note::SoundBack));
                self.up();
            }
        }
    }

    /// Goes on without a device until it is back.
    fn lose(&mut self, note: Note) {
        let gone = self.output.take();
        if let Some(output) = &gone {
            self.counts.add(output.counts());
            self.store.next = self.store.next.saturating_sub(self.handed.left(output));
        }
        self.handed = Handed::default();
        self.counts.lost += 1;
        self.anchor = None;
        self.connector.reconnect(gone);
        (self.report)(FromSound::Note(note));
    }

    /// Reads what the device reports, and lets it drive the clock. Returns whether there is a device
    /// that plays our samples.
    fn observe(&mut self, state: &State) -> bool {
        let Some(output) = &mut self.output else { return false };
        let turn = output.turn();
        if turn.cycles > 0 {
            self.asked = now();
        }
        if turn.moved {
            if state.clock.is_running() {
                (self.report)(FromSound::Note(Note::SoundJumped));
            }
            self.silence();
        }
        // A device with another rate needs other samples first.
        let output = self.output.as_ref().filter(|output| output.rate() == self.passage.rate);
        let position = output.and_then(|output| output.position_heard_from(now()));
        let Some((output, position)) = output.zip(position) else { return false };
        if let Some((anchor, heard)) = self.anchor.as_ref().zip(output.heard_at(position)) {
            let correction = output.correction();
            self.clock.steer(state.changes, |clock| {
                anchor.clock.steer(clock, position, heard, correction);
            });
        }
        true
    }

    /// Decides which frame of sound is at which position: what the clock shows at a time that the
    /// device can still reach.
    fn anchor_at(&mut self, state: &State) {
        let Some(output) = &self.output else { return };
        let cycles = 2 * u64::from(output.cycle()) + u64::from(output.latency());
        let soon = now() + nanos(cycles, output.rate()) + MARGIN;
        let at = soon.max(state.started);
        let Some(position) = output.position_heard_from(at) else { return };
        let heard = output.heard_at(position).unwrap_or(at);
        let frame = self.frame_at(state.clock.media_at(heard));
        let clock =
            SoundClock::new(position, self.media_of(frame), output.rate(), self.passage.speed);
        self.skip_to(frame.max(self.store.first));
        self.anchor = Some(Anchor { clock, position, frame });
    }

    /// Hands samples over.
    fn feed(&mut self) {
        let ahead = now() + AHEAD;
        let last = self.until.map_or(u64::MAX, |until| self.frame_at(until));
        let (Some(output), Some(anchor)) = (&mut self.output, &self.anchor) else { return };
        let Some(until) = output.position_heard_from(ahead) else { return };
        loop {
            let position = anchor.position + self.store.next.saturating_sub(anchor.frame);
            let wanted = until.saturating_sub(position).min(output.room() as u64);
            let wanted = wanted.min(last.saturating_sub(self.store.next));
            let piece = self.store.piece(wanted);
            let put = output.put(position, piece);
            if put == 0 {
                return;
            }
            self.store.next += put as u64;
            self.handed.frames += put as u64;
        }
    }

    /// After the last sample, passes on the end.
    fn pass_on_end(&mut self, state: &State) {
        let end = self.store.end();
        let last = self.media_of(end);
        let is_heard = state.clock.is_running() && state.clock.media_at(now()) >= last;
        if is_heard && let Some(mut found) = self.end.take() {
            found.at = last;
            self.is_over = true;
            (self.report)(FromSound::Ended(found));
        }
    }

    fn finish(&mut self) {
        if let Some(output) = &mut self.output {
            output.turn();
            self.counts.add(output.counts());
            self.store.next = self.store.next.saturating_sub(self.handed.left(output));
        }
        let clock = self.clock.state().clock;
        if clock.is_running() {
            let due = self.frame_at(clock.media_at(now())).min(self.store.end());
            self.skip_to(due.max(self.store.next));
        }
        let has_ended = self.end.is_some() || self.is_over;
        if clock.is_running() && (self.has_failed || !has_ended) {
            let media = clock.media_at(now());
            let due = self.frame_at(self.last.map_or(media, |last| media.min(last)));
            self.counts.missing = due.saturating_sub(self.store.end());
        }
        (self.report)(FromSound::Counts(self.counts));
    }

    /// The number of the frame of the passage at a media time.
    fn frame_at(&self, media: MediaTime) -> u64 {
        let after = media.since(self.passage.from).as_nanos() as f64;
        (after / self.frame_nanos()).round() as u64
    }

    fn media_of(&self, frame: u64) -> MediaTime {
        let after = Nanos::from_nanos((frame as f64 * self.frame_nanos()).round() as u64);
        self.passage.from.after(after)
    }

    /// Media time of a frame.
    fn frame_nanos(&self) -> f64 {
        self.passage.speed.factor() * 1e9 / f64::from(self.passage.rate.max(1))
    }

    /// Frames of a duration.
    fn frames(&self, length: Nanos) -> u64 {
        (length.as_secs_f64() * f64::from(self.passage.rate)) as u64
    }
}

fn nanos(frames: u64, rate: u32) -> Nanos {
    Nanos::from_nanos(frames * 1_000_000_000 / u64::from(rate.max(1)))
}

/// When a device can begin at the earliest.
pub(crate) fn soon(info: Option<&SoundInfo>) -> Moment {
    let cycles = info.map_or(Nanos::ZERO, |info| {
        nanos(3 * u64::from(info.cycle) + u64::from(info.latency), info.rate)
    });
    now() + cycles + MARGIN + MARGIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_keeps_the_past() {
        let mut store = Store::default();
        store.add(&[0.0, 0.0]);
        store.add(&[1.0, 1.0, 2.0, 2.0]);
        store.next = 1;
        let mut found: Vec<f32> = Vec::new();
        while store.next < 3 {
            found.extend(store.piece(1));
            store.next += 1;
        }
        assert_eq!(found, [1.0, 1.0, 2.0, 2.0]);
        store.trim(1);
        assert_eq!((store.first, store.end()), (2, 3));
        store.next = 0;
        assert_eq!(store.piece(9), [2.0, 2.0], "what was forgotten is skipped");
        store.next = 50;
        assert!(store.piece(9).is_empty());
    }
}
