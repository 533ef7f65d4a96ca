//! Samples from a time on.

use tactus_playback::{MediaTime, Speed};

use crate::error::ClipError;
use crate::probe::Clip;
use crate::process::{self, Running, Stopper};

/// What samples are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoundSpec {
    /// The time of the first sample: before the sound begins, it is silent.
    pub from: MediaTime,
    /// Frames a second.
    pub rate: u32,
    /// Samples of a frame.
    pub channels: u16,
    /// At another speed than 1, the pitch stays.
    pub speed: Speed,
}

/// Decodes the sound of a clip, without gaps. The thread that starts it reads it: the decoder ends
/// with it.
pub struct SoundDecoder {
    running: Running,
    /// Bytes of the last read that are not a whole frame.
    rest: Vec<u8>,
    frame_bytes: usize,
}

/// Bytes of a read.
const BYTES: usize = 1 << 15;

impl SoundDecoder {
    /// Starts a decoder; `None` if the clip has no sound.
    ///
    /// # Errors
    /// It does not start.
    pub fn start(clip: &Clip, spec: &SoundSpec) -> Result<Option<Self>, ClipError> {
        let Some(sound) = &clip.sound else { return Ok(None) };
        let SoundSpec { from, rate, channels, speed } = *spec;
        let first = (from.as_secs_f64() + clip.begins.as_secs_f64()) * f64::from(rate);
        let mut command = process::decode(&clip.path, from.as_secs_f64());
        // The unit of `first_pts` is a sample of the input, so the rate is converted before.
        let filters = format!(
            "aresample={rate},aresample={rate}:async=1:min_hard_comp=0.01:first_pts={:.0}{}",
            first.round(),
            tempo(speed)
        );
        command.args(["-map", &format!("0:{}", sound.index), "-vn", "-sn", "-dn"]);
        command.args(["-af", &filters, "-ac", &channels.to_string(), "-f", "f32le", "pipe:1"]);
        let running = Running::start(command, "sound")?;
        let frame_bytes = usize::from(channels) * size_of::<f32>();
        Ok(Some(Self { running, rest: Vec::new(), frame_bytes }))
    }

    /// Ends it from another thread.
    pub fn stopper(&self) -> Stopper {
        self.running.stopper()
    }

    /// Appends the next whole frames, interleaved; false at the end of the clip. A sample that is not a
    /// number is silent.
    ///
    /// # Errors
    /// The decoder failed or was killed.
    pub fn read(&mut self, samples: &mut Vec<f32>) -> Result<bool, ClipError> {
        let mut bytes = std::mem::take(&mut self.rest);
        let before = bytes.len();
        bytes.resize(BYTES, 0);
        let count = self.running.read(&mut bytes[before..])?;
        if count == 0 {
            return self.running.failure().map_or(Ok(false), Err);
        }
        bytes.truncate(before + count);
        self.rest = bytes.split_off(bytes.len() - bytes.len() % self.frame_bytes);
        let (whole, _) = bytes.as_chunks::<4>();
        let sample = |bytes: &[u8; 4]| Some(f32::from_le_bytes(*bytes)).filter(|it| it.is_finite());
        samples.extend(whole.iter().map(|bytes| sample(bytes).unwrap_or(0.0)));
        Ok(true)
    }
}

/// The filters that change the speed: each changes it at least to the half.
fn tempo(speed: Speed) -> String {
    let factor = speed.factor();
    match factor {
        1.0 => String::new(),
        0.5.. => format!(",atempo={factor}"),
        _ => format!(",atempo=0.5,atempo={}", factor / 0.5),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tempo_is_within_what_the_filter_allows() {
        let filters = |speed: &str| tempo(speed.parse().unwrap());
        assert_eq!(filters("1"), "");
        assert_eq!(filters("1.5"), ",atempo=1.5");
        assert_eq!(filters("0.25"), ",atempo=0.5,atempo=0.5");
    }
}
