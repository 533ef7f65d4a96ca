//! Images that are drawn on a display.

use std::fmt;
use std::str::FromStr;

use crate::bytes::Bytes;
use crate::text::serde_as_text;

/// The size of an image.
///
/// As text: width, height and bytes per pixel, `160x120x1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    width: u16,
    height: u16,
    bytes_per_pixel: u8,
}

impl Image {
    /// A frame of the video player of 1993: 19.2 KB.
    pub const OF_THE_PAPER: Self = Self { width: 160, height: 120, bytes_per_pixel: 1 };

    /// The largest width and height.
    const SIDE_MAX: u16 = 4096;
    /// The most bytes: less than an X server accepts in one request.
    const BYTES_MAX: u64 = 16_000_000;

    /// An image; `None` if it is too large, or if no display has such pixels.
    fn new(width: u16, height: u16, bytes_per_pixel: u8) -> Option<Self> {
        let image = Self { width, height, bytes_per_pixel };
        let sides = 1..=Self::SIDE_MAX;
        let is_image = sides.contains(&width)
            && sides.contains(&height)
            && [1, 2, 4].contains(&bytes_per_pixel)
            && image.bytes().get() <= Self::BYTES_MAX;
        is_image.then_some(image)
    }

    /// Its width in pixels.
    pub const fn width(self) -> u16 {
        self.width
    }

    /// Its height in pixels.
    pub const fn height(self) -> u16 {
        self.height
    }

    /// The bytes of a pixel: 1, 2 or 4.
    pub const fn bytes_per_pixel(self) -> u8 {
        self.bytes_per_pixel
    }

    /// Its bytes, without what a display needs between lines.
    pub const fn bytes(self) -> Bytes {
        Bytes::new(self.width as u64 * self.height as u64 * self.bytes_per_pixel as u64)
    }
}

impl Default for Image {
    fn default() -> Self {
        Self::OF_THE_PAPER
    }
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}x{}x{}", self.width, self.height, self.bytes_per_pixel))
    }
}

/// The error for a text that is not the size of an image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an image: write width, height and bytes per pixel (1, 2 or 4), e.g. 500x500x4, up to {side}x{side} and {most} MB",
    side = Image::SIDE_MAX, most = Image::BYTES_MAX / 1_000_000
)]
pub struct NotImage(String);

impl FromStr for Image {
    type Err = NotImage;

    fn from_str(text: &str) -> Result<Self, NotImage> {
        let mut parts = text.split('x');
        let mut side = || parts.next()?.parse().ok();
        let sides = side().zip(side());
        let bytes = parts.next().and_then(|part| part.parse().ok());
        let image = match (sides, bytes, parts.next()) {
            (Some((width, height)), Some(bytes), None) => Self::new(width, height, bytes),
            _ => None,
        };
        image.ok_or_else(|| NotImage(text.to_owned()))
    }
}

serde_as_text!(Image);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_has_a_width_a_height_and_bytes_per_pixel() {
        let image: Image = "500x500x4".parse().unwrap();
        assert_eq!((image.bytes(), image.to_string()), (Bytes::new(1_000_000), "500x500x4".into()));
        assert_eq!(Image::OF_THE_PAPER.bytes(), Bytes::new(19_200));
        for text in ["", "500", "500x500", "0x1x4", "5000x1x4", "4096x4096x4", "9x9x3", "9x9x4x1"] {
            let error = text.parse::<Image>().unwrap_err().to_string();
            assert!(error.contains("e.g. 500x500x4"), "{text}: {error}");
        }
    }
}
