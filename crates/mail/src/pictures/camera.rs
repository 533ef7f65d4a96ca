//! A camera, read by ffmpeg as a process of its own.

use std::path::{Path, PathBuf};

use tactus_clip::{Camera as Reader, ClipError};
use tactus_model::frames::Rate;
use tactus_model::time::{Monotonic, Nanos};
use tactus_sys::clock;

use super::{Breaker, PATIENCE, PictureError, Pictures, Size, Taken};
use crate::Moment;
use crate::matroska::PIXEL;

/// How long before its arrival a stamp may be: what waits in a driver, in ffmpeg and in a pipe. A
/// stamp that is older is not by `CLOCK_MONOTONIC`, nor is one that is more than a period later: the
/// kernel's simulated camera hands a picture over at its first line and stamps the last one.
const OLDEST: Nanos = Nanos::from_secs(60);

/// Pictures from a device, with the stamps of its driver.
pub(crate) struct Camera {
    reader: Reader,
    device: PathBuf,
    period: Nanos,
}

impl Camera {
    /// Opens a device of Video4Linux, and waits for its first picture: a camera and ffmpeg take a
    /// while to start, and a clip begins when both have. ffmpeg ends with this thread.
    ///
    /// # Errors
    /// There is no camera, another program uses it, or it gives nothing for 30 s.
    pub(crate) fn open(device: &Path, rate: Rate, size: Size) -> Result<Self, PictureError> {
        let reader = Reader::open(device, rate, size);
        Self::start(reader, device, rate, size)
    }

    fn start(
        reader: Result<Reader, ClipError>,
        device: &Path,
        rate: Rate,
        size: Size,
    ) -> Result<Self, PictureError> {
        let mut reader = reader.map_err(|error| failed(device, error))?;
        let mut first = vec![0; size.width as usize * size.height as usize * PIXEL];
        reader.read(&mut first).map_err(|error| failed(device, error))?;
        reader.set_patience(PATIENCE);
        Ok(Self { reader, device: device.to_owned(), period: rate.period() })
    }
}

/// Why there are no pictures.
fn failed(device: &Path, error: ClipError) -> PictureError {
    let reason = match error {
        ClipError::Silent { most, .. } => format!("it sent nothing for {} s", most.as_secs()),
        ClipError::Decoder { reason, .. } => reason,
        error => error.to_string(),
    };
    PictureError::Camera { device: device.to_owned(), reason }
}

/// When a picture was taken: at the stamp of its driver, or else when it has arrived.
fn taken_at(stamp: Option<i64>, arrival: Moment, period: Nanos) -> Moment {
    let stamp = stamp.and_then(|stamp| u64::try_from(stamp).ok()).map(Moment::from_nanos);
    let near = arrival - OLDEST..=arrival + period;
    stamp.filter(|stamp| near.contains(stamp)).unwrap_or(arrival)
}

impl Pictures for Camera {
    /// The camera has its own pace.
    fn begin(&mut self, _: Moment) {}

    fn take(&mut self, picture: &mut [u8]) -> Result<Taken, PictureError> {
        let stamp = self.reader.read(picture).map_err(|error| failed(&self.device, error))?;
        let at = taken_at(stamp, clock::now::<Monotonic>(), self.period);
        // Light falls on the sensor before its last line is stamped, for a period at most.
        Ok(Taken { at, within: self.period, missing: 0 })
    }

    fn breaker(&self) -> Result<Option<Breaker>, PictureError> {
        let stopper = self.reader.stopper();
        Ok(Some(Box::new(move || stopper.stop())))
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use tactus_testing::{Need, skip};

    use super::*;

    const SIZE: Size = Size { width: 64, height: 48 };

    fn rate() -> Rate {
        "20".parse().unwrap()
    }

    fn generated(source: &str) -> Result<Camera, PictureError> {
        let mut input = Command::new("ffmpeg");
        input.args(["-re", "-f", "lavfi", "-i", source]);
        Camera::start(Reader::read_input(&input, SIZE), Path::new("generated"), rate(), SIZE)
    }

    #[test]
    fn pictures_without_a_stamp_of_this_clock_are_stamped_as_they_arrive() {
        let mut camera = match generated("testsrc=size=64x48:rate=20:duration=1") {
            Err(PictureError::Camera { reason, .. }) => return skip(Need::Display, reason),
            camera => camera.unwrap(),
        };
        let began = clock::now::<Monotonic>();
        let mut picture = vec![0; 64 * 48 * PIXEL];
        let mut stamps = Vec::new();
        let ended = loop {
            match camera.take(&mut picture) {
                Ok(taken) => stamps.push(taken.at),
                Err(error) => break error.to_string(),
            }
        };
        assert_eq!(stamps.len(), 19, "all after the first, which shows that the camera runs");
        assert!(stamps.is_sorted() && stamps[0] >= began);
        assert_eq!(ended, "the camera generated gives no pictures: ffmpeg ended");
    }

    #[test]
    fn a_stamp_of_the_driver_counts_unless_it_is_by_another_clock() {
        let at = |seconds: u64| Moment::from_nanos(seconds * 1_000_000_000);
        let stamp = |seconds: i64| Some(seconds * 1_000_000_000);
        for (stamp, taken) in [
            (stamp(99), at(99)),
            (stamp(100), at(100)),
            (stamp(101), at(101)),
            (stamp(102), at(100)),
            (stamp(40), at(40)),
            (stamp(39), at(100)),
            (stamp(-1), at(100)),
            (None, at(100)),
        ] {
            assert_eq!(taken_at(stamp, at(100), Nanos::from_secs(1)), taken, "{stamp:?}");
        }
    }

    #[test]
    fn a_device_that_is_missing_is_reported_with_its_reason() {
        let camera = Camera::open(Path::new("/dev/no-such-camera"), rate(), SIZE);
        let text = camera.map(drop).unwrap_err().to_string();
        let start = "the camera /dev/no-such-camera gives no pictures: ";
        let reason = text.strip_prefix(start);
        assert!(reason.is_some_and(|reason| !reason.starts_with('[')), "{text}");
    }
}
