//! Where sound comes from. Each block has a position by the clock of its device, and a stamp.

use std::fmt;
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

use tactus_model::time::Nanos;
use tactus_sound::{Capture, ClientSpec, Peer, SoundError};
use tactus_sys::SysError;
use tactus_sys::sleep::{Nanosleep, Sleeper};

use crate::Moment;
use crate::pictures::PATIENCE;
use crate::timing::duration;

/// A source of sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SoundSource {
    /// A tone of [`TONE`] at each whole second.
    Synthetic,
    /// A microphone, or another client of the sound server.
    Microphone(Peer),
    /// No sound.
    Absent,
}

/// The text is not a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a source of sound: write synthetic, microphone, microphone:CLIENT or none")]
pub struct NotASoundSource(String);

impl FromStr for SoundSource {
    type Err = NotASoundSource;

    fn from_str(text: &str) -> Result<Self, NotASoundSource> {
        match text {
            "synthetic" => Ok(Self::Synthetic),
            "microphone" => Ok(Self::Microphone(Peer::Device)),
            "none" => Ok(Self::Absent),
            _ => match text.strip_prefix("microphone:").filter(|client| !client.is_empty()) {
                Some(client) => Ok(Self::Microphone(Peer::Client(client.to_owned()))),
                None => Err(NotASoundSource(text.to_owned())),
            },
        }
    }
}

impl fmt::Display for SoundSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Synthetic => f.write_str("synthetic"),
            Self::Microphone(Peer::Client(client)) => write!(f, "microphone:{client}"),
            Self::Microphone(_) => f.write_str("microphone"),
            Self::Absent => f.write_str("none"),
        }
    }
}

/// How often the synthetic sources flash and sound.
pub const SECOND: Nanos = Nanos::from_secs(1);
/// How long a flash of the pattern lasts.
pub const FLASH: Nanos = Nanos::from_millis(40);
/// How long a tone lasts.
pub const TONE: Nanos = Nanos::from_millis(20);
/// The frequency of the tone in Hz.
pub const PITCH: u32 = 1000;

/// A block of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    /// The position of its first sample.
    pub(crate) position: u64,
    /// Its samples of each channel.
    pub(crate) samples: u32,
    /// When the first was heard.
    pub(crate) at: Moment,
    /// Samples before it that are missing.
    pub(crate) missing: u64,
}

/// Why there is no sound.
#[derive(Debug, thiserror::Error)]
pub enum NoSound {
    /// The microphone does not work.
    #[error("cannot capture sound: {0}")]
    Capture(#[from] SoundError),
    /// The sound server has ended.
    #[error("the sound server has ended")]
    Gone,
    /// The sound server sends nothing.
    #[error(
        "the sound server sent nothing for {} s: it is stopped, or its device is",
        PATIENCE.as_secs()
    )]
    Silent,
    /// The system refuses something.
    #[error(transparent)]
    Refused(#[from] SysError),
}

/// A source that is open. Its samples are in one channel.
pub(crate) trait Sounds: Send {
    /// The clip begins at `origin`.
    fn begin(&mut self, origin: Moment);

    /// Samples a second.
    fn rate(&self) -> u32;

    /// Waits a little for the next block, whose samples replace those in `samples`; `None` if none
    /// has come.
    ///
    /// # Errors
    /// The source has ended.
    fn take(&mut self, samples: &mut Vec<f32>) -> Result<Option<Heard>, NoSound>;
}

/// A tone of [`TONE`] at each whole second after the origin, but the first.
#[derive(Debug)]
pub(crate) struct Tone {
    origin: Moment,
    position: u64,
}

const RATE: u32 = 48_000;
/// Samples of a block: 10 ms.
const BLOCK: u32 = 480;

impl Tone {
    pub(crate) const fn new() -> Self {
        Self { origin: Moment::from_nanos(0), position: 0 }
    }
}

impl Sounds for Tone {
    fn begin(&mut self, origin: Moment) {
        self.origin = origin;
    }

    fn rate(&self) -> u32 {
        RATE
    }

    fn take(&mut self, samples: &mut Vec<f32>) -> Result<Option<Heard>, NoSound> {
        let position = self.position;
        self.position += u64::from(BLOCK);
        // A block can be passed on when its last sample was heard.
        Nanosleep.sleep_until(self.origin + duration(self.position, RATE))?;
        samples.clear();
        samples.extend((position..self.position).map(sample));
        let at = self.origin + duration(position, RATE);
        Ok(Some(Heard { position, samples: BLOCK, at, missing: 0 }))
    }
}

fn sample(position: u64) -> f32 {
    let (second, within) = (position / u64::from(RATE), position % u64::from(RATE));
    if second == 0 || duration(within, RATE) >= TONE {
        return 0.0;
    }
    let turns = within as f32 * PITCH as f32 / RATE as f32;
    0.9 * (std::f32::consts::TAU * turns).cos()
}

/// What a client of the sound server hears.
pub(crate) struct Microphone {
    capture: Capture,
    /// When the last block came.
    last: Instant,
}

/// How often blocks are looked for. The capture has room for seconds.
const LOOK: Duration = Duration::from_millis(5);

impl Microphone {
    pub(crate) fn open(peer: &Peer) -> Result<Self, NoSound> {
        let name = "tactus-mail".to_owned();
        let capture = Capture::open(&ClientSpec { name, channels: 1, peer: peer.clone() })?;
        Ok(Self { capture, last: Instant::now() })
    }
}

impl Sounds for Microphone {
    /// The device has its own pace.
    fn begin(&mut self, _: Moment) {
        self.last = Instant::now();
    }

    fn rate(&self) -> u32 {
        self.capture.rate()
    }

    fn take(&mut self, samples: &mut Vec<f32>) -> Result<Option<Heard>, NoSound> {
        let Some(block) = self.capture.read(samples) else {
            if self.capture.is_shut_down() {
                return Err(NoSound::Gone);
            }
            if self.last.elapsed() >= PATIENCE {
                return Err(NoSound::Silent);
            }
            thread::sleep(LOOK);
            return Ok(None);
        };
        self.last = Instant::now();
        let missing = block.blind.as_nanos() * u64::from(self.rate()) / SECOND.as_nanos();
        let (position, at) = (block.position, block.at);
        Ok(Some(Heard { position, samples: block.frames, at, missing }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_texts() {
        for text in ["synthetic", "microphone", "microphone:Built-in Audio", "none"] {
            assert_eq!(text.parse::<SoundSource>().unwrap().to_string(), text);
        }
        for text in ["", "mic", "microphone:", "Synthetic"] {
            assert!(text.parse::<SoundSource>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_tone_begins_with_the_second() {
        assert_eq!([0, 47_999].map(sample), [0.0; 2]);
        assert_eq!(sample(48_000), 0.9);
        assert!((sample(48_000 + 24) + 0.9).abs() < 1e-6, "half a turn of 1 kHz");
        assert_eq!([48_000 + 960, 95_999].map(sample), [0.0; 2]);
        assert_eq!(sample(96_000), 0.9);
    }
}
