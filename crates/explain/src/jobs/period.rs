//! Whether due times are regular, and with which period.

use serde::{Deserialize, Serialize};
use tactus_model::time::Nanos;

/// The least number of spacings from which a period is concluded.
pub const SPACINGS_MIN: usize = 8;

/// The least share of spacings that must fit the period.
pub const FIT_MIN: f64 = 0.8;

/// The period of a thread's due times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Period {
    /// Its duration: the median of the spacings, unless the caller gave it.
    pub length: Nanos,
    /// The share of the spacings that fit it, from 0 to 1.
    pub fit: f64,
    /// The number of spacings.
    pub spacings: usize,
    /// The median of the spacings; zero without any.
    #[serde(default)]
    pub median: Nanos,
}

/// Why a thread has no period.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum NoPeriod {
    /// Fewer than [`SPACINGS_MIN`] spacings are known.
    TooFew {
        /// The number of spacings.
        spacings: usize,
    },
    /// Fewer than the share [`FIT_MIN`] of the spacings fit their median.
    Irregular(Period),
    /// Fewer than the share [`FIT_MIN`] of the spacings fit the period that the caller gave.
    Unlike(Period),
    /// The thread sleeps for durations, regularly or not: what it sleeps until depends on when it
    /// went to sleep, so a late job has no due time to be late for.
    Relative(Period),
}

impl Period {
    /// The period of due times with these spacings: their median, if enough of them fit it.
    ///
    /// The median withstands a minority of skipped, added and displaced due times. A spacing
    /// fits if it is a whole number of periods: skipped due times do not make a thread
    /// irregular.
    ///
    /// # Errors
    /// There are too few spacings, or too few of them fit.
    pub fn find(spacings: &[Nanos]) -> Result<Self, NoPeriod> {
        if spacings.len() < SPACINGS_MIN {
            return Err(NoPeriod::TooFew { spacings: spacings.len() });
        }
        let found = Self::of_length(median(spacings).max(Nanos::from_nanos(1)), spacings);
        if found.fit < FIT_MIN { Err(NoPeriod::Irregular(found)) } else { Ok(found) }
    }

    /// The period of this length, with the share of the spacings that fit it.
    pub(super) fn of_length(length: Nanos, spacings: &[Nanos]) -> Self {
        let median = median(spacings);
        let period = Self { length, fit: 0.0, spacings: spacings.len(), median };
        let fitting = spacings.iter().filter(|spacing| period.whole(**spacing).is_some()).count();
        Self { fit: fitting as f64 / spacings.len().max(1) as f64, ..period }
    }

    /// Whether the median of the spacings differs from the period, which the caller gave then.
    pub fn is_another(&self) -> bool {
        self.median.as_nanos().abs_diff(self.length.as_nanos()) > self.tolerance().as_nanos()
    }

    /// How far a spacing may be from a whole number of periods: a tenth of the period.
    pub(super) fn tolerance(&self) -> Nanos {
        Nanos::from_nanos(self.length.as_nanos() / 10)
    }

    /// The number of periods in a spacing; `None` if it is not a whole number from 1.
    pub(super) fn whole(&self, spacing: Nanos) -> Option<u64> {
        let (spacing, length) = (spacing.as_nanos(), self.length.as_nanos().max(1));
        let periods = (spacing + length / 2) / length;
        let off = spacing.abs_diff(periods * length);
        (periods > 0 && off <= self.tolerance().as_nanos()).then_some(periods)
    }
}

/// The median, or zero without values.
fn median(spacings: &[Nanos]) -> Nanos {
    let mut sorted = spacings.to_vec();
    match sorted.len() {
        0 => Nanos::ZERO,
        count => *sorted.select_nth_unstable(count / 2).1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn micros(spacings: &[u64]) -> Vec<Nanos> {
        spacings.iter().copied().map(Nanos::from_micros).collect()
    }

    #[test]
    fn a_period_is_found_among_jitter_and_skipped_due_times() {
        let spacings =
            micros(&[5000, 5100, 4900, 10_000, 5050, 4950, 5000, 15_010, 5000, 1300, 3700, 5000]);
        let period = Period::find(&spacings).expect("most spacings fit");
        assert_eq!(period.length, Nanos::from_millis(5));
        assert!((period.fit - 10.0 / 12.0).abs() < 1e-9, "{period:?}");
    }

    #[test]
    fn irregular_spacings_have_no_period() {
        let spacings = micros(&[100, 5000, 731, 2900, 1700, 410, 8800, 1250, 3600, 620]);
        assert!(matches!(Period::find(&spacings), Err(NoPeriod::Irregular(_))));
    }

    #[test]
    fn two_sleeps_a_period_are_no_period() {
        let spacings = micros(&[1300, 3700].repeat(20));
        assert!(matches!(Period::find(&spacings), Err(NoPeriod::Irregular(_))));
    }

    #[test]
    fn few_spacings_have_no_period() {
        assert_eq!(Period::find(&micros(&[5000; 7])), Err(NoPeriod::TooFew { spacings: 7 }));
        assert!(Period::find(&micros(&[5000; 8])).is_ok());
    }

    proptest! {
        #[test]
        fn jitter_below_a_tenth_and_a_minority_of_strays_do_not_hide_a_period(
            length in 100_000..100_000_000_u64,
            jitter in prop::collection::vec(-0.04..0.04_f64, 50..200),
            strays in prop::collection::vec(1..200_000_000_u64, 0..8),
        ) {
            let regular = jitter.iter().map(|jitter| (length as f64 * (1.0 + jitter)) as u64);
            let spacings: Vec<Nanos> = regular.chain(strays).map(Nanos::from_nanos).collect();
            let period = Period::find(&spacings).expect("most spacings fit");
            let off = period.length.as_nanos().abs_diff(length) as f64;
            prop_assert!(off <= 0.05 * length as f64, "{period:?}");
        }
    }
}
