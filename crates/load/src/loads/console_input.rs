//! A person who holds down the return key at a console: the keyboard load of 1993.
//!
//! The console is a pseudo-terminal. Each key goes through its line discipline, which echoes it,
//! wakes the shell that reads lines there, and carries the shell's prompt back. A real console
//! also has the interrupt of a keyboard and the drawing of letters; neither takes part.

use tactus_model::frames::Rate;

use super::Endless;
use super::pace::Pace;
use super::pseudo_terminal::{Console, RETURN};
use crate::site::Site;

/// Counts one operation per key that the shell has answered.
pub(super) fn run(rate: Rate, site: &'static Site) -> Endless {
    let mut console = Console::start(site)?;
    let mut pace = Pace::at(rate);
    loop {
        pace.wait();
        console.press(RETURN)?;
        site.did(1, 0);
    }
}
