//! The speed of turning samples into histograms.

use divan::{Bencher, counter::ItemsCount};
use tactus_model::random::SplitMix64;
use tactus_model::sample::Sample;
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;
use tactus_stats::summary::summarise;

fn main() {
    divan::main();
}

/// Samples a microsecond apart with latencies of a few microseconds.
fn samples(count: u64) -> Vec<Sample> {
    let mut random = SplitMix64::new(1);
    (0..count)
        .map(|k| {
            let due = Nanos::from_micros(k);
            Sample { due, came: due + Nanos::from_nanos(3_000 + random.below(5_000)) }
        })
        .collect()
}

#[divan::bench]
fn record_a_million(bencher: Bencher) {
    let samples = samples(1_000_000);
    bencher.counter(ItemsCount::new(samples.len())).bench_local(|| {
        samples.iter().map(|sample| sample.latency()).collect::<LatencyHistogram>()
    });
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn summarise_ten_million(bencher: Bencher) {
    let samples = samples(10_000_000);
    bencher
        .counter(ItemsCount::new(samples.len()))
        .bench_local(|| summarise(&samples, Nanos::from_secs(10)));
}
