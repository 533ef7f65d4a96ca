//! What ticks bill for the quanta of a thread or program.

use serde::{Deserialize, Serialize};
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::clock::TickClock;
use super::rate::TickRate;
use crate::number_map::NumberMap;

/// At how many phases a simulated tick is tried.
///
/// It divides a second in nanoseconds, so the time between two phases is exact in units
/// of a billionth of a tick.
pub(super) const PHASES: usize = 64;

/// A billionth of a tick is the unit of simulated time.
const TICK: u128 = 1_000_000_000;

/// The units from one phase to the next.
const PHASE: u64 = TICK as u64 / PHASES as u64;

/// What the ticks of a clock billed for some quanta.
///
/// The thread that is current at a tick is billed the whole tick. All used time counts;
/// a quantum is *missed* if it is whole and no tick fell into it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Billing {
    /// The clock.
    pub clock: TickClock,
    /// The time that a tick bills.
    pub period: Nanos,
    /// The time that was used.
    pub used: Nanos,
    /// The number of ticks in that time.
    pub ticks: Range,
    /// The number of whole quanta.
    pub quanta: u64,
    /// The number of whole quanta into which no tick fell.
    pub missed: Range,
    /// Quanta by their length and by the ticks that fell into them: Figure 4 of the
    /// paper. For a simulated clock, in the phase of the kernel's own tick.
    pub scatter: Vec<ScatterPoint>,
}

/// A count that depends on the phase of the ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// The recorded count; for a simulated clock, the count in the phase of the
    /// kernel's own tick, or in the phase of the recording's start if the kernel's tick
    /// is unknown.
    pub value: u64,
    /// The minimum over all phases.
    pub least: u64,
    /// The mean over all phases.
    pub mean: f64,
    /// The maximum over all phases.
    pub greatest: u64,
}

/// Quanta of similar length that the same number of ticks fell into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScatterPoint {
    /// Their mean length.
    pub length: Nanos,
    /// How many ticks each quantum was billed.
    pub ticks: u64,
    /// The number of quanta.
    pub count: u64,
}

impl Billing {
    /// The time that was billed.
    pub fn billed(&self) -> Nanos {
        self.period.saturating_mul(self.ticks.value)
    }

    /// The time billed divided by the time used; `None` if no time was used.
    pub fn ratio(&self) -> Option<f64> {
        self.over_used(self.ticks.value)
    }

    /// The minimum and the maximum ratio over all phases.
    pub fn ratio_range(&self) -> Option<(f64, f64)> {
        Some((self.over_used(self.ticks.least)?, self.over_used(self.ticks.greatest)?))
    }

    /// The share of whole quanta that were missed, from 0 to 1; `None` if there are no
    /// whole quanta.
    pub fn missed_share(&self) -> Option<f64> {
        (self.quanta > 0).then(|| self.missed.value as f64 / self.quanta as f64)
    }

    /// The minimum and the maximum share of missed quanta over all phases.
    pub fn missed_range(&self) -> Option<(f64, f64)> {
        let share = |missed: u64| missed as f64 / self.quanta as f64;
        (self.quanta > 0).then(|| (share(self.missed.least), share(self.missed.greatest)))
    }

    fn over_used(&self, ticks: u64) -> Option<f64> {
        let used = self.used.as_nanos();
        (used > 0).then(|| ticks as f64 * self.period.as_nanos() as f64 / used as f64)
    }
}

impl Range {
    /// A recorded count, which has only one phase.
    const fn recorded(value: u64) -> Self {
        Self { value, least: value, mean: value as f64, greatest: value }
    }

    fn over(value: u64, phases: &[u64; PHASES]) -> Self {
        let sum: u128 = phases.iter().map(|count| u128::from(*count)).sum();
        Self {
            value,
            least: phases.iter().copied().min().unwrap_or(value),
            mean: sum as f64 / PHASES as f64,
            greatest: phases.iter().copied().max().unwrap_or(value),
        }
    }
}

/// A clock that ticks at a rate, at any phase.
///
/// Time is counted in phases: a tick of phase `p` falls on every number that leaves the
/// remainder `p` when divided by [`PHASES`]. The numbers within a quantum therefore
/// give the tick counts of all phases at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Metronome {
    hertz: u64,
    started: Instant<Monotonic>,
    /// The offset that makes a tick of phase 0 fall on the reference.
    offset: u64,
}

impl Metronome {
    /// A clock of `rate` for a recording that began at `started`; in phase 0 it
    /// ticks at `reference`.
    pub(super) fn new(
        rate: TickRate,
        started: Instant<Monotonic>,
        reference: Instant<Monotonic>,
    ) -> Self {
        let distance = i128::from(reference.as_nanos()) - i128::from(started.as_nanos());
        let into_tick = (distance * i128::from(rate.hertz())).rem_euclid(TICK as i128);
        let offset = TICK as u64 - into_tick as u64;
        Self { hertz: u64::from(rate.hertz()), started, offset }
    }

    /// The number of the first phase that is not before `at`.
    fn phase_from(&self, at: Instant<Monotonic>) -> u64 {
        let since = (at - self.started).as_nanos();
        match since.checked_mul(self.hertz).and_then(|units| units.checked_add(self.offset)) {
            Some(units) => units.div_ceil(PHASE),
            None => {
                let units = u128::from(since) * u128::from(self.hertz) + u128::from(self.offset);
                units.div_ceil(u128::from(PHASE)) as u64
            }
        }
    }
}

/// What a simulated clock bills at every phase.
#[derive(Clone, Debug, Default)]
pub(super) struct Sweep {
    /// Ticks that fall in every phase.
    ticks: u64,
    /// Ticks that fall only in some phases.
    more: Around,
    /// Whole quanta shorter than a tick.
    short: u64,
    /// The phases in which a tick falls into such quanta.
    hit: Around,
    /// Whole quanta and their ticks in phase 0.
    scatter: Scatter,
}

impl Sweep {
    pub(super) fn add(
        &mut self,
        clock: &Metronome,
        from: Instant<Monotonic>,
        to: Instant<Monotonic>,
        is_whole: bool,
    ) {
        let (first, end) = (clock.phase_from(from), clock.phase_from(to));
        let phases = PHASES as u64;
        let rounds = (end - first) / phases;
        let (place, length) = ((first % phases) as usize, ((end - first) % phases) as usize);
        self.ticks += rounds;
        self.more.add(place, length);
        if is_whole {
            if rounds == 0 {
                self.short += 1;
                self.hit.add(place, length);
            }
            let at_phase_0 = end.div_ceil(phases) - first.div_ceil(phases);
            self.scatter.add(to - from, at_phase_0);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.ticks += other.ticks;
        self.more.merge(&other.more);
        self.short += other.short;
        self.hit.merge(&other.hit);
        self.scatter.merge(&other.scatter);
    }

    pub(super) fn finish(&self, rate: TickRate, used: Nanos, quanta: u64) -> Billing {
        let ticks = self.more.counts().map(|more| self.ticks + more);
        let missed = self.hit.counts().map(|hit| self.short - hit);
        Billing {
            clock: TickClock::Simulated { rate },
            period: rate.period(),
            used,
            ticks: Range::over(ticks[0], &ticks),
            quanta,
            missed: Range::over(missed[0], &missed),
            scatter: self.scatter.points(),
        }
    }
}

/// A count for each phase; ranges of phases can be added to it.
///
/// The counts are kept as differences between neighbouring phases, so adding a range
/// takes two steps.
#[derive(Clone, Debug)]
struct Around([i64; PHASES]);

impl Default for Around {
    fn default() -> Self {
        Self([0; PHASES])
    }
}

impl Around {
    /// Adds 1 to `length` phases starting at `place`, wrapping around at the end.
    fn add(&mut self, place: usize, length: usize) {
        if length == 0 {
            return;
        }
        self.0[place] += 1;
        let end = place + length;
        if end < PHASES {
            self.0[end] -= 1;
        } else if end > PHASES {
            self.0[0] += 1;
            self.0[end - PHASES] -= 1;
        }
    }

    fn merge(&mut self, other: &Self) {
        for (own, other) in self.0.iter_mut().zip(other.0) {
            *own += other;
        }
    }

    fn counts(&self) -> [u64; PHASES] {
        let mut sum = 0;
        self.0.map(|difference| {
            sum += difference;
            sum as u64
        })
    }
}

/// What the recorded ticks billed.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordedBill {
    ticks: u64,
    missed: u64,
    scatter: Scatter,
}

impl RecordedBill {
    pub(super) fn add(&mut self, length: Nanos, ticks: u64, is_whole: bool) {
        self.ticks += ticks;
        if is_whole {
            self.missed += u64::from(ticks == 0);
            self.scatter.add(length, ticks);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.ticks += other.ticks;
        self.missed += other.missed;
        self.scatter.merge(&other.scatter);
    }

    pub(super) fn finish(&self, period: Nanos, used: Nanos, quanta: u64) -> Billing {
        Billing {
            clock: TickClock::Kernel,
            period,
            used,
            ticks: Range::recorded(self.ticks),
            quanta,
            missed: Range::recorded(self.missed),
            scatter: self.scatter.points(),
        }
    }
}

/// Quanta by length (eight bins per doubling) and by ticks.
#[derive(Clone, Debug, Default)]
pub(super) struct Scatter(NumberMap<u64, Bin>);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bin {
    count: u64,
    /// In nanoseconds; saturates.
    length: u64,
}

impl Scatter {
    /// How many low bits of a bin's number hold the tick count.
    const TICK_DIGITS: u32 = 48;

    fn add(&mut self, length: Nanos, ticks: u64) {
        self.add_point(&ScatterPoint { length, ticks, count: 1 });
    }

    pub(super) fn add_point(&mut self, point: &ScatterPoint) {
        let ticks = point.ticks.min((1 << Self::TICK_DIGITS) - 1);
        let key = eighth_of_octave(point.length) << Self::TICK_DIGITS | ticks;
        let bin = self.0.entry(key).or_default();
        bin.count += point.count;
        let length = point.length.saturating_mul(point.count);
        bin.length = bin.length.saturating_add(length.as_nanos());
    }

    fn merge(&mut self, other: &Self) {
        for (key, more) in &other.0 {
            let bin = self.0.entry(*key).or_default();
            bin.count += more.count;
            bin.length = bin.length.saturating_add(more.length);
        }
    }

    pub(super) fn points(&self) -> Vec<ScatterPoint> {
        let mut points: Vec<ScatterPoint> = self
            .0
            .iter()
            .map(|(key, bin)| ScatterPoint {
                length: Nanos::from_nanos(bin.length / bin.count.max(1)),
                ticks: key & ((1 << Self::TICK_DIGITS) - 1),
                count: bin.count,
            })
            .collect();
        points.sort_unstable_by_key(|point| (point.length, point.ticks));
        points
    }
}

/// The number of the eighth of an octave that contains `length`, in ascending order.
fn eighth_of_octave(length: Nanos) -> u64 {
    let nanos = length.as_nanos();
    let octave = u64::from(nanos.checked_ilog2().unwrap_or(0));
    match octave.checked_sub(3) {
        Some(coarse) => (octave << 3) + ((nanos >> coarse) & 7),
        None => nanos,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(nanos: u64) -> Instant<Monotonic> {
        Instant::from_nanos(nanos)
    }

    /// Counts the ticks of a clock in `from ..< to` one by one, at one phase.
    fn counted(rate: u64, reference: u64, phase: u64, from: u64, to: u64) -> u64 {
        // In units of a 64 × rate-th of a nanosecond, starting far enough back to be before
        // `from`.
        let scale = u128::from(rate) * PHASES as u128;
        let tick = TICK * PHASES as u128;
        let first = (u128::from(reference) * scale + u128::from(phase) * TICK) % tick;
        let before = |end: u64| {
            let end = u128::from(end) * scale;
            (end + tick - first).div_ceil(tick)
        };
        (before(to) - before(from)) as u64
    }

    proptest! {
        #[test]
        fn a_sweep_counts_what_each_phase_would_bill(
            rate in 1..20_000_u32,
            started in 0..1u64 << 32,
            reference in 0..1u64 << 33,
            quanta in prop::collection::vec((0..100_000_000_u64, 0..10_000_000_u64, any::<bool>()), 0..20),
        ) {
            let rate = TickRate::new(rate).unwrap();
            let clock = Metronome::new(rate, at(started), at(reference));
            let (mut left, mut right) = (Sweep::default(), Sweep::default());
            let mut ticks = [0; PHASES];
            let mut missed = [0; PHASES];
            for (number, &(since, length, is_whole)) in quanta.iter().enumerate() {
                let (from, to) = (started + since, started + since + length);
                let sweep = if number % 2 == 0 { &mut left } else { &mut right };
                sweep.add(&clock, at(from), at(to), is_whole);
                for phase in 0..PHASES {
                    let hits = counted(rate.hertz().into(), reference, phase as u64, from, to);
                    ticks[phase] += hits;
                    missed[phase] += u64::from(is_whole && hits == 0);
                }
            }
            left.merge(&right);
            let billing = left.finish(rate, Nanos::ZERO, 0);
            prop_assert_eq!(billing.ticks, Range::over(ticks[0], &ticks));
            prop_assert_eq!(billing.missed, Range::over(missed[0], &missed));
            let whole = quanta.iter().filter(|(.., is_whole)| *is_whole).count() as u64;
            let scattered: u64 = billing.scatter.iter().map(|point| point.count).sum();
            prop_assert_eq!(scattered, whole);
        }

        #[test]
        fn bins_ascend(a in any::<u64>(), b in any::<u64>(), shift in 0..64_u32) {
            let (a, b) = (a >> shift, b >> shift);
            let of = |nanos| eighth_of_octave(Nanos::from_nanos(nanos));
            prop_assert!(of(a.min(b)) <= of(a.max(b)));
        }
    }

    #[test]
    fn the_mean_over_phases_is_the_time_used() {
        let rate = TickRate::new(100).unwrap();
        let clock = Metronome::new(rate, at(0), at(0));
        let mut sweep = Sweep::default();
        // A quarter of a tick, always just after a tick: never billed in its own phase.
        for tick in 0..100 {
            sweep.add(&clock, at(tick * 10_000_000 + 1), at(tick * 10_000_000 + 2_500_001), true);
        }
        let billing = sweep.finish(rate, Nanos::from_micros(250_000), 100);
        assert_eq!((billing.ticks.value, billing.missed.value), (0, 100));
        assert_eq!((billing.ticks.least, billing.ticks.greatest), (0, 100));
        assert_eq!(billing.ticks.mean, 25.0);
        assert_eq!(billing.ratio_range(), Some((0.0, 4.0)));
    }
}
