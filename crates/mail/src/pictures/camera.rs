//! A camera, read by ffmpeg as a process of its own.

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::time::Instant;

use tactus_clip::ffmpeg::{self, Ffmpeg};
use tactus_model::frames::Rate;
use tactus_model::time::Monotonic;
use tactus_sys::pidfd::PidFd;
use tactus_sys::{SysError, clock, process, wait};

use super::{Breaker, PATIENCE, PictureError, Pictures, Size, Taken};
use crate::Moment;

/// Pictures from a device. A stamp is when the picture began to arrive: what the camera, the kernel
/// and ffmpeg take before that is the same for each, and unknown.
#[derive(Debug)]
pub(crate) struct Camera {
    reader: Ffmpeg,
    pictures: ChildStdout,
    device: String,
}

impl Camera {
    /// Starts to read a device of Video4Linux. The reader ends with this thread.
    pub(crate) fn open(device: &Path, rate: Rate, size: Size) -> Result<Self, PictureError> {
        let mut command = ffmpeg::command();
        command.args(["-f", "v4l2"]);
        command.args(["-framerate", &rate.to_string(), "-video_size", &size.to_string()]);
        command.arg("-i").arg(device);
        Self::read(command, &device.display().to_string(), size)
    }

    /// Reads what a command of ffmpeg decodes. A camera without this size gives its nearest one,
    /// which is scaled.
    fn read(mut command: Command, device: &str, size: Size) -> Result<Self, PictureError> {
        command.args([
            "-s",
            &size.to_string(),
            "-f",
            "rawvideo",
            "-pix_fmt",
            "bgr0",
            "-flush_packets",
            "1",
            "pipe:1",
        ]);
        command.stdout(Stdio::piped());
        // Ctrl-C is for the recorder, which ends the reader.
        command.process_group(0);
        process::die_with_parent(&mut command);
        let started =
            Ffmpeg::start(&mut command).and_then(|mut reader| Ok((reader.take_output()?, reader)));
        let (pictures, reader) = started.map_err(|error| PictureError::Camera {
            device: device.into(),
            reason: error.to_string(),
        })?;
        Ok(Self { reader, pictures, device: device.to_owned() })
    }

    /// Waits for bytes or the end; false if nothing comes. A signal ends no wait.
    fn awaits(&self) -> Result<bool, SysError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if wait::wait_readable(self.pictures.as_fd(), left)? {
                return Ok(true);
            }
            if left.is_zero() {
                return Ok(false);
            }
        }
    }

    fn failed(&mut self, reason: &str) -> PictureError {
        // A reader that hangs writes nothing more.
        let reason = self.reader.end().unwrap_or_else(|| reason.to_owned());
        PictureError::Camera { device: self.device.clone().into(), reason }
    }
}

impl Pictures for Camera {
    /// The camera has its own pace.
    fn begin(&mut self, _: Moment) {}

    fn take(&mut self, picture: &mut [u8]) -> Result<Taken, PictureError> {
        let mut at = None;
        let mut filled = 0;
        while filled < picture.len() {
            if !self.awaits()? {
                return Err(self.failed("it sends nothing"));
            }
            at.get_or_insert_with(clock::now::<Monotonic>);
            match self.pictures.read(&mut picture[filled..])? {
                0 => return Err(self.failed("ffmpeg ended")),
                count => filled += count,
            }
        }
        let now = clock::now::<Monotonic>();
        let at = at.unwrap_or(now);
        Ok(Taken { at, within: now - at, missing: 0 })
    }

    fn breaker(&self) -> Result<Option<Breaker>, PictureError> {
        let reader = PidFd::of_process(self.reader.id())?;
        // It may have ended.
        Ok(Some(Box::new(move || _ = reader.send(SIGKILL))))
    }
}

/// Its number on Linux.
const SIGKILL: i32 = 9;

#[cfg(test)]
mod tests {
    use tactus_testing::{Need, skip};

    use super::*;
    use crate::matroska::PIXEL;

    fn generated(source: &str) -> Result<Camera, PictureError> {
        let mut command = ffmpeg::command();
        command.args(["-re", "-f", "lavfi", "-i", source]);
        Camera::read(command, "generated", "64x48".parse().unwrap())
    }

    #[test]
    fn pictures_are_stamped_as_they_arrive() {
        let mut camera = match generated("testsrc=size=64x48:rate=20:duration=1") {
            Err(PictureError::Camera { reason, .. }) => return skip(Need::Display, reason),
            camera => camera.unwrap(),
        };
        let mut picture = vec![0; 64 * 48 * PIXEL];
        let mut stamps = Vec::new();
        let ended = loop {
            match camera.take(&mut picture) {
                Ok(taken) => stamps.push(taken.at),
                Err(error) => break error.to_string(),
            }
        };
        assert_eq!(stamps.len(), 20);
        assert!(stamps.is_sorted());
        assert_eq!(ended, "the camera generated gives no pictures: ffmpeg ended");
    }

    #[test]
    fn a_device_that_is_missing_is_reported_with_its_reason() {
        let (rate, size) = ("25".parse().unwrap(), "64x48".parse().unwrap());
        let camera = Camera::open(Path::new("/dev/no-such-camera"), rate, size);
        let error = camera.and_then(|mut camera| camera.take(&mut [0; 4]).map(drop)).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("the camera /dev/no-such-camera gives no pictures: "), "{text}");
    }
}
