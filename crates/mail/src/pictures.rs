//! Where pictures come from. Each is stamped when it is taken.

mod camera;
mod pattern;
mod screen;

use std::fmt;
use std::io;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use tactus_model::frames::Rate;
pub use tactus_model::pixels::Size;
use tactus_model::time::{Monotonic, Nanos};
use tactus_sys::SysError;
use tactus_sys::clock;
use tactus_sys::sleep::{Nanosleep, Sleeper};

use crate::Moment;
use crate::timing::SIDE_MAX;

pub(crate) use camera::Camera;
pub(crate) use pattern::Pattern;
pub(crate) use screen::ScreenGrab;

/// A source of pictures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PictureSource {
    /// A test pattern: a bar that crosses the picture once a second, and a flash of
    /// [`FLASH`](crate::sound::FLASH) at each whole second.
    Synthetic,
    /// The screen of an X server.
    Screen,
    /// A camera: a device of Video4Linux.
    Camera(PathBuf),
    /// No pictures.
    Absent,
}

/// The text is not a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a source of pictures: write synthetic, screen, camera:DEVICE or none")]
pub struct NotAPictureSource(String);

impl FromStr for PictureSource {
    type Err = NotAPictureSource;

    fn from_str(text: &str) -> Result<Self, NotAPictureSource> {
        match text {
            "synthetic" => Ok(Self::Synthetic),
            "screen" => Ok(Self::Screen),
            "none" => Ok(Self::Absent),
            _ => match text.strip_prefix("camera:").filter(|device| !device.is_empty()) {
                Some(device) => Ok(Self::Camera(device.into())),
                None => Err(NotAPictureSource(text.to_owned())),
            },
        }
    }
}

impl fmt::Display for PictureSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Synthetic => f.write_str("synthetic"),
            Self::Screen => f.write_str("screen"),
            Self::Camera(device) => write!(f, "camera:{}", device.display()),
            Self::Absent => f.write_str("none"),
        }
    }
}

/// The least pixels of a side: a macroblock of VP8.
const SIDE_MIN: u32 = 16;
/// The pixels that a side of a picture may have.
pub const SIDES: RangeInclusive<u32> = SIDE_MIN..=SIDE_MAX;

/// Why there are no pictures.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// There is no display.
    #[error("cannot use the display{}: {reason}", named(.display.as_deref()))]
    Display {
        /// Its name, if one was given.
        display: Option<String>,
        /// The reason.
        reason: String,
    },
    /// Its pixels have another form.
    #[error(
        "the display has pixels of {bits} bits at depth {depth}; the source `screen` reads 32 bits at depth 24 or 32, least significant byte first"
    )]
    Pixels {
        /// The bits of a pixel.
        bits: u8,
        /// Its depth.
        depth: u8,
    },
    /// The screen is smaller or larger than a picture may be.
    #[error("the screen has {found} pixels, and a picture has from 16x16 to 8192x8192")]
    Size {
        /// Its size.
        found: Size,
    },
    /// The display has ended.
    #[error("the display closed the connection: {0}")]
    Gone(String),
    /// The display does not answer.
    #[error(
        "the display did not answer for {} s: its X server is stopped or overloaded",
        PATIENCE.as_secs()
    )]
    Silent,
    /// The camera does not work.
    #[error("the camera {} gives no pictures: {reason}", .device.display())]
    Camera {
        /// The device.
        device: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The system refuses something.
    #[error(transparent)]
    Refused(#[from] SysError),
    /// The system refuses something.
    #[error(transparent)]
    Io(#[from] io::Error),
}

fn named(display: Option<&str>) -> String {
    display.map(|name| format!(" {name}")).unwrap_or_default()
}

/// How a picture was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// When.
    pub(crate) at: Moment,
    /// It was taken within this time of its stamp, before or after.
    pub(crate) within: Nanos,
    /// Pictures that were due before it and are missing.
    pub(crate) missing: u64,
}

/// A source that is open.
pub(crate) trait Pictures: Send {
    /// The clip begins at `origin`.
    fn begin(&mut self, origin: Moment);

    /// Waits for the next picture and copies it, as lines of [pixels](crate::matroska::PIXEL). It
    /// waits [`PATIENCE`] at most.
    ///
    /// # Errors
    /// The source has ended.
    fn take(&mut self, picture: &mut [u8]) -> Result<Taken, PictureError>;

    /// What ends a wait from another thread; `None` if no wait is long. Nothing can be taken then.
    ///
    /// # Errors
    /// The system refuses it.
    fn breaker(&self) -> Result<Option<Breaker>, PictureError> {
        Ok(None)
    }
}

/// Ends a wait.
pub(crate) type Breaker = Box<dyn FnOnce() + Send>;

/// How long a source may give nothing.
pub(crate) const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

/// Due times at a rate. One that has passed when the thread comes back is missing.
#[derive(Debug)]
pub(crate) struct Pace {
    period: Nanos,
    next: Moment,
}

impl Pace {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { period: rate.period(), next: Moment::from_nanos(0) }
    }

    /// The first due time is `start`.
    pub(crate) const fn begin(&mut self, start: Moment) {
        self.next = start;
    }

    /// Sleeps until the next due time; returns how many have passed before that.
    pub(crate) fn wait(&mut self) -> Result<u64, SysError> {
        let passed = self.passed(clock::now::<Monotonic>());
        Nanosleep.sleep_until(self.next)?;
        self.next = self.next + self.period;
        Ok(passed)
    }

    /// Goes on to the last due time that is not after `now`, or to the next one.
    fn passed(&mut self, now: Moment) -> u64 {
        let passed = (now - self.next).div_floor(self.period);
        self.next = self.next + self.period.saturating_mul(passed);
        passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_texts() {
        for text in ["synthetic", "screen", "camera:/dev/video0", "none"] {
            assert_eq!(text.parse::<PictureSource>().unwrap().to_string(), text);
        }
        for text in ["", "Screen", "camera:", "camera", "screen:1"] {
            assert!(text.parse::<PictureSource>().is_err(), "{text}");
        }
    }

    #[test]
    fn due_times_that_have_passed_are_missing() {
        let at = |millis: u64| Moment::from_nanos(millis * 1_000_000);
        let rate: Rate = "100".parse().unwrap();
        let mut pace = Pace::new(rate);
        pace.begin(at(1000));
        assert_eq!((pace.passed(at(990)), pace.next), (0, at(1000)));
        assert_eq!((pace.passed(at(1009)), pace.next), (0, at(1000)));
        assert_eq!((pace.passed(at(1037)), pace.next), (3, at(1030)));
    }
}
