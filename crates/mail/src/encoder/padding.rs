//! Whether the encoder's files have their sound too early.
//!
//! Opus begins with samples of the encoder's own, which a player skips. The times of Matroska's
//! blocks include them ([RFC 9559](https://www.rfc-editor.org/rfc/rfc9559), CodecDelay), but ffmpeg 5.1
//! leaves them out: the sound of each of its WebM files comes 6.5 ms before the picture. Later
//! versions differ, so a short clip of silence shows what this one does.

use tactus_clip::ClipError;
use tactus_clip::ffmpeg::{self, FfmpegError};
use tactus_model::time::Nanos;

use crate::matroska::CLUSTER;

/// The most bytes of the clip of silence; it has about 800.
const BYTES_MAX: usize = 64 << 10;
/// The samples that libopus adds: 312 at 48 kHz.
const PADDING: Nanos = Nanos::from_micros(6500);
const SIMPLE_BLOCK: u8 = 0xA3;
/// The bytes from the cluster in which its first block begins.
const NEAR: usize = 32;

/// How much sound must be delayed so that it is in step in the file.
pub(super) fn missing() -> Result<Nanos, FfmpegError> {
    let mut command = ffmpeg::command();
    command.args(["-f", "lavfi", "-i", "anullsrc=r=48000:cl=mono"]);
    command.args(["-t", "0.02", "-c:a", "libopus", "-avoid_negative_ts", "disabled"]);
    command.args(["-f", "webm", "pipe:1"]);
    let output = tactus_clip::output(command, BYTES_MAX).map_err(|error| match error {
        ClipError::NotInstalled(_) => FfmpegError::NotInstalled,
        ClipError::Silent { most, .. } => FfmpegError::Hangs(most),
        error => FfmpegError::Failed(error.to_string()),
    })?;
    match first_block(&output.bytes) {
        Some(time) if time < 0 => Ok(PADDING),
        Some(_) => Ok(Nanos::ZERO),
        None => Err(FfmpegError::Failed("it has no encoder for Opus in WebM".to_owned())),
    }
}

/// The time of the first block of a file after that of its cluster, in milliseconds.
fn first_block(file: &[u8]) -> Option<i16> {
    let cluster = file.windows(CLUSTER.len()).position(|bytes| bytes == CLUSTER)?;
    let near = &file[cluster + CLUSTER.len()..];
    let block = near.iter().take(NEAR).position(|byte| *byte == SIMPLE_BLOCK)?;
    // Its size and its track are a byte each.
    let time = near.get(block + 3..block + 5)?;
    Some(i16::from_be_bytes(time.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_block_shows_whether_its_time_includes_the_padding() {
        // The end of the file of ffmpeg 5.1.
        let cluster = [0x1f, 0x43, 0xb6, 0x75, 0x9e, 0xe7, 0x81, 0];
        let file = |time: i16| {
            let [high, low] = time.to_be_bytes();
            let block = [0xa3, 0x87, 0x81, high, low, 0x80, 0xf8, 0xff, 0xfe];
            [b"OpusHead".as_slice(), &cluster, &block].concat()
        };
        assert_eq!(first_block(&file(-7)), Some(-7));
        assert_eq!(first_block(&file(0)), Some(0));
        assert_eq!(first_block(b"nothing"), None);
        assert_eq!(first_block(&file(0)[..20]), None);
    }
}
