//! Pictures of a camera, with the stamps of its driver.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tactus_model::frames::Rate;
use tactus_model::pixels::Size;

use crate::error::ClipError;
use crate::ffmpeg;
use crate::process::{self, Running, Stopper};

const KIND: &str = "camera";

/// A device of Video4Linux that ffmpeg reads. The thread that opens it reads it: ffmpeg ends with
/// it.
///
/// A driver stamps what it captures by `CLOCK_MONOTONIC` when the first or the last line of a
/// picture arrives (*Documentation/userspace-api/media/v4l/buffer.rst*). ffmpeg passes these stamps
/// on, so pictures that wait in the driver, in ffmpeg or in a pipe keep them.
pub struct Camera {
    running: Running,
}

impl Camera {
    /// Starts to read a device. A camera without this rate or size gives its nearest one; pictures
    /// are scaled. The first picture comes when the camera runs, which takes a second or two.
    ///
    /// # Errors
    /// ffmpeg does not start.
    pub fn open(device: &Path, rate: Rate, size: Size) -> Result<Self, ClipError> {
        let mut input = Command::new("ffmpeg");
        input.args(["-f", "v4l2", "-timestamps", "default"]);
        input.args(["-framerate", &rate.to_string(), "-video_size", &size.to_string()]);
        input.arg("-i").arg(device);
        Self::read_input(&input, size)
    }

    /// Reads another source of ffmpeg instead of a device, for tests: `input` has its options.
    ///
    /// # Errors
    /// ffmpeg does not start.
    pub fn read_input(input: &Command, size: Size) -> Result<Self, ClipError> {
        let mut command = ffmpeg::command();
        command.arg("-copyts").args(input.get_args());
        command.args(["-an", "-vf", &process::stamping(size.width, size.height, "bgr0")]);
        command.args(process::EACH_FRAME);
        command.args(["-f", "rawvideo", "-flush_packets", "1", "pipe:1"]);
        // Ctrl-C is for the reader, which ends ffmpeg.
        command.process_group(0);
        Ok(Self { running: Running::start(command, KIND)? })
    }

    /// How long it may deliver nothing from now on; at first, 30 s.
    pub fn set_patience(&mut self, patience: Duration) {
        self.running.set_patience(patience);
    }

    /// Ends it from another thread.
    pub fn stopper(&self) -> Stopper {
        self.running.stopper()
    }

    /// Reads the next picture into a buffer of four bytes a pixel: blue, green, red, and one that
    /// does not count. Returns the driver's stamp, in nanoseconds, if it gave one.
    ///
    /// # Errors
    /// The camera or ffmpeg has ended, or delivers nothing.
    pub fn read(&mut self, picture: &mut [u8]) -> Result<Option<i64>, ClipError> {
        if !self.running.read_all(picture)? {
            return Err(self.ended());
        }
        // It was written before its picture.
        Ok(self.running.stamps.recv().ok().flatten())
    }

    /// Why it has ended: the first message has the reason, later ones follow from it.
    fn ended(&mut self) -> ClipError {
        let failure = self.running.failure();
        let said = self.running.messages();
        let first = said.split("; ").next().map(without_place).filter(|first| !first.is_empty());
        match (first, failure) {
            (Some(first), _) => ClipError::Decoder { kind: KIND, reason: first.to_owned() },
            (None, Some(failure)) => failure,
            (None, None) => ClipError::Decoder { kind: KIND, reason: "ffmpeg ended".to_owned() },
        }
    }
}

/// A message without the part of ffmpeg that it comes from: `[video4linux2,v4l2 @ 0x55] `.
fn without_place(message: &str) -> &str {
    let rest = message.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    rest.filter(|(place, _)| place.contains(" @ 0x")).map_or(message, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_no_place_in_the_memory_of_ffmpeg() {
        for (message, reason) in [
            ("[video4linux2,v4l2 @ 0x55] Cannot open video device", "Cannot open video device"),
            ("ioctl(VIDIOC_DQBUF): No such device", "ioctl(VIDIOC_DQBUF): No such device"),
            ("[a] b", "[a] b"),
            ("", ""),
        ] {
            assert_eq!(without_place(message), reason);
        }
    }
}
