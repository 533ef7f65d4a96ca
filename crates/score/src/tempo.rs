//! Tempo maps: from beats to times and back.
//!
//! A map consists of pieces of constant tempo and ramps. In a ramp the *period*, the duration of a
//! beat, changes linearly with the beat, so the time of a beat is a quadratic and is computed exactly;
//! Dannenberg, *Abstract time warping of compound events and signals* (Computer Music Journal 21(3),
//! 1997), discusses other shapes. Each conversion starts at the beginning of its piece: nothing
//! accumulates over beats. The beginning of a piece is kept in units of 2⁻³² ns, so a map of
//! [`PIECES`] pieces is wrong by less than 1/1000 ns.

use num_rational::Ratio;
use num_traits::{CheckedAdd, CheckedMul, CheckedSub};
use tactus_model::time::Nanos;

use crate::beat::{Beat, beat};
use crate::time::Time;

/// The most pieces of a map.
pub const PIECES: usize = 1 << 20;
/// The slowest tempo, in beats per minute.
pub const SLOWEST_BPM: f64 = 0.01;
/// The fastest tempo, in beats per minute.
pub const FASTEST_BPM: f64 = 1e6;
/// The longest and the shortest period, at these tempos.
const PERIODS: std::ops::RangeInclusive<u64> = 60_000..=6_000_000_000_000;

/// Bits of the fraction of a nanosecond.
const FRACTION: u32 = 32;
/// One nanosecond.
const ONE: i128 = 1 << FRACTION;

/// A tempo; it is checked when it is put into a map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tempo(Given);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Given {
    Bpm(f64),
    Period(Nanos),
}

/// A tempo in beats per minute, exact to a millionth of it.
pub fn bpm(number: impl Into<f64>) -> Tempo {
    Tempo(Given::Bpm(number.into()))
}

impl Tempo {
    /// The tempo whose beats have this duration.
    pub const fn of_period(period: Nanos) -> Self {
        Self(Given::Period(period))
    }

    /// Nanoseconds per beat.
    fn period(self) -> Option<Ratio<i128>> {
        match self.0 {
            // A comparison with NaN is false.
            Given::Bpm(bpm) => (SLOWEST_BPM..=FASTEST_BPM).contains(&bpm).then(|| {
                let millionths = (bpm * 1e6).round() as i128;
                Ratio::new(60_000_000_000 * 1_000_000, millionths)
            }),
            Given::Period(period) => PERIODS
                .contains(&period.as_nanos())
                .then(|| Ratio::from_integer(i128::from(period.as_nanos()))),
        }
    }
}

impl std::fmt::Display for Tempo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Given::Bpm(bpm) => write!(f, "{bpm} beats per minute"),
            Given::Period(period) => write!(f, "{period} per beat"),
        }
    }
}

/// Why a map cannot be made, or a beat has no time.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum TempoError {
    /// The tempo is not a number, or too slow or too fast.
    #[error(
        "tempo at beat {at}: {tempo} is impossible; use {SLOWEST_BPM} to {FASTEST_BPM} beats per minute"
    )]
    Tempo {
        /// Where the tempo was to begin.
        at: Beat,
        /// The tempo.
        tempo: Tempo,
    },
    /// A ramp has no length.
    #[error("a ramp from beat {from} to beat {to} has no length")]
    Ramp {
        /// Where it was to begin.
        from: Beat,
        /// Where it was to end.
        to: Beat,
    },
    /// The map begins at beat 0.
    #[error("beat {0} is before beat 0, where the map begins")]
    BeforeStart(Beat),
    /// The exact computation, or the time, leaves its range.
    #[error("beat {0} is too far away, or has too large a denominator")]
    Range(Beat),
    /// The map has as many pieces as it may have.
    #[error("the map has {PIECES} pieces, the most that it may have")]
    Pieces,
}

/// A stretch of beats.
#[derive(Clone, Debug, PartialEq)]
struct Piece {
    /// Its first beat.
    beat: Beat,
    /// The time of that beat, in units of 2⁻³² ns.
    time: i128,
    /// The period there, in ns per beat.
    period: Ratio<i128>,
    /// Half of what the period grows by per beat.
    growth: Ratio<i128>,
}

impl Piece {
    /// The beats from its first to this one.
    fn offset(&self, beat: Beat) -> Option<Ratio<i128>> {
        let [at, first] = [beat, self.beat]
            .map(|beat| Ratio::new_raw(beat.numerator().into(), beat.denominator().into()));
        at.checked_sub(&first)
    }

    /// The time of a beat, in units of 2⁻³² ns.
    fn time(&self, beat: Beat) -> Option<i128> {
        let offset = self.offset(beat)?;
        let average = match *self.growth.numer() {
            0 => self.period,
            _ => self.period.checked_add(&self.growth.checked_mul(&offset)?)?,
        };
        let numerator = (*offset.numer()).checked_mul(*average.numer())?;
        let denominator = (*offset.denom()).checked_mul(*average.denom())?;
        let whole = numerator.div_euclid(denominator).checked_mul(ONE)?;
        let rest = numerator.rem_euclid(denominator).checked_mul(ONE)? / denominator;
        self.time.checked_add(whole)?.checked_add(rest)
    }

    /// The period at a beat, in ns per beat.
    fn period(&self, beat: Beat) -> Option<Ratio<i128>> {
        let grown = self.growth.checked_mul(&self.offset(beat)?)?;
        self.period.checked_add(&grown)?.checked_add(&grown)
    }
}

/// From beats to times and back.
///
/// ```
/// use tactus_score::{TempoMap, beat, bpm};
/// let map = TempoMap::new(bpm(120))?.ramp(beat(8), beat(16), bpm(60))?;
/// assert_eq!(map.time(beat(8))?.to_string(), "4s");
/// assert_eq!(map.time(beat(16))?.to_string(), "10s"); // eight beats of 0.75 s on average
/// # Ok::<(), tactus_score::TempoError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TempoMap {
    /// In the order of their beats; the first begins at beat 0.
    pieces: Vec<Piece>,
}

impl TempoMap {
    /// A map of one tempo, whose beat 0 is at [`Time::START`].
    ///
    /// # Errors
    /// Fails if the tempo is impossible.
    pub fn new(tempo: Tempo) -> Result<Self, TempoError> {
        let mut map = Self { pieces: Vec::new() };
        let period = tempo.period().ok_or(TempoError::Tempo { at: beat(0), tempo })?;
        map.pieces.push(Piece { beat: beat(0), time: 0, period, growth: Ratio::ZERO });
        Ok(map)
    }

    /// The same map with another tempo from a beat on.
    ///
    /// # Errors
    /// As [`Self::change`].
    pub fn at(mut self, from: Beat, tempo: Tempo) -> Result<Self, TempoError> {
        self.change(from, tempo)?;
        Ok(self)
    }

    /// The same map with a ramp that ends in this tempo, which goes on.
    ///
    /// # Errors
    /// As [`Self::change`], and if the ramp has no length.
    pub fn ramp(mut self, from: Beat, to: Beat, tempo: Tempo) -> Result<Self, TempoError> {
        if to <= from {
            return Err(TempoError::Ramp { from, to });
        }
        let period = tempo.period().ok_or(TempoError::Tempo { at: to, tempo })?;
        let mut piece = self.begin(from)?;
        let range = || TempoError::Range(to);
        let length = piece.offset(to).ok_or_else(range)?;
        let difference = period.checked_sub(&piece.period).ok_or_else(range)?;
        let twice = length.checked_add(&length).ok_or_else(range)?;
        piece.growth = difference.checked_mul(&twice.recip()).ok_or_else(range)?;
        let time = piece.time(to).ok_or_else(range)?;
        self.replace(piece)?;
        self.replace(Piece { beat: to, time, period, growth: Ratio::ZERO })?;
        Ok(self)
    }

    /// Replaces everything from a beat on by one tempo. The times of beats up to it stay.
    ///
    /// # Errors
    /// Fails if the tempo is impossible, or the beat has no time.
    pub fn change(&mut self, from: Beat, tempo: Tempo) -> Result<(), TempoError> {
        let period = tempo.period().ok_or(TempoError::Tempo { at: from, tempo })?;
        let piece = self.begin(from)?;
        self.replace(Piece { period, ..piece })
    }

    /// A piece that begins at a beat with the period that the map has there.
    fn begin(&self, from: Beat) -> Result<Piece, TempoError> {
        let piece = self.piece(from)?;
        let range = || TempoError::Range(from);
        let time = piece.time(from).ok_or_else(range)?;
        let period = piece.period(from).ok_or_else(range)?;
        Ok(Piece { beat: from, time, period, growth: Ratio::ZERO })
    }

    /// Replaces everything from the first beat of a piece on by that piece.
    fn replace(&mut self, piece: Piece) -> Result<(), TempoError> {
        let kept = self.pieces.partition_point(|earlier| earlier.beat < piece.beat);
        if kept >= PIECES {
            return Err(TempoError::Pieces);
        }
        self.pieces.truncate(kept);
        self.pieces.push(piece);
        Ok(())
    }

    /// The piece that a beat is in.
    fn piece(&self, beat: Beat) -> Result<&Piece, TempoError> {
        let after = self.pieces.partition_point(|piece| piece.beat <= beat);
        let index = after.checked_sub(1).ok_or(TempoError::BeforeStart(beat))?;
        Ok(&self.pieces[index])
    }

    /// The time of a beat, rounded to the nearest nanosecond.
    ///
    /// # Errors
    /// Fails if the beat is before beat 0, or the time beyond about 584 years.
    pub fn time(&self, beat: Beat) -> Result<Time, TempoError> {
        let range = || TempoError::Range(beat);
        let time = self.piece(beat)?.time(beat).ok_or_else(range)?;
        let rounded = time.saturating_add(ONE / 2) >> FRACTION;
        let nanos = u64::try_from(rounded).map_err(|_| range())?;
        Ok(Time::after_start(Nanos::from_nanos(nanos)))
    }

    /// The duration of `length` beats from a beat on.
    ///
    /// # Errors
    /// As [`Self::time`].
    pub fn span(&self, from: Beat, length: Beat) -> Result<Nanos, TempoError> {
        Ok(self.time(from + length)? - self.time(from)?)
    }

    /// The last multiple of 1/`parts` of a beat whose time is not after `time`; of 1, if `parts`
    /// is 0.
    ///
    /// # Errors
    /// Fails if that beat is too far away.
    pub fn beat(&self, time: Time, parts: u32) -> Result<Beat, TempoError> {
        let parts = parts.max(1);
        let at = |count: i64| {
            let beat = Beat::of_parts(count, parts).unwrap_or_default();
            // A beat too far away is after any time.
            self.time(beat).unwrap_or(Time::NEVER)
        };
        // Times grow with beats, so the wanted count lies between these.
        let (mut low, mut high) = (0, i64::MAX);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if at(middle) <= time { low = middle } else { high = middle }
        }
        let found = Beat::of_parts(low, parts).unwrap_or_default();
        self.time(found).map(|_| found)
    }
}
