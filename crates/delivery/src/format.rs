//! What the payload of an item may be.

use serde::{Deserialize, Serialize};
use tactus_midi::Message;
use tactus_model::pixels::PixelFormat;

/// What a device takes; checked when an item is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Format {
    /// One whole MIDI message, its status byte first.
    Midi,
    /// Frames of audio: 32-bit floating point samples in the byte order of this machine, interleaved.
    Audio {
        /// Samples of a frame.
        channels: u16,
    },
    /// The values of a DMX512 universe, the first channel first: 1 to 512 bytes.
    Dmx,
    /// The number of a frame of pictures, whose pixels are in memory that the client has asked for:
    /// [`FRAME_NUMBER_BYTES`] bytes in the byte order of this machine.
    Frame {
        /// The width in pixels.
        width: u16,
        /// The height in pixels.
        height: u16,
        /// The pixels; lines follow each other without gaps.
        pixels: PixelFormat,
    },
    /// Any bytes, up to a number.
    Bytes {
        /// The most bytes.
        most: u32,
    },
}

/// Bytes of the number of a frame, as payload.
pub const FRAME_NUMBER_BYTES: usize = size_of::<u32>();

/// The channels of a DMX512 universe.
pub const DMX_CHANNELS: usize = 512;

/// Why a payload does not fit a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It is not one whole MIDI message.
    #[error("the payload is not one whole MIDI message")]
    NotAMessage,
    /// It is not a whole number of frames.
    #[error("{bytes} bytes are not whole frames of {frame} bytes")]
    NotFrames {
        /// Its length.
        bytes: usize,
        /// Bytes of a frame.
        frame: usize,
    },
    /// It has too few or too many bytes.
    #[error("the payload has {bytes} bytes; {least} to {most} are possible")]
    Length {
        /// Its length.
        bytes: usize,
        /// The least.
        least: usize,
        /// The most.
        most: usize,
    },
}

impl Format {
    /// What it takes, for people.
    pub const fn takes(self) -> &'static str {
        match self {
            Self::Midi => "MIDI messages",
            Self::Audio { .. } => "audio",
            Self::Dmx => "the values of a DMX512 universe",
            Self::Frame { .. } => "frames of pictures",
            Self::Bytes { .. } => "bytes",
        }
    }

    /// Bytes of a frame of pictures; `None` for other formats.
    pub const fn frame_bytes(self) -> Option<usize> {
        match self {
            Self::Frame { width, height, pixels } => {
                Some(width as usize * height as usize * pixels.bytes())
            }
            _ => None,
        }
    }

    /// Checks a payload.
    ///
    /// # Errors
    /// Says why the device would not take it.
    pub fn check(self, payload: &[u8]) -> Result<(), Unfit> {
        let bytes = payload.len();
        match self {
            Self::Midi => Message::new(payload).map(drop).ok_or(Unfit::NotAMessage),
            Self::Audio { channels } => {
                let frame = usize::from(channels) * size_of::<f32>();
                let is_whole = bytes > 0 && frame > 0 && bytes.is_multiple_of(frame);
                if is_whole { Ok(()) } else { Err(Unfit::NotFrames { bytes, frame }) }
            }
            Self::Dmx => between(bytes, 1, DMX_CHANNELS),
            Self::Frame { .. } => between(bytes, FRAME_NUMBER_BYTES, FRAME_NUMBER_BYTES),
            Self::Bytes { most } => between(bytes, 0, most as usize),
        }
    }
}

fn between(bytes: usize, least: usize, most: usize) -> Result<(), Unfit> {
    let fits = (least..=most).contains(&bytes);
    if fits { Ok(()) } else { Err(Unfit::Length { bytes, least, most }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_checked() {
        let said = |format: Format, payload: &[u8]| {
            format.check(payload).map_err(|unfit| unfit.to_string()).err()
        };
        assert_eq!(said(Format::Midi, &[0x90, 60, 100]), None);
        assert_eq!(
            said(Format::Midi, &[0x90, 60]).as_deref(),
            Some("the payload is not one whole MIDI message")
        );
        assert_eq!(said(Format::Audio { channels: 2 }, &[0; 16]), None);
        assert_eq!(
            said(Format::Audio { channels: 2 }, &[0; 12]).as_deref(),
            Some("12 bytes are not whole frames of 8 bytes")
        );
        assert!(said(Format::Audio { channels: 0 }, &[0; 4]).is_some());
        assert_eq!(said(Format::Dmx, &[0; 512]), None);
        assert_eq!(
            said(Format::Dmx, &[]).as_deref(),
            Some("the payload has 0 bytes; 1 to 512 are possible")
        );
        let frame = Format::Frame { width: 640, height: 480, pixels: PixelFormat::Rgb565 };
        assert_eq!((said(frame, &[0; 4]), frame.frame_bytes()), (None, Some(614_400)));
        assert!(said(frame, &[0; 5]).is_some());
        assert_eq!(said(Format::Bytes { most: 3 }, &[0; 3]), None);
        assert!(said(Format::Bytes { most: 3 }, &[0; 4]).is_some());
    }
}
