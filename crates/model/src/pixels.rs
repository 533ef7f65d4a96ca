//! How the pixels of a frame are stored.

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
