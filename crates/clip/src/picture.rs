//! Frames with their times.

use tactus_model::pixels::PixelFormat;
use tactus_playback::MediaTime;

use crate::error::ClipError;
use crate::probe::{Clip, Picture};
use crate::process::{self, Running, Stopper};

/// The name that ffmpeg has for a format.
const fn word(format: PixelFormat) -> &'static str {
    match format {
        PixelFormat::Bgr0 => "bgr0",
        PixelFormat::Rgb0 => "rgb0",
        PixelFormat::Rgb565 if cfg!(target_endian = "big") => "rgb565be",
        PixelFormat::Rgb565 => "rgb565le",
        PixelFormat::Rgb555 if cfg!(target_endian = "big") => "rgb555be",
        PixelFormat::Rgb555 => "rgb555le",
        PixelFormat::Bgr233 => "bgr8",
        PixelFormat::Gray => "gray",
    }
}

/// What frames are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureSpec {
    /// The first frame has this time or a later one.
    pub from: MediaTime,
    /// Their width in pixels.
    pub width: u32,
    /// Their height in pixels.
    pub height: u32,
    /// Their pixels.
    pub format: PixelFormat,
}

impl PictureSpec {
    /// The bytes of a frame; its lines follow each other without gaps.
    pub fn frame_bytes(&self) -> usize {
        self.width as usize * self.height as usize * self.format.bytes()
    }
}

/// Decodes the picture of a clip. The thread that starts it reads it: the decoder ends with it.
pub struct PictureDecoder {
    running: Running,
    bytes: usize,
    begins: MediaTime,
    stamps: Vec<MediaTime>,
    /// Frames without an exact time, of a clip that has exact times.
    unstamped: u64,
    picture: Picture,
    /// The time after the last frame, for frames without a stamp.
    next: MediaTime,
}

impl PictureDecoder {
    /// Starts a decoder; `None` if the clip has no picture.
    ///
    /// # Errors
    /// It does not start.
    pub fn start(clip: &Clip, spec: &PictureSpec) -> Result<Option<Self>, ClipError> {
        let Some(picture) = clip.picture.clone() else { return Ok(None) };
        let PictureSpec { from, width, height, format } = *spec;
        let mut command = process::decode(&clip.path, from.as_secs_f64());
        command.args(["-map", &format!("0:{}", picture.index), "-an", "-sn", "-dn"]);
        command.args(["-vf", &process::stamping(width, height, word(format))]);
        command.args(process::EACH_FRAME);
        command.args(["-f", "rawvideo", "pipe:1"]);
        let running = Running::start(command, "picture")?;
        let bytes = spec.frame_bytes();
        let (begins, stamps) = (clip.begins, clip.stamps.clone());
        Ok(Some(Self { running, bytes, begins, stamps, unstamped: 0, picture, next: from }))
    }

    /// Ends it from another thread.
    pub fn stopper(&self) -> Stopper {
        self.running.stopper()
    }

    /// Reads the next frame into a buffer of [`PictureSpec::frame_bytes`], and returns its time;
    /// `None` at the end of the clip.
    ///
    /// # Errors
    /// The decoder failed or was killed.
    ///
    /// # Panics
    /// The buffer has another size.
    pub fn read(&mut self, frame: &mut [u8]) -> Result<Option<MediaTime>, ClipError> {
        assert_eq!(frame.len(), self.bytes, "a buffer for another size of frames");
        if !self.running.read_all(frame)? {
            return self.running.failure().map_or(Ok(None), Err);
        }
        // It was written before its frame.
        let stamp = self.running.stamps.recv().ok().flatten();
        let exact = stamp.and_then(|stamp| exact(&self.stamps, stamp));
        self.unstamped += u64::from(exact.is_none() && !self.stamps.is_empty());
        let relative =
            |stamp: i64| MediaTime::from_nanos(stamp.saturating_sub(self.begins.as_nanos()));
        let time = exact.or(stamp).map_or(self.next, relative);
        self.next = time.after(self.picture.period);
        Ok(Some(time))
    }

    /// How many frames had no exact time, although the clip has exact times.
    pub fn unstamped(&self) -> u64 {
        self.unstamped
    }

    /// What the decoder has complained about, in one line. Call it after the last frame.
    pub fn complaints(&mut self) -> String {
        self.running.messages()
    }
}

/// How far a container rounds times.
const ROUNDING: u64 = 1_000_000;

/// The exact time of a frame with this stamp: the nearest one, if it is as near as rounding leaves it.
fn exact(stamps: &[MediaTime], stamp: i64) -> Option<i64> {
    let after = stamps.partition_point(|exact| exact.as_nanos() < stamp);
    let near = stamps[after.saturating_sub(1)..].iter().take(2).map(|exact| exact.as_nanos());
    let distance = |exact: &i64| exact.abs_diff(stamp);
    near.min_by_key(distance).filter(|exact| distance(exact) <= ROUNDING)
}

/// The first frame of a clip, e.g. for a thumbnail.
///
/// # Errors
/// The clip has no picture, or cannot be decoded.
pub fn first_frame(clip: &Clip, spec: &PictureSpec) -> Result<Vec<u8>, ClipError> {
    let no_frame = |reason: &str| ClipError::Decoder { kind: "picture", reason: reason.to_owned() };
    let decoder = PictureDecoder::start(clip, spec)?;
    let mut decoder = decoder.ok_or_else(|| no_frame("the clip has no picture"))?;
    let mut frame = vec![0; spec.frame_bytes()];
    match decoder.read(&mut frame)? {
        Some(_) => Ok(frame),
        None => Err(no_frame("the clip has no frame")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_made_exact_by_the_nearest_one() {
        let stamps = [0, 40_200_000, 41_900_000].map(MediaTime::from_nanos);
        for (stamp, wanted) in [
            (0, Some(0)),
            (-1_000_000, Some(0)),
            (40_000_000, Some(40_200_000)),
            (41_000_000, Some(40_200_000)),
            (42_000_000, Some(41_900_000)),
            (80_000_000, None),
        ] {
            assert_eq!(exact(&stamps, stamp), wanted, "{stamp}");
        }
        assert_eq!(exact(&[], 7), None);
    }
}
