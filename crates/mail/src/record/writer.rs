//! The writer: passes what was taken to the encoder, and keeps the stamps.

use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tactus_model::time::Nanos;

use super::{Piece, Plan};
use crate::Moment;
use crate::matroska::{self, Track};
use crate::pictures::Taken;
use crate::sound::Heard;
use crate::timing::{BLOCKS_MAX, Block, PICTURES_MAX, PictureTiming, SoundTiming, Timing, VERSION};

/// WebM has whole milliseconds: pictures that are closer than this could get the same one.
const CLOSEST: Nanos = Nanos::from_millis(2);

/// The stamps so far.
pub(super) struct Stamps(Mutex<Timing>);

impl Stamps {
    /// Those of a clip that begins at `origin`.
    pub(super) fn new(plan: &Plan, tracks: &[Track], origin: Moment) -> Self {
        let mut timing =
            Timing { version: VERSION, origin, picture: None, sound: None, video: None };
        for track in tracks {
            match *track {
                Track::Picture(width, height) => {
                    let source = plan.picture.to_string();
                    let (stamps, within, missing) = (Vec::new(), Nanos::ZERO, 0);
                    let found = PictureTiming { source, width, height, stamps, within, missing };
                    timing.picture = Some(found);
                }
                Track::Sound(rate, channels) => {
                    let source = plan.sound.to_string();
                    let (blocks, missing) = (Vec::new(), 0);
                    timing.sound = Some(SoundTiming { source, rate, channels, blocks, missing });
                }
            }
        }
        Self(Mutex::new(timing))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Timing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn into_inner(self) -> Timing {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes pieces to the encoder.
pub(super) struct Writer<'s, W> {
    /// What was passed, and when it was taken.
    pub(super) stamps: &'s Stamps,
    /// The tracks, in the order of their numbers.
    pub(super) tracks: &'s [Track],
    /// How long the clip is at most.
    pub(super) length: Nanos,
    /// The time from one picture to the next.
    pub(super) period: Nanos,
    /// How much later the encoder gets sound.
    pub(super) sound_delay: Nanos,
    /// The pipe to the encoder.
    pub(super) out: W,
}

impl<W: Write> Writer<'_, W> {
    /// Writes until the sources or the encoder end. Dropping the pipe ends the encoder.
    /// `waiting` counts the pictures that come. Returns whether the encoder reads nothing any more.
    pub(super) fn run(mut self, pieces: &Receiver<Piece>, waiting: &AtomicUsize) -> bool {
        while let Ok(piece) = pieces.recv() {
            let written = match piece {
                Piece::Picture(taken, pixels) => {
                    let written = self.picture(taken, &pixels);
                    drop(pixels);
                    waiting.fetch_sub(1, Ordering::Relaxed);
                    written
                }
                Piece::Missing(pictures) => {
                    let mut stamps = self.stamps.lock();
                    stamps.picture.iter_mut().for_each(|picture| picture.missing += pictures);
                    Ok(())
                }
                Piece::Sound(heard, samples) => self.sound(heard, &samples),
            };
            if let Err(error) = written {
                return hangs(&error);
            }
        }
        // A broken pipe is reported by the encoder.
        self.out.flush().is_err_and(|error| hangs(&error))
    }

    fn picture(&mut self, taken: Taken, pixels: &[u8]) -> io::Result<()> {
        let mut stamps = self.stamps.lock();
        let origin = stamps.origin;
        let Some(picture) = &mut stamps.picture else { return Ok(()) };
        let Some(time) = self.place(origin, taken.at) else {
            // Some of those that are missing before it may be due in the clip.
            if taken.at > origin {
                let after = (taken.at - (origin + self.length)).div_floor(self.period);
                picture.missing += taken.missing.saturating_sub(after);
            }
            return Ok(());
        };
        picture.missing += taken.missing;
        let is_close = picture.stamps.last().is_some_and(|last| time < *last + CLOSEST);
        if is_close || picture.stamps.len() >= PICTURES_MAX {
            picture.missing += 1;
            return Ok(());
        }
        picture.stamps.push(time);
        picture.within = picture.within.max(taken.within);
        drop(stamps);
        let track = self.number(|track| matches!(track, Track::Picture(..)));
        matroska::write_block(&mut self.out, track, time, pixels)
    }

    fn sound(&mut self, heard: Heard, samples: &[f32]) -> io::Result<()> {
        let mut stamps = self.stamps.lock();
        let Some(time) = self.place(stamps.origin, heard.at) else { return Ok(()) };
        let Some(sound) = &mut stamps.sound else { return Ok(()) };
        let end = sound.blocks.last().map(|last| last.0 + u64::from(last.1));
        // What was missing before the clip is not.
        sound.missing += if end.is_some() { heard.missing } else { 0 };
        let is_known = end.is_none_or(|end| heard.position >= end);
        if !is_known || heard.samples == 0 || sound.blocks.len() >= BLOCKS_MAX {
            sound.missing += u64::from(heard.samples);
            return Ok(());
        }
        sound.blocks.push(Block(heard.position, heard.samples, time));
        drop(stamps);
        let track = self.number(|track| matches!(track, Track::Sound(..)));
        let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        matroska::write_block(&mut self.out, track, time + self.sound_delay, &bytes)
    }

    /// The time of a stamp in the clip; `None` outside of it.
    fn place(&self, origin: Moment, at: Moment) -> Option<Nanos> {
        let time = at - origin;
        (at >= origin && time < self.length).then_some(time)
    }

    /// The number of a track, from 1.
    fn number(&self, is_wanted: impl Fn(&Track) -> bool) -> u8 {
        // There are two at most.
        self.tracks.iter().position(is_wanted).map_or(0, |place| place as u8 + 1)
    }
}

fn hangs(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::TimedOut
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;
    use crate::{PictureSource, SoundSource};

    /// More pictures than a test has.
    const PIECES: usize = 100;
    const ORIGIN: u64 = 1_000_000_000;

    fn at(millis: u64) -> Moment {
        Moment::from_nanos(ORIGIN + millis * 1_000_000)
    }

    fn picture(millis: u64, missing: u64) -> Piece {
        let within = Nanos::from_nanos(millis);
        Piece::Picture(Taken { at: at(millis), within, missing }, vec![0; 16])
    }

    fn sound(position: u64, missing: u64) -> Piece {
        let heard = Heard { position, samples: 2, at: at(position), missing };
        Piece::Sound(heard, vec![0.5; 2])
    }

    /// The stamps after these pieces, of a clip of one second.
    fn written(pieces: Vec<Piece>) -> Timing {
        let plan = Plan {
            picture: PictureSource::Synthetic,
            display: None,
            size: "16x16".parse().unwrap(),
            rate: "25".parse().unwrap(),
            sound: SoundSource::Synthetic,
            duration: None,
        };
        let tracks = [Track::Picture(2, 2), Track::Sound(1000, 1)];
        let (sender, receiver) = sync_channel(pieces.len());
        pieces.into_iter().for_each(|piece| sender.send(piece).unwrap());
        drop(sender);
        let stamps = Stamps::new(&plan, &tracks, at(0));
        let (length, sound_delay) = (Nanos::from_secs(1), Nanos::ZERO);
        let period = plan.rate.period();
        let (stamps_of, out) = (&stamps, io::sink());
        let writer =
            Writer { stamps: stamps_of, tracks: &tracks, length, period, sound_delay, out };
        writer.run(&receiver, &AtomicUsize::new(PIECES));
        stamps.into_inner()
    }

    #[test]
    fn what_is_outside_of_the_clip_or_too_close_is_not_written() {
        let before = Piece::Picture(
            Taken { at: Moment::from_nanos(ORIGIN - 1), within: Nanos::ZERO, missing: 9 },
            vec![0; 16],
        );
        let pieces = vec![
            before,
            picture(0, 0),
            picture(40, 0),
            picture(41, 0),
            picture(120, 1),
            picture(1000, 0),
        ];
        let found = written(pieces).picture.unwrap();
        assert_eq!(found.stamps, [0, 40, 120].map(Nanos::from_millis));
        assert_eq!((found.missing, found.within), (2, Nanos::from_nanos(120)));
    }

    #[test]
    fn blocks_keep_their_positions() {
        let pieces = vec![sound(10, 5), sound(12, 0), sound(20, 6), sound(3, 0)];
        let found = written(pieces).sound.unwrap();
        let positions: Vec<u64> = found.blocks.iter().map(|block| block.0).collect();
        assert_eq!((positions, found.missing), (vec![10, 12, 20], 8));
    }
}
