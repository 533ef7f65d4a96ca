//! A test pattern whose content follows from its stamp.

use tactus_model::frames::Rate;
use tactus_model::time::{Monotonic, Nanos};
use tactus_sys::clock;

use super::{Pace, PictureError, Pictures, Size, Taken};
use crate::Moment;
use crate::matroska::PIXEL;
use crate::sound::{FLASH, SECOND};

const WHITE: [u8; PIXEL] = [255, 255, 255, 0];
const DARK: [u8; PIXEL] = [48, 32, 16, 0];
const BAR: [u8; PIXEL] = [64, 192, 255, 0];

/// Shows a bar that crosses the picture once a second. From the first second on, the picture is
/// white for [`FLASH`] after each whole second of its origin.
#[derive(Debug)]
pub(crate) struct Pattern {
    pace: Pace,
    origin: Moment,
    width: usize,
}

impl Pattern {
    pub(crate) fn new(rate: Rate, size: Size) -> Self {
        let origin = Moment::from_nanos(0);
        Self { pace: Pace::new(rate), origin, width: size.width as usize }
    }
}

impl Pictures for Pattern {
    fn begin(&mut self, origin: Moment) {
        self.origin = origin;
        self.pace.begin(origin);
    }

    fn take(&mut self, picture: &mut [u8]) -> Result<Taken, PictureError> {
        let missing = self.pace.wait()?;
        let at = clock::now::<Monotonic>();
        draw(at - self.origin, self.width, picture);
        Ok(Taken { at, within: Nanos::ZERO, missing })
    }
}

/// What a camera would see at this time after the origin.
fn draw(after: Nanos, width: usize, picture: &mut [u8]) {
    let within = after.as_nanos() % SECOND.as_nanos();
    let is_flash = after >= SECOND && within < FLASH.as_nanos();
    let place = (width as u64 * within / SECOND.as_nanos()) as usize;
    let bar = place..place + width.div_ceil(16);
    for line in picture.chunks_exact_mut(width * PIXEL) {
        for (column, pixel) in line.chunks_exact_mut(PIXEL).enumerate() {
            let colour = match is_flash {
                true => WHITE,
                false if bar.contains(&column) => BAR,
                false => DARK,
            };
            pixel.copy_from_slice(&colour);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Vec<u8> {
        let mut picture = vec![0; 32 * 16 * PIXEL];
        draw(Nanos::from_millis(millis), 32, &mut picture);
        picture
    }

    #[test]
    fn it_flashes_at_each_second_but_the_first() {
        let is_white = |millis| at(millis).chunks(PIXEL).all(|pixel| pixel == WHITE);
        for (millis, white) in
            [(0, false), (999, false), (1000, true), (1039, true), (1040, false), (7000, true)]
        {
            assert_eq!(is_white(millis), white, "{millis}");
        }
        let column = |picture: &[u8]| picture.chunks(PIXEL).position(|pixel| pixel == BAR);
        assert_eq!((column(&at(0)), column(&at(500))), (Some(0), Some(16)));
    }
}
