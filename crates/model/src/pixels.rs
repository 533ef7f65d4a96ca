//! How many pixels a frame has, and how they are stored.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The formats of pixels that displays have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PixelFormat {
    /// Blue, green, red and a byte that does not count: depth 24 or 32.
    Bgr0,
    /// Red, green, blue and a byte that does not count.
    Rgb0,
    /// 16 bits, native byte order: 5 of red, 6 of green, 5 of blue.
    Rgb565,
    /// 15 bits, native byte order: 5 of each.
    Rgb555,
    /// 8 bits: 3 of red in the lowest, 3 of green, 2 of blue in the highest.
    Bgr233,
    /// 8 bits of brightness.
    Gray,
}

impl PixelFormat {
    /// Bits of a pixel that count.
    pub const fn depth(self) -> u8 {
        match self {
            Self::Bgr0 | Self::Rgb0 => 24,
            Self::Rgb565 => 16,
            Self::Rgb555 => 15,
            Self::Bgr233 | Self::Gray => 8,
        }
    }

    /// Bytes of a pixel.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Bgr0 | Self::Rgb0 => 4,
            Self::Rgb565 | Self::Rgb555 => 2,
            Self::Bgr233 | Self::Gray => 1,
        }
    }
}

/// The width and the height of a picture in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The width.
    pub width: u32,
    /// The height.
    pub height: u32,
}

/// The text is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a size: write WIDTHxHEIGHT in pixels, e.g. 1280x720")]
pub struct NotASize(String);

impl Size {
    /// Whether both sides are within a range.
    pub fn is_within(self, range: &RangeInclusive<u32>) -> bool {
        range.contains(&self.width) && range.contains(&self.height)
    }
}

impl FromStr for Size {
    type Err = NotASize;

    fn from_str(text: &str) -> Result<Self, NotASize> {
        let sides = text.split_once('x').and_then(|(width, height)| {
            Some(Self { width: width.parse().ok()?, height: height.parse().ok()? })
        });
        sides.ok_or_else(|| NotASize(text.to_owned()))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_texts() {
        assert_eq!("640x480".parse::<Size>().unwrap().to_string(), "640x480");
        for text in ["640", "x", "-640x480", "640x480x2", "9999999999x16", "640 x 480"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
        let size = Size { width: 16, height: 480 };
        assert!(size.is_within(&(16..=480)) && !size.is_within(&(17..=480)));
        assert!(!size.is_within(&(16..=479)));
    }
}
