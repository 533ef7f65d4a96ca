//! Single measured events, and the compressed columns that store them.
//!
//! ```
//! use tactus_model::sample::{Sample, SampleBlock};
//! use tactus_model::time::Nanos;
//!
//! let samples = [Sample { due: Nanos::from_millis(1), came: Nanos::from_micros(1_050) }];
//! let block = SampleBlock::encode(&samples);
//! assert_eq!(block.decode().unwrap(), samples);
//! ```

use serde::{Deserialize, Serialize};

use crate::time::Nanos;
use crate::varint::{BadVarint, read_signed, write_signed};

/// One measured event: its due time and its arrival, both since the window opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[repr(C)]
pub struct Sample {
    /// The due time.
    pub due: Nanos,
    /// The arrival.
    pub came: Nanos,
}

impl Sample {
    /// Its latency; zero if it came early, which a probe counts separately.
    pub fn latency(self) -> Nanos {
        self.came - self.due
    }
}

/// Samples in compressed form, in order of arrival.
///
/// Two columns, each of LEB128 variable-length integers in zigzag form: the differences of
/// successive steps between due times (zero for a fixed interval), then the differences `came −
/// due`. LZ4 compresses both. In JSON the bytes are base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleBlock {
    /// How many samples it holds.
    pub count: u64,
    /// The compressed columns.
    #[serde(with = "base64_text")]
    pub bytes: Vec<u8>,
}

/// The error for bytes that do not decode to samples.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a block of samples is damaged ({0}); the histograms of this result do not depend on it")]
pub struct DamagedBlock(&'static str);

impl From<BadVarint> for DamagedBlock {
    fn from(error: BadVarint) -> Self {
        match error {
            BadVarint::Short => Self("it ends too early"),
            BadVarint::Long => Self("an integer is too long"),
        }
    }
}

impl SampleBlock {
    /// The maximum number of samples in a block.
    pub const MAX_COUNT: u64 = 1 << 24;

    /// Compresses `samples`, at most [`Self::MAX_COUNT`] of them.
    ///
    /// # Panics
    /// There are more samples, which could not be read back.
    pub fn encode(samples: &[Sample]) -> Self {
        assert!(samples.len() as u64 <= Self::MAX_COUNT, "too many samples for one block");
        let mut columns = Vec::with_capacity(samples.len() * 3);
        let (mut due, mut step) = (0_i64, 0_i64);
        for sample in samples {
            let next = sample.due.as_nanos() as i64;
            let next_step = next.wrapping_sub(due);
            write_signed(&mut columns, next_step.wrapping_sub(step));
            (due, step) = (next, next_step);
        }
        for sample in samples {
            let latency =
                (sample.came.as_nanos() as i64).wrapping_sub(sample.due.as_nanos() as i64);
            write_signed(&mut columns, latency);
        }
        let bytes = lz4_flex::compress_prepend_size(&columns);
        Self { count: samples.len() as u64, bytes }
    }

    /// Whether the block has samples, and no more bytes than their number permits: at most 20
    /// for a sample, and what [LZ4](https://github.com/lz4/lz4) adds to incompressible data.
    pub const fn has_plausible_size(&self) -> bool {
        let columns = self.count.saturating_mul(20);
        let limit = columns.saturating_add(columns / 10).saturating_add(32);
        self.count > 0 && self.bytes.len() as u64 <= limit
    }

    /// Decompresses the samples.
    ///
    /// # Errors
    /// The bytes do not decompress to the block's number of samples.
    pub fn decode(&self) -> Result<Vec<Sample>, DamagedBlock> {
        if self.count > Self::MAX_COUNT {
            return Err(DamagedBlock("its count exceeds the limit of a block"));
        }
        let claimed = self.bytes.first_chunk().map_or(0, |size| u32::from_le_bytes(*size));
        // A sample takes two integers of one to ten bytes each; a count outside this range
        // would only allocate memory.
        if !(self.count * 2..=self.count * 20).contains(&u64::from(claimed)) {
            return Err(DamagedBlock("its size does not match its count"));
        }
        let columns = lz4_flex::decompress_size_prepended(&self.bytes)
            .map_err(|_| DamagedBlock("it does not decompress"))?;
        let mut rest = columns.as_slice();
        let mut samples = vec![Sample::default(); self.count as usize];
        let (mut due, mut step) = (0_i64, 0_i64);
        for sample in &mut samples {
            step = step.wrapping_add(read_signed(&mut rest)?);
            due = due.wrapping_add(step);
            sample.due = Nanos::from_nanos(due as u64);
        }
        for sample in &mut samples {
            let latency = read_signed(&mut rest)?;
            let came = (sample.due.as_nanos() as i64).wrapping_add(latency);
            sample.came = Nanos::from_nanos(came as u64);
        }
        if rest.is_empty() { Ok(samples) } else { Err(DamagedBlock("it has trailing bytes")) }
    }
}

/// Serialization of bytes as base64 text in JSON.
pub mod base64_text {
    use base64::{Engine, prelude::BASE64_STANDARD};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// Serializes bytes as base64.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64_STANDARD.encode(bytes))
    }

    /// Deserializes bytes from base64.
    ///
    /// # Errors
    /// The text is not base64.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        BASE64_STANDARD.decode(text.as_bytes()).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn samples_round_trip(pairs in prop::collection::vec(any::<(u64, u64)>(), 0..200)) {
            let samples: Vec<Sample> = pairs
                .into_iter()
                .map(|(due, came)| Sample { due: Nanos::from_nanos(due), came: Nanos::from_nanos(came) })
                .collect();
            let block = SampleBlock::encode(&samples);
            prop_assert_eq!(block.has_plausible_size(), !samples.is_empty());
            prop_assert_eq!(block.decode().unwrap(), samples);
        }

        #[test]
        fn damaged_bytes_are_rejected_without_a_panic(
            count in any::<u64>(),
            bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let _ = SampleBlock { count, bytes }.decode();
        }
    }

    #[test]
    fn a_fixed_interval_takes_little_more_space_than_its_latencies() {
        let samples: Vec<Sample> = (0..1000)
            .map(|k| {
                let due = Nanos::from_millis(k);
                Sample { due, came: due + Nanos::from_nanos(5_000 + k * 7919 % 4000) }
            })
            .collect();
        assert!(SampleBlock::encode(&samples).bytes.len() < 3 * samples.len());
    }
}
