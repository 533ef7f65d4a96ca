//! The trace of the scope: a pen that moves from left to right and wraps around.
//!
//! After the timing monitor of Dannenberg et al., *Performance measurements of the
//! multimedia testbed on Mach 3.0* (CMU-CS-93-205, 1993), Figure 1: "When the right
//! edge is reached, the program wraps around to the left edge". There, each message moves
//! the pen by a pixel; here, time moves the pen, so a stall shows as a gap.

use tactus_model::time::Nanos;

/// The trace in slices of time; the newest pass replaces the one before.
#[derive(Clone, Debug)]
pub(crate) struct Sweep {
    length: Nanos,
    slices: Vec<Slice>,
    /// The slice under the pen, counted from the start.
    pen: u64,
}

/// The arrivals within a slice of time.
#[derive(Clone, Debug, Default)]
struct Slice {
    /// Its number, counted from the start; a later pass replaces this one.
    number: Option<u64>,
    /// The first interarrival times, up to [`KEPT`].
    kept: Vec<Nanos>,
    ends: Option<(Nanos, Nanos)>,
}

/// Slices of a pass: more than the dots in a terminal's row.
const SLICES: u64 = 480;
/// Interarrival times that a slice keeps besides its least and greatest; more would only
/// draw a solid line.
const KEPT: usize = 14;
/// Blank slices ahead of the pen, which make its position visible.
const BLANK: u64 = 10;

impl Sweep {
    /// A trace with a sweep of `length`.
    pub(crate) fn new(length: Nanos) -> Self {
        Self { length, slices: vec![Slice::default(); SLICES as usize], pen: 0 }
    }

    /// The duration of a sweep.
    pub(crate) fn length(&self) -> Nanos {
        self.length
    }

    /// Moves the pen; true if it wrapped around to the left edge.
    pub(crate) fn advance(&mut self, now: Nanos) -> bool {
        let before = self.pen;
        self.pen = self.pen.max(self.number(now));
        before / SLICES != self.pen / SLICES
    }

    /// Draws an arrival, `apart` after the previous one.
    pub(crate) fn draw(&mut self, came: Nanos, apart: Nanos) {
        let number = self.number(came);
        let slice = &mut self.slices[(number % SLICES) as usize];
        if slice.number.is_some_and(|newer| newer > number) {
            return;
        }
        if slice.number != Some(number) {
            slice.kept.clear();
            (slice.number, slice.ends) = (Some(number), None);
        }
        if slice.kept.len() < KEPT {
            slice.kept.push(apart);
        }
        let (min, max) = slice.ends.unwrap_or((apart, apart));
        slice.ends = Some((min.min(apart), max.max(apart)));
    }

    /// The position of the pen, from 0 (left edge) to below 1.
    pub(crate) fn pen(&self) -> f64 {
        (self.pen % SLICES) as f64 / SLICES as f64
    }

    /// The visible points: the position from left (0) to right (below 1), and the
    /// interarrival time.
    pub(crate) fn points(&self) -> impl Iterator<Item = (f64, Nanos)> + '_ {
        // The previous pass stays until the pen comes near.
        let oldest = (self.pen + BLANK + 1).saturating_sub(SLICES);
        self.slices.iter().enumerate().flat_map(move |(place, slice)| {
            let shown = slice.number.is_some_and(|number| number >= oldest);
            let ends = slice.ends.filter(|_| shown).map(|(min, max)| [min, max]);
            let kept = if shown { &slice.kept[..] } else { &[] };
            let position = place as f64 / SLICES as f64;
            kept.iter()
                .copied()
                .chain(ends.into_iter().flatten())
                .map(move |apart| (position, apart))
        })
    }

    fn number(&self, at: Nanos) -> u64 {
        let width = Nanos::from_nanos((self.length.as_nanos() / SLICES).max(1));
        at.div_floor(width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = Nanos::from_millis(1);

    fn swept(milliseconds: std::ops::Range<u64>) -> Sweep {
        let mut sweep = Sweep::new(Nanos::from_millis(480));
        for at in milliseconds {
            sweep.advance(Nanos::from_millis(at));
            sweep.draw(Nanos::from_millis(at), MS);
        }
        sweep
    }

    #[test]
    fn the_previous_pass_stays_until_the_pen_comes_near() {
        let points = |sweep: &Sweep| sweep.points().count() / 3;
        let sweep = swept(0..240);
        assert_eq!((points(&sweep), sweep.pen()), (240, 239.0 / 480.0));
        let sweep = swept(0..600);
        assert_eq!(points(&sweep), 480 - 10, "all but the blank ahead of the pen");
        assert!(sweep.points().all(|(position, _)| (0.0..1.0).contains(&position)));
    }

    #[test]
    fn a_stall_clears_the_previous_pass() {
        let mut sweep = swept(0..480);
        assert!(sweep.advance(Nanos::from_millis(1_500)), "it wrapped");
        assert_eq!(sweep.points().count(), 0);
        sweep.draw(Nanos::from_millis(1_400), MS);
        sweep.draw(Nanos::from_millis(300), MS);
        assert!(sweep.points().count() > 0, "a task that is read later is still drawn");
    }

    #[test]
    fn a_full_slice_keeps_its_extremes() {
        let mut sweep = Sweep::new(Nanos::from_secs(480));
        for length in 1..=1000 {
            sweep.draw(MS, Nanos::from_micros(length));
        }
        let drawn: Vec<Nanos> = sweep.points().map(|(_, apart)| apart).collect();
        assert_eq!(drawn.iter().max(), Some(&Nanos::from_micros(1000)));
        assert_eq!(drawn.len(), KEPT + 2);
    }
}
