//! When each picture and each block of sound was taken: `timing.json`.
//!
//! The container rounds times to a millisecond. This file keeps them to the nanosecond, with what
//! was lost, and a digest by which a damaged clip is recognised.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tactus_model::time::Nanos;

use crate::Moment;

/// The version of the format.
pub const VERSION: u32 = 1;
/// The most bytes of a file of stamps.
pub const BYTES_MAX: usize = 32 << 20;
/// The most pictures: five hours at 50 a second.
pub const PICTURES_MAX: usize = 900_000;
/// The most blocks of sound: five hours of 1024 samples at 48 kHz.
pub const BLOCKS_MAX: usize = 900_000;
/// The most pixels of a side of a picture.
pub const SIDE_MAX: u32 = 8192;
/// The rates of sound.
pub const RATES: std::ops::RangeInclusive<u32> = 8_000..=192_000;
/// The most characters of the name of a source.
const SOURCE_MAX: usize = 200;

/// The stamps of a clip.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// [`VERSION`].
    pub version: u32,
    /// When the clip begins, by `CLOCK_MONOTONIC` of the machine that recorded it.
    pub origin: Moment,
    /// The pictures.
    pub picture: Option<PictureTiming>,
    /// The sound.
    pub sound: Option<SoundTiming>,
    /// The clip that these stamps belong to; absent while it is recorded.
    pub video: Option<Digest>,
}

/// The stamps of pictures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PictureTiming {
    /// Where they come from.
    pub source: String,
    /// Their width in pixels.
    pub width: u32,
    /// Their height in pixels.
    pub height: u32,
    /// When each was taken, after the origin; each is later than the one before.
    pub stamps: Vec<Nanos>,
    /// Each was taken within this time of its stamp, before or after.
    pub within: Nanos,
    /// Pictures that were due and are missing.
    pub missing: u64,
}

/// The stamps of sound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SoundTiming {
    /// Where it comes from.
    pub source: String,
    /// Nominal samples a second.
    pub rate: u32,
    /// Its channels.
    pub channels: u16,
    /// The blocks, in their order.
    pub blocks: Vec<Block>,
    /// Samples of each channel that are missing.
    pub missing: u64,
}

/// A block of sound: its position by the clock of the device in samples, its samples of each
/// channel, and when the first was heard, after the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block(pub u64, pub u32, pub Nanos);

/// What recognises a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Digest {
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
}

impl Digest {
    /// The digest of what is read.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn read(mut reader: impl Read) -> io::Result<Self> {
        let (mut hasher, mut bytes) = (Sha256::new(), 0);
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = reader.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            hasher.update(&buffer[..count]);
            bytes += count as u64;
        }
        let sha256 = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { bytes, sha256 })
    }

    /// Whether both are of the same bytes; digits may be capitals.
    pub fn is_of(&self, other: &Self) -> bool {
        self.bytes == other.bytes && self.sha256.eq_ignore_ascii_case(&other.sha256)
    }
}

/// Why stamps cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadTiming {
    /// It is not JSON of this form.
    #[error("timing.json is damaged: {0}")]
    Form(#[from] serde_json::Error),
    /// It is of a later version.
    #[error("timing.json has version {found}, and this tactus reads version {VERSION}")]
    Version {
        /// Its version.
        found: u32,
    },
    /// It exceeds a limit.
    #[error("timing.json has {what}, and the limit is {limit}")]
    Limit {
        /// What exceeds it.
        what: String,
        /// The limit.
        limit: u64,
    },
    /// Two values contradict each other.
    #[error("timing.json is damaged: {0}")]
    Contradiction(String),
}

/// The version alone, which later versions have too.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

impl Timing {
    /// Reads and checks stamps.
    ///
    /// # Errors
    /// They are of another form or version, exceed a limit, or go back.
    pub fn read(bytes: &[u8]) -> Result<Self, BadTiming> {
        limit(bytes.len(), BYTES_MAX, "bytes")?;
        match serde_json::from_slice::<Versioned>(bytes)? {
            Versioned { version: VERSION } => {}
            Versioned { version } => return Err(BadTiming::Version { found: version }),
        }
        let timing: Self = serde_json::from_slice(bytes)?;
        timing.picture.as_ref().map_or(Ok(()), PictureTiming::check)?;
        timing.sound.as_ref().map_or(Ok(()), SoundTiming::check)?;
        Ok(timing)
    }

    /// The bytes of `timing.json`.
    pub fn bytes(&self) -> Vec<u8> {
        // Its keys are texts and nothing refuses to be written.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.picture.as_ref().is_none_or(|picture| picture.stamps.is_empty())
            && self.sound.as_ref().is_none_or(|sound| sound.blocks.is_empty())
    }

    /// How long the clip is: until its last stamp.
    pub fn length(&self) -> Nanos {
        let picture = self.picture.iter().filter_map(|picture| picture.stamps.last().copied());
        let blocks = self.sound.iter().filter_map(|sound| Some((sound.rate, sound.blocks.last()?)));
        let sound = blocks.map(|(rate, block)| block.2 + duration(block.1.into(), rate));
        picture.chain(sound).max().unwrap_or_default()
    }
}

/// Where the stamps of a clip are.
pub fn beside(clip: &Path) -> PathBuf {
    let mut name = clip.as_os_str().to_owned();
    name.push(".timing.json");
    name.into()
}

/// How long so many samples last, rounded down.
pub fn duration(samples: u64, rate: u32) -> Nanos {
    let nanos = u128::from(samples) * 1_000_000_000 / u128::from(rate.max(1));
    Nanos::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

impl PictureTiming {
    fn check(&self) -> Result<(), BadTiming> {
        source(&self.source)?;
        limit(self.stamps.len(), PICTURES_MAX, "pictures")?;
        limit(self.width.max(self.height) as usize, SIDE_MAX as usize, "pixels in a line")?;
        if self.width == 0 || self.height == 0 {
            return Err(BadTiming::Contradiction("a picture has no pixels".to_owned()));
        }
        match self.stamps.windows(2).position(|pair| pair[1] <= pair[0]) {
            None => Ok(()),
            Some(index) => {
                let text = format!("picture {} is not after the one before", index + 2);
                Err(BadTiming::Contradiction(text))
            }
        }
    }
}

impl SoundTiming {
    fn check(&self) -> Result<(), BadTiming> {
        source(&self.source)?;
        limit(self.blocks.len(), BLOCKS_MAX, "blocks of sound")?;
        if !RATES.contains(&self.rate) || self.channels == 0 {
            let text = format!("{} channels at {} Hz are no sound", self.channels, self.rate);
            return Err(BadTiming::Contradiction(text));
        }
        let is_behind = |pair: &[Block]| {
            let Block(position, samples, _) = pair[0];
            pair[1].0 < position.saturating_add(samples.into())
        };
        match self.blocks.windows(2).position(is_behind) {
            None => Ok(()),
            Some(index) => {
                let text = format!("block {} of sound begins within the one before", index + 2);
                Err(BadTiming::Contradiction(text))
            }
        }
    }
}

fn source(text: &str) -> Result<(), BadTiming> {
    limit(text.len(), SOURCE_MAX, "bytes in the name of a source")
}

fn limit(count: usize, limit: usize, what: &str) -> Result<(), BadTiming> {
    if count <= limit {
        return Ok(());
    }
    Err(BadTiming::Limit { what: format!("{count} {what}"), limit: limit as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing() -> Timing {
        Timing {
            version: VERSION,
            origin: Moment::from_nanos(7),
            picture: Some(PictureTiming {
                source: "synthetic".to_owned(),
                width: 320,
                height: 240,
                stamps: [0, 40_000_000, 80_000_001].map(Nanos::from_nanos).to_vec(),
                within: Nanos::ZERO,
                missing: 0,
            }),
            sound: Some(SoundTiming {
                source: "synthetic".to_owned(),
                rate: 48_000,
                channels: 1,
                blocks: vec![Block(0, 480, Nanos::ZERO), Block(480, 480, Nanos::from_millis(10))],
                missing: 0,
            }),
            video: Some(Digest::read(&b"clip"[..]).unwrap()),
        }
    }

    /// What is said of these stamps after a change.
    fn refused(change: impl FnOnce(&mut Timing)) -> String {
        let mut changed = timing();
        change(&mut changed);
        Timing::read(&changed.bytes()).unwrap_err().to_string()
    }

    #[test]
    fn stamps_are_read_as_they_were_written() {
        assert_eq!(Timing::read(&timing().bytes()).unwrap(), timing());
        assert_eq!(timing().length(), Nanos::from_nanos(80_000_001));
    }

    #[test]
    fn stamps_that_contradict_each_other_are_refused() {
        let back = refused(|timing| {
            timing.picture.as_mut().unwrap().stamps[1] = Nanos::from_nanos(90_000_000);
        });
        assert_eq!(back, "timing.json is damaged: picture 3 is not after the one before");
        let overlapping = refused(|timing| timing.sound.as_mut().unwrap().blocks[1].0 = 479);
        assert!(overlapping.ends_with("block 2 of sound begins within the one before"));
        let silent = refused(|timing| timing.sound.as_mut().unwrap().rate = 0);
        assert!(silent.ends_with("1 channels at 0 Hz are no sound"), "{silent}");
        let empty = refused(|timing| timing.picture.as_mut().unwrap().width = 0);
        assert!(empty.ends_with("a picture has no pixels"), "{empty}");
        let wide = refused(|timing| timing.picture.as_mut().unwrap().height = 8193);
        assert_eq!(wide, "timing.json has 8193 pixels in a line, and the limit is 8192");
    }

    #[test]
    fn a_later_version_says_so_whatever_else_it_has() {
        let read = Timing::read(br#"{"version":2,"new":[1]}"#).unwrap_err().to_string();
        assert_eq!(read, "timing.json has version 2, and this tactus reads version 1");
        assert!(matches!(Timing::read(b"{"), Err(BadTiming::Form(_))));
        let unknown = String::from_utf8(timing().bytes()).unwrap().replace("missing", "absent");
        assert!(matches!(Timing::read(unknown.as_bytes()), Err(BadTiming::Form(_))));
    }
}
