//! How many events per second are packed, read back, and returned in merged order.
//!
//! `cargo bench -p tactus-record`

use divan::Bencher;
use divan::counter::ItemsCount;
use tactus_model::recording::EventSource;
use tactus_model::time::Nanos;
use tactus_record::file::{RecordingFile, to_bytes};
use tactus_record::simulate::{Plan, Simulation, simulate};

fn main() {
    divan::main();
}

fn simulation() -> Simulation {
    simulate(&Plan { length: Nanos::from_secs(20), ..Plan::default() })
}

#[divan::bench]
fn pack(bencher: Bencher<'_, '_>) {
    let simulation = simulation();
    bencher
        .counter(ItemsCount::new(simulation.recording.events.len()))
        .bench_local(|| to_bytes(&simulation.recording));
}

#[divan::bench]
fn read_merged(bencher: Bencher<'_, '_>) {
    let simulation = simulation();
    let mut file = RecordingFile::from_bytes(to_bytes(&simulation.recording)).unwrap();
    bencher.counter(ItemsCount::new(simulation.recording.events.len())).bench_local(|| {
        file.rewind();
        let mut count = 0_u64;
        while let Some(item) = file.next_item().unwrap() {
            divan::black_box(item);
            count += 1;
        }
        count
    });
}
