//! Histograms of HdrHistogram in encoding V2, decompressed (`encodeIntoByteBuffer` of
//! `AbstractHistogram` in its Java library).
//!
//! The time to read one depends on its bytes, not on the range that it declares: a hundred bytes
//! can declare millions of counts, for which the library takes memory and visits each.

use tactus_model::varint::read_signed;

/// The first bytes of a histogram in encoding V2.
const COOKIE: u32 = 0x1c84_9313;

/// A histogram, not yet read beyond its head.
pub(crate) struct Packed<'b> {
    /// The significant decimal digits that it keeps of each value: 0 to 5.
    pub(crate) digits: u8,
    /// The lowest value above 0 that it distinguishes.
    pub(crate) low: u64,
    /// Its counts as varints in zigzag form, the lowest value first; a negative number is that many
    /// counts of zero.
    counts: &'b [u8],
}

impl<'b> Packed<'b> {
    /// Reads the head: cookie, length of the counts, offset, digits, lowest and highest value, scale.
    pub(crate) fn of(content: &'b [u8]) -> Result<Self, String> {
        let damaged = |what| format!("the histogram is damaged: {what}");
        let mut rest = content;
        let mut word = || -> Option<u32> {
            let (word, after) = rest.split_first_chunk()?;
            rest = after;
            Some(u32::from_be_bytes(*word))
        };
        let head: Option<Vec<u32>> = (0..10).map(|_| word()).collect();
        let Some(&[cookie, length, offset, digits, low_high, low_low, _, _, scale_high, scale_low]) =
            head.as_deref()
        else {
            return Err(damaged("it ends too early"));
        };
        let wide = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let low = wide(low_high, low_low);
        if cookie != COOKIE {
            return Err(damaged("it is not in encoding V2"));
        }
        if offset != 0 || wide(scale_high, scale_low) != 1.0_f64.to_bits() {
            return Err("histograms with shifted or scaled values cannot be imported".to_owned());
        }
        let digits = u8::try_from(digits).ok().filter(|digits| *digits <= 5);
        let counts = rest.get(..length as usize);
        match (digits, counts) {
            (Some(digits), Some(counts)) if low > 0 => Ok(Self { digits, low, counts }),
            _ => Err(damaged("its sizes are inconsistent")),
        }
    }

    /// Passes the highest value of each non-empty bucket with its count to `take`, ascending.
    pub(crate) fn each(
        &self,
        mut take: impl FnMut(u64, u64) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut rest = self.counts;
        let mut index = 0_u64;
        while !rest.is_empty() {
            let number = read_signed(&mut rest)
                .map_err(|error| format!("the histogram is damaged: {error}"))?;
            if let Ok(count @ 1..) = u64::try_from(number) {
                take(self.highest_value(index)?, count)?;
            }
            index = index.saturating_add(if number < 0 { number.unsigned_abs() } else { 1 });
        }
        Ok(())
    }

    /// The highest value of a bucket. The first `2 · half` buckets are as wide as the lowest value,
    /// rounded down to a power of two; then the width doubles every `half` buckets.
    fn highest_value(&self, index: u64) -> Result<u64, String> {
        let half = (2 * 10_u64.pow(self.digits.into())).next_power_of_two() / 2;
        let doublings = (index / half).saturating_sub(1);
        let beyond = || "the histogram is damaged: it has more counts than values".to_owned();
        let shift = u32::try_from(doublings + u64::from(self.low.ilog2())).map_err(|_| beyond())?;
        let end =
            u128::from(index - doublings * half + 1).checked_shl(shift).filter(|_| shift < 64);
        end.and_then(|end| u64::try_from(end - 1).ok()).ok_or_else(beyond)
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Serializer, V2Serializer};

    use super::*;

    fn encoded(histogram: &Histogram<u64>) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(histogram, &mut bytes).unwrap();
        bytes
    }

    fn read(content: &[u8]) -> Result<Vec<(u64, u64)>, String> {
        let mut counts = Vec::new();
        Packed::of(content)?.each(|value, count| {
            counts.push((value, count));
            Ok(())
        })?;
        Ok(counts)
    }

    #[test]
    fn the_library_reads_the_same_counts() {
        let mut random = tactus_model::random::SplitMix64::new(9);
        for digits in 0..=5 {
            for low in [1, 1000] {
                let mut histogram =
                    Histogram::<u64>::new_with_bounds(low, 1 << 60, digits).unwrap();
                for _ in 0..500 {
                    let bits = 1 + random.below(59);
                    let value = random.below(1 << bits);
                    histogram.record_n(value, 1 + random.below(1 << 40)).unwrap();
                }
                let expected: Vec<(u64, u64)> = histogram
                    .iter_recorded()
                    .map(|value| (value.value_iterated_to(), value.count_at_value()))
                    .collect();
                assert_eq!(read(&encoded(&histogram)).unwrap(), expected, "{digits} {low}");
            }
        }
    }

    #[test]
    fn damaged_histograms_are_refused() {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        histogram.record(5).unwrap();
        let whole = encoded(&histogram);
        assert_eq!(read(&whole).unwrap(), [(5, 1)]);
        for length in 0..whole.len() {
            assert!(read(&whole[..length]).is_err(), "{length}");
        }
        let changed = |place: usize, byte: u8| {
            let mut changed = whole.clone();
            changed[place] = byte;
            read(&changed)
        };
        // The digits, the lowest value, the scale.
        assert!(changed(15, 6).is_err() && changed(23, 0).is_err() && changed(32, 0).is_err());
        // A run of zeros beyond all values, and then a count.
        let mut far = whole[..40].to_vec();
        far[7] = 10;
        far.extend([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 2, 2]);
        assert!(read(&far).unwrap_err().contains("more counts than values"));
    }
}
