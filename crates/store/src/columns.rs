//! The compressed columns that store a task's histograms.
//!
//! All numbers are unsigned LEB128. First the number of histograms, then for each its count,
//! sum, minimum, maximum and number of buckets; then the lowest values of all buckets, each as
//! the difference from the previous one in its histogram (the first from zero); then the counts
//! of all buckets. LZ4 compresses all of it; the uncompressed size precedes it. Most counts are
//! 1 and most differences fit in a byte, so a bucket takes about a byte and a half; JSON takes
//! nine.

use tactus_model::result::Histogram;
use tactus_model::time::Nanos;
use tactus_model::varint::{BadVarint, read_unsigned, write_unsigned};

/// Why bytes from the store cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DamagedBytes {
    /// They do not decompress.
    #[error("a compressed value does not decompress")]
    Compression,
    /// A number is truncated or too long.
    #[error("a column of a histogram is damaged: {0}")]
    Number(#[from] BadVarint),
    /// The parts are inconsistent.
    #[error("the columns of a histogram are inconsistent")]
    Shape,
}

/// Compresses histograms.
pub(crate) fn encode<'h>(histograms: impl Iterator<Item = &'h Histogram> + Clone) -> Vec<u8> {
    let mut columns = Vec::new();
    write_unsigned(&mut columns, histograms.clone().count() as u64);
    for histogram in histograms.clone() {
        let Histogram { count, sum, min, max, buckets } = histogram;
        for number in [*count, sum.as_nanos(), min.as_nanos(), max.as_nanos(), buckets.len() as u64]
        {
            write_unsigned(&mut columns, number);
        }
    }
    for histogram in histograms.clone() {
        let mut before = 0;
        for (lowest, _) in &histogram.buckets {
            // Wrapping, so that buckets in any order round-trip.
            write_unsigned(&mut columns, lowest.as_nanos().wrapping_sub(before));
            before = lowest.as_nanos();
        }
    }
    for (_, count) in histograms.flat_map(|histogram| &histogram.buckets) {
        write_unsigned(&mut columns, *count);
    }
    compress(&columns)
}

/// Decompresses histograms.
pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<Histogram>, DamagedBytes> {
    let columns = decompress(bytes)?;
    let mut rest = columns.as_slice();
    let histograms = read_length(&mut rest)?;
    let mut histograms = vec![Histogram::default(); histograms];
    for histogram in &mut histograms {
        histogram.count = read_unsigned(&mut rest)?;
        for length in [&mut histogram.sum, &mut histogram.min, &mut histogram.max] {
            *length = Nanos::from_nanos(read_unsigned(&mut rest)?);
        }
        histogram.buckets = vec![(Nanos::ZERO, 0); read_length(&mut rest)?];
    }
    for histogram in &mut histograms {
        let mut before = 0_u64;
        for (lowest, _) in &mut histogram.buckets {
            before = before.wrapping_add(read_unsigned(&mut rest)?);
            *lowest = Nanos::from_nanos(before);
        }
    }
    for (_, count) in histograms.iter_mut().flat_map(|histogram| &mut histogram.buckets) {
        *count = read_unsigned(&mut rest)?;
    }
    if rest.is_empty() { Ok(histograms) } else { Err(DamagedBytes::Shape) }
}

/// Reads a number of items, each of which takes at least one of the remaining bytes, so that a
/// damaged number cannot allocate much memory.
fn read_length(rest: &mut &[u8]) -> Result<usize, DamagedBytes> {
    usize::try_from(read_unsigned(rest)?)
        .ok()
        .filter(|length| *length <= rest.len())
        .ok_or(DamagedBytes::Shape)
}

/// Compresses bytes, preceded by their size.
pub(crate) fn compress(bytes: &[u8]) -> Vec<u8> {
    lz4_flex::compress_prepend_size(bytes)
}

/// Decompresses bytes.
pub(crate) fn decompress(bytes: &[u8]) -> Result<Vec<u8>, DamagedBytes> {
    /// LZ4 cannot compress by more than this factor; a larger size would only allocate memory.
    const MOST: usize = 256;
    let claimed = bytes.first_chunk().map_or(0, |size| u32::from_le_bytes(*size) as usize);
    if claimed > bytes.len().saturating_mul(MOST) {
        return Err(DamagedBytes::Compression);
    }
    lz4_flex::decompress_size_prepended(bytes).map_err(|_| DamagedBytes::Compression)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn histogram() -> impl Strategy<Value = Histogram> {
        let buckets = prop::collection::vec((any::<u64>(), any::<u64>()), 0..40);
        (any::<[u64; 4]>(), buckets).prop_map(|([count, sum, min, max], buckets)| Histogram {
            count,
            sum: Nanos::from_nanos(sum),
            min: Nanos::from_nanos(min),
            max: Nanos::from_nanos(max),
            buckets: buckets
                .into_iter()
                .map(|(lowest, count)| (Nanos::from_nanos(lowest), count))
                .collect(),
        })
    }

    proptest! {
        #[test]
        fn histograms_round_trip(
            histograms in prop::collection::vec(histogram(), 0..10),
        ) {
            prop_assert_eq!(decode(&encode(histograms.iter())), Ok(histograms));
        }

        #[test]
        fn damaged_bytes_are_rejected_without_a_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let _ = decode(&bytes);
            let _ = decode(&compress(&bytes));
        }

        #[test]
        fn a_flipped_byte_never_panics(
            histograms in prop::collection::vec(histogram(), 1..4),
            place in any::<prop::sample::Index>(),
            flip in 1..=u8::MAX,
        ) {
            let mut columns = decompress(&encode(histograms.iter())).unwrap();
            let place = place.index(columns.len());
            columns[place] ^= flip;
            let _ = decode(&compress(&columns));
        }
    }
}
