//! A person who moves the mouse over an inch of an empty screen: the mouse load of 1993.
//!
//! The pointer enters no window, so no client takes part; the server draws the pointer anew at
//! each place.

use tactus_model::frames::Rate;

use super::Endless;
use super::pace::Pace;
use super::x11::{Display, Hand};
use crate::site::Site;

/// An inch of a screen of 75 dots per inch, in steps of five dots.
const INCH: i16 = 75;
const STEP: usize = 5;

/// Counts one operation per place of the pointer.
pub(super) fn run(rate: Rate, site: &'static Site) -> Endless {
    let hand = Hand::new(Display::start(1, site)?.client()?)?;
    hand.show_pointer()?;
    let mut pace = Pace::at(rate);
    loop {
        for x in (0..INCH).chain((0..INCH).rev()).step_by(STEP) {
            pace.wait();
            hand.point(100 + x, 100)?;
            site.did(1, 0);
        }
    }
}
