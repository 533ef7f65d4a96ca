//! The cost of the measured loop itself.

use tactus_model::frames::FramesProbe;
use tactus_model::probe::Interval;
use tactus_model::result::ProbeCost;
use tactus_model::time::{Clock, Instant, Nanos};
use tactus_sys::sleep::Sleeper;
use tactus_sys::{SysError, clock};

use crate::frames::{Player, play};
use crate::schedule::Schedule;
use crate::timer::{Rest, SampleMemory, TakenSamples, measure};

/// Turns of a trial: some tens of microseconds, short enough to pass undisturbed.
const TURNS: u64 = 1_000;
const TRIALS: u32 = 25;

/// Returns at once, with the time stamp that every sleeper takes.
struct NoSleep;

impl<C: Clock> Sleeper<C> for NoSleep {
    #[inline]
    fn sleep_until(&mut self, _due: Instant<C>) -> Result<Instant<C>, SysError> {
        Ok(clock::now())
    }
}

/// Measures the cost of reading the clock `C` and of a turn of the loop, on the CPU on which
/// the calling thread runs.
///
/// The loop is the measured loop, with a sleeper that reads the clock and returns. The cost of
/// a turn therefore includes the time stamp, storing the sample, and finding the next due time.
/// Each figure is the least of several short trials' means, because every disturbance only
/// makes a trial longer.
pub fn cost_of_loop<C: Clock>(interval: Interval) -> ProbeCost {
    ProbeCost {
        clock_read_ns: least(&trial_of_reading::<C>),
        loop_ns: least(&|| trial_of_loop::<C>(interval)),
    }
}

/// Measures the cost of reading the clock `C` and of a turn of a player's loop in the same way.
pub fn cost_of_playing<C: Clock>(probe: &FramesProbe) -> ProbeCost {
    ProbeCost {
        clock_read_ns: least(&trial_of_reading::<C>),
        loop_ns: least(&|| trial_of_playing::<C>(probe)),
    }
}

fn least(trial: &dyn Fn() -> f64) -> f64 {
    (0..TRIALS).map(|_| trial()).fold(f64::MAX, f64::min)
}

fn trial_of_reading<C: Clock>() -> f64 {
    let begin = clock::now::<C>();
    for _ in 1..TURNS {
        std::hint::black_box(clock::now::<C>());
    }
    let end = clock::now::<C>();
    (end - begin).as_nanos() as f64 / TURNS as f64
}

fn trial_of_loop<C: Clock>(interval: Interval) -> f64 {
    let window = interval.mean().saturating_mul(TURNS);
    let schedule = Schedule::new(interval, Nanos::ZERO, window, 0);
    let turns = schedule.remaining().max(1);
    trial_of::<C>(turns, |start, memory| measure(&mut NoSleep, &mut Rest, schedule, start, memory))
}

fn trial_of_playing<C: Clock>(probe: &FramesProbe) -> f64 {
    let window = probe.timer.interval.mean().saturating_mul(TURNS);
    let player = Player::new(probe, Nanos::ZERO, window);
    let turns = player.intended().max(1);
    trial_of::<C>(turns, |start, memory| play(&mut NoSleep, &mut Rest, &player, start, memory))
}

/// The mean duration of a turn, in nanoseconds, of a loop with this many turns.
fn trial_of<C: Clock>(
    turns: u64,
    run: impl FnOnce(Instant<C>, SampleMemory) -> Result<TakenSamples, SysError>,
) -> f64 {
    let Ok(memory) = SampleMemory::take(turns as usize) else { return f64::MAX };
    let begin = clock::now::<C>();
    // Every due time lies in the future, so none is missed.
    let taken = run(begin + Nanos::from_secs(3600), memory);
    let end = clock::now::<C>();
    // Freed only now, after the clock was read.
    drop(std::hint::black_box(taken));
    (end - begin).as_nanos() as f64 / turns as f64
}

#[cfg(test)]
mod tests {
    use tactus_model::time::Monotonic;

    use super::*;

    #[test]
    fn a_trial_measures_every_turn_and_misses_none() {
        for interval in ["1ms", "1ms..2ms", "1ms~1us"] {
            let interval: Interval = interval.parse().unwrap();
            let window = interval.mean().saturating_mul(TURNS);
            let schedule = Schedule::new(interval, Nanos::ZERO, window, 0);
            let turns = schedule.remaining();
            let cost = trial_of::<Monotonic>(turns, |start, memory| {
                let taken = measure(&mut NoSleep, &mut Rest, schedule, start, memory)?;
                assert_eq!(taken.samples.len() as u64, turns, "{interval}");
                assert_eq!((taken.missed, taken.dropped), (0, 0), "{interval}");
                Ok(taken)
            });
            assert!(cost < f64::MAX, "not enough memory for the samples");
        }
    }

    #[test]
    fn the_least_disturbed_trial_is_the_figure() {
        let trials = std::cell::RefCell::new((1..=TRIALS).map(f64::from).rev());
        assert_eq!(least(&|| trials.borrow_mut().next().unwrap()), 1.0);
    }
}
