//! The encoder: ffmpeg as a process of its own, which reads raw pictures and samples from a pipe
//! and writes WebM.
//!
//! It ends when the pipe ends, and then completes its file. So it outlives a recorder that is
//! killed, for the moment that this takes, and what was recorded can be played.

mod padding;

use std::io::BufWriter;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tactus_clip::ffmpeg::{self, Ffmpeg, FfmpegError};
use tactus_model::time::Nanos;
use tactus_sys::process::{Limits, limit};
use tactus_wire::PatientInput;

use crate::matroska::{self, Track};

/// What the encoder may use. A clip has an hour at most.
const LIMITS: Limits =
    Limits { memory_bytes: 8 << 30, cpu_seconds: 24 * 3600, open_files: 64, file_bytes: 16 << 30 };
/// How long the encoder may read nothing, and how long it may take for what is on its way.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// Pictures from one that can be decoded alone to the next: what a seek decodes at most.
const KEY_INTERVAL: &str = "50";
/// The longest part of the file that is not written yet, in milliseconds.
const CLUSTER_MS: &str = "1000";
/// Bits of a second of sound.
const SOUND_BITS: &str = "96k";
/// Samples of a second by which sound may be stretched or squeezed to follow its stamps: crystals
/// deviate by 0.01 %.
const RESAMPLE: &str = "aresample=async=480:first_pts=0";

/// An encoder that was started.
pub(crate) struct Started {
    pub(crate) encoder: Ffmpeg,
    /// Its input, with the header written.
    pub(crate) input: BufWriter<PatientInput>,
    /// What sound has to be delayed by, so that it is in step in the file.
    pub(crate) sound_delay: Nanos,
}

/// Starts to encode `tracks` into `file`, which exists.
pub(crate) fn start(file: &Path, tracks: &[Track], rate: f64) -> Result<Started, FfmpegError> {
    let has_sound = tracks.iter().any(|track| matches!(track, Track::Sound(..)));
    let sound_delay = if has_sound { padding::missing()? } else { Nanos::ZERO };
    let mut command = ffmpeg::command();
    command.args(arguments(tracks, rate)).arg(url(file)).stdin(Stdio::piped());
    limit(&mut command, LIMITS);
    // Ctrl-C goes to a group: the recorder gets it, and the encoder ends by its input.
    command.process_group(0);
    let mut encoder = Ffmpeg::start(&mut command)?;
    let mut input = BufWriter::new(encoder.take_input(PATIENCE)?);
    match matroska::write_header(&mut input, tracks) {
        Ok(()) => Ok(Started { encoder, input, sound_delay }),
        Err(_) => Err(encoder.finish(PATIENCE).err().unwrap_or(FfmpegError::Hangs(PATIENCE))),
    }
}

fn arguments(tracks: &[Track], rate: f64) -> Vec<String> {
    let mut arguments = words("-y -protocol_whitelist file,pipe");
    // The stamps are the clip's: nothing shifts them, and none is computed from a rate.
    arguments.extend(words("-copyts -fpsprobesize 0 -f matroska -i pipe:0"));
    for track in tracks {
        match track {
            Track::Picture(width, height) => {
                let bits = f64::from(*width) * f64::from(*height) * rate * BITS_PER_PIXEL;
                let bits = (bits as u64).max(BITS_MIN).to_string();
                arguments.extend(words("-c:v libvpx -deadline realtime -cpu-used 8 -threads 2"));
                // Each picture becomes one frame, in its order.
                arguments.extend(words("-lag-in-frames 0 -auto-alt-ref 0 -fps_mode passthrough"));
                arguments.extend(words("-enc_time_base:v 1/1000 -pix_fmt yuv420p"));
                arguments.extend(["-b:v", &bits, "-g", KEY_INTERVAL].map(str::to_owned));
            }
            Track::Sound(..) => {
                arguments.extend(words("-c:a libopus -b:a"));
                arguments.extend([SOUND_BITS, "-af", RESAMPLE].map(str::to_owned));
            }
        }
    }
    arguments.extend(["-cluster_time_limit", CLUSTER_MS].map(str::to_owned));
    arguments.extend(words("-avoid_negative_ts disabled -flush_packets 1 -f webm"));
    arguments
}

/// Bits of a pixel of a picture.
const BITS_PER_PIXEL: f64 = 0.1;
/// The least bits of a second of pictures.
const BITS_MIN: u64 = 200_000;

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// A path is not taken for a protocol.
fn url(file: &Path) -> std::ffi::OsString {
    let mut url = std::ffi::OsString::from("file:");
    url.push(file);
    url
}
