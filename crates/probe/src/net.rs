//! The measured loop of the net probe: a sender of bursts of packets.
//!
//! In every period the sender computes, sends packets, and sleeps until the next period. It skips
//! nothing: a late sender works off the bursts that are due. A burst is delivered when the kernel
//! of the receiver has its last packet. The receiver's stamps wait in its socket until the window
//! is over, so no receiver competes for a CPU.

mod arrivals;
mod outgoing;
mod relay;
mod site;

use tactus_model::net::NetProbe;
use tactus_model::sample::Sample;
use tactus_model::time::{Clock, Instant, Nanos};
use tactus_prepare::TouchedVec;
use tactus_sys::clock;
use tactus_sys::sleep::Sleeper;

pub(crate) use outgoing::{NetError, Outgoing};
pub use relay::relay_main;
pub(crate) use site::SenderSite;

use crate::timer::TakenSamples;
use crate::work::{Pace, compute};

/// How long after its window a late sender may work off bursts that were due in it.
const OVERTIME: Nanos = Nanos::from_secs(10);

/// The bursts of a window.
#[derive(Clone, Copy, Debug)]
pub struct Bursts {
    period: Nanos,
    packets: u32,
    work: Nanos,
    window: Nanos,
}

impl Bursts {
    /// The bursts that `probe` requests in a window.
    pub const fn new(probe: &NetProbe, window: Nanos) -> Self {
        Self {
            period: probe.period(),
            packets: probe.packets.get(),
            work: probe.burst_work,
            window,
        }
    }

    /// How many bursts are due.
    pub const fn count(&self) -> u64 {
        self.window.as_nanos().div_ceil(self.period.as_nanos())
    }

    /// How many packets they have.
    pub const fn packets(&self) -> u64 {
        self.count().saturating_mul(self.packets as u64)
    }

    fn due(&self, burst: u64) -> Nanos {
        self.period.saturating_mul(burst)
    }

    /// The marks of a window: one when a burst begins, and one after each packet.
    fn marks(&self) -> u64 {
        self.count() + self.packets()
    }

    /// The samples of a window: bursts that were delivered, each with its arrival, and bursts that
    /// were lost or not sent, which are late at least until sending ended.
    pub(crate) fn judged(&self, arrivals: &[Option<Nanos>], ended: Nanos) -> TakenSamples {
        let mut taken = TakenSamples { ended, ..TakenSamples::default() };
        for (burst, arrival) in (0..self.count()).zip(arrivals) {
            let due = self.due(burst);
            match *arrival {
                Some(came) => taken.samples.push(Sample { due, came }),
                None => taken.skipped.push(Sample { due, came: ended.max(due) }),
            }
        }
        taken.missed = taken.skipped.len() as u64;
        taken
    }
}

/// The CPU time that the sender had used at some time since the window opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    at: Nanos,
    used: Nanos,
}

/// Memory for marks, allocated and touched before the window opens.
pub(crate) type Marks = TouchedVec<Mark>;

/// What a sender did in its window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// The bursts that it sent.
    pub bursts: u64,
    /// When it ended, since the window opened.
    pub ended: Nanos,
}

/// Sends the bursts of a window that opens at `start`.
///
/// The loop allocates nothing, takes no lock, and makes no system calls besides the sleep, those
/// of `path`, and a reading of the thread's CPU time after each packet. It has one turn per burst,
/// and ends at the latest with the first burst that begins [`OVERTIME`] after the window.
///
/// # Errors
/// Those of the sleeper and of the path.
pub(crate) fn send_bursts<C: Clock>(
    sleeper: &mut impl Sleeper<C>,
    path: &mut dyn Outgoing,
    pace: Pace,
    bursts: &Bursts,
    start: Instant<C>,
    marks: &mut Marks,
) -> Result<Sent, NetError> {
    let units = pace.units(bursts.work.as_nanos() as f64 / f64::from(bursts.packets));
    let mut mark = |now: Instant<C>| {
        // There is memory for all.
        let _ = marks.try_push(Mark { at: now - start, used: clock::thread_cpu_time() });
    };
    let mut sent = 0;
    let mut now = clock::now::<C>();
    while sent < bursts.count() && now - start < bursts.window + OVERTIME {
        let due = start + bursts.due(sent);
        if now < due {
            now = sleeper.sleep_until(due)?;
        }
        mark(now);
        for _ in 0..bursts.packets {
            compute(units);
            path.send(sent)?;
            now = clock::now();
            mark(now);
        }
        path.flush()?;
        sent += 1;
    }
    Ok(Sent { bursts: sent, ended: now - start })
}

/// The CPU time in each period of the window. Between two marks, it is spread evenly.
fn use_over_time(marks: &[Mark], bursts: &Bursts) -> Vec<Nanos> {
    let mut used = vec![0.0; usize::try_from(bursts.count()).unwrap_or_default()];
    let period = bursts.period;
    for pair in marks.windows(2) {
        let (from, until) = (pair[0].at.as_nanos(), pair[1].at.as_nanos());
        let amount = (pair[1].used - pair[0].used).as_nanos() as f64;
        let length = until.saturating_sub(from).max(1) as f64;
        let mut at = from;
        while at < until {
            let slice = at / period.as_nanos();
            let end = ((slice + 1) * period.as_nanos()).min(until);
            let Some(place) = usize::try_from(slice).ok().and_then(|slice| used.get_mut(slice))
            else {
                break;
            };
            *place += amount * (end - at) as f64 / length;
            at = end;
        }
    }
    used.into_iter().map(|nanos| Nanos::from_nanos(nanos as u64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(count: u64) -> Nanos {
        Nanos::from_millis(count)
    }

    fn bursts(window: u64) -> Bursts {
        Bursts { period: millis(40), packets: 10, work: millis(3), window: millis(window) }
    }

    #[test]
    fn use_is_spread_between_marks_and_adds_up() {
        let mark = |at, used| Mark { at: millis(at), used: millis(used) };
        let marks = vec![mark(0, 0), mark(5, 5), mark(40, 5), mark(100, 11)];
        let used = use_over_time(&marks, &bursts(160));
        assert_eq!(used, [millis(5), millis(4), millis(2), Nanos::ZERO]);
    }

    #[test]
    fn bursts_that_did_not_arrive_are_late_until_sending_ended() {
        let bursts = bursts(120);
        let arrivals = [Some(millis(4)), None, Some(millis(85))];
        let taken = bursts.judged(&arrivals, millis(90));
        assert_eq!(taken.missed, 1);
        assert_eq!(taken.skipped, [Sample { due: millis(40), came: millis(90) }]);
        let due: Vec<Nanos> = taken.samples.iter().map(|sample| sample.due).collect();
        assert_eq!(due, [Nanos::ZERO, millis(80)]);
    }
}
