//! Makes a clip of flashes and tones: frames and samples of our own, encoded by ffmpeg.
//!
//! The picture is H.264 with frames that refer to later ones, as in most clips. The sound is not
//! compressed: a codec with a delay would move it. QuickTime keeps exact times of both.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tactus_clip::ffmpeg::{self, Ffmpeg, FfmpegError};
use tactus_synchrony::Clip;
use tactus_synchrony::clip::SAMPLE_RATE;
use tactus_sys::process::die_with_parent;

/// How long ffmpeg may read nothing, and how long it may take for what is on its way.
const SILENT_MOST: Duration = Duration::from_secs(30);

/// Why there is no clip.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// ffmpeg does not work.
    #[error("cannot make the clip: {0}")]
    Ffmpeg(#[from] FfmpegError),
    /// A file cannot be written.
    #[error("cannot write the clip: {0}")]
    File(#[from] io::Error),
    /// The samples cannot be written.
    #[error("cannot write the sound of the clip: {0}")]
    Sound(#[from] hound::Error),
}

impl MakeError {
    /// What the user can do about it.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Ffmpeg(error) => error.hint(),
            Self::File(_) | Self::Sound(_) => None,
        }
    }
}

/// Makes a clip in a folder, and returns its file. After each frame it calls `continues` with the
/// frames so far, and ends if that is not to be.
///
/// # Errors
/// See [`MakeError`].
pub fn make(
    clip: &Clip,
    folder: &Path,
    continues: &mut dyn FnMut(u32) -> bool,
) -> Result<PathBuf, MakeError> {
    let name =
        format!("clip-{}x{}-{}-{}", clip.width, clip.height, clip.rate, clip.shift.as_nanos());
    let (sound, file) = (folder.join(format!("{name}.wav")), folder.join(format!("{name}.mov")));
    write_sound(clip, &sound)?;
    let mut encoder = encoder(clip, &sound, &file)?;
    let mut input = encoder.take_input(SILENT_MOST)?;
    let mut picture = vec![0; usize::from(clip.width) * usize::from(clip.height)];
    for number in 0..clip.frames() {
        clip.draw(number as u16, &mut picture);
        if input.write_all(&picture).is_err() || !continues(number + 1) {
            break;
        }
    }
    drop(input);
    encoder.finish(SILENT_MOST)?;
    fs::remove_file(&sound)?;
    Ok(file)
}

fn write_sound(clip: &Clip, file: &Path) -> Result<(), hound::Error> {
    let spec = hound::WavSpec {
        channels: 1,
        sample_rate: SAMPLE_RATE,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut writer = hound::WavWriter::create(file, spec)?;
    for position in 0..clip.samples() {
        writer.write_sample((clip.sample(position) * f32::from(i16::MAX)).round() as i16)?;
    }
    writer.finalize()
}

/// Starts ffmpeg, which reads pictures from its input and ends with the calling thread.
fn encoder(clip: &Clip, sound: &Path, file: &Path) -> Result<Ffmpeg, FfmpegError> {
    let size = format!("{}x{}", clip.width, clip.height);
    let rate = clip.rate.to_string();
    let mut command = ffmpeg::command();
    command
        .args(["-y", "-f", "rawvideo", "-pixel_format", "gray", "-video_size", &size])
        .args(["-framerate", &rate, "-i", "pipe:0", "-i"])
        .arg(sound)
        .args(["-map", "0:v", "-map", "1:a", "-vf", "scale=in_range=pc:out_range=tv"])
        .args(["-c:v", "libx264", "-preset", "veryfast", "-crf", "18", "-pix_fmt", "yuv420p"])
        .args(["-c:a", "pcm_s16le", "-f", "mov"])
        .arg(file)
        .stdin(Stdio::piped());
    die_with_parent(&mut command);
    Ffmpeg::start(&mut command)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use tactus_synchrony::SignedNanos;
    use tactus_testing::{Need, require};

    use super::*;

    #[test]
    fn a_clip_has_its_streams() {
        let folder = tempfile::tempdir().unwrap();
        let clip = Clip { width: 320, height: 180, rate: 25, seconds: 3, shift: SignedNanos::ZERO };
        let mut frames = 0;
        let made = make(&clip, folder.path(), &mut |so_far| {
            frames = so_far;
            true
        });
        let Some(file) = require(Need::Peers, made) else { return };
        assert_eq!(frames, clip.frames());
        let probe = Command::new("ffprobe")
            .args(["-v", "error", "-count_frames", "-show_entries"])
            .args(["stream=codec_name,start_time,nb_read_frames,duration", "-of", "csv=p=0"])
            .arg(&file)
            .output()
            .unwrap();
        let text = String::from_utf8(probe.stdout).unwrap();
        assert!(text.contains("h264,0.000000,3.000000,75"), "{text}");
        assert!(text.contains("pcm_s16le,0.000000,3.000000"), "{text}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "only the clip is left");
    }

    #[test]
    fn what_ffmpeg_refuses_is_an_error_with_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        let clip = Clip { width: 321, height: 180, rate: 25, seconds: 3, shift: SignedNanos::ZERO };
        match make(&clip, folder.path(), &mut |_| true) {
            Err(MakeError::Ffmpeg(error @ FfmpegError::NotInstalled)) => {
                tactus_testing::skip(Need::Peers, error);
            }
            Err(MakeError::Ffmpeg(FfmpegError::Failed(reason))) => {
                assert!(reason.contains("width"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
}
