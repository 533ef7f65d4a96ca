//! The thread that plays: starting the clock, commands, progress.

mod ending;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use tactus_clip::{Clip, ClipError};
use tactus_delivery::item::Moment;
use tactus_model::result::Shortfall;
use tactus_model::time::Nanos;
use tactus_playback::{MediaTime, Shown, Speed, Summary, Tally};
use tactus_sys::usage;
use tactus_xserver::window::WindowError;

use crate::command::Command;
use crate::error::PlayerError;
use crate::event::{
    Event, FrameOutcome, FrameReceipt, Note, Preparation, Progress, SoundCounts, SoundInfo,
};
use crate::opening::{self, Message};
use crate::picture::{FromPicture, Picture};
use crate::reader::End;
use crate::shared::{Passage, SharedClock, now};
use crate::sound::{self, FromSound, Sound};
use crate::spec::Spec;

/// How long decoders may take to deliver their first frames.
const READY_MOST: Nanos = Nanos::from_secs(30);
/// How long the sound device may take to begin; wall time drives the clock then.
const DEVICE_MOST: Nanos = Nanos::from_secs(3);
/// How often progress is reported.
const PROGRESS: Nanos = Nanos::from_millis(250);
const LOOK: Duration = Duration::from_millis(50);
/// The rate of sound as long as no device has said its own.
const RATE_USUAL: u32 = 48_000;

/// Sends commands to a player, from any thread.
#[derive(Clone)]
pub struct Remote(Sender<Message>);

impl Remote {
    /// Sends a command.
    pub fn send(&self, command: Command) {
        // The player may have ended.
        let _ = self.0.send(Message::Command(command));
    }
}

/// Plays clips to their end. `remote` gets what sends commands.
///
/// # Errors
/// A display or the client that should get the sound is missing or goes away, or a decoder fails.
/// Without a sound server, wall time drives the clock, which is reported.
pub fn play(
    spec: Spec,
    remote: impl FnOnce(Remote),
    mut on_event: impl FnMut(Event),
) -> Result<(), PlayerError> {
    let mut player = Player::open(spec, &mut on_event)?;
    remote(Remote(player.to.clone()));
    let played = player.run(&mut on_event);
    let ended = player.end(&mut on_event);
    played.and(ended)
}

/// A clip that plays.
struct Playing {
    clip: Clip,
    picture: Option<Picture>,
    tally: Tally,
    /// How the picture ended.
    end: Option<End>,
}

struct Player {
    spec: Spec,
    to: Sender<Message>,
    inbox: Receiver<Message>,
    clock: Arc<SharedClock>,
    clips: Vec<Playing>,
    sound: Option<Sound>,
    /// The device, once it has said what it is.
    device: Option<SoundInfo>,
    sound_end: Option<End>,
    counts: Option<SoundCounts>,
    passage: Passage,
    /// What the present passage still waits for.
    waits: Waits,
    is_paused: bool,
    failure: Option<PlayerError>,
    shortfalls: Vec<Shortfall>,
    /// CPU time of the children that had ended before.
    children_cpu: Nanos,
}

/// What is not ready yet.
struct Waits {
    since: Moment,
    pictures: BTreeSet<usize>,
    sound: bool,
    /// The clock has started since.
    is_over: bool,
}

impl Player {
    /// Opens windows and the sound device, and starts their threads.
    fn open(spec: Spec, on_event: &mut impl FnMut(Event)) -> Result<Self, PlayerError> {
        let (to, inbox) = channel();
        let (first, output) = opening::sound(&spec, on_event)?;
        let rate = output.as_ref().map_or(RATE_USUAL, |(output, _)| output.rate());
        let passage = Passage { number: 0, from: spec.from, speed: spec.speed, rate };
        let clock = Arc::new(SharedClock::new(passage));
        let mut clips = Vec::new();
        for (number, track) in spec.tracks.iter().enumerate() {
            let picture = opening::picture(number, track, &spec, &clock, &to, on_event)?;
            let (clip, tally) = (track.clip.clone(), Tally::default());
            clips.push(Playing { clip, picture, tally, end: None });
        }
        let sound = match output.zip(first) {
            Some(((output, output_spec), first)) => {
                let (clip, player_to) = (spec.tracks[first].clip.clone(), to.clone());
                let to = to.clone();
                let report = move |from| drop(to.send(Message::Sound(from)));
                let decoders = opening::decoders(&spec, &player_to);
                let setting =
                    sound::Setting { clip, clock: Arc::clone(&clock), until: spec.until() };
                Some(Sound::start(setting, output, output_spec, decoders, report)?)
            }
            None => None,
        };
        if sound.is_none() && clips.iter().all(|clip| clip.picture.is_none()) {
            return Err(PlayerError::Nothing);
        }
        let waits = Waits { since: now(), pictures: BTreeSet::new(), sound: false, is_over: false };
        let mut player = Self {
            spec,
            to,
            inbox,
            clock,
            clips,
            sound,
            device: None,
            sound_end: None,
            counts: None,
            passage,
            waits,
            is_paused: false,
            failure: None,
            shortfalls: Vec::new(),
            children_cpu: children_cpu(),
        };
        player.begin_at(passage.from, passage.speed);
        Ok(player)
    }

    fn run(&mut self, on_event: &mut impl FnMut(Event)) -> Result<(), PlayerError> {
        let mut reported = now();
        loop {
            match self.inbox.recv_timeout(LOOK) {
                Ok(Message::Closed | Message::Command(Command::Quit)) => return Ok(()),
                Ok(Message::Command(command)) => self.command(command, on_event),
                Ok(Message::Lost(display)) => {
                    return Err(WindowError::Ended { display, reason: String::new() }.into());
                }
                Ok(Message::Picture(number, from)) => self.picture(number, from, on_event)?,
                Ok(Message::Sound(from)) => self.sound(from, on_event),
                Ok(Message::Shortfalls(shortfalls)) => self.report_shortfalls(shortfalls, on_event),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            if !self.waits.is_over {
                self.start_when_ready(on_event)?;
            }
            if now() - reported >= PROGRESS {
                reported = now();
                on_event(Event::Progress(self.progress()));
            }
            if self.has_ended() {
                return self.failure.take().map_or(Ok(()), Err);
            }
        }
    }

    /// Lets decoders begin at a media time.
    fn begin_at(&mut self, from: MediaTime, speed: Speed) {
        let rate = self.device.as_ref().map_or(self.passage.rate, |device| device.rate);
        self.passage = Passage { number: self.passage.number + 1, from, speed, rate };
        self.clock.reset(self.passage);
        let mut pictures = BTreeSet::new();
        for (number, clip) in self.clips.iter_mut().enumerate() {
            clip.end = None;
            clip.tally.interrupt();
            if let Some(picture) = &clip.picture {
                picture.changed();
                picture.reader.begin(self.passage);
                pictures.insert(number);
            }
        }
        self.sound_end = None;
        if let Some(sound) = &self.sound {
            sound.reader.begin(self.passage);
        }
        let sound = self.sound.is_some();
        self.waits = Waits { since: now(), pictures, sound, is_over: false };
    }

    /// Starts the clock once everything is ready.
    fn start_when_ready(&mut self, on_event: &mut impl FnMut(Event)) -> Result<(), PlayerError> {
        let waited = now() - self.waits.since;
        let is_ready = self.waits.pictures.is_empty();
        let has_sound = !self.waits.sound || (is_ready && waited > DEVICE_MOST);
        if !is_ready || !has_sound {
            if waited > READY_MOST {
                return Err(PlayerError::Stuck { seconds: READY_MOST.as_secs_f64() as u64 });
            }
            return Ok(());
        }
        self.waits.is_over = true;
        if !self.is_paused {
            self.start(on_event);
        }
        Ok(())
    }

    fn start(&mut self, on_event: &mut impl FnMut(Event)) {
        let at = sound::soon(self.device.as_ref());
        self.clock.start(at);
        self.changed();
        let (clock, sound) = (self.clock.clock(), self.device.clone());
        let (media, speed) = (clock.media_at(at), clock.speed());
        on_event(Event::Started { at, media, speed, sound });
    }

    fn changed(&self) {
        let pictures = self.clips.iter().filter_map(|clip| clip.picture.as_ref());
        pictures.for_each(Picture::changed);
    }

    fn command(&mut self, command: Command, on_event: &mut impl FnMut(Event)) {
        let clock = self.clock.clock();
        let (media, speed) = (clock.media_at(now()), clock.speed());
        match command {
            Command::Pause if self.is_paused => {
                self.is_paused = false;
                if self.waits.is_over {
                    self.start(on_event);
                }
            }
            Command::Pause => {
                self.is_paused = true;
                self.clock.rest(now());
                self.changed();
                self.clips.iter_mut().for_each(|clip| clip.tally.interrupt());
                on_event(Event::Paused { media });
            }
            Command::Jump(seconds) => self.begin_at(self.target(media, seconds), speed),
            Command::Faster => self.begin_at(media, speed.faster()),
            Command::Slower => self.begin_at(media, speed.slower()),
            Command::NormalSpeed => self.begin_at(media, Speed::ONE),
            Command::Quit => {}
        }
    }

    /// Where a jump leads: within the clips.
    fn target(&self, media: MediaTime, seconds: i32) -> MediaTime {
        let length = Nanos::from_secs(seconds.unsigned_abs().into());
        let target = if seconds < 0 { media.before(length) } else { media.after(length) };
        let end = self.duration().map_or(target, |duration| MediaTime::ZERO.after(duration));
        target.min(end).max(MediaTime::ZERO)
    }

    fn picture(
        &mut self,
        number: usize,
        from: FromPicture,
        on_event: &mut impl FnMut(Event),
    ) -> Result<(), PlayerError> {
        match from {
            FromPicture::Prepared { thread, reserve, shortfalls } => {
                on_event(Event::Prepared(Preparation { clip: number, thread, reserve }));
                self.report_shortfalls(shortfalls, on_event);
            }
            FromPicture::Ready(passage) if passage == self.passage.number => {
                self.waits.pictures.remove(&number);
            }
            FromPicture::Shown(receipt) => {
                self.count(&receipt);
                on_event(Event::Frame(receipt));
            }
            FromPicture::Ended(end) if end.passage == self.passage.number => {
                let end = self.ended(end, on_event);
                self.clips[number].end = Some(end);
            }
            FromPicture::Skipped { from, to, silence } => {
                let Playing { clip, tally, .. } = &mut self.clips[number];
                let period = clip.picture.as_ref().map(|picture| picture.period);
                // They were never shown or dropped, so they have no receipts.
                let due = self.clock.clock().due(from).unwrap_or_else(now);
                let (length, period) = (to.since(from), period.unwrap_or_default());
                // One that begins before the end counts, even if it ends after it.
                let whole = length.div_floor(period);
                let rest = length > period.saturating_mul(whole);
                tally.drop_frames(whole + u64::from(rest && period > Nanos::ZERO), due);
                on_event(Event::Note(match silence {
                    Some(silence) => Note::Unanswered { clip: number, silence, from, to },
                    None => Note::Behind { clip: number, from, to },
                }));
            }
            FromPicture::Missing { from, to } => {
                self.miss(number, from, to);
                on_event(Event::Note(Note::Missing { clip: number, from, to }));
            }
            FromPicture::Unseen { from, to } => self.unseen(number, from, to, on_event),
            FromPicture::Failed(error) => return Err(error),
            FromPicture::Ready(_) | FromPicture::Ended(_) | FromPicture::Happened(_) => {}
        }
        Ok(())
    }

    /// Counts the frames of a part of a clip as missing.
    fn miss(&mut self, number: usize, from: MediaTime, to: MediaTime) {
        let Playing { clip, tally, .. } = &mut self.clips[number];
        let period = clip.picture.as_ref().map(|picture| picture.period);
        tally.miss(to.since(from).div_floor(period.unwrap_or_default()));
    }

    /// Reports each shortfall once: several threads have the same.
    fn report_shortfalls(&mut self, found: Vec<Shortfall>, on_event: &mut impl FnMut(Event)) {
        for shortfall in found {
            if !self.shortfalls.contains(&shortfall) {
                self.shortfalls.push(shortfall.clone());
                on_event(Event::Shortfall(shortfall));
            }
        }
    }

    fn sound(&mut self, from: FromSound, on_event: &mut impl FnMut(Event)) {
        match from {
            FromSound::Up(info) => {
                let is_other = info.rate != self.passage.rate;
                self.device = Some(info);
                if is_other {
                    let clock = self.clock.clock();
                    self.begin_at(clock.media_at(now()), clock.speed());
                }
            }
            FromSound::Ready(passage) => self.waits.sound &= passage != self.passage.number,
            FromSound::Note(note) => on_event(Event::Note(note)),
            FromSound::Ended(end) if end.passage == self.passage.number => {
                self.sound_end = Some(self.ended(end, on_event));
            }
            FromSound::Ended(_) => {}
            FromSound::Counts(counts) => self.counts = Some(counts),
        }
    }

    /// Reports why an output has ended before the clip.
    fn ended(&mut self, mut end: End, on_event: &mut impl FnMut(Event)) -> End {
        if let Some(error) = end.failure.take() {
            on_event(Event::Note(Note::Failed(failure_text(&error))));
            self.failure.get_or_insert(PlayerError::Clip(error));
        }
        end
    }

    fn count(&mut self, receipt: &FrameReceipt) {
        let FrameReceipt { clip, media, due, shown, slip, outcome, .. } = *receipt;
        let lasts = |length| self.clock.clock().lasts(length);
        let Some(Playing { clip, tally, .. }) = self.clips.get_mut(clip) else { return };
        let period = clip.picture.as_ref().map_or(Nanos::ZERO, |picture| lasts(picture.period));
        match (outcome, shown) {
            (FrameOutcome::Shown, Some(at)) => {
                tally.show(Shown { media, due, at, slip_ns: slip }, period);
            }
            _ => tally.drop_frames(1, due),
        }
    }

    fn duration(&self) -> Option<Nanos> {
        self.clips.iter().filter_map(|clip| clip.clip.duration).max()
    }

    /// Whether everything was shown and heard.
    fn has_ended(&self) -> bool {
        if !self.waits.is_over || self.is_paused {
            return false;
        }
        let media = self.clock.clock().media_at(now());
        if self.spec.until().is_some_and(|until| media >= until) {
            return true;
        }
        let is_over = |end: &Option<End>| end.as_ref().is_some_and(|end| media >= end.at);
        let pictures = self.clips.iter().filter(|clip| clip.picture.is_some());
        let mut pictures = pictures.map(|clip| is_over(&clip.end));
        pictures.all(|is_over| is_over) && (self.sound.is_none() || is_over(&self.sound_end))
    }

    fn progress(&self) -> Progress {
        let clock = self.clock.clock();
        let (media, duration) = (clock.media_at(now()), self.duration());
        let until = self.spec.until();
        let end = duration.map(|duration| MediaTime::ZERO.after(duration));
        let end = [until, end].into_iter().flatten().min();
        let left = end.filter(|_| clock.is_running()).map(|end| clock.lasts(end.since(media)));
        let (is_paused, speed, slip_ns) = (self.is_paused, clock.speed(), clock.slip(now()));
        let frames = self.clips.iter().map(|clip| clip.tally.summary());
        let frames = frames.reduce(Summary::with).unwrap_or_default();
        Progress { media, duration, left, is_paused, speed, slip_ns, frames }
    }
}

/// The CPU time of this process's children that have ended; zero if the kernel does not say.
fn children_cpu() -> Nanos {
    usage::of_ended_children().unwrap_or_default()
}

fn failure_text(error: &ClipError) -> String {
    format!("{error}; what follows is missing")
}
