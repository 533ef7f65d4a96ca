//! Writes an interval log as programs with HdrHistogram do: two tags, ten intervals of one
//! second each, with seeded random latencies in nanoseconds.
#![expect(clippy::unwrap_used, reason = "an example may fail loudly")]

use std::time::{Duration, UNIX_EPOCH};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use tactus_model::random::SplitMix64;

fn main() {
    let mut serializer = V2DeflateSerializer::new();
    let mut out = std::io::stdout().lock();
    let base = UNIX_EPOCH + Duration::from_secs(1_795_260_835);
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment("[Histogram log format version 1.3]")
        .add_comment("[Logged with the crate hdrhistogram 7.6]")
        .with_base_time(base)
        .with_max_value_divisor(1e6)
        .begin_log_with(&mut out, &mut serializer)
        .unwrap();
    let mut random = SplitMix64::new(11);
    for second in 0..10 {
        for (tag, scale) in [("read", 1), ("write", 4)] {
            let mut histogram = Histogram::<u64>::new(3).unwrap();
            for _ in 0..500 {
                let late = if random.below(100) == 0 { 400_000 } else { 0 };
                histogram.record(scale * (20_000 + random.below(9_000)) + late).unwrap();
            }
            let (start, length) = (Duration::from_secs(second), Duration::from_secs(1));
            log.write_histogram(&histogram, start, length, Tag::new(tag)).unwrap();
        }
    }
}
