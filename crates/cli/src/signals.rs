//! Signals: the first requests an orderly end, a later one ends the program.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Origin};

/// The first signal that requested the end; 0 before.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// A request to end.
pub(crate) struct Request {
    /// The number of the signal.
    pub(crate) signal: i32,
    /// Whether a process sent it. The terminal sends signals to all processes in its foreground,
    /// so a command that we started has such a signal too.
    pub(crate) by_process: bool,
}

impl From<Origin> for Request {
    fn from(origin: Origin) -> Self {
        let by_process = matches!(origin.cause, Cause::Sent(_));
        Self { signal: origin.signal, by_process }
    }
}

/// Signals so soon after one are the same request: timeout(1) sends two, one to the program and one to
/// its process group.
const SAME_REQUEST: Duration = Duration::from_secs(1);

/// The last request, by its instant.
#[derive(Default)]
struct Requests(Option<Instant>);

impl Requests {
    /// Whether a signal that came `at` is a request of its own.
    fn is_new(&mut self, at: Instant) -> bool {
        let is_new = self.0.is_none_or(|last| at.duration_since(last) >= SAME_REQUEST);
        if is_new {
            self.0 = Some(at);
        }
        is_new
    }
}

/// Calls `stop` at the first SIGINT, SIGTERM or SIGHUP, and ends the program at the second that comes
/// a second or more later. Child processes end with it; finished turns are kept.
pub(crate) fn on_interrupt(stop: impl FnOnce(Request) + Send + 'static) -> io::Result<()> {
    let mut stop = Some(stop);
    on_each_interrupt(move |request| stop.take().map(|stop| stop(request)).is_some())
}

/// Calls `handle` at each request by SIGINT, SIGTERM or SIGHUP, and ends the program at the first that
/// it does not handle. Signals within a second are one request.
pub(crate) fn on_each_interrupt(
    mut handle: impl FnMut(Request) -> bool + Send + 'static,
) -> io::Result<()> {
    // `nohup` makes a program ignore the hangup of its terminal.
    let hangup = (!tactus_sys::process::ignores_hangup()).then_some(SIGHUP);
    let caught = [SIGINT, SIGTERM].into_iter().chain(hangup);
    let mut signals = SignalsInfo::<WithOrigin>::new(caught)?;
    thread::spawn(move || {
        let mut requests = Requests::default();
        for origin in signals.forever() {
            if !requests.is_new(Instant::now()) {
                continue;
            }
            // Only the first counts; a program with several runs waits in several threads.
            let relaxed = Ordering::Relaxed;
            let _ = RECEIVED.compare_exchange(0, origin.signal, relaxed, relaxed);
            let signal = origin.signal;
            if !handle(origin.into()) {
                std::process::exit(code_of(signal).into());
            }
        }
    });
    Ok(())
}

/// Ends the program because its terminal is gone, as the signal for that would.
pub(crate) fn end_by_hangup() -> ! {
    std::process::exit(exit_code().unwrap_or(code_of(SIGHUP)).into())
}

/// The exit code of a program that a signal ended, by the convention of shells: 130 for SIGINT,
/// 143 for SIGTERM, 129 for SIGHUP. `None` if no signal requested the end.
pub(crate) fn exit_code() -> Option<u8> {
    let signal = RECEIVED.load(Ordering::Relaxed);
    (signal != 0).then(|| code_of(signal))
}

/// The exit code of a program that `signal` ended.
pub(crate) fn code_of(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// Makes a write beyond the limit on file sizes (`ulimit -f`) an error: without a handler,
/// SIGXFSZ ends the program. Programs that we start have the default again.
pub(crate) fn catch_file_size_limit() {
    // Without it, the limit ends the program, as it would end most others.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_within_a_second_are_one_request() {
        let (mut requests, first) = (Requests::default(), Instant::now());
        let mut is_new = |ms: u64| requests.is_new(first + Duration::from_millis(ms));
        assert_eq!(
            [0, 0, 1, 999, 1000, 1500, 1999, 2000].map(&mut is_new),
            [true, false, false, false, true, false, false, true]
        );
    }
}
