//! The end of the kernel's loopback that captures what the other end plays.
//!
//! The kernel's snd-aloop (*Documentation/sound/cards/*) is a card whose device 1 captures what
//! device 0 plays.

use std::path::Path;

use tactus_sys::Errno;
use tactus_sys::pcm::{Format, Parameter, Pcm, PcmDevice, Space};

/// The device that captures.
const DEVICE: &str = "/dev/snd/pcmC0D1c";
const CHANNELS: usize = 2;
/// Frames of a period.
const PERIOD: u32 = 960;
/// Bytes of a frame: a sample has 32 bits.
const FRAME: usize = 4 * CHANNELS;
/// The bytes that are read at once.
const PIECE: usize = 1 << 20;

/// The frames that are not silent: their numbers since the device began, and their levels.
pub type Clicks = Vec<(u64, i32)>;

/// Captures frames of two channels.
pub struct Loopback {
    pcm: Pcm,
    frames: u64,
    clicks: [Clicks; CHANNELS],
    bytes: Vec<u8>,
}

impl Loopback {
    /// Opens the device at a number of frames a second, and begins.
    ///
    /// # Errors
    /// The kernel has no such device, or it is used.
    pub fn open(rate: u32) -> Result<Self, String> {
        let device = PcmDevice::open(Path::new(DEVICE)).map_err(text)?;
        let mut space = Space::default();
        space.limit_format(Format::S32);
        let channels = CHANNELS as u32;
        for (parameter, value) in
            [(Parameter::Channels, channels), (Parameter::Rate, rate), (Parameter::Period, PERIOD)]
        {
            space.limit(parameter, value, value);
            space = device.refine(space).map_err(|error| format!("{parameter:?}: {error}"))?;
        }
        // Nothing is lost while this thread does nothing. If something were, the distances would
        // show it.
        let (_, most) = space.range(Parameter::Buffer);
        space.limit(Parameter::Buffer, most, most);
        let pcm = device.configure(space).map_err(text)?;
        pcm.run_free(PERIOD).map_err(text)?;
        pcm.prepare().map_err(text)?;
        pcm.start().map_err(text)?;
        Ok(Self { pcm, frames: 0, clicks: Default::default(), bytes: vec![0; PIECE] })
    }

    /// Takes what was captured.
    ///
    /// # Errors
    /// The device has ended.
    pub fn turn(&mut self) -> Result<(), String> {
        let frames = match self.pcm.read(&mut self.bytes) {
            Ok(frames) => frames,
            Err(error) if error.errno == Errno::AGAIN => 0,
            Err(error) => return Err(format!("capturing: {error}")),
        };
        for frame in self.bytes[..frames * FRAME].chunks_exact(FRAME) {
            for (clicks, sample) in self.clicks.iter_mut().zip(frame.chunks_exact(FRAME / CHANNELS))
            {
                let level = sample.first_chunk().map_or(0, |bytes| i32::from_le_bytes(*bytes));
                if level != 0 {
                    clicks.push((self.frames, level));
                }
            }
            self.frames += 1;
        }
        Ok(())
    }

    /// The frames with clicks of each channel so far.
    pub fn clicks(&self) -> &[Clicks; CHANNELS] {
        &self.clicks
    }

    /// When a frame was captured, in nanoseconds of `CLOCK_MONOTONIC`, by the device's count.
    ///
    /// # Errors
    /// The device has ended.
    pub fn captured_at(&self, frame: u64, rate: u32) -> Result<i64, String> {
        let status = self.pcm.status().map_err(text)?;
        let after = status.played as i64 - frame as i64;
        Ok(status.at.as_nanos() as i64 - after * 1_000_000_000 / i64::from(rate))
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
