//! Makes a clip of flashes and tones: frames and samples of our own, encoded by ffmpeg.
//!
//! The picture is H.264 with frames that refer to later ones, as in most clips. The sound is not
//! compressed: a codec with a delay would move it. QuickTime keeps exact times of both.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tactus_synchrony::Clip;
use tactus_synchrony::clip::SAMPLE_RATE;
use tactus_sys::process::die_with_parent;
use tactus_wire::{LastWords, PatientInput};

/// How long to wait for what ffmpeg says at its end.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long ffmpeg may read nothing, and how long it may take for what is on its way.
const SILENT_MOST: Duration = Duration::from_secs(30);
const STEP: Duration = Duration::from_millis(10);

/// Why there is no clip.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// ffmpeg is not in `PATH`.
    #[error("ffmpeg is not installed")]
    NotInstalled,
    /// It fails.
    #[error("ffmpeg cannot make the clip: {0}")]
    Ffmpeg(String),
    /// It does not read its input, or does not end after it.
    #[error("ffmpeg did not answer for {} s and was killed", SILENT_MOST.as_secs())]
    Hangs,
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
            Self::NotInstalled => Some("apt-get install ffmpeg"),
            Self::Ffmpeg(_) | Self::Hangs | Self::File(_) | Self::Sound(_) => None,
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
    let mut encoder = Encoder::start(clip, &sound, &file)?;
    let mut picture = vec![0; usize::from(clip.width) * usize::from(clip.height)];
    for number in 0..clip.frames() {
        clip.draw(number as u16, &mut picture);
        if encoder.write(&picture).is_err() || !continues(number + 1) {
            break;
        }
    }
    encoder.finish()?;
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

/// A running ffmpeg. It is killed if it is not finished.
struct Encoder {
    process: Child,
    input: Option<PatientInput>,
    complaints: Option<LastWords>,
}

impl Encoder {
    fn start(clip: &Clip, sound: &Path, file: &Path) -> Result<Self, MakeError> {
        let size = format!("{}x{}", clip.width, clip.height);
        let rate = clip.rate.to_string();
        let mut command = Command::new("ffmpeg");
        command
            .args(["-hide_banner", "-nostdin", "-loglevel", "error", "-y"])
            .args(["-f", "rawvideo", "-pixel_format", "gray", "-video_size", &size])
            .args(["-framerate", &rate, "-i", "pipe:0", "-i"])
            .arg(sound)
            .args(["-map", "0:v", "-map", "1:a", "-vf", "scale=in_range=pc:out_range=tv"])
            .args(["-c:v", "libx264", "-preset", "veryfast", "-crf", "18", "-pix_fmt", "yuv420p"])
            .args(["-c:a", "pcm_s16le", "-f", "mov"])
            .arg(file)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        die_with_parent(&mut command);
        let mut process = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => MakeError::NotInstalled,
            _ => error.into(),
        })?;
        let complaints = process.stderr.take().map(LastWords::listen).transpose()?;
        let input = process.stdin.take().map(|pipe| PatientInput::new(pipe, SILENT_MOST));
        Ok(Self { input: input.transpose()?, complaints, process })
    }

    fn write(&mut self, picture: &[u8]) -> io::Result<()> {
        self.input.as_mut().map_or(Ok(()), |input| input.write_all(picture))
    }

    fn finish(mut self) -> Result<(), MakeError> {
        drop(self.input.take());
        let began = Instant::now();
        let status = loop {
            match self.process.try_wait()? {
                Some(status) => break status,
                None if began.elapsed() >= SILENT_MOST => return Err(MakeError::Hangs),
                None => std::thread::sleep(STEP),
            }
        };
        let said = self.complaints.take().map(|words| words.take(PATIENCE)).unwrap_or_default();
        match status.success() {
            true => Ok(()),
            false if said.is_empty() => Err(MakeError::Ffmpeg(status.to_string())),
            false => Err(MakeError::Ffmpeg(said)),
        }
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
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
            Err(MakeError::NotInstalled) => {
                tactus_testing::skip(Need::Peers, MakeError::NotInstalled);
            }
            Err(MakeError::Ffmpeg(reason)) => assert!(reason.contains("width"), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
}
