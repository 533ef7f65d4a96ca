//! Interrupts: the first requests an orderly end, the second ends the program.

use std::io;
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The exit code of an interrupted program, by the convention of shells.
pub(crate) const INTERRUPTED: u8 = 130;

/// Calls `stop` at the first SIGINT or SIGTERM, and ends the program at the second. Child
/// processes end with it; finished turns are kept.
pub(crate) fn on_interrupt(stop: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::spawn(move || {
        let mut signals = signals.forever();
        if signals.next().is_some() {
            stop();
        }
        if signals.next().is_some() {
            std::process::exit(INTERRUPTED.into());
        }
    });
    Ok(())
}
