//! The player on simulated kernels: compared with the closed form, and under any delays.

use proptest::prelude::*;
use tactus_model::experiment::{Experiment, Overrides};
use tactus_model::frames::{Rate, Tick, TickShift, Ticks};
use tactus_model::random::SplitMix64;
use tactus_model::time::Monotonic;
use tactus_stats::frames::{FrameModel, expected};

use super::*;
use crate::timer::Rest;

/// A kernel that serves timers at its ticks or when they are due, and delays its players by a
/// random time. Its only clock is that of the timers.
struct Kernel {
    ticks: Option<Ticks>,
    random: SplitMix64,
    /// Delays are uniform below this many nanoseconds …
    delay: u64,
    /// … except one in this many, which is a stall of up to a second.
    stall_every: u64,
}

impl Kernel {
    fn exact(ticks: Option<Ticks>) -> Self {
        Self { ticks, random: SplitMix64::new(0), delay: 1, stall_every: u64::MAX }
    }
}

const START: Instant<Monotonic> = Instant::from_nanos(7_000_000_000);

impl Sleeper<Monotonic> for Kernel {
    fn sleep_until(&mut self, due: Instant<Monotonic>) -> Result<Instant<Monotonic>, SysError> {
        let due = due - START;
        let served = self.ticks.map_or(due, |ticks| ticks.at_or_after(due));
        let stalled = self.random.below(self.stall_every) == 0;
        let most = if stalled { 1_000_000_000 } else { self.delay };
        Ok(START + served + Nanos::from_nanos(self.random.below(most)))
    }
}

/// Takes a random time to show a frame.
struct Drawing {
    random: SplitMix64,
    most: u64,
}

impl Activity<Monotonic> for Drawing {
    fn act(&mut self, came: Instant<Monotonic>, _: Instant<Monotonic>) -> Instant<Monotonic> {
        came + Nanos::from_nanos(self.random.below(self.most))
    }
}

fn probe(frame_rate: Rate, tick: Tick, tick_shift: TickShift) -> FramesProbe {
    let text = format!(
        "[settings]\nprobe = \"frames\"\nduration = \"1h\"\nframe-rate = \"{frame_rate}\"\n\
         tick = \"{tick}\"\ntick-shift = \"{tick_shift}\""
    );
    let plan = Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap();
    plan.cells[0].probe.frames().unwrap().clone()
}

fn played(probe: &FramesProbe, window: Nanos, kernel: &mut Kernel) -> TakenSamples {
    let player = Player::new(probe, Nanos::ZERO, window);
    let memory = SampleMemory::take(player.intended() as usize).unwrap();
    player.judged(play(kernel, &mut Rest, &player, START, memory).unwrap())
}

fn any_rate() -> impl Strategy<Value = Rate> {
    (1_u64..2_000, prop_oneof![Just(1_u64), 1_u64..20])
        .prop_filter_map("range", |(times, parts)| format!("{times}/{parts}").parse().ok())
}

/// A window of `count` patterns of these rates, rounded up to the next nanosecond.
fn patterns(count: u64, frames: Rate, model: &FrameModel) -> Nanos {
    let times = *frames.per_second().numer();
    let length = u128::from(count * model.pattern_frames())
        * u128::from(*frames.per_second().denom())
        * 1_000_000_000;
    Nanos::from_nanos(length.div_ceil(u128::from(times)) as u64)
}

proptest! {
    /// The player on a kernel with ticks, and the player that rounds its requests up to such
    /// ticks, show as many frames as the closed form predicts.
    #[test]
    fn a_player_on_ticks_shows_what_the_closed_form_predicts(
        frames in any_rate(),
        ticks in any_rate(),
        part in 0_u64..1_000,
    ) {
        let shift = Nanos::from_nanos(ticks.period().as_nanos() * part / 1_000);
        let model = FrameModel::new(frames, ticks);
        let window = patterns(1, frames, &model);
        prop_assume!(model.pattern_frames() < 5_000);
        let exact = model.shown_at(FrameModel::shift_of(shift, ticks));
        let kernel = Ticks::new(ticks, shift);
        for (tick, mut kernel) in [
            (Tick::None, Kernel::exact(Some(kernel))),
            (Tick::Every(ticks), Kernel::exact(None)),
        ] {
            let taken = played(&probe(frames, tick, TickShift::At(shift)), window, &mut kernel);
            let shown = taken.samples.len() as u64;
            // Frames and ticks are rounded to nanoseconds; a frame of a pattern may lie on the border.
            prop_assert!(shown.abs_diff(exact) <= 1, "{} shown, {} by the model", shown, exact);
            prop_assert_eq!(shown + taken.missed, model.pattern_frames());
        }
    }

    /// A sweep visits every shift for the same time, so the player achieves the average.
    #[test]
    fn a_sweep_achieves_the_average_of_the_shifts(frames in 10_u64..200, ticks in 10_u64..400) {
        let rate = |times: u64| times.to_string().parse::<Rate>().unwrap();
        let probe = probe(rate(frames), Tick::Every(rate(ticks)), TickShift::Sweep);
        let window = Nanos::from_secs(30);
        let taken = played(&probe, window, &mut Kernel::exact(None));
        let intended = (taken.samples.len() + taken.skipped.len()) as f64;
        let achieved = frames as f64 * taken.samples.len() as f64 / intended;
        let expected = expected(&probe);
        let expected = *expected.numer() as f64 / *expected.denom() as f64;
        // Each of the at most min(p, q) + 1 borders that a sweep crosses may cost a frame.
        prop_assert!((achieved - expected).abs() < frames as f64 * 0.02, "{} {}", achieved, expected);
    }

    #[test]
    fn no_frame_is_early_and_every_frame_is_accounted_for(
        frames in any_rate(),
        tick in prop_oneof![Just(Tick::None), any_rate().prop_map(Tick::Every)],
        sweep in any::<bool>(),
        seed in any::<u64>(),
        delay in 1_u64..20_000_000,
        stall_every in 2_u64..100,
        most in 1_u64..30_000_000,
        limit in prop_oneof![Just(usize::MAX), 0_usize..200],
    ) {
        let shift = if sweep { TickShift::Sweep } else { TickShift::At(Nanos::from_micros(seed % 9_000)) };
        let probe = probe(frames, tick, shift);
        let player = Player::new(&probe, Nanos::from_millis(3), Nanos::from_secs(2));
        let mut kernel = Kernel { ticks: None, random: SplitMix64::new(seed), delay, stall_every };
        let mut drawing = Drawing { random: SplitMix64::new(!seed), most };
        let memory = SampleMemory::take(limit.min(player.intended() as usize)).unwrap();
        let taken = player.judged(play(&mut kernel, &mut drawing, &player, START, memory).unwrap());
        let TakenSamples { samples, skipped, missed, dropped, .. } = taken;
        prop_assert_eq!(missed, skipped.len() as u64);
        prop_assert_eq!(samples.len() as u64 + missed + dropped, player.intended());
        prop_assert!(samples.iter().chain(&skipped).all(|sample| sample.came >= sample.due));
        prop_assert!(samples.iter().all(|sample| player.frames.shows(sample.latency())));
        prop_assert!(skipped.iter().all(|sample| !player.frames.shows(sample.latency())));
        prop_assert!(samples.is_sorted_by_key(|sample| sample.came), "frames are shown in their order");
    }
}

#[test]
fn after_a_stall_the_player_shows_the_frame_whose_slot_it_is() {
    /// Late by 110 ms once, for the frame at 100 ms.
    struct StallsOnce;
    impl Sleeper<Monotonic> for StallsOnce {
        fn sleep_until(&mut self, due: Instant<Monotonic>) -> Result<Instant<Monotonic>, SysError> {
            let late = if due - START == Nanos::from_millis(100) { 110 } else { 0 };
            Ok(due + Nanos::from_millis(late))
        }
    }
    let probe = probe("50".parse().unwrap(), Tick::None, TickShift::Sweep);
    let player = Player::new(&probe, Nanos::ZERO, Nanos::from_millis(400));
    let memory = SampleMemory::take(20).unwrap();
    let taken = player.judged(play(&mut StallsOnce, &mut Rest, &player, START, memory).unwrap());
    // The frames of 100 to 180 ms are too late at 210 ms; the frame of 200 ms is not.
    assert_eq!((taken.samples.len(), taken.missed), (15, 5));
    let late = taken.samples.iter().map(|sample| sample.latency()).max();
    assert_eq!(late, Some(Nanos::from_millis(10)));
}
