//! Recording: sources with threads of their own, the writer, and the encoder.
//!
//! ```text
//! thread of the pictures ──┐
//!                          ├──► queue ──► writer ──► pipe ──► encoder ──► CLIP.part ──► CLIP
//! thread of the sound ─────┘                └──► CLIP.part.timing.json ──► CLIP.timing.json
//! ```
//!
//! A thread of a source stamps what it takes and goes on: a picture without room in the queue is
//! missing, and is counted. The stamps are stored every [`SAVE`], so a recorder that is killed
//! leaves a clip and its stamps under the names of parts.

mod writer;

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use tactus_clip::FfmpegError;
use tactus_model::frames::Rate;
use tactus_model::time::{Monotonic, Nanos};
use tactus_sys::clock;
use tactus_sys::whole_file::{Readers, WholeFile};

use crate::encoder::{self, Started};
use crate::matroska::{CLUSTER, PIXEL, Track};
use crate::pictures::{Breaker, Camera, Pattern, PictureError, Pictures, ScreenGrab, Size, Taken};
use crate::sound::{Heard, Microphone, NoSound, Sounds, Tone};
use crate::timing::{Digest, beside};
use crate::{Moment, PictureSource, SoundSource, Timing};

use writer::{Stamps, Writer};

/// What to record.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where pictures come from.
    pub picture: PictureSource,
    /// The display of the source `screen`; that of `DISPLAY` by default.
    pub display: Option<String>,
    /// The size of pictures. The screen has its own.
    pub size: Size,
    /// Pictures a second.
    pub rate: Rate,
    /// Where sound comes from.
    pub sound: SoundSource,
    /// For how long; until it is stopped by default, and for [`LENGTH_MAX`] at most.
    pub duration: Option<Nanos>,
}

/// The longest clip.
pub const LENGTH_MAX: Nanos = Nanos::from_secs(3600);
/// How often the stamps are stored.
pub const SAVE: Duration = Duration::from_secs(2);
/// The bytes of pictures that wait to be encoded, and the least and the most of their number.
const QUEUE_BYTES: usize = 128 << 20;
const QUEUE: (usize, usize) = (3, 64);
/// Pieces that wait: 40 s of blocks of 10 ms.
const PIECES_MAX: usize = 4096;
/// The most bytes before the first cluster of a clip; ffmpeg writes about 700.
const HEADER_MAX: u64 = 64 << 10;
/// How long sources may take for what they took before the end of the clip.
const GRACE: Nanos = Nanos::from_secs(5);
/// How long a source may take for a picture when the clip is to end.
const BREAK_AFTER: Duration = Duration::from_millis(500);
/// How often the recorder looks what has happened, and how often it reports.
const LOOK: Duration = Duration::from_millis(20);
const REPORT: Duration = Duration::from_millis(250);

/// Where a recorder stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How long it has recorded.
    pub elapsed: Nanos,
    /// The pictures so far.
    pub pictures: u64,
    /// What is missing: pictures, and samples of sound.
    pub missing: (u64, u64),
    /// The bytes of the clip so far.
    pub bytes: u64,
    /// Nothing more is recorded: the encoder completes the clip.
    pub is_over: bool,
}

impl Progress {
    fn of(timing: &Timing, part: &Path, is_over: bool) -> Self {
        let picture = timing.picture.as_ref();
        let sound = timing.sound.as_ref();
        Self {
            elapsed: clock::now::<Monotonic>() - timing.origin,
            pictures: picture.map_or(0, |picture| picture.stamps.len() as u64),
            missing: (
                picture.map_or(0, |picture| picture.missing),
                sound.map_or(0, |sound| sound.missing),
            ),
            bytes: fs::metadata(part).map_or(0, |part| part.len()),
            is_over,
        }
    }
}

/// A clip that is complete.
#[derive(Debug)]
pub struct Recorded {
    /// Its stamps, which are stored [beside] it.
    pub timing: Timing,
    /// Why it ended early, if a source has ended.
    pub ended: Option<SourceError>,
}

/// Why a source has ended.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// That of the pictures.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// That of the sound.
    #[error(transparent)]
    Sound(#[from] NoSound),
}

/// Why nothing was recorded, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// There is nothing to record.
    #[error("there is nothing to record: both sources are `none`")]
    Nothing,
    /// It ended at once.
    #[error("no picture and no sound was recorded")]
    Empty,
    /// A source does not work.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The encoder does not start.
    #[error(transparent)]
    Encoder(#[from] FfmpegError),
    /// The clip cannot be written.
    #[error("cannot write {}: {error}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The encoder has failed before it wrote a part that can be played.
    #[error("{0}; it has not written a second of the clip, so there is no file")]
    Lost(FfmpegError),
    /// The encoder has failed.
    #[error("{error}; {} has what was recorded until then", .part.display())]
    Cut {
        /// The reason.
        error: FfmpegError,
        /// The file, with its stamps beside it.
        part: PathBuf,
    },
}

/// The way from the sources to the writer.
#[derive(Clone)]
struct Queue<'q> {
    sender: SyncSender<Piece>,
    /// The pictures that wait, and the most of them.
    pictures: &'q AtomicUsize,
    pictures_max: usize,
    /// The sources shall end.
    ending: &'q AtomicBool,
}

/// What a source has taken.
enum Piece {
    /// So many pictures that had no room.
    Missing(u64),
    Picture(Taken, Vec<u8>),
    Sound(Heard, Vec<f32>),
}

/// Records a clip until `stop` is set, the duration is over or a source ends.
///
/// `report` is called some times a second.
///
/// # Errors
/// A source or the encoder does not work, or the clip cannot be written.
pub fn record(
    plan: &Plan,
    clip: &Path,
    stop: &AtomicBool,
    report: &mut dyn FnMut(&Progress),
) -> Result<Recorded, RecordError> {
    Recorder::open(plan)?.record(clip, stop, report)
}

/// A recorder whose sources are open.
pub struct Recorder<'p> {
    plan: &'p Plan,
    sources: Sources,
}

impl<'p> Recorder<'p> {
    /// Opens the sources. A display has 5 s for an answer, a sound server
    /// [`OPEN_MOST`](tactus_sound::patience::OPEN_MOST).
    ///
    /// # Errors
    /// A source does not work.
    pub fn open(plan: &'p Plan) -> Result<Self, RecordError> {
        Ok(Self { plan, sources: Sources::open(plan)? })
    }

    /// Records a clip, as [`record`] does.
    ///
    /// # Errors
    /// As for [`record`].
    pub fn record(
        self,
        clip: &Path,
        stop: &AtomicBool,
        report: &mut dyn FnMut(&Progress),
    ) -> Result<Recorded, RecordError> {
        let Self { plan, mut sources } = self;
        record_from(plan, &mut sources, clip, stop, report)
    }
}

fn record_from(
    plan: &Plan,
    sources: &mut Sources,
    clip: &Path,
    stop: &AtomicBool,
    report: &mut dyn FnMut(&Progress),
) -> Result<Recorded, RecordError> {
    let unwritten = |path: &Path| {
        let path = path.to_owned();
        move |error| RecordError::Write { path, error }
    };
    let mut file = WholeFile::create_with_part(clip, Readers::Usual).map_err(unwritten(clip))?;
    let not_a_file = || unwritten(clip)(io::Error::other("it is not a regular file"));
    let part = file.keep_part().map(Path::to_owned).ok_or_else(not_a_file)?;
    let recorded =
        record_into(&part, plan, sources, stop, report).and_then(|(timing, ended)| {
            match (timing.is_empty(), ended) {
                (true, ended) => Err(ended.map_or(RecordError::Empty, RecordError::from)),
                (false, ended) => Ok((timing, ended)),
            }
        });
    let (mut timing, ended) = match recorded {
        Ok(recorded) => recorded,
        Err(error @ RecordError::Cut { .. }) => return Err(error),
        Err(error) => {
            let _ = fs::remove_file(beside(&part));
            file.discard();
            return Err(error);
        }
    };
    let digest = File::open(&part).and_then(Digest::read).map_err(unwritten(&part))?;
    timing.video = Some(digest);
    save(&timing, &beside(clip)).map_err(unwritten(&beside(clip)))?;
    if let Err(error) = file.finish() {
        // Stamps without a clip are of no use.
        let _ = fs::remove_file(beside(clip));
        return Err(unwritten(clip)(error));
    }
    let _ = fs::remove_file(beside(&part));
    Ok(Recorded { timing, ended })
}

/// Stores stamps, completely or not at all.
fn save(timing: &Timing, path: &Path) -> io::Result<()> {
    let mut file = WholeFile::create(path, Readers::Usual)?;
    io::Write::write_all(&mut file, &timing.bytes())?;
    file.finish()
}

/// The sources of a clip, open.
struct Sources {
    pictures: Option<(Box<dyn Pictures>, Size)>,
    sounds: Option<Box<dyn Sounds>>,
}

impl Sources {
    fn open(plan: &Plan) -> Result<Self, RecordError> {
        let Plan { picture, display, size, rate, sound, .. } = plan;
        let pictures: Option<(Box<dyn Pictures>, Size)> = match picture {
            PictureSource::Absent => None,
            PictureSource::Synthetic => Some((Box::new(Pattern::new(*rate, *size)), *size)),
            PictureSource::Screen => {
                let grab = ScreenGrab::open(display.as_deref(), *rate);
                let grab = grab.map_err(SourceError::from)?;
                let size = grab.size();
                Some((Box::new(grab), size))
            }
            PictureSource::Camera(device) => {
                let camera = Camera::open(device, *rate, *size).map_err(SourceError::from)?;
                Some((Box::new(camera), *size))
            }
        };
        let sounds: Option<Box<dyn Sounds>> = match sound {
            SoundSource::Absent => None,
            SoundSource::Synthetic => Some(Box::new(Tone::new())),
            SoundSource::Microphone(peer) => {
                Some(Box::new(Microphone::open(peer).map_err(SourceError::from)?))
            }
        };
        match (&pictures, &sounds) {
            (None, None) => Err(RecordError::Nothing),
            _ => Ok(Self { pictures, sounds }),
        }
    }

    fn tracks(&self) -> Vec<Track> {
        let picture = self.pictures.iter().map(|(_, size)| Track::Picture(size.width, size.height));
        let sound = self.sounds.iter().map(|sounds| Track::Sound(sounds.rate(), 1));
        picture.chain(sound).collect()
    }

    /// Starts a thread for each, which takes what there is until the end.
    fn start<'s>(
        &'s mut self,
        scope: &'s Scope<'s, '_>,
        (origin, until): (Moment, Moment),
        queue: &Queue<'s>,
    ) -> Vec<ScopedJoinHandle<'s, Result<(), SourceError>>> {
        let mut threads = Vec::new();
        if let Some((pictures, size)) = &mut self.pictures {
            let (queue, size) = (queue.clone(), *size);
            threads.push(scope.spawn(move || {
                pictures.begin(origin);
                Ok(take_pictures(&mut **pictures, size, until, &queue)?)
            }));
        }
        if let Some(sounds) = &mut self.sounds {
            let queue = queue.clone();
            threads.push(scope.spawn(move || {
                sounds.begin(origin);
                Ok(take_sound(&mut **sounds, until, &queue)?)
            }));
        }
        threads
    }

    /// What ends a wait for a picture.
    fn breaker(&self) -> Result<Option<Breaker>, RecordError> {
        let breaker = self.pictures.as_ref().map(|(pictures, _)| pictures.breaker()).transpose();
        Ok(breaker.map_err(SourceError::from)?.flatten())
    }

    /// How many pictures may wait.
    fn queue(&self) -> usize {
        let picture = self.pictures.as_ref().map_or(1, |(_, size)| bytes_of(*size));
        (QUEUE_BYTES / picture).clamp(QUEUE.0, QUEUE.1)
    }
}

const fn bytes_of(size: Size) -> usize {
    size.width as usize * size.height as usize * PIXEL
}

/// Records into a file that exists; returns the stamps, and why a source has ended.
fn record_into(
    part: &Path,
    plan: &Plan,
    sources: &mut Sources,
    stop: &AtomicBool,
    report: &mut dyn FnMut(&Progress),
) -> Result<(Timing, Option<SourceError>), RecordError> {
    let tracks = sources.tracks();
    let Started { mut encoder, input, sound_delay } =
        encoder::start(part, &tracks, plan.rate.as_f64())?;
    let origin = clock::now::<Monotonic>();
    let until = origin + plan.duration.unwrap_or(LENGTH_MAX).min(LENGTH_MAX);
    let stamps = Stamps::new(plan, &tracks, origin);
    let (length, period, out) = (until - origin, plan.rate.period(), input);
    let writer = Writer { stamps: &stamps, tracks: &tracks, length, period, sound_delay, out };
    let (sender, pieces) = sync_channel(PIECES_MAX);
    let (pictures, ending) = (AtomicUsize::new(0), AtomicBool::new(false));
    let pictures_max = sources.queue();
    let breaker = sources.breaker()?;
    let ended = thread::scope(|scope| {
        let queue = Queue { sender, pictures: &pictures, pictures_max, ending: &ending };
        let threads = sources.start(scope, (origin, until), &queue);
        // The writer ends when the sources have.
        drop(queue);
        let waiting = &pictures;
        let writing = scope.spawn(move || writer.run(&pieces, waiting));
        let is_over = || {
            let now = clock::now::<Monotonic>();
            let ended = threads.iter().filter(|thread| thread.is_finished()).count();
            // A source ends with what it takes after the end of the clip.
            let have_ended = ended == threads.len() || ended > 0 && now < until;
            stop.load(Ordering::Relaxed)
                || have_ended
                || writing.is_finished()
                || now >= until + GRACE
        };
        let (mut reported, mut saved) = (Instant::now(), Instant::now());
        while !is_over() {
            if reported.elapsed() >= REPORT {
                reported = Instant::now();
                report(&Progress::of(&stamps.lock(), part, false));
            }
            if saved.elapsed() >= SAVE {
                saved = Instant::now();
                let timing = stamps.lock().clone();
                // The clip goes on without: a full disk ends the encoder, which has the reason.
                let _ = save(&timing, &beside(part));
            }
            encoder.look(false);
            thread::sleep(LOOK);
        }
        ending.store(true, Ordering::Relaxed);
        report(&Progress::of(&stamps.lock(), part, true));
        let (began, end) = (Instant::now(), clock::now::<Monotonic>());
        let (mut breaker, mut is_broken) = (breaker, false);
        while !writing.is_finished() && began.elapsed() < encoder::PATIENCE {
            // A display that is stopped does not delay the end.
            if began.elapsed() >= BREAK_AFTER
                && threads.iter().any(|thread| !thread.is_finished())
                && let Some(end) = breaker.take()
            {
                end();
                is_broken = true;
            }
            encoder.look(true);
            thread::sleep(LOOK);
        }
        if !writing.is_finished() {
            // It reads no more: a broken pipe ends the writer.
            encoder.kill(FfmpegError::Hangs(encoder::PATIENCE));
        }
        if joined(writing) {
            encoder.kill(FfmpegError::Hangs(encoder::PATIENCE));
        }
        let ended = threads.into_iter().filter_map(|thread| joined(thread).err()).next();
        let is_silent = matches!(ended, Some(SourceError::Picture(PictureError::Silent)));
        if is_broken || is_silent {
            count_missing(&mut stamps.lock(), end.min(until), plan.rate.period());
        }
        // Who ends the clip does not wait for a display, so nobody knows whether it would answer.
        let is_asked = is_broken && stop.load(Ordering::Relaxed);
        ended.filter(|error| !(is_asked && matches!(error, SourceError::Picture(_))))
    });
    let timing = stamps.into_inner();
    match encoder.finish(encoder::PATIENCE) {
        Ok(()) => Ok((timing, ended)),
        // An encoder that gets nothing fails too.
        Err(error) if timing.is_empty() => Err(ended.map_or(error.into(), RecordError::from)),
        Err(error) if !has_content(part) => Err(RecordError::Lost(error)),
        Err(error) => {
            // A full disk may not have room for them.
            let _ = save(&timing, &beside(part));
            Err(RecordError::Cut { error, part: part.to_owned() })
        }
    }
}

/// Counts the pictures that were due since the last one as missing.
fn count_missing(timing: &mut Timing, end: Moment, period: Nanos) {
    let origin = timing.origin;
    if let Some(picture) = &mut timing.picture {
        let last = picture.stamps.last().map_or(origin, |stamp| origin + *stamp);
        picture.missing += (end - last).div_floor(period);
    }
}

/// Whether a clip has more than a header: what is recorded comes in clusters. A header ends before
/// [`HEADER_MAX`].
fn has_content(part: &Path) -> bool {
    let mut begin = Vec::new();
    let read = File::open(part).and_then(|part| part.take(HEADER_MAX).read_to_end(&mut begin));
    read.is_ok() && begin.windows(CLUSTER.len()).any(|bytes| bytes == CLUSTER)
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Takes pictures until the end of the clip or of the writer. One without room is missing.
fn take_pictures(
    pictures: &mut dyn Pictures,
    size: Size,
    until: Moment,
    queue: &Queue<'_>,
) -> Result<(), PictureError> {
    let mut unsent = 0;
    while !queue.ending.load(Ordering::Relaxed) {
        let mut pixels = vec![0; bytes_of(size)];
        let mut taken = pictures.take(&mut pixels)?;
        taken.missing += unsent;
        let is_last = taken.at >= until;
        if !is_last && queue.pictures.load(Ordering::Relaxed) >= queue.pictures_max {
            unsent = taken.missing + 1;
            continue;
        }
        unsent = 0;
        queue.pictures.fetch_add(1, Ordering::Relaxed);
        if queue.sender.send(Piece::Picture(taken, pixels)).is_err() || is_last {
            return Ok(());
        }
    }
    // A writer that has ended counts no more.
    let _ = queue.sender.send(Piece::Missing(unsent));
    Ok(())
}

/// Takes sound until the end of the clip or of the writer.
fn take_sound(sounds: &mut dyn Sounds, until: Moment, queue: &Queue<'_>) -> Result<(), NoSound> {
    while !queue.ending.load(Ordering::Relaxed) {
        let mut samples = Vec::new();
        let Some(heard) = sounds.take(&mut samples)? else { continue };
        if queue.sender.send(Piece::Sound(heard, samples)).is_err() || heard.at >= until {
            return Ok(());
        }
    }
    Ok(())
}
