//! The records of perf rings, in the layout of perf_event_open(2).

/// The fields in the records of a ring, as its events are configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordShape {
    /// Whether samples carry the kernel's call chain.
    pub call_chain: bool,
}

/// A record of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerfRecord<'a> {
    /// An occurrence of a tracepoint (`PERF_RECORD_SAMPLE`).
    Sample {
        /// The time, on the clock of the event.
        time: u64,
        /// The weight: what the occurrence adds to the event's count; 1 for most
        /// events.
        weight: u64,
        /// The addresses of the call chain, eight bytes each, the innermost first, with
        /// context markers between them.
        chain: &'a [u8],
        /// The tracepoint's own record.
        raw: &'a [u8],
    },
    /// Records were lost because the ring was full (`PERF_RECORD_LOST`).
    Lost {
        /// When there was space again.
        time: u64,
        /// The number of lost records.
        count: u64,
    },
    /// A thread was made (`PERF_RECORD_FORK`).
    Fork {
        /// Its process.
        process: i32,
        /// The thread.
        thread: i32,
    },
    /// Another type of record.
    Other,
}

/// Why a record cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a record of type {kind} is too short ({length} bytes)")]
pub struct BadRecord {
    /// Its type (`PERF_RECORD_*`).
    pub kind: u32,
    /// Its length without the header.
    pub length: usize,
}

const RECORD_LOST: u32 = 2;
const RECORD_FORK: u32 = 7;
const RECORD_SAMPLE: u32 = 9;

/// Addresses from here on are context markers (`PERF_CONTEXT_MAX`).
const FIRST_CONTEXT_MARKER: u64 = (-4095_i64) as u64;

impl<'a> PerfRecord<'a> {
    /// Reads the record of type `kind`; `body` follows the header.
    ///
    /// # Errors
    /// The body is too short for its type and `shape`.
    pub fn parse(kind: u32, body: &'a [u8], shape: RecordShape) -> Result<Self, BadRecord> {
        let parsed = match kind {
            RECORD_SAMPLE => parse_sample(body, shape),
            // id, lost, then the trailer that sample_id_all adds: the time.
            RECORD_LOST => (|| {
                let [_id, count, time] = words(body)?;
                Some(Self::Lost { time, count })
            })(),
            RECORD_FORK => {
                (|| Some(Self::Fork { process: number(body, 0)?, thread: number(body, 8)? }))()
            }
            _ => Some(Self::Other),
        };
        parsed.ok_or(BadRecord { kind, length: body.len() })
    }
}

/// Reads the time, the weight, the call chain if any, the length of the raw record, and the
/// raw record.
fn parse_sample(body: &[u8], shape: RecordShape) -> Option<PerfRecord<'_>> {
    let (time, rest) = split_word(body)?;
    let (weight, mut rest) = split_word(rest)?;
    let mut chain: &[u8] = &[];
    if shape.call_chain {
        let (frames, after) = split_word(rest)?;
        let length = usize::try_from(frames).ok()?.checked_mul(8)?;
        chain = after.get(..length)?;
        rest = &after[length..];
    }
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let raw = rest.get(..u32::from_ne_bytes(*length) as usize)?;
    Some(PerfRecord::Sample { time, weight, chain, raw })
}

/// The addresses of a chain without the context markers.
pub fn addresses(chain: &[u8]) -> impl Iterator<Item = u64> {
    chain
        .chunks_exact(8)
        .filter_map(|word| word.first_chunk::<8>())
        .map(|word| u64::from_ne_bytes(*word))
        .filter(|&address| address != 0 && address < FIRST_CONTEXT_MARKER)
}

fn split_word(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (word, rest) = bytes.split_first_chunk::<8>()?;
    Some((u64::from_ne_bytes(*word), rest))
}

fn words<const N: usize>(mut bytes: &[u8]) -> Option<[u64; N]> {
    let mut words = [0; N];
    for word in &mut words {
        (*word, bytes) = split_word(bytes)?;
    }
    Some(words)
}

fn number(bytes: &[u8], offset: usize) -> Option<i32> {
    bytes.get(offset..)?.first_chunk::<4>().map(|word| i32::from_ne_bytes(*word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_sample_is_parsed() {
        let mut body = Vec::new();
        body.extend_from_slice(&77_u64.to_ne_bytes());
        body.extend_from_slice(&1_u64.to_ne_bytes());
        body.extend_from_slice(&2_u64.to_ne_bytes());
        body.extend_from_slice(&((-128_i64) as u64).to_ne_bytes());
        body.extend_from_slice(&0xffff_ffff_8100_0000_u64.to_ne_bytes());
        body.extend_from_slice(&3_u32.to_ne_bytes());
        body.extend_from_slice(b"raw-padding");
        let record = PerfRecord::parse(9, &body, RecordShape { call_chain: true }).unwrap();
        let PerfRecord::Sample { time, weight: 1, chain, raw } = record else {
            panic!("{record:?}")
        };
        assert_eq!((time, raw), (77, &b"raw"[..]));
        assert_eq!(addresses(chain).collect::<Vec<_>>(), [0xffff_ffff_8100_0000]);
    }

    #[test]
    fn a_loss_has_its_count_and_time() {
        let mut body = Vec::new();
        for word in [5_u64, 11_131, 99] {
            body.extend_from_slice(&word.to_ne_bytes());
        }
        assert_eq!(
            PerfRecord::parse(2, &body, RecordShape::default()),
            Ok(PerfRecord::Lost { time: 99, count: 11_131 })
        );
        assert!(PerfRecord::parse(2, &body[..20], RecordShape::default()).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            kind in 0_u32..20,
            body in prop::collection::vec(any::<u8>(), 0..120),
            call_chain in any::<bool>(),
        ) {
            if let Ok(PerfRecord::Sample { chain, .. }) =
                PerfRecord::parse(kind, &body, RecordShape { call_chain })
            {
                let _ = addresses(chain).count();
            }
        }
    }
}
