//! The closed form for the frames shown by a player whose timers expire at ticks.
//!
//! A frame is shown if a tick comes in the first half of its slot, both ends included (Etsion,
//! Tsafrir and Feitelson, *Effects of Clock Resolution on the Scheduling of Interactive and
//! Soft Real-Time Processes*, SIGMETRICS 2003, section 5). For F frames and T ticks per second
//! let p/q = F/T in lowest terms: the pattern repeats after p frames, which last q ticks. The
//! frames of a pattern fall on p points that divide a tick evenly, so with ticks shifted by σ
//! ticks relative to the frames, the frames wait for (ψ + i)/p ticks, with ψ = frac(σp), i = 0
//! … p−1 in some order. Half a slot is q/2p ticks, so the pattern shows
//!
//! > n(σ) = min(p, ⌊q/2 − ψ⌋ + 1), or none when q/2 < ψ.
//!
//! Over all shifts the mean is min(p, q/2): on average a player achieves min(F, T/2) frames/s.
//!
//! ```
//! use num_rational::Ratio;
//! use tactus_stats::frames::FrameModel;
//!
//! // The paper's example: a third of the frames is lost for half of all shifts.
//! let model = FrameModel::new("60".parse().unwrap(), "100".parse().unwrap());
//! assert_eq!(model.achieved_at(Ratio::new(7, 12)), Ratio::from_integer(40));
//! assert_eq!(model.achieved_at(Ratio::new(4, 12)), Ratio::from_integer(60));
//! assert_eq!(model.achieved(), Ratio::from_integer(50));
//! ```

use num_rational::Ratio;
use serde::Serialize;
use tactus_model::cell::Cell;
use tactus_model::frames::{FramesProbe, PlayerKind, Rate, Tick, TickShift};
use tactus_model::result::Accounting;
use tactus_model::time::Nanos;

/// A frame rate on a tick rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameModel {
    frames: Rate,
    /// The pattern: this number of frames …
    pattern_frames: u64,
    /// … lasts this number of ticks.
    pattern_ticks: u64,
}

/// The shifts for which a frame is skipped, in ticks, each from 0 (inclusive) to 1 (exclusive).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkippedShifts {
    /// The frame is skipped for shifts above this …
    pub above: Ratio<u64>,
    /// … and below this, which is the smaller of the two if the range wraps past a tick.
    pub below: Ratio<u64>,
}

impl FrameModel {
    /// The model of `frames` per second on `ticks` per second.
    pub fn new(frames: Rate, ticks: Rate) -> Self {
        // Both terms of a rate are limited, so this does not overflow.
        let ratio = frames.per_second() / ticks.per_second();
        Self { frames, pattern_frames: *ratio.numer(), pattern_ticks: *ratio.denom() }
    }

    /// The number of frames after which the pattern repeats.
    pub const fn pattern_frames(&self) -> u64 {
        self.pattern_frames
    }

    /// The number of ticks per pattern.
    pub const fn pattern_ticks(&self) -> u64 {
        self.pattern_ticks
    }

    /// The number of frames of a pattern that are shown if a tick comes `shift` ticks after a
    /// frame.
    pub fn shown_at(&self, shift: Ratio<u64>) -> u64 {
        let (p, q) = (u128::from(self.pattern_frames), u128::from(self.pattern_ticks));
        let (shift, whole) = (u128::from(*shift.numer()), u128::from(*shift.denom()));
        // ψ in units of 1/whole.
        let first = shift % whole * p % whole;
        // q/2 − ψ ≥ i, all times 2·whole.
        let shown = match (q * whole).checked_sub(2 * first) {
            None => 0,
            Some(room) => (room / (2 * whole) + 1).min(p),
        };
        u64::try_from(shown).unwrap_or(self.pattern_frames)
    }

    /// The frame rate achieved if a tick comes `shift` ticks after a frame.
    pub fn achieved_at(&self, shift: Ratio<u64>) -> Ratio<u64> {
        self.frames.per_second() * Ratio::new(self.shown_at(shift), self.pattern_frames)
    }

    /// The share of frames that are shown, averaged over all shifts.
    pub fn shown_share(&self) -> Ratio<u64> {
        let (p, q) = (self.pattern_frames, self.pattern_ticks);
        // q/2p, without doubling a possibly large number.
        let half = Ratio::new(q, p) / Ratio::from_integer(2);
        half.min(Ratio::from_integer(1))
    }

    /// The frame rate achieved, averaged over all shifts.
    pub fn achieved(&self) -> Ratio<u64> {
        self.frames.per_second() * self.shown_share()
    }

    /// The shifts for which frame `frame` is skipped; `None` if it never is.
    pub fn skipped_shifts(&self, frame: u64) -> Option<SkippedShifts> {
        if self.shown_share() == Ratio::from_integer(1) {
            return None;
        }
        let (p, q) = (u128::from(self.pattern_frames), u128::from(self.pattern_ticks));
        let place = u128::from(frame) * q % p;
        // In units of 1/2p of a tick: the frame's position, and half a slot after it.
        let part = |parts: u128| {
            let parts = parts % (2 * p);
            Some(Ratio::new(u64::try_from(parts).ok()?, u64::try_from(2 * p).ok()?))
        };
        let (above, below) = (part(2 * place + q)?, part(2 * place)?);
        Some(SkippedShifts { above, below })
    }

    /// A duration in ticks of rate `ticks`, without the whole ticks.
    pub fn shift_of(shift: Nanos, ticks: Rate) -> Ratio<u64> {
        let (times, seconds) = (*ticks.per_second().numer(), *ticks.per_second().denom());
        let in_ticks = u128::from(shift.as_nanos()) * u128::from(times);
        let tick = 1_000_000_000 * u128::from(seconds);
        let part = Ratio::new(in_ticks % tick, tick);
        // The denominator is below 10¹⁸, and the numerator is below the denominator.
        let term = |term: u128| u64::try_from(term).unwrap_or(u64::MAX);
        Ratio::new(term(*part.numer()), term(*part.denom()))
    }
}

/// The expected frame rate of a player with these settings if only its ticks delay it.
///
/// A player with the rule of `tactus play` shows one frame at each tick, and none twice: every frame
/// whose slot has a tick is shown, whatever the shift.
pub fn expected(probe: &FramesProbe) -> Ratio<u64> {
    let Tick::Every(ticks) = probe.tick else { return probe.frame_rate.per_second() };
    if probe.player != PlayerKind::HalfSlot {
        return probe.frame_rate.per_second().min(ticks.per_second());
    }
    let model = FrameModel::new(probe.frame_rate, ticks);
    match probe.tick_shift {
        TickShift::Sweep => model.achieved(),
        TickShift::At(shift) => model.achieved_at(FrameModel::shift_of(shift, ticks)),
    }
}

/// The result of the players of a cell, in frames/s each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PlayerSummary {
    /// The desired rate.
    pub desired: f64,
    /// The achieved rate, averaged over all players.
    pub achieved: f64,
    /// The expected rate if only the ticks delay a player, from the closed form.
    pub expected: f64,
}

impl PlayerSummary {
    /// Summarizes a cell from its account of frames; `None` if it has no players or no frame
    /// was intended.
    pub fn of(cell: &Cell, accounting: Accounting) -> Option<Self> {
        let probe = cell.probe.frames()?;
        let desired = probe.frame_rate.as_f64();
        let share = accounting.observed as f64 / accounting.intended as f64;
        let expected = expected(probe);
        (accounting.intended > 0).then(|| Self {
            desired,
            achieved: desired * share,
            expected: *expected.numer() as f64 / *expected.denom() as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tactus_model::frames::{FrameTimes, Ticks};

    use super::*;

    fn rate(text: &str) -> Rate {
        text.parse().unwrap()
    }

    fn model(frames: &str, ticks: &str) -> FrameModel {
        FrameModel::new(rate(frames), rate(ticks))
    }

    /// Shifts of a 100 Hz tick in milliseconds, in the paper's form.
    fn millis(times: u64, parts: u64) -> Ratio<u64> {
        Ratio::new(times, parts) / 10
    }

    #[test]
    fn the_papers_example_skips_each_frame_for_a_sixth_of_the_shifts() {
        let model = model("60", "100");
        assert_eq!((model.pattern_frames(), model.pattern_ticks()), (3, 5));
        let skipped = |frame| {
            let SkippedShifts { above, below } = model.skipped_shifts(frame).unwrap();
            (above, below)
        };
        assert_eq!(skipped(0), (millis(25, 3), Ratio::ZERO));
        assert_eq!(skipped(1), (millis(5, 1), millis(20, 3)));
        assert_eq!(skipped(2), (millis(5, 3), millis(10, 3)));
        // Figure 5: a shift of 5⅚ ms skips frame 2.
        assert_eq!(model.shown_at(millis(35, 6)), 2);
    }

    #[test]
    fn fifty_on_fifty_shows_all_or_none() {
        let model = model("50", "50");
        assert_eq!(model.shown_at(Ratio::new(1, 2)), 1);
        assert_eq!(model.shown_at(Ratio::new(51, 100)), 0);
        assert_eq!(model.achieved(), Ratio::from_integer(25));
    }

    #[test]
    fn a_tick_of_half_a_slot_skips_no_frame() {
        assert_eq!(model("60", "120").achieved(), Ratio::from_integer(60));
        assert_eq!(model("60", "120").skipped_shifts(0), None);
        assert_eq!(model("60000/1001", "1000").achieved(), rate("60000/1001").per_second());
    }

    /// The definition, which is simple but slow to compute: a frame is shown if some tick comes
    /// in the first half of its slot.
    fn shown_by_definition(model: &FrameModel, shift: Ratio<u64>) -> u64 {
        let (p, q) = (model.pattern_frames, model.pattern_ticks);
        // In units of which 2p·denominator are a tick and 2q·denominator are a slot.
        let parts = *shift.denom();
        let (tick, slot) = (2 * p * parts, 2 * q * parts);
        let first_tick = 2 * p * (shift.numer() % parts);
        let shown = (0..p).filter(|frame| {
            let due = frame * slot;
            (0..=2 * q)
                .map(|number| number * tick + first_tick)
                .any(|tick_at| (due..=due + slot / 2).contains(&tick_at))
        });
        shown.count() as u64
    }

    fn any_rate() -> impl Strategy<Value = Rate> {
        (1_u64..120, 1_u64..7).prop_filter_map("out of range", |(times, seconds)| {
            Rate::of_ratio(Ratio::new(times, seconds))
        })
    }

    proptest! {
        #[test]
        fn the_closed_form_agrees_with_the_definition(
            frames in any_rate(),
            ticks in any_rate(),
            shift in 0_u64..240,
        ) {
            let model = FrameModel::new(frames, ticks);
            // Half of the shifts lie exactly on the borders of the pattern.
            let shift = match shift % 2 {
                0 => Ratio::new(shift, 240),
                _ => Ratio::new(shift, 2 * model.pattern_frames),
            };
            prop_assert_eq!(model.shown_at(shift), shown_by_definition(&model, shift));
        }

        #[test]
        fn the_average_is_that_of_the_shifts(frames in any_rate(), ticks in any_rate()) {
            let model = FrameModel::new(frames, ticks);
            // The number of frames shown changes only at multiples of 1/2p of a tick.
            let p = model.pattern_frames;
            let shown: u64 = (0..2 * p).map(|part| model.shown_at(Ratio::new(2 * part + 1, 4 * p))).sum();
            prop_assert_eq!(Ratio::new(shown, 2 * p * p), model.shown_share());
            let half_the_ticks = ticks.per_second() / 2;
            prop_assert_eq!(model.achieved(), frames.per_second().min(half_the_ticks));
        }

        #[test]
        fn a_frame_is_skipped_for_its_shifts_and_no_others(
            frames in any_rate(),
            ticks in any_rate(),
            frame in 0_u64..1_000,
            shift in 0_u64..100,
        ) {
            let model = FrameModel::new(frames, ticks);
            let shift = Ratio::new(shift, 100);
            let (p, q) = (u128::from(model.pattern_frames), u128::from(model.pattern_ticks));
            // The wait for the next tick in units of 1/100p of a tick, compared with half a
            // slot.
            let at = u128::from(*shift.numer()) * p * (100 / u128::from(*shift.denom()));
            let wait = (at + 100 * p - u128::from(frame) * q % p * 100) % (100 * p);
            let skipped = 2 * wait > 100 * q;
            let predicted = model.skipped_shifts(frame).is_some_and(|SkippedShifts { above, below }| {
                if above < below { above < shift && shift < below } else { shift > above || shift < below }
            });
            prop_assert_eq!(predicted, skipped);
        }

        /// The measured player computes in nanoseconds what the model computes exactly, up to
        /// the rounding to nanoseconds.
        #[test]
        fn ticks_in_nanoseconds_show_what_the_model_says(
            frames in any_rate(),
            ticks in any_rate(),
            shift in 0_u64..2_000_000_000,
        ) {
            let model = FrameModel::new(frames, ticks);
            let shift = Nanos::from_nanos(shift);
            let (times, kernel) = (FrameTimes::new(frames), Ticks::new(ticks, shift));
            let shown = |extra: u64| {
                let frames = 0..model.pattern_frames;
                frames.filter(|frame| {
                    let due = times.due(*frame);
                    times.shows(kernel.at_or_after(due) - due + Nanos::from_nanos(extra))
                }).count() as u64
            };
            let exact = model.shown_at(FrameModel::shift_of(shift, ticks));
            // A frame and its tick are each rounded up by less than a nanosecond.
            prop_assert!((shown(2)..=shown(0) + 1).contains(&exact), "{} {}", shown(0), exact);
        }
    }
}
